//! Reads one segment file: its header, its frames in order, or the frame at a place.
//!
//! Invariant: a header that is neither valid nor blank is damage, and so is a good frame behind a bad one. Damage is
//! never taken for an unused file or for the end of the log.

use std::sync::Arc;

use super::contract::LogPlace;
use super::damage::damaged_frame;
use super::disk::DiskFile;
use super::frame::{
    ALIGN_BYTES, FRAME_HEAD_BYTES, Frame, FrameBuffer, HEADER_BYTES, HEADER_USED, LogRecord, SegmentHeader,
};
use crate::error::StoreError;

/// A blank header may have this many bytes other than zero, because of damage; a real header has several times as many.
const STRAY_BYTES_MAX: usize = 4;

/// Called with a record; its error ends the reading.
pub(super) type EachRecord<'e> = &'e mut dyn FnMut(LogRecord<'_>) -> Result<(), StoreError>;

/// A segment file.
#[derive(Clone)]
pub(super) struct Slot {
    pub name: String,
    pub file: Arc<dyn DiskFile>,
    pub bytes: u64,
}

/// A segment that is not written any more.
#[derive(Clone)]
pub(super) struct Sealed {
    pub slot: Slot,
    pub header: SegmentHeader,
    pub last: u64,
}

/// What a file is, by its first bytes.
pub(super) enum Content {
    /// A segment.
    Segment(SegmentHeader),
    /// No record was ever acknowledged in this use of the file.
    Unused,
    /// It was used, but its header cannot be read.
    Damaged(Headless),
}

/// What is known of a segment without its header.
pub(super) struct Headless {
    /// First and last sequence number of the frames that begin right behind the header; none when there is no good one.
    pub seqs: Option<(u64, u64)>,
    /// The frames certainly belong to other data than `uuid`.
    pub is_foreign: bool,
}

/// What to read of a segment.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    /// Only so many bytes are read.
    pub limit: u64,
    /// The first sequence number of the next segment, if there is one: records from that number on do not count here.
    pub end: Option<u64>,
    /// The first record that is wanted. Damage before it is ignored.
    pub from: u64,
}

impl Slot {
    fn read(&self, bytes: usize) -> Result<Vec<u8>, StoreError> {
        let mut buffer = vec![0; bytes];
        let count = self.file.read_at(0, &mut buffer).map_err(|error| StoreError::io("log segment", &error))?;
        buffer.truncate(count);
        Ok(buffer)
    }

    fn read_all(&self) -> Result<Vec<u8>, StoreError> {
        self.read(usize::try_from(self.bytes).map_err(|_| StoreError::LogDamaged("segment size".to_owned()))?)
    }

    /// What the file is; `uuid` is the identity of our data.
    pub fn content(&self, uuid: [u8; 16]) -> Result<Content, StoreError> {
        let block = self.read(HEADER_BYTES)?;
        if let Some(header) = SegmentHeader::decode(&block)? {
            return Ok(Content::Segment(header));
        }
        let used = block.get(..HEADER_USED).unwrap_or(&block);
        let written = used.iter().filter(|byte| **byte != 0).count();
        let mut head = [0; FRAME_HEAD_BYTES];
        let first_head = self.file.read_at(HEADER_BYTES as u64, &mut head);
        first_head.map_err(|error| StoreError::io("log segment", &error))?;
        if written == 0 && head == [0; FRAME_HEAD_BYTES] {
            return Ok(Content::Unused);
        }
        let bytes = self.read_all()?;
        let frames = bytes.get(HEADER_BYTES..).unwrap_or_default();
        let salt = Frame::salt_at(frames);
        let frames = salt.map(|salt| leading_frames(frames, salt)).unwrap_or_default();
        let seqs = frames.map(|frames| (frames.first, frames.last));
        // The header is written with the first frame, and a crash may leave the frame only: that batch was not
        // acknowledged. The second frame is written only when the header is durable.
        let may_be_cut_short = written == 0 && frames.is_none_or(|frames| frames.count == 1);
        if may_be_cut_short || (written <= STRAY_BYTES_MAX && frames.is_none()) {
            return Ok(Content::Unused);
        }
        let own = SegmentHeader::identity(&block).filter(|header| Some(header.salt()) == salt);
        let is_foreign = own.is_some_and(|header| header.uuid != uuid);
        Ok(Content::Damaged(Headless { seqs, is_foreign }))
    }

