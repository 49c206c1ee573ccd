//! The password policy state operation: an administrator reads and writes the state of an account.

use std::sync::Arc;
use std::time::Duration;

use accounts::PasswordPolicy;
use ldap::password_policy_state::{PasswordPolicyState, StateItem, StateOperation};
use ldap::{ModifyOperation, ResultCode, client, oids};

use super::bed::{ANN, Bed, Done, root};
use crate::bind::slow_tests::guess_from;
use crate::update::account_items::read_by;

const CONSTRAINT: ResultCode = ResultCode::CONSTRAINT_VIOLATION;

fn bed(set: impl FnOnce(&mut PasswordPolicy)) -> Bed {
    Bed::with(&["dc=example,dc=com"], |config| set(Arc::make_mut(&mut config.default_policy)))
}

impl Bed {
    fn state(&self, target: &str, operations: &[(StateItem, &[&str])]) -> Done {
        let values = |values: &[&str]| values.iter().map(|value| value.as_bytes().to_vec()).collect();
        let operations = operations.iter().map(|(item, own)| StateOperation::new(*item, values(own))).collect();
        self.send_state(&PasswordPolicyState { target: target.as_bytes().to_vec(), operations })
    }

    fn send_state(&self, wanted: &PasswordPolicyState) -> Done {
        let mut bytes = Vec::new();
        let oid = oids::extended::PASSWORD_POLICY_STATE;
        client::extended(&mut bytes, 1, oid, Some(&wanted.encode()), &[]);
        self.send(&bytes)
    }
}

/// What the response shows: numbers with values.
#[track_caller]
fn shown(done: Done) -> Vec<(i64, Vec<String>)> {
    assert!(done.0.result.is_success(), "{}", done.0.result);
    assert_eq!(done.0.response_name, Some(oids::extended::PASSWORD_POLICY_STATE));
    let state = PasswordPolicyState::decode(done.0.response_value.as_deref()).unwrap();
    assert_eq!(state.target, ANN.as_bytes());
    let text = |values: Vec<Vec<u8>>| values.into_iter().map(|value| String::from_utf8(value).unwrap()).collect();
    state.operations.into_iter().map(|operation| (operation.number, text(operation.values))).collect()
}

fn one(number: i64, values: &[&str]) -> Vec<(i64, Vec<String>)> {
    vec![(number, values.iter().map(|&value| value.to_owned()).collect())]
}

#[test]
fn everything_is_shown_in_the_order_of_the_numbers() {
    let bed = bed(|_| {});
    let all = shown(bed.state(ANN, &[]));
    let numbers: Vec<i64> = all.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 1, 4, 7, 8, 11, 14, 15, 16, 20, 21, 22, 25, 26, 29, 30, 34, 35, 38, 39]);
    let with_values: Vec<i64> =
        all.iter().filter(|(_, values)| !values.is_empty()).map(|(number, _)| *number).collect();
    assert_eq!(with_values, [0, 1, 8, 26, 34], "{all:?}");
    assert_eq!(all[0].1, ["cn=Default Password Policy,cn=Password Policies,cn=config"]);
    assert_eq!(
        (&all[1].1[..], &all[13].1[..], &all[16].1[..]),
        (&["false".to_owned()][..], &["false".to_owned()][..], &["0".to_owned()][..])
    );
}

#[test]
fn what_is_written_is_shown_and_stored() {
    const TIME: &str = "20261122094913.380Z";
    let bed = bed(|policy| policy.force_change_on_reset = true);
    for (set, clear, attribute, value, stored) in [
        (StateItem::SetDisabled, StateItem::ClearDisabled, "ds-pwp-account-disabled", "true", "TRUE"),
        (
            StateItem::SetAccountExpiration,
            StateItem::ClearAccountExpiration,
            "ds-pwp-account-expiration-time",
            TIME,
            TIME,
        ),
        (StateItem::SetWarned, StateItem::ClearWarned, "ds-pwp-warned-time", TIME, TIME),
        (StateItem::SetFailures, StateItem::ClearFailures, "pwdFailureTime", TIME, TIME),
        (StateItem::SetReset, StateItem::ClearReset, "pwdReset", "true", "TRUE"),
        (StateItem::SetGraceUses, StateItem::ClearGraceUses, "pwdGraceUseTime", TIME, TIME),
        (
            StateItem::SetMetDeadline,
            StateItem::ClearMetDeadline,
            "ds-pwp-password-changed-by-required-time",
            TIME,
            TIME,
        ),
    ] {
        let get = read_by(set) as i64;
        assert_eq!(shown(bed.state(ANN, &[(set, &[value])])), one(get, &[value]), "{attribute}");
        assert_eq!(bed.values(ANN, attribute), [stored]);
        let after: &[&str] = if value == "true" { &["false"] } else { &[] };
        assert_eq!(shown(bed.state(ANN, &[(clear, &[])])), one(get, after), "{attribute}");
        assert_eq!(bed.values(ANN, attribute), Vec::<String>::new());
    }
    assert_eq!(shown(bed.state(ANN, &[(StateItem::SetPasswordChanged, &[TIME])])), one(8, &[TIME]));
    assert_eq!(bed.values(ANN, "pwdChangedTime"), [TIME]);
    // Without a value: now.
    let bare = shown(bed.state(ANN, &[(StateItem::SetLastLogin, &[])]));
    assert_eq!(bare, [(22, bed.values(ANN, "ds-pwp-last-login-time"))]);
}

