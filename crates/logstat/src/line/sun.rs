//! The access log of Sun's directory server and of 389 DS: `[time] conn=1 op=2 [msgId=3 -] VERB name=value …`.

use memchr::memmem;

use super::opendj::address;
use crate::clock::Clock;
use crate::record::{Etime, Event, Ids, Kind, Notes, Outcome, Record, Request};
use crate::words::{Words, number, seconds, signed};

/// What a line says; none if it is no line of such a log.
pub(super) fn record<'l>(line: &'l [u8], clock: &mut Clock) -> Option<Record<'l>> {
    let line = line.strip_prefix(b"[")?;
    let end = memmem::find(line.get(..line.len().min(64))?, b"] ")?;
    let (time, rest) = (line.get(..end)?, line.get(end + 2..)?);
    let mut words = Words::new(rest);
    let mut ids = Ids { connection: 0, operation: None, message: 0 };
    let mut is_internal = false;
    match words.next()? {
        (b"conn", Some(number_text)) => match number(number_text) {
            Some(connection) => ids.connection = connection,
            None => {
                let inner = number_text.strip_prefix(b"Internal")?.trim_ascii();
                let digits = inner.strip_prefix(b"(").and_then(|inner| inner.strip_suffix(b")"));
                ids.connection = digits.and_then(number).unwrap_or(0);
                is_internal = true;
            }
        },
        _ => return None,
    }
    let time = clock.bracketed(time);
    let event = loop {
        let before = words.clone();
        let Some((name, value)) = words.next() else { break Event::Other };
        match (name, value) {
            (b"op", Some(value)) => ids.operation = operation_number(value, &mut ids.message),
            (b"msgId", Some(value)) => ids.message = signed(value)?,
            (b"fd" | b"slot", Some(_)) | (b"-", None) => {}
            (b"(Internal)", None) => is_internal = true,
            _ => break event(name, value, words, before.rest(), is_internal),
        }
    };
    Some(Record { time, ids, event })
}

/// `7`, or `7(1)(2)` of an internal operation: its further numbers tell it from others of the same operation.
fn operation_number(value: &[u8], message: &mut i64) -> Option<u64> {
    let end = memchr::memchr(b'(', value).unwrap_or(value.len());
    let (own, inner) = value.split_at(end);
    if !inner.is_empty() {
        let digits = inner.iter().filter(|byte| byte.is_ascii_digit()).take(15);
        *message = digits.fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    }
    number(own)
}

fn event<'l>(verb: &[u8], value: Option<&'l [u8]>, words: Words<'l>, whole: &'l [u8], is_internal: bool) -> Event<'l> {
    let kind = match verb {
        b"RESULT" => return result(words),
        b"SRCH" => Kind::Search,
        b"BIND" => Kind::Bind,
        b"MOD" => Kind::Modify,
        b"ADD" => Kind::Add,
        b"DEL" => Kind::Delete,
        b"MODRDN" => Kind::ModifyDn,
        b"CMP" => Kind::Compare,
        b"EXT" => Kind::Extended,
        b"ABANDON" => Kind::Abandon,
        b"UNBIND" => Kind::Unbind,
        b"closing" | b"closed" | b"closed." | b"Disconnect" => return closed(whole),
        // 389 DS: `SSL connection from`, `local connection from`, `connection from`.
        b"connection" | b"SSL" | b"LDAP" | b"LDAPS" | b"local" | b"LDAPI" => return connect(verb, whole),
        _ => return Event::Other,
    };
    let _ = value;
    let mut request = Request { is_internal, ..Request::of(kind) };
    for (name, value) in words {
        let Some(value) = value else { continue };
        match name {
            b"base" | b"dn" => request.dn = value.into(),
            b"filter" => request.filter = value.into(),
            b"scope" => request.scope = value.into(),
            b"oid" | b"attr" => request.detail = value.into(),
            _ => {}
        }
    }
    Event::Request(request)
}

fn result(words: Words<'_>) -> Event<'_> {
    let mut outcome = Outcome::of(None);
    for (name, value) in words {
        let Some(value) = value else { continue };
        let time = || seconds(value).map(|(ns, _)| ns);
        match name {
            b"err" => outcome.code = signed(value).unwrap_or(0),
            b"tag" => outcome.kind = number(value).map(Kind::of_tag),
            b"nentries" => outcome.entries = number(value),
            b"etime" => outcome.etime = seconds(value).map(|(ns, digits)| Etime { ns, digits }),
            b"wtime" => outcome.phases.queue = time(),
            b"optime" => outcome.phases.work = time(),
            b"notes" => outcome.notes = Notes::parse(value),
            b"csn" => outcome.csn = value.into(),
            b"dn" => outcome.dn = value.into(),
            _ => {}
        }
    }
    // A: no index at all, U: not for all of the filter. F is a flag and says nothing of indexes.
    outcome.is_unindexed = outcome.notes.has(b'A') || outcome.notes.has(b'U');
    Event::Result(outcome)
}

/// `closing - U1`, `Disconnect - Cleanly Closed Connection - U1`, `closed - U1`; `closed.` has no code.
fn closed(whole: &[u8]) -> Event<'_> {
    let code = match memmem::rfind(whole, b" - ") {
        Some(at) => whole.get(at + 3..).unwrap_or_default().trim_ascii(),
        None => b"",
    };
    Event::Closed { code: code.into() }
}

/// `LDAP connection from 192.0.2.9:5000 to 192.0.2.1:389`; 389 DS writes no ports.
fn connect<'l>(verb: &[u8], whole: &'l [u8]) -> Event<'l> {
    let Some(from) = memmem::find(whole, b"connection from ") else { return Event::Other };
    let rest = whole.get(from + 16..).unwrap_or_default();
    let end = rest.get(..memchr::memchr(b' ', rest).unwrap_or(rest.len())).unwrap_or_default();
    // Without a port, an address of version 6 has colons of its own.
    let colons = memchr::memchr_iter(b':', end).count();
    let client = if colons == 1 || end.starts_with(b"[") { address(end) } else { end };
    let protocol: &[u8] = match verb {
        b"SSL" | b"LDAPS" => b"LDAPS",
        b"local" | b"LDAPI" => b"LDAPI",
        _ => b"LDAP",
    };
    Event::Connect { client: client.into(), protocol: protocol.into() }
}
