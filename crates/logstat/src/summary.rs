//! What an analysis found, as rows: what texts, JSON and pictures are made of.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::clock::{rfc3339, written};
use crate::record::{Kind, Moment};
use crate::tables::minutes::Minute;

/// A time: as logs write it for people, RFC 3339 for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Moment);

impl fmt::Display for Time {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&written(self.0))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&rfc3339(self.0))
    }
}

/// Nanoseconds; seconds for programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Length(pub u64);

impl Length {
    /// As seconds.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "for display")]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl fmt::Display for Length {
    /// Three digits or more, with a unit.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds();
        match self.0 {
            0 => out.write_str("0"),
            1..1_000_000 => write!(out, "{:.0} µs", seconds * 1e6),
            1_000_000..1_000_000_000 => write!(out, "{:.1} ms", seconds * 1e3),
            1_000_000_000..100_000_000_000 => write!(out, "{seconds:.2} s"),
            _ => write!(out, "{seconds:.0} s"),
        }
    }
}

impl Serialize for Length {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_f64(self.seconds())
    }
}

/// How many operations of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds(pub [u64; Kind::ALL.len()]);

impl Kinds {
    pub(crate) fn of_counts(counts: [u32; Kind::ALL.len()]) -> Self {
        Self(counts.map(u64::from))
    }

    /// Of one kind.
    #[must_use]
    pub fn of(&self, kind: Kind) -> u64 {
        self.0[kind.index()]
    }

    /// Of all kinds.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Modifications for each delete: much higher on a replica than on its supplier where the supplier cleans up
    /// references without logging it.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "for display")]
    pub fn modifications_per_delete(&self) -> Option<f64> {
        let deletes = self.of(Kind::Delete);
        (deletes > 0).then(|| self.of(Kind::Modify) as f64 / deletes as f64)
    }
}

impl Serialize for Kinds {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let counted = Kind::ALL.into_iter().filter(|kind| self.of(*kind) > 0);
        out.collect_map(counted.map(|kind| (kind.name(), self.of(kind))))
    }
}

/// Everything.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the sections, by their names")]
pub struct Summary {
    pub start: Option<Time>,
    pub end: Option<Time>,
    pub seconds: f64,
    pub lines: LineCounts,
    pub findings: Vec<Finding>,
    pub operations: Vec<KindRow>,
    pub internal: Option<InternalRow>,
    pub connections: ConnectionCounts,
    pub suffixes: Vec<GroupRow>,
    pub clients: Vec<GroupRow>,
    pub longest_etimes: Vec<Counted>,
    pub longest_operations: Vec<OperationRow>,
    pub stalls: Vec<StallRow>,
    pub unindexed: Vec<FilterRow>,
    pub missing_indexes: Vec<Counted>,
    pub failed_binds: Vec<GuessRow>,
    pub filters: Vec<FilterRow>,
    pub bind_names: Vec<Counted>,
    pub extended: Vec<Counted>,
    pub result_codes: Vec<CodeRow>,
    pub notes: Vec<CodeRow>,
    pub connection_codes: Vec<CodeRow>,
    pub minute_seconds: i64,
    pub minutes: Vec<MinuteRow>,
    /// By how much a count of the lists by name, filter and address may be too high.
    pub excess_max: u64,
}

/// Lines, and what is wrong with some.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "counts, by their names")]
pub struct LineCounts {
    pub all: u64,
    pub bytes: u64,
    pub bad: u64,
    pub cut: u64,
    pub unfinished: u64,
    pub left_out: u64,
    pub dropped: u64,
    pub examples: Vec<String>,
}

/// What stands out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Its kind, for programs.
    pub kind: &'static str,
    /// What it is, and what it means.
    pub text: String,
}

