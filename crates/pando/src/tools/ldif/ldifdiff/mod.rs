//! `ldifdiff`: the changes that make the entries of one LDIF file those of another.
//!
//! Both files are sorted by name and walked side by side, so memory does not grow with them. Deletions are written
//! first, children before parents, then additions and modifications, parents before children: so a server takes them.
//!
//! | file | what |
//! |---|---|
//! | `compare` | the changes of one entry |
//! | `changes` | changes in the order in which they can be made |

mod changes;
mod compare;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ldap::ldif::{LdifEntry, UrlValues};
use schema::{NormalizedDn, Schema};

use self::changes::Changes;
use self::compare::Comparer;
use super::described::{Comparison, Descriptions};
use super::sorted::{InOrder, Record, Scratch, Stored};
use super::source::{Source, check_names, schema_of};
use crate::failure::{Context, Failure, Outcome};
use crate::instance;
use crate::ldap_client::status;
use crate::tools::target::Target;

/// Exit status when the files differ.
const DIFFERENT: u8 = 1;
/// The same with `--useCompareResultCode`: the LDAP results compareFalse and compareTrue.
const COMPARE_FALSE: u8 = 5;
const COMPARE_TRUE: u8 = 6;

const SAME_TEXT: &str = "# No differences were detected between the source and target LDIF files\n";

const EXAMPLES: &str = "\
Exit status: 0 if the entries are the same, 1 if they differ, 82 if a file is no LDIF, 89 for other mistakes
Example: what a week has changed, and the same changes at another server
  pando ldifdiff monday.ldif sunday.ldif -o changes.ldif
  pando ldapmodify -p 1389 -D 'cn=Directory Manager' -w secret12 changes.ldif";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// LDIF file with the entries as they are; "-" is standard input
    #[arg(value_name = "SOURCE")]
    source: PathBuf,
    /// LDIF file with the entries as they should be; "-" is standard input
    #[arg(value_name = "TARGET")]
    target: PathBuf,
    /// Write the changes to a file, which appears when it is whole [default: standard output]
    #[arg(short = 'o', long = "outputLDIF", value_name = "FILE", default_value = "-", hide_default_value = true)]
    output: PathBuf,
    /// Only entries at or below this DN; may be given several times
    #[arg(short = 'b', long = "includeBranch", value_name = "DN")]
    include_branches: Vec<String>,
    /// No entries at or below this DN
    #[arg(short = 'B', long = "excludeBranch", value_name = "DN")]
    exclude_branches: Vec<String>,
    /// Do not look at this attribute, or one derived from it; may be given several times
    #[arg(short = 'e', long = "excludeAttribute", value_name = "ATTRIBUTE")]
    exclude_attributes: Vec<String>,
    /// Look at attributes that only servers write, too, such as createTimestamp and entryUUID
    #[arg(long = "serverAttributes")]
    server_attributes: bool,
    /// Compare values byte by byte, not by the schema (for which Ann and ANN are the same name)
    #[arg(short = 'x', long = "exactMatch")]
    is_exact: bool,
    /// Use LDAP compare results as exit status: 6 if the entries are the same, 5 if they differ
    #[arg(short = 'r', long = "useCompareResultCode")]
    has_result_code: bool,
    /// Maximum length of an output line; 0 for no wrapping
    #[arg(short = 't', long = "wrapColumn", value_name = "COLUMN", default_value_t = 0)]
    wrap: usize,
    /// Directory for temporary files, which take as much as both files [default: $TMPDIR, else /tmp]
    #[arg(long = "tmpdirectory", alias = "tmpDirectory", value_name = "DIR")]
    temporary_directory: Option<PathBuf>,
}

pub fn run(instance: Option<&Path>, options: &Options) -> Outcome {
    status::of_client(compare_all(instance, options))
}

