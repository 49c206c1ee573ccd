//! Where pieces of large attributes ended: a client that reads a group of a million piece by piece
//! (`member;range=3000-4499`) goes on there instead of being led past all the values before.
//!
//! A place holds for one state of one entry only, which its entryCSN names. It saves time; what is forgotten is looked
//! for from the start.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use store::record::{CsnParts, Header};
use store::{DescId, EntryId};

/// Places kept, of the readers that asked last.
const PLACES_MAX: usize = 256;

/// One attribute of one state of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeState {
    entry: EntryId,
    uuid: [u8; 16],
    csn: CsnParts,
    desc: DescId,
}

/// Behind which row the value with a number lies.
#[derive(Debug)]
struct Mark {
    of: AttributeState,
    number: u64,
    behind: Box<[u8]>,
}

/// The places of the last readers.
#[derive(Debug, Default)]
pub struct RangeCursors(Mutex<VecDeque<Mark>>);

impl AttributeState {
    /// `None` for entries whose changes are not numbered (imported without operational attributes).
    pub fn of(entry: EntryId, header: &Header<'_>, desc: DescId) -> Option<AttributeState> {
        Some(AttributeState { entry, uuid: header.uuid?, csn: header.csn?, desc })
    }
}

impl RangeCursors {
    /// The last known place at or before the value `number`: the number there, and the row behind which it lies.
    pub fn find(&self, of: AttributeState, number: u64) -> (u64, Box<[u8]>) {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = places.iter().filter(|place| place.of == of && place.number <= number);
        before
            .max_by_key(|place| place.number)
            .map_or((0, Box::default()), |place| (place.number, place.behind.clone()))
    }

    /// Notes that the value `number` lies behind the row.
    pub fn keep(&self, of: AttributeState, number: u64, behind: &[u8]) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.iter().any(|place| place.of == of && place.number == number) {
            return;
        }
        if places.len() >= PLACES_MAX {
            places.pop_front();
        }
        places.push_back(Mark { of, number, behind: behind.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(count: u32) -> AttributeState {
        let csn = CsnParts { us: 1, count, replica: 0, modification: 0 };
        AttributeState { entry: EntryId(7), uuid: [1; 16], csn, desc: DescId(40) }
    }

    #[test]
    fn the_nearest_place_of_the_same_state_counts() {
        let cursors = RangeCursors::default();
        assert_eq!(cursors.find(state(1), 10), (0, Box::default()));
        cursors.keep(state(1), 1_000, b"row 999");
        cursors.keep(state(1), 2_000, b"row 1999");
        assert_eq!(cursors.find(state(1), 999).0, 0);
        assert_eq!(cursors.find(state(1), 1_999), (1_000, b"row 999"[..].into()));
        assert_eq!(cursors.find(state(1), 2_000), (2_000, b"row 1999"[..].into()));
        assert_eq!(cursors.find(state(2), 2_000).0, 0, "changed since");
    }

    #[test]
    fn no_more_places_are_kept_than_allowed() {
        let cursors = RangeCursors::default();
        for number in 0..10_000 {
            cursors.keep(state(1), number, b"row");
        }
        assert_eq!(cursors.0.lock().unwrap().len(), PLACES_MAX);
        assert_eq!(cursors.find(state(1), 9_999).0, 9_999);
    }
}
