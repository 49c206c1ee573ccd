//! `backup purge`: removes old backups.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use super::place::{PlaceOptions, backend_of};
use super::retention::RetentionOptions;
use crate::failure::{Failure, Outcome};
use crate::output::outln;

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    place: PlaceOptions,
    /// The backend [default: the only one that has backups]
    #[arg(short = 'n', long = "backendID", alias = "backendId", value_name = "ID")]
    backend: Option<String>,
    #[command(flatten)]
    retention: RetentionOptions,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let retention = options.retention.retention();
    if retention.keeps_all() {
        return Err(Failure::new("say what is kept: --keepFull, --keepAge or --keepBytes"));
    }
    let (storage, all) = options.place.found(directory)?;
    let backend = backend_of(&all, options.backend.as_deref(), &storage.place())?;
    let removed = retention.apply(&*storage, &all, &backend)?;
    match removed.as_slice() {
        [] => outln!("Nothing is to be removed."),
        removed => outln!("Removed {} backups: {}.", removed.len(), removed.join(", ")),
    }
    Ok(ExitCode::SUCCESS)
}
