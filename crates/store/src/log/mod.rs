//! The log: accepted proposals in order, on disk before anybody is told. It knows proposals as opaque bytes.
//!
//! The narrow trait is the place where a replicated log will stand in for the files of this one.

pub mod disk;
mod file;
pub mod frame;
#[cfg(test)]
pub mod sim;
#[cfg(test)]
mod tests;

pub use disk::{Disk, DiskFile, FolderDisk};
pub use file::{FileLog, LogOptions, SEGMENT_BYTES};
pub use frame::Batch;

use crate::error::StoreError;

/// Largest proposal: the largest request that the server takes, with room for what the proposal adds.
pub const PROPOSAL_BYTES_MAX: usize = 8 << 20;

/// One record of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRecord<'a> {
    /// Its place in the order, from 1.
    pub seq: u64,
    /// Outcome when it was applied.
    pub code: i32,
    /// What was applied.
    pub proposal: &'a [u8],
}

/// How the log is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogHealth {
    /// Last sequence number written.
    pub last: u64,
    /// Segments that hold records still wanted, the current one included.
    pub segments: usize,
    /// Segments prepared for use.
    pub spares: usize,
    /// Bytes on disk.
    pub bytes: u64,
    /// What went wrong last, until an append succeeds.
    pub trouble: Option<StoreError>,
}

/// An ordered, durable sequence of records.
pub trait Log: Send + Sync {
    /// Writes a batch; on return it is durable, or (on error) it will not be part of the log.
    fn append(&self, batch: &mut Batch) -> Result<(), StoreError>;
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
    /// Makes ready what the next appends will need; called off the write path.
    fn prepare(&self) -> Result<(), StoreError>;
    /// How it is doing.
    fn health(&self) -> LogHealth;
}
