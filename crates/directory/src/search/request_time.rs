//! When a request came.

use std::time::{Instant, SystemTime};

/// When a request came: the clocks are read once, by the server.
#[derive(Clone, Copy, Debug)]
pub struct RequestTime {
    /// For time limits.
    pub started: Instant,
    /// For matching rules that are relative to now.
    pub unix_seconds: i64,
}

impl RequestTime {
    /// Reads both clocks.
    #[must_use]
    pub fn now() -> RequestTime {
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        RequestTime { started: Instant::now(), unix_seconds: i64::try_from(unix.as_secs()).unwrap_or(i64::MAX) }
    }
}
