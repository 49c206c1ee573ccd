//! Makes and sorts all index keys of all entries of a database; `verify` compares them with the indexes, `rebuild`
//! writes them.
//!
//! One thread reads entries in the order of their ids, workers make the keys, turns keep the order. Knows nothing of
//! what is in the indexes now.

use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use crossbeam_channel::{Receiver, Sender, bounded};
use schema::TypeIndex;

use super::error::BulkError;
use super::finish::{BatchSink, Slots};
use super::options::Cancel;
use super::sort::{KeyBatch, Sorted, Sorter};
use super::turns::Turns;
use crate::extract::KeyExtractor;
use crate::index::Indexer;
use crate::record::{Content, LargeStub, RecordView, put_value};
use crate::tables::Tables;
use crate::view::View;
use crate::{DescId, EntryId, StoreError};

/// A batch ends when its records and large values have this many bytes.
const BATCH_BYTES: usize = 512 << 10;

/// Batches on their way to the workers.
const BATCHES_MAX: usize = 4;

/// The resources of the work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings<'a> {
    pub threads: usize,
    pub memory_bytes: usize,
    pub temporary: &'a Path,
    pub cancel: &'a Cancel,
}

/// Default memory of the sort.
const SORT_BYTES: usize = 256 << 20;

impl<'a> Settings<'a> {
    /// 0 threads mean one for each core, 0 bytes the default.
    pub fn new(threads: usize, memory_bytes: usize, temporary: &'a Path, cancel: &'a Cancel) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads: if threads == 0 { cores() } else { threads },
            memory_bytes: if memory_bytes == 0 { SORT_BYTES } else { memory_bytes },
            temporary,
            cancel,
        }
    }
}

