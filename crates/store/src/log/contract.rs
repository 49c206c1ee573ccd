//! The log as its users see it. Knows nothing of files.

use super::frame::{Batch, FrameBuffer, LogRecord};
use crate::error::StoreError;

/// Largest proposal: the largest request that the server takes, with room for what the proposal adds.
pub const PROPOSAL_BYTES_MAX: usize = 8 << 20;

/// A place in the log where a frame begins or will begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPlace {
    /// Which use of a segment.
    pub generation: u64,
    /// Bytes from the beginning of the segment.
    pub offset: u64,
    /// Sequence number of the first record there.
    pub seq: u64,
}

/// A segment that holds records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSegment {
    /// Where its first frame begins.
    pub start: LogPlace,
    /// Last sequence number in it; one less than its first when there is none.
    pub last: u64,
    /// Its size on disk.
    pub bytes: u64,
}

/// What [`Log::read_frame`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameRead {
    /// A frame; the next one is at that place.
    Frame(LogPlace),
    /// The end, for now.
    End,
    /// The records there were removed.
    Gone,
}

/// What a log held at some moment. The database notes it, so that lost files of the log are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogHeld {
    /// The last use of a segment whose header was durable.
    pub generation: u64,
    /// The last durable sequence number.
    pub last: u64,
    /// Nothing was appended afterwards: the backend was closed.
    pub is_closed: bool,
}

/// The state of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogHealth {
    /// Last sequence number written.
    pub last: u64,
    /// Segments with records that are still needed, the current one included.
    pub segments: usize,
    /// Segments prepared for use.
    pub spares: usize,
    /// Bytes on disk.
    pub bytes: u64,
    /// The last error, until an append succeeds.
    pub trouble: Option<StoreError>,
}

/// An ordered, durable sequence of records.
pub trait Log: Send + Sync {
    /// Writes a batch. On return it is durable, or, after an error, not part of the log. Returns where the next batch
    /// goes.
    fn append(&self, batch: &mut Batch) -> Result<LogPlace, StoreError>;
    /// Gives every record from `seq` on to `each`, in order, until one fails.
    fn tail_from(
        &self,
        seq: u64,
        each: &mut dyn FnMut(LogRecord<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
    /// Last sequence number written; 0 when none.
    fn last(&self) -> u64;
    /// Says that records up to `upto` are not needed for recovery any more. They may stay longer.
    fn trim(&self, upto: u64) -> Result<(), StoreError>;
    /// Keeps records from `seq` on although recovery does not need them; `u64::MAX` keeps none. They are removed
    /// nevertheless when there is no room for new ones.
    fn keep_from(&self, seq: u64) -> Result<(), StoreError>;
    /// Removes the oldest segment that recovery does not need, because the disk is full. `false` when there is none.
    fn relieve(&self) -> bool;
    /// The segments that hold records, in order.
    fn segments(&self) -> Vec<LogSegment>;
    /// Where the next batch goes.
    fn end(&self) -> LogPlace;
    /// Reads the frame at a place. Takes no lock while it reads, so it does not wait for appends, nor they for it.
    fn read_frame(&self, place: LogPlace, frame: &mut FrameBuffer) -> Result<FrameRead, StoreError>;
    /// What is durable now, as the database notes it.
    fn held(&self) -> LogHeld;
    /// Prepares files for the next appends; not called on the write path.
    fn prepare(&self) -> Result<(), StoreError>;
    /// Its state.
    fn health(&self) -> LogHealth;
}
