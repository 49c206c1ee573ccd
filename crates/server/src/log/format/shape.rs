//! What lines say and look like: events, and everything that makes the lines of two logs equal or not.

use std::time::Duration;

use config::EtimeResolution;
use runtime::end::EndReason;
use runtime::log::clock::TimeFormat;

use crate::log::event::{LoggedRequest, OperationIds, Origin, ResultFields};
use crate::metrics::OperationKind;

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

/// How rows are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvDialect {
    /// Around values, and twice for itself in one.
    pub quote: u8,
    /// Between values.
    pub delimiter: u8,
    /// At the end of a row.
    pub line_end: Vec<u8>,
}

impl From<&config::CsvLogFormat> for CsvDialect {
    fn from(config: &config::CsvLogFormat) -> Self {
        Self { quote: config.quote, delimiter: config.delimiter, line_end: config.line_end.clone().into_bytes() }
    }
}

impl Shape {
    /// A length of time in the unit of the log.
    pub(super) fn time(&self, time: Duration) -> u64 {
        let time = match self.etime {
            EtimeResolution::Milliseconds => time.as_millis(),
            EtimeResolution::Microseconds => time.as_micros(),
            EtimeResolution::Nanoseconds => time.as_nanos(),
        };
        u64::try_from(time).unwrap_or(u64::MAX)
    }

    /// The phases of an update, each with its name.
    pub(super) fn phases(&self, phases: &store::Phases) -> [(&'static str, u64); 3] {
        let us = |us: u32| Duration::from_micros(us.into());
        [
            ("queue", self.time(us(phases.queue_us) + us(phases.batch_us))),
            ("apply", self.time(us(phases.apply_us))),
            ("sync", self.time(us(phases.sync_us))),
        ]
    }
}
