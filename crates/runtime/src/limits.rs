//! The limits of one connection and one turn, named once.

use std::time::Duration;

/// Requests of one connection that are executed before the next connection has its turn. Clients pipeline rarely more
/// than 32; the bound only keeps one from holding up the others.
pub(crate) const REQUESTS_PER_TURN: usize = 64;

/// Output of one connection beyond which no more of its requests are executed until the socket has taken it.
pub(crate) const OUTPUT_BYTES_HIGH: usize = 256 * 1024;

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

/// What a server, and every connection in it, must keep to.
#[derive(Debug, Clone)]
pub struct NetworkLimits {
    /// Connections at once in the whole server; 0 is no limit.
    pub connections_max: usize,
    /// Time for a TLS handshake or a PROXY header.
    pub handshake_time: Duration,
    /// Pause between two looks at the limits of time.
    pub tick: Duration,
}

impl Default for NetworkLimits {
    fn default() -> Self {
        Self { connections_max: 0, handshake_time: Duration::from_secs(30), tick: Duration::from_secs(1) }
    }
}
