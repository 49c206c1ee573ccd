//! Syslog receivers: messages over UDP (RFC 5426), TCP with their lengths (RFC 6587 §3.4.1), TLS (RFC 5425), or the
//! socket of this machine.
//!
//! 1. Messages that a stream has taken may be lost with its connection: syslog acknowledges nothing. Those that it has
//!    not taken wholly are sent again on the next connection.
//! 2. A receiver that does not answer is asked again after a pause that grows; nothing waits longer than the timeout.
//!
//! Knows no line: a message is whatever the caller made, its header (RFC 5424) included.

use std::net::{ToSocketAddrs, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io};

use rustls::ClientConfig;

use crate::error::OutboundError;
use crate::server::{Security, Server, Settings};
use crate::stream::{Deadline, Stream};

/// First pause after a failure, and the longest one.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(30)];

/// Longest message in one datagram: what a receiver has to take over IPv6 is 1180 octets, what they take is this.
const DATAGRAM_BYTES_MAX: usize = 8192;

/// How a receiver is reached.
#[derive(Clone, Debug)]
pub enum SyslogWay {
    /// A datagram each.
    Udp(Server),
    /// One connection.
    Tcp(Server),
    /// One connection with TLS.
    Tls(Server, Arc<ClientConfig>),
    /// The socket of this machine: of datagrams, or of a stream.
    Local(PathBuf),
}

impl fmt::Display for SyslogWay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyslogWay::Udp(server) => write!(out, "syslog server {server} (udp)"),
            SyslogWay::Tcp(server) => write!(out, "syslog server {server} (tcp)"),
            SyslogWay::Tls(server, _) => write!(out, "syslog server {server} (tls)"),
            SyslogWay::Local(path) => write!(out, "syslog socket {}", path.display()),
        }
    }
}

/// See the module.
pub struct Syslog {
    way: SyslogWay,
    timeout: Duration,
    open: Option<Open>,
    /// How long the pause is after the next failure, and until when the present one lasts.
    pause: Duration,
    pause_until: Option<Instant>,
}

enum Open {
    Udp(UdpSocket),
    Local(UnixDatagram),
    Stream(Stream),
}

impl Syslog {
    /// Connects to nothing yet.
    #[must_use]
    pub fn new(way: SyslogWay, timeout: Duration) -> Syslog {
        Syslog { way, timeout, open: None, pause: PAUSES[0], pause_until: None }
    }

    /// How the receiver is reached.
    #[must_use]
    pub fn way(&self) -> &SyslogWay {
        &self.way
    }

    /// How long it is not to be asked, after a failure.
    #[must_use]
    pub fn pause(&self) -> Option<Duration> {
        let left = self.pause_until?.saturating_duration_since(Instant::now());
        Some(left).filter(|left| !left.is_zero())
    }

    /// Sends messages. Returns how many were taken, and why no more were.
    pub fn send<'m>(&mut self, messages: impl Iterator<Item = &'m [u8]> + Clone) -> (usize, Result<(), OutboundError>) {
        let mut taken = 0;
        let sent = self.try_send(messages, &mut taken);
        match &sent {
            Ok(()) => (self.pause, self.pause_until) = (PAUSES[0], None),
            Err(_) => {
                self.open = None;
                self.pause_until = Some(Instant::now() + self.pause);
                self.pause = (self.pause * 2).min(PAUSES[1]);
            }
        }
        (taken, sent)
    }

    fn try_send<'m>(
        &mut self,
        messages: impl Iterator<Item = &'m [u8]> + Clone,
        taken: &mut usize,
    ) -> Result<(), OutboundError> {
        if matches!(&mut self.open, Some(Open::Stream(stream)) if stream.is_closed()) {
            self.open = None;
        }
        let until = Deadline::within(self.timeout);
        if self.open.is_none() {
            self.open = Some(self.connect(until)?);
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        match open {
            Open::Udp(socket) => {
                each(messages, taken, |message| socket.send(message).map(drop).map_err(OutboundError::Io))
            }
            Open::Local(socket) => {
                each(messages, taken, |message| socket.send(message).map(drop).map_err(OutboundError::Io))
            }
            Open::Stream(stream) => {
                let mut frame = Vec::new();
                for message in messages {
                    frame.clear();
                    frame.extend_from_slice(format!("{} ", message.len()).as_bytes());
                    frame.extend_from_slice(message);
                    stream.send(&frame, Deadline::within(self.timeout))?;
                    *taken += 1;
                }
                Ok(())
            }
        }
    }

    fn connect(&self, until: Deadline) -> Result<Open, OutboundError> {
        let settings = |security| Settings {
            security,
            source: None,
            connect_timeout: self.timeout,
            answer_timeout: self.timeout,
            keep_alive: true,
            no_delay: false,
        };
        match &self.way {
            SyslogWay::Udp(server) => {
                let unresolved = |problem| OutboundError::Resolve { host: server.host.clone(), problem };
                let addresses = (server.host.as_str(), server.port).to_socket_addrs();
                let mut addresses = addresses.map_err(|error| unresolved(error.to_string()))?;
                let address = addresses.next().ok_or_else(|| unresolved("none was found".to_owned()))?;
                let own = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(own).map_err(OutboundError::Io)?;
                socket.connect(address).map_err(OutboundError::Connect)?;
                Ok(Open::Udp(socket))
            }
            SyslogWay::Tcp(server) => {
                Ok(Open::Stream(Stream::Plain(Stream::connect(server, &settings(Security::Plain), until)?)))
            }
            SyslogWay::Tls(server, config) => {
                let stream = Stream::connect(server, &settings(Security::Tls(Arc::clone(config))), until)?;
                Ok(Open::Stream(Stream::encrypt(stream, server, config, until)?))
            }
            SyslogWay::Local(path) => {
                let socket = UnixDatagram::unbound().map_err(OutboundError::Io)?;
                match socket.connect(path) {
                    Ok(()) => {
                        socket.set_write_timeout(Some(self.timeout)).map_err(OutboundError::Io)?;
                        Ok(Open::Local(socket))
                    }
                    // A socket of another kind.
                    Err(error) if error.raw_os_error() == Some(WRONG_KIND_OF_SOCKET) => {
                        let stream = UnixStream::connect(path).map_err(OutboundError::Connect)?;
                        Ok(Open::Stream(Stream::Local(stream)))
                    }
                    Err(error) => Err(OutboundError::Connect(error)),
                }
            }
        }
    }
}

/// EPROTOTYPE of Linux.
const WRONG_KIND_OF_SOCKET: i32 = 91;

/// Sends datagrams; what does not fit into one is cut.
fn each<'m>(
    messages: impl Iterator<Item = &'m [u8]>,
    taken: &mut usize,
    mut send: impl FnMut(&[u8]) -> Result<(), OutboundError>,
) -> Result<(), OutboundError> {
    for message in messages {
        match send(message.get(..DATAGRAM_BYTES_MAX).unwrap_or(message)) {
            // That of the datagram before: nobody listened there. This one was not sent.
            Err(OutboundError::Io(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(OutboundError::Connect(error));
            }
            sent => sent?,
        }
        *taken += 1;
    }
    Ok(())
}
