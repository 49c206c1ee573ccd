//! How batches and segment headers lie in a segment file.
//!
//! ```text
//! segment: header (one 4 KiB block) | frame | frame | … | what an earlier use of the file left
//! header:  "PANDOLOG" | format u32 | rules u32 | uuid 16 | generation u64 | first seq u64 | salt u64 | crc32 u32
//! frame:   crc32 u32 | payload length u32 | salt u64 | first seq u64 | count u32 | check u32 | payload
//!          | zeros to 8 bytes
//! payload: (length u32 | trace length u32 | outcome code i32 | proposal | trace)…
//! ```
//! Format 1, which is still read, had no traces: (length u32 | outcome code i32 | proposal)…
//!
//! All numbers little-endian. The salt belongs to this use of the file, so a frame of an earlier use is never taken for
//! one of this use. The checksum covers everything in the frame after it. `check` is another hash of the same bytes
//! (with zeros in its own place): with both, a frame with one damaged byte can be distinguished from one that a crash
//! left incomplete. Frames of older versions have 0 there.

use std::ops::Range;

use crate::error::StoreError;

/// Header of a segment: one block, so that appends never touch it.
pub const HEADER_BYTES: usize = 4_096;
/// Head of a frame.
pub const FRAME_HEAD_BYTES: usize = 32;
/// Frames begin at multiples of this size.
pub const ALIGN_BYTES: usize = 8;
/// Format of new segments.
pub const FORMAT: u32 = 2;
/// The format before it, which is still read.
pub const FORMAT_WITHOUT_TRACES: u32 = 1;

const MAGIC: &[u8; 8] = b"PANDOLOG";
/// Bytes of the header that are used; the rest of the block is zeros.
pub(super) const HEADER_USED: usize = 60;
/// Where the second hash of a frame stands.
pub(super) const CHECK: Range<usize> = 28..32;

/// The second hash of a frame: of everything after the checksum, with zeros in the place of this hash. Never 0.
pub(super) fn check_of(bytes: &[u8]) -> u32 {
    (xxhash_rust::xxh3::xxh3_64(bytes) as u32).max(1)
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The format of its frames; one of the two above.
    pub format: u32,
    /// Version of the rules that gave the outcomes in it.
    pub rules: u32,
    /// Identity of the data that it belongs to.
    pub uuid: [u8; 16],
    /// Which use of a segment this is, counted over all files.
    pub generation: u64,
    /// Sequence number of its first record.
    pub first_seq: u64,
}

impl SegmentHeader {
    /// The salt of the frames of this use.
    pub fn salt(&self) -> u64 {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&self.uuid);
        bytes[16..].copy_from_slice(&self.generation.to_le_bytes());
        xxhash_rust::xxh3::xxh3_64(&bytes)
    }

    /// The block as written.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.format.to_le_bytes());
        out.extend_from_slice(&self.rules.to_le_bytes());
        out.extend_from_slice(&self.uuid);
        out.extend_from_slice(&self.generation.to_le_bytes());
        out.extend_from_slice(&self.first_seq.to_le_bytes());
        out.extend_from_slice(&self.salt().to_le_bytes());
        let crc = crc32fast::hash(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out.resize(HEADER_BYTES, 0);
        out
    }

    /// The content of the block, whether or not its checksum is right.
    pub(super) fn identity(block: &[u8]) -> Option<SegmentHeader> {
        let mut fields = Fields(block.get(MAGIC.len()..)?);
        Some(SegmentHeader {
            format: fields.u32()?,
            rules: fields.u32()?,
            uuid: fields.take()?,
            generation: fields.u64()?,
            first_seq: fields.u64()?,
        })
    }

    /// Reads the block; `None` when it is not a header.
    pub fn decode(block: &[u8]) -> Result<Option<SegmentHeader>, StoreError> {
        let Some((used, crc)) = block.get(..HEADER_USED).and_then(|used| used.split_last_chunk::<4>()) else {
            return Ok(None);
        };
        if !used.starts_with(MAGIC) || crc32fast::hash(used) != u32::from_le_bytes(*crc) {
            return Ok(None);
        }
        let header = SegmentHeader::identity(used);
        match header.map(|header| header.format) {
            None | Some(FORMAT | FORMAT_WITHOUT_TRACES) => Ok(header),
            Some(found) => Err(StoreError::Format { what: "log", found, ours: FORMAT }),
        }
    }
}

