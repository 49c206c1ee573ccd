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
    end_quietly_without_reader();
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

/// Whoever reads the output may go before its end (`pando … | head -1`). Rust turns that into a panic of `println!`; other
/// programs just end.
fn end_quietly_without_reader() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload_as_str().unwrap_or_default();
        if text.starts_with("failed printing to stdout") && text.contains("Broken pipe") {
            std::process::exit(0);
        }
        report(panic);
    }));
}
