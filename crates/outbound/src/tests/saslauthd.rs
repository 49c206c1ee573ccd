//! The question to saslauthd, byte by byte.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::error::OutboundError;
use crate::saslauthd::{Question, ask};

fn answered_by(answer: &'static [u8], expected: &'static [u8]) -> Result<Option<bool>, OutboundError> {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let other = std::thread::spawn(move || {
        let mut question = vec![0; expected.len()];
        theirs.read_exact(&mut question).unwrap();
        assert_eq!(question, expected);
        // In two pieces: a read need not give the whole answer.
        let (first, second) = answer.split_at(answer.len() / 2);
        theirs.write_all(first).unwrap();
        theirs.write_all(second).unwrap();
    });
    let question = Question { user: b"ann", password: b"pw", service: "ldap", realm: b"EX" };
    let answer = ask(ours, &question, Duration::from_secs(5));
    other.join().unwrap();
    answer
}

#[test]
fn yes_no_and_neither_are_told_apart() {
    const ASKED: &[u8] = b"\0\x03ann\0\x02pw\0\x04ldap\0\x02EX";
    assert_eq!(answered_by(b"\0\x02OK", ASKED).unwrap(), Some(true));
    assert_eq!(answered_by(b"\0\x09NO reason", ASKED).unwrap(), Some(false));
    assert_eq!(answered_by(b"\0\x03huh", ASKED).unwrap(), None);
    assert!(matches!(answered_by(b"\0\x09NO", ASKED), Err(OutboundError::Closed)));
}

#[test]
fn a_password_that_is_too_long_is_not_asked_about() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let long = vec![b'x'; 65_536];
    let question = Question { user: b"ann", password: &long, service: "ldap", realm: b"" };
    assert_eq!(ask(ours, &question, Duration::from_secs(5)).unwrap(), None);
}

#[test]
fn a_daemon_that_says_nothing_is_given_up() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let question = Question { user: b"ann", password: b"pw", service: "ldap", realm: b"" };
    assert!(matches!(ask(ours, &question, Duration::from_millis(50)), Err(OutboundError::Timeout(_))));
}
