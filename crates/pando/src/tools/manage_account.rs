//! `manage-account`: reads and writes the state of an account value by value, with OpenDJ's subcommands and output.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use ldap::password_policy_state::{StateItem, StateOperation};

use super::account::state::State;
use crate::client::Client;
use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::output::outln;
use crate::server_options::ServerOptions;

#[derive(Debug, Args)]
pub struct Options {
    /// What to do
    #[arg(value_name = "SUBCOMMAND", value_parser = subcommands())]
    subcommand: String,
    /// The account's name
    #[arg(short = 'b', long = "targetDN", value_name = "DN")]
    target: String,
    /// The value to write: true or false, or a generalized time such as 20261121100000Z [default for times: now]
    #[arg(short = 'O', long = "operationValue", value_name = "VALUE")]
    values: Vec<String>,
    #[command(flatten)]
    server: ServerOptions,
}

/// Reads everything.
const GET_ALL: &str = "get-all";

/// The subcommand of each item, in the order of the items' numbers.
const SUBCOMMANDS: [&str; 41] = [
    "get-password-policy-dn",
    "get-account-is-disabled",
    "set-account-is-disabled",
    "clear-account-is-disabled",
    "get-account-expiration-time",
    "set-account-expiration-time",
    "clear-account-expiration-time",
    "get-seconds-until-account-expiration",
    "get-password-changed-time",
    "set-password-changed-time",
    "clear-password-changed-time",
    "get-password-expiration-warned-time",
    "set-password-expiration-warned-time",
    "clear-password-expiration-warned-time",
    "get-seconds-until-password-expiration",
    "get-seconds-until-password-expiration-warning",
    "get-authentication-failure-times",
    "add-authentication-failure-time",
    "set-authentication-failure-times",
    "clear-authentication-failure-times",
    "get-seconds-until-authentication-failure-unlock",
    "get-remaining-authentication-failure-count",
    "get-last-login-time",
    "set-last-login-time",
    "clear-last-login-time",
    "get-seconds-until-idle-lockout",
    "get-password-is-reset",
    "set-password-is-reset",
    "clear-password-is-reset",
    "get-seconds-until-password-reset-lockout",
    "get-grace-login-use-times",
    "add-grace-login-use-time",
    "set-grace-login-use-times",
    "clear-grace-login-use-times",
    "get-remaining-grace-login-count",
    "get-password-changed-by-required-time",
    "set-password-changed-by-required-time",
    "clear-password-changed-by-required-time",
    "get-seconds-until-required-change-time",
    "get-password-history",
    "clear-password-history",
];

/// What OpenDJ's tool writes before the values of an item.
fn label(item: StateItem) -> &'static str {
    match item {
        StateItem::GetPolicyDn => "Password Policy DN",
        StateItem::GetDisabled => "Account Is Disabled",
        StateItem::GetAccountExpiration => "Account Expiration Time",
        StateItem::GetSecondsUntilAccountExpiration => "Seconds Until Account Expiration",
        StateItem::GetPasswordChanged => "Password Changed Time",
        StateItem::GetWarned => "Password Expiration Warned Time",
        StateItem::GetSecondsUntilPasswordExpiration => "Seconds Until Password Expiration",
        StateItem::GetSecondsUntilWarning => "Seconds Until Password Expiration Warning",
        StateItem::GetFailures => "Authentication Failure Times",
        StateItem::GetSecondsUntilUnlock => "Seconds Until Authentication Failure Unlock",
        StateItem::GetFailuresLeft => "Remaining Authentication Failure Count",
        StateItem::GetLastLogin => "Last Login Time",
        StateItem::GetSecondsUntilIdleLock => "Seconds Until Idle Account Lockout",
        StateItem::GetReset => "Password Is Reset",
        StateItem::GetSecondsUntilResetLock => "Seconds Until Password Reset Lockout",
        StateItem::GetGraceUses => "Grace Login Use Times",
        StateItem::GetGraceLeft => "Remaining Grace Login Count",
        StateItem::GetMetDeadline => "Password Changed by Required Time",
        StateItem::GetSecondsUntilDeadline => "Seconds Until Required Change Time",
        StateItem::GetHistory => "Password History",
        // A server answers with what is there, not with what was done to it.
        _ => "Value",
    }
}

fn subcommands() -> PossibleValuesParser {
    PossibleValuesParser::new(std::iter::once(GET_ALL).chain(SUBCOMMANDS).map(PossibleValue::new))
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let operations = operations(&options.subcommand, &options.values)?;
    let mut client = Client::connect(&instance::open(directory)?, &options.server)?;
    let state = State::ask(&mut client, &options.target, operations)?;
    for operation in state.operations() {
        let label = operation.item().map_or("Value", label);
        if operation.values.is_empty() {
            outln!("{label}:");
        }
        for value in &operation.values {
            outln!("{label}:  {}", String::from_utf8_lossy(value));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What the server is asked to do.
fn operations(subcommand: &str, values: &[String]) -> Result<Vec<StateOperation>, Failure> {
    let at = SUBCOMMANDS.iter().position(|own| *own == subcommand);
    let item = at.and_then(|at| StateItem::ALL.get(at));
    let takes_value = subcommand.starts_with("set-") || subcommand.starts_with("add-");
    let takes_several = subcommand.starts_with("set-") && subcommand.ends_with("-times");
    match values {
        [] => {}
        _ if !takes_value => {
            return Err(Failure::new(format_args!("{subcommand} writes nothing: leave --operationValue out")));
        }
        [_, _, ..] if !takes_several => {
            return Err(Failure::new(format_args!("{subcommand} takes one --operationValue")));
        }
        _ => {}
    }
    if subcommand.starts_with("set-") && subcommand.contains("-is-") && values.is_empty() {
        return Err(Failure::new(format_args!("{subcommand} needs --operationValue true or false")));
    }
    let bytes = values.iter().map(|value| value.as_bytes().to_vec()).collect();
    Ok(item.map(|item| StateOperation::new(*item, bytes)).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_has_its_subcommand() {
        let numbers = |subcommand: &str, values: &[&str]| {
            let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
            operations(subcommand, &values).map(|made| made.iter().map(|it| it.number).collect::<Vec<_>>())
        };
        assert!(numbers("get-all", &[]).unwrap().is_empty());
        for (number, subcommand, values) in [
            (0, "get-password-policy-dn", &[][..]),
            (2, "set-account-is-disabled", &["true"]),
            (16, "get-authentication-failure-times", &[]),
            (18, "set-authentication-failure-times", &["20260101000000Z", "20260102000000Z"]),
            (19, "clear-authentication-failure-times", &[]),
            (20, "get-seconds-until-authentication-failure-unlock", &[]),
            (27, "set-password-is-reset", &["false"]),
            (31, "add-grace-login-use-time", &[]),
            (38, "get-seconds-until-required-change-time", &[]),
            (40, "clear-password-history", &[]),
        ] {
            assert_eq!(numbers(subcommand, values).unwrap(), [number], "{subcommand}");
        }
    }

    #[test]
    fn values_that_do_not_belong_there_are_refused() {
        let refused = |subcommand: &str, values: &[&str]| {
            let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
            operations(subcommand, &values).unwrap_err().message().to_owned()
        };
        assert!(refused("get-all", &["x"]).contains("writes nothing"));
        assert!(refused("clear-account-is-disabled", &["x"]).contains("writes nothing"));
        assert!(refused("set-account-expiration-time", &["a", "b"]).contains("takes one"));
        assert!(refused("set-account-is-disabled", &[]).contains("true or false"));
    }
}
