//! `ldifmodify`: the entries of an LDIF file after changes.
//!
//! The entries are sorted in bounded memory; those that changes touch are kept in memory, as they are then.
//!
//! | file | what |
//! |---|---|
//! | `edited` | one entry, and what modifications do to it |
//! | `apply` | all entries, and what changes do to them |

mod apply;
mod edited;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ldap::ldif::{UrlValues, Writer};

use self::apply::Entries;
use super::described::{Comparison, Descriptions};
use super::sorted::{ByName, Scratch};
use super::source::{Source, check_names, schema_of, wrong};
use crate::failure::{Context, Failure, Outcome};
use crate::ldap_client::status;
use crate::output::errln;
use crate::tools::target::Target;

const EXAMPLES: &str = "\
Exit status: 0 if all changes could be made, 82 if one could not or a file is no LDIF, 89 for other mistakes. Without
--continueOnError nothing is written then
Example: last night's export, as today's changes leave it
  pando ldifmodify export.ldif changes.ldif -o now.ldif";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// LDIF file with the entries; "-" is standard input
    #[arg(value_name = "SOURCE")]
    source: PathBuf,
    /// LDIF files with changes; a record without a changetype is an add [default: standard input]
    #[arg(value_name = "CHANGES")]
    changes: Vec<PathBuf>,
    /// One more of them
    #[arg(short = 'm', long = "changesLDIF", value_name = "FILE")]
    more_changes: Vec<PathBuf>,
    /// Go on after changes that cannot be made, and write what the others make of the entries
    #[arg(short = 'c', long = "continueOnError")]
    continues: bool,
    /// Write the entries to a file, which appears when it is whole [default: standard output]
    #[arg(short = 'o', long = "outputLDIF", value_name = "FILE", default_value = "-", hide_default_value = true)]
    output: PathBuf,
    /// Maximum length of an output line; 0 for no wrapping
    #[arg(short = 't', long = "wrapColumn", value_name = "COLUMN", default_value_t = 0)]
    wrap: usize,
    /// Directory for temporary files, which take twice as much as the source [default: $TMPDIR, else /tmp]
    #[arg(long = "tmpdirectory", alias = "tmpDirectory", value_name = "DIR")]
    temporary_directory: Option<PathBuf>,
}

pub fn run(instance: Option<&Path>, options: &Options) -> Outcome {
    status::of_client(modify(instance, options))
}

fn modify(instance: Option<&Path>, options: &Options) -> Outcome {
    let standard_input = [PathBuf::from("-")];
    let mut changes: Vec<&PathBuf> = options.changes.iter().chain(&options.more_changes).collect();
    if changes.is_empty() {
        changes.extend(&standard_input);
    }
    check_names(changes.iter().copied().chain([&options.source]))?;
    let schema = schema_of(instance)?;
    let scratch = Scratch::in_folder(options.temporary_directory.as_deref());
    let target = Target::open(&options.output, false)?;
    let changes: Vec<Source> =
        changes.into_iter().map(|path| Source::open(path, UrlValues::ReadFiles)).collect::<Result<_, _>>()?;
    let stored = ByName::read(Source::open(&options.source, UrlValues::Refuse)?, &schema, &scratch)?;
    let mut entries = Entries::new(stored, Descriptions::new(schema, Comparison::BySchema));
    let mut failures = Failures { continues: options.continues, any: false };
    for source in changes {
        apply(&mut entries, source, &mut failures)?;
    }
    for orphan in entries.orphans()? {
        failures.take(wrong(orphan))?;
    }
    target.fill(|out| {
        let mut writer = Writer::new(out).with_wrap(Some(options.wrap).filter(|columns| *columns > 0));
        entries.each(|entry| entry.write(&mut writer).context(&target))
    })?;
    Ok(ExitCode::from(if failures.any { status::LOCAL_ERROR } else { 0 }))
}

/// What is done about changes that cannot be made.
struct Failures {
    continues: bool,
    any: bool,
}

impl Failures {
    fn take(&mut self, failure: Failure) -> Result<(), Failure> {
        if !self.continues {
            return Err(failure);
        }
        errln!("pando ldifmodify: {failure}");
        self.any = true;
        Ok(())
    }
}

/// Makes the changes of one file.
fn apply(entries: &mut Entries, mut source: Source, failures: &mut Failures) -> Result<(), Failure> {
    loop {
        match source.reader.next_record() {
            Ok(None) => return Ok(()),
            Ok(Some(record)) => {
                let line = source.reader.raw_line();
                if let Err(error) = entries.apply(record)? {
                    failures.take(wrong(format_args!("{}: line {line}: {error}", source.name)))?;
                }
            }
            Err(error) if error.is_io() => return Err(source.failed(&error)),
            Err(error) => failures.take(source.failed(&error))?,
        }
    }
}
