//! Binds under policies: what is counted, what is told, what is written.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use accounts::{LastLogin, PasswordPolicy, PolicyError, PolicyWarning, TimeFormat};
use ldap::controls::PasswordPolicyResponse;
use ldap::oids::control;
use ldap::{ControlBuf, Message, ModifyOperation, Operation, ResultCode, client};

use password::{Parameters, Scheme, StoredScheme};
use schema::{NormalizedDn, Schema};

use super::{BindDone, BindFailure, BindStep};
use crate::directory::Directory;
use crate::session::Session;
use crate::update::tests::bed::{ANN, BEN, Bed};

const MINUTE_MS: i64 = 60_000;

/// Brings a bind to its end.
pub(crate) fn ended(directory: &Directory, step: BindStep) -> BindDone {
    match step {
        BindStep::Done(done) => done,
        BindStep::SlowHash(job) => ended(directory, job.run(directory)),
        BindStep::Queued(queued) => {
            let (sender, receiver) = mpsc::channel();
            queued.then(directory, move |ready| drop(sender.send(ready)));
            ended(directory, receiver.recv().unwrap().run(directory))
        }
        BindStep::Elsewhere(_) => panic!("nobody is asked in this test"),
        BindStep::Waits(waiting) => {
            let (sender, receiver) = mpsc::channel();
            waiting.then(directory, move |done| drop(sender.send(done)));
            receiver.recv().unwrap()
        }
    }
}

pub(crate) fn step(directory: &Directory, dn: &str, password: &str) -> BindStep {
    let mut bytes = Vec::new();
    let wanted = ControlBuf::new(control::PASSWORD_POLICY, None);
    client::bind(&mut bytes, 1, dn, password.as_bytes(), &[wanted]);
    let message = Message::decode(&bytes).unwrap();
    let Operation::Bind(request) = &message.operation else { panic!("no bind") };
    directory.bind(&Session::anonymous(1), request, &message.controls, Instant::now())
}

pub(super) fn bind(bed: &Bed, dn: &str, password: &str) -> BindDone {
    bound(&bed.directory, dn, password)
}

pub(crate) fn bound(directory: &Directory, dn: &str, password: &str) -> BindDone {
    ended(directory, step(directory, dn, password))
}

pub(super) fn told(done: &BindDone) -> (ResultCode, PasswordPolicyResponse) {
    let control = done.controls.iter().find(|control| control.oid == control::PASSWORD_POLICY).unwrap();
    (done.result.code, PasswordPolicyResponse::decode(control.value.as_deref()).unwrap())
}

pub(super) fn with(policy: PasswordPolicy) -> Bed {
    Bed::with(&["dc=example,dc=com"], |config| config.default_policy = policy.into())
}

fn three_named(dn: &str) -> PasswordPolicy {
    PasswordPolicy { dn: dn.to_owned(), ..three() }
}

/// Three wrong passwords lock for an hour.
pub(super) fn three() -> PasswordPolicy {
    let lockout_duration = Duration::from_secs(3_600);
    PasswordPolicy { lockout_failure_count: 3, lockout_duration, ..PasswordPolicy::default() }
}

const NOTHING: PasswordPolicyResponse = PasswordPolicyResponse { warning: None, error: None };
pub(super) const WRONG: (ResultCode, PasswordPolicyResponse) = (ResultCode::INVALID_CREDENTIALS, NOTHING);
pub(super) const GOOD: (ResultCode, PasswordPolicyResponse) = (ResultCode::SUCCESS, NOTHING);

pub(super) fn error(error: PolicyError) -> PasswordPolicyResponse {
    PasswordPolicyResponse::of_error(error)
}

/// A lock is told to who knows the password, and ends by itself.
#[test]
fn three_wrong_passwords_lock_an_account() {
    let bed = with(three());
    for _ in 0..3 {
        assert_eq!(told(&bind(&bed, ANN, "guess")), WRONG);
    }
    assert_eq!(bed.values(ANN, "pwdFailureTime").len(), 3);
    assert_eq!(told(&bind(&bed, ANN, "guess")), WRONG);
    let locked = bind(&bed, ANN, "opensesame");
    assert_eq!(told(&locked), (ResultCode::INVALID_CREDENTIALS, error(PolicyError::AccountLocked)));
    assert!(locked.result.message.is_empty() && locked.bound.identity.is_anonymous());
    assert_eq!(told(&bind(&bed, BEN, "benben")), GOOD);
    bed.directory.account_clock().set_ahead(61 * MINUTE_MS);
    assert_eq!(told(&bind(&bed, ANN, "opensesame")), GOOD);
    bed.wait_for(|| bed.values(ANN, "pwdFailureTime").is_empty() && bed.values(ANN, "pwdAccountLockedTime").is_empty());
}

