//! `ldapmodify`: does what the change records of LDIF files say, with the options of OpenDJ's tool.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use ldap::ControlBuf;
use ldap::client::controls::{decode_read_entry, post_read, pre_read};
use ldap::client::{self, ServerMessage};
use ldap::ldif::{LdifChange, LdifOperation, Reader, Record, UrlValues, put_line};
use ldap::oids::control;

use crate::failure::{Context, Failure, Outcome};
use crate::ldap_client::status::{self, Worst};
use crate::ldap_client::{CommonControlOptions, Session, SessionOptions};
use crate::output::{errln, out, outln};

const EXAMPLE: &str = "\
Example: the changes of a file, and what the entries are like afterwards
  pando ldapmodify -p 1389 -D 'cn=Directory Manager' -w secret12 --postReadAttributes description changes.ldif";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLE, next_help_heading = "Changes")]
pub struct Options {
    /// LDIF files with changes; a record without a changetype is an add [default: standard input]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// One more of them
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Treat records with no changetype as add operations: so they are with and without it
    #[arg(short = 'a', long = "defaultAdd")]
    _default_add: bool,
    /// Continue processing even if there are errors
    #[arg(short = 'c', long = "continueOnError")]
    continues: bool,
    /// Show what would be done but do not perform any operation
    #[arg(short = 'n', long = "dry-run")]
    is_dry_run: bool,
    /// Use the pre-read control: print these attributes as they were
    #[arg(long = "preReadAttributes", value_name = "ATTRIBUTES", value_delimiter = ',')]
    pre_read: Vec<String>,
    /// Use the post-read control: print these attributes as they are afterwards
    #[arg(long = "postReadAttributes", value_name = "ATTRIBUTES", value_delimiter = ',')]
    post_read: Vec<String>,
    #[command(flatten)]
    common: CommonControlOptions,
    #[command(flatten)]
    session: SessionOptions,
}

pub fn run(options: &Options) -> Outcome {
    status::of_client(change_all(options))
}

fn change_all(options: &Options) -> Outcome {
    let mut sources: Vec<(String, Box<dyn Read>)> = Vec::new();
    for path in options.files.iter().chain(&options.file) {
        sources.push((path.display().to_string(), Box::new(File::open(path).context(path.display())?)));
    }
    if sources.is_empty() {
        sources.push(("standard input".to_owned(), Box::new(io::stdin())));
    }
    let session = if options.is_dry_run { None } else { Some(options.session.open()?) };
    let mut changes = Changes { options, controls: controls(options), session, worst: Worst::default() };
    for (name, stream) in sources {
        if changes.file(&name, stream)?.is_break() {
            break;
        }
    }
    Ok(changes.worst.exit_code())
}

fn controls(options: &Options) -> Vec<ControlBuf> {
    let names = |names: &'_ [String]| names.iter().map(|name| name.trim().to_owned()).collect::<Vec<_>>();
    let mut all = options.common.controls();
    for (attributes, make) in
        [(&options.pre_read, pre_read as fn(&[&str]) -> ControlBuf), (&options.post_read, post_read)]
    {
        let attributes = names(attributes);
        if !attributes.is_empty() {
            all.push(make(&attributes.iter().map(String::as_str).collect::<Vec<_>>()).critical());
        }
    }
    all
}

struct Changes<'o> {
    options: &'o Options,
    controls: Vec<ControlBuf>,
    /// None: nothing is sent.
    session: Option<Session>,
    worst: Worst,
}

impl Changes<'_> {
    /// The changes of one file, as long as all goes well or errors are gone over.
    fn file(&mut self, name: &str, stream: Box<dyn Read>) -> Result<ControlFlow<()>, Failure> {
        let mut reader = Reader::new(BufReader::new(stream)).with_urls(UrlValues::ReadFiles);
        loop {
            let status = match reader.next_record() {
                Ok(None) => return Ok(ControlFlow::Continue(())),
                Ok(Some(record)) => self.change(&change_of(record))?,
                Err(error) => {
                    let is_over = matches!(error.fault, ldap::ldif::LdifFault::Io(_));
                    let failure = Failure::new(format_args!("{name}: {error}"));
                    if is_over || !self.options.continues {
                        return Err(failure);
                    }
                    errln!("pando ldapmodify: {failure}");
                    status::PARAMETER_ERROR
                }
            };
            self.worst.add(status);
            if status != 0 && !self.options.continues {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// One change; its status.
    fn change(&mut self, change: &LdifChange) -> Result<u8, Failure> {
        let kind = match change.operation {
            LdifOperation::Add(_) => "ADD",
            LdifOperation::Delete => "DELETE",
            LdifOperation::Modify(_) => "MODIFY",
            LdifOperation::ModifyDn { .. } => "MODIFY DN",
        };
        outln!("Processing {kind} request for {}", change.dn);
        let Some(session) = &mut self.session else { return Ok(0) };
        let mut read = String::new();
        let mut take = |message: &ServerMessage<'_>| {
            put_read_entries(message, &mut read);
            ControlFlow::Continue(())
        };
        let result = session.ask(|id, out| client::change(out, id, change, &self.controls), &mut take)?;
        if !result.is_success() {
            let what = format!("{} request", kind.to_lowercase().replace(" dn", " DN"));
            return Ok(status::refused(&what, &result));
        }
        outln!("{kind} operation successful for DN {}", change.dn);
        out!("{read}");
        Ok(0)
    }
}

/// An entry is added.
fn change_of(record: Record) -> LdifChange {
    match record {
        Record::Change(change) => change,
        Record::Entry(entry) => LdifChange {
            dn: entry.dn,
            line: entry.line,
            controls: Vec::new(),
            operation: LdifOperation::Add(entry.attributes),
        },
    }
}

/// What pre-read and post-read controls show.
fn put_read_entries(message: &ServerMessage<'_>, out: &mut String) {
    for (oid, title) in [(control::PRE_READ, "before"), (control::POST_READ, "after")] {
        let Some(shown) = message.controls.find(oid) else { continue };
        let Ok(entry) = decode_read_entry(shown.value) else { continue };
        let mut text = Vec::new();
        put_line(&mut text, b"dn", entry.dn, None);
        for attribute in entry.attributes.iter() {
            attribute.values.iter().for_each(|value| put_line(&mut text, attribute.description, value, None));
        }
        *out += &format!("Target entry {title} the operation:\n{}\n", String::from_utf8_lossy(&text));
    }
}
