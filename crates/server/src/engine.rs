//! One turn of one connection: read once, execute what is complete, write once.
//!
//! 1. At most `MESSAGES_PER_TURN` messages and one read, then the next connection.
//! 2. All answers of a turn leave with one write; what the socket does not take stays in the connection, and while that
//!    is much, no more of its requests are executed.
//!
//! Here: reading, and what comes before LDAP (PROXY header, TLS). `execute` does messages, `conclude` what follows an
//! answer, `output` writing. Does not know the poller, the listeners, or the directory.

use std::{sync::Arc, time::Instant};

use runtime::{
    log::error::ErrorLog,
    proxy::{self, Header},
};

use crate::{
    connection::{Connection, Peer, Phase},
    executor::Executor,
    limits::{FAREWELL_BYTES_MAX, Limits, MESSAGES_PER_TURN},
    listener::ListenerSettings,
    log::{AccessLog, DisconnectReason},
    mailbox::Mailbox,
    metrics::LoopMetrics,
    stalls::Stalls,
    transport::{ReadBuffers, TransportError},
};

/// Why and with what words a connection ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) reason: DisconnectReason,
    pub(crate) message: String,
}

impl End {
    pub(crate) fn new(reason: DisconnectReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// What follows after a message.
pub(crate) enum Next {
    /// The next message.
    Continue,
    /// This message waits; it was not consumed.
    Wait,
    /// The connection says goodbye and ends.
    End(End),
}

/// What all connections of a loop share.
pub(crate) struct Engine {
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) limits: Limits,
    pub(crate) listeners: Arc<[ListenerSettings]>,
    pub(crate) log: AccessLog,
    pub(crate) errors: ErrorLog,
    pub(crate) metrics: Arc<LoopMetrics>,
    pub(crate) stalls: Arc<Stalls>,
    pub(crate) mailbox: Arc<Mailbox>,
    /// End of the last piece of work, which is the begin of the next: one look at the clock for each operation.
    pub(crate) moment: Instant,
    /// The calendar's time of this turn.
    pub(crate) unix_seconds: i64,
    buffers: ReadBuffers,
    /// An output buffer for whichever connection has its turn.
    pub(crate) spare_output: Vec<u8>,
    /// The request as the log writes it.
    pub(crate) fields: Vec<u8>,
    pub(crate) controls: String,
    pub(crate) wants_control_oids: bool,
    /// Some connection may have a deadline or an idle time limit, so the loop must look from time to time.
    pub(crate) has_deadlines: bool,
}

impl Engine {
    pub(crate) fn new(
        executor: Box<dyn Executor>,
        limits: Limits,
        listeners: Arc<[ListenerSettings]>,
        log: AccessLog,
        metrics: Arc<LoopMetrics>,
        stalls: Arc<Stalls>,
        mailbox: Arc<Mailbox>,
    ) -> Self {
        let wants_control_oids = log.wants_control_oids();
        Self {
            executor,
            limits,
            listeners,
            log,
            errors: stalls.errors().clone(),
            metrics,
            stalls,
            mailbox,
            moment: Instant::now(),
            unix_seconds: 0,
            buffers: ReadBuffers::new(),
            spare_output: Vec::new(),
            fields: Vec::new(),
            controls: String::new(),
            wants_control_oids,
            has_deadlines: false,
        }
    }

    /// Makes anew what a panic may have taken along.
    pub(crate) fn recover(&mut self) {
        self.metrics.panics.add(1);
        self.buffers = ReadBuffers::new();
        self.spare_output = Vec::new();
    }

    /// Serves a connection as far as fairness allows. `Some` ends it now.
    pub(crate) fn turn(&mut self, slot: usize, connection: &mut Connection) -> Option<End> {
        self.lend_output(connection);
        let ended = self.read_and_execute(slot, connection);
        let flushed = self.flush(connection);
        ended.or(flushed)
    }

    fn read_and_execute(&mut self, slot: usize, connection: &mut Connection) -> Option<End> {
        let mut budget = MESSAGES_PER_TURN;
        let mut may_read = true;
        while budget > 0 {
            let has_input = connection.input_bytes() > 0 && !connection.needs_more;
            if connection.phase == Phase::Open && has_input {
                if !connection.may_execute(self.limits.outstanding_max) {
                    return None;
                }
                let input = std::mem::take(&mut connection.input);
                let start = connection.input_start;
                let (consumed, next) =
                    self.execute_all(slot, connection, input.get(start..).unwrap_or(&[]), &mut budget);
                connection.input = input;
                connection.consume_input(consumed);
                if let Some(end) = self.follow(connection, next) {
                    return Some(end);
                }
                continue;
            }
            let may_take_more = connection.phase != Phase::Open || connection.may_execute(self.limits.outstanding_max);
            if !(connection.is_readable && may_read && may_take_more) {
                break;
            }
            // One read a turn; while saying goodbye, all there is, since nothing is done with it.
            may_read = matches!(connection.phase, Phase::Farewell { .. });
            if let Some(end) = self.receive(slot, connection, &mut budget) {
                return Some(end);
            }
        }
        None
    }

