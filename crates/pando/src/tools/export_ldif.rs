//! `export-ldif`: writes a backend as LDIF, also beside a running server.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use jobs::export::Export;
use jobs::progress::rate;

use super::selection::SelectionOptions;
use crate::authorize::authorize;
use crate::failure::{Context, Failure, Outcome};
use crate::instance;
use crate::output::{Output, outln, reader_is_gone};
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

/// Where the LDIF goes. A new file appears under its name when it is complete.
enum Target {
    Stdout,
    Append(PathBuf),
    New {
        temporary: PathBuf,
        file: PathBuf,
    },
    /// A device or pipe, which cannot be renamed over.
    Special(PathBuf),
}

impl Target {
    fn open(file: &Path, append: bool) -> Result<Self, Failure> {
        if file == Path::new("-") {
            return Ok(Target::Stdout);
        }
        let exists_specially = fs::metadata(file).is_ok_and(|metadata| !metadata.is_file());
        Ok(match append {
            _ if exists_specially => Target::Special(file.to_owned()),
            true => Target::Append(file.to_owned()),
            false => {
                let mut name = file
                    .file_name()
                    .ok_or_else(|| Failure::new(format_args!("{} names no file", file.display())))?
                    .to_owned();
                name.push(".part");
                Target::New { temporary: file.with_file_name(name), file: file.to_owned() }
            }
        })
    }

    fn is_stdout(&self) -> bool {
        matches!(self, Target::Stdout)
    }

    fn writer(&self) -> Result<Box<dyn Write + Send>, Failure> {
        Ok(match self {
            Target::Stdout => Box::new(BufWriter::new(Output)),
            Target::Append(file) => {
                Box::new(OpenOptions::new().append(true).create(true).open(file).context(file.display())?)
            }
            Target::New { temporary, file } => Box::new(File::create(temporary).context(file.display())?),
            Target::Special(file) => Box::new(OpenOptions::new().write(true).open(file).context(file.display())?),
        })
    }

    fn finish(&self) -> Result<(), Failure> {
        match self {
            Target::New { temporary, file } => {
                let synced = File::open(temporary).and_then(|written| written.sync_all());
                synced.and_then(|()| durable::rename(temporary, file)).context(file.display())
            }
            _ => Ok(()),
        }
    }

    fn discard(&self) {
        if let Target::New { temporary, .. } = self {
            // A half export is of no use; if it cannot be removed, its name says what it is.
            let _ = fs::remove_file(temporary);
        }
    }
}
