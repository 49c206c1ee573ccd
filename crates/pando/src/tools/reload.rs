//! `reload`: has the running server read its configuration again, and says whether the server has taken it.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::administration::{self, Reloaded};
use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::output::outln;

#[derive(Debug, Args)]
pub struct Options {
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let instance = instance::find(directory)?;
    // A tool that is changing the file is not disturbed.
    let _only_one = instance::lock_configuration(&instance)?;
    let Some(Reloaded { process, verdict }) = administration::reload(&instance)? else {
        return Err(Failure::new(format_args!("no server is running on {}", directory.display())));
    };
    let taken = verdict.map_err(|reason| {
        Failure::new(format_args!(
            "the server (process {process}) has not taken the configuration and goes on with the one before: {reason}"
        ))
    })?;
    if options.quiet {
        return Ok(ExitCode::SUCCESS);
    }
    outln!("The server (process {process}) has taken the configuration.");
    taken.changed.iter().for_each(|sentence| outln!("{sentence}."));
    taken.at_restart.iter().for_each(|sentence| outln!("{sentence}."));
    Ok(ExitCode::SUCCESS)
}
