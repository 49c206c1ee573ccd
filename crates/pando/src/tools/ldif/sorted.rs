//! The entries of an LDIF file in the order of their names, parents before children, sorted in bounded memory.
//!
//! Records are kept as text under the normal form of their name. What exceeds the memory goes to temporary files
//! without names, so that nothing is left behind.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use grenad::{ChunkCreator, MergeFunction, MergerIter, Reader, ReaderCursor, Sorter, Writer};
use ldap::ldif::{LdifEntry, UrlValues};
use schema::{NormalizedDn, Schema};

use super::source::{Source, wrong};
use crate::failure::{Context, Failure};

/// Memory in which records are sorted before they go to a temporary file.
const SORTED_BYTES: usize = 256 << 20;
/// Temporary files at a time; more are merged into one.
const FILES_MAX: usize = 200;
/// In front of the text of a record: the number of its first line, or [`TWICE`].
const LINE_BYTES: usize = 8;
/// Instead of a line number: the name is there twice, and two line numbers follow.
const TWICE: u64 = u64::MAX;

/// Temporary files in one folder.
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// In that folder, or where the system has its temporary files.
    pub fn in_folder(folder: Option<&Path>) -> Scratch {
        Scratch { folder: folder.map_or_else(std::env::temp_dir, Path::to_owned) }
    }

    /// A new temporary file.
    pub fn file(&self) -> Result<File, Failure> {
        tempfile::tempfile_in(&self.folder).map_err(|error| self.failed(error))
    }

    /// Reading or writing a temporary file failed.
    pub fn failed(&self, error: impl std::fmt::Display) -> Failure {
        Failure::new(format_args!(
            "temporary files in {}: {error}; --tmpdirectory names another folder",
            self.folder.display()
        ))
    }
}

impl ChunkCreator for Scratch {
    type Chunk = File;
    type Error = io::Error;

    fn create(&self) -> Result<File, io::Error> {
        tempfile::tempfile_in(&self.folder)
    }
}

/// A record, as text.
#[derive(Clone, Copy)]
pub struct Stored<'s> {
    /// Normal form of its name.
    pub name: &'s [u8],
    /// Number of its first line.
    pub line: u64,
    /// Its text.
    pub text: &'s [u8],
}

impl<'s> Stored<'s> {
    /// Refuses a name that is there twice.
    fn decode(source: &str, name: &'s [u8], stored: &'s [u8]) -> Result<Stored<'s>, Failure> {
        let (line, text) = decode_line(stored);
        if line != TWICE {
            return Ok(Stored { name, line, text });
        }
        let (first, rest) = decode_line(text);
        let (second, text) = decode_line(rest);
        let mut entry = LdifEntry::default();
        let parsed = entry.parse(text, second, UrlValues::Refuse);
        let dn = if parsed.is_ok() { entry.dn.as_str() } else { "?" };
        Err(wrong(format_args!("{source}: line {second}: the entry {dn} is there twice, first at line {first}")))
    }

    /// Reads the text into `entry`.
    pub fn parse_into(&self, source: &str, entry: &mut LdifEntry) -> Result<(), Failure> {
        let parsed = entry.parse(self.text, self.line, UrlValues::Refuse);
        parsed.map(drop).map_err(|error| wrong(format_args!("{source}: {error}")))
    }
}

fn decode_line(stored: &[u8]) -> (u64, &[u8]) {
    stored.split_first_chunk::<LINE_BYTES>().map_or((0, stored), |(line, text)| (u64::from_be_bytes(*line), text))
}

/// Two records of one name become a mark that says so.
struct Twice;

impl MergeFunction for Twice {
    type Error = Infallible;

    fn merge<'a>(&self, _name: &[u8], values: &[Cow<'a, [u8]>]) -> Result<Cow<'a, [u8]>, Infallible> {
        // Asked about every name, whether there is something to merge or not.
        if let [only] = values {
            return Ok(only.clone());
        }
        if let Some(marked) = values.iter().find(|value| decode_line(value).0 == TWICE) {
            return Ok(marked.clone());
        }
        let mut lines: Vec<(u64, &[u8])> = values.iter().map(|value| decode_line(value)).collect();
        lines.sort_unstable();
        let mut mark = TWICE.to_be_bytes().to_vec();
        let first = lines.first().map_or(0, |(line, _)| *line);
        let (second, text) = lines.get(1).copied().unwrap_or_default();
        mark.extend(first.to_be_bytes());
        mark.extend(second.to_be_bytes());
        mark.extend(text);
        Ok(Cow::Owned(mark))
    }
}

type EntrySorter<'s> = Sorter<Twice, &'s Scratch>;

impl ChunkCreator for &Scratch {
    type Chunk = File;
    type Error = io::Error;

    fn create(&self) -> Result<File, io::Error> {
        ChunkCreator::create(*self)
    }
}