/// Who guesses on under a lock does not learn the password by being told of the lock.
#[test]
fn under_a_lock_no_more_guesses_are_compared_than_led_to_it() {
    let bed = with(three());
    (0..3).for_each(|_| assert_eq!(told(&bind(&bed, ANN, "guess")), WRONG));
    let locked = (ResultCode::INVALID_CREDENTIALS, error(PolicyError::AccountLocked));
    // Whoever has the password is told as often as they ask.
    (0..5).for_each(|_| assert_eq!(told(&bind(&bed, ANN, "opensesame")), locked));
    for _ in 0..3 {
        assert_eq!(bind(&bed, ANN, "guess").failure, Some(BindFailure::WrongPassword));
    }
    for password in ["guess", "opensesame"] {
        let BindStep::Waits(waiting) = step(&bed.directory, ANN, password) else { panic!("it does not wait") };
        assert!(waiting.wait.write.is_some() && waiting.wait.not_before.is_some());
        let done = ended(&bed.directory, BindStep::Waits(waiting));
        assert_eq!((told(&done), done.failure), (WRONG, Some(BindFailure::GuessesSpentUnderLock)), "{password}");
    }
    // Each lock has its own.
    bed.directory.account_clock().set_ahead(61 * MINUTE_MS);
    (0..3).for_each(|_| assert_eq!(told(&bind(&bed, ANN, "guess")), WRONG));
    assert_eq!(told(&bind(&bed, ANN, "opensesame")), locked);
    bed.directory.account_clock().set_ahead(122 * MINUTE_MS);
    assert_eq!(told(&bind(&bed, ANN, "opensesame")), GOOD);
}

#[test]
fn a_right_password_forgets_the_wrong_ones() {
    let bed = with(three());
    for _ in 0..3 {
        assert_eq!(told(&bind(&bed, ANN, "guess")), WRONG);
        assert_eq!(told(&bind(&bed, ANN, "guess")), WRONG);
        assert_eq!(told(&bind(&bed, ANN, "opensesame")), GOOD);
        bed.wait_for(|| bed.values(ANN, "pwdFailureTime").is_empty());
    }
}

/// What a claim is verified against, but for the salts and digests that differ anyway.
fn work(bed: &Bed, dn: &str) -> Vec<(Option<Scheme>, usize)> {
    let name = NormalizedDn::parse(&Schema::standard(), dn.as_bytes()).unwrap();
    let claimed = bed.directory.binding().claim(&name).unwrap();
    claimed.passwords.iter().map(|stored| (password::scheme_of(stored), stored.len())).collect()
}

