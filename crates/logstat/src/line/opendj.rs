//! OpenDJ's text access log, which is ours too: `[time] KIND [REQ|RES] name=value …`.

use memchr::memmem;

use crate::clock::Clock;
use crate::record::{Etime, Event, Ids, Kind, Outcome, Record, Request};
use crate::words::{Words, number, signed};

/// Which part of an operation a line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `REQ`
    Request,
    /// `RES`
    Response,
    /// Both, in the combined format; connections have no parts.
    Whole,
}

/// The unit of `etime`, which the text format does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EtimeUnit {
    /// The default.
    #[default]
    Milliseconds,
    /// `etime-resolution: microseconds`
    Microseconds,
    /// `etime-resolution: nanoseconds`
    Nanoseconds,
}

impl EtimeUnit {
    pub(crate) fn etime(self, count: u64) -> Etime {
        let (ns, digits) = match self {
            EtimeUnit::Milliseconds => (1_000_000, 3),
            EtimeUnit::Microseconds => (1_000, 6),
            EtimeUnit::Nanoseconds => (1, 9),
        };
        Etime { ns: count.saturating_mul(ns), digits }
    }
}

/// One line, in words.
#[derive(Debug, Clone)]
pub struct OpenDjLine<'l> {
    /// When, as it is written.
    pub time: &'l [u8],
    /// `SEARCH`, `CONNECT`, …
    pub kind: &'l [u8],
    /// Of an operation.
    pub part: Part,
    rest: &'l [u8],
}

impl<'l> OpenDjLine<'l> {
    /// Takes a line apart; none if it is no line of such a log.
    #[must_use]
    pub fn parse(line: &'l [u8]) -> Option<Self> {
        let line = line.strip_prefix(b"[")?;
        let end = memmem::find(line.get(..line.len().min(64))?, b"] ")?;
        let (time, rest) = (line.get(..end)?, line.get(end + 2..)?);
        let kind = first_word(rest);
        if kind.is_empty() || !kind.iter().all(u8::is_ascii_uppercase) {
            return None;
        }
        let rest = rest.get(kind.len()..)?;
        let (part, rest) = match rest.strip_prefix(b" ").map_or(&b""[..], first_word) {
            b"REQ" => (Part::Request, rest.get(4..)?),
            b"RES" => (Part::Response, rest.get(4..)?),
            _ => (Part::Whole, rest),
        };
        Some(Self { time, kind, part, rest })
    }

    /// The words behind kind and part.
    #[must_use]
    pub fn words(&self) -> Words<'l> {
        Words::new(self.rest)
    }

    /// The value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'l str> {
        let value = self.words().find(|(own, value)| *own == name.as_bytes() && value.is_some())?.1?;
        std::str::from_utf8(value).ok()
    }

    /// The number in a field.
    #[must_use]
    pub fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.get(name)?.parse().ok()
    }

    /// Seconds since 1970; none when the time is written in another way than the default.
    #[must_use]
    pub fn unix_seconds(&self, clock: &mut Clock) -> Option<i64> {
        clock.bracketed(self.time).map(|moment| moment.unix_seconds())
    }
}

fn first_word(text: &[u8]) -> &[u8] {
    text.get(..memchr::memchr(b' ', text).unwrap_or(text.len())).unwrap_or_default()
}

fn kind_of(word: &[u8]) -> Option<Kind> {
    Some(match word {
        b"SEARCH" => Kind::Search,
        b"BIND" => Kind::Bind,
        b"UNBIND" => Kind::Unbind,
        b"COMPARE" => Kind::Compare,
        b"MODIFY" => Kind::Modify,
        b"ADD" => Kind::Add,
        b"DELETE" => Kind::Delete,
        b"MODIFYDN" => Kind::ModifyDn,
        b"EXTENDED" => Kind::Extended,
        b"ABANDON" => Kind::Abandon,
        _ => return None,
    })
}

/// By the names that JSON and CSV have, too.
pub(super) fn kind_of_name(word: &[u8]) -> Option<Kind> {
    kind_of(&word.to_ascii_uppercase())
}

