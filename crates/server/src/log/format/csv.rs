//! Rows as OpenDJ's CSV access log has them: its columns in its order, every value in quotes, none where there is none.

use runtime::log::text::{decimal, escaped, signed};

use super::json::{RecordIds, additional_items, auth_type, internal_items, list, status, time_units};
use super::shape::{CsvDialect, Event, Shape};
use crate::log::event::{EndPoint, LoggedRequest, OperationIds, Origin, ResultFields, reason_text};
use crate::log::fields::Field;
use crate::metrics::OperationKind;

const COLUMNS: [&str; 43] = [
    "_id",
    "timestamp",
    "eventName",
    "transactionId",
    "userId",
    "runAs",
    "server.ip",
    "server.port",
    "client.host",
    "client.ip",
    "client.port",
    "request.protocol",
    "request.operation",
    "request.connId",
    "request.msgId",
    "request.dn",
    "request.scope",
    "request.filter",
    "request.attrs",
    "request.authType",
    "request.controls",
    "request.attr",
    "request.idToAbandon",
    "request.message",
    "request.name",
    "request.newRDN",
    "request.newSup",
    "request.deleteOldRDN",
    "request.oid",
    "request.version",
    "request.opType",
    "response.status",
    "response.statusCode",
    "response.detail",
    "response.elapsedTime",
    "response.elapsedTimeUnits",
    "response.nentries",
    "response.controls",
    "response.additionalItems",
    "response.failureReason",
    "response.maskedResult",
    "response.maskedMessage",
    "response.reason",
];

/// The row with the names of the columns.
pub fn head(dialect: &CsvDialect) -> Vec<u8> {
    let mut row = Row::new(dialect);
    for (at, column) in COLUMNS.iter().enumerate() {
        row.values[at] = Some(column.as_bytes().to_vec());
    }
    let mut out = Vec::new();
    row.put(&mut out);
    out
}

/// Appends a row with its end.
pub fn write(out: &mut Vec<u8>, shape: &Shape, dialect: &CsvDialect, time: &[u8], ids: &RecordIds, event: Event<'_>) {
    let mut row = Row::begun(dialect, time, ids, b"DJ-LDAP");
    match event {
        Event::Connect(origin) => {
            row.origin(origin);
            row.set("request.operation", b"CONNECT");
            row.done();
        }
        Event::Disconnect(origin, reason, message) => {
            row.origin(origin);
            row.set("request.operation", b"DISCONNECT");
            row.set_if_any("request.message", message.as_bytes());
            row.done();
            row.set("response.reason", reason_text(reason).as_bytes());
        }
        Event::Request(kind, ids, origin, request) => {
            row.origin(origin);
            row.request(shape, kind, ids, request);
        }
        Event::Response(kind, ids, origin, request, result) => {
            row.origin(origin);
            row.request(shape, kind, ids, request);
            row.set_if_any("userId", result.auth_dn.unwrap_or(result.user).as_bytes());
            row.set_if_any("runAs", result.acting_as.unwrap_or_default().as_bytes());
            row.response(shape, result, &[]);
        }
        Event::Internal(kind, ids, request, result) => {
            row.set("request.protocol", b"INTERNAL");
            row.set("request.opType", b"internal");
            row.request(shape, kind, ids, request);
            let mut items = Vec::new();
            internal_items(&mut items, &request.fields);
            row.response(shape, result, &items);
        }
    }
    row.put(out);
}

/// The row about missing rows.
pub fn drop_note(out: &mut Vec<u8>, dialect: &CsvDialect, time: &[u8], ids: &RecordIds, count: u64) {
    let mut row = Row::begun(dialect, time, ids, b"DJ-LDAP-DROPPED");
    let text = format!("{count} records are missing: they could not be written in time");
    row.set("response.detail", text.as_bytes());
    row.put(out);
}

struct Row<'d> {
    dialect: &'d CsvDialect,
    values: [Option<Vec<u8>>; COLUMNS.len()],
}

impl<'d> Row<'d> {
    fn new(dialect: &'d CsvDialect) -> Self {
        Self { dialect, values: [const { None }; COLUMNS.len()] }
    }

    fn begun(dialect: &'d CsvDialect, time: &[u8], ids: &RecordIds, event: &[u8]) -> Self {
        let mut row = Self::new(dialect);
        let mut id = Vec::new();
        ids.put(&mut id);
        row.set("_id", &id);
        row.set("timestamp", time);
        row.set("eventName", event);
        row.set("transactionId", b"0");
        row
    }

    fn set(&mut self, column: &str, value: &[u8]) {
        let at = COLUMNS.iter().position(|name| *name == column);
        if let Some(place) = at.and_then(|at| self.values.get_mut(at)) {
            *place = Some(value.to_vec());
        }
    }

    fn set_if_any(&mut self, column: &str, value: &[u8]) {
        if !value.is_empty() {
            self.set(column, value);
        }
    }

    fn number(&mut self, column: &str, number: i64) {
        let mut text = Vec::new();
        signed(&mut text, number);
        self.set(column, &text);
    }

