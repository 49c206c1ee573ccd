//! `import-ldif`: fills a backend from LDIF files, gzip files, standard input or a template.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jobs::files::Target;
use jobs::import::{Import, Imported};
use jobs::progress::rate;
use store::bulk::{ImportMode, ImportSummary, LdifSource};

use super::selection::SelectionOptions;
use crate::authorize::authorize;
use crate::failure::{Context, Failure, Outcome};
use crate::instance;
use crate::output::{errln, outln};
use crate::owner::Owner;
use crate::server_options::ServerOptions;
use crate::terminal::{Watcher, bytes_text};

#[derive(Debug, Args)]
pub struct Options {
    /// The backend [default: the one that holds --includeBranch, or the only one]
    #[arg(short = 'n', long = "backendID", alias = "backendId", value_name = "ID")]
    backend: Option<String>,
    /// LDIF file, also compressed with gzip; "-" is standard input; may be given several times
    #[arg(short = 'l', long = "ldifFile", value_name = "FILE", required_unless_present = "template")]
    ldif_files: Vec<PathBuf>,
    /// Import the entries that this makeldif template generates
    #[arg(short = 'A', long = "templateFile", value_name = "FILE", conflicts_with = "ldif_files")]
    template: Option<PathBuf>,
    /// Seed of the template's random values
    #[arg(short = 's', long = "randomSeed", value_name = "SEED", requires = "template")]
    seed: Option<u64>,
    /// Work on the files, not through a server (this tool always does)
    #[arg(long = "offline")]
    offline: bool,
    /// Keep the existing entries
    #[arg(short = 'a', long = "append")]
    append: bool,
    /// With --append: replace existing entries
    #[arg(short = 'r', long = "replaceExisting", requires = "append")]
    replace_existing: bool,
    /// The backend may be empty afterwards; without it, an import that would leave no entry changes nothing and fails
    #[arg(short = 'F', long = "clearBackend", conflicts_with = "append")]
    clear_backend: bool,
    /// Do not add creatorsName, createTimestamp, modifiersName and modifyTimestamp where the file has none
    #[arg(long = "noLastMod")]
    no_last_mod: bool,
    #[command(flatten)]
    selection: SelectionOptions,
    /// Write entries that cannot be imported to this file with the reason, and go on
    #[arg(short = 'R', long = "rejectFile", value_name = "FILE")]
    reject_file: Option<PathBuf>,
    /// Write entries that the selection leaves out to this file
    #[arg(long = "skipFile", value_name = "FILE")]
    skip_file: Option<PathBuf>,
    /// Empty the reject file and the skip file first
    #[arg(short = 'O', long = "overwrite")]
    overwrite: bool,
    /// Do not check entries against the schema
    #[arg(short = 'S', long = "skipSchemaValidation")]
    skip_schema_validation: bool,
    /// Exit with the number of rejected entries as status
    #[arg(long = "countRejects")]
    count_rejects: bool,
    /// Number of threads [default: one for each core]
    #[arg(long = "threadCount", value_name = "NUMBER")]
    threads: Option<usize>,
    /// Directory for temporary files [default: beside the database]
    #[arg(long = "tmpdirectory", alias = "tmpDirectory", value_name = "DIR")]
    temporary_directory: Option<PathBuf>,
    /// The file is compressed (found out without this)
    #[arg(short = 'c', long = "isCompressed", hide = true)]
    is_compressed: bool,
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
    let _lock = instance::lock(&config.instance, "or add the entries through it with ldapadd")?;
    let schema = instance::schema(&config)?;
    let backend = options.selection.backend(&config, &schema, options.backend.as_deref())?;
    let mode = if options.append {
        ImportMode::Append { replace_existing: options.replace_existing }
    } else {
        ImportMode::Replace
    };
    let job = Import {
        sources: sources(options)?,
        mode,
        may_be_empty: options.clear_backend,
        is_stamped: !options.no_last_mod,
        selection: options.selection.selection(&schema)?,
        reject_file: options.reject_file.clone(),
        skip_file: options.skip_file.clone(),
        overwrite: options.overwrite,
        skip_schema_validation: options.skip_schema_validation,
        threads: options.threads.unwrap_or(0),
        temporary_directory: options.temporary_directory.clone(),
    };
    let imported = import(Target { config: &config, backend, schema: &schema }, job, options.quiet);
    // Also after a failure: files that root left would keep the server from opening the old data.
    owner.settle(directory)?;
    let rejected = imported?.summary.rejected;
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
pub fn import(target: Target<'_>, job: Import, quiet: bool) -> Result<Imported, Failure> {
    let mut watcher = Watcher::new(quiet)?;
    let imported = job.run(target, &mut watcher);
    drop(watcher);
    let imported = imported?;
    for (row, entries) in &imported.not_obeyed {
        errln!("{}", row.sentence(*entries));
    }
    if imported.quoted_instructions > 0 {
        errln!(
            "Access control instructions with values without quotation marks: {}; they are stored with quotation marks",
            imported.quoted_instructions
        );
    }
    if !quiet {
        report(&imported.summary);
    }
    Ok(imported)
}

fn report(summary: &ImportSummary) {
    let seconds = |time: Duration| time.as_secs_f64();
    let rate = rate(summary.processed, summary.elapsed);
    outln!(
        "Processed {} entries, imported {}, skipped {}, rejected {} and migrated {} in {:.1} seconds (average rate \
         {rate:.1}/sec)",
        summary.processed,
        summary.imported,
        summary.skipped.total(),
        summary.rejected,
        summary.migrated,
        seconds(summary.elapsed)
    );
    if summary.skipped.total() > 0 {
        outln!("Skipped entries: {}", summary.skipped);
    }
    outln!(
        "Phase one processing completed in {:.1} seconds, phase two in {:.1} seconds; the database has {}",
        seconds(summary.phase_one),
        seconds(summary.phase_two),
        bytes_text(summary.database_bytes)
    );
}
