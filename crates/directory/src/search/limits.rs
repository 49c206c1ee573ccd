//! What one search may spend.

use std::time::Instant;

/// What may be spent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) size: Option<u64>,
    pub(super) deadline: Option<Instant>,
    pub(super) lookthrough: Option<u64>,
}
