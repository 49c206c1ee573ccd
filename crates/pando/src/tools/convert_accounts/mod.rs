//! `convert-accounts`: an LDIF file of another server, with its password policies and the state of its accounts in
//! Pando's words, and a report of what became of each attribute.
//!
//! Reads the file twice: what policies say is needed before the accounts that they are for.
//!
//! | file | what |
//! |---|---|
//! | `entry` | an entry while it is converted |
//! | `times` | times of other servers |
//! | `slapd`, `netscape`, `opendj` | what each server writes |
//! | `settings` | what 389 Directory Server says of passwords |
//! | `report` | what became of it |

mod entry;
mod netscape;
mod opendj;
mod report;
mod settings;
mod slapd;
mod times;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ldap::ldif::{LdifEntry, Reader, Writer};

use self::entry::Entry;
use self::netscape::Policies;
use self::report::{Fate, Report};
use self::slapd::DefaultPolicy;
use crate::failure::{Context, Failure, Outcome};
use crate::output::errln;

/// Exit status when something has no counterpart.
const LEFT_OUT_STATUS: u8 = 3;

/// Policies in one file, at most: they are kept in memory.
const POLICIES_MAX: usize = 100_000;

#[derive(Debug, Args)]
pub struct Options {
    /// The server that wrote the file
    #[arg(long, value_name = "SERVER")]
    from: Origin,
    /// The data: what slapcat, db2ldif or export-ldif wrote
    #[arg(short = 'l', long = "ldifFile", value_name = "FILE")]
    ldif_file: PathBuf,
    /// The configuration as LDIF: of slapcat -n 0, dse.ldif, or OpenDJ's config.ldif
    #[arg(short = 'c', long = "configuration", value_name = "FILE")]
    configuration: Option<PathBuf>,
    /// File to write, for import-ldif; must not exist
    #[arg(short = 'o', long = "outputLDIF", value_name = "FILE")]
    output: PathBuf,
}

/// A server whose files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Origin {
    /// OpenLDAP
    Slapd,
    /// 389 Directory Server
    #[value(name = "389")]
    Netscape,
    /// OpenDJ
    Opendj,
}

/// What is known before entries are converted.
struct Known {
    netscape: Policies,
    defaults: Vec<DefaultPolicy>,
    /// slapd's policies.
    policies: Vec<Entry>,
}

pub fn run(options: &Options) -> Outcome {
    let mut report = Report::default();
    let known = known(options, &mut report)?;
    let output = File::create_new(&options.output).context(options.output.display())?;
    let done = convert(options, &known, BufWriter::new(output), &mut report);
    let entries = match done {
        Ok(entries) => entries,
        Err(failure) => {
            // A part of the data is not to be taken for all of it.
            let _ = std::fs::remove_file(&options.output);
            return Err(failure);
        }
    };
    report.print();
    let entries = if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") };
    errln!("{entries} written to {}", options.output.display());
    Ok(if report.has_left_out() { ExitCode::from(LEFT_OUT_STATUS) } else { ExitCode::SUCCESS })
}

fn known(options: &Options, report: &mut Report) -> Result<Known, Failure> {
    let configuration = match &options.configuration {
        Some(file) => read(file, |_| true)?,
        None => Vec::new(),
    };
    let mut known = Known { netscape: Policies::default(), defaults: Vec::new(), policies: Vec::new() };
    match options.from {
        Origin::Slapd => {
            known.defaults = slapd::read_configuration(&configuration, report);
            known.policies = read(&options.ldif_file, |entry| entry.has_class("pwdPolicy"))?;
        }
        Origin::Netscape => {
            let data = read(&options.ldif_file, netscape::is_about_policies)?;
            known.netscape = Policies::read(&data, &configuration, report);
        }
        Origin::Opendj => opendj::read_configuration(&configuration, report),
    }
    Ok(known)
}

/// The entries of a file that are wanted.
fn read(file: &Path, is_wanted: impl Fn(&Entry) -> bool) -> Result<Vec<Entry>, Failure> {
    let mut found = Vec::new();
    each(file, |entry| {
        if is_wanted(&entry) {
            if found.len() >= POLICIES_MAX {
                return Err(Failure::new(format_args!("{}: more than {POLICIES_MAX} policies", file.display())));
            }
            found.push(entry);
        }
        Ok(())
    })?;
    Ok(found)
}

fn each(file: &Path, mut take: impl FnMut(Entry) -> Result<(), Failure>) -> Result<u64, Failure> {
    let mut reader = Reader::new(BufReader::new(File::open(file).context(file.display())?));
    let (mut entry, mut entries) = (LdifEntry::default(), 0);
    while reader.next_into(&mut entry).context(file.display())? {
        take(Entry::of(&entry))?;
        entries += 1;
    }
    Ok(entries)
}

fn convert(options: &Options, known: &Known, output: impl Write, report: &mut Report) -> Result<u64, Failure> {
    let mut writer = Writer::new(output);
    let mut put = |entry: &Entry| {
        writer.begin(&entry.dn);
        entry.attributes.iter().for_each(|(name, value)| writer.line(name.as_bytes(), value));
        writer.end().context(options.output.display())
    };
    let mut entries = each(&options.ldif_file, |mut entry| {
        match options.from {
            Origin::Slapd => slapd::convert(&mut entry, report),
            Origin::Netscape => netscape::convert(&mut entry, &known.netscape, report),
            Origin::Opendj => opendj::convert(&mut entry, report),
        }
        put(&entry)
    })?;
    for default in &known.defaults {
        match slapd::subentry(default, &known.policies) {
            Some(mut entry) => {
                slapd::convert(&mut entry, &mut Report::default());
                put(&entry)?;
                entries += 1;
            }
            None => {
                let what = format!("the file has no policy \"{}\"", default.policy);
                report.note(Fate::LeftOut, "olcPPolicyDefault", &what, 0);
            }
        }
    }
    let output = writer.finish().context(options.output.display())?;
    drop(output);
    Ok(entries)
}
