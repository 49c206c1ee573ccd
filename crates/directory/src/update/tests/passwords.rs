//! Passwords on their way into entries.

use std::sync::Arc;

use ldap::{ModifyOperation, ResultCode};

use super::bed::{ANN, BEN, Bed, modify_message, root};
use crate::Identity;
use password::Scheme;

const DENIED: ResultCode = ResultCode::INSUFFICIENT_ACCESS_RIGHTS;

#[test]
fn clear_passwords_reach_no_disk() {
    let bed = Bed::with(&["dc=example,dc=com"], |config| {
        Arc::make_mut(&mut config.default_policy).allow_multiple_password_values = true;
    });
    assert!(bed.values(ANN, "userPassword")[0].starts_with("{SSHA512}"));
    bed.replace(ANN, "userPassword", "a new secret").ok();
    bed.modify(ANN, &[(ModifyOperation::Add, "userpassword", "one more")]).ok();
    assert_eq!(bed.values(ANN, "userPassword").len(), 2);
    assert!(bed.bind(ANN, "a new secret").0.is_success() && bed.bind(ANN, "one more").0.is_success());
    // A clear value is found among the hashes.
    bed.modify(ANN, &[(ModifyOperation::Delete, "userPassword", "one more")]).ok();
    assert!(bed.bind(ANN, "a new secret").0.is_success() && !bed.bind(ANN, "one more").0.is_success());
    let none = ResultCode::NO_SUCH_ATTRIBUTE;
    let refused =
        bed.modify(ANN, &[(ModifyOperation::Delete, "userPassword", "one more")]).refused(none, "userPassword");
    assert!(!refused.result.message.contains("one more"));
    let bed = bed.reopen();
    for clear in ["opensesame", "a new secret", "one more"] {
        assert!(!bed.files_hold(clear), "{clear}");
    }
}

#[test]
fn encoded_passwords_are_for_root() {
    let mut bed = Bed::new();
    let ssha = "{SSHA}cchzM+LrPCvbZdthOC8e62d4h7a4CfoNvl6d/w==";
    bed.replace(ANN, "userPassword", ssha).ok();
    assert_eq!(bed.values(ANN, "userPassword"), [ssha]);
    bed.bind_as(ANN, "password");
    bed.replace(ANN, "userPassword", ssha).refused(ResultCode::CONSTRAINT_VIOLATION, "in clear");
    bed.replace(ANN, "userPassword", "{braces} are fine").ok();
    assert!(bed.bind(ANN, "{braces} are fine").0.is_success());
    bed.replace(ANN, "userPassword", "").refused(ResultCode::CONSTRAINT_VIOLATION, "1 to");
}

#[test]
fn slow_schemes_are_jobs() {
    let mut bed = Bed::with(&["dc=example,dc=com"], |config| {
        Arc::make_mut(&mut config.default_policy).default_schemes = vec![Scheme::Pbkdf2]
    });
    assert!(bed.values(ANN, "userPassword")[0].starts_with("{PBKDF2}"));
    let replace = |password: &str| modify_message(ANN, &[(ModifyOperation::Replace, "userPassword", password)], &[]);
    let (done, slow) = bed.send_and_tell(&replace("slowly"));
    done.ok();
    assert!(slow && bed.bind(ANN, "slowly").0.is_success());
    let (done, slow) = bed.send_and_tell(&replace("{SSHA}cchzM+LrPCvbZdthOC8e62d4h7a4CfoNvl6d/w=="));
    done.ok();
    assert!(!slow);
    bed.bind_as(ANN, "password");
    bed.password_modify(None, Some("password"), Some("slower")).ok();
    assert!(bed.bind(ANN, "slower").0.is_success());
}

