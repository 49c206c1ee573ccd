//! The log of one backend, as the history reads it.

use std::sync::Arc;

use store::log::Log;

use super::kept::{Kept, KeptBackend};

/// The log of one backend.
pub struct LogSource {
    /// `backend-id`
    pub id: String,
    /// [`store::Backend::data_uuid`]
    pub data: [u8; 16],
    /// Its log.
    pub log: Arc<dyn Log>,
}

impl LogSource {
    /// The first record that the log still has, or the next one.
    pub(super) fn first_seq(&self) -> u64 {
        self.log.segments().first().map_or_else(|| self.log.end().seq, |segment| segment.start.seq)
    }

    /// What is remembered of it, unless its data was exchanged.
    pub(super) fn kept<'k>(&self, kept: &'k Kept) -> Option<&'k KeptBackend> {
        let data = u128::from_be_bytes(self.data);
        kept.backends.iter().find(|backend| backend.id == self.id && backend.data == data)
    }
}
