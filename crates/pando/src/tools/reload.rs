//! `reload`: has the running server read its configuration again.

use std::{path::Path, process::ExitCode};

use clap::Args;
use config::Config;
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    failure::{Context, Failure, Outcome},
    instance,
    output::outln,
};

#[derive(Debug, Args)]
pub struct Options {
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    // The server refuses a file with faults as well, but only its log says so.
    let config = instance::open(directory)?;
    let Some(process) = reload(&config)? else {
        return Err(Failure::new(format_args!("no server is running on {}", directory.display())));
    };
    if !options.quiet {
        outln!(
            "The server (process {process}) reads its configuration again; {} tells what changes.",
            config.instance.logs().display()
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells the server, if one runs, and gives its process.
pub fn reload(config: &Config) -> Result<Option<u32>, Failure> {
    let Some(process) = instance::running(&config.instance) else { return Ok(None) };
    signal(process, Signal::HUP, "to reload")?;
    Ok(Some(process))
}

/// Sends a signal to the server of an instance, which is the holder of its lock: a number alone could be another process's by now.
pub fn signal(process: u32, signal: Signal, what: &str) -> Result<(), Failure> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| Failure::new(format_args!("process {process} is no process")))?;
    kill_process(pid, signal).context(format_args!("process {process} cannot be told {what}"))
}
