//! One connection of a rate tool, which never waits: a request goes out as the system takes it, an answer comes in
//! pieces.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

use ber::{Frame, frame};
use ldap::ResultCode;
use ldap::client::ServerMessage;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

/// Longest answer that is read.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
const READ_BYTES: usize = 16 << 10;

/// See the module.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// What the system has not taken yet.
    to_send: Vec<u8>,
    received: Vec<u8>,
    id: i32,
}

impl Connection {
    /// Begins to connect.
    pub(super) fn open(address: SocketAddr, registry: &Registry, token: Token) -> io::Result<Connection> {
        let mut stream = TcpStream::connect(address)?;
        // Where this fails, requests go out later.
        _ = stream.set_nodelay(true);
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Connection { stream, to_send: Vec::new(), received: Vec::new(), id: 0 })
    }

    /// Sends the request that `write` makes with this message id.
    pub(super) fn ask(&mut self, write: impl FnOnce(i32, &mut Vec<u8>)) -> io::Result<()> {
        self.id = self.id.checked_add(1).unwrap_or(1);
        write(self.id, &mut self.to_send);
        self.flush()
    }

    /// Sends and reads what can be; the result when it has come.
    pub(super) fn go_on(&mut self) -> io::Result<Option<ResultCode>> {
        self.flush()?;
        loop {
            if let Some(code) = self.next_result()? {
                return Ok(Some(code));
            }
            let mut room = [0; READ_BYTES];
            match self.stream.read(&mut room) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received.extend_from_slice(room.get(..count).unwrap_or_default()),
                Err(error) if is_later(&error) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.to_send.is_empty() {
            match self.stream.write(&self.to_send) {
                Ok(count) => drop(self.to_send.drain(..count)),
                Err(error) if is_later(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn next_result(&mut self) -> io::Result<Option<ResultCode>> {
        let invalid = |problem: String| io::Error::new(ErrorKind::InvalidData, problem);
        loop {
            let found = frame(&self.received, MESSAGE_BYTES_MAX).map_err(|error| invalid(error.to_string()))?;
            let Frame::Complete(length) = found else { return Ok(None) };
            let bytes = self.received.get(..length).unwrap_or_default();
            let message = ServerMessage::decode(bytes).map_err(|error| invalid(error.to_string()))?;
            let (id, code) = (message.id, message.op.result().map(|result| result.code));
            self.received.drain(..length);
            match code {
                // A notice of disconnection.
                Some(code) if id == 0 => return Err(invalid(format!("the server ends the connection: {code}"))),
                Some(code) if id == self.id => return Ok(Some(code)),
                _ => {}
            }
        }
    }
}

/// Whether the system says to try again when it says so; a connection that is being made says that it is not there.
fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected | ErrorKind::Interrupted)
}
