//! One client connection: its phase, its buffers, what it waits for.
//!
//! 1. An idle connection owns no buffer: input and output live here only while something is incomplete.
//! 2. `outstanding` names every operation whose answer is still to come; its size is bounded by the limits.
//! 3. While the output ends within a message (`partial`), only the operation whose it is adds to it, and no request is executed.
//! 4. While `is_exclusive` (a bind runs), no other message of the connection is executed.
//!
//! Holds state; what happens to it is in `turn` and `event_loop`.

use std::{net::SocketAddr, sync::Arc, time::Instant};

use directory::Session;
use runtime::sys::PeerCredentials;

use crate::{
    log::{DisconnectReason, OperationIds},
    mailbox::{Mail, Stream as JobStream},
    metrics::OperationKind,
    transport::Transport,
};

/// Who is at the other end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Peer {
    Tcp { remote: SocketAddr, local: SocketAddr },
    Local(PeerCredentials),
}

/// A connection on its way to the loop that will serve it.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) transport: Transport,
    pub(crate) peer: Peer,
    /// Index of the listener in the server's list.
    pub(crate) listener: usize,
}

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A trusted proxy must say first who the client is.
    ProxyHeader,
    /// LDAP messages.
    Open,
    /// The last bytes are on their way; what still comes in is thrown away.
    Farewell { discarded_bytes: usize },
}

/// An operation that is not answered yet.
#[derive(Debug)]
pub(crate) struct Outstanding {
    pub(crate) kind: OperationKind,
    pub(crate) ids: OperationIds,
    pub(crate) begun: Instant,
    /// The request as the log writes it.
    pub(crate) fields: Box<[u8]>,
    pub(crate) request_controls: Box<str>,
    pub(crate) stream: Arc<JobStream>,
    /// Whether it can be stopped; an update that the writer has cannot.
    pub(crate) is_abortable: bool,
    /// The client does not want the answer.
    pub(crate) is_abandoned: bool,
    /// A cancel request (RFC 3909) that waits for this operation to end.
    pub(crate) cancelled_by: Option<OperationIds>,
    /// Bytes in the output that the job believes unsent.
    pub(crate) unacknowledged_bytes: usize,
}

/// A message that is sent in parts.
pub(crate) struct Partial {
    /// The operation whose it is.
    pub(crate) operation: u64,
    /// What others have to say after it.
    pub(crate) deferred: Vec<Mail>,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: u64,
    pub(crate) transport: Transport,
    pub(crate) session: Session,
    pub(crate) peer: Peer,
    pub(crate) listener: usize,
    pub(crate) phase: Phase,
    /// Bytes received and not executed, from `input_start` on.
    pub(crate) input: Vec<u8>,
    pub(crate) input_start: usize,
    /// What is in `input` is no complete message.
    pub(crate) needs_more: bool,
    /// Bytes to send, from `output_start` on.
    pub(crate) output: Vec<u8>,
    pub(crate) output_start: usize,
    pub(crate) outstanding: Vec<Outstanding>,
    /// While the output ends within a message.
    pub(crate) partial: Option<Box<Partial>>,
    pub(crate) next_operation: u64,
    /// The socket may have something to read.
    pub(crate) is_readable: bool,
    /// The system said that the other side is gone; only a read tells the rest.
    pub(crate) is_hung_up: bool,
    /// The socket did not take everything.
    pub(crate) is_blocked: bool,
    /// A bind runs.
    pub(crate) is_exclusive: bool,
    /// A message waits until nothing is outstanding.
    pub(crate) waits_for_outstanding: bool,
    /// The other side has sent its last byte.
    pub(crate) is_closed_by_peer: bool,
    /// In the list of connections that want another turn.
    pub(crate) is_queued: bool,
    /// The server stops: no new requests.
    pub(crate) is_stopping: bool,
    /// CONNECT was logged.
    pub(crate) is_logged: bool,
    /// Binds that failed in a row.
    pub(crate) bind_failures: u32,
    /// Answers are held back until then, because binds failed too often.
    pub(crate) held_until: Option<Instant>,
    /// Begin of what `deadline` limits, and when the connection is closed for it.
    pub(crate) deadline: Option<(Instant, DisconnectReason)>,
    pub(crate) last_request: Instant,
}

