//! The forms of an access log: `text` (OpenDJ's `multi-line` and `combined`), `json` and `csv` (OpenDJ's common audit
//! records). Each says the same of an event; none knows files, queues or filters.

mod csv;
mod json;
mod shape;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;
use std::time::SystemTime;

use jiff::tz::TimeZone;
use runtime::log::clock::{LogClock, TimeFormat};
use runtime::log::writer::DropNote;

pub use json::RecordIds;
pub use shape::{CsvDialect, Event, Form, Shape};
pub(crate) use text::fields as write_text_fields;

use crate::metrics::OperationKind;

/// Times in records: RFC 3339 in UTC with milliseconds.
const RECORD_TIME_FORMAT: &str = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'";

/// Writes lines of one shape.
#[derive(Debug)]
pub struct Formatter {
    shape: Shape,
    clock: LogClock,
    ids: Arc<RecordIds>,
}

impl Formatter {
    /// Record ids come from `ids`.
    pub fn new(shape: Shape, ids: &Arc<RecordIds>) -> Self {
        let clock = match &shape.form {
            Form::Text { time_format, .. } => LogClock::new(time_format.clone()),
            Form::Json | Form::Csv(_) => record_clock(),
        };
        Self { shape, clock, ids: Arc::clone(ids) }
    }

    /// What the lines look like.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether a request has a line of its own before it is answered. That is so in the multi-line format, and always
    /// where the answer comes never (unbind) or perhaps days later (a persistent search).
    pub fn has_request_lines(&self, kind: OperationKind, is_endless: bool) -> bool {
        let is_multi_line = matches!(self.shape.form, Form::Text { combined: false, .. });
        is_multi_line || kind == OperationKind::Unbind || is_endless
    }

    /// Appends the line of an event, with its end.
    pub fn write(&mut self, out: &mut Vec<u8>, now: SystemTime, event: Event<'_>) {
        match &self.shape.form {
            Form::Text { combined, .. } => {
                out.extend_from_slice(self.clock.stamp(now));
                text::write(out, &self.shape, *combined, event);
                out.push(b'\n');
            }
            Form::Json => {
                json::write(out, &self.shape, self.clock.plain(now), &self.ids, event);
                out.push(b'\n');
            }
            Form::Csv(dialect) => csv::write(out, &self.shape, dialect, self.clock.plain(now), &self.ids, event),
        }
    }
}

impl Shape {
    /// How missing lines are reported.
    pub fn drop_note(&self, ids: &Arc<RecordIds>) -> DropNote {
        let ids = Arc::clone(ids);
        match &self.form {
            Form::Text { time_format, .. } => {
                let mut clock = LogClock::new(time_format.clone());
                Box::new(move |out, count, now| {
                    out.extend_from_slice(clock.stamp(now));
                    text::drop_note(out, count);
                })
            }
            Form::Json => {
                let mut clock = record_clock();
                Box::new(move |out, count, now| json::drop_note(out, clock.plain(now), &ids, count))
            }
            Form::Csv(dialect) => {
                let (mut clock, dialect) = (record_clock(), dialect.clone());
                Box::new(move |out, count, now| csv::drop_note(out, &dialect, clock.plain(now), &ids, count))
            }
        }
    }

    /// What a new file begins with.
    pub fn head(&self) -> Vec<u8> {
        match &self.form {
            Form::Csv(dialect) => csv::head(dialect),
            Form::Text { .. } | Form::Json => Vec::new(),
        }
    }
}

fn record_clock() -> LogClock {
    LogClock::with_zone(TimeFormat::parse(RECORD_TIME_FORMAT).unwrap_or_default(), TimeZone::UTC)
}