    /// Gives the records of the segment in order, and returns the last sequence number in it (one less than its first
    /// when there is none).
    pub fn walk(&self, header: &SegmentHeader, extent: Extent, each: EachRecord<'_>) -> Result<u64, StoreError> {
        let Extent { limit, end, from } = extent;
        let limit = usize::try_from(limit).map_err(|_| StoreError::LogDamaged("segment size".to_owned()))?;
        let bytes = self.read(limit)?;
        let salt = header.salt();
        let mut next = header.first_seq;
        let mut offset = HEADER_BYTES;
        loop {
            while let Some(frame) = Frame::decode(bytes.get(offset..).unwrap_or_default(), salt) {
                if frame.first_seq != next {
                    return Err(gap(next, frame.first_seq));
                }
                let mut records = frame.records(header.format);
                while let Some(record) = records.next_record()? {
                    if end.is_some_and(|end| record.seq >= end) {
                        return Ok(next - 1);
                    }
                    if record.seq >= from {
                        each(record)?;
                    }
                    next = record.seq + 1;
                }
                offset += frame.bytes;
            }
            // The bad frame may be the end. If a good one follows, it is not: something that was durable is damaged.
            let later = later_frame(&bytes, offset, salt)
                .filter(|(_, later)| later.first_seq > next && end.is_none_or(|end| end > next));
            match later {
                Some((at, later)) if later.first_seq <= from => (offset, next) = (at, later.first_seq),
                Some((_, later)) => {
                    return Err(StoreError::LogDamaged(format!(
                        "{} in {} cannot be read, but later ones can",
                        changes(next, later.first_seq - 1),
                        self.name
                    )));
                }
                None if end.is_none() => {
                    let rest = bytes.get(offset..).unwrap_or_default();
                    return match damaged_frame(rest, salt, next).filter(|last| *last >= from) {
                        None => Ok(next - 1),
                        Some(last) => Err(StoreError::LogDamaged(format!(
                            "{} in {} cannot be read, because one byte is damaged",
                            changes(next, last),
                            self.name
                        ))),
                    };
                }
                None => return Ok(next - 1),
            }
        }
    }
}

impl Sealed {
    /// Reads the frame at a place, nothing behind `limit`; the place of the next one, or `None` when there is no whole
    /// and true one.
    pub fn read_frame(
        &self,
        place: LogPlace,
        limit: u64,
        frame: &mut FrameBuffer,
    ) -> Result<Option<LogPlace>, StoreError> {
        let read = |offset: u64, bytes: &mut [u8]| {
            let unreadable =
                |error| StoreError::LogDamaged(format!("change {} in {}: {error}", place.seq, self.slot.name));
            self.slot.file.read_at(offset, bytes).map_err(unreadable)
        };
        frame.clear();
        frame.bytes.resize(FRAME_HEAD_BYTES, 0);
        read(place.offset, &mut frame.bytes)?;
        let Some(payload) = frame.bytes.get(4..8).and_then(|bytes| bytes.first_chunk::<4>()) else { return Ok(None) };
        let bytes = FRAME_HEAD_BYTES + u32::from_le_bytes(*payload) as usize;
        if place.offset + bytes as u64 > limit {
            return Ok(None);
        }
        frame.bytes.resize(bytes, 0);
        read(place.offset + FRAME_HEAD_BYTES as u64, frame.bytes.get_mut(FRAME_HEAD_BYTES..).unwrap_or_default())?;
        let Some((first, count)) = frame.begin(self.header.format, self.header.salt()) else { return Ok(None) };
        let offset = place.offset + bytes.next_multiple_of(ALIGN_BYTES) as u64;
        Ok((first == place.seq).then_some(LogPlace { offset, seq: first + u64::from(count), ..place }))
    }
}

/// Good frames that follow each other without gap.
#[derive(Clone, Copy)]
struct LeadingFrames {
    first: u64,
    last: u64,
    count: usize,
}

/// The frames of that salt at the start of `bytes`.
fn leading_frames(bytes: &[u8], salt: u64) -> Option<LeadingFrames> {
    let first = Frame::decode(bytes, salt)?;
    let mut found = LeadingFrames { first: first.first_seq, last: first.last_seq(), count: 1 };
    let mut offset = first.bytes;
    while let Some(frame) = Frame::decode(bytes.get(offset..).unwrap_or_default(), salt) {
        (found.last, found.count) = (frame.last_seq(), found.count + 1);
        offset += frame.bytes;
    }
    Some(found)
}

/// The next good frame behind a bad one at `from`, and where it is.
fn later_frame(bytes: &[u8], from: usize, salt: u64) -> Option<(usize, Frame<'_>)> {
    (from..bytes.len().saturating_sub(FRAME_HEAD_BYTES)).step_by(ALIGN_BYTES).skip(1).find_map(|offset| {
        let candidate = bytes.get(offset..)?;
        let frame = (Frame::salt_at(candidate)? == salt).then(|| Frame::decode(candidate, salt)).flatten();
        frame.map(|frame| (offset, frame))
    })
}

/// The error for missing records: those from `expected` to the one before `found`.
pub(super) fn gap(expected: u64, found: u64) -> StoreError {
    StoreError::LogDamaged(format!("{} are missing", changes(expected, found.saturating_sub(1))))
}

/// Sequence numbers for a message.
pub(super) fn changes(first: u64, last: u64) -> String {
    if first >= last { format!("change {first}") } else { format!("changes {first} to {last}") }
}
