//! One turn of one connection: read once, have the protocol execute what is complete, write once.
//!
//! 1. At most `REQUESTS_PER_TURN` requests and one read, then the next connection.
//! 2. All answers of a turn leave with one write; what the socket does not take stays in the connection, and while that
//!    is much, no more of its requests are executed.
//!
//! Here: reading, and what comes before the protocol (PROXY header, TLS). Does not know the poller or the listening
//! sockets.

use crate::connection::{Connection, Peer, Phase};
use crate::end::{ADDRESS_NOT_ALLOWED, End, EndReason};
use crate::limits::{FAREWELL_BYTES_MAX, FAREWELL_TIME, OUTPUT_BYTES_HIGH, REQUESTS_PER_TURN};
use crate::loop_core::Core;
use crate::protocol::{Next, Protocol};
use crate::proxy::{self, Header};

/// What a turn works with.
pub(crate) struct Turn<'t, P: Protocol> {
    pub(crate) core: &'t mut Core,
    pub(crate) protocol: &'t mut P,
    pub(crate) connection: &'t mut Connection<P::State>,
}

/// Whether there is something that a turn could do.
pub(crate) fn has_work<P: Protocol>(protocol: &P, connection: &Connection<P::State>) -> bool {
    match connection.phase {
        Phase::Open => {
            let has_input = connection.input_bytes() > 0 && !connection.needs_more;
            (has_input || connection.is_readable) && connection.may_take() && protocol.may_take(&connection.state)
        }
        Phase::ProxyHeader | Phase::Farewell { .. } => connection.is_readable,
    }
}

