//! `backup verify`: proves that a backup can be restored.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::backup::chain::Chain;
use ::backup::restore;
use ::backup::verify::verify;
use clap::Args;
use jobs::files::{Reader, Target};
use jobs::verify::Verify;

use super::place::{KeyOptions, PlaceOptions, backend_of};
use crate::failure::{Context, Failure, Outcome};
use crate::instance;
use crate::output::outln;
use crate::terminal::{Watcher, bytes_text};
use crate::tools::restore::MomentOptions;

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    place: PlaceOptions,
    /// The backend [default: the only one that has backups]
    #[arg(long = "backendID", alias = "backendId", value_name = "ID")]
    backend: Option<String>,
    #[command(flatten)]
    moment: MomentOptions,
    #[command(flatten)]
    key: KeyOptions,
    /// Restore into a temporary folder, too, and verify entries and indexes there
    #[arg(long)]
    deep: bool,
    /// Where that folder is made [default: the folder of the instance]
    #[arg(long = "tmpdirectory", alias = "tmpDirectory", value_name = "DIR", requires = "deep")]
    temporary_directory: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let config = instance::open(directory)?;
    let (storage, all) = options.place.found(directory)?;
    let backend = backend_of(&all, options.backend.as_deref(), &storage.place())?;
    let chain = Chain::find(&all, &backend, &options.moment.moment(), &storage.place())?;
    let key = options.key.for_reading(&config.instance, &all)?;
    let key = key.as_ref();
    let mut watcher = Watcher::new(options.quiet)?;
    let found = verify(&*storage, &chain, key, &mut watcher)?;
    let names: Vec<&str> = chain.all().map(|sealed| sealed.manifest.id.as_str()).collect();
    let shallow = format!(
        "Verified {} ({} backups, {}, {} changes): it can be restored",
        names.join(", "),
        found.backups,
        bytes_text(found.bytes),
        found.changes
    );
    if !options.deep {
        drop(watcher);
        if !options.quiet {
            outln!("{shallow}.");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let schema = instance::schema(&config)?;
    let parent = options.temporary_directory.clone().unwrap_or_else(|| directory.to_owned());
    let scratch = tempfile::Builder::new().prefix("verify-").tempdir_in(&parent).context(parent.display())?;
    let mut elsewhere = config.clone();
    for other in &mut elsewhere.backends {
        other.directory = scratch.path().join(&other.id);
    }
    let backend = instance::backend(&elsewhere, Some(&backend))?;
    let target = Target { config: &elsewhere, backend, schema: &schema };
    restore::restore(&*storage, &chain, key, target, &mut watcher)?;
    let snapshot = Reader::open(target, true)?.snapshot()?;
    let mut problems = Vec::new();
    let verified = Verify::default().run(target, &snapshot, &mut watcher, &mut |problem| {
        if problems.len() < PROBLEMS_SHOWN {
            problems.push(problem.to_string());
        }
    })?;
    drop(watcher);
    problems.iter().for_each(|problem| outln!("{problem}"));
    match verified.problems {
        0 if options.quiet => {}
        0 => outln!("{shallow}, and was: {} entries and {} index keys agree.", verified.entries, verified.keys),
        count => return Err(Failure::new(format_args!("{count} problems were found in what was restored"))),
    }
    Ok(ExitCode::SUCCESS)
}

/// Further ones are counted only.
const PROBLEMS_SHOWN: usize = 100;
