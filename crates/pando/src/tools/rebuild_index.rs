//! `rebuild-index`: makes indexes anew from the entries.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use config::Config;
use server::rebuild_request::RebuildRequest;
use store::bulk::{self, Phase, RebuildOptions, RebuildWhich};

use super::reload;
use crate::{
    failure::{Context, Failure, Outcome},
    instance,
    output::outln,
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
    /// Work on the files only; refused while a server runs. Without it, a running server builds the indexes while it serves
    #[arg(long = "offline")]
    offline: bool,
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

impl Options {
    fn which(&self) -> RebuildWhich {
        match (self.all, self.degraded) {
            (true, _) => RebuildWhich::All,
            (_, true) => RebuildWhich::Degraded,
            _ => RebuildWhich::Named(self.indexes.clone()),
        }
    }
}

/// Has the running server build the indexes.
fn ask_server(directory: &Path, config: &Config, options: &Options, owner: Owner, process: u32) -> Outcome {
    let schema = instance::schema(config)?;
    let backend = instance::backend_of_base(config, &schema, &options.base_dn)?;
    if options.clear_degraded_state {
        return Err(Failure::new("--clearDegradedState works on the files: stop the server first"));
    }
    let configured = directory::configured_indexes(&schema, backend).map_err(Failure::new)?;
    for name in &options.indexes {
        let attribute = schema.attribute_type(name.as_bytes()).map(|attribute| format!("{}.", attribute.name()));
        let is_meant = |own: &String| {
            let own = own.split('@').next().unwrap_or(own);
            own.eq_ignore_ascii_case(name) || attribute.as_ref().is_some_and(|attribute| own.starts_with(attribute))
        };
        if !configured.names.iter().any(is_meant) {
            return Err(Failure::new(format_args!(
                "there is no index \"{name}\" that a running server can rebuild; those of the tree (dn2id, id2children, id2entry) \
                 are rebuilt while it is stopped"
            )));
        }
    }
    let request = RebuildRequest { backend: backend.id.clone(), which: options.which() };
    request.leave(&config.instance).context("the request to the server")?;
    owner.settle(directory)?;
    reload::reload(config)?;
    if !options.quiet {
        outln!(
            "The server (process {process}) rebuilds the indexes while it serves; until then no search uses them. Watch pando \
             backendstat show-index-status --instance {} -n {}",
            directory.display(),
            backend.id
        );
    }
    Ok(ExitCode::SUCCESS)
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let config = instance::open(directory)?;
    let owner = Owner::of(directory)?;
    if let (false, Some(process)) = (options.offline, instance::running(&config.instance)) {
        return ask_server(directory, &config, options, owner, process);
    }
    let _lock = instance::lock(&config.instance, "then rebuild")?;
    let schema = instance::schema(&config)?;
    let backend = instance::backend_of_base(&config, &schema, &options.base_dn)?;
    instance::fold(&config, backend, &schema)?;
    let rebuild_options = RebuildOptions {
        directory: backend.directory.clone(),
        indexes: directory::index_configs(backend).map_err(Failure::new)?,
        schema,
        which: options.which(),
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
            outln!("No index needed to be rebuilt.");
        } else {
            outln!("Rebuilt {}.", summary.indexes.join(", "));
        }
        let rate = summary.entries as f64 / seconds.max(0.001);
        outln!(
            "Rebuild complete. Processed {} entries in {seconds:.1} seconds (average rate {rate:.1}/sec)",
            summary.entries
        );
    }
    Ok(ExitCode::SUCCESS)
}