/// Is called for what is read; in the order of ids, on the calling thread.
pub(super) trait Watcher {
    /// An entry whose record can be read.
    fn entry(&mut self, id: EntryId, record: &RecordView<'_>);
    /// A large attribute: what its stub says and what is there.
    fn large(&mut self, id: EntryId, desc: DescId, stub: LargeStub, found: LargeStub);
    /// An entry that cannot be read. An error ends the work.
    fn damaged(&mut self, id: EntryId, error: StoreError) -> Result<(), BulkError>;
}

/// Records and large values of consecutive entries.
#[derive(Debug, Default)]
struct Records {
    turn: u64,
    first_id: u64,
    rows: u32,
    bytes: Vec<u8>,
    records: Vec<(u32, Range<usize>)>,
    large: Vec<(u32, DescId, Range<usize>)>,
}

/// Makes and sorts the keys of all entries of `view` in the indexes of `slots`.
pub(super) fn rekey(
    view: View<'_>,
    indexer: &Indexer,
    slots: &Slots,
    settings: &Settings<'_>,
    watcher: &mut dyn Watcher,
) -> Result<Sorted, BulkError> {
    let sorter = Mutex::new(Sorter::new(settings.temporary, slots.len(), settings.memory_bytes, settings.threads)?);
    let turns = Turns::default();
    let failure = Mutex::new(None);
    let read = std::thread::scope(|scope| {
        let (sender, receiver) = bounded(BATCHES_MAX);
        for _ in 0..settings.threads.max(1) {
            let (receiver, sorter, turns, failure) = (receiver.clone(), &sorter, &turns, &failure);
            let tables = view.tables();
            scope.spawn(move || {
                if let Err(error) = work(&receiver, tables, indexer, slots, sorter, turns) {
                    if let Ok(mut failure) = failure.lock() {
                        failure.get_or_insert(error);
                    }
                    turns.stop();
                }
            });
        }
        drop(receiver);
        let read = read(view, settings.cancel, watcher, &sender);
        if read.is_err() {
            turns.stop();
        }
        read
    });
    if let Some(error) = failure.into_inner().map_err(|_| BulkError::WriterGone)? {
        return Err(error);
    }
    read?;
    Ok(sorter.into_inner().map_err(|_| BulkError::WriterGone)?.finish()?)
}

/// Reads all entries into batches.
fn read(view: View<'_>, cancel: &Cancel, watcher: &mut dyn Watcher, sender: &Sender<Records>) -> Result<(), BulkError> {
    let mut batch = Records::default();
    let mut next = EntryId(1);
    // After damage the scan goes on behind the entry at fault.
    loop {
        let mut scan = view.entries(next)?;
        let end = loop {
            match scan.next() {
                None => break None,
                Some(Err(error)) => break Some(error),
                Some(Ok((id, record))) => {
                    next = EntryId(id.0 + 1);
                    match record.view() {
                        Err(error) => watcher.damaged(id, error)?,
                        Ok(parsed) => {
                            watcher.entry(id, &parsed);
                            batch.add(id, record.bytes());
                            add_large(view, id, &parsed, &mut batch, watcher)?;
                        }
                    }
                    if batch.bytes.len() >= BATCH_BYTES || batch.rows >= u32::MAX / 2 {
                        send(&mut batch, cancel, sender)?;
                    }
                }
            }
        };
        let Some(error) = end else { break };
        watcher.damaged(next, error)?;
        next = EntryId(next.0 + 1);
    }
    send(&mut batch, cancel, sender)
}

fn send(batch: &mut Records, cancel: &Cancel, sender: &Sender<Records>) -> Result<(), BulkError> {
    if cancel.is_cancelled() {
        return Err(BulkError::Cancelled);
    }
    if batch.records.is_empty() {
        return Ok(());
    }
    let next = Records { turn: batch.turn + 1, ..Records::default() };
    sender.send(std::mem::replace(batch, next)).map_err(|_| BulkError::WriterGone)
}

impl Records {
    fn add(&mut self, id: EntryId, record: &[u8]) {
        if self.records.is_empty() {
            self.first_id = id.0;
        }
        let row = (id.0 - self.first_id) as u32;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        self.records.push((row, start..self.bytes.len()));
        self.rows = row + 1;
    }
}

fn add_large(
    view: View<'_>,
    id: EntryId,
    record: &RecordView<'_>,
    batch: &mut Records,
    watcher: &mut dyn Watcher,
) -> Result<(), BulkError> {
    for attribute in record.attributes() {
        let Content::Large(stub) = attribute.content else { continue };
        let mut found = LargeStub::default();
        let start = batch.bytes.len();
        for row in view.large_values(id, attribute.desc)? {
            match row {
                Ok((_, value)) => {
                    put_value(&mut batch.bytes, &value);
                    found.count += 1;
                    found.bytes += value.len() as u64;
                }
                Err(error) => watcher.damaged(id, error)?,
            }
        }
        let row = (id.0 - batch.first_id) as u32;
        batch.large.push((row, attribute.desc, start..batch.bytes.len()));
        watcher.large(id, attribute.desc, stub, found);
    }
    Ok(())
}

fn work(
    receiver: &Receiver<Records>,
    tables: &Tables,
    indexer: &Indexer,
    slots: &Slots,
    sorter: &Mutex<Sorter>,
    turns: &Turns,
) -> Result<(), BulkError> {
    let mut keys = KeyBatch::new(slots.len());
    let (mut room, mut name) = (Vec::new(), Vec::new());
    while let Ok(batch) = receiver.recv() {
        keys.clear();
        let mut sink = BatchSink::new(&mut keys, slots);
        for (row, place) in &batch.records {
            let Ok(record) = RecordView::parse(batch.bytes.get(place.clone()).unwrap_or_default(), tables) else {
                continue;
            };
            sink.set_row(*row);
            name.clear();
            // A name without a normal form has no key; the observer reports it.
            indexer.normalize_rdn(record.rdn(), record.parent() == EntryId::ROOT, &mut name);
            sink.tree(record.parent(), &name);
            indexer.keys(&record, &mut sink);
        }
        for (row, desc, place) in &batch.large {
            let Some(of_type) = tables.type_of(*desc).map(TypeIndex) else { continue };
            sink.set_row(*row);
            let body = batch.bytes.get(place.clone()).unwrap_or_default();
            indexer.attribute_keys(of_type, body, &mut room, &mut sink);
        }
        sink.finish()?;
        if !turns.wait(batch.turn) {
            return Ok(());
        }
        let mut sorter = sorter.lock().map_err(|_| BulkError::WriterGone)?;
        sorter.append(&keys, batch.first_id, batch.rows)?;
        drop(sorter);
        turns.pass();
    }
    Ok(())
}