fn compare_all(instance: Option<&Path>, options: &Options) -> Outcome {
    check_names([&options.source, &options.target])?;
    let schema = schema_of(instance)?;
    let target = Target::open(&options.output, false)?;
    let scratch = Scratch::in_folder(options.temporary_directory.as_deref());
    let changes = differences(options, &schema, &scratch)?;
    let is_same = changes.is_empty();
    target.fill(|out| {
        let written = if is_same { out.write_all(SAME_TEXT.as_bytes()) } else { changes.write(out) };
        written.context(&target)
    })?;
    Ok(ExitCode::from(match (is_same, options.has_result_code) {
        (true, false) => 0,
        (false, false) => DIFFERENT,
        (true, true) => COMPARE_TRUE,
        (false, true) => COMPARE_FALSE,
    }))
}

/// Which entries are looked at.
struct Branches {
    included: Vec<NormalizedDn>,
    excluded: Vec<NormalizedDn>,
}

impl Branches {
    fn new(schema: &Schema, options: &Options) -> Result<Branches, Failure> {
        let parse = |names: &[String]| {
            names.iter().map(|dn| instance::normalized(schema, dn)).collect::<Result<Vec<_>, Failure>>()
        };
        Ok(Branches { included: parse(&options.include_branches)?, excluded: parse(&options.exclude_branches)? })
    }

    fn has(&self, name: &NormalizedDn) -> bool {
        let is_in = |branches: &[NormalizedDn]| branches.iter().any(|branch| branch.is_ancestor_or_equal(name));
        (self.included.is_empty() || is_in(&self.included)) && !is_in(&self.excluded)
    }
}

/// One of the two files, at one of its entries.
struct Side<'s> {
    entries: InOrder<'s>,
    name: Vec<u8>,
    record: Record,
    is_over: bool,
    entry: LdifEntry,
}

impl<'s> Side<'s> {
    fn open(path: &Path, schema: &Schema, scratch: &'s Scratch, branches: &Branches) -> Result<Side<'s>, Failure> {
        let entries =
            InOrder::read(Source::open(path, UrlValues::Refuse)?, schema, scratch, |name| branches.has(name))?;
        let (name, record, entry) = (Vec::new(), Record::default(), LdifEntry::default());
        let mut side = Side { entries, name, record, is_over: false, entry };
        side.advance()?;
        Ok(side)
    }

    fn advance(&mut self) -> Result<(), Failure> {
        self.is_over = !self.entries.next_into(&mut self.name, &mut self.record)?;
        Ok(())
    }

    fn entry(&mut self) -> Result<&LdifEntry, Failure> {
        let stored = Stored { name: &self.name, line: self.record.line, text: &self.record.text };
        stored.parse_into(self.entries.source(), &mut self.entry)?;
        Ok(&self.entry)
    }
}

fn differences<'s>(options: &Options, schema: &Arc<Schema>, scratch: &'s Scratch) -> Result<Changes<'s>, Failure> {
    let branches = Branches::new(schema, options)?;
    let comparison = if options.is_exact { Comparison::Exact } else { Comparison::BySchema };
    let mut comparer = Comparer::new(
        Descriptions::new(Arc::clone(schema), comparison),
        &options.exclude_attributes,
        options.server_attributes,
    )?;
    let mut source = Side::open(&options.source, schema, scratch, &branches)?;
    let mut target = Side::open(&options.target, schema, scratch, &branches)?;
    let mut changes = Changes::new(scratch, Some(options.wrap).filter(|columns| *columns > 0))?;
    loop {
        let order = match (source.is_over, target.is_over) {
            (true, true) => return Ok(changes),
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => source.name.cmp(&target.name),
        };
        match order {
            Ordering::Less => {
                let dn = source.entry()?.dn.clone();
                changes.delete(&source.name, &dn)?;
            }
            Ordering::Greater => {
                let change = comparer.added(target.entry()?);
                changes.add(&change)?;
            }
            Ordering::Equal => {
                if source.record.text != target.record.text
                    && let Some(change) = comparer.modified(source.entry()?, target.entry()?)
                {
                    changes.add(&change)?;
                }
            }
        }
        if order.is_le() {
            source.advance()?;
        }
        if order.is_ge() {
            target.advance()?;
        }
    }
}
