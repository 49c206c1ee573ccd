//! One turn of one connection: read once, execute what is complete, write once.
//!
//! 1. At most `MESSAGES_PER_TURN` messages and one read, then the next connection.
//! 2. All answers of a turn leave with one write; what the socket does not take stays in the connection, and while that
//!    is much, no more of its requests are executed.
//! 3. A panic in one operation is answered with `other` and ends neither the connection nor the loop.
//!
//! Does not know the poller, the listeners, or the directory.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use ber::Frame;
use ldap::{Message, MessageError, Request, ResultCode, encode};

use crate::{
    answer::Answer,
    connection::{Connection, Outstanding, Phase},
    executor::{Call, Executor, Step},
    limits::{BUFFER_BYTES_KEPT, FAREWELL_BYTES_MAX, FAREWELL_TIME, Limits, MESSAGES_PER_TURN},
    listener::ListenerSettings,
    log::{AccessLog, Category, DisconnectReason, ErrorLog, OperationIds, ResultFields, error::message_id, request},
    mailbox::{Address, Encode, Mailbox},
    metrics::{LoopMetrics, OperationKind},
    proxy::{self, Header},
    reply,
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
    pub(crate) mailbox: Arc<Mailbox>,
    /// End of the last piece of work, which is the begin of the next: one look at the clock for each operation.
    pub(crate) moment: Instant,
    /// The calendar's time of this turn.
    pub(crate) unix_seconds: i64,
    buffers: ReadBuffers,
    /// An output buffer for whichever connection has its turn.
    spare_output: Vec<u8>,
    /// The request as the log writes it.
    fields: Vec<u8>,
    controls: String,
    wants_control_oids: bool,
    /// Some connection may have a deadline, so the loop must look from time to time.
    pub(crate) has_deadlines: bool,
}

