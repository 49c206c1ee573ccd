//! `import-ldif`: fills a backend from LDIF files, gzip files, standard input or a template.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use clap::Args;
use config::{BackendConfig, Config};
use password::Scheme;
use store::bulk::{self, ImportMode, ImportOptions, ImportSummary, LdifSource, PasswordHook, Phase, Selection};

use super::{encode_password::scheme_of, selection::SelectionOptions};
use crate::{
    failure::{Context, Failure, Outcome},
    instance,
    output::outln,
    owner::Owner,
    terminal::{self, Progress, bytes_text, grouped},
};

#[derive(Debug, Args)]
pub struct Options {
    /// The backend [default: the one that holds --includeBranch, or the only one]
    #[arg(short = 'n', long = "backendID", alias = "backendId", value_name = "ID")]
    backend: Option<String>,
    /// LDIF file, also compressed with gzip; "-" is standard input; may be given several times
    #[arg(short = 'l', long = "ldifFile", value_name = "FILE", required_unless_present = "template")]
    ldif_files: Vec<PathBuf>,
    /// Import what this template makes
    #[arg(short = 'A', long = "templateFile", value_name = "FILE", conflicts_with = "ldif_files")]
    template: Option<PathBuf>,
    /// Seed of the template's random values
    #[arg(short = 's', long = "randomSeed", value_name = "SEED", requires = "template")]
    seed: Option<u64>,
    /// Work on the files, not through a server (this tool always does)
    #[arg(long = "offline")]
    offline: bool,
    /// Keep the entries that are there
    #[arg(short = 'a', long = "append")]
    append: bool,
    /// With --append: replace entries that are there already
    #[arg(short = 'r', long = "replaceExisting", requires = "append")]
    replace_existing: bool,
    /// Remove all entries first (an import without --append and --includeBranch does so anyway)
    #[arg(short = 'F', long = "clearBackend", conflicts_with = "append")]
    clear_backend: bool,
    #[command(flatten)]
    selection: SelectionOptions,
    /// Write entries that cannot be imported to this file with the reason, and go on
    #[arg(short = 'R', long = "rejectFile", value_name = "FILE")]
    reject_file: Option<PathBuf>,
    /// Write entries that the selection leaves out to this file
    #[arg(long = "skipFile", value_name = "FILE")]
    skip_file: Option<PathBuf>,
    /// Empty reject and skip file first
    #[arg(short = 'O', long = "overwrite")]
    overwrite: bool,
    /// Do not check entries against the schema
    #[arg(short = 'S', long = "skipSchemaValidation")]
    skip_schema_validation: bool,
    /// End with the number of rejected entries as status
    #[arg(long = "countRejects")]
    count_rejects: bool,
    /// Threads [default: one for each core]
    #[arg(long = "threadCount", value_name = "NUMBER")]
    threads: Option<usize>,
    /// Directory for the sort [default: beside the database]
    #[arg(long = "tmpdirectory", alias = "tmpDirectory", value_name = "DIR")]
    temporary_directory: Option<PathBuf>,
    /// The file is compressed (found out without this)
    #[arg(short = 'c', long = "isCompressed", hide = true)]
    is_compressed: bool,
    /// Print nothing but errors
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

/// An import, whoever asks for it.
pub struct Order {
    pub sources: Vec<LdifSource>,
    pub mode: ImportMode,
    pub selection: Selection,
    pub reject_file: Option<PathBuf>,
    pub skip_file: Option<PathBuf>,
    pub overwrite: bool,
    pub skip_schema_validation: bool,
    pub threads: usize,
    pub temporary_directory: Option<PathBuf>,
    pub quiet: bool,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            mode: ImportMode::Replace,
            selection: Selection::default(),
            reject_file: None,
            skip_file: None,
            overwrite: false,
            skip_schema_validation: false,
            threads: 0,
            temporary_directory: None,
            quiet: false,
        }
    }
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let config = instance::open(directory)?;
    let owner = Owner::of(directory)?;
    let _lock = instance::lock(&config.instance, "or add the entries through it with ldapadd")?;
    let schema = instance::schema(&config)?;
    let backend = options.selection.backend(&config, &schema, options.backend.as_deref())?;
    let mode = if options.append {
        ImportMode::Append { replace_existing: options.replace_existing }
    } else {
        ImportMode::Replace
    };
    let order = Order {
        sources: sources(options)?,
        mode,
        selection: options.selection.selection(&schema)?,
        reject_file: options.reject_file.clone(),
        skip_file: options.skip_file.clone(),
        overwrite: options.overwrite,
        skip_schema_validation: options.skip_schema_validation,
        threads: options.threads.unwrap_or(0),
        temporary_directory: options.temporary_directory.clone(),
        quiet: options.quiet,
    };
    let summary = import(&config, backend, order);
    // Also after a failure: files that root left would keep the server from opening the old data.
    owner.settle(directory)?;
    let rejected = summary?.rejected;
    Ok(if options.count_rejects {
        ExitCode::from(u8::try_from(rejected).unwrap_or(u8::MAX))
    } else {
        ExitCode::SUCCESS
    })
}