#[test]
fn password_modify() {
    let mut bed = Bed::new();
    // Root: any entry, without the old password, in both spellings of the identity.
    bed.password_modify(Some(ANN), None, Some("one")).ok();
    bed.password_modify(Some(&format!("dn:{ANN}")), Some("one"), Some("two")).ok();
    bed.password_modify(Some(ANN), Some("wrong"), Some("x")).refused(ResultCode::INVALID_CREDENTIALS, "old password");
    bed.password_modify(None, None, Some("x")).refused(ResultCode::UNWILLING_TO_PERFORM, "pando.toml");
    bed.password_modify(Some("CN=directory manager"), None, Some("x"))
        .refused(ResultCode::UNWILLING_TO_PERFORM, "pando.toml");
    let missing = bed.password_modify(Some("uid=no,dc=example,dc=com"), None, Some("x"));
    assert_eq!(missing.refused(ResultCode::NO_SUCH_OBJECT, "").result.matched_dn, "dc=example,dc=com");
    bed.password_modify(Some("=ann"), None, Some("x")).refused(ResultCode::INVALID_DN_SYNTAX, "ann");
    bed.password_modify(Some("u:ann"), Some("two"), Some("mapped")).ok();
    bed.password_modify(Some("ann"), Some("mapped"), Some("two")).ok();
    bed.password_modify(Some(ANN), None, Some("")).refused(ResultCode::UNWILLING_TO_PERFORM, "empty");

    // A user: its own.
    bed.bind_as(ANN, "two");
    let done = bed.password_modify(None, Some("two"), None).ok();
    let value = done.response_value.unwrap();
    let made = ldap::extended::decode_generated_password(Some(&value)).unwrap().unwrap();
    let made = String::from_utf8(made.to_vec()).unwrap();
    assert!(bed.bind(ANN, &made).0.is_success());
    let done = bed.password_modify(Some(ANN), None, Some("three")).ok();
    assert_eq!(done.response_value, None);
    assert_eq!(bed.values(ANN, "pwdChangedTime").len(), 1);
    bed.password_modify(Some(BEN), None, Some("x")).refused(DENIED, "password-reset");
    bed.password_modify(Some("uid=no,dc=example,dc=com"), None, Some("x")).refused(DENIED, "password-reset");
    bed.session.identity = Identity::Anonymous;
    bed.password_modify(Some(ANN), None, Some("x")).refused(DENIED, "bind first");
    bed.session.identity = root();
    assert!(!bed.files_hold(&made));
}

#[test]
fn a_renamed_user_still_changes_its_own_password() {
    let mut bed = Bed::new();
    bed.bind_as(ANN, "opensesame");
    let identity = bed.session.identity.clone();
    bed.session.identity = root();
    let mut bytes = Vec::new();
    ldap::client::modify_dn(&mut bytes, 1, ANN, "uid=anna", true, None, &[]);
    bed.send(&bytes).ok();
    bed.session.identity = identity.clone();
    bed.password_modify(None, None, Some("changed")).ok();
    assert!(bed.bind("uid=anna,dc=example,dc=com", "changed").0.is_success());
    bed.replace("uid=anna,dc=example,dc=com", "userPassword", "again").ok();
    assert_eq!(bed.directory.updating().requestor(&identity).unwrap().dn(), "uid=anna,dc=example,dc=com");
    // Another entry that gets the name later is not the one that bound.
    bed.session.identity = root();
    bed.delete("uid=anna,dc=example,dc=com", &[]).ok();
    bed.add(ANN, &[("objectClass", "inetOrgPerson"), ("uid", "ann"), ("cn", "Ann"), ("sn", "Example")]).ok();
    bed.session.identity = identity;
    bed.replace(ANN, "userPassword", "taken").refused(ResultCode::NO_SUCH_OBJECT, "There is no entry");
}

#[test]
fn users_may_be_kept_from_changing_passwords() {
    let mut bed = Bed::with(&["dc=example,dc=com"], |config| {
        Arc::make_mut(&mut config.default_policy).allow_user_password_changes = false
    });
    bed.bind_as(ANN, "opensesame");
    bed.password_modify(None, None, Some("x")).refused(ResultCode::UNWILLING_TO_PERFORM, "allow-user-password-changes");
}

// S0-49, issue 2: SSHA512 or better unless the configuration says otherwise.
#[test]
fn the_default_scheme_is_strong() {
    let bed = Bed::new();
    assert_eq!(bed.config.default_policy.default_schemes, [Scheme::SaltedSha512]);
}
