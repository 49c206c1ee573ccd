//! A server of a few lines: answers each message as it is told, on as many connections as come.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ber::{Frame, frame};
use ldap::{Authentication, LdapResult, Message, Operation, ResultCode, encode};

use crate::server::{Security, Server, Settings};

/// What a test wants a server to do with a bind.
#[derive(Clone, Copy)]
pub(super) enum Does {
    /// Answers binds by the password: it is `right`.
    Answers,
    /// Says that it is busy.
    IsBusy,
    /// Ends the connection instead of a second answer.
    AnswersOnce,
    /// Never answers.
    IsSilent,
    /// Says that it ends the connection.
    Disconnects,
}

/// A server that runs until its test ends.
pub(super) struct Fake {
    pub(super) server: Server,
    pub(super) connections: Arc<AtomicUsize>,
}

impl Fake {
    pub(super) fn start(does: Does) -> Fake {
        Fake::on(TcpListener::bind("127.0.0.1:0").unwrap(), does)
    }

    pub(super) fn on(listener: TcpListener, does: Does) -> Fake {
        let server = Server { host: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() };
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                counter.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || serve(&mut stream.unwrap(), does));
            }
        });
        Fake { server, connections }
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// A place where nobody listens.
pub(super) fn nowhere() -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Server { host: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() }
}

pub(super) fn settings() -> Settings {
    Settings {
        security: Security::Plain,
        source: None,
        connect_timeout: Duration::from_secs(5),
        answer_timeout: Duration::from_millis(300),
        keep_alive: true,
        no_delay: true,
    }
}

fn serve(stream: &mut TcpStream, does: Does) {
    let mut received = Vec::new();
    for answered in 0.. {
        let Some(bytes) = next(stream, &mut received) else { return };
        let mut out = Vec::new();
        match does {
            Does::AnswersOnce if answered > 0 => return,
            Does::IsSilent => continue,
            Does::Disconnects => {
                encode::notice_of_disconnection(&mut out, ResultCode::UNAVAILABLE, "going down");
            }
            _ => answer(&bytes, does, &mut out),
        }
        stream.write_all(&out).unwrap();
    }
}

/// The next message; none at the end of the connection.
pub(super) fn next(stream: &mut impl Read, received: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        if let Frame::Complete(length) = frame(received, 1 << 20).unwrap() {
            return Some(received.drain(..length).collect());
        }
        let mut room = [0; 4096];
        match stream.read(&mut room) {
            Ok(0) | Err(_) => return None,
            Ok(count) => received.extend_from_slice(&room[..count]),
        }
    }
}

pub(super) fn answer(bytes: &[u8], does: Does, out: &mut Vec<u8>) {
    let message = Message::decode(bytes).unwrap();
    match &message.operation {
        Operation::Bind(bind) => {
            let is_right = matches!(bind.authentication, Authentication::Simple(b"right"));
            let code = match does {
                Does::IsBusy => ResultCode::BUSY,
                _ if is_right => ResultCode::SUCCESS,
                _ => ResultCode::INVALID_CREDENTIALS,
            };
            encode::bind_response(out, message.id, &LdapResult::new(code, ""), None, &[]);
        }
        _ => {
            encode::search_entry(out, message.id, "", [(&b"vendorName"[..], [&b"Fake"[..]])], &[]);
            encode::success(out, message.id, encode::tags::SEARCH_DONE);
        }
    }
}
