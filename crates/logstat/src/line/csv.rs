//! OpenDJ's CSV access log: a line of names, then one line a record.

use std::borrow::Cow;

use super::audit::{Field, Fields, record_of};
use crate::clock::Clock;
use crate::record::Record;

/// Most columns that are looked at.
const COLUMNS_MAX: usize = 256;

/// What a file's columns are.
#[derive(Debug, Clone)]
pub(super) struct Header {
    delimiter: u8,
    columns: Vec<Option<Column>>,
}

#[derive(Debug, Clone, Copy)]
enum Column {
    Timestamp,
    Client,
    Protocol,
    Operation,
    Connection,
    Number,
    Message,
    Dn,
    Scope,
    Filter,
    Oid,
    Attribute,
    OperationType,
    Code,
    Elapsed,
    Units,
    Entries,
    Items,
    Reason,
    Csn,
    User,
}

/// Names without what separates their parts (`response/statusCode`, `response_statusCode`, `response.statusCode`).
const COLUMNS: [(&str, Column); 21] = [
    ("timestamp", Column::Timestamp),
    ("clientip", Column::Client),
    ("requestprotocol", Column::Protocol),
    ("requestoperation", Column::Operation),
    ("requestconnid", Column::Connection),
    ("requestopid", Column::Number),
    ("requestmsgid", Column::Message),
    ("requestdn", Column::Dn),
    ("requestscope", Column::Scope),
    ("requestfilter", Column::Filter),
    ("requestoid", Column::Oid),
    ("requestattr", Column::Attribute),
    ("requestoptype", Column::OperationType),
    ("responsestatuscode", Column::Code),
    ("responseelapsedtime", Column::Elapsed),
    ("responseelapsedtimeunits", Column::Units),
    ("responsenentries", Column::Entries),
    ("responseadditionalitems", Column::Items),
    ("responsereason", Column::Reason),
    ("responsecsn", Column::Csn),
    ("userid", Column::User),
];

impl Header {
    /// Of a file's first line; none if it is no such line.
    pub(super) fn parse(line: &[u8]) -> Option<Header> {
        let line = std::str::from_utf8(line).ok()?.trim_start_matches('\u{feff}');
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'"' | b'_' | b'.' | b'/' | b'\'');
        let delimiter = *line.as_bytes().iter().find(|byte| !is_name(byte)).filter(|byte| byte.is_ascii())?;
        let column = |name: Cow<'_, str>| {
            let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
            let name = name.to_ascii_lowercase();
            COLUMNS.iter().find(|(own, _)| *own == name).map(|(_, column)| *column)
        };
        let columns: Vec<Option<Column>> =
            Cells { rest: Some(line), delimiter }.take(COLUMNS_MAX).map(column).collect();
        let has = |wanted: fn(&Column) -> bool| columns.iter().flatten().any(wanted);
        let is_header = has(|column| matches!(column, Column::Operation))
            && has(|column| matches!(column, Column::Timestamp))
            && has(|column| matches!(column, Column::Connection));
        is_header.then_some(Header { delimiter, columns })
    }

    /// What a line says; none if it is no such record.
    pub(super) fn record<'l>(&self, line: &'l [u8], clock: &mut Clock) -> Option<Record<'l>> {
        let line = std::str::from_utf8(line).ok()?;
        let mut fields = Fields::default();
        let cells = Cells { rest: Some(line), delimiter: self.delimiter };
        for (column, cell) in self.columns.iter().zip(cells) {
            let Some(column) = column else { continue };
            if !cell.is_empty() {
                *place(&mut fields, *column) = Some(cell);
            }
        }
        record_of(fields, clock)
    }
}

fn place<'f, 'l>(fields: &'f mut Fields<'l>, column: Column) -> &'f mut Field<'l> {
    match column {
        Column::Timestamp => &mut fields.timestamp,
        Column::Client => &mut fields.client,
        Column::Protocol => &mut fields.protocol,
        Column::Operation => &mut fields.operation,
        Column::Connection => &mut fields.connection,
        Column::Number => &mut fields.number,
        Column::Message => &mut fields.message,
        Column::Dn => &mut fields.dn,
        Column::Scope => &mut fields.scope,
        Column::Filter => &mut fields.filter,
        Column::Oid | Column::Attribute => &mut fields.detail,
        Column::OperationType => &mut fields.operation_type,
        Column::Code => &mut fields.code,
        Column::Elapsed => &mut fields.elapsed,
        Column::Units => &mut fields.units,
        Column::Entries => &mut fields.entries,
        Column::Items => &mut fields.items,
        Column::Reason => &mut fields.reason,
        Column::Csn => &mut fields.csn,
        Column::User => &mut fields.user,
    }
}

/// The cells of a line; quotes inside quotes are doubled.
struct Cells<'l> {
    rest: Option<&'l str>,
    delimiter: u8,
}

impl<'l> Iterator for Cells<'l> {
    type Item = Cow<'l, str>;

    fn next(&mut self) -> Option<Cow<'l, str>> {
        let rest = self.rest?;
        let Some(quoted) = rest.strip_prefix('"') else {
            let end = memchr::memchr(self.delimiter, rest.as_bytes());
            let (cell, after) = end.map_or((rest, None), |end| (&rest[..end], rest.get(end + 1..)));
            self.rest = after;
            return Some(Cow::Borrowed(cell));
        };
        let mut from = 0;
        let mut has_quotes = false;
        while let Some(at) = memchr::memchr(b'"', quoted.as_bytes().get(from..).unwrap_or_default()) {
            let end = from + at;
            let after = quoted.get(end + 1..).unwrap_or_default();
            if after.starts_with('"') {
                (from, has_quotes) = (end + 2, true);
                continue;
            }
            self.rest = after.as_bytes().first().filter(|byte| **byte == self.delimiter).and_then(|_| after.get(1..));
            let cell = quoted.get(..end).unwrap_or_default();
            return Some(if has_quotes { Cow::Owned(cell.replace("\"\"", "\"")) } else { Cow::Borrowed(cell) });
        }
        // A line that was cut.
        self.rest = None;
        Some(Cow::Borrowed(quoted))
    }
}
