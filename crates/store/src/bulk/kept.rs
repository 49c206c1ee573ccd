//! The old entries that an import keeps: all of them when it appends, those outside the imported branches when it
//! replaces.
//!
//! They are imported like the entries of the file, as chunks of LDIF, but unchecked and unchanged. A record of the file
//! that replaces an entry takes its place in the sequence, so that entries below find their parent. All entries get new
//! ids.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};
use ldap::ldif::{LdifEntry, UrlValues, put_line};
use schema::{NormalizedDn, Schema};

use super::entry_by_name::entry_by_name;
use super::error::BulkError;
use super::export::whole_entry;
use super::input::{Chunk, Chunks, Input, LdifSource};
use super::options::ImportMode;
use super::plan::Plan;
use crate::backend::{database_path, log_path};
use crate::env::{self, DATA_FILE, Env, MetaRows, meta};
use crate::index::SchemaTypes;
use crate::log::{FileLog, FolderDisk, Log, LogOptions};
use crate::postings::PostingIter;
use crate::record::{RecordView, Values};
use crate::view::View;
use crate::{EntryId, StoreError};

/// Size of the chunks of old entries.
const CHUNK_BYTES: usize = 256 << 10;

/// Chunks of old entries that are made ahead.
const CHUNKS_MAX: usize = 4;

/// The name of the old data in messages.
const NAME: &str = "old data";

/// Which old entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Those whose entries above are old too: before the file.
    Before,
    /// Those below an entry that comes from the file: after it.
    After,
}

/// The database that the import replaces, and which of its entries stay.
pub(super) struct OldDatabase {
    env: Env,
    schema: Arc<Schema>,
    include: Vec<NormalizedDn>,
    exclude: Vec<NormalizedDn>,
    is_append: bool,
    replaced: Arc<Replaced>,
    threads: Vec<JoinHandle<Result<(), BulkError>>>,
}

/// Records of the file that stand in the place of old entries.
struct Replaced {
    file: File,
    records: HashMap<EntryId, RecordPlace>,
}

/// A record in the file of replaced ones.
struct RecordPlace {
    offset: u64,
    length: usize,
    source: Arc<str>,
    line: u64,
}

impl OldDatabase {
    /// Opens the old database if there is one and entries of it are to stay.
    pub fn open(plan: &Plan<'_>) -> Result<Option<Self>, BulkError> {
        let options = plan.options;
        let is_append = options.mode != ImportMode::Replace;
        let (include, exclude) = plan.branches();
        let path = database_path(&options.directory);
        let wanted = is_append || !include.is_empty() || !exclude.is_empty();
        if !wanted || !path.join(DATA_FILE).exists() {
            return Ok(None);
        }
        let env = Env::open_read_only(&path)?;
        ensure_folded(&env, &options.directory)?;
        Ok(Some(Self {
            env,
            schema: Arc::clone(&options.schema),
            include: include.to_vec(),
            exclude: exclude.to_vec(),
            is_append,
            replaced: Arc::new(Replaced::none()?),
            threads: Vec::new(),
        }))
    }

    /// Puts the old entries before and behind the file's.
    pub fn around(
        &mut self,
        sources: Vec<LdifSource>,
        plan: &Plan<'_>,
        temporary: &Path,
    ) -> Result<Vec<Input>, BulkError> {
        let mut all = Vec::new();
        let sources = if plan.options.mode == (ImportMode::Append { replace_existing: true }) {
            let (replaced, rest) = self.set_apart(sources, temporary)?;
            self.replaced = Arc::new(replaced);
            rest
        } else {
            sources
        };
        all.push(self.stream(Pass::Before)?);
        all.extend(sources.into_iter().map(Input::Ldif));
        if !self.is_append {
            all.push(self.stream(Pass::After)?);
        }
        Ok(all)
    }

    /// What the rules keep beside the entries, such as waiting work; it is kept with the entries.
    pub fn rules_rows(&self) -> Result<MetaRows, BulkError> {
        let txn = self.env.read()?;
        Ok(env::read_rules_rows(self.env.dbs(), &txn)?)
    }

    /// Closes the old database. This must happen before the new one takes its name.
    pub fn close(self) -> Result<(), BulkError> {
        for thread in self.threads {
            thread.join().map_err(|_| BulkError::WriterGone)??;
        }
        self.env.close();
        Ok(())
    }

