//! Completions and man pages, made from the command line's own description.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::{Context, Outcome};
use crate::output::out;

#[derive(Debug, Args)]
pub struct CompletionOptions {
    /// The shell
    shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManOptions {
    /// Directory for the pages
    directory: PathBuf,
}

/// Prints the completions of a command line.
pub fn completions(mut command_line: Command, options: &CompletionOptions) -> Outcome {
    // Into memory first: the generator panics when it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command_line, "pando", &mut script);
    out!("{}", String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}

/// Writes the man pages of a command line.
pub fn man_pages(command_line: Command, options: &ManOptions) -> Outcome {
    fs::create_dir_all(&options.directory).context(options.directory.display())?;
    clap_mangen::generate_to(command_line, &options.directory).context(options.directory.display())?;
    Ok(ExitCode::SUCCESS)
}
