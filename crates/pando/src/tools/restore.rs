//! `restore`: restores a backend from backups, to any moment that they hold.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use ::backup::chain::{Chain, Moment};
use ::backup::restore::{check, files, restore};
use ::backup::verify::verify;
use clap::Args;
use config::Instance;
use jobs::files::Target;

use super::backup::{KeyOptions, PlaceOptions, print_backups};
use super::time;
use crate::failure::{Context, Failure, Outcome};
use crate::instance;
use crate::output::outln;
use crate::owner::Owner;
use crate::terminal::{Watcher, bytes_text};
use crate::tools::backup::backend_of;

/// Which moment is meant.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct MomentOptions {
    /// The moment of this backup [default: the newest that there is]
    #[arg(short = 'I', long = "backupID", alias = "backupId", value_name = "ID")]
    id: Option<String>,
    /// Up to this time: "2026-11-23 19:08", 2026-11-23T19:08:35Z, or "2h" for two hours ago
    #[arg(long = "to-time", alias = "toTime", value_name = "TIME", value_parser = time::parse)]
    to_time: Option<u64>,
    /// Up to the change of this number
    #[arg(long = "to-change", alias = "toChange", value_name = "NUMBER")]
    to_change: Option<u64>,
}

impl MomentOptions {
    pub fn moment(&self) -> Moment {
        match (&self.id, self.to_time, self.to_change) {
            (Some(id), ..) => Moment::Backup(id.clone()),
            (_, Some(time_us), _) => Moment::Time(time_us),
            (.., Some(number)) => Moment::Change(number),
            _ => Moment::Latest,
        }
    }
}

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    place: PlaceOptions,
    #[command(flatten)]
    moment: MomentOptions,
    /// The backend [default: the only one that has backups]
    #[arg(long = "backendID", alias = "backendId", value_name = "ID")]
    backend: Option<String>,
    /// List the backups, and restore nothing
    #[arg(short = 'l', long = "listBackups")]
    list: bool,
    /// Prove that the backup can be restored, and restore nothing
    #[arg(short = 'n', long = "dry-run", alias = "dryRun", conflicts_with = "list")]
    dry_run: bool,
    /// Write the configuration, schema and keys that are in the backup to a new folder, and restore nothing
    #[arg(long = "extractFiles", value_name = "DIR", conflicts_with_all = ["list", "dry_run"])]
    extract: Option<PathBuf>,
    #[command(flatten)]
    key: KeyOptions,
    /// Work on the files, which needs a stopped server (this tool always does)
    #[arg(long = "offline")]
    offline: bool,
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let (storage, all) = options.place.found(directory)?;
    if options.list {
        print_backups(&all, &storage.place());
        return Ok(ExitCode::SUCCESS);
    }
    let id = backend_of(&all, options.backend.as_deref(), &storage.place())?;
    let chain = Chain::find(&all, &id, &options.moment.moment(), &storage.place())?;
    let key = options.key.for_reading(&Instance::new(directory), &all)?;
    let key = key.as_ref();
    if let Some(folder) = &options.extract {
        return extract(folder, files(&*storage, chain.full, key)?);
    }
    let config = instance::open(directory)?;
    let owner = Owner::of(directory)?;
    let schema = instance::schema(&config)?;
    let backend = instance::backend(&config, Some(&id))?;
    let target = Target { config: &config, backend, schema: &schema };
    if options.dry_run {
        check(&*storage, &chain, key, target)?;
        let mut watcher = Watcher::new(options.quiet)?;
        let found = verify(&*storage, &chain, key, &mut watcher)?;
        drop(watcher);
        if !options.quiet {
            outln!(
                "Backend \"{id}\" can be restored from {}: {} and {} changes. Nothing was changed.",
                names(&chain),
                bytes_text(found.bytes),
                found.changes
            );
        }
        return Ok(ExitCode::SUCCESS);
    }
    let _lock = instance::lock(&config.instance, "then restore")?;
    let begun = Instant::now();
    let mut watcher = Watcher::new(options.quiet)?;
    let restored = restore(&*storage, &chain, key, target, &mut watcher);
    drop(watcher);
    owner.settle(directory)?;
    let restored = restored?;
    if !options.quiet {
        outln!(
            "Restored backend \"{id}\" up to change {} from {}: {} and {} changes in {:.1} seconds",
            restored.last_change,
            names(&chain),
            bytes_text(restored.bytes),
            restored.applied,
            begun.elapsed().as_secs_f64()
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The backups of a chain: all of a short one.
fn names(chain: &Chain<'_>) -> String {
    let full = &chain.full.manifest.id;
    match chain.further.as_slice() {
        [] => full.clone(),
        [one] => format!("{full} and {}", one.manifest.id),
        [.., last] => format!("{full} and {} more up to {}", chain.further.len(), last.manifest.id),
    }
}

fn extract(folder: &Path, files: Vec<::backup::ContainedFile>) -> Outcome {
    if folder.exists() {
        return Err(Failure::new(format_args!("{} is there already: name a new folder", folder.display())));
    }
    if files.is_empty() {
        return Err(Failure::new("the backup has no files of the instance"));
    }
    durable::make_folder_with_mode(folder, 0o700).context(folder.display())?;
    for file in &files {
        let path = folder.join(&file.name);
        let mode = Some(Permissions::from_mode(0o600));
        durable::replace_file(&path, &file.bytes, mode).context(path.display())?;
    }
    outln!("Wrote {} files to {}.", files.len(), folder.display());
    Ok(ExitCode::SUCCESS)
}