fn sources(options: &Options) -> Result<Vec<LdifSource>, Failure> {
    if let Some(template) = &options.template {
        let seed = options.seed.map_or_else(super::makeldif::any_seed, Ok)?;
        return Ok(vec![super::template_source::open(template, seed)?]);
    }
    let open = |file: &PathBuf| {
        if file == Path::new("-") {
            LdifSource::from_reader("standard input", Box::new(io::stdin()), None).context("standard input")
        } else {
            LdifSource::open(file).map_err(Failure::new)
        }
    };
    options.ldif_files.iter().map(open).collect()
}

/// Imports, with progress and a closing line.
pub fn import(config: &Config, backend: &BackendConfig, order: Order) -> Result<ImportSummary, Failure> {
    let schema = instance::schema(config)?;
    let keeps_entries = order.mode != ImportMode::Replace || !order.selection.include_branches.is_empty();
    let indexes = directory::index_configs(backend).map_err(Failure::new)?;
    let options = ImportOptions {
        mode: order.mode,
        selection: order.selection,
        continue_on_error: order.reject_file.is_some(),
        reject_file: order.reject_file,
        skip_file: order.skip_file,
        overwrite: order.overwrite,
        skip_schema_validation: order.skip_schema_validation || !config.global.check_schema,
        hash_password: Some(password_hook(scheme_of(&config.passwords.scheme)?)),
        threads: order.threads,
        temporary_directory: order.temporary_directory,
        cancel: terminal::cancel_on_signal()?,
        ..ImportOptions::new(backend.directory.clone(), backend.base_dns.clone(), indexes, Arc::clone(&schema))
    };
    // Entries that stay are read from the database, which must have all of them.
    if keeps_entries {
        instance::fold(config, backend, &schema)?;
    }
    let progress = Progress::new("entries", None, order.quiet);
    let summary = bulk::import(order.sources, &options, &mut |now| show(&progress, now)).map_err(Failure::new)?;
    drop(progress);
    if !order.quiet {
        report(&summary);
    }
    Ok(summary)
}

fn show(progress: &Progress, now: &bulk::Progress) {
    let seconds = now.elapsed.as_secs_f64().max(0.001);
    let rate = |count: u64| grouped((count as f64 / seconds) as u64);
    match now.phase {
        Phase::Entries => {
            progress.phase("entries", now.bytes_total);
            let rejected =
                if now.rejected > 0 { format!(", {} rejected", grouped(now.rejected)) } else { String::new() };
            progress
                .at(now.bytes_read, format!("{} entries, {}/s{rejected}", grouped(now.processed), rate(now.processed)));
        }
        Phase::Indexes => {
            progress.phase("indexes", now.bytes_total);
            progress.at(now.bytes_read, bytes_text(now.bytes_read));
        }
        Phase::Syncing => progress.phase("syncing", None),
    }
}

fn report(summary: &ImportSummary) {
    let seconds = |time: Duration| time.as_secs_f64();
    let rate = summary.processed as f64 / seconds(summary.elapsed).max(0.001);
    outln!(
        "Processed {} entries, imported {}, skipped {}, rejected {} and migrated {} in {:.1} seconds (average rate \
         {rate:.1}/sec)",
        summary.processed,
        summary.imported,
        summary.skipped,
        summary.rejected,
        summary.migrated,
        seconds(summary.elapsed)
    );
    outln!(
        "Phase one processing completed in {:.1} seconds, phase two in {:.1} seconds; the database has {}",
        seconds(summary.phase_one),
        seconds(summary.phase_two),
        bytes_text(summary.database_bytes)
    );
}

/// Encodes clear passwords; leaves encoded ones as they are.
fn password_hook(scheme: Scheme) -> PasswordHook {
    Arc::new(move |value| {
        if password::is_encoded(value) {
            return Ok(None);
        }
        password::encode_random(scheme, value).map(Some).map_err(|error| error.to_string())
    })
}