impl Engine {
    pub(crate) fn new(
        executor: Box<dyn Executor>,
        limits: Limits,
        listeners: Arc<[ListenerSettings]>,
        log: AccessLog,
        errors: ErrorLog,
        metrics: Arc<LoopMetrics>,
        mailbox: Arc<Mailbox>,
    ) -> Self {
        let wants_control_oids = log.wants_control_oids();
        Self {
            executor,
            limits,
            listeners,
            log,
            errors,
            metrics,
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
                    connection.peer =
                        crate::connection::Peer::Tcp { remote: addresses.source, local: addresses.destination };
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
            if let Err(error) = connection.transport.start_tls(&config) {
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
    fn limit_time(&mut self, connection: &mut Connection, until: Instant, reason: DisconnectReason) {
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

    fn transport_failed(&mut self, connection: &mut Connection, error: &TransportError) -> End {
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

    /// Executes complete messages of `bytes` and returns how many bytes they had.
    fn execute_all(
        &mut self,
        slot: usize,
        connection: &mut Connection,
        bytes: &[u8],
        budget: &mut usize,
    ) -> (usize, Next) {
        let request_bytes_max =
            self.listeners.get(connection.listener).map_or(0, |settings| settings.request_bytes_max);
        let mut consumed = 0;
        while *budget > 0 && connection.may_execute(self.limits.outstanding_max) {
            let rest = bytes.get(consumed..).unwrap_or(&[]);
            let length = match ber::frame(rest, request_bytes_max) {
                _ if rest.is_empty() => break,
                Ok(Frame::Complete(length)) => length,
                Ok(Frame::NeedMore) => {
                    connection.needs_more = true;
                    break;
                }
                Err(error) => return (consumed, Next::End(self.bad_frame(connection, error, request_bytes_max))),
            };
            *budget -= 1;
            let is_last = consumed + length == bytes.len();
            match self.execute(slot, connection, rest.get(..length).unwrap_or(&[]), is_last) {
                Next::Continue => consumed += length,
                Next::Wait => return (consumed, Next::Wait),
                Next::End(end) => return (consumed + length, Next::End(end)),
            }
        }
        (consumed, Next::Continue)
    }

    /// Decodes and executes one message.
    fn execute(&mut self, slot: usize, connection: &mut Connection, bytes: &[u8], is_last: bool) -> Next {
        let message = match Message::decode(bytes) {
            Ok(message) => message,
            Err(error) => return self.bad_message(connection, &error),
        };
        if self.must_wait(connection, &message.op) {
            return Next::Wait;
        }
        let kind = request::kind(&message.op);
        let ids = OperationIds { connection: connection.id, operation: connection.next_operation, message: message.id };
        connection.next_operation += 1;
        self.metrics.of(kind).requests.add(1);
        self.log_request(kind, ids, &message);
        let next = match &message.op {
            Request::Unbind => return Next::End(End::new(DisconnectReason::Unbind, "")),
            Request::Abandon(target) => Ok(self.abandon(connection, *target)),
            Request::Extended(extended) if reply::is_for_connection(extended.name) => {
                match self.connection_extended(connection, ids, extended, &message, is_last) {
                    Ok(None) => return Next::Continue,
                    Ok(Some(answer)) => Ok(answer),
                    Err(end) => return Next::End(end),
                }
            }
            _ => self.refuse(connection, ids, &message).map_or_else(
                || self.execute_outside(slot, connection, ids, kind, bytes, &message),
                |answer| Ok(answer),
            ),
        };
        if let Ok(answer) = next {
            self.conclude(connection, kind, ids, answer);
        }
        Next::Continue
    }

    /// A bind waits for what runs, and stops what can be stopped (RFC 4511 §4.2.1).
    fn must_wait(&mut self, connection: &mut Connection, request: &Request<'_>) -> bool {
        connection.waits_for_outstanding = false;
        if !matches!(request, Request::Bind(_)) || connection.outstanding.is_empty() {
            return false;
        }
        for operation in connection.outstanding.iter_mut().filter(|operation| operation.is_abortable) {
            operation.stream.cancel();
        }
        connection.waits_for_outstanding = true;
        true
    }

    /// Refuses what the connection's own limits do not allow.
    fn refuse(&mut self, connection: &mut Connection, ids: OperationIds, message: &Message<'_>) -> Option<Answer> {
        let (code, text) = if connection.outstanding.len() >= self.limits.outstanding_max {
            self.metrics.busy.add(1);
            (ResultCode::BUSY, "too many operations of this connection wait for their end")
        } else if connection.outstanding_by_message(ids.message).is_some() {
            self.metrics.protocol_errors.add(1);
            (ResultCode::PROTOCOL_ERROR, "the message id is that of an operation that is not answered yet")
        } else if self.is_refused_version(connection, &message.op) {
            self.metrics.protocol_errors.add(1);
            (ResultCode::PROTOCOL_ERROR, "this LDAP version is not supported here; use version 3")
        } else {
            return None;
        };
        reply::failure(&mut connection.output, ids.message, &message.op, code, text);
        Some(Answer::of(code, text))
    }

    fn is_refused_version(&self, connection: &Connection, request: &Request<'_>) -> bool {
        let Request::Bind(bind) = request else { return false };
        let allows_v2 = self.listeners.get(connection.listener).is_some_and(|settings| settings.allow_ldap_v2);
        !(bind.version == 3 || (bind.version == 2 && allows_v2))
    }

    /// Hands a request to the executor. `Err` if the answer comes later.
    fn execute_outside(
        &mut self,
        slot: usize,
        connection: &mut Connection,
        ids: OperationIds,
        kind: OperationKind,
        bytes: &[u8],
        message: &Message<'_>,
    ) -> Result<Answer, ()> {
        let mark = connection.output.len();
        let address = Address { slot, connection: connection.id, operation: ids.operation };
        let executor = self.executor.as_mut();
        let mut call = Call::new(
            &connection.session,
            ids,
            bytes,
            &mut connection.output,
            self.moment,
            self.unix_seconds,
            self.wants_control_oids,
            &self.mailbox,
            address,
        );
        let step = catch_unwind(AssertUnwindSafe(|| executor.execute(&mut call, message)));
        let taken = call.taken();
        match step {
            Ok(Step::Done(answer)) => Ok(answer),
            Ok(Step::Pending) => {
                if let Some(taken) = taken {
                    connection.is_exclusive = kind == OperationKind::Bind;
                    connection.outstanding.push(Outstanding {
                        kind,
                        ids,
                        begun: self.moment,
                        fields: self.fields.as_slice().into(),
                        request_controls: self.controls.as_str().into(),
                        stream: taken.stream,
                        is_abortable: taken.is_abortable,
                        is_abandoned: false,
                        cancelled_by: None,
                        unacknowledged_bytes: 0,
                    });
                }
                self.moment = Instant::now();
                Err(())
            }
            Err(panic) => {
                connection.output.truncate(mark);
                self.metrics.panics.add(1);
                let text = reply::panic_text(panic.as_ref());
                self.errors.error(
                    Category::Core,
                    message_id::PANIC,
                    format_args!(
                        "conn={} op={} msgID={}: the operation failed by a defect of the server: {text}",
                        ids.connection, ids.operation, ids.message
                    ),
                );
                reply::failure(&mut connection.output, ids.message, &message.op, ResultCode::OTHER, reply::DEFECT);
                Ok(Answer::of(ResultCode::OTHER, reply::DEFECT))
            }
        }
    }

    /// An operation that was given away has ended.
    pub(crate) fn finished(&mut self, connection: &mut Connection, operation: u64, encode: Encode) {
        let Some(at) = connection.outstanding.iter().position(|one| one.ids.operation == operation) else { return };
        let outstanding = connection.outstanding.swap_remove(at);
        if connection.outstanding.is_empty() && connection.outstanding.capacity() > 8 {
            connection.outstanding = Vec::new();
        }
        if outstanding.kind == OperationKind::Bind {
            connection.is_exclusive = false;
        }
        self.lend_output(connection);
        let mark = connection.output.len();
        let answer = encode(&mut connection.output);
        if outstanding.is_abandoned && !self.limits.notify_abandoned && outstanding.cancelled_by.is_none() {
            connection.output.truncate(mark);
        }
        if answer.code == ResultCode::CANCELED {
            self.metrics.abandoned.add(1);
        }
        let begun = std::mem::replace(&mut self.moment, outstanding.begun);
        let was_cancelled = answer.code == ResultCode::CANCELED;
        let fields = std::mem::replace(&mut self.fields, outstanding.fields.into_vec());
        let controls = std::mem::replace(&mut self.controls, outstanding.request_controls.into_string());
        self.conclude(connection, outstanding.kind, outstanding.ids, answer);
        self.fields = fields;
        self.controls = controls;
        if let Some(canceller) = outstanding.cancelled_by {
            self.moment = begun;
            self.answer_cancel(connection, canceller, was_cancelled);
        }
    }

    /// Makes the log name an extended operation whose request is gone.
    pub(crate) fn set_extended_fields(&mut self, oid: &str) {
        self.fields.clear();
        request::extended_fields(&mut self.fields, oid.as_bytes());
        self.controls.clear();
    }

    /// Counts and logs an answered operation, and takes over a new identity.
    pub(crate) fn conclude(
        &mut self,
        connection: &mut Connection,
        kind: OperationKind,
        ids: OperationIds,
        mut answer: Answer,
    ) {
        let now = Instant::now();
        let elapsed = now.duration_since(self.moment);
        self.moment = now;
        if let Some(identity) = answer.new_identity.take() {
            connection.session.identity = identity;
        }
        self.count(kind, &answer, elapsed);
        if !self.log.is_enabled() {
            return;
        }
        let result = ResultFields {
            code: answer.code.as_i32(),
            message: &answer.message,
            auth_failure: answer.auth_failure.as_deref(),
            auth_dn: answer.auth_dn.as_deref(),
            entries: answer.entries,
            is_unindexed: answer.is_unindexed,
            additional: answer.additional.as_bytes(),
            elapsed,
            response_controls: &answer.response_controls,
        };
        self.log.response(kind, ids, &self.fields, &self.controls, &result);
    }

    fn count(&self, kind: OperationKind, answer: &Answer, elapsed: Duration) {
        self.metrics.of(kind).record(elapsed);
        if kind == OperationKind::Search {
            self.metrics.entries_returned.add(answer.entries.unwrap_or(0));
            self.metrics.references_returned.add(answer.references);
            self.metrics.searches_unindexed.add(u64::from(answer.is_unindexed));
        }
        if kind == OperationKind::Bind && answer.code == ResultCode::INVALID_CREDENTIALS {
            self.metrics.binds_failed.add(1);
        }
        if answer.code == ResultCode::BUSY {
            self.metrics.busy.add(1);
        }
    }

    fn log_request(&mut self, kind: OperationKind, ids: OperationIds, message: &Message<'_>) {
        if let Request::Search(search) = &message.op {
            request::count_scope(&self.metrics, search);
        }
        if !self.log.is_enabled() {
            return;
        }
        self.fields.clear();
        request::write_fields(&mut self.fields, &message.op);
        self.controls.clear();
        if self.wants_control_oids {
            request::write_control_oids(&mut self.controls, message.controls);
        }
        self.log.request(kind, ids, &self.fields, &self.controls);
    }

    fn bad_frame(&mut self, connection: &mut Connection, error: ber::FrameError, bytes_max: usize) -> End {
        match error {
            ber::FrameError::TooLarge { .. } => {
                let text = format!("the request is larger than max-request-size ({bytes_max} bytes)");
                let end = self.notice(connection, ResultCode::PROTOCOL_ERROR, &text);
                End { reason: DisconnectReason::MaxRequestSize, ..end }
            }
            ber::FrameError::Malformed => {
                self.notice(connection, ResultCode::PROTOCOL_ERROR, "the bytes are not an LDAP message")
            }
        }
    }

    /// RFC 4511 §4.1.1: what cannot be understood ends the connection; if at least the operation is known, it is answered
    /// and the connection lives on.
    fn bad_message(&mut self, connection: &mut Connection, error: &MessageError) -> Next {
        let text = error.to_string();
        let Some((message, response, kind)) = reply::answerable(error) else {
            return Next::End(self.notice(connection, ResultCode::PROTOCOL_ERROR, &text));
        };
        self.metrics.protocol_errors.add(1);
        self.metrics.of(kind).requests.add(1);
        reply::result(&mut connection.output, message, response, ResultCode::PROTOCOL_ERROR, &text);
        let ids = OperationIds { connection: connection.id, operation: connection.next_operation, message };
        connection.next_operation += 1;
        self.fields.clear();
        self.controls.clear();
        self.conclude(connection, kind, ids, Answer::of(ResultCode::PROTOCOL_ERROR, text));
        Next::Continue
    }

    /// Tells the client that and why the connection ends.
    pub(crate) fn notice(&mut self, connection: &mut Connection, code: ResultCode, text: &str) -> End {
        if code == ResultCode::PROTOCOL_ERROR {
            self.metrics.protocol_errors.add(1);
        }
        encode::notice_of_disconnection(&mut connection.output, code, text);
        End::new(DisconnectReason::ProtocolError, text)
    }

    /// An end that the client should get to read: the last answers are sent, and what still comes in is thrown away until
    /// the client closes. Closing at once could take the answers away from it (a reset discards them).
    fn follow(&mut self, connection: &mut Connection, next: Next) -> Option<End> {
        let Next::End(end) = next else { return None };
        let is_farewell = matches!(end.reason, DisconnectReason::ProtocolError | DisconnectReason::MaxRequestSize);
        if is_farewell { self.say_farewell(connection, end) } else { Some(end) }
    }

    pub(crate) fn say_farewell(&mut self, connection: &mut Connection, end: End) -> Option<End> {
        if let Some(failed) = self.flush(connection) {
            return Some(failed);
        }
        if connection.is_closed_by_peer {
            return Some(end);
        }
        connection.cancel_all();
        self.log_disconnect(connection, &end);
        connection.transport.shut_down();
        connection.phase = Phase::Farewell { discarded_bytes: 0 };
        connection.input = Vec::new();
        connection.input_start = 0;
        connection.output = Vec::new();
        connection.output_start = 0;
        self.limit_time(connection, self.moment + FAREWELL_TIME, end.reason);
        None
    }

    /// Writes what waits. `Some` if the socket failed.
    pub(crate) fn flush(&mut self, connection: &mut Connection) -> Option<End> {
        if connection.output_bytes() > 0 || connection.transport.has_unsent() {
            let waiting = connection.output.get(connection.output_start..).unwrap_or(&[]);
            match connection.transport.send(waiting) {
                Ok(sent) => {
                    connection.output_start += sent;
                    self.metrics.bytes_written.add(sent as u64);
                    self.note_progress(connection, sent);
                }
                Err(error) => return Some(self.transport_failed(connection, &error)),
            }
        }
        self.take_output_back(connection);
        None
    }

    fn note_progress(&mut self, connection: &mut Connection, sent: usize) {
        connection.is_blocked = connection.output_bytes() > 0 || connection.transport.has_unsent();
        if !connection.is_blocked {
            if matches!(connection.deadline, Some((_, DisconnectReason::IoTimeout))) {
                connection.deadline = None;
            }
        } else if sent > 0 || connection.deadline.is_none() {
            let patience = self
                .listeners
                .get(connection.listener)
                .map_or(Duration::from_secs(120), |settings| settings.blocked_write_time);
            if !matches!(connection.deadline, Some((_, DisconnectReason::SecurityProblem))) {
                self.limit_time(connection, self.moment + patience, DisconnectReason::IoTimeout);
            }
        }
        if connection.output_bytes() < crate::limits::OUTPUT_BYTES_HIGH {
            for operation in &mut connection.outstanding {
                if operation.unacknowledged_bytes > 0 {
                    operation.stream.sent(std::mem::take(&mut operation.unacknowledged_bytes));
                }
            }
        }
    }

    /// Gives a connection without output the loop's buffer, so that idle connections need none.
    pub(crate) fn lend_output(&mut self, connection: &mut Connection) {
        if connection.output.capacity() == 0 {
            connection.output = std::mem::take(&mut self.spare_output);
            connection.output_start = 0;
        }
    }

    fn take_output_back(&mut self, connection: &mut Connection) {
        if connection.output_bytes() > 0 {
            if connection.output_start > connection.output.len() / 2 {
                connection.output.drain(..connection.output_start);
                connection.output_start = 0;
            }
            return;
        }
        let mut buffer = std::mem::take(&mut connection.output);
        connection.output_start = 0;
        if buffer.capacity() <= BUFFER_BYTES_KEPT && buffer.capacity() > self.spare_output.capacity() {
            buffer.clear();
            self.spare_output = buffer;
        }
    }
}
