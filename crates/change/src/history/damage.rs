//! Records of the logs that cannot be read: a reader that meets one notes it here, and the history then begins behind
//! its segment.
//!
//! Knows no files; who lets the segments go is [`retention`](super::retention).

use std::sync::{Mutex, MutexGuard, PoisonError};

use store::StoreError;

/// What is known of one backend's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Damage {
    /// The last record of the log that cannot be read, or one in its segment; 0 for none.
    pub(super) seq: u64,
    /// What the log says of it, the file's name included.
    pub(super) reason: String,
    is_told: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Damages {
    lanes: Box<[Mutex<Damage>]>,
}

impl Damages {
    /// For so many backends.
    pub(super) fn new(lanes: usize) -> Self {
        Self { lanes: (0..lanes).map(|_| Mutex::default()).collect() }
    }

    /// Notes that a record cannot be read; `false` when the error does not speak of damage.
    pub(super) fn note(&self, lane: usize, seq: u64, error: &StoreError) -> bool {
        if !matches!(error, StoreError::LogDamaged(_)) {
            return false;
        }
        if let Some(mut damage) = self.lock(lane).filter(|damage| damage.seq < seq) {
            *damage = Damage { seq, reason: error.to_string(), is_told: false };
        }
        true
    }

    /// The last record that cannot be read; 0 for none.
    pub(super) fn seq(&self, lane: usize) -> u64 {
        self.lock(lane).map_or(0, |damage| damage.seq)
    }

    /// What was not reported yet.
    pub(super) fn untold(&self, lane: usize) -> Option<Damage> {
        let mut damage = self.lock(lane).filter(|damage| damage.seq > 0 && !damage.is_told)?;
        damage.is_told = true;
        Some(damage.clone())
    }

    fn lock(&self, lane: usize) -> Option<MutexGuard<'_, Damage>> {
        Some(self.lanes.get(lane)?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