    /// A thread that makes chunks of old entries.
    fn stream(&mut self, pass: Pass) -> Result<Input, BulkError> {
        let (sender, receiver): (_, Receiver<Chunk>) = bounded(CHUNKS_MAX);
        let (env, schema) = (self.env.clone(), Arc::clone(&self.schema));
        let (include, exclude, is_append) = (self.include.clone(), self.exclude.clone(), self.is_append);
        let replaced = Arc::clone(&self.replaced);
        let work = move || {
            let txn = env.read()?;
            let tables = env::read_tables(env.dbs(), &txn, SchemaTypes::shared(&schema))?;
            let view = View::of_base(&txn, env.dbs(), &tables);
            let chunk = Chunk { source: NAME.into(), first_line: 1, bytes: Vec::new(), is_kept: true };
            Walk { view, schema: &schema, include, exclude, is_append, pass, replaced: &replaced, chunk, sender }.run()
        };
        let thread = std::thread::Builder::new().name("import-old".to_owned()).spawn(work);
        self.threads.push(thread.map_err(|error| StoreError::io("start a thread", &error))?);
        Ok(Input::Ready(receiver))
    }

    /// Reads the file once: records of entries that exist already are moved to another file, the rest is given as it
    /// was, with blank lines in their place.
    fn set_apart(&self, sources: Vec<LdifSource>, temporary: &Path) -> Result<(Replaced, Vec<LdifSource>), BulkError> {
        let txn = self.env.read()?;
        let tables = env::read_tables(self.env.dbs(), &txn, SchemaTypes::shared(&self.schema))?;
        let view = View::of_base(&txn, self.env.dbs(), &tables);
        let create = || tempfile::tempfile_in(temporary).map_err(failed);
        let mut apart = BufWriter::new(create()?);
        let (mut records, mut offset) = (HashMap::new(), 0);
        let (mut record, mut dn) = (LdifEntry::default(), NormalizedDn::root());
        let mut left = Vec::new();
        for source in sources {
            let name = source.name();
            let mut rest = BufWriter::new(create()?);
            let mut chunks = Chunks::new(vec![Input::Ldif(source)]);
            while let Some(mut chunk) = chunks.next()? {
                let mut taken = Vec::new();
                for (line, text) in chunk.records() {
                    // A record that is not readable is rejected when it is prepared.
                    let named = matches!(record.parse(text, line, UrlValues::Refuse), Ok(true));
                    if !named || dn.parse_into(&self.schema, record.dn.as_bytes()).is_err() {
                        continue;
                    }
                    let Some(id) = entry_by_name(view, &dn)?.filter(|id| !records.contains_key(id)) else { continue };
                    apart.write_all(text).map_err(failed)?;
                    records.insert(
                        id,
                        RecordPlace { offset, length: text.len(), source: Arc::clone(&chunk.source), line },
                    );
                    offset += text.len() as u64;
                    let start = text.as_ptr().addr() - chunk.bytes.as_ptr().addr();
                    taken.push(start..start + text.len());
                }
                for range in taken {
                    blank(chunk.bytes.get_mut(range).unwrap_or_default());
                }
                rest.write_all(&chunk.bytes).map_err(failed)?;
            }
            let mut rest = rest.into_inner().map_err(|error| failed(error.into_error()))?;
            rest.seek(SeekFrom::Start(0)).map_err(failed)?;
            let total = rest.metadata().map_err(failed)?.len();
            let reader: Box<dyn Read + Send> = Box::new(BufReader::new(rest));
            left.push(LdifSource::from_reader(&name, reader, Some(total)).map_err(failed)?);
        }
        let file = apart.into_inner().map_err(|error| failed(error.into_error()))?;
        Ok((Replaced { file, records }, left))
    }
}

impl Replaced {
    fn none() -> Result<Self, BulkError> {
        Ok(Self { file: tempfile::tempfile().map_err(failed)?, records: HashMap::new() })
    }

    /// The record that stands in the place of an entry.
    fn chunk(&self, id: EntryId) -> Result<Option<Chunk>, BulkError> {
        let Some(place) = self.records.get(&id) else { return Ok(None) };
        let mut bytes = vec![0; place.length];
        self.file.read_exact_at(&mut bytes, place.offset).map_err(failed)?;
        Ok(Some(Chunk { source: Arc::clone(&place.source), first_line: place.line, bytes, is_kept: false }))
    }
}

fn failed(error: std::io::Error) -> BulkError {
    StoreError::io("temporary file of the import", &error).into()
}

/// Turns a record into blank lines, so that the lines after it keep their numbers.
fn blank(text: &mut [u8]) {
    let mut to = 0;
    let mut lines = text.iter().filter(|byte| **byte == b'\n').count();
    // A carriage return between line feeds is a blank line's, too.
    while to < text.len() {
        if let Some(byte) = text.get_mut(to) {
            *byte = if lines > 0 { b'\n' } else { b'\r' };
        }
        lines = lines.saturating_sub(1);
        to += 1;
    }
}

