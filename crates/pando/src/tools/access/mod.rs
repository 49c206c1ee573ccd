//! `access`: who may do what, and why; what a change of access control would change; tests of it.
//!
//! Reads the instance's files, so it may run beside a server and needs none; or an LDIF file.
//!
//! | file | what |
//! |---|---|
//! | `source` | the directory that is asked, read from files |
//! | `client` | who asks, over which connection, when |
//! | `names` | attributes that a question names: checked, `*` and `+` expanded |
//! | `outside` | what keeps a client out before its rights are asked |
//! | `ending_early` | the limits that end a search early |
//! | `request` | what is asked for, in words |
//! | `explain` | why a request is granted or refused |
//! | `lint` | what can be said against the instructions themselves |
//! | `searching` | searches of it, by the code of the server |
//! | `who_can`, `what_can` | everybody who has a right; everything that somebody may |
//! | `rehearse` | what a change would decide otherwise of what the access log has |
//! | `test` | expected decisions, compared with those that are made |
//! | `unsaid` | what a question leaves open of the connection |
//! | `text`, `marked` | decisions for people |

mod client;
mod ending_early;
mod explain;
mod lint;
mod marked;
mod names;
mod outside;
mod rehearse;
mod request;
mod searching;
mod source;
mod test;
mod text;
mod unsaid;
mod what_can;
mod who_can;

use std::path::Path;

use clap::{Args, Subcommand};

use crate::failure::Outcome;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0, or 1 where the answer is no (refused, not as expected, something found, something \
    decided otherwise), or 2 where there is no answer: a command line or a file that is not valid, no such user or \
    entry, no instance."
)]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Why a request is granted or refused: the instruction that decided, those that came close, what was missing
    Explain(explain::Options),
    /// Everybody who has a right to an entry or attribute, and because of what
    WhoCan(who_can::Options),
    /// Everything that one user may do
    WhatCan(what_can::Options),
    /// Tell which operations of the access log would be decided otherwise after a change
    Rehearse(rehearse::Options),
    /// Compare decisions with those that a file expects, and tell which differ
    Test(test::Options),
    /// Instructions that allow more than was meant, never match, or say nothing
    Lint(lint::Options),
}

/// Exit status when a question could not be answered: 1 is an answer.
const FAILURE_STATUS: u8 = 2;

impl Options {
    /// The name of the tool and its subcommand, for messages.
    pub fn name(&self) -> &'static str {
        match &self.command {
            Command::Explain(_) => "access explain",
            Command::WhoCan(_) => "access who-can",
            Command::WhatCan(_) => "access what-can",
            Command::Rehearse(_) => "access rehearse",
            Command::Test(_) => "access test",
            Command::Lint(_) => "access lint",
        }
    }
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let outcome = match &options.command {
        Command::Explain(own) => explain::run(directory, own),
        Command::WhoCan(own) => who_can::run(directory, own),
        Command::WhatCan(own) => what_can::run(directory, own),
        Command::Rehearse(own) => rehearse::run(directory, own),
        Command::Test(own) => test::run(directory, own),
        Command::Lint(own) => lint::run(directory, own),
    };
    outcome.map_err(|failure| failure.with_status(FAILURE_STATUS))
}
