//! The `pando` command: the server and all its tools in one binary.
//!
//! Knows the command line, the layout of an instance and how to talk to a person. How entries are stored and what an
//! operation does is told by the crates below.

mod cli;
mod client;
mod failure;
mod instance;
mod makeldif;
mod owner;
mod table;
mod terminal;
mod tools;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = cli::with_tool_name(std::env::args_os().collect());
    let command = match cli::Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return cli::report_usage(&error, &arguments),
    };
    let tool = command.tool.name();
    match tools::run(command) {
        Ok(status) => status,
        Err(failure) => failure.report(tool),
    }
}
