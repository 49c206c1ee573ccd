//! Completions and man pages, made from the command line's own description.

use std::{fs, io, path::PathBuf, process::ExitCode};

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::{
    cli::Cli,
    failure::{Context, Outcome},
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
    clap_complete::generate(options.shell, &mut Cli::command(), "pando", &mut io::stdout());
    Ok(ExitCode::SUCCESS)
}

pub fn man_pages(options: &ManOptions) -> Outcome {
    fs::create_dir_all(&options.directory).context(options.directory.display())?;
    clap_mangen::generate_to(Cli::command(), &options.directory).context(options.directory.display())?;
    Ok(ExitCode::SUCCESS)
}
