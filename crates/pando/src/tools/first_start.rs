//! The first start of a service or a container: an instance is made from variables of the environment, nobody is asked.
//!
//! Each option of `setup` has its variable: `--ldapPort` is `PANDO_LDAP_PORT`, `--noTls` is `PANDO_NO_TLS=true`. Knows
//! how options and variables are called; what they mean is the business of `setup`.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, ArgAction, Args, Command, FromArgMatches};
use config::Instance;

use super::{made_password, setup};
use crate::failure::Failure;
use crate::output::{errln, outln};
use crate::usage::mistake;

/// What the variables begin with.
const PREFIX: &str = "PANDO_";
/// Names the instance, for every tool.
const HOME: &str = "PANDO_HOME";
/// Options that make no sense here: nobody is asked, and what is made is said.
const NOT_TAKEN: [&str; 2] = ["no-prompt", "quiet"];
const PASSWORD: &str = "PANDO_ROOT_USER_PASSWORD";
const PASSWORD_FILE: &str = "PANDO_ROOT_USER_PASSWORD_FILE";

/// Makes the instance in `directory`, unless there is one. Without a password for the root user one is made and kept in
/// a file of the instance.
pub fn make_if_absent(directory: &Path) -> Result<(), Failure> {
    let instance = Instance::new(directory);
    if instance.config_file().exists() {
        return Ok(());
    }
    let given: Vec<(String, String)> = env::vars_os().filter_map(ours).collect::<Result<_, _>>()?;
    let mut arguments: Vec<OsString> = ["setup", "--no-prompt"].map(OsString::from).into();
    arguments.extend(arguments_of(&given)?.into_iter().map(OsString::from));
    let made = match given.iter().any(|(name, _)| name == PASSWORD || name == PASSWORD_FILE) {
        true => None,
        false => Some(made_password::make()?),
    };
    if let Some(password) = &made {
        arguments.push(format!("--rootUserPassword={password}").into());
    }
    let parsed = command().try_get_matches_from(arguments);
    let options = parsed.and_then(|matches| setup::Options::from_arg_matches(&matches)).map_err(|error| {
        let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
        let reason = mistake(&error, &command(), "subcommand");
        Failure::new(format_args!("{reason} (setup's options are taken from {})", names.join(", ")))
    })?;
    setup::run(directory, &options)?;
    if let Some(password) = made {
        let file = made_password::keep(&instance, &password)?;
        outln!("The password of the root user was made, and is kept in {}.", file.display());
    }
    Ok(())
}

/// The command line of `setup`.
fn command() -> Command {
    setup::Options::augment_args(Command::new("setup"))
}

/// A variable that is meant for `setup`.
fn ours((name, value): (OsString, OsString)) -> Option<Result<(String, String), Failure>> {
    let name = name.into_string().ok().filter(|name| name.starts_with(PREFIX) && name != HOME)?;
    match value.into_string() {
        Ok(value) if value.is_empty() => None,
        Ok(value) => Some(Ok((name, value))),
        Err(_) => Some(Err(Failure::new(format_args!("the value of {name} is not UTF-8")))),
    }
}

/// The options that the variables stand for. Names that look like one of ours are told; others may be anybody's
/// (Kubernetes sets `PANDO_SERVICE_HOST` for a service of that name).
fn arguments_of(given: &[(String, String)]) -> Result<Vec<String>, Failure> {
    let command = command();
    let options = command.get_arguments();
    let is_taken = |arg: &&Arg| !arg.is_hide_set() && !NOT_TAKEN.contains(&arg.get_long().unwrap_or_default());
    let known: Vec<(String, &Arg)> =
        options.filter(is_taken).filter_map(|arg| arg.get_long().map(|long| (variable(long), arg))).collect();
    let mut arguments = Vec::new();
    for (name, value) in given {
        let Some((_, arg)) = known.iter().find(|(variable, _)| variable == name) else {
            if let Some(near) = nearest::nearest(name, known.iter().map(|(variable, _)| variable.as_str())).first() {
                errln!("pando start: {name} is no variable of setup and not taken; did you mean {near}?");
            }
            continue;
        };
        let long = arg.get_long().unwrap_or_default();
        let is_flag = matches!(arg.get_action(), ArgAction::SetTrue);
        match (is_flag, value.as_str()) {
            (false, _) => arguments.push(format!("--{long}={value}")),
            (true, "true") => arguments.push(format!("--{long}")),
            (true, "false") => {}
            (true, _) => return Err(Failure::new(format_args!("{name} must be true or false, not \"{value}\""))),
        }
    }
    Ok(arguments)
}

/// The variable of an option: `baseDN` is `PANDO_BASE_DN`, `enableStartTLS` is `PANDO_ENABLE_START_TLS`.
fn variable(long: &str) -> String {
    let mut name = PREFIX.to_owned();
    let mut before = None;
    for letter in long.chars() {
        if letter == '-' {
            name.push('_');
        } else {
            if letter.is_ascii_uppercase() && before.is_some_and(|before: char| before.is_ascii_lowercase()) {
                name.push('_');
            }
            name.push(letter.to_ascii_uppercase());
        }
        before = Some(letter);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn options_have_variables() {
        let names = ["ldapPort", "baseDN", "rootUserPasswordFile", "enableStartTLS", "noTls", "backendID"];
        let variables = [
            "PANDO_LDAP_PORT",
            "PANDO_BASE_DN",
            "PANDO_ROOT_USER_PASSWORD_FILE",
            "PANDO_ENABLE_START_TLS",
            "PANDO_NO_TLS",
            "PANDO_BACKEND_ID",
        ];
        assert_eq!(names.map(variable), variables);
    }

    #[test]
    fn variables_become_options() {
        let variables = given(&[
            ("PANDO_LDAP_PORT", "389"),
            ("PANDO_NO_TLS", "true"),
            ("PANDO_ADD_BASE_ENTRY", "false"),
            ("PANDO_SERVICE_HOST", "10.0.0.1"),
            ("PANDO_LISTEN_ADDRESS", "0.0.0.0,::"),
        ]);
        let wanted = ["--ldapPort=389", "--noTls", "--listenAddress=0.0.0.0,::"];
        assert_eq!(arguments_of(&variables).unwrap(), wanted);
    }

    #[test]
    fn a_flag_is_true_or_false() {
        let refused = arguments_of(&given(&[("PANDO_NO_TLS", "yes")])).unwrap_err();
        assert_eq!(refused.message(), "PANDO_NO_TLS must be true or false, not \"yes\"");
    }
}
