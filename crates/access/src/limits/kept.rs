//! What a session keeps of its limits.

use std::time::Instant;

use super::SessionLimits;

/// What a session keeps.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// What it may spend.
    pub limits: SessionLimits,
    /// When that was found out; `None`: not yet.
    pub read_at: Option<Instant>,
}

impl Default for Kept {
    fn default() -> Self {
        Kept { limits: SessionLimits::UNLIMITED, read_at: None }
    }
}
