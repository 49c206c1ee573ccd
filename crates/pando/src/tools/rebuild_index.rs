//! `rebuild-index`: makes indexes anew from the entries.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use store::bulk::{self, Phase, RebuildOptions, RebuildWhich};

use crate::{
    failure::{Failure, Outcome},
    instance,
    owner::Owner,
    terminal::{self, Progress, bytes_text, grouped},
};

#[derive(Debug, Args)]
pub struct Options {
    /// A base DN of the backend
    #[arg(short = 'b', long = "baseDN", alias = "baseDn", value_name = "DN")]
    base_dn: String,
    /// Index or attribute, such as cn or cn.caseIgnoreMatch; may be given several times
    #[arg(short = 'i', long = "index", value_name = "INDEX", required_unless_present_any = ["all", "degraded"])]
    indexes: Vec<String>,
    /// All indexes
    #[arg(long = "rebuildAll", conflicts_with_all = ["indexes", "degraded"])]
    all: bool,
    /// Indexes that are new or out of date
    #[arg(long = "rebuildDegraded", conflicts_with = "indexes")]
    degraded: bool,
    /// Only declare the indexes good, which is right if no entry has the attribute
    #[arg(long = "clearDegradedState", requires = "indexes")]
    clear_degraded_state: bool,
    /// Directory for the sort [default: the backend's]
    #[arg(long = "tmpdirectory", alias = "tmpDirectory", value_name = "DIR")]
    temporary_directory: Option<PathBuf>,
    /// Work on the files, not through a server (this tool always does)
    #[arg(long = "offline")]
    offline: bool,
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let config = instance::open(directory)?;
    let owner = Owner::of(directory)?;
    let _lock = instance::lock(&config.instance, "then rebuild")?;
    let schema = instance::schema(&config)?;
    let backend = instance::backend_of_base(&config, &schema, &options.base_dn)?;
    instance::fold(&config, backend, &schema)?;
    let which = match (options.all, options.degraded) {
        (true, _) => RebuildWhich::All,
        (_, true) => RebuildWhich::Degraded,
        _ => RebuildWhich::Named(options.indexes.clone()),
    };
    let rebuild_options = RebuildOptions {
        directory: backend.directory.clone(),
        indexes: directory::index_configs(backend).map_err(Failure::new)?,
        schema,
        which,
        clear_degraded_state: options.clear_degraded_state,
        threads: 0,
        memory_bytes: 0,
        temporary_directory: options.temporary_directory.clone(),
        cancel: terminal::cancel_on_signal()?,
    };
    let progress = Progress::new("entries", None, options.quiet);
    let rebuilt = bulk::rebuild(&rebuild_options, &mut |now| match now.phase {
        Phase::Entries => progress.at(now.processed, format!("{} entries", grouped(now.processed))),
        Phase::Indexes => {
            progress.phase("indexes", now.bytes_total);
            progress.at(now.bytes_read, bytes_text(now.bytes_read));
        }
        Phase::Syncing => progress.phase("syncing", None),
    });
    drop(progress);
    owner.settle(directory)?;
    let summary = rebuilt.map_err(Failure::new)?;
    if !options.quiet {
        let seconds = summary.elapsed.as_secs_f64();
        if summary.indexes.is_empty() {
            println!("No index needed to be rebuilt.");
        } else {
            println!("Rebuilt {}.", summary.indexes.join(", "));
        }
        let rate = summary.entries as f64 / seconds.max(0.001);
        println!(
            "Rebuild complete. Processed {} entries in {seconds:.1} seconds (average rate {rate:.1}/sec)",
            summary.entries
        );
    }
    Ok(ExitCode::SUCCESS)
}
