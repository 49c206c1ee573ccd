//! Changes of passwords under a password policy: what is refused with which result and which error of the password
//! policy control, and what is written beside the password.

use std::sync::Arc;
use std::time::{Duration, Instant};

use accounts::{PasswordGenerator, PasswordPolicy, PolicyError, QualityRule, ValidatorRule};
use ldap::controls::PasswordPolicyResponse;
use ldap::extended::{PasswordModify, decode_generated_password};
use ldap::oids::control;
use ldap::{ControlBuf, ModifyOperation, ResultCode, client, oids};

use super::bed::{ANN, BEN, Bed, Done, modify_message, root};
use crate::Identity;
use crate::update::UpdateDone;

const DAY: u64 = 86_400;
const CONSTRAINT: ResultCode = ResultCode::CONSTRAINT_VIOLATION;
const UNWILLING: ResultCode = ResultCode::UNWILLING_TO_PERFORM;

fn bed(set: impl FnOnce(&mut PasswordPolicy)) -> Bed {
    Bed::with(&["dc=example,dc=com"], |config| set(Arc::make_mut(&mut config.default_policy)))
}

fn asked() -> [ControlBuf; 1] {
    [ControlBuf::new(control::PASSWORD_POLICY, None).critical()]
}

impl Bed {
    fn wait(&self, seconds: u64) {
        let clock = self.directory.account_clock();
        clock.set_ahead(clock.ahead_ms() + seconds as i64 * 1000);
    }

    fn set(&self, dn: &str, password: &str) -> Done {
        self.send(&modify_message(dn, &[(ModifyOperation::Replace, "userPassword", password)], &asked()))
    }

    fn change(&self, whose: Option<&str>, old: Option<&str>, new: Option<&str>) -> Done {
        let value = PasswordModify {
            user_identity: whose.map(str::as_bytes),
            old_password: old.map(str::as_bytes),
            new_password: new.map(str::as_bytes),
        };
        let mut bytes = Vec::new();
        client::extended(&mut bytes, 1, oids::extended::PASSWORD_MODIFY, Some(&value.encode()), &asked());
        self.send(&bytes)
    }
}

/// What the password policy control of a response says; none: there is none.
fn told(done: &UpdateDone) -> Option<Option<PolicyError>> {
    let control = done.response_controls.iter().find(|it| it.oid == control::PASSWORD_POLICY)?;
    Some(PasswordPolicyResponse::decode(control.value.as_deref()).unwrap().error)
}

#[track_caller]
fn refused(done: Done, code: ResultCode, error: Option<PolicyError>) {
    let done = done.refused(code, "");
    assert_eq!(told(&done), error.map(Some), "{}", done.result);
}

#[test]
fn a_new_password_ends_what_the_old_one_led_to() {
    let bed = bed(|policy| {
        policy.password_history_count = 2;
        policy.require_change_by_time = Some(accounts::Moment(1_900_000_000_000));
    });
    let state = [
        ("pwdFailureTime", "20261122094913.380Z"),
        ("pwdAccountLockedTime", "20261122094913.380Z"),
        ("pwdGraceUseTime", "20261122094913.380Z"),
        ("ds-pwp-warned-time", "20261122094913.380Z"),
        ("pwdReset", "TRUE"),
    ];
    let relax = [ControlBuf::new(control::RELAX, None)];
    for (name, value) in state {
        bed.send(&modify_message(ANN, &[(ModifyOperation::Replace, name, value)], &relax)).ok();
        assert_eq!(bed.values(ANN, name).len(), 1, "{name}");
    }
    let before = bed.values(ANN, "userPassword");
    bed.wait(DAY);
    bed.set(ANN, "second secret").ok();
    for (name, _) in state {
        assert_eq!(bed.values(ANN, name), Vec::<String>::new(), "{name}");
    }
    let changed = bed.values(ANN, "pwdChangedTime");
    let history = bed.values(ANN, "pwdHistory");
    assert_eq!(history, [format!("{}#1.3.6.1.4.1.1466.115.121.1.40#{}", changed[0], before[0])]);
    assert_eq!(bed.values(ANN, "ds-pwp-password-changed-by-required-time"), ["20300317174640.000Z"]);
    // The time is that of the accounts' clock, which is a day ahead.
    let modified = &bed.values(ANN, "modifyTimestamp").first().cloned().unwrap_or_default();
    assert!(changed[0] > *modified, "{changed:?} {modified}");
    // What the log holds says it again after a crash.
    let bed = bed.reopen();
    assert_eq!(bed.values(ANN, "pwdHistory"), history);
    assert_eq!(bed.values(ANN, "pwdChangedTime"), changed);
    let lock = [(ModifyOperation::Replace, "pwdAccountLockedTime", "000001010000Z")];
    bed.send(&modify_message(ANN, &lock, &relax)).ok();
    bed.set(ANN, "third secret").ok();
    assert_eq!(bed.values(ANN, "pwdAccountLockedTime"), Vec::<String>::new(), "an administrator unlocks");
}

