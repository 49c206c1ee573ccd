//! One connection's byte stream: a TCP or unix socket, with TLS on top when asked for.
//!
//! Never blocks, keeps no plaintext between calls, and knows no protocol.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use rustls::ServerConnection;
use thiserror::Error;

use crate::channel_binding::exporter;
use crate::tls::Serving;
use crate::tls_facts::TlsFacts;

/// Bytes taken from a socket with one call. Larger than any usual turn of pipelined requests.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// The socket itself.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A socket and perhaps TLS.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: Socket,
    /// Boxed: most connections have none, and an idle one must stay small.
    tls: Option<Box<Tls>>,
}

/// TLS on a socket, and what it was begun with.
#[derive(Debug)]
struct Tls {
    connection: ServerConnection,
    serving: Arc<Serving>,
}

/// Why a stream failed.
#[derive(Debug, Error)]
pub(crate) enum TransportError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// Buffers that a loop lends to whichever connection it serves.
#[derive(Debug, Default)]
pub(crate) struct ReadBuffers {
    raw: Vec<u8>,
    plain: Vec<u8>,
}

/// What one read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// Bytes that came from the socket.
    pub(crate) raw_bytes: usize,
    /// The socket has nothing more for now.
    pub(crate) is_drained: bool,
    /// The other side sends no more.
    pub(crate) is_closed: bool,
    is_tls: bool,
}

impl ReadBuffers {
    pub(crate) fn new() -> Self {
        Self { raw: vec![0; READ_BYTES], plain: Vec::new() }
    }

    /// The plaintext of the last `receive`.
    pub(crate) fn received(&self, received: Received) -> &[u8] {
        if received.is_tls { &self.plain } else { self.raw.get(..received.raw_bytes).unwrap_or(&[]) }
    }
}

impl Transport {
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, tls: None }
    }

    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        // Both interests once: with edge triggering the second costs nothing, and no later call is needed.
        self.socket.source().register(registry, token, Interest::READABLE | Interest::WRITABLE)
    }

    pub(crate) fn deregister(&mut self, registry: &Registry) {
        // A failure means that the descriptor is not registered, which is what is wanted.
        let _ = self.socket.source().deregister(registry);
    }

    /// Puts TLS on top from here on.
    pub(crate) fn start_tls(&mut self, serving: Arc<Serving>) -> Result<(), TransportError> {
        let connection = ServerConnection::new(Arc::clone(&serving.config))?;
        self.tls = Some(Box::new(Tls { connection, serving }));
        Ok(())
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.connection.is_handshaking())
    }

    /// What the handshake agreed on; none without TLS.
    pub(crate) fn tls_facts(&self) -> Option<TlsFacts> {
        let Tls { connection, serving } = &**self.tls.as_ref()?;
        let suite = connection.negotiated_cipher_suite();
        let chain = connection.peer_certificates().unwrap_or_default();
        let is_good = serving.clients.as_ref().is_some_and(|clients| clients.is_good(chain));
        Some(TlsFacts {
            // All suites that the TLS library has use AES-128, AES-256 or ChaCha20 (256 bits).
            strength_bits: suite.map_or(0, |it| if format!("{:?}", it.suite()).contains("128") { 128 } else { 256 }),
            end_point: Arc::clone(&serving.end_point),
            exporter: exporter(connection),
            client_certificate: chain.first().filter(|_| is_good).map(|certificate| certificate.as_ref().into()),
        })
    }

    /// One read from the socket into `buffers`.
    pub(crate) fn receive(&mut self, buffers: &mut ReadBuffers) -> Result<Received, TransportError> {
        let is_tls = self.tls.is_some();
        buffers.plain.clear();
        let nothing = Received { raw_bytes: 0, is_drained: true, is_closed: false, is_tls };
        let length = loop {
            match self.socket.read(&mut buffers.raw) {
                Ok(0) => return Ok(Received { is_closed: true, ..nothing }),
                Ok(length) => break length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(nothing),
                Err(error) => return Err(error.into()),
            }
        };
        let mut received =
            Received { raw_bytes: length, is_drained: length < buffers.raw.len(), is_closed: false, is_tls };
        if let Some(tls) = &mut self.tls {
            let raw = buffers.raw.get(..length).unwrap_or(&[]);
            let outcome = decrypt(&mut tls.connection, raw, &mut buffers.plain);
            if outcome.is_err() {
                // The alert tells the client why; it is only good manners.
                let _ = self.flush_tls();
            }
            received.is_closed = outcome?;
        }
        Ok(received)
    }

    /// Sends as much of `bytes` as the socket takes now and returns how much that was.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<usize, TransportError> {
        if self.tls.is_none() {
            return Ok(send_plain(&mut self.socket, bytes)?);
        }
        let mut sent = 0;
        while self.flush_tls()? {
            let Some(tls) = &mut self.tls else { break };
            let rest = bytes.get(sent..).unwrap_or(&[]);
            if rest.is_empty() {
                break;
            }
            sent += tls.connection.writer().write(rest)?;
        }
        Ok(sent)
    }

    /// Whether encrypted bytes wait for the socket although `send` took their plaintext.
    pub(crate) fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.connection.wants_write())
    }

    /// Tells the other side that nothing more comes.
    pub(crate) fn shut_down(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.connection.send_close_notify();
            let _ = self.flush_tls();
        }
        // A connection that is gone already needs no farewell.
        let _ = match &self.socket {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }

    /// Writes what TLS has to send; true when nothing is left.
    fn flush_tls(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else { return Ok(true) };
        while tls.connection.wants_write() {
            match tls.connection.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Feeds `raw` to TLS and appends what comes out; true if the other side said that it is done.
fn decrypt(tls: &mut ServerConnection, mut raw: &[u8], plain: &mut Vec<u8>) -> Result<bool, TransportError> {
    let mut is_closed = false;
    while !raw.is_empty() {
        tls.read_tls(&mut raw)?;
        let state = tls.process_new_packets()?;
        if state.plaintext_bytes_to_read() > 0 {
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            tls.reader().read_exact(plain.get_mut(start..).unwrap_or(&mut []))?;
        }
        if state.peer_has_closed() {
            is_closed = true;
            break;
        }
    }
    Ok(is_closed)
}

fn send_plain(stream: &mut Socket, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
        match stream.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(length) => sent += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}

impl Socket {
    fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Tcp(stream) => stream,
            Self::Unix(stream) => stream,
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write_vectored(slices),
            Self::Unix(stream) => stream.write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
