//! The `pando` command: the server and all its tools in one binary.
//!
//! Knows the command line, the layout of an instance and how to talk to a person. The crates below know how entries are
//! stored and what an operation does.

// A reader that goes early must not cause a panic: see `output`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod administration;
mod authorize;
mod cli;
mod client;
mod failure;
mod instance;
mod ldap_client;
mod makeldif;
mod output;
mod owner;
mod password_file;
mod rate;
mod server_options;
mod table;
mod terminal;
mod tools;
mod usage;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = match cli::parse(std::env::args_os().collect()) {
        Ok(command) => command,
        Err(answered) => return answered,
    };
    let tool = command.tool.name();
    match tools::run(command) {
        Ok(status) => output::finish(tool, status),
        Err(failure) => failure.report(tool),
    }
}