#[test]
fn each_reset_has_a_time_of_its_own_and_an_own_change_has_none() {
    let mut bed = bed(|_| {});
    let reset = |bed: &Bed| bed.values(ANN, "ds-pwp-reset-time");
    assert_eq!(reset(&bed), Vec::<String>::new(), "a new entry was not reset");
    let mut times = std::collections::BTreeSet::new();
    for number in 0..20 {
        bed.set(ANN, &format!("secret {number}")).ok();
        times.extend(reset(&bed));
    }
    assert_eq!(times.len(), 20);
    bed.bind_as(ANN, "secret 19");
    bed.set(ANN, "an own one").ok();
    assert_eq!(reset(&bed), [times.last().unwrap().as_str()]);
}

/// Sessions see by it that the account was disabled, although it was enabled at once.
#[test]
fn each_disabling_has_a_time_of_its_own_and_enabling_has_none() {
    let bed = bed(|_| {});
    let time = |bed: &Bed| bed.values(ANN, "ds-pwp-account-disabled-time");
    bed.replace(ANN, "ds-pwp-account-disabled", "FALSE").ok();
    bed.replace(ANN, "nsAccountLock", "false").ok();
    assert_eq!(time(&bed), Vec::<String>::new(), "it was not disabled yet");
    let mut times = std::collections::BTreeSet::new();
    for number in 0..20 {
        let attribute = if number % 2 == 0 { "ds-pwp-account-disabled" } else { "nsAccountLock" };
        bed.replace(ANN, attribute, "true").ok();
        times.extend(time(&bed));
        bed.replace(ANN, attribute, "TRUE").ok();
        bed.replace(ANN, attribute, "false").ok();
        assert_eq!(time(&bed), [times.last().unwrap().as_str()], "only disabling it counts");
    }
    assert_eq!(times.len(), 20);
    refused(bed.replace(ANN, "ds-pwp-account-disabled-time", "20200101000000Z"), CONSTRAINT, None);
    assert_eq!(times, time(&bed.reopen()).into_iter().chain(times.clone()).collect(), "it is kept");
}

#[test]
fn former_passwords_are_refused() {
    let mut bed = bed(|policy| policy.password_history_count = 2);
    bed.bind_as(ANN, "opensesame");
    refused(bed.set(ANN, "opensesame"), CONSTRAINT, Some(PolicyError::PasswordInHistory));
    for password in ["two", "three"] {
        assert_eq!(told(&bed.set(ANN, password).ok()), Some(None));
    }
    refused(bed.change(None, None, Some("opensesame")), CONSTRAINT, Some(PolicyError::PasswordInHistory));
    bed.change(None, None, Some("four")).ok();
    assert_eq!(bed.values(ANN, "pwdHistory").len(), 2);
    bed.set(ANN, "opensesame").ok();
}

#[test]
fn rules_are_for_clear_passwords_and_said_in_words() {
    let mut bed = bed(|policy| {
        policy.validators = vec![ValidatorRule::Length { min: 8, max: 12 }];
        policy.skip_validation_for_administrators = true;
    });
    bed.set(ANN, "short").ok();
    bed.bind_as(ANN, "short");
    let done = bed.set(ANN, "shorter").refused(CONSTRAINT, "The password has 7 characters: choose one with at least 8");
    assert_eq!(told(&done), Some(Some(PolicyError::PasswordTooShort)));
    refused(bed.change(None, None, Some("much too long!")), CONSTRAINT, Some(PolicyError::PasswordTooLong));
    // What could not be stored is refused before a rule looks at it.
    let done = bed.change(None, None, Some(&"long".repeat(2_000))).refused(CONSTRAINT, "cannot be stored");
    assert_eq!(told(&done), Some(Some(PolicyError::PasswordTooLong)));
    // Nobody asked for the control.
    let done = bed.replace(ANN, "userPassword", "shorter").refused(CONSTRAINT, "at least 8");
    assert_eq!(done.response_controls, []);
    bed.set(ANN, "long enough").ok();
    let ssha = "{SSHA}cchzM+LrPCvbZdthOC8e62d4h7a4CfoNvl6d/w==";
    refused(bed.set(ANN, ssha), CONSTRAINT, Some(PolicyError::InsufficientPasswordQuality));
    refused(bed.change(None, None, Some(ssha)), CONSTRAINT, Some(PolicyError::InsufficientPasswordQuality));
    bed.session.identity = root();
    bed.set(ANN, ssha).ok();
}

