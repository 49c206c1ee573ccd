//! Records as OpenDJ's JSON access log has them: one object a line, with its keys.
//!
//! Beyond OpenDJ's keys: `userId` in every record and not only in those of binds, `response.queue`, `apply` and `sync`
//! (where the time of an update went), `request.options` of a persistent search.

use std::sync::atomic::{AtomicU64, Ordering};

use runtime::log::text::{decimal, escaped, json_string, quoted_field, signed};

use super::shape::{Event, Shape};
use crate::log::event::{EndPoint, LoggedRequest, OperationIds, Origin, ResultFields, reason_text};
use crate::log::fields::{Field, Fields};
use crate::metrics::OperationKind;

/// Numbers records: an id of the server's run, and a count.
#[derive(Debug)]
pub struct RecordIds {
    run: String,
    next: AtomicU64,
}

impl RecordIds {
    /// Of a run that begins.
    pub fn new(run: String) -> Self {
        Self { run, next: AtomicU64::new(1) }
    }

    /// Appends the next id.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.run.as_bytes());
        out.push(b'-');
        decimal(out, self.next.fetch_add(1, Ordering::Relaxed));
    }
}

/// Appends an object.
pub fn write(out: &mut Vec<u8>, shape: &Shape, time: &[u8], ids: &RecordIds, event: Event<'_>) {
    out.extend_from_slice(br#"{"eventName":"DJ-LDAP""#);
    let mut user = None;
    match event {
        Event::Connect(origin) => {
            ends(out, origin);
            begin_request(out, origin.protocol, "CONNECT", origin.connection);
            out.extend_from_slice(br#"},"transactionId":"0","#);
            out.extend_from_slice(DONE);
            out.push(b'}');
        }
        Event::Disconnect(origin, reason, message) => {
            ends(out, origin);
            begin_request(out, origin.protocol, "DISCONNECT", origin.connection);
            if !message.is_empty() {
                text(out, "message", message.as_bytes());
            }
            out.extend_from_slice(br#"},"transactionId":"0","#);
            out.extend_from_slice(DONE);
            text(out, "reason", reason_text(reason).as_bytes());
            out.push(b'}');
        }
        Event::Request(kind, ids, origin, request) => {
            ends(out, origin);
            operation(out, shape, kind, ids, origin.protocol, request, None);
            out.extend_from_slice(br#","transactionId":"0""#);
        }
        Event::Response(kind, ids, origin, request, result) => {
            ends(out, origin);
            operation(out, shape, kind, ids, origin.protocol, request, result.acting_as);
            out.extend_from_slice(br#","transactionId":"0","#);
            response(out, shape, result, &[]);
            user = Some(result.auth_dn.unwrap_or(result.user));
        }
        Event::Internal(kind, ids, request, result) => {
            operation(out, shape, kind, ids, "INTERNAL", request, None);
            out.extend_from_slice(br#","transactionId":"0","#);
            let mut items = Vec::new();
            internal_items(&mut items, &request.fields);
            response(out, shape, result, &items);
        }
    }
    if let Some(user) = user {
        text(out, "userId", user.as_bytes());
    }
    end(out, time, ids);
}

/// The record about missing records.
pub fn drop_note(out: &mut Vec<u8>, time: &[u8], ids: &RecordIds, count: u64) {
    out.extend_from_slice(br#"{"eventName":"DJ-LDAP-DROPPED","records":"#);
    decimal(out, count);
    text(out, "reason", b"they could not be written in time");
    end(out, time, ids);
    out.push(b'\n');
}

/// What an internal change says beyond the fields that records have.
pub fn internal_items(out: &mut Vec<u8>, fields: &Fields) {
    for (field, value) in fields.iter() {
        match field {
            Field::NewDn => quoted_field(out, "newDN", value),
            Field::Entries => item(out, " entries=", value),
            Field::References => item(out, " references=", value),
            _ => {}
        }
    }
}

fn item(out: &mut Vec<u8>, label: &str, value: &[u8]) {
    out.extend_from_slice(label.as_bytes());
    escaped(out, value);
}

const DONE: &[u8] =
    br#""response":{"status":"SUCCESSFUL","statusCode":"0","elapsedTime":0,"elapsedTimeUnits":"MILLISECONDS""#;

fn end(out: &mut Vec<u8>, time: &[u8], ids: &RecordIds) {
    out.extend_from_slice(br#","timestamp":""#);
    out.extend_from_slice(time);
    out.extend_from_slice(br#"","_id":""#);
    ids.put(out);
    out.extend_from_slice(br#""}"#);
}

fn ends(out: &mut Vec<u8>, origin: &Origin<'_>) {
    end_point(out, ",\"client\":", origin.from);
    end_point(out, ",\"server\":", origin.to);
}

/// What clients of a unix socket are is said in words of our own.
fn end_point(out: &mut Vec<u8>, label: &str, end: EndPoint<'_>) {
    out.extend_from_slice(label.as_bytes());
    match end {
        EndPoint::Address(address) => {
            out.extend_from_slice(br#"{"ip":""#);
            out.extend_from_slice(address.ip().to_canonical().to_string().as_bytes());
            out.extend_from_slice(br#"","port":"#);
            decimal(out, u64::from(address.port()));
        }
        EndPoint::Process { uid, pid } => {
            out.extend_from_slice(br#"{"uid":"#);
            decimal(out, u64::from(uid));
            out.extend_from_slice(br#","pid":"#);
            signed(out, i64::from(pid));
        }
        EndPoint::Path(path) => {
            out.extend_from_slice(br#"{"path":"#);
            json_string(out, path.as_os_str().as_encoded_bytes());
        }
        EndPoint::Internal => out.push(b'{'),
    }
    out.push(b'}');
}

fn begin_request(out: &mut Vec<u8>, protocol: &str, operation: &str, connection: u64) {
    out.extend_from_slice(br#","request":{"protocol":""#);
    out.extend_from_slice(protocol.as_bytes());
    out.extend_from_slice(br#"","operation":""#);
    out.extend_from_slice(operation.as_bytes());
    out.extend_from_slice(br#"","connId":"#);
    decimal(out, connection);
}

fn operation(
    out: &mut Vec<u8>,
    shape: &Shape,
    kind: OperationKind,
    ids: OperationIds,
    protocol: &str,
    request: &LoggedRequest,
    acting_as: Option<&str>,
) {
    begin_request(out, protocol, kind.log_name(), ids.connection);
    out.extend_from_slice(br#","msgId":"#);
    signed(out, i64::from(ids.message));
    if protocol == "INTERNAL" {
        text(out, "opType", b"internal");
    }
    controls(out, shape, &request.controls);
    request_fields(out, &request.fields);
    if let Some(dn) = acting_as {
        text(out, "runAs", dn.as_bytes());
    }
    out.push(b'}');
}

fn controls(out: &mut Vec<u8>, shape: &Shape, oids: &str) {
    if shape.control_oids && !oids.is_empty() {
        out.extend_from_slice(br#","controls":"#);
        list(out, oids.split(',').map(str::as_bytes));
    }
}

/// An array of texts.
pub fn list<'v>(out: &mut Vec<u8>, values: impl Iterator<Item = &'v [u8]>) {
    out.push(b'[');
    for (at, value) in values.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        json_string(out, value);
    }
    out.push(b']');
}

/// `Simple`, `SASL mechanism=PLAIN`, or the tag of another choice.
pub fn auth_type(fields: &Fields) -> Option<Vec<u8>> {
    Some(match fields.get(Field::AuthType)? {
        b"SIMPLE" => b"Simple".to_vec(),
        b"SASL" => [b"SASL mechanism=", fields.get(Field::Mechanism).unwrap_or_default()].concat(),
        other => other.to_vec(),
    })
}

fn request_fields(out: &mut Vec<u8>, fields: &Fields) {
    let wanted = || fields.iter().filter(|(field, _)| *field == Field::Wanted).map(|(_, value)| value);
    let mut has_list = false;
    for (field, value) in fields.iter() {
        match field {
            Field::Version => text(out, "version", value),
            Field::AuthType => text(out, "authType", &auth_type(fields).unwrap_or_default()),
            Field::Dn | Field::Base => text(out, "dn", value),
            Field::Scope => text(out, "scope", value),
            Field::Filter => text(out, "filter", value),
            Field::Wanted if has_list => {}
            Field::Wanted => {
                has_list = true;
                out.extend_from_slice(br#","attrs":"#);
                list(out, wanted());
            }
            Field::NewRdn => text(out, "newRDN", value),
            Field::NewSuperior => text(out, "newSup", value),
            Field::DeleteOldRdn => bare(out, "deleteOldRDN", value),
            Field::Attribute => text(out, "attr", value),
            Field::IdToAbandon => bare(out, "idToAbandon", value),
            Field::Name | Field::Plugin => text(out, "name", value),
            Field::Oid => text(out, "oid", value),
            Field::Options => text(out, "options", value),
            Field::Mechanism | Field::NewDn | Field::Entries | Field::References => {}
        }
    }
}

/// Everything that the log calls additional, as one text.
pub fn additional_items(result: &ResultFields<'_>, more: &[u8]) -> Vec<u8> {
    let unindexed: &[u8] = if result.is_unindexed { b" unindexed" } else { b"" };
    [unindexed, result.additional, more].concat()
}

/// The word for the unit of a log's times.
pub fn time_units(shape: &Shape) -> &'static str {
    match shape.etime {
        config::EtimeResolution::Milliseconds => "MILLISECONDS",
        config::EtimeResolution::Microseconds => "MICROSECONDS",
        config::EtimeResolution::Nanoseconds => "NANOSECONDS",
    }
}

/// Whether OpenDJ calls a result a success.
pub fn status(code: i32) -> &'static str {
    if code == 0 { "SUCCESSFUL" } else { "FAILED" }
}

fn response(out: &mut Vec<u8>, shape: &Shape, result: &ResultFields<'_>, more: &[u8]) {
    out.extend_from_slice(br#""response":{"status":""#);
    out.extend_from_slice(status(result.code).as_bytes());
    out.extend_from_slice(br#"","statusCode":""#);
    signed(out, i64::from(result.code));
    out.extend_from_slice(br#"","elapsedTime":"#);
    decimal(out, shape.time(result.elapsed));
    out.extend_from_slice(br#","elapsedTimeUnits":""#);
    out.extend_from_slice(time_units(shape).as_bytes());
    out.push(b'"');
    if !result.message.is_empty() {
        text(out, "detail", result.message.as_bytes());
    }
    controls(out, shape, result.response_controls);
    if let Some(entries) = result.entries {
        number(out, "nentries", entries);
    }
    let items = additional_items(result, more);
    if !items.is_empty() {
        text(out, "additionalItems", &items);
    }
    if let Some(reason) = result.auth_failure {
        text(out, "failureReason", reason.as_bytes());
    }
    if let Some((code, message)) = result.masked {
        out.extend_from_slice(br#","maskedResult":"#);
        signed(out, i64::from(code));
        if !message.is_empty() {
            text(out, "maskedMessage", message.as_bytes());
        }
    }
    if let Some(phases) = result.phases {
        for (name, time) in shape.phases(phases) {
            number(out, name, time);
        }
    }
    out.push(b'}');
}

fn label(out: &mut Vec<u8>, key: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}

fn text(out: &mut Vec<u8>, key: &str, value: &[u8]) {
    label(out, key);
    json_string(out, value);
}

fn number(out: &mut Vec<u8>, key: &str, value: u64) {
    label(out, key);
    decimal(out, value);
}

/// A value of our own making that is valid as it is.
fn bare(out: &mut Vec<u8>, key: &str, value: &[u8]) {
    label(out, key);
    out.extend_from_slice(value);
}
