//! `ldifsearch`: the entries of an LDIF file that a search would find.
//!
//! Reads the file once from front to back and keeps one entry in memory.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use ldap::ldif::{LdifEntry, UrlValues, Writer};
use ldap::{ResultCode, Scope};
use schema::{AttributeDescription, AttributeType, NormalizedDn, Schema};
use store::Values;
use store::bulk::{EntryFilter, SelectedEntry};
use store::record::put_value;

use super::described::{Comparison, Described, Descriptions};
use super::source::{Source, schema_of, wrong};
use crate::failure::{Context, Failure, Outcome};
use crate::instance;
use crate::ldap_client::{scope, status};
use crate::output::errln;
use crate::tools::target::Target;

const EXAMPLES: &str = "\
Exit status: 0, also if nothing is found; 3 and 4 at the time and size limit, 82 if the file is no LDIF, 87 for a filter
that is none, 89 for other mistakes
Example: names and mail addresses of the people called Jensen in an export
  pando ldifsearch -b dc=example,dc=com export.ldif '(sn=Jensen)' cn mail";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// LDIF file to search; "-" is standard input
    #[arg(value_name = "SOURCE")]
    source: PathBuf,
    /// What to search, for example (uid=bjensen)
    #[arg(value_name = "FILTER")]
    filter: String,
    /// Attributes to show; * are the user attributes, + the operational ones, @CLASS those of a class [default: all]
    #[arg(value_name = "ATTRIBUTE")]
    attributes: Vec<String>,
    /// Search base DN [default: all entries]
    #[arg(
        short = 'b',
        long = "baseDN",
        alias = "baseDn",
        value_name = "DN",
        default_value = "",
        hide_default_value = true
    )]
    base: String,
    /// Search scope: base, one, sub, subordinates
    #[arg(short = 's', long = "searchScope", value_name = "SCOPE", default_value = "sub", value_parser = scope)]
    scope: Scope,
    /// Only show attribute names but not their values
    #[arg(short = 'A', long = "typesOnly")]
    types_only: bool,
    /// Maximum number of entries to show; 0 for all
    #[arg(short = 'z', long = "sizeLimit", value_name = "NUMBER", default_value_t = 0)]
    size_limit: u64,
    /// Maximum length of time in seconds to allow for the search; 0 for any
    #[arg(short = 'l', long = "timeLimit", value_name = "SECONDS", default_value_t = 0)]
    time_limit: u64,
    /// Write the entries to a file, which appears when it is whole [default: standard output]
    #[arg(short = 'o', long = "outputLDIF", value_name = "FILE", default_value = "-", hide_default_value = true)]
    output: PathBuf,
    /// Maximum length of an output line; 0 for no wrapping
    #[arg(short = 't', long = "wrapColumn", value_name = "COLUMN", default_value_t = 0)]
    wrap: usize,
}

pub fn run(instance: Option<&Path>, options: &Options) -> Outcome {
    status::of_client(search(instance, options))
}

fn search(instance: Option<&Path>, options: &Options) -> Outcome {
    let schema = schema_of(instance)?;
    let filter = jobs::filter::compile(&options.filter, &schema);
    let filter = filter.map_err(|error| Failure::from(error).with_status(status::FILTER_ERROR))?;
    let base = instance::normalized(&schema, &options.base)?;
    let selection = Selection::new(&schema, &options.attributes)?;
    let source = Source::open(&options.source, UrlValues::Refuse)?;
    let target = Target::open(&options.output, false)?;
    let descriptions = Descriptions::new(Arc::clone(&schema), Comparison::BySchema);
    let mut search = Search { options, schema, filter, base, selection, descriptions };
    let mut limit = None;
    target.fill(|out| {
        let mut writer = Writer::new(out).with_wrap(Some(options.wrap).filter(|columns| *columns > 0));
        limit = search.run(source, |entry| entry.write(&mut writer).context(&target))?;
        Ok(())
    })?;
    let Some(limit) = limit else { return Ok(ExitCode::SUCCESS) };
    errln!("pando ldifsearch: the search ended early: {}", status::code_text(limit));
    Ok(ExitCode::from(status::of(limit)))
}

struct Search<'o> {
    options: &'o Options,
    schema: Arc<Schema>,
    filter: EntryFilter,
    base: NormalizedDn,
    selection: Selection,
    descriptions: Descriptions,
}

