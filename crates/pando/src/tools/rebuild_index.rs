//! `rebuild-index`: rebuilds indexes from the entries.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args};
use config::Config;
use jobs::files::Target;
use jobs::progress::rate;
use jobs::rebuild::Rebuild;
use ldap::administration::{IndexChoice, RebuildIndexes};
use store::bulk::RebuildWhich;
use tasks::work::Kind;

use super::tasks::SchedulingOptions;
use crate::authorize::authorize;
use crate::failure::{Failure, Outcome};
use crate::output::outln;
use crate::owner::Owner;
use crate::server_options::ServerOptions;
use crate::terminal::{Progress, Watcher};
use crate::{administration, instance};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true).args(["indexes", "all", "degraded"]))]
pub struct Options {
    /// A base DN of the backend
    #[arg(short = 'b', long = "baseDN", alias = "baseDn", value_name = "DN")]
    base_dn: String,
    /// Index or attribute, such as cn or cn.caseIgnoreMatch; may be given several times
    #[arg(short = 'i', long = "index", value_name = "INDEX")]
    indexes: Vec<String>,
    /// All indexes
    #[arg(long = "rebuildAll", conflicts_with_all = ["indexes", "degraded"])]
    all: bool,
    /// All indexes that are new or out of date
    #[arg(long = "rebuildDegraded", conflicts_with = "indexes")]
    degraded: bool,
    /// Declare the indexes usable without rebuilding them: right only if no entry has the attribute
    #[arg(long = "clearDegradedState", requires = "indexes")]
    clear_degraded_state: bool,
    /// Directory for temporary files [default: the backend's]
    #[arg(long = "tmpdirectory", alias = "tmpDirectory", value_name = "DIR")]
    temporary_directory: Option<PathBuf>,
    /// Work on the files, which needs a stopped server; without it a running server builds the indexes while it serves
    #[arg(long = "offline")]
    offline: bool,
    /// Wait until the running server has completed the indexes, and fail if it has not
    #[arg(long = "wait", conflicts_with = "offline")]
    wait: bool,
    #[command(flatten)]
    scheduling: SchedulingOptions,
    #[command(flatten)]
    server: ServerOptions,
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

impl Options {
    fn which(&self) -> IndexChoice {
        match (self.all, self.degraded) {
            (true, _) => IndexChoice::All,
            (_, true) => IndexChoice::Degraded,
            _ => IndexChoice::Named(self.indexes.clone()),
        }
    }
}

/// Has the running server build the indexes.
fn ask_server(directory: &Path, config: &Config, options: &Options, process: u32) -> Outcome {
    let schema = instance::schema(config)?;
    let backend = instance::backend_of_base(config, &schema, &options.base_dn)?;
    if options.clear_degraded_state {
        return Err(Failure::new("--clearDegradedState works on the files: stop the server first"));
    }
    for name in &options.indexes {
        if ["dn2id", "id2children", "id2entry"].iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err(Failure::new(format_args!(
                "a running server does not rebuild \"{name}\": the indexes of the tree (dn2id, id2children, id2entry) \
                 are rebuilt while \
                 it is stopped"
            )));
        }
    }
    let request = RebuildIndexes { backend: backend.id.clone(), which: options.which(), wait: options.wait };
    let progress = options.wait.then(|| Progress::new("entries", None, options.quiet));
    let begun = Instant::now();
    let rebuilt = administration::rebuild(&config.instance, process, &request, &mut |now| {
        if let Some(progress) = &progress {
            progress.phase(&now.phase, now.total);
            progress.at(now.done, rated(now.done, begun.elapsed()));
        }
    });
    drop(progress);
    let names = rebuilt?;
    if options.quiet {
        return Ok(ExitCode::SUCCESS);
    }
    match (names.is_empty(), options.wait) {
        (true, _) => outln!("No index needed to be rebuilt."),
        (_, true) => outln!(
            "The server (process {process}) rebuilt {} in {:.1} seconds; searches use them.",
            names.join(", "),
            begun.elapsed().as_secs_f64()
        ),
        (_, false) => outln!(
            "The server (process {process}) rebuilds {} while it serves; until then no search uses them. Watch pando \
             backendstat \
             show-index-status --instance {} -n {}, or wait for the end with --wait.",
            names.join(", "),
            directory.display(),
            backend.id
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// Has the running server do it as a task.
fn schedule(config: &Config, options: &Options) -> Outcome {
    if options.offline || options.wait || options.clear_degraded_state || options.temporary_directory.is_some() {
        return Err(Failure::new(
            "--offline, --wait, --clearDegradedState and --tmpdirectory are not for tasks: leave them out",
        ));
    }
    let mut attributes = vec![("ds-task-rebuild-base-dn", options.base_dn.clone())];
    match options.which() {
        IndexChoice::All => attributes.push(("ds-task-rebuild-index", "REBUILD_ALL".to_owned())),
        IndexChoice::Degraded => attributes.push(("ds-task-rebuild-index", "REBUILD_DEGRADED".to_owned())),
        IndexChoice::Named(names) => {
            attributes.extend(names.into_iter().map(|name| ("ds-task-rebuild-index", name)));
        }
    }
    options.scheduling.schedule(config, &options.server, (Kind::Rebuild, attributes), options.quiet)
}

/// How many entries, and how many a second.
fn rated(entries: u64, elapsed: Duration) -> String {
    format!("{} entries, {}/s", entries, rate(entries, elapsed) as u64)
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let config = instance::open(directory)?;
    authorize(&config, &options.server, true)?;
    if options.scheduling.is_given() {
        return schedule(&config, options);
    }
    let owner = Owner::of(directory)?;
    if let (false, Some(process)) = (options.offline, instance::running(&config.instance)) {
        return ask_server(directory, &config, options, process);
    }
    let _lock = instance::lock(&config.instance, "then rebuild")?;
    let schema = instance::schema(&config)?;
    let backend = instance::backend_of_base(&config, &schema, &options.base_dn)?;
    let job = Rebuild {
        which: match options.which() {
            IndexChoice::All => RebuildWhich::All,
            IndexChoice::Degraded => RebuildWhich::Degraded,
            IndexChoice::Named(names) => RebuildWhich::Named(names),
        },
        clear_degraded_state: options.clear_degraded_state,
        temporary_directory: options.temporary_directory.clone(),
    };
    let mut watcher = Watcher::new(options.quiet)?;
    let rebuilt = job.run(Target { config: &config, backend, schema: &schema }, &mut watcher);
    drop(watcher);
    owner.settle(directory)?;
    let summary = rebuilt?;
    if !options.quiet {
        let seconds = summary.elapsed.as_secs_f64();
        if summary.indexes.is_empty() {
            outln!("No index needed to be rebuilt.");
        } else {
            outln!("Rebuilt {}.", summary.indexes.join(", "));
        }
        let rate = rate(summary.entries, summary.elapsed);
        outln!(
            "Rebuild complete. Processed {} entries in {seconds:.1} seconds (average rate {rate:.1}/sec)",
            summary.entries
        );
    }
    Ok(ExitCode::SUCCESS)
}
