//! Binds with codes: what is right once, what is never told, and what outlives a restart.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use accounts::second_factor::{Algorithm, Kind, Token, Window, one_time_code};
use accounts::{PasswordPolicy, StateChange};
use ldap::second_factor::{FactorAction, KnownToken, NewToken, SecondFactor, SecondFactorAnswer};
use ldap::{LdapResult, ResultCode};
use query::backend::BackendIndex;
use query::entry_place::EntryPlace;
use query::notices::NoticeKind;

use crate::Session;
use crate::account::{StateOf, StateWrite};
use crate::bind::tests::{bound, step};
use crate::bind::{BindFailure, BindStep};
use crate::update::tests::bed::{ANN, BEN, Bed};

const SECRET: &[u8] = b"12345678901234567890";

fn place_of(bed: &Bed, dn: &str) -> (EntryPlace, [u8; 16]) {
    let id = bed.id_of(dn);
    let snapshot = bed.directory.backends[0].store.snapshot().unwrap();
    let record = snapshot.view().entry(id).unwrap().unwrap();
    let uuid = record.view().unwrap().header().uuid.unwrap();
    (EntryPlace { backend: BackendIndex(0), id }, uuid)
}

/// A test ends before the next time step begins.
fn wait_for_a_fresh_step(bed: &Bed) {
    while bed.directory.account_clock.now().0 % 30_000 > 20_000 {
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Gives an account a token that is in use.
fn enrol(bed: &Bed, dn: &str, kind: Kind, digits: u8) {
    wait_for_a_fresh_step(bed);
    let (place, entry_uuid) = place_of(bed, dn);
    let sealed = bed.directory.second_factors.key_or_make().unwrap().seal(SECRET, &entry_uuid, "phone").unwrap();
    let algorithm = Algorithm::Sha1;
    let token = Token { id: "phone".to_owned(), kind, is_active: false, algorithm, digits, next: 0, sealed };
    let put = StateChange::PutToken { value: token.to_string().into_bytes() };
    let used = StateChange::SpendCode { token: token.key(), next: 0 };
    let (sender, receiver) = mpsc::channel();
    let done: Box<dyn FnOnce(Result<(), LdapResult>) + Send> = Box::new(move |written| sender.send(written).unwrap());
    let changes = vec![put, used];
    bed.directory.states.write(StateWrite {
        of: StateOf::Entry(place, entry_uuid),
        changes,
        guess: None,
        done: Some(done),
    });
    receiver.recv().unwrap().unwrap();
}

const TOTP: Kind = Kind::Totp { period_seconds: 30 };

/// The code of a time step, counted from the present one.
fn code(bed: &Bed, steps: i64) -> String {
    let step = bed.directory.account_clock.now().0 / 30_000;
    format!("{:06}", one_time_code(Algorithm::Sha1, SECRET, step.saturating_add_signed(steps), 6))
}

fn count(counter: u64) -> String {
    format!("{:06}", one_time_code(Algorithm::Sha1, SECRET, counter, 6))
}

/// What is told, and what the log knows.
fn outcome(bed: &Bed, dn: &str, password: &str) -> (ResultCode, Option<BindFailure>) {
    let done = bound(&bed.directory, dn, password);
    assert!(done.result.message.is_empty());
    (done.result.code, done.failure)
}

const GOOD: (ResultCode, Option<BindFailure>) = (ResultCode::SUCCESS, None);
const WRONG_CODE: (ResultCode, Option<BindFailure>) = (ResultCode::INVALID_CREDENTIALS, Some(BindFailure::WrongCode));
const WRONG_PASSWORD: (ResultCode, Option<BindFailure>) =
    (ResultCode::INVALID_CREDENTIALS, Some(BindFailure::WrongPassword));

#[test]
fn password_and_code_must_both_be_right() {
    let mut bed = Bed::new();
    enrol(&bed, ANN, TOTP, 6);
    for (sent, expected) in [
        ("opensesame".to_owned(), WRONG_PASSWORD),
        ("opensesame000000".to_owned(), WRONG_CODE),
        (format!("guess{}", code(&bed, 0)), WRONG_PASSWORD),
        (code(&bed, 0), WRONG_PASSWORD),
        ("123".to_owned(), WRONG_PASSWORD),
        (format!("opensesame{}", code(&bed, -2)), WRONG_CODE),
        (format!("opensesame{}", code(&bed, 0)), GOOD),
        (format!("opensesame{}", code(&bed, 0)), WRONG_CODE),
        (format!("opensesame{}", code(&bed, -1)), WRONG_CODE),
    ] {
        assert_eq!(outcome(&bed, ANN, &sent), expected, "{sent}");
    }
    // Others bind as before.
    assert_eq!(outcome(&bed, BEN, "benben"), GOOD);
    // A code that was shown is used up for good: the log and the database know it.
    let used = format!("opensesame{}", code(&bed, 0));
    bed = bed.reopen();
    assert_eq!(outcome(&bed, ANN, &used), WRONG_CODE);
    assert_eq!(outcome(&bed, ANN, &format!("opensesame{}", code(&bed, 1))), GOOD);
    assert!(!bed.files_hold("12345678901234567890"), "the secret is on no disk");
}

#[test]
fn the_window_and_the_look_ahead_are_the_policys() {
    let window = Window { steps: 3, presses: 2 };
    let bed = Bed::with(&["dc=example,dc=com"], |config| {
        config.default_policy = PasswordPolicy { second_factor_window: window, ..PasswordPolicy::default() }.into();
    });
    enrol(&bed, ANN, TOTP, 6);
    enrol(&bed, BEN, Kind::Hotp, 6);
    for (steps, expected) in [(-4, WRONG_CODE), (-3, GOOD), (3, GOOD), (4, WRONG_CODE)] {
        assert_eq!(outcome(&bed, ANN, &format!("opensesame{}", code(&bed, steps))), expected, "{steps}");
    }
    // A button pressed in vain is forgiven twice, and the server goes on from there.
    for (counter, expected) in [(3, WRONG_CODE), (2, GOOD), (2, WRONG_CODE), (1, WRONG_CODE), (5, GOOD), (6, GOOD)] {
        assert_eq!(outcome(&bed, BEN, &format!("benben{}", count(counter))), expected, "{counter}");
    }
}

/// Of many binds with the same code one is let in, and the answer comes after the disk.
#[test]
fn a_code_is_good_for_one_of_many_at_once() {
    let bed = Bed::new();
    enrol(&bed, ANN, TOTP, 6);
    let sent = format!("opensesame{}", code(&bed, 0));
    assert!(matches!(step(&bed.directory, ANN, &sent), BindStep::Waits(_)));
    let successes = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                if bound(&bed.directory, ANN, &sent).result.is_success() {
                    successes.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(successes.load(Ordering::Relaxed), 1);
    assert_eq!(bed.directory.guesses.in_flight(), 0, "nothing is kept");
}

#[test]
fn a_wrong_code_counts_as_a_wrong_password() {
    let three = PasswordPolicy {
        lockout_failure_count: 3,
        lockout_duration: Duration::from_secs(3_600),
        ..PasswordPolicy::default()
    };
    let bed = Bed::with(&["dc=example,dc=com"], |config| config.default_policy = three.into());
    enrol(&bed, ANN, TOTP, 6);
    for _ in 0..3 {
        assert_eq!(outcome(&bed, ANN, "opensesame000000"), WRONG_CODE);
    }
    assert_eq!(bed.values(ANN, "pwdFailureTime").len(), 3);
    let right = format!("opensesame{}", code(&bed, 0));
    let locked = outcome(&bed, ANN, &right).1;
    assert!(matches!(locked, Some(BindFailure::Refused(_))), "{locked:?}");
    // It was shown, so it is used up although the account was locked.
    bed.wait_for(|| bed.values(ANN, "ds-pwp-one-time-password-token")[0].contains("next=5"));
    bed.directory.account_clock.set_ahead(61 * 60_000);
    assert_eq!(outcome(&bed, ANN, &format!("opensesame{}", code(&bed, 0))), GOOD);
    assert_eq!(bed.values(ANN, "pwdFailureTime").len(), 0);
}

/// Who knows the password does not get to try all codes, whatever the policy says.
#[test]
fn after_ten_wrong_codes_none_is_right_for_a_while() {
    let bed = Bed::new();
    let (sender, notices) = mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let tell = move |kind, sentence: &str| drop(sender.lock().unwrap().send((kind, sentence.to_owned())));
    bed.directory.set_notices(Box::new(tell));
    enrol(&bed, ANN, TOTP, 6);
    let told = || notices.try_iter().filter(|(kind, _)| *kind == NoticeKind::SecondFactor).collect::<Vec<_>>();
    assert!(told()[0].1.contains("second-factor.key was made"));
    for _ in 0..30 {
        assert_eq!(outcome(&bed, ANN, &format!("guess{}", code(&bed, 0))), WRONG_PASSWORD);
    }
    for _ in 0..10 {
        assert_eq!(outcome(&bed, ANN, "opensesame000000"), WRONG_CODE);
    }
    assert_eq!(outcome(&bed, ANN, &format!("opensesame{}", code(&bed, 0))), WRONG_CODE);
    let told = told();
    assert!(told.len() == 1 && told[0].1.contains(ANN), "{told:?}");
}

/// Without the key nobody with a token gets in, and everybody else does; it may come back while the server runs.
#[test]
fn a_key_that_is_away_keeps_its_accounts_out() {
    let bed = Bed::new();
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    bed.directory.set_notices(Box::new(move |_, sentence| telling.lock().unwrap().push(sentence.to_owned())));
    enrol(&bed, ANN, TOTP, 6);
    let (key, away) = (bed.config.instance.second_factor_key(), bed.folder.path().join("away"));
    std::fs::rename(&key, &away).unwrap();
    let bed = bed.reopen();
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    bed.directory.set_notices(Box::new(move |_, sentence| telling.lock().unwrap().push(sentence.to_owned())));
    let sent = format!("opensesame{}", code(&bed, 0));
    assert_eq!(outcome(&bed, ANN, &sent), WRONG_CODE);
    assert_eq!(outcome(&bed, ANN, "opensesame"), WRONG_PASSWORD);
    assert_eq!(outcome(&bed, BEN, "benben"), GOOD);
    let sentences = told.lock().unwrap().clone();
    assert!(sentences.len() == 1 && sentences[0].contains("put it back from a copy"), "{sentences:?}");
    // Another key is no key.
    bed.directory.second_factors.key_or_make().unwrap();
    assert_eq!(outcome(&bed, ANN, &sent), WRONG_CODE);
    assert!(told.lock().unwrap().iter().any(|told| told.contains("does not open the secrets")));
    std::fs::rename(&away, &key).unwrap();
    assert_eq!(outcome(&bed, ANN, &sent), GOOD);
}

/// Who is not bound proves with password and code to be the user; who is bound has done that.
#[test]
fn an_old_password_is_followed_by_a_code_unless_the_user_is_bound() {
    let mut bed = Bed::new();
    enrol(&bed, ANN, TOTP, 6);
    let user = bed.session.clone();
    bed.session = Session::anonymous(8);
    let change = |bed: &Bed, old: &str, new: &str| bed.password_modify(Some(ANN), Some(old), Some(new)).0.result.code;
    let right = format!("opensesame{}", code(&bed, 0));
    assert_eq!(change(&bed, "opensesame", "another one"), ResultCode::INVALID_CREDENTIALS);
    assert_eq!(change(&bed, &right, "another one"), ResultCode::SUCCESS);
    bed.wait_for(|| outcome(&bed, ANN, &format!("another one{}", code(&bed, 0))) == WRONG_CODE);
    bed.session = user;
    bed.bind_as(ANN, &format!("another one{}", code(&bed, 1)));
    assert_eq!(change(&bed, "another one", "a third one"), ResultCode::SUCCESS);
}

fn manage(bed: &Bed, user: &str, action: FactorAction) -> (ResultCode, SecondFactorAnswer) {
    let value = SecondFactor { user: user.to_owned(), action }.encode();
    let mut bytes = Vec::new();
    ldap::client::extended(&mut bytes, 1, ldap::oids::extended::SECOND_FACTOR, Some(&value), &[]);
    let done = bed.send(&bytes).0;
    let answer = SecondFactorAnswer::decode(done.response_value.as_deref()).unwrap_or_default();
    (done.result.code, answer)
}

fn new_token(name: &str, digits: i64) -> FactorAction {
    let (kind, algorithm) = ("totp".to_owned(), "sha1".to_owned());
    let secret = Some(SECRET.to_vec().into());
    FactorAction::Enrol(NewToken { name: name.to_owned(), kind, algorithm, digits, period: 30, counter: 0, secret })
}

fn confirm(name: &str, code: String) -> FactorAction {
    FactorAction::Confirm { name: name.to_owned(), code: code.into() }
}

#[test]
fn an_administrator_enrols_and_removes() {
    let bed = Bed::new();
    wait_for_a_fresh_step(&bed);
    let (made, answer) = manage(&bed, ANN, new_token("phone", 6));
    let uri = answer.uri.unwrap();
    assert_eq!(made, ResultCode::SUCCESS);
    assert!(uri.starts_with("otpauth://totp/example.com:ann?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&"), "{}", *uri);
    assert_eq!(outcome(&bed, ANN, "opensesame"), GOOD, "nobody knows yet whether the authenticator has it");
    assert_eq!(manage(&bed, ANN, confirm("phone", "000000".to_owned())).0, ResultCode::CONSTRAINT_VIOLATION);
    assert_eq!(manage(&bed, ANN, confirm("phone", code(&bed, 0))).0, ResultCode::SUCCESS);
    for (sent, expected) in [
        ("opensesame".to_owned(), WRONG_PASSWORD),
        (format!("opensesame{}", code(&bed, 0)), WRONG_CODE),
        (format!("opensesame{}", code(&bed, 1)), GOOD),
    ] {
        assert_eq!(outcome(&bed, ANN, &sent), expected, "what was confirmed is used up");
    }
    for (action, refused) in [
        (new_token("phone", 6), ResultCode::ATTRIBUTE_OR_VALUE_EXISTS),
        (new_token("card", 8), ResultCode::CONSTRAINT_VIOLATION),
        (new_token("card;", 6), ResultCode::CONSTRAINT_VIOLATION),
        (new_token("card", 9), ResultCode::CONSTRAINT_VIOLATION),
        (confirm("card", code(&bed, 0)), ResultCode::NO_SUCH_ATTRIBUTE),
        (FactorAction::Remove { name: "card".to_owned() }, ResultCode::NO_SUCH_ATTRIBUTE),
    ] {
        assert_eq!(manage(&bed, ANN, action.clone()).0, refused, "{action:?}");
    }
    assert_eq!(manage(&bed, "uid=nobody,dc=example,dc=com", FactorAction::List).0, ResultCode::NO_SUCH_OBJECT);
    // Root users have none.
    let remove = FactorAction::Remove { name: String::new() };
    assert_eq!(manage(&bed, "cn=Directory Manager", remove).0, ResultCode::UNWILLING_TO_PERFORM);
    assert_eq!(manage(&bed, "cn=Directory Manager", FactorAction::List).0, ResultCode::SUCCESS);
    let known = KnownToken { name: "phone".to_owned(), kind: "TOTP".to_owned(), digits: 6, is_active: true };
    assert_eq!(manage(&bed, ANN, FactorAction::List).1.tokens, [known]);
    assert_eq!(manage(&bed, ANN, FactorAction::Remove { name: String::new() }).0, ResultCode::SUCCESS);
    assert_eq!(outcome(&bed, ANN, "opensesame"), GOOD);
    let replaced = bed.replace(ANN, "ds-pwp-one-time-password-token", "{HOTP}").0.result.code;
    assert_eq!(replaced, ResultCode::CONSTRAINT_VIOLATION, "only the server writes tokens");
}

#[test]
fn tokens_that_are_not_in_use_yet_have_as_many_digits_too() {
    let bed = Bed::new();
    assert_eq!(manage(&bed, ANN, new_token("phone", 6)).0, ResultCode::SUCCESS);
    assert_eq!(manage(&bed, ANN, new_token("card", 8)).0, ResultCode::CONSTRAINT_VIOLATION);
    assert_eq!(manage(&bed, ANN, new_token("phone", 8)).0, ResultCode::SUCCESS, "it takes the place of the first");
    assert_eq!(manage(&bed, ANN, new_token("card", 8)).0, ResultCode::SUCCESS);
    assert_eq!(manage(&bed, ANN, new_token("phone", 6)).0, ResultCode::CONSTRAINT_VIOLATION);
}

/// What does not belong to a kind of token is refused, in plain words; all tokens of an account have as many digits,
/// those too that were never used.
#[test]
fn a_token_that_is_not_valid_is_refused_in_plain_words() {
    let bed = Bed::new();
    let FactorAction::Enrol(good) = new_token("phone", 6) else { panic!("no new token") };
    let button = NewToken { kind: "hotp".to_owned(), period: 0, counter: 3, ..good.clone() };
    let refused = |new: NewToken| {
        let value = SecondFactor { user: ANN.to_owned(), action: FactorAction::Enrol(new) }.encode();
        let mut bytes = Vec::new();
        ldap::client::extended(&mut bytes, 1, ldap::oids::extended::SECOND_FACTOR, Some(&value), &[]);
        let result = bed.send(&bytes).0.result;
        assert_eq!(result.code, ResultCode::CONSTRAINT_VIOLATION);
        result.message.to_string()
    };
    for (new, told) in [
        (NewToken { digits: 9, ..good.clone() }, "its codes have 6 to 8 digits, not \"9\""),
        (NewToken { period: 5, ..good.clone() }, "it shows a code for 10 to 300 seconds, not \"5\""),
        (NewToken { counter: 1, ..good.clone() }, "the time counts its codes: its counter is 0, not \"1\""),
        (NewToken { period: 30, ..button.clone() }, "the button's codes have no time: its period is 0, not \"30\""),
        (NewToken { counter: -1, ..button.clone() }, "its counter is a number that is not below 0, not \"-1\""),
        (NewToken { kind: "sms".to_owned(), ..good.clone() }, "its kind is TOTP or HOTP, not \"sms\""),
    ] {
        assert_eq!(refused(new), format!("The token is not valid: {told}"));
    }
    let enrolled = |new: NewToken| manage(&bed, ANN, FactorAction::Enrol(new)).0;
    assert_eq!(enrolled(button.clone()), ResultCode::SUCCESS);
    assert_eq!(
        enrolled(NewToken { digits: 8, ..button.clone() }),
        ResultCode::SUCCESS,
        "it takes the place of that one"
    );
    assert!(refused(NewToken { name: "card".to_owned(), ..good }).contains("8 digits"));
}

/// Whoever the policy asks for a code does not bind without one, and what it says is obeyed from then on.
#[test]
fn a_policy_may_require_a_second_factor() {
    let three = PasswordPolicy { lockout_failure_count: 3, require_second_factor: true, ..PasswordPolicy::default() };
    let bed = Bed::with(&["dc=example,dc=com"], |config| config.default_policy = three.into());
    wait_for_a_fresh_step(&bed);
    let none = (ResultCode::INVALID_CREDENTIALS, Some(BindFailure::NoSecondFactor));
    assert_eq!(outcome(&bed, ANN, "opensesame"), none);
    assert_eq!(outcome(&bed, ANN, "guess"), WRONG_PASSWORD);
    assert_eq!(bed.values(ANN, "pwdFailureTime").len(), 2, "both count");
    let (listed, answer) = manage(&bed, ANN, FactorAction::List);
    assert!(listed == ResultCode::SUCCESS && answer.is_required && answer.tokens.is_empty());
    // A token that was never used counts: its first code puts it in use.
    assert_eq!(manage(&bed, ANN, new_token("phone", 6)).0, ResultCode::SUCCESS);
    assert_eq!(outcome(&bed, ANN, &format!("opensesame{}", code(&bed, 0))), GOOD);
    assert_eq!(bed.values(ANN, "pwdFailureTime").len(), 0);
    assert!(manage(&bed, ANN, FactorAction::List).1.tokens[0].is_active);
    assert_eq!(outcome(&bed, ANN, &format!("opensesame{}", code(&bed, 0))), WRONG_CODE);
    assert_eq!(outcome(&bed, ANN, "opensesame"), WRONG_PASSWORD);
    // Root users have no tokens.
    assert_eq!(outcome(&bed, "cn=Directory Manager", "password"), GOOD);
    for _ in 0..3 {
        assert_eq!(outcome(&bed, BEN, "benben"), none);
    }
    assert_eq!(bed.values(BEN, "pwdAccountLockedTime").len(), 1, "as by guesses");
}

/// An old password is no way around a code that is required; whoever is bound has shown one.
#[test]
fn a_password_is_not_changed_without_the_code_that_is_required() {
    let required = PasswordPolicy { require_second_factor: true, ..PasswordPolicy::default() };
    let mut bed = Bed::with(&["dc=example,dc=com"], |config| config.default_policy = required.into());
    wait_for_a_fresh_step(&bed);
    let root = std::mem::replace(&mut bed.session, Session::anonymous(8));
    let change = |bed: &Bed, old: &str| bed.password_modify(Some(ANN), Some(old), Some("another one")).0.result.code;
    assert_eq!(change(&bed, "opensesame"), ResultCode::INVALID_CREDENTIALS);
    let user = std::mem::replace(&mut bed.session, root);
    assert_eq!(manage(&bed, ANN, new_token("phone", 6)).0, ResultCode::SUCCESS);
    bed.session = user;
    assert_eq!(change(&bed, "opensesame"), ResultCode::INVALID_CREDENTIALS);
    assert_eq!(change(&bed, &format!("opensesame{}", code(&bed, 0))), ResultCode::SUCCESS);
}

/// A user manages the own tokens for five minutes after the password was shown, and nobody else's.
#[test]
fn users_manage_their_own_after_the_password() {
    let mut bed = Bed::new();
    bed.session = Session::of(bed.bind(ANN, "opensesame").1, 9);
    assert_eq!(manage(&bed, "", new_token("phone", 6)).0, ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "by nothing");
    assert_eq!(manage(&bed, "", FactorAction::List).0, ResultCode::SUCCESS);
    bed.session.authentication = access::Authentication::Simple;
    bed.session.bound_at = Instant::now().checked_sub(Duration::from_secs(301));
    assert_eq!(manage(&bed, "", new_token("phone", 6)).0, ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "long ago");
    bed.session.bound_at = Some(Instant::now());
    assert_eq!(manage(&bed, ANN, new_token("phone", 6)).0, ResultCode::SUCCESS);
    assert_eq!(manage(&bed, "", confirm("phone", code(&bed, 0))).0, ResultCode::SUCCESS);
    assert_eq!(manage(&bed, BEN, FactorAction::List).0, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    let ben = bed.bind(BEN, "benben").1;
    let acting = bed.session.acting_as(ben);
    let own = std::mem::replace(&mut bed.session, acting);
    assert_eq!(manage(&bed, "", new_token("phone", 6)).0, ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "by somebody else");
    bed.session = own;
    assert_eq!(manage(&bed, "", FactorAction::Remove { name: "phone".to_owned() }).0, ResultCode::SUCCESS);
}

/// A value that is no token lets nobody in.
#[test]
fn a_damaged_token_keeps_its_account_out() {
    let bed = Bed::new();
    enrol(&bed, ANN, TOTP, 6);
    let (place, entry_uuid) = place_of(&bed, ANN);
    let value = bed.values(ANN, "ds-pwp-one-time-password-token")[0].clone();
    // As if it had been copied from another entry.
    let (other, other_uuid) = place_of(&bed, BEN);
    let changes = vec![StateChange::PutToken { value: value.replace("active", "pending").into_bytes() }];
    bed.directory.states.write(StateWrite { of: StateOf::Entry(other, other_uuid), changes, guess: None, done: None });
    bed.wait_for(|| !bed.values(BEN, "ds-pwp-one-time-password-token").is_empty());
    assert_eq!(outcome(&bed, BEN, "benben"), GOOD, "a token that was never shown is not asked for");
    let key = Token::parse(&value).unwrap().key();
    let changes = vec![StateChange::SpendCode { token: key, next: 0 }];
    bed.directory.states.write(StateWrite { of: StateOf::Entry(other, other_uuid), changes, guess: None, done: None });
    bed.wait_for(|| bed.values(BEN, "ds-pwp-one-time-password-token")[0].contains("active"));
    assert_eq!(outcome(&bed, BEN, &format!("benben{}", code(&bed, 0))), WRONG_CODE);
    let changes = vec![StateChange::RemoveToken { token: None }];
    bed.directory.states.write(StateWrite { of: StateOf::Entry(place, entry_uuid), changes, guess: None, done: None });
    bed.wait_for(|| bed.values(ANN, "ds-pwp-one-time-password-token").is_empty());
    assert_eq!(outcome(&bed, ANN, "opensesame"), GOOD);
}
