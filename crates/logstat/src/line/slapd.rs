//! slapd's log at the level `stats`: lines of syslog (old, RFC 3339, RFC 5424), or with hexadecimal seconds.

use memchr::memmem;

use super::opendj::address;
use crate::clock::Clock;
use crate::record::{Etime, Event, Ids, Kind, Moment, Outcome, Record, Request, Text};
use crate::words::{Words, number, seconds, signed};

/// Before this place, what is slapd's own begins.
const PREFIX_BYTES_MAX: usize = 256;

/// What a line says; none if it is no line of such a log.
pub(super) fn record<'l>(line: &'l [u8], clock: &mut Clock) -> Option<Record<'l>> {
    let head = line.get(..line.len().min(PREFIX_BYTES_MAX))?;
    let none = Ids { connection: 0, operation: None, message: 0 };
    let Some(at) = find_own(head) else {
        let time = time(line, clock);
        let event = not_indexed(line).or_else(|| is_of_slapd(head, time).then_some(Event::Other))?;
        return Some(Record { time, ids: none, event });
    };
    let mut words = Words::new(line.get(at..)?);
    let mut ids = Ids { connection: number(words.next()?.1?)?, ..none };
    let mut is_connection = false;
    let event = loop {
        let before = words.clone();
        let Some((name, value)) = words.next() else { break Event::Other };
        match (name, value) {
            (b"op", Some(value)) => ids.operation = number(value),
            (b"fd", Some(_)) => is_connection = true,
            _ => break event(name, words, before.rest(), is_connection),
        }
    };
    Some(Record { time: time(line, clock), ids, event })
}

/// Where `conn=` stands at the begin of a word.
fn find_own(head: &[u8]) -> Option<usize> {
    if head.starts_with(b"conn=") {
        return Some(0);
    }
    memmem::find(head, b" conn=").map(|at| at + 1)
}

/// `<= mdb_equality_candidates: (employeeType) not indexed`
fn not_indexed(line: &[u8]) -> Option<Event<'_>> {
    let rest = line.strip_suffix(b") not indexed")?;
    let open = memchr::memrchr(b'(', rest)?;
    let (before, attribute) = (rest.get(..open)?, rest.get(open + 1..)?);
    let names: [(&[u8], &'static str); 5] = [
        (b"_equality_candidates", "equality"),
        (b"_substring_candidates", "substring"),
        (b"_inequality_candidates", "ordering"),
        (b"_presence_candidates", "presence"),
        (b"_approx_candidates", "approximate"),
    ];
    let (_, index) = names.into_iter().find(|(name, _)| memmem::rfind(before, name).is_some())?;
    Some(Event::NotIndexed { attribute: attribute.into(), index })
}

/// Other lines of the same process, such as `slapd starting`.
fn is_of_slapd(head: &[u8], time: Option<Moment>) -> bool {
    time.is_some() && (memmem::find(head, b" slapd[").is_some() || memmem::find(head, b" slapd ").is_some())
}

/// The time at the begin of a line; none where it has none.
fn time(line: &[u8], clock: &mut Clock) -> Option<Moment> {
    let line = match line.first()? {
        // RFC 5424: `<134>1 2026-11-23T09:35:51Z host slapd 77 - - `
        b'<' => {
            let rest = line.get(memchr::memchr(b'>', line.get(..6)?)? + 1..)?;
            rest.strip_prefix(b"1 ").unwrap_or(rest)
        }
        _ => line,
    };
    if line.first()?.is_ascii_uppercase() {
        return clock.syslog(line.first_chunk()?);
    }
    let word = line.get(..memchr::memchr(b' ', line)?)?;
    match word.get(4) {
        Some(b'-') => clock.rfc3339(word),
        _ => clock.hexadecimal(word),
    }
}

fn event<'l>(verb: &[u8], mut words: Words<'l>, whole: &'l [u8], is_connection: bool) -> Event<'l> {
    let kind = match verb {
        b"ACCEPT" => return accept(whole),
        b"closed" if is_connection => return closed(whole),
        b"RESULT" => return result(words),
        b"SEARCH" => {
            words.next();
            return result(words);
        }
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
        _ => return Event::Other,
    };
    let mut request = Request::of(kind);
    let mut has_target = matches!(kind, Kind::Unbind | Kind::Abandon | Kind::Extended);
    // `SRCH attr=cn sn`, `BIND dn="…" mech=SIMPLE` and `BIND anonymous mech=implicit` are second lines of a request.
    for (name, value) in words {
        let Some(value) = value else { continue };
        match name {
            b"base" | b"dn" => (request.dn, has_target) = (value.into(), true),
            b"filter" => request.filter = value.into(),
            b"scope" => request.scope = value.into(),
            b"oid" => request.detail = value.into(),
            b"attr" if kind == Kind::Compare => request.detail = value.into(),
            b"mech" => return Event::Other,
            _ => {}
        }
    }
    if has_target { Event::Request(request) } else { Event::Other }
}

fn result(words: Words<'_>) -> Event<'_> {
    let mut outcome = Outcome::of(None);
    for (name, value) in words {
        let Some(value) = value else { continue };
        match name {
            b"err" => outcome.code = signed(value).unwrap_or(0),
            b"tag" => outcome.kind = number(value).map(Kind::of_tag),
            b"nentries" => outcome.entries = number(value),
            b"etime" => outcome.etime = seconds(value).map(|(ns, digits)| Etime { ns, digits }),
            b"qtime" => outcome.phases.queue = seconds(value).map(|(ns, _)| ns),
            // The rest is a text of the server.
            b"text" => break,
            _ => {}
        }
    }
    if let (Some(etime), Some(queue)) = (outcome.etime, outcome.phases.queue) {
        outcome.phases.work = Some(etime.ns.saturating_sub(queue));
    }
    Event::Result(outcome)
}

/// `ACCEPT from IP=192.0.2.9:5000 (IP=192.0.2.1:389)`, `ACCEPT from PATH=/run/ldapi (PATH=/run/ldapi)`
fn accept(whole: &[u8]) -> Event<'_> {
    let mut words = Words::new(whole).skip_while(|(name, _)| *name != b"IP" && *name != b"PATH");
    let (client, protocol): (Text<'_>, &[u8]) = match words.next() {
        Some((b"IP", Some(end))) => (address(end).into(), b"LDAP"),
        Some((_, Some(path))) => (path.into(), b"LDAPI"),
        _ => return Event::Other,
    };
    Event::Connect { client, protocol: protocol.into() }
}

/// `closed`, `closed (connection lost)`, `closed (idletimeout)`
fn closed(whole: &[u8]) -> Event<'_> {
    let reason = whole.strip_prefix(b"closed").unwrap_or_default().trim_ascii();
    let reason = reason.strip_prefix(b"(").and_then(|reason| reason.strip_suffix(b")")).unwrap_or(b"closed");
    Event::Closed { code: reason.into() }
}