/// All of them are told the same, so all of them take the same: one comparison with a value of the same scheme, the
/// same wait for the disk, the same shortest time.
#[test]
fn every_refusal_does_the_same_and_waits_for_the_same() {
    let counting: [fn() -> Bed; 3] = [
        || with(three()),
        // It is the policy of nobody, and yet nobody must be told from somebody.
        || Bed::with(&["dc=example,dc=com"], |config| config.other_policies = vec![Arc::new(three_named("cn=other"))]),
        || {
            let mut bed = Bed::new();
            let subentry = [("objectClass", "subentry"), ("objectClass", "pwdPolicy"), ("cn", "three")];
            let rules = [("pwdAttribute", "userPassword"), ("pwdLockout", "TRUE"), ("pwdMaxFailure", "3")];
            let about = [("subtreeSpecification", "{}")];
            bed.add("cn=three,dc=example,dc=com", &[&subentry[..], &rules, &about].concat()).ok();
            bed
        },
    ];
    for bed in counting {
        let bed = bed();
        let stored = String::from_utf8(
            password::encode_random(Scheme::SaltedSha512, &Parameters::default(), b"benben").unwrap(),
        );
        bed.replace(BEN, "userPassword", &stored.unwrap()).ok();
        bed.modify(BEN, &[(ModifyOperation::Replace, "ds-pwp-account-disabled", "TRUE")]);
        let (outside, base) = ("dc=elsewhere", "dc=example,dc=com");
        let nobody = ["uid=nobody,dc=example,dc=com", "uid=nobody else,dc=example,dc=com", base, outside];
        for dn in nobody {
            assert_eq!(work(&bed, dn), work(&bed, ANN), "{dn}");
        }
        let written = || bed.directory.states.batches();
        for (dn, why) in [
            (ANN, BindFailure::WrongPassword),
            (BEN, BindFailure::WrongPassword),
            (nobody[0], BindFailure::NoEntry),
            (base, BindFailure::NoPassword),
            (outside, BindFailure::NoEntry),
            ("cn=Directory Manager", BindFailure::WrongPassword),
            (ANN, BindFailure::WrongPassword),
            (ANN, BindFailure::WrongPassword),
            // Where three are counted, it is locked now.
            (ANN, BindFailure::WrongPassword),
        ] {
            let before = written();
            let begun = Instant::now();
            let BindStep::Waits(waiting) = step(&bed.directory, dn, "guess") else { panic!("{dn} does not wait") };
            assert!(waiting.wait.write.is_some() && waiting.wait.not_before > Some(begun), "{dn}");
            let done = ended(&bed.directory, BindStep::Waits(waiting));
            assert_eq!((told(&done), done.failure, written() - before), (WRONG, Some(why), 1), "{dn}");
        }
    }
}

/// Where nothing is counted nobody waits for the disk, but all of them for the same time.
#[test]
fn refusals_that_are_not_counted_wait_for_the_time_alone() {
    let bed = Bed::new();
    for dn in [ANN, "uid=nobody,dc=example,dc=com", "dc=example,dc=com"] {
        let BindStep::Waits(waiting) = step(&bed.directory, dn, "guess") else { panic!("{dn} does not wait") };
        assert!(waiting.wait.write.is_none() && waiting.wait.not_before.is_some(), "{dn}");
    }
}

/// Where passwords of several schemes are stored, the times of names that are not there are as different as those of
/// names that are, and each name always has its own.
#[test]
fn decoys_are_like_the_passwords_that_are_stored() {
    let mut bed = with(three());
    let schemes = [Scheme::SaltedSha512, Scheme::Pbkdf2];
    for number in 0..20 {
        let uid = format!("user{number}");
        let stored = password::encode_random(schemes[number % 2], &Parameters::default(), b"password").unwrap();
        let stored = String::from_utf8(stored).unwrap();
        let fixed = [("objectClass", "inetOrgPerson"), ("cn", "x"), ("sn", "x"), ("uid", uid.as_str())];
        let dn = format!("uid={uid},dc=example,dc=com");
        bed.add(&dn, &[&fixed[..], &[("userPassword", stored.as_str())]].concat()).ok();
    }
    let of = |bed: &Bed, number: usize| work(bed, &format!("uid=nobody{number},dc=example,dc=com"));
    let first: Vec<_> = (0..40).map(|number| of(&bed, number)).collect();
    for scheme in schemes {
        assert!(first.iter().flatten().any(|(found, _)| *found == Some(scheme)), "{scheme:?}");
    }
    let bed = bed.reopen();
    assert_eq!((0..40).map(|number| of(&bed, number)).collect::<Vec<_>>(), first, "the same after a restart");
}

/// A thousand at once: three are compared before the lock and three under it, all are answered alike.
#[test]
fn guesses_in_flight_are_counted() {
    let bed = with(three());
    let (wrong, spent) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let directory = &bed.directory;
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let done = bound(directory, ANN, "guess");
                    assert_eq!(told(&done), WRONG);
                    let counter = match done.failure {
                        Some(BindFailure::WrongPassword) => &wrong,
                        Some(BindFailure::GuessesSpentUnderLock) => &spent,
                        other => panic!("{other:?}"),
                    };
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(bed.values(ANN, "pwdFailureTime").len(), 3);
    assert_eq!((wrong.load(Ordering::Relaxed), spent.load(Ordering::Relaxed)), (6, 994));
    assert_eq!(bed.directory.guesses.in_flight(), 0, "nothing is kept");
}

