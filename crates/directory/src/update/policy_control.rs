//! The password policy control of responses to updates: for clients that asked for it.

use ldap::controls::PasswordPolicyResponse;
use ldap::oids::control;
use ldap::{Controls, ResultCode};

use super::done::{UpdateCallback, UpdateDone};
use super::rights::Told;

/// The callback of an update that sets a password: the control goes with the response.
pub(super) fn add_policy_control(
    controls: &Controls<'_>,
    policy: PasswordPolicyResponse,
    done: UpdateCallback,
) -> UpdateCallback {
    if controls.find(control::PASSWORD_POLICY).is_none() {
        return done;
    }
    Box::new(move |mut update| {
        let is_done = matches!(update.result.code, ResultCode::SUCCESS | ResultCode::NO_OPERATION);
        let said = if is_done { policy } else { PasswordPolicyResponse::default() };
        update.response_controls.push(said.control());
        done(update);
    })
}

/// A refusal, with what the policy says of it. A client that does not know the control is told at least that the
/// password has expired.
pub(super) fn refused_by_policy(controls: &Controls<'_>, told: Told) -> UpdateDone {
    let policy = told.policy.map(PasswordPolicyResponse::of_error);
    let is_asked = controls.find(control::PASSWORD_POLICY).is_some();
    let control = policy.and_then(|policy| if is_asked { Some(policy.control()) } else { policy.netscape_control() });
    let mut done = UpdateDone::told(told);
    done.response_controls.extend(control);
    done
}
