//! Who gets in (RFC 4513), and that a refusal tells nothing.

use std::time::Instant;

use ldap::{ControlBuf, Message, ModifyOperation, Operation, ResultCode, client, oids};

use super::bed::{ANN, BEN, Bed, none};
use crate::Identity;
use crate::bind::tests::ended;
use crate::bind::{BindDone, BindFailure, BindStep};
use crate::session::Session;

#[test]
fn names_and_passwords() {
    let bed = Bed::new();
    for (dn, password, code) in [
        ("", "", ResultCode::SUCCESS),
        ("", "opensesame", ResultCode::INVALID_CREDENTIALS),
        (ANN, "", ResultCode::UNWILLING_TO_PERFORM),
        (ANN, "opensesame", ResultCode::SUCCESS),
        ("UID=Ann, DC=example,dc=COM", "opensesame", ResultCode::SUCCESS),
        (ANN, "Opensesame", ResultCode::INVALID_CREDENTIALS),
        (BEN, "benben", ResultCode::SUCCESS),
        (BEN, "{CLEAR}benben", ResultCode::INVALID_CREDENTIALS),
        ("uid=nobody,dc=example,dc=com", "x", ResultCode::INVALID_CREDENTIALS),
        ("dc=example,dc=com", "x", ResultCode::INVALID_CREDENTIALS),
        ("dc=other", "x", ResultCode::INVALID_CREDENTIALS),
        ("cn=directory manager", "password", ResultCode::SUCCESS),
        ("cn=directory manager", "secret", ResultCode::INVALID_CREDENTIALS),
        ("not a name", "x", ResultCode::INVALID_DN_SYNTAX),
    ] {
        let (result, identity) = bed.bind(dn, password);
        assert_eq!(result.code, code, "{dn} {password}: {result}");
        assert_eq!(identity.is_anonymous(), !result.is_success() || dn.is_empty());
    }
    // Missing entry, missing password, wrong password: the same answer.
    let answers = [ANN, "uid=nobody,dc=example,dc=com", "dc=example,dc=com"].map(|dn| bed.bind(dn, "x").0);
    assert!(answers.iter().all(|answer| *answer == answers[0]) && answers[0].message.is_empty());
}

#[test]
fn identities() {
    let bed = Bed::new();
    assert_eq!(bed.bind("CN=Directory Manager", "password").1, Identity::Root { dn: "cn=Directory Manager".into() });
    let (_, identity) = bed.bind("uid=ANN,dc=example,dc=com", "opensesame");
    assert_eq!(identity.authorization_id(), format!("dn:{ANN}"));
    let wanted = ControlBuf::new(oids::control::AUTHORIZATION_IDENTITY_REQUEST, None).critical();
    let mut bytes = Vec::new();
    client::bind(&mut bytes, 1, ANN, b"opensesame", &[wanted]);
    let message = Message::decode(&bytes).unwrap();
    let controls = bed.directory.bind_controls(&message.controls, &identity);
    assert_eq!(controls[0].value.as_deref(), Some(format!("dn:{ANN}").as_bytes()));
    assert!(bed.directory.bind_controls(&none(), &identity).is_empty());
    assert!(bed.bind_bytes(&bytes).0.is_success());
}