/// While two guesses are in flight and none is left for others, these wait, and are compared when one goes.
#[test]
fn a_guess_too_many_waits_for_its_turn() {
    let bed = with(three());
    let steps: Vec<BindStep> = (0..3).map(|_| step(&bed.directory, ANN, "guess")).collect();
    let (sender, ready) = mpsc::channel();
    for password in ["opensesame", "guess", "opensesame"] {
        let BindStep::Queued(queued) = step(&bed.directory, ANN, password) else { panic!("it does not wait") };
        let sender = sender.clone();
        queued.then(&bed.directory, move |turn| sender.send(turn).unwrap());
    }
    assert!(ready.recv_timeout(Duration::from_millis(50)).is_err());
    // Guesses that were never answered do not count.
    drop(steps);
    let next = || told(&ended(&bed.directory, ready.recv().unwrap().run(&bed.directory)));
    assert_eq!([next(), next(), next()], [GOOD, WRONG, GOOD]);
}

/// Right binds of one account at once are all let in, however few guesses are left.
#[test]
fn right_passwords_wait_for_each_other() {
    let bed = with(PasswordPolicy { lockout_failure_count: 1, ..three() });
    let directory = &bed.directory;
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..25).for_each(|_| assert_eq!(told(&bound(directory, ANN, "opensesame")), GOOD)));
        }
    });
    assert_eq!(bed.directory.guesses.in_flight(), 0);
}

#[test]
fn an_expired_password_has_grace_logins() {
    let bed = with(PasswordPolicy {
        max_password_age: Duration::from_secs(86_400),
        password_expiration_warning_interval: Duration::from_secs(3_600),
        expire_passwords_without_warning: true,
        grace_login_count: 1,
        ..PasswordPolicy::default()
    });
    bed.directory.account_clock().set_ahead(23 * 60 * MINUTE_MS + 30 * MINUTE_MS);
    let (code, warned) = told(&bind(&bed, ANN, "opensesame"));
    assert!(matches!(warned.warning, Some(PolicyWarning::SecondsBeforeExpiration(1700..=1800))), "{warned:?}");
    assert_eq!((code, warned.error), (ResultCode::SUCCESS, None));
    bed.directory.account_clock().set_ahead(25 * 60 * MINUTE_MS);
    let grace = bind(&bed, ANN, "opensesame");
    let last = PasswordPolicyResponse {
        warning: Some(PolicyWarning::GraceLeft(0)),
        error: Some(PolicyError::PasswordExpired),
    };
    assert_eq!((told(&grace), grace.bound.standing.must_change()), ((ResultCode::SUCCESS, last), true));
    assert_eq!(bed.values(ANN, "pwdGraceUseTime").len(), 1);
    let expired = (ResultCode::INVALID_CREDENTIALS, error(PolicyError::PasswordExpired));
    assert_eq!(told(&bind(&bed, ANN, "opensesame")), expired);
    assert_eq!(told(&bind(&bed, ANN, "guess")), WRONG);
}

#[test]
fn the_last_login_is_written_once_a_day() {
    let bed = with(PasswordPolicy {
        last_login: Some(LastLogin {
            attribute: "ds-pwp-last-login-time".to_owned(),
            format: Some(TimeFormat::generalized()),
            previous_formats: Vec::new(),
            precision: Duration::from_secs(86_400),
        }),
        ..PasswordPolicy::default()
    });
    let login = || bed.values(ANN, "ds-pwp-last-login-time");
    assert_eq!(told(&bind(&bed, ANN, "opensesame")), GOOD);
    bed.wait_for(|| login().len() == 1);
    let (first, stamp) = (login(), bed.values(ANN, "modifyTimestamp"));
    bed.directory.account_clock().set_ahead(23 * 60 * MINUTE_MS);
    assert_eq!(told(&bind(&bed, ANN, "opensesame")), GOOD);
    bed.directory.account_clock().set_ahead(25 * 60 * MINUTE_MS);
    assert_eq!(told(&bind(&bed, ANN, "opensesame")), GOOD);
    bed.wait_for(|| login() != first);
    assert!(login()[0] > first[0]);
    assert_eq!(bed.values(ANN, "modifyTimestamp"), stamp, "a login is no modification");
}

#[test]
fn a_policy_may_ask_for_encryption() {
    let bed = with(PasswordPolicy { require_secure_authentication: true, ..PasswordPolicy::default() });
    let done = bind(&bed, ANN, "opensesame");
    assert_eq!((told(&done), done.failure), (WRONG, Some(BindFailure::NotSecure)));
}

