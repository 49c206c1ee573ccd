//! The input of an import: files, compressed or not, and standard input, cut into chunks of whole records.
//!
//! A chunk ends at a blank line, so that workers parse chunks independently; it knows the number of its first line, so
//! that errors name lines of the file. Does not look into records.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::Receiver;
use flate2::read::MultiGzDecoder;
use memchr::{memchr_iter, memmem};

use super::error::BulkError;

/// Size of a chunk: some 400 ordinary entries, small enough for the caches of a processor, large enough to make the
/// cost of turns small.
const CHUNK_BYTES: usize = 256 << 10;

/// Largest single record. A group of ten million members is about 500 MB of LDIF.
const RECORD_BYTES_MAX: usize = 1 << 30;

/// The byte order mark that some editors put in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// First two bytes of a gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// One LDIF file or stream.
pub struct LdifSource {
    name: Arc<str>,
    reader: Box<dyn Read + Send>,
    bytes_total: Option<u64>,
    bytes_read: Arc<AtomicU64>,
}

/// Counts what passes; below the decompressor, so that progress is in bytes of the file.
struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl LdifSource {
    /// Its name, for messages.
    pub(super) fn name(&self) -> String {
        self.name.to_string()
    }

    /// Opens a file; gzip is recognised by its first bytes, whatever the name says.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path) -> Result<Self, BulkError> {
        let failed = |source| BulkError::Source { name: path.display().to_string(), source };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let total = metadata.is_file().then_some(metadata.len());
        Self::from_reader(&path.display().to_string(), Box::new(file), total).map_err(failed)
    }

    /// Reads from a stream, e.g. standard input. `name` is for messages, `bytes_total` for progress.
    ///
    /// # Errors
    /// When the first bytes cannot be read.
    pub fn from_reader(name: &str, reader: Box<dyn Read + Send>, bytes_total: Option<u64>) -> std::io::Result<Self> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let mut counted = Counted { inner: reader, bytes: Arc::clone(&bytes_read) };
        let mut head = Vec::new();
        counted.by_ref().take(2).read_to_end(&mut head)?;
        let compressed = head == GZIP_MAGIC;
        let whole = std::io::Cursor::new(head).chain(counted);
        let reader: Box<dyn Read + Send> = if compressed {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(CHUNK_BYTES, whole)))
        } else {
            Box::new(whole)
        };
        Ok(Self { name: name.into(), reader, bytes_total, bytes_read })
    }
}

impl std::fmt::Debug for LdifSource {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("LdifSource").field("name", &self.name).field("bytes_total", &self.bytes_total).finish()
    }
}

/// Where chunks come from.
#[derive(Debug)]
pub(super) enum Input {
    /// LDIF, to be cut.
    Ldif(LdifSource),
    /// Chunks made by another thread.
    Ready(Receiver<Chunk>),
}

/// Whole records of one input.
#[derive(Debug)]
pub(super) struct Chunk {
    pub source: Arc<str>,
    /// Number of the first line in the source, from 1.
    pub first_line: u64,
    pub bytes: Vec<u8>,
    /// Old entries, to be taken over as they are.
    pub is_kept: bool,
}

/// Cuts inputs into chunks.
#[derive(Debug)]
pub(super) struct Chunks {
    /// The inputs still to be read, the current one last.
    inputs: Vec<Input>,
    /// What was read behind the last border.
    rest: Vec<u8>,
    next_line: u64,
    bytes_total: Option<u64>,
    counters: Vec<Arc<AtomicU64>>,
}

impl Chunks {
    pub fn new(mut inputs: Vec<Input>) -> Self {
        inputs.reverse();
        let ldif = |input: &Input| match input {
            Input::Ldif(source) => Some((source.bytes_total, Arc::clone(&source.bytes_read))),
            Input::Ready(_) => None,
        };
        let (totals, counters): (Vec<_>, Vec<_>) = inputs.iter().filter_map(ldif).unzip();
        let bytes_total = totals.into_iter().sum();
        Self { inputs, rest: Vec::new(), next_line: 1, bytes_total, counters }
    }

    /// Bytes read so far, and in all if known.
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.counters.iter().map(|counter| counter.load(Ordering::Relaxed)).sum(), self.bytes_total)
    }

    /// The next chunk, or `None` at the end of all inputs.
    pub fn next(&mut self) -> Result<Option<Chunk>, BulkError> {
        while let Some(input) = self.inputs.last_mut() {
            let source = match input {
                Input::Ldif(source) => source,
                Input::Ready(chunks) => {
                    if let Ok(chunk) = chunks.recv() {
                        return Ok(Some(chunk));
                    }
                    self.inputs.pop();
                    continue;
                }
            };
            let mut bytes = std::mem::take(&mut self.rest);
            let mut end = None;
            while end.is_none() {
                let before = bytes.len();
                let wanted = CHUNK_BYTES.max(before / 2) as u64;
                let failed = |error| BulkError::Source { name: source.name.to_string(), source: error };
                let n = source.reader.by_ref().take(wanted).read_to_end(&mut bytes).map_err(failed)?;
                end = if n == 0 { Some(bytes.len()) } else { last_border(&bytes, before) };
                if end.is_none() && bytes.len() > RECORD_BYTES_MAX {
                    return Err(BulkError::RecordTooLarge { name: source.name.to_string(), line: self.next_line });
                }
            }
            if self.next_line == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
                end = end.map(|end| end.saturating_sub(BYTE_ORDER_MARK.len()));
            }
            let end = end.unwrap_or(bytes.len());
            self.rest = bytes.split_off(end);
            if bytes.is_empty() {
                self.inputs.pop();
                self.next_line = 1;
                continue;
            }
            let chunk = Chunk { source: Arc::clone(&source.name), first_line: self.next_line, bytes, is_kept: false };
            self.next_line += memchr_iter(b'\n', &chunk.bytes).count() as u64;
            return Ok(Some(chunk));
        }
        Ok(None)
    }
}

