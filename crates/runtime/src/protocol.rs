//! The seam between connections and a protocol: what an event loop asks of the code that understands the bytes.
//!
//! One value serves all connections of one loop, on its thread. The loop reads, writes, waits, limits and closes; the
//! protocol executes what arrived and appends its answers to the connection's output. It is a type parameter of the
//! loop, so that nothing is called through a pointer and nothing is copied on the way.

use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime};

use crate::connection::{Connection, Peer};
use crate::end::{End, EndReason};
use crate::listener::Audience;
use crate::loop_core::Core;
use crate::tls_facts::TlsFacts;

/// What follows after bytes were taken.
#[derive(Debug)]
pub enum Next {
    /// All that could be executed was.
    Continue,
    /// What is left is no complete request.
    NeedMore,
    /// The connection ends.
    End(End),
}

/// What a protocol does with its connections.
pub trait Protocol: Sized + Send + 'static {
    /// What it keeps of one connection.
    type State: Send;

    /// What other threads tell one connection.
    type Mail: Send + 'static;

    /// A turn of the loop begins: its time on the calendar.
    fn begin_turn(&mut self, now: SystemTime);

    /// Whether clients may connect from an address, through the listener at that place in the server's list.
    fn admits(&self, listener: usize, address: IpAddr) -> bool;

    /// A client has come at `now`, through a listener for `audience`: its connection's number, and who it is as far as
    /// the socket tells.
    fn connect(&mut self, id: u64, peer: Peer, audience: Audience, now: Instant) -> Self::State;

    /// Who the client is, is known now. Called once, before anything that it sent is taken.
    fn open(&mut self, connection: &mut Connection<Self::State>);

    /// A TLS handshake ended.
    fn secure(&mut self, state: &mut Self::State, facts: TlsFacts);

    /// Executes complete requests at the beginning of `bytes`, at most `budget` of them and while both
    /// [`Connection::may_take`] and [`Protocol::may_take`] allow. Returns how many bytes they had.
    fn take(
        &mut self,
        core: &mut Core,
        connection: &mut Connection<Self::State>,
        bytes: &[u8],
        budget: &mut usize,
    ) -> (usize, Next);

    /// Whether the next request may be executed now.
    fn may_take(&self, state: &Self::State) -> bool;

    /// The client has taken so much of the output that more may come.
    fn drained(&mut self, state: &mut Self::State);

    /// Another thread has something for the connection. `Some` ends it.
    fn mail(&mut self, core: &mut Core, connection: &mut Connection<Self::State>, mail: Self::Mail) -> Option<End>;

    /// Whether answers are still to come: such a connection is not idle, and a stopping server waits for it.
    fn is_busy(&self, state: &Self::State) -> bool;

    /// After which time without a request the connection ends.
    fn idle_limit(&self, state: &Self::State) -> Option<Duration>;

    /// Whether the connection can be over although its client is silent; then [`Protocol::over`] is asked from time to
    /// time.
    fn is_watched(&self, _state: &Self::State) -> bool {
        false
    }

    /// Why a watched connection is over, if it is.
    fn over(&self, _state: &Self::State) -> Option<End> {
        None
    }

    /// What whoever watches the server is told of a connection.
    fn describe(&self, _connection: &Connection<Self::State>, _now: Instant) -> String {
        String::new()
    }

    /// Appends what the client is told before the connection ends for `reason`. Nothing if the output ends within a
    /// message.
    fn last_words(&self, state: &Self::State, out: &mut Vec<u8>, reason: EndReason, text: &str);

    /// The connection is over: what is still to come is not read. Called once.
    fn close(&mut self, connection: &mut Connection<Self::State>, end: &End);
}