/// A kind of operation.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "columns, by their names")]
pub struct KindRow {
    pub kind: &'static str,
    pub count: u64,
    /// Of them with an etime.
    pub timed: u64,
    pub per_second: f64,
    pub errors: u64,
    pub unanswered: u64,
    pub mean: Length,
    pub p50: Length,
    pub p99: Length,
    pub p999: Length,
    pub max: Length,
    pub total: Length,
}

/// What the server did by itself.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "columns, by their names")]
pub struct InternalRow {
    pub count: u64,
    pub total: Length,
    pub max: Length,
    pub dn: String,
}

/// Connections.
#[derive(Debug, Clone, Default, Serialize)]
#[allow(missing_docs, reason = "counts, by their names")]
pub struct ConnectionCounts {
    pub opened: u64,
    pub closed: u64,
    pub peak: u64,
}

/// A suffix or a client.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "columns, by their names")]
pub struct GroupRow {
    pub name: String,
    pub operations: u64,
    pub kinds: Kinds,
    pub modifications_per_delete: Option<f64>,
    pub errors: u64,
    /// Of them with an etime.
    pub timed: u64,
    pub mean: Length,
    pub max: Length,
}

/// A text, as often as it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "columns, by their names")]
pub struct Counted {
    pub value: String,
    pub count: u64,
}

/// An operation that took long.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "columns, by their names")]
pub struct OperationRow {
    pub etime: Length,
    pub answered: Option<Time>,
    pub connection: u64,
    pub operation: Option<u64>,
    pub message: i64,
    pub kind: &'static str,
    pub client: String,
    pub dn: String,
    pub filter: String,
    pub result: i64,
    pub entries: Option<u64>,
    pub is_unindexed: bool,
    /// What it waited for, as far as the log tells.
    pub waited_for: String,
}

/// A time in which operations waited together.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "columns, by their names")]
pub struct StallRow {
    pub from: Time,
    pub until: Time,
    pub length: Length,
    pub longest: Length,
    pub operations: u32,
    pub connections: usize,
    pub kinds: Kinds,
    pub unindexed: u32,
    pub entries_max: u64,
    pub deletes_before: u32,
}

/// Searches of one shape.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "columns, by their names")]
pub struct FilterRow {
    pub shape: String,
    pub count: u64,
    pub total: Length,
    pub max: Length,
    pub entries_max: u64,
    /// Of the longest.
    pub filter: String,
    /// Of the longest.
    pub base: String,
    /// The index that helps; only of searches that had none.
    pub help: String,
}

/// Failed binds of one client.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "columns, by their names")]
pub struct GuessRow {
    pub client: String,
    pub count: u64,
    /// Different names; 64 stands for as many or more.
    pub names: usize,
    pub last_name: String,
    pub first: Option<Time>,
    pub last: Option<Time>,
}

/// A code, and what it means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "columns, by their names")]
pub struct CodeRow {
    pub code: String,
    pub meaning: String,
    pub count: u64,
}

/// A minute, or a row of some.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "columns, by their names")]
pub struct MinuteRow {
    pub at: Time,
    pub operations: u64,
    pub kinds: Kinds,
    pub errors: u64,
    pub unindexed: u64,
    pub p50: Length,
    pub p99: Length,
    pub max: Length,
    /// Answers that took as long as a stall.
    pub slow: u64,
    /// Operations that took so long and were under way.
    pub waiting: u64,
}

impl MinuteRow {
    /// Of a row that begins at `second`, since 1970.
    pub(crate) fn of(second: i64, minute: &Minute) -> Self {
        let unix_ns = second.saturating_mul(1_000_000_000);
        Self {
            at: Time(Moment { unix_ns, offset_seconds: minute.offset_seconds }),
            operations: minute.operations(),
            kinds: Kinds::of_counts(minute.kinds),
            errors: minute.errors.into(),
            unindexed: minute.unindexed.into(),
            p50: Length(minute.within(500)),
            p99: Length(minute.within(990)),
            max: Length(minute.longest_ns),
            slow: minute.slow.into(),
            waiting: minute.waiting.into(),
        }
    }
}