impl std::fmt::Debug for Partial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Partial").field("operation", &self.operation).field("deferred", &self.deferred.len()).finish()
    }
}

impl Connection {
    pub(crate) fn new(mut session: Session, accepted: Accepted, phase: Phase, now: Instant) -> Self {
        if let Peer::Local(credentials) = accepted.peer {
            session.peer_uid = Some(credentials.uid);
        }
        Self {
            id: session.connection,
            transport: accepted.transport,
            session,
            peer: accepted.peer,
            listener: accepted.listener,
            phase,
            input: Vec::new(),
            input_start: 0,
            needs_more: false,
            output: Vec::new(),
            output_start: 0,
            outstanding: Vec::new(),
            partial: None,
            next_operation: 0,
            is_readable: false,
            is_hung_up: false,
            is_blocked: false,
            is_exclusive: false,
            waits_for_outstanding: false,
            is_closed_by_peer: false,
            is_queued: false,
            is_stopping: false,
            is_logged: false,
            bind_failures: 0,
            held_until: None,
            deadline: None,
            last_request: now,
        }
    }

    /// Received bytes that were not executed.
    pub(crate) fn input_bytes(&self) -> usize {
        self.input.len() - self.input_start
    }

    /// Bytes that wait for the socket.
    pub(crate) fn output_bytes(&self) -> usize {
        self.output.len() - self.output_start
    }

    /// Whether the next message may be executed now.
    pub(crate) fn may_execute(&self, outstanding_max: usize) -> bool {
        let is_held = self.is_exclusive || self.held_until.is_some() || self.is_stopping || self.partial.is_some();
        let is_waiting = self.waits_for_outstanding && !self.outstanding.is_empty();
        let is_full = self.outstanding.len() >= outstanding_max && self.waits_for_updates();
        let output_is_high = self.output_bytes() >= crate::limits::OUTPUT_BYTES_HIGH;
        self.phase == Phase::Open && !is_held && !is_waiting && !is_full && !output_is_high
    }

    /// Whether there is something that a turn could do.
    pub(crate) fn has_work(&self, outstanding_max: usize) -> bool {
        match self.phase {
            Phase::Open => {
                let has_input = self.input_bytes() > 0 && !self.needs_more;
                self.may_execute(outstanding_max) && (has_input || self.is_readable)
            }
            Phase::ProxyHeader | Phase::Farewell { .. } => self.is_readable,
        }
    }

    /// Whether everything outstanding ends soon by itself. Otherwise further requests are refused with `busy`, because
    /// the request to abandon one of them must still be read.
    fn waits_for_updates(&self) -> bool {
        self.outstanding.iter().all(|operation| !operation.is_abortable)
    }

    /// Removes executed bytes; gives the memory back when none are left.
    pub(crate) fn consume_input(&mut self, bytes: usize) {
        self.input_start += bytes;
        if self.input_start >= self.input.len() {
            self.input = Vec::new();
            self.input_start = 0;
        }
    }

    /// Keeps received bytes that could not be executed.
    pub(crate) fn keep_input(&mut self, bytes: &[u8]) {
        if self.input_start > 0 {
            self.input.drain(..self.input_start);
            self.input_start = 0;
        }
        self.input.extend_from_slice(bytes);
    }

    /// Cancels every job; nobody will read the answers.
    pub(crate) fn cancel_all(&mut self) {
        for operation in &mut self.outstanding {
            operation.is_abandoned = true;
            operation.stream.cancel();
        }
    }

    /// The operation with a message id, if it is outstanding.
    pub(crate) fn outstanding_by_message(&mut self, message: i32) -> Option<&mut Outstanding> {
        self.outstanding.iter_mut().find(|operation| operation.ids.message == message)
    }
}
