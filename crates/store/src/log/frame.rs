//! How batches and segment headers lie in a segment file.
//!
//! ```text
//! segment: header (one 4 KiB block) | frame | frame | … | what an earlier use of the file left
//! header:  "PANDOLOG" | format u32 | rules u32 | uuid 16 | generation u64 | first seq u64 | salt u64 | crc32 u32
//! frame:   crc32 u32 | payload length u32 | salt u64 | first seq u64 | count u32 | 0 u32 | payload | zeros to 8 bytes
//! payload: (length u32 | outcome code i32 | proposal)…
//! ```
//! All numbers little-endian. The salt is of this use of the file, so a frame that an earlier use left never passes for one of
//! this. The checksum covers everything in the frame after it.

use super::LogRecord;
use crate::error::StoreError;

/// Header of a segment: one block, so that appends never touch it.
pub const HEADER_BYTES: usize = 4_096;
/// Head of a frame.
pub const FRAME_HEAD_BYTES: usize = 32;
/// Frames begin at multiples of this.
pub const ALIGN_BYTES: usize = 8;
/// Format of segments; another one is refused.
pub const FORMAT: u32 = 1;

const MAGIC: &[u8; 8] = b"PANDOLOG";
const HEADER_USED: usize = 60;

/// What a segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Version of the rules that gave the outcomes in it.
    pub rules: u32,
    /// The data that it belongs to.
    pub uuid: [u8; 16],
    /// Which use of a segment this is, counted over all files.
    pub generation: u64,
    /// Sequence number of its first record.
    pub first_seq: u64,
}

impl SegmentHeader {
    /// What frames of this use carry.
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
        out.extend_from_slice(&FORMAT.to_le_bytes());
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

    /// Reads the block; `None` when it is not a header (never used, or torn).
    pub fn decode(block: &[u8]) -> Result<Option<SegmentHeader>, StoreError> {
        let Some((used, crc)) = block.get(..HEADER_USED).and_then(|used| used.split_last_chunk::<4>()) else {
            return Ok(None);
        };
        if !used.starts_with(MAGIC) || crc32fast::hash(used) != u32::from_le_bytes(*crc) {
            return Ok(None);
        }
        let mut fields = Fields(used.get(MAGIC.len()..).unwrap_or_default());
        let (Some(format), Some(rules)) = (fields.u32(), fields.u32()) else { return Ok(None) };
        if format != FORMAT {
            return Err(StoreError::Format { what: "log", found: format, ours: FORMAT });
        }
        let (Some(uuid), Some(generation), Some(first_seq)) = (fields.take(), fields.u64(), fields.u64()) else {
            return Ok(None);
        };
        Ok(Some(SegmentHeader { rules, uuid, generation, first_seq }))
    }
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

    /// Adds a record and gives its sequence number. Proposals are bounded by the caller.
    pub fn push(&mut self, code: i32, proposal: &[u8]) -> u64 {
        let seq = self.first_seq + u64::from(self.count);
        self.bytes.extend_from_slice(&(proposal.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(&code.to_le_bytes());
        self.bytes.extend_from_slice(proposal);
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
            head[28..32].fill(0);
        }
        let end = FRAME_HEAD_BYTES + payload;
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

    /// Its records, in order.
    pub fn records(&self) -> Result<Vec<LogRecord<'a>>, StoreError> {
        let damaged = || StoreError::LogDamaged(format!("records of the batch from change {} on", self.first_seq));
        let mut fields = Fields(self.payload);
        let mut records = Vec::new();
        for seq in (self.first_seq..).take(self.count as usize) {
            let len = fields.u32().ok_or_else(damaged)? as usize;
            let code = fields.u32().ok_or_else(damaged)? as i32;
            let (proposal, rest) = fields.0.split_at_checked(len).ok_or_else(damaged)?;
            fields.0 = rest;
            records.push(LogRecord { seq, code, proposal });
        }
        if fields.0.is_empty() { Ok(records) } else { Err(damaged()) }
    }
}

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
