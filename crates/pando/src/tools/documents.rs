//! Completions and man pages, made from the command line's own description.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{
    cli::Cli,
    failure::{Context, Outcome},
    output::out,
};

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

pub fn completions(options: &CompletionOptions) -> Outcome {
    // Into memory first: the generator panics when it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "pando", &mut script);
    out!("{}", String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}

pub fn man_pages(options: &ManOptions) -> Outcome {
    fs::create_dir_all(&options.directory).context(options.directory.display())?;
    clap_mangen::generate_to(Cli::command(), &options.directory).context(options.directory.display())?;
    Ok(ExitCode::SUCCESS)
}