/// Refuses if the log has changes that the database does not have: they would be lost.
fn ensure_folded(env: &Env, directory: &Path) -> Result<(), BulkError> {
    let txn = env.read()?;
    let folded = env::read_u64(env.dbs(), &txn, meta::FOLDED)?.unwrap_or_default();
    let path = log_path(directory);
    let options = LogOptions {
        uuid: env::read_uuid(env.dbs(), &txn)?,
        rules: 0,
        segment_bytes: crate::log::SEGMENT_BYTES,
        keep_from: u64::MAX,
        held: env::read_log_held(env.dbs(), &txn)?,
        read_only: true,
    };
    let log = FileLog::open(Arc::new(FolderDisk::open_read_only(&path)), options, folded);
    let is_folded = match log {
        Ok(log) => log.last() <= folded,
        Err(StoreError::RulesVersion { .. }) => false,
        Err(error) => return Err(error.into()),
    };
    if is_folded { Ok(()) } else { Err(BulkError::NotFolded) }
}

/// An entry whose children are being looked at.
struct Level<'v> {
    dn: String,
    /// An entry above comes from the file.
    is_below_new: bool,
    children: PostingIter<'v>,
}

struct Walk<'v> {
    view: View<'v>,
    schema: &'v Schema,
    include: Vec<NormalizedDn>,
    exclude: Vec<NormalizedDn>,
    is_append: bool,
    pass: Pass,
    replaced: &'v Replaced,
    chunk: Chunk,
    sender: Sender<Chunk>,
}

impl<'v> Walk<'v> {
    fn run(mut self) -> Result<(), BulkError> {
        let children = self.view.children(EntryId::ROOT)?.iter();
        let mut levels = vec![Level { dn: String::new(), is_below_new: false, children }];
        while let Some(level) = levels.last_mut() {
            let Some(id) = level.children.next() else {
                levels.pop();
                continue;
            };
            let missing = || StoreError::Damaged(format!("entry {id} is in the tree, but not there"));
            let found = self.view.entry(id)?.ok_or_else(missing)?;
            let record = found.view()?;
            let mut dn = String::from_utf8_lossy(record.rdn()).into_owned();
            if !level.dn.is_empty() {
                dn.push(',');
                dn.push_str(&level.dn);
            }
            let is_kept = self.is_kept(&dn)?;
            let is_now = level.is_below_new == (self.pass == Pass::After);
            let is_below_new = level.is_below_new || !is_kept;
            // When chunks are not taken any more, the import has failed and has reported why.
            if is_kept && is_now && !self.keep(id, &dn, &record)? {
                return Ok(());
            }
            levels.push(Level { dn, is_below_new, children: self.view.children(id)?.iter() });
        }
        self.send();
        Ok(())
    }

    /// Whether the import keeps this entry.
    fn is_kept(&self, dn: &str) -> Result<bool, BulkError> {
        if self.is_append {
            return Ok(true);
        }
        let own = NormalizedDn::parse(self.schema, dn.as_bytes());
        let own = own.map_err(|error| StoreError::Damaged(format!("DN \"{dn}\": {error}")))?;
        let within = |branches: &[NormalizedDn]| branches.iter().any(|branch| branch.is_ancestor_or_equal(&own));
        Ok(within(&self.exclude) || !(self.include.is_empty() || within(&self.include)))
    }

    /// Passes an entry on; false when the import has ended.
    fn keep(&mut self, id: EntryId, dn: &str, record: &RecordView<'_>) -> Result<bool, BulkError> {
        if let Some(chunk) = self.replaced.chunk(id)? {
            return Ok(self.send() && self.sender.send(chunk).is_ok());
        }
        let text = &mut self.chunk.bytes;
        put_line(text, b"dn", dn.as_bytes(), None);
        for (name, count, body) in whole_entry(self.view, id, record)? {
            Values::new(count, &body).iter().for_each(|value| put_line(text, name.as_bytes(), value, None));
        }
        text.push(b'\n');
        Ok(text.len() < CHUNK_BYTES || self.send())
    }

    fn send(&mut self) -> bool {
        if self.chunk.bytes.is_empty() {
            return true;
        }
        let next = Chunk { source: Arc::clone(&self.chunk.source), first_line: 1, bytes: Vec::new(), is_kept: true };
        self.sender.send(std::mem::replace(&mut self.chunk, next)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blanked_record_has_as_many_lines() {
        let mut text = *b"dn: cn=a\ncn: a\n b\n";
        blank(&mut text);
        assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 3);
        let chunk =
            Chunk { source: "x".into(), first_line: 5, bytes: [&text[..], b"\ndn: cn=b\n"].concat(), is_kept: false };
        assert_eq!(chunk.records().collect::<Vec<_>>(), [(9, &b"dn: cn=b\n"[..])]);
    }
}