/// `192.0.2.9:5000`, `[2001:db8::1]:5000`, `/192.0.2.9:5000`: without the port.
pub(super) fn address(end: &[u8]) -> &[u8] {
    let end = end.strip_prefix(b"/").unwrap_or(end);
    if let Some(inner) = end.strip_prefix(b"[") {
        return inner.get(..memchr::memchr(b']', inner).unwrap_or(inner.len())).unwrap_or_default();
    }
    match memchr::memrchr(b':', end) {
        // A process of this machine: the user counts.
        Some(_) if end.starts_with(b"uid:") => end.get(..memchr::memchr(b',', end).unwrap_or(end.len())).unwrap_or(end),
        Some(at) => end.get(..at).unwrap_or(end),
        None => end,
    }
}

/// What a line says.
pub(super) fn record<'l>(line: &'l [u8], clock: &mut Clock, unit: EtimeUnit) -> Option<Record<'l>> {
    let parts = OpenDjLine::parse(line)?;
    let time = clock.bracketed(parts.time);
    let mut ids = Ids { connection: 0, operation: None, message: 0 };
    let Some(kind) = kind_of(parts.kind) else {
        let event = connection_event(&parts, &mut ids)?;
        return Some(Record { time, ids, event });
    };
    let (mut request, mut outcome) = (Request::of(kind), Outcome::of(Some(kind)));
    let (mut has_result, mut has_ids) = (false, false);
    for (name, value) in parts.words() {
        let Some(value) = value else {
            outcome.is_unindexed |= name == b"unindexed";
            continue;
        };
        match name {
            b"conn" => (ids.connection, has_ids) = (u64::try_from(signed(value)?).unwrap_or(u64::MAX), true),
            b"op" => ids.operation = number(value),
            b"msgID" => ids.message = signed(value)?,
            b"result" => (outcome.code, has_result) = (signed(value)?, true),
            b"etime" => outcome.etime = number(value).map(|count| unit.etime(count)),
            b"nentries" => outcome.entries = number(value),
            b"base" | b"dn" => request.dn = value.into(),
            b"filter" => request.filter = value.into(),
            b"scope" => request.scope = value.into(),
            b"oid" | b"attr" => request.detail = value.into(),
            b"authDN" => outcome.dn = value.into(),
            b"csn" => outcome.csn = value.into(),
            b"type" => request.is_internal |= value == b"internal",
            b"queue" => outcome.phases.queue = number(value).map(|count| unit.etime(count).ns),
            b"apply" => outcome.phases.work = number(value).map(|count| unit.etime(count).ns),
            b"sync" => outcome.phases.sync = number(value).map(|count| unit.etime(count).ns),
            _ => {}
        }
    }
    if !has_ids {
        return None;
    }
    if ids.connection == u64::MAX {
        request.is_internal = true;
    }
    let event = match parts.part {
        Part::Request => Event::Request(request),
        Part::Response => Event::Result(outcome),
        Part::Whole if has_result => Event::Whole(request, outcome),
        Part::Whole => Event::Request(request),
    };
    Some(Record { time, ids, event })
}

fn connection_event<'l>(parts: &OpenDjLine<'l>, ids: &mut Ids) -> Option<Event<'l>> {
    let (mut client, mut protocol, mut reason, mut lines) = (&b""[..], &b""[..], &b""[..], 0);
    for (name, value) in parts.words() {
        let Some(value) = value else { continue };
        match name {
            b"conn" => ids.connection = number(value)?,
            b"from" => client = address(value),
            b"protocol" => protocol = value,
            b"reason" => reason = value,
            b"lines" => lines = number(value)?,
            _ => {}
        }
    }
    Some(match parts.kind {
        b"CONNECT" => Event::Connect { client: client.into(), protocol: protocol.into() },
        b"DISCONNECT" => Event::Closed { code: reason.into() },
        b"DROPPED" => Event::Dropped(lines),
        _ => return None,
    })
}