impl Search<'_> {
    /// Gives each entry that is found to `take`; the limit that ended the search, if one did.
    fn run(
        &mut self,
        mut source: Source,
        mut take: impl FnMut(Found<'_>) -> Result<(), Failure>,
    ) -> Result<Option<ResultCode>, Failure> {
        let limit = Some(self.options.time_limit).filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let (began, mut found) = (Instant::now(), 0);
        let (mut entry, mut name) = (LdifEntry::default(), NormalizedDn::root());
        loop {
            match source.reader.next_into(&mut entry) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => return Err(source.failed(&error)),
            }
            if limit.is_some_and(|limit| began.elapsed() >= limit) {
                return Ok(Some(ResultCode::TIME_LIMIT_EXCEEDED));
            }
            let parsed = name.parse_into(&self.schema, entry.dn.as_bytes());
            parsed.map_err(|error| wrong(format_args!("{}: line {}: {error}", source.name, entry.line)))?;
            if !self.is_in_scope(&name) || !self.matches(&entry) {
                continue;
            }
            if self.options.size_limit > 0 && found == self.options.size_limit {
                return Ok(Some(ResultCode::SIZE_LIMIT_EXCEEDED));
            }
            found += 1;
            take(self.shown(&entry))?;
        }
    }

    fn is_in_scope(&self, name: &NormalizedDn) -> bool {
        match self.options.scope {
            Scope::BaseObject => *name == self.base,
            Scope::SingleLevel => name.parent().is_some_and(|parent| parent == self.base),
            Scope::WholeSubtree => self.base.is_ancestor_or_equal(name),
            Scope::SubordinateSubtree => self.base.is_ancestor_of(name),
        }
    }

    fn matches(&self, entry: &LdifEntry) -> bool {
        // Values of one attribute that do not follow each other are two attributes here, which a filter does not mind.
        let mut gathered: Vec<(&[u8], u32, Vec<u8>)> = Vec::new();
        for line in entry.iter() {
            match gathered.last_mut().filter(|(description, ..)| *description == line.description) {
                Some((_, count, values)) => {
                    *count += 1;
                    put_value(values, line.value);
                }
                None => {
                    let mut values = Vec::new();
                    put_value(&mut values, line.value);
                    gathered.push((line.description, 1, values));
                }
            }
        }
        let named = gathered.iter().filter_map(|(description, count, values)| {
            Some((std::str::from_utf8(description).ok()?, Values::new(*count, values)))
        });
        let attributes: Vec<_> = named.collect();
        (self.filter)(&SelectedEntry { dn: &entry.dn, attributes: &attributes })
    }

    fn shown<'e>(&mut self, entry: &'e LdifEntry) -> Found<'e> {
        let mut lines = Vec::new();
        let mut seen: Vec<Rc<Described>> = Vec::new();
        for line in entry.iter() {
            let described = self.descriptions.get(line.description);
            if !self.selection.has(&self.schema, &described) {
                continue;
            }
            if !self.options.types_only {
                lines.push((line.description, line.value));
            } else if seen.iter().all(|one| one.key != described.key) {
                lines.push((line.description, &b""[..]));
                seen.push(described);
            }
        }
        Found { dn: &entry.dn, lines }
    }
}

/// What is shown of an entry.
struct Found<'e> {
    dn: &'e str,
    lines: Vec<(&'e [u8], &'e [u8])>,
}

impl Found<'_> {
    fn write<W: Write>(&self, writer: &mut Writer<W>) -> io::Result<()> {
        writer.begin(self.dn);
        self.lines.iter().for_each(|(description, value)| writer.line(description, value));
        writer.end()
    }
}

/// Which attributes are shown.
struct Selection {
    all: bool,
    users: bool,
    operational: bool,
    named: Vec<AttributeDescription>,
}

impl Selection {
    fn new(schema: &Schema, names: &[String]) -> Result<Selection, Failure> {
        let mut selection = Selection { all: names.is_empty(), users: false, operational: false, named: Vec::new() };
        for name in names {
            match name.as_str() {
                "*" => selection.users = true,
                "+" => selection.operational = true,
                "1.1" => {}
                _ => match name.strip_prefix('@') {
                    Some(class) => selection.add_class(schema, class)?,
                    None => {
                        let parsed = AttributeDescription::parse(schema, name.as_bytes());
                        selection.named.push(parsed.map_err(Failure::new)?);
                    }
                },
            }
        }
        Ok(selection)
    }

    /// RFC 4529: the attributes that a class and those above it name.
    fn add_class(&mut self, schema: &Schema, name: &str) -> Result<(), Failure> {
        let class = schema.object_class(name.as_bytes());
        let class = class.ok_or_else(|| Failure::new(format_args!("the schema has no object class \"{name}\"")))?;
        self.all |= class.is_extensible();
        let above = class.ancestors().iter().filter_map(|above| schema.class_by_index(*above));
        for one in above.chain([class]) {
            let attributes = one.must.iter().chain(&one.may).filter_map(|index| schema.attribute_by_index(*index));
            self.named.extend(attributes.map(AttributeDescription::of_type));
        }
        Ok(())
    }

    fn has(&self, schema: &Schema, described: &Described) -> bool {
        if self.all {
            return true;
        }
        let Some(description) = &described.description else { return self.users };
        let attribute = description.attribute.and_then(|index| schema.attribute_by_index(index));
        let is_operational = attribute.is_some_and(AttributeType::is_operational);
        let is_of_kind = if is_operational { self.operational } else { self.users };
        is_of_kind || self.named.iter().any(|asked| description.is_subtype_of(schema, asked))
    }
}
