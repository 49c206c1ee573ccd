//! What all connections of one loop share below their protocol: the time of the turn, limits, counters, buffers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::connection::Connection;
use crate::end::{End, EndReason};
use crate::limits::NetworkLimits;
use crate::listener::ListenerSettings;
use crate::log::error::ErrorLog;
use crate::metrics::NetworkMetrics;
use crate::tls::Serving;
use crate::transport::{ReadBuffers, TransportError};

/// See the module.
#[derive(Debug)]
pub struct Core {
    /// End of the last piece of work, which is the begin of the next: one look at the clock for each operation.
    pub moment: Instant,
    /// The calendar's time of this turn.
    pub unix_seconds: i64,
    /// The minute that it is, since 1970.
    pub minute: u64,
    /// What the network side counts.
    pub metrics: Arc<NetworkMetrics>,
    /// Some connection may have a deadline or an idle time limit, so the loop must look from time to time.
    pub has_deadlines: bool,
    pub(crate) limits: NetworkLimits,
    pub(crate) listeners: Arc<[ListenerSettings]>,
    pub(crate) errors: ErrorLog,
    pub(crate) buffers: ReadBuffers,
    /// An output buffer for whichever connection has its turn.
    pub(crate) spare_output: Vec<u8>,
}

impl Core {
    pub(crate) fn new(
        limits: NetworkLimits,
        listeners: Arc<[ListenerSettings]>,
        metrics: Arc<NetworkMetrics>,
        errors: ErrorLog,
    ) -> Self {
        Self {
            moment: Instant::now(),
            unix_seconds: 0,
            minute: 0,
            metrics,
            has_deadlines: false,
            limits,
            listeners,
            errors,
            buffers: ReadBuffers::new(),
            spare_output: Vec::new(),
        }
    }

    /// Makes anew what a panic may have taken along.
    pub(crate) fn recover(&mut self) {
        self.metrics.panics.add(1);
        self.buffers = ReadBuffers::new();
        self.spare_output = Vec::new();
    }

    /// Holds a connection's answers back for a while, and executes no more of its requests until then.
    pub fn hold<S>(&mut self, connection: &mut Connection<S>, time: Duration) {
        connection.held_until = Some(self.moment + time);
        self.has_deadlines = true;
    }

    /// Puts TLS on top of a connection once everything that it was sent has left.
    ///
    /// # Errors
    /// How the connection ends if that is not possible.
    pub fn start_tls<S>(&mut self, connection: &mut Connection<S>, serving: Arc<Serving>) -> Result<(), End> {
        if let Some(end) = self.flush(connection) {
            return Err(end);
        }
        if connection.output_bytes() > 0 {
            return Err(End::new(EndReason::IoTimeout, "the client does not read"));
        }
        if let Err(error) = connection.transport.start_tls(serving) {
            return Err(End::new(EndReason::SecurityProblem, error.to_string()));
        }
        self.moment = Instant::now();
        self.begin_handshake(connection);
        self.lend_output(connection);
        Ok(())
    }

    pub(crate) fn begin_handshake<S>(&mut self, connection: &mut Connection<S>) {
        let until = self.moment + self.limits.handshake_time;
        self.limit_time(connection, until, EndReason::SecurityProblem);
    }

    /// Ends the connection for `reason` unless the deadline is taken away before.
    pub(crate) fn limit_time<S>(&mut self, connection: &mut Connection<S>, until: Instant, reason: EndReason) {
        connection.deadline = Some((until, reason));
        self.has_deadlines = true;
    }

    pub(crate) fn transport_failed<S>(&mut self, connection: &mut Connection<S>, error: &TransportError) -> End {
        match error {
            TransportError::Tls(_) => {
                self.metrics.tls_failures.add(1);
                // The plaintext that may be queued must not follow a failed handshake.
                connection.output.clear();
                connection.output_start = 0;
                End::new(EndReason::SecurityProblem, error.to_string())
            }
            TransportError::Io(io) if io.kind() == std::io::ErrorKind::ConnectionReset => {
                End::new(EndReason::ClientDisconnect, "")
            }
            TransportError::Io(_) => End::new(EndReason::IoError, error.to_string()),
        }
    }
}
