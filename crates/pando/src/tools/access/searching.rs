//! Searches of the directory that is asked, by the code of the server: what they find, and what they show.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::Instant;

use directory::{Directory, EncodeError, EntryWriter, RequestTime, Session, ShownEntry, Worker};
use ldap::client::Search;
use ldap::{Controls, LdapResult, MadeSearch, Operation, Scope};

use crate::failure::{Context, Failure};

/// What a search asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub base: String,
    pub scope: Scope,
    pub filter: String,
    pub attributes: Vec<String>,
}

impl Asked {
    /// The request, of names alone.
    pub fn request(&self) -> Result<MadeSearch, Failure> {
        self.made(false)
    }

    fn made(&self, values: bool) -> Result<MadeSearch, Failure> {
        let filter = ldap::filter::parse(&self.filter).context(format_args!("\"{}\" is not a filter", self.filter))?;
        let attributes: Vec<&str> = self.attributes.iter().map(String::as_str).collect();
        let search = Search::new(&self.base, self.scope, &filter, &attributes);
        Ok(MadeSearch::new(&Search { types_only: !values, ..search }))
    }
}

/// What it gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub result: LdapResult,
    /// By name, the attributes that are shown.
    pub entries: BTreeMap<String, BTreeSet<String>>,
    /// Whether it was ended because there are more entries than are wanted.
    pub is_cut: bool,
}

/// Runs a search as the session would, until it has found `most` entries.
pub fn search(
    directory: &Directory,
    session: &Session,
    asked: &Asked,
    unix_seconds: i64,
    most: usize,
) -> Result<Found, Failure> {
    let mut gathered = Gathered { most, ..Gathered::default() };
    let result = run(directory, session, asked, Wanted { unix_seconds, values: false }, &mut gathered)?;
    Ok(Found { result, entries: gathered.entries, is_cut: gathered.is_cut })
}

/// The values that it shows, of all attributes and entries.
pub fn values(directory: &Directory, session: &Session, asked: &Asked, most: usize) -> Result<Vec<Vec<u8>>, Failure> {
    let mut gathered = Gathered { most, values: Some(Vec::new()), ..Gathered::default() };
    run(directory, session, asked, Wanted { unix_seconds: 0, values: true }, &mut gathered)?;
    Ok(gathered.values.unwrap_or_default())
}

/// How many entries it finds.
pub fn count(directory: &Directory, session: &Session, asked: &Asked, unix_seconds: i64) -> Result<usize, Failure> {
    let mut counted = Counted::default();
    run(directory, session, asked, Wanted { unix_seconds, values: false }, &mut counted)?;
    Ok(counted.entries)
}

/// When a search takes place, and whether it gives values.
struct Wanted {
    unix_seconds: i64,
    values: bool,
}

fn run(
    directory: &Directory,
    session: &Session,
    asked: &Asked,
    wanted: Wanted,
    writer: &mut impl EntryWriter,
) -> Result<LdapResult, Failure> {
    let made = asked.made(wanted.values)?;
    let operation = made.operation().context("the search")?;
    let Operation::Search(request) = &operation else { return Err(Failure::new("the search is none")) };
    let time = RequestTime { started: Instant::now(), unix_seconds: wanted.unix_seconds };
    let mut worker = Worker::default();
    Ok(match directory.plan_search(&mut worker, session, request, &Controls::none(), time) {
        Ok(mut plan) => plan.run(&mut worker, writer).result,
        Err(done) => done.result,
    })
}

/// Counts entries.
#[derive(Default)]
struct Counted {
    entries: usize,
}

impl EntryWriter for Counted {
    fn entry(&mut self, _entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        self.entries += 1;
        Ok(ControlFlow::Continue(()))
    }

    fn reference(&mut self, _urls: &[String]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// Takes names and the names of attributes, and values where they are wanted.
#[derive(Default)]
struct Gathered {
    entries: BTreeMap<String, BTreeSet<String>>,
    values: Option<Vec<Vec<u8>>>,
    most: usize,
    is_cut: bool,
}

impl EntryWriter for Gathered {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        if self.entries.len() >= self.most {
            self.is_cut = true;
            return Ok(ControlFlow::Break(()));
        }
        let mut dn = Vec::new();
        entry.dn().put(&mut dn);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if let Some(values) = &mut self.values {
            for attribute in entry.attributes() {
                attribute.each_value(&mut |value| {
                    values.push(value.to_vec());
                    ControlFlow::Continue(())
                })?;
            }
        }
        let attributes = entry.attributes().map(|attribute| text(attribute.description())).collect();
        self.entries.insert(text(&dn), attributes);
        Ok(ControlFlow::Continue(()))
    }

    fn reference(&mut self, _urls: &[String]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn cancelled(&self) -> bool {
        false
    }
}
