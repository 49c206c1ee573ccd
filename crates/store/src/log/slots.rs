//! Which segment files there are, and what each is used for at this moment.

use super::contract::LogHeld;
use super::frame::SegmentHeader;
use super::segment::{Sealed, Slot};
use crate::error::StoreError;

/// Files kept ready; more are removed when trimmed.
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
    /// What recovery does not need, up to here.
    pub recovered: u64,
    /// What is kept nevertheless, from here on.
    pub keep_from: u64,
    /// The writer's, for `health`, which must not wait for a disk as whoever holds `writer` may.
    pub last: u64,
    /// What is durable.
    pub held: LogHeld,
    /// Why the last append failed, if it did.
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
    /// Takes out the oldest segment if its records are up to `upto`. Only a prefix goes: a later segment ends an
    /// earlier one.
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

    /// Keeps a file for another use, unless there are enough; then it is given back.
    pub fn spare(&mut self, slot: Slot, segment_bytes: u64) -> Option<Slot> {
        if self.spares.len() < SPARES_MAX && slot.bytes == segment_bytes {
            self.spares.push(slot);
            return None;
        }
        Some(slot)
    }
}
