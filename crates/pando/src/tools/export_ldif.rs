//! `export-ldif`: writes a backend as LDIF, also beside a running server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use config::Config;
use jobs::export::Export;
use jobs::progress::rate;
use tasks::work::Kind;

use super::selection::SelectionOptions;
use super::target::Target;
use super::tasks::SchedulingOptions;
use crate::authorize::authorize;
use crate::failure::{Context, Failure, Outcome};
use crate::instance;
use crate::output::{outln, reader_is_gone};
use crate::owner::Owner;
use crate::server_options::ServerOptions;
use crate::terminal::Watcher;

#[derive(Debug, Args)]
pub struct Options {
    /// The backend [default: the one that holds --includeBranch, or the only one]
    #[arg(short = 'n', long = "backendID", alias = "backendId", value_name = "ID")]
    backend: Option<String>,
    /// File to write; "-" is standard output
    #[arg(short = 'l', long = "ldifFile", value_name = "FILE")]
    ldif_file: PathBuf,
    /// Append to the file
    #[arg(short = 'a', long = "appendToLDIF")]
    append: bool,
    /// Work on the files, not through a server (this tool always does)
    #[arg(long = "offline")]
    offline: bool,
    #[command(flatten)]
    selection: SelectionOptions,
    /// Leave operational attributes out
    #[arg(short = 'O', long = "excludeOperational")]
    exclude_operational: bool,
    /// Column at which lines are folded; 0 folds none
    #[arg(long = "wrapColumn", value_name = "COLUMN", default_value_t = 0)]
    wrap_column: usize,
    /// Compress with gzip
    #[arg(short = 'c', long = "compressLDIF", alias = "compress")]
    compress: bool,
    #[command(flatten)]
    scheduling: SchedulingOptions,
    #[command(flatten)]
    server: ServerOptions,
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let config = instance::open(directory)?;
    authorize(&config, &options.server, true)?;
    let owner = Owner::of(directory)?;
    let schema = instance::schema(&config)?;
    let backend = options.selection.backend(&config, &schema, options.backend.as_deref())?;
    if options.scheduling.is_given() {
        return schedule(&config, options, &backend.id);
    }
    let job = Export {
        selection: options.selection.selection(&schema)?,
        exclude_operational: options.exclude_operational,
        wrap_column: options.wrap_column,
        compress: options.compress,
    };
    let mut reader = instance::reader(&config, backend, &schema)?;
    let snapshot = reader.snapshot()?;
    let target = Target::open(&options.ldif_file, options.append)?;
    let quiet = options.quiet || target.is_stdout();
    let mut watcher = Watcher::new(quiet)?;
    let exported = job.run(&snapshot, &schema, target.writer()?, &mut watcher);
    drop(watcher);
    if target.is_stdout() && reader_is_gone() {
        owner.settle(directory)?;
        return Ok(ExitCode::SUCCESS);
    }
    let summary = exported
        .map_err(|error| Failure::new(format_args!("{}: {error}", options.ldif_file.display())))
        .inspect_err(|_| target.discard())?;
    target.finish()?;
    owner.settle(directory)?;
    if !quiet {
        let seconds = summary.elapsed.as_secs_f64();
        let rate = rate(summary.exported, summary.elapsed);
        outln!(
            "Exported {} entries and skipped {} in {seconds:.1} seconds (average rate {rate:.1}/sec)",
            summary.exported,
            summary.skipped
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Has the running server do it as a task.
fn schedule(config: &Config, options: &Options, backend: &str) -> Outcome {
    if options.offline || options.ldif_file == Path::new("-") {
        return Err(Failure::new("a task of the server writes a file: leave --offline out, and name a file"));
    }
    // The server has another working directory.
    let file = std::path::absolute(&options.ldif_file).context(options.ldif_file.display())?;
    let flag = |is_set: bool| if is_set { "TRUE" } else { "FALSE" }.to_owned();
    let mut attributes = vec![
        ("ds-task-export-backend-id", backend.to_owned()),
        ("ds-task-export-ldif-file", file.display().to_string()),
        ("ds-task-export-append-to-ldif", flag(options.append)),
        ("ds-task-export-compress-ldif", flag(options.compress)),
        ("ds-task-export-include-operational-attributes", flag(!options.exclude_operational)),
        ("ds-task-export-wrap-column", options.wrap_column.to_string()),
    ];
    let wanted = options.selection.wanted();
    for (name, values) in [
        ("ds-task-export-include-branch", wanted.include_branches),
        ("ds-task-export-exclude-branch", wanted.exclude_branches),
        ("ds-task-export-include-attribute", wanted.include_attributes),
        ("ds-task-export-exclude-attribute", wanted.exclude_attributes),
        ("ds-task-export-include-filter", wanted.include_filters),
        ("ds-task-export-exclude-filter", wanted.exclude_filters),
    ] {
        attributes.extend(values.into_iter().map(|value| (name, value)));
    }
    options.scheduling.schedule(config, &options.server, (Kind::Export, attributes), options.quiet)
}
