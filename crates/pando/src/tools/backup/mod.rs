//! `backup`: backs up backends beside a running server, lists, verifies and removes backups.

mod following;
mod list;
mod make;
mod place;
mod purge;
mod retention;
mod verify;
mod work;

use std::path::Path;

use clap::{Args, Subcommand};

pub use self::list::print_backups;
pub use self::place::{KeyOptions, PlaceOptions, backend_of};
use crate::failure::Outcome;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    make: make::MakeOptions,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the backups of a folder
    List(list::Options),
    /// Prove that a backup, with all that it needs, can be restored
    Verify(verify::Options),
    /// Remove old backups; what later ones need stays
    Purge(purge::Options),
}

impl Options {
    /// The name of the tool and its subcommand, for messages.
    pub fn name(&self) -> &'static str {
        match &self.command {
            None => "backup",
            Some(Command::List(_)) => "backup list",
            Some(Command::Verify(_)) => "backup verify",
            Some(Command::Purge(_)) => "backup purge",
        }
    }
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    match &options.command {
        None => make::run(directory, &options.make),
        Some(Command::List(options)) => list::run(directory, options),
        Some(Command::Verify(options)) => verify::run(directory, options),
        Some(Command::Purge(options)) => purge::run(directory, options),
    }
}