/// One record of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRecord<'a> {
    /// Its place in the order, from 1.
    pub seq: u64,
    /// Outcome when it was applied.
    pub code: i32,
    /// What was applied.
    pub proposal: &'a [u8],
    /// What the rules noted about it when it was applied the first time (see [`Txn::trace`](crate::Txn::trace)).
    pub trace: &'a [u8],
}

/// Accepted proposals on their way into one frame; reusable.
#[derive(Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    first_seq: u64,
    count: u32,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch::new(1)
    }
}

impl Batch {
    /// An empty batch whose first record will be `first_seq`.
    pub fn new(first_seq: u64) -> Batch {
        Batch { bytes: vec![0; FRAME_HEAD_BYTES], first_seq, count: 0 }
    }

    /// Starts over.
    pub fn restart(&mut self, first_seq: u64) {
        self.bytes.truncate(FRAME_HEAD_BYTES);
        self.first_seq = first_seq;
        self.count = 0;
    }

    /// Adds a record and gives its sequence number. Proposals and traces are bounded by the caller.
    pub fn push(&mut self, code: i32, proposal: &[u8], trace: &[u8]) -> u64 {
        let seq = self.first_seq + u64::from(self.count);
        self.bytes.extend_from_slice(&(proposal.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&(trace.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&code.to_le_bytes());
        self.bytes.extend_from_slice(proposal);
        self.bytes.extend_from_slice(trace);
        self.count += 1;
        seq
    }

    /// Sequence number of the first record.
    pub fn first_seq(&self) -> u64 {
        self.first_seq
    }

    /// Sequence number of the last record; one less than the first when empty.
    pub fn last_seq(&self) -> u64 {
        self.first_seq + u64::from(self.count) - 1
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the frame.
    pub fn frame_bytes(&self) -> usize {
        self.bytes.len().next_multiple_of(ALIGN_BYTES)
    }

    /// The frame, for a segment with this salt.
    pub fn encode(&mut self, salt: u64) -> &[u8] {
        let payload = self.bytes.len() - FRAME_HEAD_BYTES;
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGN_BYTES), 0);
        if let Some(head) = self.bytes.get_mut(..FRAME_HEAD_BYTES) {
            head[4..8].copy_from_slice(&(payload as u32).to_le_bytes());
            head[8..16].copy_from_slice(&salt.to_le_bytes());
            head[16..24].copy_from_slice(&self.first_seq.to_le_bytes());
            head[24..28].copy_from_slice(&self.count.to_le_bytes());
            head[CHECK].fill(0);
        }
        let end = FRAME_HEAD_BYTES + payload;
        let check = check_of(self.bytes.get(4..end).unwrap_or_default());
        if let Some(place) = self.bytes.get_mut(CHECK) {
            place.copy_from_slice(&check.to_le_bytes());
        }
        let crc = crc32fast::hash(self.bytes.get(4..end).unwrap_or_default());
        if let Some(place) = self.bytes.first_chunk_mut::<4>() {
            *place = crc.to_le_bytes();
        }
        &self.bytes
    }
}

/// A frame found in a segment.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Sequence number of its first record.
    pub first_seq: u64,
    /// Records in it.
    pub count: u32,
    /// Bytes up to the next frame.
    pub bytes: usize,
    payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The salt that the frame at the start of `bytes` has, if there is a frame.
    pub fn salt_at(bytes: &[u8]) -> Option<u64> {
        bytes.get(8..16)?.first_chunk::<8>().map(|salt| u64::from_le_bytes(*salt))
    }

    /// The frame at the start of `bytes`, if there is a whole and true one of this salt.
    pub fn decode(bytes: &'a [u8], salt: u64) -> Option<Frame<'a>> {
        let (head, rest) = bytes.split_at_checked(FRAME_HEAD_BYTES)?;
        let mut fields = Fields(head);
        let crc = fields.u32()?;
        let len = fields.u32()? as usize;
        if fields.u64()? != salt {
            return None;
        }
        let first_seq = fields.u64()?;
        let count = fields.u32()?;
        let payload = rest.get(..len)?;
        if crc32fast::hash(bytes.get(4..FRAME_HEAD_BYTES + len)?) != crc {
            return None;
        }
        Some(Frame { first_seq, count, bytes: (FRAME_HEAD_BYTES + len).next_multiple_of(ALIGN_BYTES), payload })
    }

    /// Sequence number of its last record.
    pub fn last_seq(&self) -> u64 {
        (self.first_seq + u64::from(self.count)).saturating_sub(1)
    }

    /// Its records, in order, of a segment of that format.
    pub fn records(&self, format: u32) -> Records<'a> {
        Records { fields: Fields(self.payload), seq: self.first_seq, left: self.count, format }
    }
}

