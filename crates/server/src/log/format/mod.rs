//! The forms of an access log: `text` (OpenDJ's `multi-line` and `combined`), `json` and `csv` (OpenDJ's common audit
//! records). Each says the same of an event; none knows files, queues or filters.

mod csv;
mod json;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use config::EtimeResolution;
use jiff::tz::TimeZone;
use runtime::end::EndReason;
use runtime::log::clock::{LogClock, TimeFormat};
use runtime::log::writer::DropNote;

pub use csv::CsvDialect;
pub use json::RecordIds;
pub(crate) use text::fields as write_text_fields;

use super::event::{LoggedRequest, OperationIds, Origin, ResultFields};
use crate::metrics::OperationKind;

/// Times in records: RFC 3339 in UTC with milliseconds.
const RECORD_TIME_FORMAT: &str = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'";

/// What a line looks like.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// Words and values.
    Text {
        /// One line when it is answered, with the fields of both; otherwise one for the request and one for the answer.
        combined: bool,
        /// Time at the start.
        time_format: TimeFormat,
    },
    /// One object a line.
    Json,
    /// One row a line.
    Csv(CsvDialect),
}

/// Everything that makes the lines of two logs equal or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// What a line looks like.
    pub form: Form,
    /// Unit of `etime`.
    pub etime: EtimeResolution,
    /// Whether the OIDs of controls are written (`log-control-oids`).
    pub control_oids: bool,
}

/// Something that happened.
#[derive(Clone, Copy)]
pub enum Event<'e> {
    /// A client connected.
    Connect(&'e Origin<'e>),
    /// A connection ended.
    Disconnect(&'e Origin<'e>, EndReason, &'e str),
    /// A request was read.
    Request(OperationKind, OperationIds, &'e Origin<'e>, &'e LoggedRequest),
    /// A request was answered.
    Response(OperationKind, OperationIds, &'e Origin<'e>, &'e LoggedRequest, &'e ResultFields<'e>),
    /// The server changed something by itself, because of the operation.
    Internal(OperationKind, OperationIds, &'e LoggedRequest, &'e ResultFields<'e>),
}

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

    /// A length of time in the unit of the log.
    fn time(&self, time: Duration) -> u64 {
        let time = match self.etime {
            EtimeResolution::Milliseconds => time.as_millis(),
            EtimeResolution::Microseconds => time.as_micros(),
            EtimeResolution::Nanoseconds => time.as_nanos(),
        };
        u64::try_from(time).unwrap_or(u64::MAX)
    }

    /// The phases of an update, each with its name.
    fn phases(&self, phases: &store::Phases) -> [(&'static str, u64); 3] {
        let us = |us: u32| Duration::from_micros(us.into());
        [
            ("queue", self.time(us(phases.queue_us) + us(phases.batch_us))),
            ("apply", self.time(us(phases.apply_us))),
            ("sync", self.time(us(phases.sync_us))),
        ]
    }
}

fn record_clock() -> LogClock {
    LogClock::with_zone(TimeFormat::parse(RECORD_TIME_FORMAT).unwrap_or_default(), TimeZone::UTC)
}
