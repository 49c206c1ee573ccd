//! The segment files, and what each is used for at this moment.

use super::contract::LogHeld;
use super::frame::SegmentHeader;
use super::segment::{Sealed, Slot};
use crate::error::StoreError;

/// At most so many files are kept for another use; further ones are removed.
pub(super) const SPARES_MAX: usize = 3;

/// See the module.
#[derive(Default)]
pub(super) struct Slots {
    /// Finished segments in order of generation, with their last sequence number.
    pub sealed: Vec<Sealed>,
    pub spares: Vec<Slot>,
    /// Number of the next new file.
    pub next_name: u64,
    /// The segment being written, as far as it is durable.
    pub tail: Option<Tail>,
    /// Recovery needs no record up to this one.
    pub recovered: u64,
    /// Records from this one on are kept nevertheless.
    pub keep_from: u64,
    /// A copy for `health`, which must not wait for the lock of `writer`: whoever holds that may wait for the disk.
    pub last: u64,
    /// The last durable record.
    pub held: LogHeld,
    /// The error of the last append, if it failed.
    pub trouble: Option<StoreError>,
}

/// The segment being written.
pub(super) struct Tail {
    pub slot: Slot,
    pub header: SegmentHeader,
    /// Bytes that are durable.
    pub offset: u64,
    pub last: u64,
}

impl Slots {
    /// Takes out the oldest segment if its records are up to `upto`. Segments are taken out in order only, because a
    /// later segment ends an earlier one.
    pub fn pop(&mut self, upto: u64) -> Option<Slot> {
        let first = self.sealed.first().filter(|sealed| sealed.last <= upto)?;
        let slot = first.slot.clone();
        self.sealed.remove(0);
        Some(slot)
    }

    /// The segment of that generation, or the next one after it, and how far it may be read: (segment, bytes).
    pub fn find(&self, generation: u64) -> Option<(Sealed, u64)> {
        let at = self.sealed.partition_point(|sealed| sealed.header.generation < generation);
        if let Some(sealed) = self.sealed.get(at) {
            return Some((sealed.clone(), sealed.slot.bytes));
        }
        let tail = self.tail.as_ref()?;
        Some((Sealed { slot: tail.slot.clone(), header: tail.header, last: tail.last }, tail.offset))
    }

    /// Keeps a file for another use; returns it when there are enough.
    pub fn spare(&mut self, slot: Slot, segment_bytes: u64) -> Option<Slot> {
        if self.spares.len() < SPARES_MAX && slot.bytes == segment_bytes {
            self.spares.push(slot);
            return None;
        }
        Some(slot)
    }
}
