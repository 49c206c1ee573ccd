//! Writes rows in key order into a new environment: the last step of an import.
//!
//! A thread of its own appends batches as they come (`MDB_APPEND`: no search, full pages) and commits now and then
//! without waiting for the disk; [`Writer::finish`] syncs once. Knows rows as bytes.
//!
//! Before LMDB writes a stretch of the file, the stretch is written with zeros in pieces of one page: the kernel then
//! keeps it in the page cache as single pages instead of large folios, and later in-place writes of the fold cost a
//! third of the CPU (docs/decisions/003-import-sort.md). The disk is told to start writing early, so that the last sync
//! is short.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};
use heed::{PutFlags, RwTxn};

use super::error::BulkError;
use super::postings::RowSink;
use crate::StoreError;
use crate::env::{DATA_FILE, Dbs, Env, Table};
use crate::write_out;

/// Size of the batches of rows, about.
const BATCH_BYTES: usize = 512 << 10;

/// Batches on the way to the writer.
const BATCHES_MAX: usize = 8;

/// A commit each so many bytes of rows.
const COMMIT_BYTES: usize = 32 << 20;

/// Size of a page of LMDB.
const PAGE_BYTES: u64 = 4096;

/// Which table a batch of rows belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Entries,
    Values,
    Postings,
    Chunks,
}

/// Rows of one table in key order.
#[derive(Debug)]
pub(super) struct Rows {
    pub target: Target,
    bytes: Vec<u8>,
    /// End of the key and end of the data of each row in `bytes`.
    ends: Vec<(u32, u32)>,
}

impl Rows {
    pub fn new(target: Target) -> Self {
        Self { target, bytes: Vec::new(), ends: Vec::new() }
    }

    #[inline]
    pub fn push(&mut self, key: &[u8], data: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len() as u32;
        self.bytes.extend_from_slice(data);
        self.ends.push((key_end, self.bytes.len() as u32));
    }

    pub fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Empties it, for the rows so far.
    pub fn take(&mut self) -> Self {
        let size = (self.bytes.capacity(), self.ends.capacity());
        let next = Self { target: self.target, bytes: Vec::with_capacity(size.0), ends: Vec::with_capacity(size.1) };
        std::mem::replace(self, next)
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |(key_end, end)| {
            let key = self.bytes.get(start..*key_end as usize).unwrap_or_default();
            let data = self.bytes.get(*key_end as usize..*end as usize).unwrap_or_default();
            start = *end as usize;
            (key, data)
        })
    }
}

/// The writer thread.
#[derive(Debug)]
pub(super) struct Writer {
    sender: Option<Sender<Rows>>,
    thread: Option<JoinHandle<Result<(), BulkError>>>,
}

impl Writer {
    /// Starts appending to `env`, which must be new.
    pub fn start(env: Env) -> Result<Self, BulkError> {
        env.defer_sync()?;
        let (sender, receiver) = bounded(BATCHES_MAX);
        let thread =
            std::thread::Builder::new().name("import-writer".to_owned()).spawn(move || write_all(&env, &receiver));
        let thread = thread.map_err(|error| StoreError::io("start a thread", &error))?;
        Ok(Self { sender: Some(sender), thread: Some(thread) })
    }

    /// Hands rows over; waits when the writer is behind.
    pub fn send(&self, rows: Rows) -> Result<(), BulkError> {
        if rows.is_empty() {
            return Ok(());
        }
        // The writer ends early only with an error, which `finish` returns.
        self.sender.as_ref().and_then(|sender| sender.send(rows).ok()).ok_or(BulkError::WriterGone)
    }

    /// Waits until everything is committed. Nothing is synced yet.
    pub fn finish(mut self) -> Result<(), BulkError> {
        self.sender = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err(BulkError::WriterGone),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // The import was given up: the thread must end before its files are removed.
            let _ = thread.join();
        }
    }
}

