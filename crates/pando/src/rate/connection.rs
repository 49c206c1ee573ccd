//! One connection of a rate tool, which never waits: requests go out as the system takes them, answers come in pieces.
//!
//! Connects, begins TLS and binds as it was told; then requests of several places share it. Knows no operations.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use ber::{Frame, Reader, frame};
use ldap::ResultCode;
use ldap::client::{self, Response, ServerMessage};
use ldap::encode::tags;
use mio::{Registry, Token};
use outbound::{MESSAGE_BYTES_MAX, Security};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use zeroize::Zeroize;

use super::transport::{Transport, is_later};
use crate::ldap_client::{Exchange, Login, Progress};

/// How connections are made.
#[derive(Clone)]
pub struct Access {
    /// The server.
    pub address: SocketAddr,
    /// Who it says that it is.
    pub name: ServerName<'static>,
    /// How connections are protected.
    pub security: Security,
    /// Who binds.
    pub login: Login,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Connection {
    transport: Transport,
    /// What the system has not taken yet.
    to_send: Vec<u8>,
    /// The beginning of a message whose rest has not come.
    received: Vec<u8>,
    last_id: i32,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Waits for the answer to StartTLS.
    StartTls,
    /// Waits for the answer to a bind.
    Binding(Exchange),
    /// Requests may be sent.
    Ready,
}

/// What has come.
pub(super) enum Event<'a> {
    /// The connection is ready for requests.
    Ready,
    /// An entry, by the message id of its search; the whole message.
    Entry(i32, &'a [u8]),
    /// The answer to the request of that message id.
    Answer(i32, ResultCode, &'a [u8]),
}

/// What is done with what has come; may append requests.
pub(super) type Take<'t> = dyn FnMut(Event<'_>, &mut Ids, &mut Vec<u8>) + 't;

/// Gives message ids, from 1 to the largest (RFC 4511 §4.1.1).
#[derive(Debug)]
pub(super) struct Ids(i32);

impl Ids {
    /// The next one.
    pub(super) fn next(&mut self) -> i32 {
        self.0 = self.0.checked_add(1).unwrap_or(1);
        self.0
    }
}

impl Connection {
    /// Begins to connect.
    pub(super) fn open(access: &Access, registry: &Registry, token: Token) -> io::Result<Connection> {
        let transport = Transport::open(access.address, registry, token)?;
        let mut connection =
            Connection { transport, to_send: Vec::new(), received: Vec::new(), last_id: 0, state: State::Ready };
        match &access.security {
            Security::Plain => connection.begin_bind(access),
            Security::Tls(config) => {
                connection.encrypt(config, access)?;
                connection.begin_bind(access);
            }
            Security::StartTls(_) => {
                let id = connection.next_id();
                client::extended(&mut connection.to_send, id, ldap::oids::extended::START_TLS, None, &[]);
                connection.state = State::StartTls;
            }
        }
        Ok(connection)
    }

    fn encrypt(&mut self, config: &Arc<ClientConfig>, access: &Access) -> io::Result<()> {
        self.transport.encrypt(config, &access.name)
    }

    fn next_id(&mut self) -> i32 {
        let mut ids = Ids(self.last_id);
        self.last_id = ids.next();
        self.last_id
    }

    /// Binds, when there is somebody to bind as.
    fn begin_bind(&mut self, access: &Access) {
        self.state = match access.login.is_anonymous() {
            true => State::Ready,
            false => {
                let id = self.next_id();
                State::Binding(access.login.begin(id, &mut self.to_send))
            }
        };
    }

    /// Binds once more, on a connection without requests.
    pub(super) fn rebind(&mut self, access: &Access) -> io::Result<()> {
        self.begin_bind(access);
        self.flush()
    }

    /// Whether requests may be sent.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready)
    }

    /// Lets `write` append a request, which is sent with the next [`Connection::flush`].
    pub(super) fn put(&mut self, write: impl FnOnce(&mut Ids, &mut Vec<u8>)) {
        let mut ids = Ids(self.last_id);
        write(&mut ids, &mut self.to_send);
        self.last_id = ids.0;
    }