#[test]
fn a_user_changes_the_password_when_and_how_the_policy_lets() {
    let mut bed = bed(|policy| {
        policy.min_password_age = Duration::from_secs(DAY);
        policy.password_change_requires_current_password = true;
    });
    bed.bind_as(ANN, "opensesame");
    refused(bed.set(ANN, "early"), UNWILLING, Some(PolicyError::PasswordTooYoung));
    refused(bed.change(None, Some("opensesame"), Some("early")), UNWILLING, Some(PolicyError::PasswordTooYoung));
    bed.wait(DAY + 1);
    refused(bed.set(ANN, "new one"), UNWILLING, Some(PolicyError::MustSupplyOldPassword));
    refused(bed.change(None, None, Some("new one")), UNWILLING, Some(PolicyError::MustSupplyOldPassword));
    refused(bed.change(None, Some("wrong"), Some("new one")), ResultCode::INVALID_CREDENTIALS, None);
    let with_old = |old: &str, new: &str| {
        let changes = [(ModifyOperation::Delete, "userPassword", old), (ModifyOperation::Add, "userPassword", new)];
        bed.send(&modify_message(ANN, &changes, &asked()))
    };
    refused(with_old("wrong", "new one"), ResultCode::NO_SUCH_ATTRIBUTE, None);
    with_old("opensesame", "new one").ok();
    bed.wait(DAY + 1);
    let twice = [
        (ModifyOperation::Delete, "userPassword", "new one"),
        (ModifyOperation::Add, "userPassword", "a"),
        (ModifyOperation::Add, "userPassword", "b"),
    ];
    refused(bed.send(&modify_message(ANN, &twice, &asked())), CONSTRAINT, Some(PolicyError::PasswordModNotAllowed));
    bed.modify(ANN, &[(ModifyOperation::Replace, "userPassword;lang-en", "x")]).refused(CONSTRAINT, "no options");
    bed.modify(ANN, &[(ModifyOperation::Increment, "userPassword", "1")]).refused(CONSTRAINT, "no number");
    refused(bed.set(BEN, "x"), ResultCode::INSUFFICIENT_ACCESS_RIGHTS, Some(PolicyError::PasswordModNotAllowed));
    refused(
        bed.change(Some(BEN), None, Some("x")),
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
        Some(PolicyError::PasswordModNotAllowed),
    );
    bed.change(None, Some("new one"), Some("the last")).ok();
    assert!(bed.bind(ANN, "the last").0.is_success());
}

#[test]
fn the_password_that_is_there_is_not_added() {
    let bed = bed(|policy| policy.allow_multiple_password_values = true);
    let add = |password| bed.send(&modify_message(ANN, &[(ModifyOperation::Add, "userPassword", password)], &asked()));
    refused(add("opensesame"), ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, Some(PolicyError::PasswordInHistory));
    add("second").ok();
    assert!(bed.bind(ANN, "opensesame").0.is_success() && bed.bind(ANN, "second").0.is_success());
}

/// The extended operation changes the password that is named, and the only one where none is.
#[test]
fn other_passwords_stay_when_one_is_changed() {
    let bed = bed(|policy| policy.allow_multiple_password_values = true);
    let add = [(ModifyOperation::Add, "userPassword", "second")];
    bed.send(&modify_message(ANN, &add, &asked())).ok();
    bed.change(Some(ANN), Some("second"), Some("third")).ok();
    let works = |password| bed.bind(ANN, password).0.is_success();
    assert_eq!(["opensesame", "second", "third"].map(works), [true, false, true]);
    bed.change(Some(ANN), None, Some("the only one")).ok();
    assert_eq!(["opensesame", "third", "the only one"].map(works), [false, false, true]);
}

#[test]
fn passwords_are_changed_over_encrypted_connections_where_the_policy_says_so() {
    let mut bed = bed(|policy| policy.require_secure_password_changes = true);
    let insecure = ResultCode::CONFIDENTIALITY_REQUIRED;
    refused(bed.set(ANN, "x"), insecure, Some(PolicyError::PasswordModNotAllowed));
    refused(bed.change(Some(ANN), None, Some("x")), insecure, Some(PolicyError::PasswordModNotAllowed));
    bed.session.set_strength(256);
    bed.set(ANN, "x").ok();
    bed.change(Some(ANN), None, Some("y")).ok();
}

