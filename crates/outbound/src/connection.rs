//! One connection to another LDAP server: one request at a time.

use std::net::TcpStream;
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ber::{Frame, frame};
use ldap::client::{self, Response, Search, ServerMessage};
use ldap::{LdapResult, oids};

use crate::error::OutboundError;
use crate::server::{Security, Server, Settings};
use crate::stream::{Deadline, Stream};

/// Longest answer that is read.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;
const READ_BYTES: usize = 16 << 10;

/// How long a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// As long as something comes at least this often.
    Silence(Duration),
    /// So long for the whole answer.
    Answer(Duration),
}

/// A connection.
pub struct Connection {
    stream: Stream,
    /// What was read of messages that are not complete.
    received: Vec<u8>,
    id: i32,
    patience: Patience,
}

impl Connection {
    /// Connects, and begins TLS as the settings say.
    ///
    /// # Errors
    /// When that fails, or takes longer than the settings allow.
    pub fn open(server: &Server, settings: &Settings) -> Result<Connection, OutboundError> {
        let until = Deadline::within(settings.connect_timeout);
        let stream = Stream::connect(server, settings, until)?;
        match &settings.security {
            Security::Plain => Ok(Connection::over(Stream::Plain(stream), Patience::Answer(settings.answer_timeout))),
            Security::Tls(config) => {
                let stream = Stream::encrypt(stream, server, config, until)?;
                Ok(Connection::over(stream, Patience::Answer(settings.answer_timeout)))
            }
            Security::StartTls(config) => {
                let plain = stream.try_clone().map_err(OutboundError::Io)?;
                let mut connection = Connection::over(Stream::Plain(plain), Patience::Answer(settings.connect_timeout));
                let result = connection.extended(oids::extended::START_TLS, None, &mut |_| {})?;
                if !result.is_success() {
                    return Err(OutboundError::StartTls(Box::new(result)));
                }
                if !connection.received.is_empty() {
                    // Bytes before TLS that came with the answer were not sent by who is on the other side of TLS.
                    return Err(OutboundError::Tls("there is more after the answer to StartTLS".to_owned()));
                }
                let stream = Stream::encrypt(stream, server, config, until)?;
                Ok(Connection::over(stream, Patience::Answer(settings.answer_timeout)))
            }
        }
    }

    /// A connection over a local socket.
    #[must_use]
    pub fn over_local(stream: UnixStream, patience: Patience) -> Connection {
        Connection::over(Stream::Local(stream), patience)
    }

    /// A connection without TLS over what is connected already.
    #[must_use]
    pub fn over_tcp(stream: TcpStream, patience: Patience) -> Connection {
        Connection::over(Stream::Plain(stream), patience)
    }

    fn over(stream: Stream, patience: Patience) -> Connection {
        Connection { stream, received: Vec::new(), id: 0, patience }
    }

    /// The message id that the next request gets.
    #[must_use]
    pub fn next_id(&self) -> i32 {
        self.id.checked_add(1).unwrap_or(1)
    }

    /// A simple bind; both empty for anonymous.
    ///
    /// # Errors
    /// When no answer comes.
    pub fn bind(&mut self, dn: &str, password: &[u8]) -> Result<LdapResult, OutboundError> {
        // The request holds the password.
        let mut request = zeroize::Zeroizing::new(Vec::new());
        client::bind(&mut request, self.next_id(), dn, password, &[]);
        self.ask(&request, &mut |_| {})
    }

    /// A search; `each` gets its entries and references.
    ///
    /// # Errors
    /// When no answer comes.
    pub fn search(
        &mut self,
        search: &Search<'_>,
        each: &mut dyn FnMut(&Response<'_>),
    ) -> Result<LdapResult, OutboundError> {
        let mut request = Vec::new();
        client::search(&mut request, self.next_id(), search, &[]);
        self.ask(&request, each)
    }

    /// An extended operation; `each` gets what comes, its response included.
    ///
    /// # Errors
    /// When no answer comes.
    pub fn extended(
        &mut self,
        oid: &str,
        value: Option<&[u8]>,
        each: &mut dyn FnMut(&Response<'_>),
    ) -> Result<LdapResult, OutboundError> {
        let mut request = Vec::new();
        client::extended(&mut request, self.next_id(), oid, value, &[]);
        self.ask(&request, each)
    }

    /// Sends a request, which has [`Connection::next_id`], and hands over everything that comes up to its result, this
    /// included.
    ///
    /// # Errors
    /// When no answer comes. The connection is of no use then.
    pub fn ask(&mut self, request: &[u8], each: &mut dyn FnMut(&Response<'_>)) -> Result<LdapResult, OutboundError> {
        self.ask_messages(request, &mut |message| {
            each(&message.op);
            ControlFlow::Continue(())
        })
    }

    /// The same with the controls of what comes, and until the asker has enough.
    ///
    /// # Errors
    /// When no answer comes, or the asker has enough before the result. The connection is of no use then.
    pub fn ask_messages(
        &mut self,
        request: &[u8],
        each: &mut dyn FnMut(&ServerMessage<'_>) -> ControlFlow<()>,
    ) -> Result<LdapResult, OutboundError> {
        self.id = self.next_id();
        let mut until = self.patience.deadline();
        self.stream.send(request, until)?;
        let mut room = [0; READ_BYTES];
        loop {
            let mut done = 0;
            while let Frame::Complete(length) = frame(self.received.get(done..).unwrap_or_default(), MESSAGE_BYTES_MAX)?
            {
                let bytes = self.received.get(done..done + length).unwrap_or_default();
                done += length;
                let message = ServerMessage::decode(bytes)?;
                if message.id == 0 {
                    let result = message.op.result().cloned().unwrap_or_else(LdapResult::success);
                    return Err(OutboundError::Disconnected(Box::new(result)));
                }
                if message.id != self.id {
                    continue;
                }
                let goes_on = each(&message).is_continue();
                if let Some(result) = message.op.result().cloned() {
                    self.received.drain(..done);
                    return Ok(result);
                }
                if !goes_on {
                    return Err(OutboundError::Enough);
                }
                if matches!(self.patience, Patience::Silence(_)) {
                    until = self.patience.deadline();
                }
            }
            self.received.drain(..done);
            let count = self.stream.receive(&mut room, until)?;
            self.received.extend_from_slice(room.get(..count).unwrap_or_default());
        }
    }
}

impl Patience {
    fn deadline(self) -> Deadline {
        let (Patience::Silence(time) | Patience::Answer(time)) = self;
        Deadline::within(time)
    }
}
