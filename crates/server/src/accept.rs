//! From a listening socket to a connection of some loop: accept, spread, admit or refuse.

use std::{
    io::{self, ErrorKind},
    sync::{Arc, atomic::Ordering},
};

use ldap::{ResultCode, encode};
use mio::{
    Token,
    event::Source,
    net::{TcpListener, UnixListener},
};
use runtime::log::error::{Category, message_id};

use crate::{
    connection::{Accepted, Connection, Peer, Phase},
    engine::End,
    event_loop::{CONNECTIONS, EventLoop},
    limits::{ACCEPT_PAUSE, ACCEPTS_PER_TURN},
    log::DisconnectReason,
    mailbox::Mail,
    transport::{Stream, Transport},
};

/// A listening socket of a loop.
pub(crate) enum ListenSocket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl EventLoop {
    pub(crate) fn accept_all(&mut self) {
        if self.accept_again.is_some_and(|again| again > self.engine.moment) {
            return;
        }
        self.accept_again = None;
        for at in 0..self.listeners.len() {
            for _ in 0..ACCEPTS_PER_TURN {
                let Some(listener) = self.listeners.get_mut(at).filter(|listener| listener.is_ready) else { break };
                match listener.socket.accept() {
                    Ok((stream, peer)) => {
                        let accepted =
                            Accepted { transport: Transport::new(stream), peer, listener: listener.settings };
                        self.place(accepted);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        listener.is_ready = false;
                    }
                    // The client was gone before it was accepted.
                    Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                    Err(error) => {
                        self.engine.errors.error(
                            Category::Core,
                            message_id::ACCEPT_FAILED,
                            format_args!("cannot accept connections: {error}"),
                        );
                        self.accept_again = Some(self.engine.moment + ACCEPT_PAUSE);
                        return;
                    }
                }
            }
        }
    }

    /// Gives a new connection to the loop that has the fewest.
    fn place(&mut self, accepted: Accepted) {
        let target = self.shared.least_loaded(self.index);
        let Some(handle) = self.shared.loops.get(target) else { return };
        handle.connections.fetch_add(1, Ordering::Relaxed);
        if target == self.index {
            self.adopt(accepted);
        } else {
            handle.mailbox.post(Mail::Accepted(Box::new(accepted)));
        }
    }

    pub(crate) fn adopt(&mut self, accepted: Accepted) {
        let count = self.shared.connections();
        self.shared.connections_peak.fetch_max(count, Ordering::Relaxed);
        let id = self.shared.next_connection.fetch_add(1, Ordering::Relaxed);
        let listeners = Arc::clone(&self.engine.listeners);
        let settings = listeners.get(accepted.listener);
        let (phase, is_admitted) = match (settings, &accepted.peer) {
            (Some(settings), Peer::Tcp { remote, .. }) if settings.trusts_proxy(remote.ip()) => {
                (Phase::ProxyHeader, true)
            }
            (Some(settings), Peer::Tcp { remote, .. }) => (Phase::Open, settings.admits(remote.ip())),
            _ => (Phase::Open, true),
        };
        let session = self.engine.executor.session(id, self.engine.moment);
        self.engine.has_deadlines |= session.idle_limit().is_some();
        let mut connection = Connection::new(session, accepted, phase, self.engine.moment);
        self.engine.metrics.connections_established.add(1);
        let connections_max = self.engine.limits.connections_max;
        let is_full = connections_max > 0 && count > connections_max;
        if is_full || !is_admitted || self.stop_at.is_some() {
            let text = if is_full { "too many connections" } else { "connections from this address are not allowed" };
            self.reject(connection, text);
            return;
        }
        let entry = self.connections.vacant_entry();
        let slot = entry.key();
        if let Err(error) = connection.transport.register(self.poll.registry(), Token(CONNECTIONS + slot)) {
            self.engine.errors.error(Category::Core, message_id::ACCEPT_FAILED, format_args!("register: {error}"));
            self.forget();
            return;
        }
        let ended = if phase == Phase::Open {
            self.engine.open(&mut connection)
        } else {
            self.engine.begin_handshake(&mut connection);
            None
        };
        entry.insert(connection);
        if let Some(end) = ended {
            self.close(slot, &end);
        }
    }

    /// Says no at the door.
    fn reject(&mut self, mut connection: Connection, text: &str) {
        self.engine.metrics.connections_rejected.add(1);
        self.engine.log_connect(&mut connection);
        let settings = self.engine.listeners.get(connection.listener);
        if settings.is_some_and(|settings| !settings.use_tls) {
            encode::notice_of_disconnection(&mut connection.output, ResultCode::BUSY, text);
            // Best effort: whoever is refused may not even read.
            let _ = self.engine.flush(&mut connection);
        }
        self.engine.log_disconnect(&connection, &End::new(DisconnectReason::Rejected, text));
        self.engine.metrics.connections_closed.add(1);
        self.forget();
    }
}

impl ListenSocket {
    pub(crate) fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(socket) => socket,
            Self::Unix(socket) => socket,
        }
    }

    fn accept(&self) -> io::Result<(Stream, Peer)> {
        match self {
            Self::Tcp(socket) => {
                let (stream, remote) = socket.accept()?;
                let local = stream.local_addr()?;
                Ok((Stream::Tcp(stream), Peer::Tcp { remote, local }))
            }
            Self::Unix(socket) => {
                let (stream, _) = socket.accept()?;
                let credentials = runtime::sys::peer_credentials(&stream)?;
                Ok((Stream::Unix(stream), Peer::Local(credentials)))
            }
        }
    }
}