#[test]
fn a_password_of_somebody_else_has_to_be_changed() {
    let mut bed = bed(|policy| {
        policy.force_change_on_reset = true;
        policy.force_change_on_add = true;
    });
    let fixed = [("objectClass", "inetOrgPerson"), ("cn", "x"), ("sn", "x"), ("uid", "eve"), ("userPassword", "first")];
    let eve = "uid=eve,dc=example,dc=com";
    let added = bed.add_with(eve, &fixed, &asked()).ok();
    assert_eq!(told(&added), Some(Some(PolicyError::ChangeAfterReset)));
    assert_eq!(bed.values(eve, "pwdReset"), ["TRUE"]);
    assert_eq!(bed.values(eve, "pwdChangedTime").len(), 1);
    bed.change(Some(eve), Some("first"), Some("second")).ok();
    assert_eq!(bed.values(eve, "pwdReset"), ["TRUE"], "it was not eve who changed it");
    assert_eq!(told(&bed.set(ANN, "reset").ok()), Some(Some(PolicyError::ChangeAfterReset)));
    assert_eq!(bed.values(ANN, "pwdReset"), ["TRUE"]);
    // The request says otherwise.
    bed.modify(
        ANN,
        &[(ModifyOperation::Replace, "userPassword", "reset"), (ModifyOperation::Replace, "pwdReset", "FALSE")],
    )
    .ok();
    assert_eq!(bed.values(ANN, "pwdReset"), ["FALSE"]);
    bed.set(ANN, "reset").ok();
    bed.session.identity = Identity::Anonymous;
    assert_eq!(told(&bed.change(Some(ANN), Some("reset"), Some("own")).ok()), Some(None));
    assert_eq!(bed.values(ANN, "pwdReset"), Vec::<String>::new());
}

#[test]
fn who_is_not_authenticated_is_the_user_with_the_old_password() {
    let mut bed = bed(|_| {});
    bed.session.identity = Identity::Anonymous;
    let wrong = ResultCode::INVALID_CREDENTIALS;
    refused(bed.change(None, None, Some("x")), UNWILLING, None);
    refused(
        bed.change(Some(ANN), None, Some("x")),
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
        Some(PolicyError::PasswordModNotAllowed),
    );
    for whose in
        [ANN, "u:ann", "uid=no,dc=example,dc=com", "dc=example,dc=com", "dc=elsewhere", "rubbish=", "u:no", "no"]
    {
        let done = bed.change(Some(whose), Some("wrong"), Some("x")).refused(wrong, "");
        assert_eq!((done.result.message.as_str(), done.result.matched_dn.as_str()), ("", ""), "{whose}");
        assert_eq!(done.response_controls, [], "{whose}");
    }
    for (whose, old, new) in
        [(ANN, "opensesame", "a"), ("u:ann", "a", "b"), ("ann", "b", "c"), ("dn:uid=ann, dc=example,dc=com", "c", "d")]
    {
        bed.change(Some(whose), Some(old), Some(new)).ok();
    }
    assert!(bed.bind(ANN, "d").0.is_success());
    bed.session.identity = root();
    bed.change(Some("u:no"), None, Some("x")).refused(ResultCode::NO_SUCH_OBJECT, "There is no user \"no\"");
}

#[test]
fn wrong_old_passwords_are_counted_as_those_of_binds() {
    let mut bed = bed(|policy| policy.lockout_failure_count = 3);
    // The answer to a wrong one comes when it is written.
    let failures = |bed: &Bed| bed.values(ANN, "pwdFailureTime").len();
    bed.session.identity = Identity::Anonymous;
    refused(bed.change(Some(ANN), Some("wrong"), Some("x")), ResultCode::INVALID_CREDENTIALS, None);
    assert_eq!(failures(&bed), 1);
    bed.bind_as(ANN, "opensesame");
    let until = Instant::now() + Duration::from_secs(60);
    while failures(&bed) != 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let replace = |old: &str| {
        let changes = [(ModifyOperation::Delete, "userPassword", old), (ModifyOperation::Add, "userPassword", "x")];
        bed.send(&modify_message(ANN, &changes, &asked()))
    };
    refused(bed.change(None, Some("wrong"), Some("x")), ResultCode::INVALID_CREDENTIALS, None);
    assert_eq!(failures(&bed), 1);
    for count in 2..=3 {
        refused(replace("wrong"), ResultCode::NO_SUCH_ATTRIBUTE, None);
        assert_eq!(failures(&bed), count);
    }
    refused(bed.change(None, Some("opensesame"), Some("x")), UNWILLING, Some(PolicyError::AccountLocked));
    refused(replace("opensesame"), UNWILLING, Some(PolicyError::AccountLocked));
}