    fn count(&mut self, column: &str, number: u64) {
        let mut text = Vec::new();
        decimal(&mut text, number);
        self.set(column, &text);
    }

    fn origin(&mut self, origin: &Origin<'_>) {
        for (end, ip, port) in [(origin.to, "server.ip", "server.port"), (origin.from, "client.ip", "client.port")] {
            match end {
                EndPoint::Address(address) => {
                    self.set(ip, address.ip().to_canonical().to_string().as_bytes());
                    self.count(port, address.port().into());
                }
                EndPoint::Process { uid, pid } => {
                    self.set("client.host", format!("uid:{uid},pid:{pid}").as_bytes());
                }
                EndPoint::Path(_) | EndPoint::Internal => {}
            }
        }
        self.set("request.protocol", origin.protocol.as_bytes());
        self.count("request.connId", origin.connection);
    }

    /// What OpenDJ says of what has no answer.
    fn done(&mut self) {
        self.set("response.status", b"SUCCESSFUL");
        self.set("response.statusCode", b"0");
        self.set("response.elapsedTime", b"0");
        self.set("response.elapsedTimeUnits", b"MILLISECONDS");
    }

    fn request(&mut self, shape: &Shape, kind: OperationKind, ids: OperationIds, request: &LoggedRequest) {
        self.set("request.operation", kind.log_name().as_bytes());
        self.count("request.connId", ids.connection);
        self.number("request.msgId", ids.message.into());
        self.controls(shape, "request.controls", &request.controls);
        let fields = &request.fields;
        if let Some(auth_type) = auth_type(fields) {
            self.set("request.authType", &auth_type);
        }
        let wanted = fields.iter().filter(|(field, _)| *field == Field::Wanted).map(|(_, value)| value);
        for (field, value) in fields.iter() {
            match field {
                Field::Version => self.set("request.version", value),
                Field::Dn | Field::Base => self.set_if_any("request.dn", value),
                Field::Scope => self.set("request.scope", value),
                Field::Filter => self.set("request.filter", value),
                Field::NewRdn => self.set("request.newRDN", value),
                Field::NewSuperior => self.set("request.newSup", value),
                Field::DeleteOldRdn => self.set("request.deleteOldRDN", value),
                Field::Attribute => self.set("request.attr", value),
                Field::IdToAbandon => self.set("request.idToAbandon", value),
                Field::Name | Field::Plugin => self.set("request.name", value),
                Field::Oid => self.set("request.oid", value),
                Field::AuthType
                | Field::Mechanism
                | Field::Wanted
                | Field::Options
                | Field::NewDn
                | Field::Entries
                | Field::References => {}
            }
        }
        let mut attributes = Vec::new();
        list(&mut attributes, wanted);
        if attributes != b"[]" {
            self.set("request.attrs", &attributes);
        }
    }

    fn controls(&mut self, shape: &Shape, column: &str, oids: &str) {
        if shape.control_oids && !oids.is_empty() {
            let mut text = Vec::new();
            list(&mut text, oids.split(',').map(str::as_bytes));
            self.set(column, &text);
        }
    }

    fn response(&mut self, shape: &Shape, result: &ResultFields<'_>, more: &[u8]) {
        self.set("response.status", status(result.code).as_bytes());
        self.number("response.statusCode", result.code.into());
        self.set_if_any("response.detail", result.message.as_bytes());
        self.count("response.elapsedTime", shape.time(result.elapsed));
        self.set("response.elapsedTimeUnits", time_units(shape).as_bytes());
        if let Some(entries) = result.entries {
            self.count("response.nentries", entries);
        }
        self.controls(shape, "response.controls", result.response_controls);
        let mut items = additional_items(result, more);
        if let Some(phases) = result.phases {
            for (name, time) in shape.phases(phases) {
                runtime::log::text::number_field(&mut items, name, time);
            }
        }
        self.set_if_any("response.additionalItems", &items);
        self.set_if_any("response.failureReason", result.auth_failure.unwrap_or_default().as_bytes());
        if let Some((code, message)) = result.masked {
            self.number("response.maskedResult", code.into());
            self.set_if_any("response.maskedMessage", message.as_bytes());
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        let CsvDialect { quote, delimiter, line_end } = self.dialect;
        let mut safe = Vec::new();
        for (at, value) in self.values.iter().enumerate() {
            if at > 0 {
                out.push(*delimiter);
            }
            let Some(value) = value else { continue };
            out.push(*quote);
            safe.clear();
            one_line(&mut safe, value);
            for byte in &safe {
                if byte == quote {
                    out.push(*quote);
                }
                out.push(*byte);
            }
            out.push(*quote);
        }
        out.extend_from_slice(line_end);
    }
}

/// Quotes may stay, which the row doubles; what ends a line, and what is no text, is escaped as in the text log.
fn one_line(out: &mut Vec<u8>, value: &[u8]) {
    for (at, part) in value.split(|byte| *byte == b'"').enumerate() {
        if at > 0 {
            out.push(b'"');
        }
        escaped(out, part);
    }
}
