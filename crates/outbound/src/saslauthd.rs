//! The question that Cyrus SASL's saslauthd answers: whether a password is right, by whatever it is configured with.
//!
//! Over its local socket: four strings, each after its length in two bytes, high byte first; one such string comes
//! back, which begins with `OK` or `NO`.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};
use zeroize::Zeroizing;

use crate::error::OutboundError;
use crate::stream::{Deadline, Stream};

/// Who is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    /// The user's name.
    pub user: &'q [u8],
    /// The password.
    pub password: &'q [u8],
    /// The service for which it is, as PAM names it: `ldap`.
    pub service: &'q str,
    /// The user's realm; empty for none.
    pub realm: &'q [u8],
}

/// Connects to saslauthd's socket. Does not wait where too many wait there already.
///
/// # Errors
/// When nobody listens there, or too many wait.
pub fn connect(socket: &Path) -> Result<UnixStream, OutboundError> {
    let connected = || -> io::Result<UnixStream> {
        let stream = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        stream.set_nonblocking(true)?;
        stream.connect(&SockAddr::unix(socket)?)?;
        stream.set_nonblocking(false)?;
        Ok(OwnedFd::from(stream).into())
    };
    connected().map_err(OutboundError::Connect)
}

/// Whether the password is right. `None`: saslauthd answers neither yes nor no, or a part of the question is longer
/// than it can be told (65,535 bytes).
///
/// # Errors
/// When no answer comes within `timeout`.
pub fn ask(stream: UnixStream, question: &Question<'_>, timeout: Duration) -> Result<Option<bool>, OutboundError> {
    let until = Deadline::within(timeout);
    let mut stream = Stream::Local(stream);
    let mut request = Zeroizing::new(Vec::new());
    for part in [question.user, question.password, question.service.as_bytes(), question.realm] {
        let Ok(length) = u16::try_from(part.len()) else { return Ok(None) };
        request.extend_from_slice(&length.to_be_bytes());
        request.extend_from_slice(part);
    }
    stream.send(&request, until)?;
    let mut received = Vec::new();
    let mut room = [0; 1024];
    loop {
        if let Some((&length, answer)) = received.split_first_chunk::<2>() {
            let length = usize::from(u16::from_be_bytes(length));
            if let Some(answer) = answer.get(..length) {
                return Ok(match answer.get(..2) {
                    Some(b"OK") => Some(true),
                    Some(b"NO") => Some(false),
                    _ => None,
                });
            }
        }
        let count = stream.receive(&mut room, until)?;
        received.extend_from_slice(room.get(..count).unwrap_or_default());
    }
}
