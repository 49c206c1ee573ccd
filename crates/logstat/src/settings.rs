//! What is asked of an analysis.

use crate::clock::Limit;

/// What to look at, and how much to keep.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Rows of each list.
    pub rows: usize,
    /// Base DNs that operations are counted by; found in the names if there are none.
    pub base_dns: Vec<String>,
    /// From so long on, in nanoseconds, an operation may have waited in a stall.
    pub stall_ns: u64,
    /// Addresses of clients that are left out.
    pub excluded_clients: Vec<String>,
    /// Lines before are left out.
    pub from: Option<Limit>,
    /// Lines after are left out.
    pub until: Option<Limit>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rows: 20,
            base_dns: Vec::new(),
            stall_ns: 1_000_000_000,
            excluded_clients: Vec::new(),
            from: None,
            until: None,
        }
    }
}
