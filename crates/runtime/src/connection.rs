//! One client connection as every protocol has it: its phase, its buffers, its deadlines. What the protocol keeps of it
//! is `state`.
//!
//! 1. An idle connection owns no buffer: input and output live here only while something is incomplete.
//! 2. Input that was read and not executed stays until the protocol takes it.
//!
//! Holds state; what happens to it is in `turn`, `output` and `event_loop`.

use std::net::SocketAddr;
use std::time::Instant;

use crate::end::EndReason;
use crate::limits::OUTPUT_BYTES_HIGH;
use crate::sys::PeerCredentials;
use crate::transport::Transport;

/// Who is at the other end.
#[derive(Debug, Clone, Copy)]
pub enum Peer {
    /// A client over TCP, and the address that it connected to.
    Tcp {
        /// The client.
        remote: SocketAddr,
        /// What it connected to.
        local: SocketAddr,
    },
    /// A process of this machine.
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
    /// The protocol has it.
    Open,
    /// The last bytes are on their way; what still comes in is thrown away.
    Farewell { discarded_bytes: usize },
}

/// Which connection of a loop something is for. Slots are used again, connection numbers are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionAddress {
    pub(crate) slot: usize,
    pub(crate) id: u64,
}

impl ConnectionAddress {
    /// The address of the connection with that number in that slot.
    pub fn new(slot: usize, id: u64) -> Self {
        Self { slot, id }
    }
}

/// A connection, and what its protocol keeps of it.
#[derive(Debug)]
pub struct Connection<S> {
    pub(crate) address: ConnectionAddress,
    pub(crate) transport: Transport,
    pub(crate) peer: Peer,
    pub(crate) listener: usize,
    pub(crate) phase: Phase,
    /// Bytes received and not executed, from `input_start` on.
    pub(crate) input: Vec<u8>,
    pub(crate) input_start: usize,
    /// What is in `input` is no complete request.
    pub(crate) needs_more: bool,
    /// Bytes to send, from `output_start` on. The protocol appends.
    pub output: Vec<u8>,
    pub(crate) output_start: usize,
    /// The socket may have something to read.
    pub(crate) is_readable: bool,
    /// The system said that the other side is gone; only a read tells the rest.
    pub(crate) is_hung_up: bool,
    /// The socket did not take everything.
    pub(crate) is_blocked: bool,
    /// The other side has sent its last byte.
    pub(crate) is_closed_by_peer: bool,
    /// In the list of connections that want another turn.
    pub(crate) is_queued: bool,
    /// The server stops: no new requests.
    pub(crate) is_stopping: bool,
    /// Answers are held back until then, and no request is executed.
    pub held_until: Option<Instant>,
    /// When the connection is closed, and why, unless the deadline is taken away before.
    pub(crate) deadline: Option<(Instant, EndReason)>,
    pub(crate) last_request: Instant,
    /// What the protocol keeps.
    pub state: S,
}

impl<S> Connection<S> {
    pub(crate) fn new(id: u64, accepted: Accepted, phase: Phase, now: Instant, state: S) -> Self {
        Self {
            address: ConnectionAddress { slot: usize::MAX, id },
            transport: accepted.transport,
            peer: accepted.peer,
            listener: accepted.listener,
            phase,
            input: Vec::new(),
            input_start: 0,
            needs_more: false,
            output: Vec::new(),
            output_start: 0,
            is_readable: false,
            is_hung_up: false,
            is_blocked: false,
            is_closed_by_peer: false,
            is_queued: false,
            is_stopping: false,
            held_until: None,
            deadline: None,
            last_request: now,
            state,
        }
    }

    /// Its number, unique in the life of the server.
    pub fn id(&self) -> u64 {
        self.address.id
    }

    /// What other threads must know to reach it.
    pub fn address(&self) -> ConnectionAddress {
        self.address
    }

    /// Who is at the other end.
    pub fn peer(&self) -> Peer {
        self.peer
    }

    /// Index of its listener in the server's list.
    pub fn listener(&self) -> usize {
        self.listener
    }

    /// When the last request came.
    pub fn last_request(&self) -> Instant {
        self.last_request
    }

    /// Whether TLS is on, or is being agreed on.
    pub fn is_tls(&self) -> bool {
        self.transport.is_tls()
    }

    /// Received bytes that were not executed.
    pub(crate) fn input_bytes(&self) -> usize {
        self.input.len() - self.input_start
    }

    /// Bytes that wait for the socket.
    pub fn output_bytes(&self) -> usize {
        self.output.len() - self.output_start
    }

    /// Whether the next request may be executed now, as far as the connection itself goes.
    #[inline]
    pub fn may_take(&self) -> bool {
        let is_held = self.held_until.is_some() || self.is_stopping;
        self.phase == Phase::Open && !is_held && self.output_bytes() < OUTPUT_BYTES_HIGH
    }

    /// Appends bytes to the output, without a copy if nothing waits there.
    pub fn append_output(&mut self, bytes: Vec<u8>) {
        if self.output_bytes() == 0 && self.output.capacity() < bytes.len() {
            self.output = bytes;
            self.output_start = 0;
        } else {
            self.output.extend_from_slice(&bytes);
        }
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

    /// Drops what waits for the socket.
    pub(crate) fn discard_output(&mut self) {
        self.output = Vec::new();
        self.output_start = 0;
    }
}
