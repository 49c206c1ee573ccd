//! Command lines that make no sense: what is said about them, and with which exit status.
//!
//! Knows the errors of the parser and the statuses of OpenDJ's tools, and no tool's options.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::ldap_client::status::PARAMETER_ERROR;

/// Exit status for a command line that makes no sense.
pub const USAGE_STATUS: u8 = 2;

/// The same for `dsconfig`, as in OpenDJ.
const DSCONFIG_USAGE_STATUS: u8 = 18;

/// Tools whose exit status is a result code: 2 would be one of a server.
const CLIENTS: [&str; 9] = [
    "ldapsearch",
    "ldapmodify",
    "ldapdelete",
    "ldapcompare",
    "ldappasswordmodify",
    "ldifsearch",
    "ldifdiff",
    "ldifmodify",
    "base64",
];

/// The exit status for a command line of a tool that makes no sense.
pub fn status_of_mistake(tool: Option<&str>) -> u8 {
    match tool {
        Some("dsconfig") => DSCONFIG_USAGE_STATUS,
        Some(tool) if CLIENTS.contains(&tool) => PARAMETER_ERROR,
        _ => USAGE_STATUS,
    }
}

/// What is wrong with a command line of `within`, whose subcommands are called `what`.
pub fn mistake(error: &clap::Error, within: &Command, what: &str) -> String {
    let given = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    let hint = |kind| match given(kind).first() {
        Some(name) => format!("; did you mean \"{name}\"?"),
        None => String::new(),
    };
    match (error.kind(), given(ContextKind::InvalidSubcommand).as_slice(), given(ContextKind::InvalidArg).as_slice()) {
        (ErrorKind::InvalidSubcommand, [name], _) => {
            format!("there is no {what} \"{name}\"{}", meant(name, within))
        }
        (ErrorKind::UnknownArgument, _, [option]) if option.starts_with('-') => {
            format!("there is no option \"{option}\"{}", hint(ContextKind::SuggestedArg))
        }
        (ErrorKind::UnknownArgument, _, [word]) => format!("\"{word}\" is not expected here"),
        (ErrorKind::MissingRequiredArgument, _, missing) if !missing.is_empty() => {
            format!("{} is missing", missing.join(" and "))
        }
        _ => {
            let text = error.to_string();
            let is_more = |line: &&str| !line.starts_with("Usage:") && !line.starts_with("For more");
            let lines = text.lines().map(str::trim).take_while(is_more).filter(|line| !line.is_empty());
            lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
        }
    }
}

/// The subcommand that was probably meant.
fn meant(name: &str, within: &Command) -> String {
    let shown = within.get_subcommands().filter(|known| !known.is_hide_set());
    nearest::nearest(name, shown.flat_map(Command::get_name_and_visible_aliases))
        .first()
        .map_or(String::new(), |name| format!("; did you mean \"{name}\"?"))
}