    /// Sends what the system takes.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let sent = self.transport.write(&mut self.to_send);
        if self.to_send.is_empty() && !self.is_ready() {
            // What was sent may have held a password.
            self.to_send.zeroize();
        }
        sent
    }

    /// Says goodbye, so that the server need not find out that the connection is gone.
    pub(super) fn close(mut self) {
        let id = self.next_id();
        client::unbind(&mut self.to_send, id);
        // A server that is gone needs no goodbye.
        _ = self.flush();
    }

    /// Sends and reads what can be, and hands over what has come. `room` is what all connections read into.
    pub(super) fn go_on(&mut self, access: &Access, room: &mut [u8], take: &mut Take<'_>) -> io::Result<()> {
        self.flush()?;
        loop {
            match self.transport.read(room) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    let came = room.get(..count).unwrap_or_default();
                    self.take_bytes(access, came, take)?;
                    self.flush()?;
                    if count < room.len() && self.transport.short_read_is_all() {
                        return Ok(());
                    }
                }
                Err(error) if is_later(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn take_bytes(&mut self, access: &Access, came: &[u8], take: &mut Take<'_>) -> io::Result<()> {
        if self.received.is_empty() {
            let done = self.take_messages(access, came, take)?;
            self.received.extend_from_slice(came.get(done..).unwrap_or_default());
            return Ok(());
        }
        let mut all = std::mem::take(&mut self.received);
        all.extend_from_slice(came);
        let done = self.take_messages(access, &all, take)?;
        all.drain(..done);
        self.received = all;
        Ok(())
    }

    /// Takes whole messages; how many bytes they were.
    fn take_messages(&mut self, access: &Access, bytes: &[u8], take: &mut Take<'_>) -> io::Result<usize> {
        let mut done = 0;
        loop {
            let rest = bytes.get(done..).unwrap_or_default();
            let Frame::Complete(length) = frame(rest, MESSAGE_BYTES_MAX).map_err(invalid)? else { return Ok(done) };
            let message = rest.get(..length).unwrap_or_default();
            done += length;
            if !self.is_ready() {
                let is_last = done == bytes.len();
                self.prepare(access, message, is_last)?;
                if self.is_ready() {
                    self.give(Event::Ready, take);
                }
                continue;
            }
            let (id, event) = event_of(message).map_err(invalid)?;
            match (id, event) {
                (0, _) => return Err(invalid("the server ends the connection")),
                (_, Some(event)) => self.give(event, take),
                (_, None) => {}
            }
        }
    }

    fn give(&mut self, event: Event<'_>, take: &mut Take<'_>) {
        let mut ids = Ids(self.last_id);
        take(event, &mut ids, &mut self.to_send);
        self.last_id = ids.0;
    }

    /// An answer on the way to being ready.
    fn prepare(&mut self, access: &Access, message: &[u8], is_last: bool) -> io::Result<()> {
        let decoded = ServerMessage::decode(message).map_err(invalid)?;
        if decoded.id == 0 {
            return Err(invalid("the server ends the connection"));
        }
        match std::mem::replace(&mut self.state, State::Ready) {
            State::StartTls => match (&decoded.op, &access.security) {
                (Response::Extended { result, .. }, Security::StartTls(config)) if result.is_success() && is_last => {
                    self.encrypt(config, access)?;
                    self.begin_bind(access);
                    Ok(())
                }
                _ => Err(invalid("the server does not begin TLS")),
            },
            State::Binding(mut exchange) => {
                let id = self.next_id();
                match exchange.go_on(&access.login, &decoded.op, id, &mut self.to_send) {
                    Ok(Progress::Bound) => Ok(()),
                    Ok(Progress::Asked) => {
                        self.state = State::Binding(exchange);
                        Ok(())
                    }
                    Err(refusal) => Err(invalid(refusal)),
                }
            }
            State::Ready => Ok(()),
        }
    }
}

/// What a message is; only as much of it is decoded as has to be known.
fn event_of(message: &[u8]) -> Result<(i32, Option<Event<'_>>), ber::Error> {
    let mut body = Reader::new(message).sequence()?;
    let id = i32::try_from(body.integer()?).unwrap_or(0);
    let event = match body.peek_tag() {
        Some(tags::SEARCH_ENTRY) => Some(Event::Entry(id, message)),
        None | Some(tags::SEARCH_REFERENCE | tags::INTERMEDIATE) => None,
        Some(tag) => {
            let code = body.enter(tag)?.enumerated()?;
            Some(Event::Answer(id, ResultCode::from_i32(i32::try_from(code).unwrap_or(-1)), message))
        }
    };
    Ok((id, event))
}

/// The name of the entry that a message holds.
pub(super) fn entry_name(message: &[u8]) -> &[u8] {
    let name = || -> Result<&[u8], ber::Error> {
        let mut body = Reader::new(message).sequence()?;
        body.integer()?;
        body.enter(tags::SEARCH_ENTRY)?.octets()
    };
    name().unwrap_or_default()
}

fn invalid(problem: impl ToString) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, problem.to_string())
}
