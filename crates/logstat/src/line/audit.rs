//! The fields that OpenDJ's JSON and CSV access logs share, and what they say.

use std::borrow::Cow;

use super::opendj::{EtimeUnit, kind_of_name};
use crate::clock::Clock;
use crate::record::{EMPTY, Event, Ids, Kind, Outcome, Record, Request, Text};
use crate::words::{number, signed};

/// A field, if the record has it.
pub(super) type Field<'l> = Option<Cow<'l, str>>;

/// The fields of a record that are looked at.
#[derive(Default)]
pub(super) struct Fields<'l> {
    pub timestamp: Field<'l>,
    pub client: Field<'l>,
    pub protocol: Field<'l>,
    pub operation: Field<'l>,
    pub connection: Field<'l>,
    pub number: Field<'l>,
    pub message: Field<'l>,
    pub dn: Field<'l>,
    pub scope: Field<'l>,
    pub filter: Field<'l>,
    pub detail: Field<'l>,
    pub operation_type: Field<'l>,
    pub code: Field<'l>,
    pub elapsed: Field<'l>,
    pub units: Field<'l>,
    pub entries: Field<'l>,
    pub items: Field<'l>,
    pub reason: Field<'l>,
    pub csn: Field<'l>,
    pub user: Field<'l>,
}

fn text(field: Field<'_>) -> Text<'_> {
    match field {
        Some(Cow::Borrowed(text)) => text.as_bytes().into(),
        Some(Cow::Owned(text)) => text.into_bytes().into(),
        None => EMPTY,
    }
}

fn counted(field: &Field<'_>) -> Option<u64> {
    number(field.as_deref()?.as_bytes())
}

/// What a record says; none if it is about no connection.
pub(super) fn record_of<'l>(fields: Fields<'l>, clock: &mut Clock) -> Option<Record<'l>> {
    let operation = fields.operation.as_deref()?.as_bytes();
    let connection = signed(fields.connection.as_deref()?.as_bytes())?;
    let message = fields.message.as_deref().and_then(|message| signed(message.as_bytes())).unwrap_or(0);
    let ids = Ids {
        connection: u64::try_from(connection).unwrap_or(u64::MAX),
        // The message id tells operations of a connection apart where there is no number.
        operation: counted(&fields.number).or_else(|| u64::try_from(message).ok()),
        message,
    };
    let time = fields.timestamp.as_deref().and_then(|time| clock.rfc3339(time.as_bytes()));
    let kind = match operation {
        b"CONNECT" => {
            let event = Event::Connect { client: text(fields.client), protocol: text(fields.protocol) };
            return Some(Record { time, ids, event });
        }
        b"DISCONNECT" => return Some(Record { time, ids, event: Event::Closed { code: text(fields.reason) } }),
        name => kind_of_name(name)?,
    };
    let unit = match fields.units.as_deref() {
        Some("NANOSECONDS") => EtimeUnit::Nanoseconds,
        Some("MICROSECONDS") => EtimeUnit::Microseconds,
        _ => EtimeUnit::Milliseconds,
    };
    let code = fields.code.as_deref().and_then(|code| signed(code.as_bytes()));
    let outcome = Outcome {
        code: code.unwrap_or(0),
        etime: counted(&fields.elapsed).map(|count| unit.etime(count)),
        entries: counted(&fields.entries),
        is_unindexed: fields.items.as_deref().is_some_and(|items| items.contains("unindexed")),
        csn: text(fields.csn),
        dn: if kind == Kind::Bind { text(fields.user) } else { EMPTY },
        ..Outcome::of(Some(kind))
    };
    let request = Request {
        dn: text(fields.dn),
        filter: text(fields.filter),
        scope: text(fields.scope),
        detail: text(fields.detail),
        is_internal: connection < 0 || fields.operation_type.as_deref() == Some("internal"),
        ..Request::of(kind)
    };
    let event = if code.is_some() { Event::Whole(request, outcome) } else { Event::Request(request) };
    Some(Record { time, ids, event })
}
