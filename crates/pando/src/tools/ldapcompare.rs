//! `ldapcompare`: whether an entry has a value, with the options of OpenDJ's tool.

use std::ops::ControlFlow;
use std::process::ExitCode;

use clap::Args;
use ldap::{ResultCode, client};

use crate::failure::Outcome;
use crate::ldap_client::{CommonControlOptions, SessionOptions, parse_value, status};
use crate::output::outln;

const EXAMPLE: &str = "\
Example: whether somebody is a member of a group
  pando ldapcompare -p 1389 -D 'cn=Directory Manager' -w secret12 \
member:uid=user.1,ou=People,dc=example,dc=com cn=Staff,ou=Groups,dc=example,dc=com";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLE, next_help_heading = "Comparison")]
pub struct Options {
    /// The attribute and the value: attribute:value, attribute::base64value, or attribute:<file
    #[arg(value_name = "ATTRIBUTE:VALUE", value_parser = parse_assertion)]
    compared: AttributeValue,
    /// Name of the entry
    #[arg(value_name = "DN")]
    name: String,
    /// Use the LDAP compare result as an exit code: 6 if the entry has the value [default: 0], 5 if not
    #[arg(short = 'm', long = "useCompareResultCode")]
    has_result_code: bool,
    /// Print nothing: the exit code says it
    #[arg(short = 'S', long = "scriptFriendly")]
    is_for_scripts: bool,
    /// Show what would be done but do not perform any operation
    #[arg(short = 'n', long = "dry-run")]
    is_dry_run: bool,
    #[command(flatten)]
    common: CommonControlOptions,
    #[command(flatten)]
    session: SessionOptions,
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AttributeValue {
    attribute: String,
    value: Vec<u8>,
}

fn parse_assertion(text: &str) -> Result<AttributeValue, String> {
    let (attribute, value) = text
        .split_once(':')
        .filter(|(attribute, _)| !attribute.is_empty())
        .ok_or("it must be attribute:value, attribute::base64value or attribute:<file")?;
    Ok(AttributeValue { attribute: attribute.to_owned(), value: parse_value(value)? })
}

pub fn run(options: &Options) -> Outcome {
    status::of_client(compare(options))
}

fn compare(options: &Options) -> Outcome {
    let AttributeValue { attribute, value } = &options.compared;
    let name = &options.name;
    let say = |text: std::fmt::Arguments<'_>| {
        if !options.is_for_scripts {
            outln!("{text}");
        }
    };
    let shown = String::from_utf8_lossy(value);
    if options.is_dry_run {
        say(format_args!("Comparing type {attribute} with value {shown} in entry {name}"));
        return Ok(ExitCode::SUCCESS);
    }
    let mut session = options.session.open()?;
    say(format_args!("Comparing type {attribute} with value {shown} in entry {name}"));
    let controls = options.common.controls();
    let write = |id, out: &mut Vec<u8>| client::compare(out, id, name, attribute, value, &controls);
    let result = session.ask(write, &mut |_| ControlFlow::Continue(()))?;
    let status = match result.code {
        ResultCode::COMPARE_TRUE => {
            say(format_args!("Compare operation returned true for entry {name}"));
            if options.has_result_code { status::of(result.code) } else { 0 }
        }
        ResultCode::COMPARE_FALSE => {
            say(format_args!("Compare operation returned false for entry {name}"));
            status::of(result.code)
        }
        _ => status::refused("compare request", &result),
    };
    Ok(ExitCode::from(status))
}