#[test]
fn what_is_not_offered() {
    let bed = Bed::new();
    let mut bytes = Vec::new();
    client::sasl_bind(&mut bytes, 1, "", "DIGEST-MD5", None, &[]);
    assert_eq!(bed.bind_bytes(&bytes).0.code, ResultCode::AUTH_METHOD_NOT_SUPPORTED);
    bytes.clear();
    client::bind(&mut bytes, 1, ANN, b"opensesame", &[ControlBuf::new("1.2.3", None).critical()]);
    assert_eq!(bed.bind_bytes(&bytes).0.code, ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
    bytes.clear();
    client::bind(&mut bytes, 1, ANN, b"opensesame", &[ControlBuf::new("1.2.3", None)]);
    assert!(bed.bind_bytes(&bytes).0.is_success());
    bytes.clear();
    client::bind(&mut bytes, 1, ANN, b"opensesame", &[]);
    let message = Message::decode(&bytes).unwrap();
    let Operation::Bind(mut request) = message.operation else { panic!() };
    for (version, good) in [(1, false), (2, true), (3, true), (4, false), (-1, false)] {
        request.version = version;
        let step = bed.directory.bind(&Session::anonymous(1), &request, &none(), Instant::now());
        let BindStep::Done(BindDone { result, .. }) = step else { panic!() };
        assert_eq!(result.is_success(), good);
        assert!(good || result.code == ResultCode::PROTOCOL_ERROR);
    }
}

#[test]
fn settings() {
    let bed = Bed::with(&["dc=example,dc=com"], |config| {
        config.global.bind_with_dn_requires_password = false;
        config.global.return_bind_error_messages = true;
    });
    let (result, identity) = bed.bind(ANN, "");
    assert!(result.is_success() && identity.is_anonymous());
    assert_eq!(bed.bind(ANN, "x").0.message, "The password is wrong");
}

/// The client learns nothing from a failure, the operator why.
#[test]
fn failures_differ_for_the_operator_only() {
    let bed = Bed::new();
    let why = |dn: &str| {
        let mut bytes = Vec::new();
        client::bind(&mut bytes, 1, dn, b"guess", &[]);
        let message = Message::decode(&bytes).unwrap();
        let Operation::Bind(request) = &message.operation else { panic!() };
        let step = bed.directory.bind(&Session::anonymous(1), request, &none(), Instant::now());
        let done = ended(&bed.directory, step);
        assert_eq!((done.result.code, done.result.message.as_str()), (ResultCode::INVALID_CREDENTIALS, ""));
        done.failure
    };
    assert_eq!(why(ANN), Some(BindFailure::WrongPassword));
    assert_eq!(why("uid=nobody,dc=example,dc=com"), Some(BindFailure::NoEntry));
    assert_eq!(why("dc=example,dc=com"), Some(BindFailure::NoPassword));
    assert_eq!(why("dc=elsewhere"), Some(BindFailure::NoEntry));
    assert_eq!(why(""), Some(BindFailure::NoName));
}

/// As DSEE and 389 do; whoever does not know the password is not told.
#[test]
fn inactivated_accounts_do_not_bind() {
    let bed = Bed::new();
    let set = |value: &str| {
        let done = bed.modify(ANN, &[(ModifyOperation::Replace, "nsAccountLock", value)]);
        assert!(done.0.result.is_success(), "{}", done.0.result);
    };
    set("TRUE");
    let (result, identity) = bed.bind(ANN, "opensesame");
    assert_eq!(result.code, ResultCode::UNWILLING_TO_PERFORM);
    assert_eq!(result.message, "Account inactivated. Contact system administrator.");
    assert!(identity.is_anonymous());
    assert_eq!(bed.bind(ANN, "guess").0.code, ResultCode::INVALID_CREDENTIALS);
    assert!(bed.bind(BEN, "benben").0.is_success());
    set("false");
    assert!(bed.bind(ANN, "opensesame").0.is_success());
}

/// As OpenDJ does: the answer is that of a wrong password.
#[test]
fn disabled_accounts_do_not_bind() {
    let bed = Bed::new();
    let set = |value: &str| {
        let done = bed.modify(ANN, &[(ModifyOperation::Replace, "ds-pwp-account-disabled", value)]);
        assert!(done.0.result.is_success(), "{}", done.0.result);
    };
    set("TRUE");
    let (wrong, _) = bed.bind(ANN, "guess");
    let (right, identity) = bed.bind(ANN, "opensesame");
    assert_eq!(right.code, ResultCode::INVALID_CREDENTIALS);
    assert_eq!(right, wrong, "the answers do not differ");
    assert!(identity.is_anonymous());
    assert!(bed.bind(BEN, "benben").0.is_success());
    bed.modify(ANN, &[(ModifyOperation::Replace, "nsAccountLock", "TRUE")]);
    assert_eq!(bed.bind(ANN, "opensesame").0.code, ResultCode::INVALID_CREDENTIALS, "disabled counts more than locked");
    bed.modify(ANN, &[(ModifyOperation::Replace, "nsAccountLock", "FALSE")]);
    set("FALSE");
    assert!(bed.bind(ANN, "opensesame").0.is_success());
}

/// The entries with which DSEE inactivates accounts: a role for whoever is disabled, and a class of service that locks
/// who has it.
// S2-38
#[test]
fn a_role_inactivates_accounts() {
    let mut bed = Bed::new();
    let base = "dc=example,dc=com";
    let (managed, disabled) = (format!("cn=nsManagedDisabledRole,{base}"), format!("cn=nsDisabledRole,{base}"));
    let templates = format!("cn=nsAccountInactivationTmp,{base}");
    let mut add = |dn: &str, attributes: &[(&str, &str)]| {
        let done = bed.add(dn, attributes).0;
        assert!(done.result.is_success(), "{}", done.result);
    };
    add(&managed, &[("objectClass", "nsManagedRoleDefinition")]);
    add(&disabled, &[("objectClass", "nsNestedRoleDefinition"), ("nsRoleDN", &managed)]);
    add(&templates, &[("objectClass", "organizationalRole")]);
    add(
        &format!("cn=\"{disabled}\",{templates}"),
        &[("objectClass", "cosTemplate"), ("cosPriority", "0"), ("nsAccountLock", "true")],
    );
    add(
        &format!("cn=nsAccountInactivation_cos,{base}"),
        &[
            ("objectClass", "cosClassicDefinition"),
            ("cosTemplateDn", &templates),
            ("cosSpecifier", "nsRole"),
            ("cosAttribute", "nsAccountLock operational"),
        ],
    );
    assert!(bed.bind(ANN, "opensesame").0.is_success());
    bed.modify(ANN, &[(ModifyOperation::Add, "nsRoleDN", &managed)]);
    assert_eq!(bed.bind(ANN, "opensesame").0.code, ResultCode::UNWILLING_TO_PERFORM);
    assert!(bed.bind(BEN, "benben").0.is_success());
    bed.modify(&disabled, &[(ModifyOperation::Replace, "nsRoleDN", &format!("cn=nobody,{base}"))]);
    assert!(bed.bind(ANN, "opensesame").0.is_success());
}

#[test]
fn slow_hashes_are_jobs() {
    let bed = Bed::new();
    let hashed = "{PBKDF2}1000:jyDlypL12pJE0IZ0lI43RZqpD1H6+/z9/v8BAg==";
    bed.replace(ANN, "userPassword", hashed).ok();
    for (password, good) in [("password", true), ("other", false)] {
        let mut bytes = Vec::new();
        client::bind(&mut bytes, 1, ANN, password.as_bytes(), &[]);
        let message = Message::decode(&bytes).unwrap();
        let Operation::Bind(request) = &message.operation else { panic!() };
        let step = bed.directory.bind(&Session::anonymous(1), request, &none(), Instant::now());
        let BindStep::SlowHash(job) = step else { panic!("not slow") };
        let BindDone { result, bound, .. } = ended(&bed.directory, job.run(&bed.directory));
        assert_eq!((result.is_success(), bound.identity.is_anonymous()), (good, !good));
    }
}