#[test]
fn accounts_that_are_off_locked_or_expired_keep_their_password() {
    let mut bed = bed(|policy| {
        policy.lockout_failure_count = 3;
        policy.max_password_age = Duration::from_secs(9 * DAY);
        policy.expire_passwords_without_warning = true;
    });
    bed.replace(ANN, "ds-pwp-account-disabled", "TRUE").ok();
    refused(bed.change(Some(ANN), None, Some("x")), UNWILLING, Some(PolicyError::AccountLocked));
    bed.set(ANN, "by modify").ok();
    bed.replace(ANN, "ds-pwp-account-disabled", "FALSE").ok();
    let relax = [ControlBuf::new(control::RELAX, None)];
    let lock = [(ModifyOperation::Replace, "pwdAccountLockedTime", "20261122094913.380Z")];
    bed.send(&modify_message(ANN, &lock, &relax)).ok();
    bed.session.identity = Identity::Anonymous;
    refused(bed.change(Some(ANN), Some("by modify"), Some("x")), UNWILLING, Some(PolicyError::AccountLocked));
    bed.session.identity = root();
    bed.change(Some(ANN), None, Some("unlocked")).ok();
    bed.wait(9 * DAY + 1);
    bed.session.identity = Identity::Anonymous;
    refused(bed.change(Some(ANN), Some("unlocked"), Some("x")), UNWILLING, Some(PolicyError::PasswordExpired));
    let netscape = bed.password_modify(Some(ANN), Some("unlocked"), Some("x")).refused(UNWILLING, "has expired");
    assert_eq!(netscape.response_controls, [ControlBuf::new(control::PASSWORD_EXPIRED, Some(b"0".to_vec()))]);
    Arc::make_mut(&mut bed.config.default_policy).allow_expired_password_changes = true;
    let bed = bed.reopen();
    bed.wait(9 * DAY + 1);
    bed.change(Some(ANN), Some("unlocked"), Some("x")).ok();
}

#[test]
fn generated_passwords_obey_the_rules() {
    let sets = ["alpha:abcdefgh".to_owned(), "numeric:0123456789".to_owned()];
    let generator = |format| Some(PasswordGenerator::parse(&sets, format).unwrap());
    let rule = || ValidatorRule::Quality(QualityRule { min_digits: 2, max_repeats: 1, ..QualityRule::default() });
    let obeying = |policy: &mut PasswordPolicy| {
        // The people of the directory have other passwords.
        policy.skip_validation_for_administrators = true;
        policy.validators = vec![rule()];
        policy.generator = generator("alpha:3,numeric:2,alpha:3");
    };
    let first = bed(obeying);
    for _ in 0..20 {
        let done = first.change(Some(ANN), None, None).ok();
        let made = decode_generated_password(done.response_value.as_deref()).unwrap().unwrap();
        assert!(made.len() == 8 && made[3..5].iter().all(u8::is_ascii_digit), "{made:?}");
        assert!(first.bind(ANN, std::str::from_utf8(made).unwrap()).0.is_success());
    }
    let bed = bed(|policy| {
        obeying(policy);
        policy.generator = generator("alpha:8");
    });
    bed.change(Some(ANN), None, None).refused(ResultCode::UNAVAILABLE, "password-format");
}

#[test]
fn several_schemes_store_several_values() {
    let bed = bed(|policy| {
        policy.default_schemes = vec![password::Scheme::SaltedSha512, password::Scheme::SaltedSha256];
    });
    bed.set(ANN, "one").ok();
    let prefixes: Vec<String> = bed.values(ANN, "userPassword").iter().map(|it| it[..8].to_owned()).collect();
    assert_eq!(prefixes, ["{SSHA512", "{SSHA256"]);
    bed.modify(ANN, &[(ModifyOperation::Delete, "userPassword", "one")]).ok();
    assert_eq!(bed.values(ANN, "userPassword"), Vec::<String>::new());
}

#[test]
fn the_control_of_a_request_has_no_value() {
    let bed = bed(|_| {});
    let valued = [ControlBuf::new(control::PASSWORD_POLICY, Some(b"x".to_vec()))];
    bed.send(&modify_message(ANN, &[(ModifyOperation::Replace, "userPassword", "x")], &valued))
        .refused(ResultCode::PROTOCOL_ERROR, "has no value");
}
