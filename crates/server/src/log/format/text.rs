//! Lines of words and values: OpenDJ's `multi-line` and `combined` formats, field for field.

use runtime::log::text::{decimal, escaped, number_field, quoted_field, signed, word_field};

use super::shape::{Event, Shape};
use crate::log::event::{EndPoint, OperationIds, ResultFields, reason_text};
use crate::log::fields::{Field, Fields};
use crate::metrics::OperationKind;

/// Everything behind the time.
pub fn write(out: &mut Vec<u8>, shape: &Shape, combined: bool, event: Event<'_>) {
    match event {
        Event::Connect(origin) => {
            out.extend_from_slice(b"CONNECT");
            number_field(out, "conn", origin.connection);
            end_point(out, " from=", origin.from);
            end_point(out, " to=", origin.to);
            word_field(out, "protocol", origin.protocol.as_bytes());
        }
        Event::Disconnect(origin, reason, message) => {
            out.extend_from_slice(b"DISCONNECT");
            number_field(out, "conn", origin.connection);
            quoted_field(out, "reason", reason_text(reason).as_bytes());
            if !message.is_empty() {
                quoted_field(out, "msg", message.as_bytes());
            }
        }
        Event::Request(kind, ids, _, request) => {
            head(out, kind, " REQ", ids);
            fields(out, &request.fields);
            controls(out, shape, "requestControls", &request.controls);
        }
        Event::Response(kind, ids, _, request, result) => {
            if combined {
                head(out, kind, "", ids);
                fields(out, &request.fields);
                controls(out, shape, "requestControls", &request.controls);
            } else {
                head(out, kind, " RES", ids);
            }
            result_fields(out, shape, result);
        }
        Event::Internal(kind, ids, request, result) => {
            head(out, kind, "", ids);
            word_field(out, "type", b"internal");
            fields(out, &request.fields);
            result_fields(out, shape, result);
        }
    }
}

/// The line about missing lines, behind the time.
pub fn drop_note(out: &mut Vec<u8>, count: u64) {
    out.extend_from_slice(b"DROPPED");
    number_field(out, "lines", count);
    quoted_field(out, "reason", b"they could not be written in time");
    out.push(b'\n');
}

/// The fields of a request, each with a leading blank.
pub fn fields(out: &mut Vec<u8>, fields: &Fields) {
    let mut in_list = false;
    for (field, value) in fields.iter() {
        if field == Field::Wanted {
            out.extend_from_slice(if in_list { b"," } else { b" attrs=\"" });
            escaped(out, value);
            in_list = true;
            continue;
        }
        if std::mem::take(&mut in_list) {
            out.push(b'"');
        }
        match field {
            Field::Version => word_field(out, "version", value),
            Field::AuthType => word_field(out, "type", value),
            Field::Mechanism => word_field(out, "mechanism", value),
            Field::Dn => quoted_field(out, "dn", value),
            Field::Base => quoted_field(out, "base", value),
            Field::Scope => word_field(out, "scope", value),
            Field::Filter => quoted_field(out, "filter", value),
            Field::NewRdn => quoted_field(out, "newRDN", value),
            Field::DeleteOldRdn => quoted_field(out, "deleteOldRDN", value),
            Field::NewSuperior => quoted_field(out, "newSuperior", value),
            Field::Attribute => word_field(out, "attr", value),
            Field::IdToAbandon => word_field(out, "idToAbandon", value),
            Field::Name => quoted_field(out, "name", value),
            Field::Oid => quoted_field(out, "oid", value),
            Field::Options => word_field(out, "options", value),
            Field::Plugin => quoted_field(out, "plugin", value),
            Field::NewDn => quoted_field(out, "newDN", value),
            Field::Entries => word_field(out, "entries", value),
            Field::References => word_field(out, "references", value),
            Field::Wanted => {}
        }
    }
    if in_list {
        out.push(b'"');
    }
}

fn head(out: &mut Vec<u8>, kind: OperationKind, part: &str, ids: OperationIds) {
    out.extend_from_slice(kind.log_name().as_bytes());
    out.extend_from_slice(part.as_bytes());
    number_field(out, "conn", ids.connection);
    number_field(out, "op", ids.operation);
    out.extend_from_slice(b" msgID=");
    signed(out, i64::from(ids.message));
}

fn controls(out: &mut Vec<u8>, shape: &Shape, label: &str, oids: &str) {
    if shape.control_oids && !oids.is_empty() {
        word_field(out, label, oids.as_bytes());
    }
}

fn result_fields(out: &mut Vec<u8>, shape: &Shape, result: &ResultFields<'_>) {
    out.extend_from_slice(b" result=");
    signed(out, i64::from(result.code));
    if !result.message.is_empty() {
        quoted_field(out, "message", result.message.as_bytes());
    }
    if let Some(reason) = result.auth_failure {
        quoted_field(out, "authFailureReason", reason.as_bytes());
    }
    if let Some(dn) = result.auth_dn {
        quoted_field(out, "authDN", dn.as_bytes());
    }
    if let Some(entries) = result.entries {
        number_field(out, "nentries", entries);
    }
    if result.is_unindexed {
        out.extend_from_slice(b" unindexed");
    }
    out.extend_from_slice(result.additional);
    if let Some((code, message)) = result.masked {
        out.extend_from_slice(b" maskedResult=");
        signed(out, i64::from(code));
        if !message.is_empty() {
            quoted_field(out, "maskedMessage", message.as_bytes());
        }
    }
    if let Some(dn) = result.acting_as {
        quoted_field(out, "authzDN", dn.as_bytes());
    }
    controls(out, shape, "responseControls", result.response_controls);
    if let Some(phases) = result.phases {
        for (name, time) in shape.phases(phases) {
            number_field(out, name, time);
        }
    }
    number_field(out, "etime", shape.time(result.elapsed));
}

fn end_point(out: &mut Vec<u8>, label: &str, end: EndPoint<'_>) {
    out.extend_from_slice(label.as_bytes());
    match end {
        EndPoint::Address(address) => {
            // Rare enough (once a connection) for `fmt`.
            out.extend_from_slice(address.to_string().as_bytes());
        }
        EndPoint::Process { uid, pid } => {
            out.extend_from_slice(b"uid:");
            decimal(out, u64::from(uid));
            out.extend_from_slice(b",pid:");
            signed(out, i64::from(pid));
        }
        EndPoint::Path(path) => escaped(out, path.as_os_str().as_encoded_bytes()),
        EndPoint::Internal => out.extend_from_slice(b"internal"),
    }
}
