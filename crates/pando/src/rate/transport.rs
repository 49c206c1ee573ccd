//! The bytes of a connection that never waits: plain, or TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

/// A way to the server.
#[derive(Debug)]
pub(super) struct Transport {
    stream: TcpStream,
    tls: Option<Box<ClientConnection>>,
}

impl Transport {
    /// Begins to connect.
    pub(super) fn open(address: SocketAddr, registry: &Registry, token: Token) -> io::Result<Transport> {
        let mut stream = TcpStream::connect(address)?;
        // Where this fails, requests go out later.
        _ = stream.set_nodelay(true);
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Transport { stream, tls: None })
    }

    /// Goes on with TLS.
    pub(super) fn encrypt(&mut self, config: &Arc<ClientConfig>, name: &ServerName<'static>) -> io::Result<()> {
        let session = ClientConnection::new(Arc::clone(config), name.clone()).map_err(io::Error::other)?;
        self.tls = Some(Box::new(session));
        Ok(())
    }

    /// Writes what the system takes of `bytes`, and takes it out.
    pub(super) fn write(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return write_plain(&mut self.stream, bytes) };
        if !bytes.is_empty() {
            tls.writer().write_all(bytes)?;
            bytes.clear();
        }
        while tls.wants_write() {
            match tls.write_tls(&mut self.stream) {
                Ok(_) => {}
                Err(error) if is_later(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what there is into `room`; `WouldBlock` when there is nothing.
    pub(super) fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.stream.read(room) };
        loop {
            match tls.reader().read(room) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return read,
            }
            if tls.read_tls(&mut self.stream)? == 0 {
                return Ok(0);
            }
            tls.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            while tls.wants_write() {
                match tls.write_tls(&mut self.stream) {
                    Ok(_) => {}
                    Err(error) if is_later(&error) => break,
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Whether a read that filled less than its room has read all there is.
    pub(super) fn short_read_is_all(&self) -> bool {
        self.tls.is_none()
    }
}

fn write_plain(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut sent = 0;
    let ended = loop {
        let rest = bytes.get(sent..).unwrap_or_default();
        if rest.is_empty() {
            break Ok(());
        }
        match stream.write(rest) {
            Ok(count) => sent += count,
            Err(error) if is_later(&error) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    bytes.drain(..sent);
    ended
}

/// Whether the system says to try again when it says so; a connection that is being made says that it is not there.
pub(super) fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected | ErrorKind::Interrupted)
}