fn write_all(env: &Env, receiver: &Receiver<Rows>) -> Result<(), BulkError> {
    let mut paving = Paving::new(env)?;
    let mut done = false;
    while !done {
        let mut txn = env.write()?;
        let mut bytes = 0;
        while bytes < COMMIT_BYTES {
            let Ok(rows) = receiver.recv() else {
                done = true;
                break;
            };
            bytes += rows.bytes.len();
            paving.extend(env, bytes as u64)?;
            append(env.dbs(), &mut txn, &rows)?;
        }
        txn.commit().map_err(StoreError::from)?;
        paving.start_writeback(env);
    }
    paving.cut(env)
}

fn append(dbs: &Dbs, txn: &mut RwTxn<'_>, rows: &Rows) -> Result<(), BulkError> {
    let table: Table = match rows.target {
        Target::Entries => dbs.entries,
        Target::Values => dbs.values,
        Target::Postings => dbs.postings,
        Target::Chunks => dbs.chunks,
    };
    for (key, data) in rows.iter() {
        table.put_with_flags(txn, PutFlags::APPEND, key, data).map_err(StoreError::from)?;
    }
    Ok(())
}

/// The data file, written in small pieces ahead of LMDB.
struct Paving {
    file: File,
    /// Written with zeros up to here.
    end: u64,
    /// The disk was told to write up to here.
    writeback: u64,
}

/// A page of zeros.
static ZEROS: [u8; PAGE_BYTES as usize] = [0; PAGE_BYTES as usize];

impl Paving {
    fn new(env: &Env) -> Result<Self, BulkError> {
        let open = OpenOptions::new().write(true).open(env.path().join(DATA_FILE));
        let file = open.map_err(|error| StoreError::io("database file", &error))?;
        let end = env.bytes().0;
        Ok(Self { file, end, writeback: end })
    }

    /// Fills with zeros what a transaction with `bytes` of rows can take: pages are at least half full, and each table
    /// has branch pages. Called before LMDB is given the rows, because it writes pages of a large transaction before
    /// the commit.
    fn extend(&mut self, env: &Env, bytes: u64) -> Result<(), BulkError> {
        let failed = |error| StoreError::io("database file", &error);
        // What is behind the filled part was written by LMDB.
        self.end = self.end.max(self.file.metadata().map_err(failed)?.len());
        let target = env.bytes().0 + 2 * bytes + 64 * PAGE_BYTES;
        while self.end < target {
            self.file.write_all_at(&ZEROS, self.end).map_err(failed)?;
            self.end += PAGE_BYTES;
        }
        Ok(())
    }

    /// Tells the disk to begin writing what was committed.
    fn start_writeback(&mut self, env: &Env) {
        let end = env.bytes().0;
        write_out::begin(&self.file, self.writeback..end);
        self.writeback = end;
    }

    /// Cuts off the zeros that LMDB did not use.
    fn cut(&self, env: &Env) -> Result<(), BulkError> {
        Ok(self.file.set_len(env.bytes().0).map_err(|error| StoreError::io("database file", &error))?)
    }
}

/// Sends the rows of the postings to a [`Writer`].
pub(super) struct PostingRows<'w> {
    writer: &'w Writer,
    blocks: Rows,
    containers: Rows,
}

impl<'w> PostingRows<'w> {
    pub fn new(writer: &'w Writer) -> Self {
        Self { writer, blocks: Rows::new(Target::Postings), containers: Rows::new(Target::Chunks) }
    }

    /// Sends what is left.
    pub fn finish(self) -> Result<(), BulkError> {
        self.writer.send(self.blocks)?;
        self.writer.send(self.containers)
    }
}

impl RowSink for PostingRows<'_> {
    fn block(&mut self, key: &[u8], data: &[u8]) -> Result<(), BulkError> {
        self.blocks.push(key, data);
        if self.blocks.is_full() { self.writer.send(self.blocks.take()) } else { Ok(()) }
    }

    fn container(&mut self, key: &[u8], data: &[u8]) -> Result<(), BulkError> {
        self.containers.push(key, data);
        if self.containers.is_full() { self.writer.send(self.containers.take()) } else { Ok(()) }
    }
}
