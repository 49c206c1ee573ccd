//! Sorted runs on disk.
//!
//! A run holds, per slot, one *section*: groups of `shared length, suffix length, suffix, count, ids`, keys ascending
//! and front-coded, ids ascending and delta-coded from the run's first id. All runs of a sort lie in one unlinked
//! temporary file, so that it is removed however the import ends. Knows nothing of merging.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::batch::{SlotKeys, word_key};
use super::error::SortError;
use super::radix::{Scratch, sort_longs, sort_words};

/// What a cursor reads at once. With a hundred runs and two merges at a time: 25 MiB.
const READ_BYTES: usize = 128 << 10;

/// The most bytes that a varint of 64 bits takes.
const VARINT_BYTES_MAX: usize = 10;

/// The temporary file of all runs.
#[derive(Debug)]
pub(super) struct RunFile {
    file: File,
    end: AtomicU64,
}

/// Where one slot of one run lies in the file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Section {
    pub offset: u64,
    pub length: u64,
}

impl RunFile {
    pub fn create(directory: &Path) -> Result<Self, SortError> {
        let file = tempfile::tempfile_in(directory)
            .map_err(|source| SortError::Io { what: "create the temporary file of the sort", source })?;
        Ok(Self { file, end: AtomicU64::new(0) })
    }

    /// Writes a section at a place of its own; several threads may.
    pub fn write(&self, bytes: &[u8]) -> Result<Section, SortError> {
        let section =
            Section { offset: self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed), length: bytes.len() as u64 };
        self.file
            .write_all_at(bytes, section.offset)
            .map_err(|source| SortError::Io { what: "write the temporary file of the sort", source })?;
        Ok(section)
    }

    pub fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }
}

/// Sorts the keys of a slot and encodes them as a section. The keys are consumed; their memory is kept.
pub(super) fn encode_section(keys: &mut SlotKeys, scratch: &mut Scratch, out: &mut Vec<u8>) {
    out.clear();
    sort_words(&mut keys.words, &mut keys.word_ids, scratch);
    sort_longs(&mut keys.longs, &keys.arena);
    let mut encoder = Encoder { out, last_key: Vec::new() };
    let mut longs = keys.longs.as_slice();
    let mut words = keys.words.as_slice();
    let mut ids = keys.word_ids.as_slice();
    while let Some(&word) = words.first() {
        let (bytes, length) = word_key(word);
        let key = bytes.get(..length).unwrap_or_default();
        // Long keys that sort before this short one.
        while let Some(long) = longs.first().filter(|long| keys.long(long) < key) {
            let n = encoder.long_group(keys, longs, long.length);
            longs = longs.get(n..).unwrap_or_default();
        }
        let n = words.iter().take_while(|w| **w == word).count();
        encoder.group(key, ids.get(..n).unwrap_or_default().iter().copied());
        words = words.get(n..).unwrap_or_default();
        ids = ids.get(n..).unwrap_or_default();
    }
    while let Some(long) = longs.first() {
        let n = encoder.long_group(keys, longs, long.length);
        longs = longs.get(n..).unwrap_or_default();
    }
    keys.clear();
}

struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    last_key: Vec<u8>,
}

impl Encoder<'_> {
    /// Writes the first group of `longs`; returns how many keys it has.
    fn long_group(&mut self, keys: &SlotKeys, longs: &[super::batch::LongKey], length: u32) -> usize {
        let Some(first) = longs.first() else { return 0 };
        let key = keys.long(first);
        let n = longs.iter().take_while(|other| other.length == length && keys.long(other) == key).count();
        self.group(key, longs.iter().take(n).map(|long| long.id));
        n
    }

    /// Writes a group; an id that comes twice (an entry has a window twice) is written once.
    fn group(&mut self, key: &[u8], ids: impl Iterator<Item = u32> + Clone) {
        let shared = self.last_key.iter().zip(key).take_while(|(a, b)| a == b).count();
        let suffix = key.get(shared..).unwrap_or_default();
        // Invariant: keys are at most KEY_BYTES_MAX (255) long, so both lengths fit a byte.
        self.out.push(shared as u8);
        self.out.push(suffix.len() as u8);
        self.out.extend_from_slice(suffix);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(suffix);
        put_varint(self.out, distinct(ids.clone()).count() as u64);
        let mut last = 0;
        for id in distinct(ids) {
            put_varint(self.out, u64::from(id - last));
            last = id;
        }
    }
}