    /// Reads from the socket once and does what the phase asks for with the bytes.
    fn receive(&mut self, slot: usize, connection: &mut Connection, budget: &mut usize) -> Option<End> {
        let mut buffers = std::mem::take(&mut self.buffers);
        let received = connection.transport.receive(&mut buffers);
        let outcome = match received {
            Ok(received) => {
                let may_have_more = !received.is_drained || (connection.is_hung_up && received.raw_bytes > 0);
                connection.is_readable = may_have_more && !received.is_closed;
                connection.last_request = self.moment;
                self.metrics.bytes_read.add(received.raw_bytes as u64);
                let outcome = self.take_bytes(slot, connection, buffers.received(received), budget);
                if received.is_closed {
                    connection.is_closed_by_peer = true;
                    outcome.or(Some(End::new(DisconnectReason::ClientDisconnect, "")))
                } else {
                    outcome
                }
            }
            Err(error) => Some(self.transport_failed(connection, &error)),
        };
        self.buffers = buffers;
        outcome
    }

    fn take_bytes(
        &mut self,
        slot: usize,
        connection: &mut Connection,
        bytes: &[u8],
        budget: &mut usize,
    ) -> Option<End> {
        match &mut connection.phase {
            Phase::Farewell { discarded_bytes } => {
                *discarded_bytes += bytes.len();
                let too_many = *discarded_bytes > FAREWELL_BYTES_MAX;
                too_many.then(|| End::new(DisconnectReason::ProtocolError, ""))
            }
            Phase::ProxyHeader => {
                connection.keep_input(bytes);
                self.read_proxy_header(connection)
            }
            Phase::Open => {
                self.note_handshake(connection);
                if bytes.is_empty() {
                    return None;
                }
                connection.needs_more = false;
                if connection.input_bytes() > 0 {
                    connection.keep_input(bytes);
                    return None;
                }
                let (consumed, next) = self.execute_all(slot, connection, bytes, budget);
                connection.keep_input(bytes.get(consumed..).unwrap_or(&[]));
                self.follow(connection, next)
            }
        }
    }

    fn read_proxy_header(&mut self, connection: &mut Connection) -> Option<End> {
        match proxy::parse(connection.input.get(connection.input_start..).unwrap_or(&[])) {
            Ok(Header::NeedMore) => None,
            Ok(Header::Complete { length, addresses }) => {
                connection.consume_input(length);
                if let Some(addresses) = addresses {
                    connection.peer = Peer::Tcp { remote: addresses.source, local: addresses.destination };
                }
                connection.deadline = None;
                connection.phase = Phase::Open;
                self.open(connection)
            }
            Err(error) => {
                self.metrics.protocol_errors.add(1);
                self.log_connect(connection);
                Some(End::new(DisconnectReason::SecurityProblem, error.to_string()))
            }
        }
    }

    /// Begins LDAP, or the TLS handshake before it.
    pub(crate) fn open(&mut self, connection: &mut Connection) -> Option<End> {
        self.log_connect(connection);
        let settings = self.listeners.get(connection.listener)?;
        if let (true, Some(tls)) = (settings.use_tls, &settings.tls) {
            let config = tls.config();
            if let Err(error) = connection.transport.start_tls(config) {
                return Some(End::new(DisconnectReason::SecurityProblem, error.to_string()));
            }
            self.begin_handshake(connection);
            // With a PROXY header, the first bytes of the handshake may have come along.
            let early = connection.input_bytes() > 0;
            if early {
                return Some(End::new(
                    DisconnectReason::SecurityProblem,
                    "TLS bytes arrived together with the PROXY header",
                ));
            }
        }
        None
    }

    pub(crate) fn begin_handshake(&mut self, connection: &mut Connection) {
        let until = self.moment + self.limits.handshake_time;
        self.limit_time(connection, until, DisconnectReason::SecurityProblem);
    }

    /// Ends the connection for `reason` unless the deadline is taken away before.
    pub(crate) fn limit_time(&mut self, connection: &mut Connection, until: Instant, reason: DisconnectReason) {
        connection.deadline = Some((until, reason));
        self.has_deadlines = true;
    }

    fn note_handshake(&mut self, connection: &mut Connection) {
        let was_handshaking = matches!(connection.deadline, Some((_, DisconnectReason::SecurityProblem)));
        if was_handshaking && connection.transport.is_tls() && !connection.transport.is_handshaking() {
            connection.deadline = None;
            connection.session.security_strength_bits = connection.transport.encryption_bits();
            self.metrics.tls_handshakes.add(1);
        }
    }

    pub(crate) fn transport_failed(&mut self, connection: &mut Connection, error: &TransportError) -> End {
        match error {
            TransportError::Tls(_) => {
                self.metrics.tls_failures.add(1);
                // The plaintext that may be queued must not follow a failed handshake.
                connection.output.clear();
                connection.output_start = 0;
                End::new(DisconnectReason::SecurityProblem, error.to_string())
            }
            TransportError::Io(io) if io.kind() == std::io::ErrorKind::ConnectionReset => {
                End::new(DisconnectReason::ClientDisconnect, "")
            }
            TransportError::Io(_) => End::new(DisconnectReason::IoError, error.to_string()),
        }
    }
}
