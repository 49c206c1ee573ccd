//! The limits of one connection and one turn, named once.

use std::time::Duration;

/// Messages of one connection that are executed before the next connection has its turn. Clients pipeline rarely more
/// than 32; the bound only keeps one from holding up the others.
pub(crate) const MESSAGES_PER_TURN: usize = 64;

/// Output of one connection beyond which no more of its requests are executed until the socket has taken it.
pub(crate) const OUTPUT_BYTES_HIGH: usize = 256 * 1024;

/// Output that a search may produce on the loop itself; one that exceeds it starts again in the search pool, where a
/// slow client can be waited for.
pub(crate) const INLINE_OUTPUT_BYTES_MAX: usize = 256 * 1024;

/// Output that a pooled search gathers before it is handed to the loop.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// Changes that a persistent search may send before its client has taken them. There may be thousands of such searches; one that
/// is behind goes on from the log.
pub(crate) const WATCH_UNSENT_BYTES_MAX: usize = 64 * 1024;

/// Capacity beyond which a buffer is given back to the allocator instead of being kept for the next turn.
pub(crate) const BUFFER_BYTES_KEPT: usize = 1024 * 1024;

/// Connections that are accepted in one go before clients that are already there have their turn.
pub(crate) const ACCEPTS_PER_TURN: usize = 256;

/// How long a connection that is told goodbye may take to read it.
pub(crate) const FAREWELL_TIME: Duration = Duration::from_secs(2);

/// Bytes that a client may still send after it was told goodbye, so that it gets to read why.
pub(crate) const FAREWELL_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Pause after an accept failed for lack of descriptors or memory.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Failed binds in a row on one connection that are answered at once. People mistype; programs that guess go on.
pub(crate) const BIND_FAILURES_FREE: u32 = 5;

/// How long the answer to each further failed bind is held back.
pub(crate) const BIND_FAILURE_DELAY: Duration = Duration::from_secs(1);

/// What a server, and every connection in it, must keep to. From the configuration.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at once in the whole server; 0 is no limit.
    pub connections_max: usize,
    /// Requests of one connection that wait for an answer.
    pub outstanding_max: usize,
    /// Time for a TLS handshake or a PROXY header.
    pub handshake_time: Duration,
    /// Pause between two looks at the limits of time.
    pub tick: Duration,
    /// How long the answer to a failed bind is held back after too many others.
    pub bind_failure_delay: Duration,
    /// An abandoned operation is answered with `cancelled` instead of not at all (`notify-abandoned-operations`).
    pub notify_abandoned: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 0,
            outstanding_max: 256,
            handshake_time: Duration::from_secs(30),
            tick: Duration::from_secs(1),
            bind_failure_delay: BIND_FAILURE_DELAY,
            notify_abandoned: false,
        }
    }
}
