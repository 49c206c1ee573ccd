//! `reload`: has the running server read its configuration again, and tells what became of it.

use std::{path::Path, process::ExitCode};

use clap::Args;

use crate::{
    administration::{self, Reloaded},
    failure::{Failure, Outcome},
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
    let instance = instance::find(directory)?;
    let Some(Reloaded { process, verdict }) = administration::reload(&instance)? else {
        return Err(Failure::new(format_args!("no server is running on {}", directory.display())));
    };
    let taken = verdict.map_err(|reason| {
        Failure::new(format_args!(
            "the server (process {process}) refuses the configuration and goes on with the one before: {reason}"
        ))
    })?;
    if options.quiet {
        return Ok(ExitCode::SUCCESS);
    }
    outln!("The server (process {process}) has read its configuration again.");
    taken.changed.iter().for_each(|sentence| outln!("{sentence}."));
    taken.needs_restart.iter().for_each(|property| outln!("{property} takes effect when the server is restarted."));
    Ok(ExitCode::SUCCESS)
}
