//! Listening sockets of one loop: what comes in at the door.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::time::Instant;

use mio::event::Source;
use mio::net::{TcpListener, UnixListener};
use mio::{Interest, Registry, Token};

use crate::connection::{Accepted, Peer};
use crate::limits::{ACCEPT_PAUSE, ACCEPTS_PER_TURN};
use crate::sys;
use crate::transport::{Socket, Transport};

/// A listening socket.
#[derive(Debug)]
pub(crate) enum ListenSocket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl ListenSocket {
    fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(socket) => socket,
            Self::Unix(socket) => socket,
        }
    }

    fn accept(&self) -> io::Result<(Socket, Peer)> {
        match self {
            Self::Tcp(socket) => {
                let (stream, remote) = socket.accept()?;
                let local = stream.local_addr()?;
                Ok((Socket::Tcp(stream), Peer::Tcp { remote, local }))
            }
            Self::Unix(socket) => {
                let (stream, _) = socket.accept()?;
                let credentials = sys::peer_credentials(&stream)?;
                Ok((Socket::Unix(stream), Peer::Local(credentials)))
            }
        }
    }
}

#[derive(Debug)]
struct Listener {
    socket: ListenSocket,
    /// Index in the server's list of settings.
    settings: usize,
    /// The socket may have connections to accept.
    is_ready: bool,
}

/// The listening sockets of a loop.
#[derive(Debug)]
pub(crate) struct Door {
    listeners: Vec<Listener>,
    /// After a failure: when accepting is tried again.
    pub(crate) again_at: Option<Instant>,
}

impl Door {
    /// Has the poller watch the sockets, with tokens from `first_token` on.
    pub(crate) fn open(
        registry: &Registry,
        first_token: usize,
        sockets: Vec<(usize, ListenSocket)>,
    ) -> io::Result<Self> {
        let mut listeners = Vec::new();
        for (at, (settings, mut socket)) in sockets.into_iter().enumerate() {
            registry.register(socket.source(), Token(first_token + at), Interest::READABLE)?;
            listeners.push(Listener { socket, settings, is_ready: true });
        }
        Ok(Self { listeners, again_at: None })
    }

    /// Closes the sockets.
    pub(crate) fn shut(&mut self, registry: &Registry) {
        for mut listener in std::mem::take(&mut self.listeners) {
            // A failure means that it is not watched, which is what is wanted.
            let _ = registry.deregister(listener.socket.source());
        }
    }

    /// The poller has seen something at a socket.
    pub(crate) fn wake(&mut self, index: usize) {
        if let Some(listener) = self.listeners.get_mut(index) {
            listener.is_ready = true;
        }
    }

    /// Whether connections may be left that were not accepted.
    pub(crate) fn has_left(&self) -> bool {
        self.again_at.is_none() && self.listeners.iter().any(|listener| listener.is_ready)
    }

    /// Takes what has come, as far as fairness allows.
    ///
    /// # Errors
    /// When the system is out of something; it is tried again after a pause.
    pub(crate) fn accept(&mut self, now: Instant, taken: &mut VecDeque<Accepted>) -> io::Result<()> {
        if self.again_at.is_some_and(|again| again > now) {
            return Ok(());
        }
        self.again_at = None;
        for listener in &mut self.listeners {
            for _ in 0..ACCEPTS_PER_TURN {
                if !listener.is_ready {
                    break;
                }
                match listener.socket.accept() {
                    Ok((socket, peer)) => {
                        let transport = Transport::new(socket);
                        taken.push_back(Accepted { transport, peer, listener: listener.settings });
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => listener.is_ready = false,
                    // The client was gone before it was accepted.
                    Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
                    Err(error) => {
                        self.again_at = Some(now + ACCEPT_PAUSE);
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }
}
