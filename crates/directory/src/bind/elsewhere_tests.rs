//! Binds whose password another server checks: what is asked, what is counted, what is kept.

use std::cell::RefCell;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use accounts::pass_through::{CacheRule, FilterTemplate, Mapping, PassThrough};
use accounts::{PasswordPolicy, PolicyError};
use ldap::{ModifyOperation, ResultCode};
use password::{Scheme, ScramHash};

use super::tests::{GOOD, WRONG, ended, error, step, three, told, with};
use super::{BindDone, BindStep, Elsewhere, RemoteAccount, RemotePasswords, RemoteQuestion, RemoteVerdict};
use crate::update::tests::bed::{ANN, BEN, Bed};

/// Another server that knows one password, and who has asked about whom.
#[derive(Default)]
struct Other {
    password: &'static str,
    is_down: bool,
    asked: RefCell<Vec<String>>,
}

impl RemotePasswords for Other {
    fn check(&self, question: &RemoteQuestion<'_>) -> RemoteVerdict {
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        self.asked.borrow_mut().push(match question.account {
            RemoteAccount::Saslauthd { user } => text(user),
            RemoteAccount::Directory { dn, values, .. } => {
                let values: String = values.iter().map(|(name, value)| format!(" {name}={}", text(value))).collect();
                format!("{dn}{values}")
            }
        });
        match question.password == self.password.as_bytes() {
            _ if self.is_down => RemoteVerdict::Unavailable("nobody answers".to_owned()),
            true => RemoteVerdict::Right,
            false => RemoteVerdict::Wrong("it says so".to_owned()),
        }
    }
}

fn other(password: &'static str) -> Other {
    Other { password, ..Other::default() }
}

fn bind_at(bed: &Bed, other: &Other, dn: &str, password: &str) -> (BindDone, Option<String>) {
    let BindStep::Elsewhere(job) = step(&bed.directory, dn, password) else { panic!("{dn} is checked here") };
    let done = job.run(&bed.directory, other);
    (ended(&bed.directory, done.step), done.reason)
}

fn passed_on(mapping: Mapping, cached: Option<CacheRule>) -> Bed {
    let pass_through = Some(Arc::new(PassThrough { mapping, cached }));
    with(PasswordPolicy { pass_through, ..PasswordPolicy::default() })
}

#[test]
fn another_directory_checks_the_password() {
    let bed = passed_on(Mapping::Unmapped, None);
    let there = other("there");
    assert_eq!(told(&bind_at(&bed, &there, ANN, "there").0), GOOD);
    let (wrong, reason) = bind_at(&bed, &there, ANN, "opensesame");
    assert_eq!((told(&wrong), reason.as_deref()), (WRONG, Some("it says so")), "what is stored here does not count");
    // Whoever has no password here may have one there.
    bed.modify(BEN, &[(ModifyOperation::Delete, "userPassword", "")]);
    assert_eq!(told(&bind_at(&bed, &there, BEN, "there").0), GOOD);
    assert_eq!(*there.asked.borrow(), [ANN, ANN, BEN]);
    // Disabled here is out of use.
    bed.modify(ANN, &[(ModifyOperation::Replace, "ds-pwp-account-disabled", "TRUE")]);
    assert_eq!(told(&bind_at(&bed, &there, ANN, "there").0), WRONG);
    let long = "x".repeat(password::PASSWORD_BYTES_MAX + 1);
    assert_eq!(told(&bind_at(&bed, &there, ANN, &long).0), WRONG);
    assert_eq!(there.asked.borrow().len(), 4, "what no server takes is not sent");
}

#[test]
fn accounts_are_found_by_their_values() {
    let attributes = vec!["mail".to_owned(), "cn".to_owned()];
    let template = FilterTemplate::parse("(uid=%s)").ok();
    let bed = passed_on(Mapping::MappedSearch { attributes, bases: Vec::new(), template }, None);
    bed.modify(ANN, &[(ModifyOperation::Add, "mail", "ann@example.com")]);
    let there = other("there");
    assert_eq!(told(&bind_at(&bed, &there, ANN, "there").0), GOOD);
    let names: Vec<String> = bed.values(ANN, "cn").iter().map(|name| format!(" cn={name}")).collect();
    assert_eq!(*there.asked.borrow(), [format!("{ANN} mail=ann@example.com{}", names.concat())]);
}

/// Nobody can be asked: that is no wrong password.
#[test]
fn an_unavailable_server_is_no_wrong_password() {
    let bed = with(three());
    bed.replace(ANN, "userPassword", "{SASL}ann@EXAMPLE.COM").ok();
    let mut there = other("there");
    there.is_down = true;
    for _ in 0..4 {
        let (done, reason) = bind_at(&bed, &there, ANN, "there");
        assert_eq!((done.result.code, reason.as_deref()), (ResultCode::UNAVAILABLE, Some("nobody answers")));
    }
    assert_eq!((bed.values(ANN, "pwdFailureTime").len(), bed.directory.guesses.in_flight()), (0, 0));
    there.is_down = false;
    assert_eq!(told(&bind_at(&bed, &there, ANN, "there").0), GOOD);
    assert_eq!(there.asked.borrow()[0], "ann@EXAMPLE.COM");
}

/// saslauthd's users are under the policy as all others: three wrong passwords lock.
#[test]
fn wrong_passwords_of_saslauthd_count() {
    let bed = with(three());
    bed.replace(ANN, "userPassword", "{SASL}ann").ok();
    let there = other("there");
    for _ in 0..3 {
        assert_eq!(told(&bind_at(&bed, &there, ANN, "guess").0), WRONG);
    }
    assert_eq!(bed.values(ANN, "pwdFailureTime").len(), 3);
    let locked = bind_at(&bed, &there, ANN, "there").0;
    assert_eq!(locked.result.code, ResultCode::INVALID_CREDENTIALS);
    assert!(locked.bound.identity.is_anonymous());
}