/// Ascending ids without repetition.
fn distinct(ids: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    let mut last = None;
    ids.filter(move |id| last.replace(*id) != Some(*id))
}

#[inline]
fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads one section from front to back.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    file: &'a RunFile,
    /// The unread rest in the file.
    rest: Section,
    buffer: Vec<u8>,
    at: usize,
    /// Key of the current group.
    pub key: Vec<u8>,
    /// Its first eight bytes, padded with zeros: decides nearly every comparison.
    pub prefix: u64,
    /// Ids of the current group not yet read.
    pub count: u64,
    first_id: u64,
    last_id: u64,
}

impl<'a> Cursor<'a> {
    pub fn new(file: &'a RunFile, section: Section, first_id: u64) -> Self {
        Self {
            file,
            rest: section,
            buffer: Vec::new(),
            at: 0,
            key: Vec::new(),
            prefix: 0,
            count: 0,
            first_id,
            last_id: 0,
        }
    }

    /// Goes to the next group; false at the end.
    pub fn advance(&mut self) -> Result<bool, SortError> {
        while self.count > 0 {
            self.next_id()?;
        }
        self.fill(2)?;
        let (Some(&shared), Some(&suffix)) = (self.buffer.get(self.at), self.buffer.get(self.at + 1)) else {
            return Ok(false);
        };
        self.at += 2;
        let suffix = usize::from(suffix);
        self.fill(suffix)?;
        let bytes = self.buffer.get(self.at..self.at + suffix).ok_or(SortError::RunDamaged)?;
        self.key.truncate(usize::from(shared));
        self.key.extend_from_slice(bytes);
        self.at += suffix;
        self.prefix = prefix(&self.key);
        self.count = self.varint()?;
        self.last_id = self.first_id;
        Ok(true)
    }

    /// The next id of the group. Call at most `count` times.
    #[inline]
    pub fn next_id(&mut self) -> Result<u64, SortError> {
        self.last_id += self.varint()?;
        self.count = self.count.saturating_sub(1);
        Ok(self.last_id)
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, SortError> {
        if self.buffer.len() - self.at < VARINT_BYTES_MAX {
            self.fill(VARINT_BYTES_MAX)?;
        }
        let mut value = 0u64;
        let bytes = self.buffer.get(self.at..).unwrap_or_default();
        for (i, byte) in bytes.iter().take(VARINT_BYTES_MAX).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if *byte < 0x80 {
                self.at += i + 1;
                return Ok(value);
            }
        }
        Err(SortError::RunDamaged)
    }

    /// Makes `wanted` bytes available, or as many as are left.
    fn fill(&mut self, wanted: usize) -> Result<(), SortError> {
        let have = self.buffer.len() - self.at;
        if have >= wanted || self.rest.length == 0 {
            return Ok(());
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let more = READ_BYTES.min(usize::try_from(self.rest.length).unwrap_or(READ_BYTES));
        self.buffer.resize(have + more, 0);
        let target = self.buffer.get_mut(have..).unwrap_or_default();
        self.file
            .file
            .read_exact_at(target, self.rest.offset)
            .map_err(|source| SortError::Io { what: "read the temporary file of the sort", source })?;
        self.rest.offset += more as u64;
        self.rest.length -= more as u64;
        Ok(())
    }
}

fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0u8; 8];
    for (to, from) in bytes.iter_mut().zip(key) {
        *to = *from;
    }
    u64::from_be_bytes(bytes)
}
