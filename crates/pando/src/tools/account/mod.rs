//! `account`: what the server knows of a user's account, in words, and what an administrator does about it.

mod about_one;
mod otp;
mod show;
pub mod state;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ldap::password_policy_state::{StateItem, StateOperation};

use self::about_one::AboutOne;
use self::state::State;
use crate::failure::Outcome;
use crate::output::outln;

/// Exit status when a question could not be answered: 1 is an answer.
const FAILURE_STATUS: u8 = 2;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0, or 1 where show finds that the account cannot be used, or 2 where there is no \
                        answer: a command line that is not valid, no such account, no server."
)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say whether the account can be used, why not, until when, and what to do about it
    Show(AboutOne),
    /// End a lock after wrong passwords, and forget these
    Unlock(AboutOne),
    /// Keep the account from being used
    Disable(AboutOne),
    /// Let a disabled account be used again
    Enable(AboutOne),
    /// Manage the one-time codes that are shown after the password
    Otp(otp::Options),
}

impl Options {
    /// The name of the tool and its subcommand, for messages.
    pub fn name(&self) -> &'static str {
        match &self.command {
            Command::Show(_) => "account show",
            Command::Unlock(_) => "account unlock",
            Command::Disable(_) => "account disable",
            Command::Enable(_) => "account enable",
            Command::Otp(_) => "account otp",
        }
    }
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let one = |item, value: Option<&str>| {
        vec![StateOperation::new(item, value.map(|value| value.as_bytes().to_vec()).into_iter().collect())]
    };
    let done = match &options.command {
        Command::Show(about) => show_one(directory, about),
        Command::Unlock(about) => change(directory, about, one(StateItem::ClearFailures, None), "unlocked"),
        Command::Disable(about) => change(directory, about, one(StateItem::SetDisabled, Some("true")), "disabled"),
        Command::Enable(about) => change(directory, about, one(StateItem::ClearDisabled, None), "enabled"),
        Command::Otp(options) => otp::run(directory, options),
    };
    done.map_err(|failure| failure.with_status(FAILURE_STATUS))
}

fn show_one(directory: &Path, about: &AboutOne) -> Outcome {
    let mut client = about.connect(directory)?;
    let mut state = State::ask(&mut client, &about.dn, Vec::new())?;
    if !state.values(StateItem::GetFailures).is_empty() {
        // A server that does not know the question refuses it: then it is not known where they came from.
        let asked = vec![StateOperation::new(StateItem::GetFailureSources, Vec::new())];
        if let Ok(sources) = State::ask(&mut client, &about.dn, asked) {
            state.add(sources);
        }
    }
    let second_factor = otp::lines_about(&mut client, &about.dn)?;
    let account = show::describe(&about.dn, &state, &jiff::Zoned::now());
    account.lines.iter().for_each(|line| outln!("{line}"));
    second_factor.iter().for_each(|line| outln!("{}", show::fact("Second factor", line)));
    Ok(if account.is_usable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn change(directory: &Path, about: &AboutOne, operations: Vec<StateOperation>, done: &str) -> Outcome {
    State::ask(&mut about.connect(directory)?, &about.dn, operations)?;
    outln!("The account {} is {done}.", about.dn);
    Ok(ExitCode::SUCCESS)
}