impl<P: Protocol> Turn<'_, P> {
    /// Serves the connection as far as fairness allows. `Some` ends it now.
    pub(crate) fn run(&mut self) -> Option<End> {
        self.core.lend_output(self.connection);
        let ended = self.read_and_execute();
        let flushed = self.flush();
        ended.or(flushed)
    }

    fn flush(&mut self) -> Option<End> {
        let may_move = self.connection.output_bytes() > 0 && self.connection.held_until.is_none();
        let failed = self.core.flush(self.connection);
        if may_move && failed.is_none() && self.connection.output_bytes() < OUTPUT_BYTES_HIGH {
            self.protocol.drained(&mut self.connection.state);
        }
        failed
    }

    fn may_take(&self) -> bool {
        self.connection.may_take() && self.protocol.may_take(&self.connection.state)
    }

    fn read_and_execute(&mut self) -> Option<End> {
        let mut budget = REQUESTS_PER_TURN;
        let mut may_read = true;
        while budget > 0 {
            let has_input = self.connection.input_bytes() > 0 && !self.connection.needs_more;
            if self.connection.phase == Phase::Open && has_input {
                if !self.may_take() {
                    return None;
                }
                let input = std::mem::take(&mut self.connection.input);
                let start = self.connection.input_start;
                let (consumed, next) = self.take(input.get(start..).unwrap_or(&[]), &mut budget);
                self.connection.input = input;
                self.connection.consume_input(consumed);
                if let Some(end) = self.follow(next) {
                    return Some(end);
                }
                continue;
            }
            let may_take_more = self.connection.phase != Phase::Open || self.may_take();
            if !(self.connection.is_readable && may_read && may_take_more) {
                break;
            }
            // One read a turn; while saying goodbye, all there is, since nothing is done with it.
            may_read = matches!(self.connection.phase, Phase::Farewell { .. });
            if let Some(end) = self.receive(&mut budget) {
                return Some(end);
            }
        }
        None
    }

    fn take(&mut self, bytes: &[u8], budget: &mut usize) -> (usize, Next) {
        let (consumed, next) = self.protocol.take(self.core, self.connection, bytes, budget);
        self.connection.needs_more = matches!(next, Next::NeedMore);
        (consumed, next)
    }

    /// Reads from the socket once and does what the phase asks for with the bytes.
    fn receive(&mut self, budget: &mut usize) -> Option<End> {
        let mut buffers = std::mem::take(&mut self.core.buffers);
        let received = self.connection.transport.receive(&mut buffers);
        let outcome = match received {
            Ok(received) => {
                let connection = &mut *self.connection;
                let may_have_more = !received.is_drained || (connection.is_hung_up && received.raw_bytes > 0);
                connection.is_readable = may_have_more && !received.is_closed;
                connection.last_request = self.core.moment;
                self.core.metrics.bytes_read.add(received.raw_bytes as u64);
                let outcome = self.take_bytes(buffers.received(received), budget);
                if received.is_closed {
                    self.connection.is_closed_by_peer = true;
                    outcome.or(Some(End::new(EndReason::ClientDisconnect, "")))
                } else {
                    outcome
                }
            }
            Err(error) => Some(self.core.transport_failed(self.connection, &error)),
        };
        self.core.buffers = buffers;
        outcome
    }

    fn take_bytes(&mut self, bytes: &[u8], budget: &mut usize) -> Option<End> {
        match &mut self.connection.phase {
            Phase::Farewell { discarded_bytes } => {
                *discarded_bytes += bytes.len();
                let too_many = *discarded_bytes > FAREWELL_BYTES_MAX;
                too_many.then(|| End::new(EndReason::ProtocolError, ""))
            }
            Phase::ProxyHeader => {
                self.connection.keep_input(bytes);
                self.read_proxy_header()
            }
            Phase::Open => {
                self.note_handshake();
                if bytes.is_empty() {
                    return None;
                }
                self.connection.needs_more = false;
                if self.connection.input_bytes() > 0 {
                    self.connection.keep_input(bytes);
                    return None;
                }
                let (consumed, next) = self.take(bytes, budget);
                self.connection.keep_input(bytes.get(consumed..).unwrap_or(&[]));
                self.follow(next)
            }
        }
    }

    fn read_proxy_header(&mut self) -> Option<End> {
        let connection = &mut *self.connection;
        match proxy::parse(connection.input.get(connection.input_start..).unwrap_or(&[])) {
            Ok(Header::NeedMore) => None,
            Ok(Header::Complete { length, addresses }) => {
                connection.consume_input(length);
                if let Some(addresses) = addresses {
                    connection.peer = Peer::Tcp { remote: addresses.source, local: addresses.destination };
                }
                connection.deadline = None;
                connection.phase = Phase::Open;
                if let Peer::Tcp { remote, .. } = connection.peer
                    && !self.protocol.admits(connection.listener, remote.ip())
                {
                    return self.reject_client();
                }
                self.open()
            }
            Err(error) => {
                self.core.metrics.protocol_errors.add(1);
                self.protocol.open(self.connection);
                Some(End::new(EndReason::SecurityProblem, error.to_string()))
            }
        }
    }

    /// A proxy is trusted, and the client behind it may not connect.
    fn reject_client(&mut self) -> Option<End> {
        self.core.metrics.connections_rejected.add(1);
        self.protocol.open(self.connection);
        let settings = self.core.listeners.get(self.connection.listener);
        if settings.is_some_and(|settings| settings.tls.is_none()) {
            let connection = &mut *self.connection;
            let reason = EndReason::Rejected;
            self.protocol.last_words(&connection.state, &mut connection.output, reason, ADDRESS_NOT_ALLOWED);
        }
        self.end(End::new(EndReason::Rejected, ADDRESS_NOT_ALLOWED))
    }

    /// Begins the protocol, or the TLS handshake before it.
    pub(crate) fn open(&mut self) -> Option<End> {
        self.protocol.open(self.connection);
        self.core.has_deadlines |= self.connection.held_until.is_some();
        let settings = self.core.listeners.get(self.connection.listener)?;
        if let Some(tls) = &settings.tls {
            if let Err(error) = self.connection.transport.start_tls(tls.serving()) {
                return Some(End::new(EndReason::SecurityProblem, error.to_string()));
            }
            self.core.begin_handshake(self.connection);
            // With a PROXY header, the first bytes of the handshake may have come along.
            if self.connection.input_bytes() > 0 {
                let text = "TLS bytes arrived together with the PROXY header";
                return Some(End::new(EndReason::SecurityProblem, text));
            }
        }
        None
    }

    fn note_handshake(&mut self) {
        let connection = &mut *self.connection;
        let was_handshaking = matches!(connection.deadline, Some((_, EndReason::SecurityProblem)));
        if was_handshaking && connection.transport.is_tls() && !connection.transport.is_handshaking() {
            connection.deadline = None;
            if let Some(facts) = connection.transport.tls_facts() {
                self.protocol.secure(&mut connection.state, facts);
            }
            self.core.metrics.tls_handshakes.add(1);
        }
    }

    fn follow(&mut self, next: Next) -> Option<End> {
        let Next::End(end) = next else { return None };
        self.end(end)
    }

    /// Ends the connection, unless the client should get to read the last answers first.
    pub(crate) fn end(&mut self, end: End) -> Option<End> {
        if end.is_farewell() { self.say_farewell(end) } else { Some(end) }
    }

    /// An end that the client should get to read: the last answers are sent, and what still comes in is thrown away
    /// until the client closes. Closing at once could take the answers away from it (a reset discards them).
    fn say_farewell(&mut self, end: End) -> Option<End> {
        if let Some(failed) = self.flush() {
            return Some(failed);
        }
        if self.connection.is_closed_by_peer {
            return Some(end);
        }
        self.protocol.close(self.connection, &end);
        self.connection.transport.shut_down();
        self.connection.phase = Phase::Farewell { discarded_bytes: 0 };
        self.connection.consume_input(self.connection.input.len());
        self.connection.discard_output();
        let until = self.core.moment + FAREWELL_TIME;
        self.core.limit_time(self.connection, until, end.reason);
        None
    }
}

/// A last word, if the socket takes it.
pub(crate) fn say_last_words<P: Protocol>(turn: &mut Turn<'_, P>, reason: EndReason, text: &str) {
    let connection = &mut *turn.connection;
    if connection.is_blocked || connection.phase != Phase::Open || connection.transport.is_handshaking() {
        return;
    }
    turn.core.lend_output(connection);
    turn.protocol.last_words(&connection.state, &mut connection.output, reason, text);
    // Best effort: the connection ends in any case.
    let _ = turn.core.flush(connection);
}