#[test]
fn failures_lock_and_clearing_them_unlocks() {
    let bed = bed(|policy| {
        policy.lockout_failure_count = 2;
        policy.lockout_duration = Duration::from_secs(60);
    });
    let left = shown(bed.state(ANN, &[(StateItem::AddFailure, &[]), (StateItem::GetFailuresLeft, &[])]));
    assert_eq!((left[0].1.len(), &left[1]), (1, &(21, vec!["1".to_owned()])));
    let items = [(StateItem::AddFailure, &[][..]), (StateItem::GetSecondsUntilUnlock, &[])];
    let locked = shown(bed.state(ANN, &items));
    assert_eq!((locked[0].1.len(), locked[1].0), (2, 20));
    let seconds: u64 = locked[1].1[0].parse().unwrap();
    assert!((50..=60).contains(&seconds), "{locked:?}");
    assert_eq!(bed.values(ANN, "pwdAccountLockedTime"), bed.values(ANN, "pwdFailureTime")[1..]);
    let cleared = shown(bed.state(ANN, &[(StateItem::ClearFailures, &[]), (StateItem::GetFailuresLeft, &[])]));
    assert_eq!(cleared, [(16, Vec::new()), (21, vec!["2".to_owned()])]);
    assert_eq!(bed.values(ANN, "pwdAccountLockedTime"), Vec::<String>::new());
}

#[test]
fn no_failure_is_left_under_a_lock_whatever_became_of_those_that_led_to_it() {
    for duration in [Duration::from_secs(60), Duration::ZERO] {
        let bed = bed(|policy| {
            policy.lockout_failure_count = 2;
            policy.lockout_duration = duration;
            policy.lockout_failure_expiration_interval = Duration::from_millis(20);
        });
        let both = shown(bed.state(ANN, &[(StateItem::AddFailure, &[]), (StateItem::AddFailure, &[])]));
        assert_eq!(both[0].1.len(), 2);
        std::thread::sleep(Duration::from_millis(30));
        let later = shown(bed.state(ANN, &[(StateItem::GetFailures, &[]), (StateItem::GetFailuresLeft, &[])]));
        assert_eq!(later, [(16, Vec::new()), (21, vec!["0".to_owned()])]);
    }
}

#[test]
fn faults_change_nothing() {
    let mut bed = bed(|_| {});
    let state = |target: &str, number: i64, values: &[&str]| {
        let values = values.iter().map(|value| value.as_bytes().to_vec()).collect();
        let first = StateOperation::new(StateItem::SetDisabled, vec![b"true".to_vec()]);
        let operations = vec![first, StateOperation { number, values }];
        bed.send_state(&PasswordPolicyState { target: target.as_bytes().to_vec(), operations })
    };
    state(ANN, 41, &[]).refused(CONSTRAINT, "no operation 41");
    state(ANN, 2, &[]).refused(CONSTRAINT, "true or false");
    state(ANN, 2, &["perhaps"]).refused(CONSTRAINT, "true or false");
    state(ANN, 5, &["soon"]).refused(CONSTRAINT, "not \"soon\"");
    state(ANN, 5, &["19691231235959.999Z"]).refused(CONSTRAINT, "a time since 1970");
    state(ANN, 5, &["20261122094913Z", "20261122094913Z"]).refused(CONSTRAINT, "more values than it takes");
    state("uid=no,dc=example,dc=com", 1, &[]).refused(ResultCode::NO_SUCH_OBJECT, "");
    state("dc=elsewhere", 1, &[]).refused(ResultCode::NO_SUCH_OBJECT, "");
    state(&format!("dn:{ANN}"), 1, &[]).refused(ResultCode::INVALID_DN_SYNTAX, "");
    state("cn=Directory Manager", 5, &["soon"]).refused(CONSTRAINT, "not \"soon\"");
    assert_eq!(bed.values(ANN, "ds-pwp-account-disabled"), Vec::<String>::new());
    bed.bind_as(ANN, "opensesame");
    let denied = ResultCode::INSUFFICIENT_ACCESS_RIGHTS;
    bed.state(ANN, &[]).refused(denied, "password-reset");
    bed.session.identity = root();
    bed.modify(ANN, &[(ModifyOperation::Replace, "pwdHistory", "x")]).refused(CONSTRAINT, "pwdHistory");
}

/// Not among what is read where nothing is named: OpenDJ's clients do not know it.
#[test]
fn an_administrator_learns_where_wrong_passwords_came_from() {
    let bed = bed(|policy| policy.lockout_failure_count = 9);
    let sources = || shown(bed.state(ANN, &[(StateItem::GetFailureSources, &[])]));
    assert_eq!(sources(), one(200, &[]));
    for address in ["10.0.0.7", "2001:db8::1", "10.0.0.7", "none: a local socket"] {
        guess_from(&bed, ANN, address);
    }
    assert_eq!(sources(), one(200, &["2001:db8::1", "10.0.0.7", "a local socket"]));
    assert!(shown(bed.state(ANN, &[])).iter().all(|(number, _)| *number < 41));
    // Whose failures are forgotten has none from anywhere.
    bed.state(ANN, &[(StateItem::ClearFailures, &[])]).ok();
    assert_eq!(sources(), one(200, &[]));
}