/// Just behind the last blank line; looks from three bytes before `from` on.
fn last_border(bytes: &[u8], from: usize) -> Option<usize> {
    let start = from.saturating_sub(3);
    let tail = bytes.get(start..)?;
    let unix = memmem::rfind(tail, b"\n\n").map(|at| at + 2);
    let windows = memmem::rfind(tail, b"\n\r\n").map(|at| at + 3);
    unix.max(windows).map(|at| start + at)
}

impl Chunk {
    /// The records, each with the number of its first line and its bytes without the blank line.
    pub fn records(&self) -> Records<'_> {
        Records { rest: &self.bytes, line: self.first_line }
    }
}

/// Iterator of [`Chunk::records`].
#[derive(Debug)]
pub(super) struct Records<'a> {
    rest: &'a [u8],
    line: u64,
}

impl<'a> Iterator for Records<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        // Blank lines in front.
        while let Some(first @ (b'\n' | b'\r')) = self.rest.first() {
            self.line += u64::from(*first == b'\n');
            self.rest = self.rest.get(1..)?;
        }
        if self.rest.is_empty() {
            return None;
        }
        let mut end = self.rest.len();
        let mut lines = 0;
        for newline in memchr_iter(b'\n', self.rest) {
            lines += 1;
            if matches!(self.rest.get(newline + 1..), Some([b'\n', ..] | [b'\r', b'\n', ..])) {
                end = newline + 1;
                break;
            }
        }
        let (record, rest) = self.rest.split_at(end);
        let line = self.line;
        self.rest = rest;
        self.line += lines;
        Some((line, record))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn all(sources: Vec<LdifSource>) -> Vec<(u64, String)> {
        let mut chunks = Chunks::new(sources.into_iter().map(Input::Ldif).collect());
        let mut out = Vec::new();
        while let Some(chunk) = chunks.next().unwrap() {
            out.extend(chunk.records().map(|(line, record)| (line, String::from_utf8(record.to_vec()).unwrap())));
        }
        out
    }

    fn source(text: &str) -> LdifSource {
        LdifSource::from_reader("test", Box::new(std::io::Cursor::new(text.as_bytes().to_vec())), None).unwrap()
    }

    #[test]
    fn records_know_their_lines() {
        let text = "version: 1\n\n\ndn: a\ncn: b\n\r\ndn: c\r\ncn: d\r\n\r\n\ndn: e";
        let expected = [(1, "version: 1\n"), (4, "dn: a\ncn: b\n"), (7, "dn: c\r\ncn: d\r\n"), (11, "dn: e")];
        assert_eq!(all(vec![source(text)]), expected.map(|(line, record)| (line, record.to_owned())));
    }

    #[test]
    fn lines_count_anew_in_each_source_and_a_source_ends_a_record() {
        assert_eq!(
            all(vec![source("dn: a\n"), source(""), source("dn: b\n\n")]),
            [(1, "dn: a\n".into()), (1, "dn: b\n".into())]
        );
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_record() {
        assert_eq!(all(vec![source("\u{feff}dn: a\n\ndn: b\n")]), [(1, "dn: a\n".into()), (3, "dn: b\n".into())]);
    }

    #[test]
    fn records_larger_than_a_chunk_come_whole() {
        let large = format!("dn: a\ncn: {}\n", "x".repeat(3 * CHUNK_BYTES));
        let text = format!("{large}\n{large}\ndn: c\n");
        assert_eq!(all(vec![source(&text)]), [(1, large.clone()), (4, large), (7, "dn: c\n".into())]);
    }

    #[test]
    fn gzip_is_recognised_even_in_several_members() {
        let member = |text: &str| {
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        let bytes = [member("dn: a\n\n"), member("dn: b\n")].concat();
        let total = bytes.len() as u64;
        let source = LdifSource::from_reader("test", Box::new(std::io::Cursor::new(bytes)), Some(total)).unwrap();
        let mut chunks = Chunks::new(vec![Input::Ldif(source)]);
        let chunk = chunks.next().unwrap().unwrap();
        assert_eq!(chunk.bytes, b"dn: a\n\n");
        assert_eq!(chunks.next().unwrap().unwrap().bytes, b"dn: b\n");
        assert!(chunks.next().unwrap().is_none());
        assert_eq!(chunks.progress(), (total, Some(total)));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_lines_are_right(
            records in prop::collection::vec("[a-z]{1,9}(\n [a-z]{1,9}){0,3}", 0..20),
            blanks in prop::collection::vec(1usize..4, 20),
        ) {
            let mut text = String::new();
            let mut expected = Vec::new();
            for (record, blanks) in records.iter().zip(blanks) {
                expected.push((1 + text.matches('\n').count() as u64, format!("{record}\n")));
                text.push_str(record);
                text.push_str(&"\n".repeat(1 + blanks));
            }
            prop_assert_eq!(all(vec![source(&text)]), expected);
        }
    }
}