#[test]
fn failures_survive_a_restart() {
    let bed = with(three());
    for _ in 0..2 {
        assert_eq!(told(&bind(&bed, ANN, "guess")), WRONG);
    }
    let bed = bed.reopen();
    assert_eq!(told(&bind(&bed, ANN, "guess")), WRONG);
    assert_eq!(told(&bind(&bed, ANN, "opensesame")).1, error(PolicyError::AccountLocked));
}

/// Who logs in again pays once; whoever guesses always pays.
#[test]
fn a_slow_hash_is_verified_once() {
    let bed = Bed::new();
    let slow = |password: &str| password::encode_random(Scheme::Pbkdf2, &Parameters::default(), password.as_bytes());
    let set = |password: &str| {
        let stored = String::from_utf8(slow(password).unwrap()).unwrap();
        bed.replace(ANN, "userPassword", &stored).ok();
    };
    let is_slow = |password: &str| matches!(step(&bed.directory, ANN, password), BindStep::SlowHash(_));
    set("first one");
    assert!(is_slow("first one"));
    assert_eq!(told(&bind(&bed, ANN, "first one")), GOOD);
    assert!(!is_slow("first one"));
    assert_eq!(told(&bind(&bed, ANN, "first one")), GOOD);
    assert!(is_slow("guess"));
    assert_eq!(told(&bind(&bed, ANN, "guess")), WRONG);
    assert!(is_slow("first one"), "a wrong password makes it forget the right one");
    assert_eq!(told(&bind(&bed, ANN, "first one")), GOOD);
    set("second one");
    assert_eq!(told(&bind(&bed, ANN, "first one")), WRONG, "the password is another one now");
    // What is remembered is the password alone.
    assert_eq!(told(&bind(&bed, ANN, "second one")), GOOD);
    bed.modify(ANN, &[(ModifyOperation::Replace, "ds-pwp-account-disabled", "TRUE")]);
    assert_eq!(told(&bind(&bed, ANN, "second one")), WRONG);
}

/// What is stored in a deprecated scheme is stored anew, and nothing else of the entry changes; sessions go on.
#[test]
fn a_password_in_a_deprecated_scheme_is_stored_anew() {
    let deprecated_schemes = vec![StoredScheme::New(Scheme::Clear), StoredScheme::New(Scheme::Pbkdf2)];
    let bed = with(PasswordPolicy { deprecated_schemes, ..three() });
    let stamps = || ["modifyTimestamp", "modifiersName", "pwdChangedTime", "pwdHistory"].map(|it| bed.values(BEN, it));
    let is_new = || bed.values(BEN, "userPassword").iter().all(|stored| stored.starts_with("{SSHA512}"));
    let before = stamps();
    assert_eq!(told(&bind(&bed, BEN, "guess")), WRONG);
    assert_eq!(bed.values(BEN, "userPassword"), ["{CLEAR}benben"], "a wrong password changes nothing");
    let session = bind(&bed, BEN, "benben").bound;
    bed.wait_for(is_new);
    assert_eq!((stamps(), bed.values(BEN, "userPassword").len()), (before, 1));
    assert!(session.standing.is_in_doubt(&bed.directory.reading), "the entry was written");
    assert_eq!(told(&bind(&bed, BEN, "benben")), GOOD);
    // A bind that began with the old form ends with the new one.
    let slow = password::encode_random(Scheme::Pbkdf2, &Parameters::default(), b"benben").unwrap();
    bed.replace(BEN, "userPassword", &String::from_utf8(slow).unwrap()).ok();
    let (first, second) = (step(&bed.directory, BEN, "benben"), step(&bed.directory, BEN, "benben"));
    assert_eq!(told(&ended(&bed.directory, first)), GOOD);
    bed.wait_for(is_new);
    assert_eq!(told(&ended(&bed.directory, second)), GOOD);
}

/// What differs by microseconds is lost in the random time that each refusal waits.
#[test]
fn refusals_wait_for_a_random_time() {
    let mut times: Vec<Duration> = (0..100).map(|_| super::step::random_spread()).collect();
    times.sort_unstable();
    assert!(times[99] < Duration::from_millis(1) && times[99] - times[0] > Duration::from_micros(500), "{times:?}");
    times.dedup();
    assert!(times.len() > 90);
}
