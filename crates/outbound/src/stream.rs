//! The bytes of a connection, encrypted or not, with a deadline for each read and write.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use socket2::{Domain, Protocol, Socket, Type};

use crate::error::OutboundError;
use crate::server::{Server, Settings};

/// A way to the other side.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    Local(UnixStream),
}

/// Until when something has to be done, and how long it was given.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    at: Instant,
    given: Duration,
}

impl Deadline {
    pub(crate) fn within(given: Duration) -> Deadline {
        Deadline { at: Instant::now() + given, given }
    }

    /// What is left.
    fn left(self) -> Result<Duration, OutboundError> {
        let left = self.at.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(OutboundError::Timeout(self.given)) } else { Ok(left) }
    }

    fn failure(self, error: io::Error) -> OutboundError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => OutboundError::Timeout(self.given),
            io::ErrorKind::UnexpectedEof => OutboundError::Closed,
            _ => OutboundError::Io(error),
        }
    }
}

impl Stream {
    /// Connects to the first address of the server that answers; without TLS.
    pub(crate) fn connect(server: &Server, settings: &Settings, until: Deadline) -> Result<TcpStream, OutboundError> {
        let unresolved = |problem: String| OutboundError::Resolve { host: server.host.clone(), problem };
        let addresses = (server.host.as_str(), server.port).to_socket_addrs();
        let addresses: Vec<SocketAddr> = addresses.map_err(|error| unresolved(error.to_string()))?.collect();
        let mut failure = unresolved("none was found".to_owned());
        for address in addresses {
            match connect(address, settings, until.left()?) {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = OutboundError::Connect(error),
            }
        }
        Err(failure)
    }

    /// Makes a TLS connection of a plain one.
    pub(crate) fn encrypt(
        mut stream: TcpStream,
        server: &Server,
        config: &Arc<ClientConfig>,
        until: Deadline,
    ) -> Result<Stream, OutboundError> {
        let tls = |problem: String| OutboundError::Tls(problem);
        let name = ServerName::try_from(server.host.clone()).map_err(|error| tls(error.to_string()))?;
        let mut session = ClientConnection::new(Arc::clone(config), name).map_err(|error| tls(error.to_string()))?;
        while session.is_handshaking() {
            set_timeouts(&stream, until.left()?)?;
            session.complete_io(&mut stream).map_err(|error| match until.failure(error) {
                OutboundError::Io(error) => tls(problem(&error, server)),
                other => other,
            })?;
        }
        Ok(Stream::Tls(Box::new(StreamOwned::new(session, stream))))
    }

    /// Sends everything.
    pub(crate) fn send(&mut self, bytes: &[u8], until: Deadline) -> Result<(), OutboundError> {
        self.limit(until.left()?)?;
        let sent = match self {
            Stream::Plain(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
            Stream::Local(stream) => stream.write_all(bytes),
        };
        sent.map_err(|error| until.failure(error))
    }

    /// Reads what there is; waits if there is nothing yet.
    pub(crate) fn receive(&mut self, room: &mut [u8], until: Deadline) -> Result<usize, OutboundError> {
        self.limit(until.left()?)?;
        let count = match self {
            Stream::Plain(stream) => stream.read(room),
            Stream::Tls(stream) => stream.read(room),
            Stream::Local(stream) => stream.read(room),
        };
        match count {
            Ok(0) => Err(OutboundError::Closed),
            Ok(count) => Ok(count),
            Err(error) => Err(until.failure(error)),
        }
    }

    fn limit(&self, left: Duration) -> Result<(), OutboundError> {
        match self {
            Stream::Plain(stream) => set_timeouts(stream, left),
            Stream::Tls(stream) => set_timeouts(&stream.sock, left),
            Stream::Local(stream) => {
                let limited = stream.set_read_timeout(Some(left)).and_then(|()| stream.set_write_timeout(Some(left)));
                limited.map_err(OutboundError::Io)
            }
        }
    }
}

fn set_timeouts(stream: &TcpStream, left: Duration) -> Result<(), OutboundError> {
    let limited = stream.set_read_timeout(Some(left)).and_then(|()| stream.set_write_timeout(Some(left)));
    limited.map_err(OutboundError::Io)
}

/// Why a handshake failed: what to do where it is for the own side to do.
fn problem(error: &io::Error, server: &Server) -> String {
    use rustls::CertificateError::{NotValidForName, NotValidForNameContext, Revoked, UnknownIssuer};
    let refused = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::InvalidCertificate(refused)) = refused else { return error.to_string() };
    match refused {
        UnknownIssuer => {
            let hint = "trust its issuer, by its certificate in a PEM file, if the server is the right one";
            format!("nobody who is trusted has signed the server's certificate: {hint}")
        }
        NotValidForName => format!("the server's certificate is not for {}", server.host),
        NotValidForNameContext { presented, .. } => {
            // They are shown as `DnsName("ldap1")`.
            let name =
                |shown: &String| shown.split(['(', ')', '"']).filter(|it| !it.is_empty()).nth(1).map(str::to_owned);
            let names: Vec<String> = presented.iter().filter_map(name).collect();
            format!("the server's certificate is not for {}; names in it: {}", server.host, names.join(", "))
        }
        Revoked => "the server's certificate is revoked".to_owned(),
        _ => error.to_string(),
    }
}

fn connect(address: SocketAddr, settings: &Settings, left: Duration) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(source) = settings.source {
        socket.bind(&SocketAddr::new(source, 0).into())?;
    }
    socket.connect_timeout(&address.into(), left)?;
    socket.set_keepalive(settings.keep_alive)?;
    socket.set_tcp_nodelay(settings.no_delay)?;
    Ok(socket.into())
}