/// The records of a frame.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    fields: Fields<'a>,
    seq: u64,
    left: u32,
    format: u32,
}

impl<'a> Records<'a> {
    /// The next record; none after the last.
    ///
    /// # Errors
    /// When the frame does not hold what it says, although its checksum is right.
    pub fn next_record(&mut self) -> Result<Option<LogRecord<'a>>, StoreError> {
        if self.left == 0 {
            return if self.fields.0.is_empty() { Ok(None) } else { Err(self.damaged()) };
        }
        let record = self.take().ok_or_else(|| self.damaged())?;
        self.seq += 1;
        self.left -= 1;
        Ok(Some(record))
    }

    fn take(&mut self) -> Option<LogRecord<'a>> {
        let proposal_len = self.fields.u32()? as usize;
        let trace_len = if self.format == FORMAT_WITHOUT_TRACES { 0 } else { self.fields.u32()? as usize };
        let code = self.fields.u32()? as i32;
        let (proposal, rest) = self.fields.0.split_at_checked(proposal_len)?;
        let (trace, rest) = rest.split_at_checked(trace_len)?;
        self.fields.0 = rest;
        Some(LogRecord { seq: self.seq, code, proposal, trace })
    }

    fn damaged(&self) -> StoreError {
        StoreError::LogDamaged(format!("record of change {}", self.seq))
    }
}

/// One frame, read back from a log, and a record of it that is looked at; reusable.
#[derive(Clone, Debug, Default)]
pub struct FrameBuffer {
    /// Head and payload.
    pub(super) bytes: Vec<u8>,
    /// Of its segment.
    format: u32,
    /// Where the next record begins in `bytes`, its number, and how many records are left.
    at: usize,
    seq: u64,
    left: u32,
    current: Option<RecordPlace>,
}

/// Where a record lies in a [`FrameBuffer`].
#[derive(Clone, Debug)]
struct RecordPlace {
    seq: u64,
    code: i32,
    proposal: Range<usize>,
    trace: Range<usize>,
}

impl FrameBuffer {
    /// Begins with the frame that was read into `bytes`: gives its first sequence number and its records, or `None`
    /// when there is no whole and true frame of this salt.
    pub(super) fn begin(&mut self, format: u32, salt: u64) -> Option<(u64, u32)> {
        let frame = Frame::decode(&self.bytes, salt)?;
        let (first_seq, count) = (frame.first_seq, frame.count);
        (self.format, self.at, self.seq, self.left) = (format, FRAME_HEAD_BYTES, first_seq, count);
        Some((first_seq, count))
    }

    /// Back to no frame.
    pub fn clear(&mut self) {
        (self.left, self.current) = (0, None);
        self.bytes.clear();
    }

    /// Goes to the next record; `false` after the last.
    ///
    /// # Errors
    /// As [`Records::next_record`].
    pub fn advance(&mut self) -> Result<bool, StoreError> {
        self.current = None;
        if self.left == 0 {
            return Ok(false);
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let mut records = Records { fields: Fields(rest), seq: self.seq, left: self.left, format: self.format };
        let record = records.take().ok_or_else(|| records.damaged())?;
        let end = self.at + rest.len() - records.fields.0.len();
        let trace = end - record.trace.len()..end;
        let proposal = trace.start - record.proposal.len()..trace.start;
        self.current = Some(RecordPlace { seq: record.seq, code: record.code, proposal, trace });
        (self.at, self.seq, self.left) = (end, self.seq + 1, self.left - 1);
        Ok(true)
    }

    /// The record that [`FrameBuffer::advance`] went to.
    pub fn record(&self) -> Option<LogRecord<'_>> {
        let RecordPlace { seq, code, proposal, trace } = self.current.clone()?;
        Some(LogRecord { seq, code, proposal: self.bytes.get(proposal)?, trace: self.bytes.get(trace)? })
    }
}

#[derive(Clone, Debug)]
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}
