//! The limits of operations and their answers, named once.

use std::time::Duration;

use runtime::limits::NetworkLimits;

/// How long running operations may take after a stop was asked for.
pub const STOP_TIME_MAX: Duration = Duration::from_secs(10);

/// Output that a search may produce on the loop itself; one that exceeds it starts again in the search pool, where a
/// slow client can be waited for.
pub(crate) const INLINE_OUTPUT_BYTES_MAX: usize = 256 * 1024;

/// Output that a pooled search gathers before it is handed to the loop.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// Changes that a persistent search may send before its client has taken them. There may be thousands of such searches;
/// one that is behind goes on from the log.
pub(crate) const WATCH_UNSENT_BYTES_MAX: usize = 64 * 1024;

/// Failed binds in a row on one connection that are answered at once. People mistype; programs that guess go on.
pub(crate) const BIND_FAILURES_FREE: u32 = 5;

/// How long the answer to each further failed bind is held back.
pub(crate) const BIND_FAILURE_DELAY: Duration = Duration::from_secs(1);

/// How long the first request of a connection waits for the name of the client's host, where access rules ask for it.
pub(crate) const HOST_NAME_TIME_MAX: Duration = Duration::from_secs(2);

/// What a server, and every connection in it, must keep to. From the configuration.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Limits of connections.
    pub network: NetworkLimits,
    /// Requests of one connection that wait for an answer.
    pub outstanding_max: usize,
    /// How long the answer to a failed bind is held back after too many others.
    pub bind_failure_delay: Duration,
    /// An abandoned operation is answered with `cancelled` instead of not at all (`notify-abandoned-operations`).
    pub notify_abandoned: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            network: NetworkLimits::default(),
            outstanding_max: 256,
            bind_failure_delay: BIND_FAILURE_DELAY,
            notify_abandoned: false,
        }
    }
}
