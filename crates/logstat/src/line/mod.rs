//! Lines of access logs, in the formats of all servers, as records.
//!
//! Each line says by its first bytes which format it has; only CSV needs to know the first line of its file.

mod audit;
mod csv;
mod json;
pub mod opendj;
mod slapd;
mod sun;
#[cfg(test)]
mod tests;

use csv::Header;
use opendj::EtimeUnit;

use crate::clock::Clock;
use crate::record::Record;

/// Reads the lines of one file after the other.
#[derive(Debug, Default)]
pub struct LineReader {
    clock: Clock,
    unit: EtimeUnit,
    header: Option<Header>,
    is_begun: bool,
}

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "one at a time, on the stack; boxing would allocate for every line")]
pub enum Line<'l> {
    /// A line of an access log.
    Record(Record<'l>),
    /// Empty, the head of a file, the names of columns: counted nowhere.
    Blank,
    /// Nothing that is understood.
    Bad,
}

impl LineReader {
    /// `unit` is the unit of `etime` where the format does not tell it; times without year or zone are read by `clock`.
    #[must_use]
    pub fn new(unit: EtimeUnit, clock: Clock) -> Self {
        Self { clock, unit, header: None, is_begun: false }
    }

    /// Another file begins.
    pub fn begin_file(&mut self) {
        (self.header, self.is_begun) = (None, false);
    }

    /// Whether the file began with the names of columns.
    #[must_use]
    pub fn has_header(&self) -> bool {
        self.header.is_some()
    }

    /// Reads a line, without its end.
    pub fn read<'l>(&mut self, line: &'l [u8]) -> Line<'l> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let Some(first) = line.first() else { return Line::Blank };
        if let Some(header) = &self.header {
            return header.record(line, &mut self.clock).map_or(Line::Bad, Line::Record);
        }
        let record = match first {
            b'[' => match sun::record(line, &mut self.clock) {
                None => opendj::record(line, &mut self.clock, self.unit),
                record => record,
            },
            b'{' => json::record(line, &mut self.clock),
            _ => slapd::record(line, &mut self.clock),
        };
        if let Some(record) = record {
            return Line::Record(record);
        }
        if is_first && let Some(header) = Header::parse(line) {
            self.header = Some(header);
            return Line::Blank;
        }
        // DSEE and 389 DS begin each file with the names of product and server.
        let is_head = first.is_ascii_whitespace() || line.starts_with(b"389-Directory") || line.starts_with(b"Sun-");
        if is_head { Line::Blank } else { Line::Bad }
    }
}
