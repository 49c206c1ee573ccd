//! Why a sort fails, and the limit of its keys.

use super::slot::Slot;

/// Longest key that the sorter takes; the store hashes longer ones before.
pub const KEY_BYTES_MAX: usize = 255;

/// Why a sort failed.
#[derive(Debug, thiserror::Error)]
pub enum SortError {
    /// A key is longer than [`KEY_BYTES_MAX`].
    #[error("an index key has {length} bytes, at most {KEY_BYTES_MAX} are allowed")]
    KeyTooLong {
        /// Its length.
        length: usize,
    },
    /// There is no such slot.
    #[error("the sort has no slot {slot}")]
    UnknownSlot {
        /// The slot asked for.
        slot: Slot,
    },
    /// More than 4 GiB of keys at once.
    #[error("a batch has more than 4 GiB of index keys")]
    BatchTooLarge,
    /// Ids must ascend from batch to batch.
    #[error("entry ids must ascend: {first_id} came after {last_id}")]
    IdsDescend {
        /// First id of the batch refused.
        first_id: u64,
        /// Last id before it.
        last_id: u64,
    },
    /// The temporary file does not hold what was written.
    #[error("the temporary file of the sort is damaged")]
    RunDamaged,
    /// The disk is full or failing.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
}
