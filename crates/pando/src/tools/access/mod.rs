//! `access`: who may do what, and why; what a change of access control would change; tests of it.
//!
//! Reads the instance's files, so it may run beside a server and needs none; or an LDIF file.
//!
//! | file | what |
//! |---|---|
//! | `source` | the directory that is asked, read from files |
//! | `client` | who asks, over which connection, when |
//! | `explain` | why a request is granted or refused |
//! | `test` | expected decisions, compared with those that are made |
//! | `text`, `marked` | decisions for people |

mod client;
mod explain;
mod marked;
mod source;
mod test;
mod text;

use std::path::Path;

use clap::{Args, Subcommand};

use crate::failure::Outcome;

#[derive(Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Why a request is granted or refused: the instruction that decided, those that came close, what was missing
    Explain(explain::Options),
    /// Compare decisions with those that a file expects, and tell which differ
    Test(test::Options),
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    match &options.what {
        What::Explain(own) => explain::run(directory, own),
        What::Test(own) => test::run(directory, own),
    }
}