/// Reads a whole source.
fn gather<'s>(
    source: &mut Source,
    schema: &Schema,
    scratch: &'s Scratch,
    is_wanted: impl Fn(&NormalizedDn) -> bool,
) -> Result<EntrySorter<'s>, Failure> {
    let mut builder = Sorter::builder(Twice).chunk_creator(scratch);
    builder.dump_threshold(SORTED_BYTES).max_nb_chunks(FILES_MAX);
    let mut sorter = builder.build();
    let (mut entry, mut name, mut stored) = (LdifEntry::default(), NormalizedDn::root(), Vec::new());
    loop {
        match source.reader.next_into(&mut entry) {
            Ok(true) => {}
            Ok(false) => return Ok(sorter),
            Err(error) => return Err(source.failed(&error)),
        }
        let parsed = name.parse_into(schema, entry.dn.as_bytes());
        parsed.map_err(|error| wrong(format_args!("{}: line {}: {error}", source.name, entry.line)))?;
        if !is_wanted(&name) {
            continue;
        }
        stored.clear();
        stored.extend(source.reader.raw_line().to_be_bytes());
        stored.extend(source.reader.raw_record());
        sorter.insert(name.as_bytes(), &stored).map_err(|error| scratch.failed(error))?;
    }
}

/// Entries one after the other.
pub struct InOrder<'s> {
    source: String,
    scratch: &'s Scratch,
    entries: MergerIter<File, Twice>,
}

impl<'s> InOrder<'s> {
    /// Reads the wanted entries of a source and sorts them.
    pub fn read(
        mut source: Source,
        schema: &Schema,
        scratch: &'s Scratch,
        is_wanted: impl Fn(&NormalizedDn) -> bool,
    ) -> Result<InOrder<'s>, Failure> {
        let sorter = gather(&mut source, schema, scratch, is_wanted)?;
        let entries = sorter.into_stream_merger_iter().map_err(|error| scratch.failed(error))?;
        Ok(InOrder { source: source.name, scratch, entries })
    }

    /// For messages.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The next entry; `false` at the end. Its name and text go to `name` and `record`.
    pub fn next_into(&mut self, name: &mut Vec<u8>, record: &mut Record) -> Result<bool, Failure> {
        let Some((found, stored)) = self.entries.next().map_err(|error| self.scratch.failed(error))? else {
            return Ok(false);
        };
        let stored = Stored::decode(&self.source, found, stored)?;
        name.clear();
        name.extend_from_slice(stored.name);
        record.line = stored.line;
        record.text.clear();
        record.text.extend_from_slice(stored.text);
        Ok(true)
    }
}

/// The text of a record.
#[derive(Default)]
pub struct Record {
    /// Number of its first line.
    pub line: u64,
    /// The text.
    pub text: Vec<u8>,
}

/// Entries that are found by name.
pub struct ByName {
    source: String,
    cursor: ReaderCursor<File>,
}

impl ByName {
    /// Reads a source and sorts it.
    pub fn read(mut source: Source, schema: &Schema, scratch: &Scratch) -> Result<ByName, Failure> {
        let sorter = gather(&mut source, schema, scratch, |_| true)?;
        let mut writer = Writer::new(scratch.file()?);
        sorter.write_into_stream_writer(&mut writer).map_err(|error| scratch.failed(error))?;
        let file = writer.into_inner().map_err(|error| scratch.failed(error))?;
        let cursor = Reader::new(file).and_then(Reader::into_cursor).map_err(|error| scratch.failed(error))?;
        let mut all = ByName { source: source.name, cursor };
        all.check()?;
        Ok(all)
    }

    /// Refuses names that are there twice, before anything is done.
    fn check(&mut self) -> Result<(), Failure> {
        let mut found = self.first()?.map(|stored| stored.name.to_vec());
        while let Some(name) = found {
            found = self.after(&name)?.map(|stored| stored.name.to_vec());
        }
        Ok(())
    }

    /// For messages.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The entry of that name.
    pub fn get(&mut self, name: &NormalizedDn) -> Result<Option<Stored<'_>>, Failure> {
        let found = self.cursor.move_on_key_equal_to(name.as_bytes()).context("temporary file")?;
        found.map(|(name, stored)| Stored::decode(&self.source, name, stored)).transpose()
    }

    /// The first entry.
    pub fn first(&mut self) -> Result<Option<Stored<'_>>, Failure> {
        let found = self.cursor.move_on_first().context("temporary file")?;
        found.map(|(name, stored)| Stored::decode(&self.source, name, stored)).transpose()
    }

    /// The first entry behind a name, which need not be there.
    pub fn after(&mut self, name: &[u8]) -> Result<Option<Stored<'_>>, Failure> {
        let is_there = self.cursor.current().is_some_and(|(current, _)| current == name) || {
            let found = self.cursor.move_on_key_greater_than_or_equal_to(name).context("temporary file")?;
            found.is_some_and(|(found, _)| found == name)
        };
        if is_there {
            self.cursor.move_on_next().context("temporary file")?;
        }
        self.cursor.current().map(|(name, stored)| Stored::decode(&self.source, name, stored)).transpose()
    }
}