/// A password that nobody compared uses up none of the guesses that are compared under a lock.
#[test]
fn an_unavailable_server_spends_no_guess_under_a_lock() {
    let bed = with(three());
    bed.replace(ANN, "userPassword", "{SASL}ann").ok();
    let mut there = other("there");
    for _ in 0..3 {
        assert_eq!(told(&bind_at(&bed, &there, ANN, "guess").0), WRONG);
    }
    there.is_down = true;
    for _ in 0..20 {
        assert_eq!(bind_at(&bed, &there, ANN, "there").0.result.code, ResultCode::UNAVAILABLE);
    }
    there.is_down = false;
    let locked = (ResultCode::INVALID_CREDENTIALS, error(PolicyError::AccountLocked));
    assert_eq!(told(&bind_at(&bed, &there, ANN, "there").0), locked);
}

/// A bind that waits for a guess is brought on to the other server.
#[test]
fn who_waits_for_a_guess_is_asked_about_later() {
    let bed = with(three());
    bed.replace(ANN, "userPassword", "{SASL}ann").ok();
    let there = other("there");
    let asked = || match step(&bed.directory, ANN, "there") {
        BindStep::Elsewhere(job) => job,
        _ => panic!("a guess is left"),
    };
    let (first, _second, _third) = (asked(), asked(), asked());
    let BindStep::Queued(queued) = step(&bed.directory, ANN, "there") else { panic!("no guess is left") };
    let (sender, receiver) = mpsc::channel();
    queued.then(&bed.directory, move |ready| drop(sender.send(ready)));
    assert!(receiver.try_recv().is_err());
    assert_eq!(told(&ended(&bed.directory, first.run(&bed.directory, &there).step)), GOOD);
    let BindStep::Elsewhere(job) = receiver.recv().unwrap().run(&bed.directory) else { panic!("it is its turn") };
    assert_eq!(told(&ended(&bed.directory, job.run(&bed.directory, &there).step)), GOOD);
    assert_eq!(there.asked.borrow().len(), 2);
}

/// The cached password spares questions for its time, and goes when the other server says no.
#[test]
fn right_passwords_are_kept_for_a_time() {
    let rule = CacheRule { scheme: Scheme::SaltedSha512, time_to_live: Duration::from_secs(600) };
    let bed = passed_on(Mapping::Unmapped, Some(rule));
    let mut there = other("there");
    let kept = |bed: &Bed| bed.values(ANN, "ds-pta-cached-password-time").len();
    let stamps = |bed: &Bed| bed.values(ANN, "modifyTimestamp");
    let before = stamps(&bed);
    assert_eq!(told(&bind_at(&bed, &there, ANN, "there").0), GOOD);
    bed.wait_for(|| kept(&bed) == 1);
    // As stored; searches show it to nobody.
    assert!(bed.values(ANN, "ds-pta-cached-password")[0].starts_with("{SSHA512}"));
    assert_eq!(stamps(&bed), before);
    there.is_down = true;
    assert_eq!(told(&bind_at(&bed, &there, ANN, "there").0), GOOD);
    assert_eq!(there.asked.borrow().len(), 1);
    assert_eq!(bind_at(&bed, &there, ANN, "guess").0.result.code, ResultCode::UNAVAILABLE);
    bed.directory.account_clock().set_ahead(601_000);
    assert_eq!(bind_at(&bed, &there, ANN, "there").0.result.code, ResultCode::UNAVAILABLE);
    there.is_down = false;
    assert_eq!(told(&bind_at(&bed, &there, ANN, "there").0), GOOD);
    let nobody = Other { is_down: true, ..Other::default() };
    bed.wait_for(|| bind_at(&bed, &nobody, ANN, "there").0.result.is_success());
    assert_eq!(told(&bind_at(&bed, &there, ANN, "guess").0), WRONG);
    bed.wait_for(|| kept(&bed) == 0);
}

#[test]
fn scram_does_not_know_accounts_of_other_directories() {
    let bed = passed_on(Mapping::Unmapped, None);
    let hash = ScramHash::Sha256;
    bed.replace(ANN, "userPassword", &scram_value(hash)).ok();
    let name = schema::NormalizedDn::parse(&bed.directory.schema(), ANN.as_bytes()).unwrap();
    assert!(bed.directory.binding().claim(&name).unwrap().scram_keys(hash).is_none());
    let bed = Bed::new();
    bed.replace(ANN, "userPassword", &scram_value(hash)).ok();
    assert!(bed.directory.binding().claim(&name).unwrap().scram_keys(hash).is_some());
}

fn scram_value(_hash: ScramHash) -> String {
    let value = password::encode(Scheme::ScramSha256, &password::Parameters::default(), b"scram", &[7; 16]).unwrap();
    String::from_utf8(value).unwrap()
}

#[test]
fn each_bind_says_who_is_asked() {
    let bed = passed_on(Mapping::Unmapped, None);
    let BindStep::Elsewhere(job) = step(&bed.directory, ANN, "x") else { panic!("checked here") };
    assert_eq!(job.elsewhere(), Elsewhere::Directory(&PasswordPolicy::default().dn));
    let bed = Bed::new();
    bed.replace(ANN, "userPassword", "{sasl}ann").ok();
    let BindStep::Elsewhere(job) = step(&bed.directory, ANN, "x") else { panic!("checked here") };
    assert_eq!(job.elsewhere(), Elsewhere::Saslauthd);
}
