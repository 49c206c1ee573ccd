//! Sums that are kept of operations: by kind, by suffix or client, by filter, by entry.

use hdrhistogram::Histogram;

use crate::record::{Kind, Moment};

/// Longer answers count as this long: a day.
const LONGEST_US: u64 = 86_400_000_000;

/// Of one kind of operation.
#[derive(Debug)]
pub struct KindFigures {
    /// How many.
    pub count: u64,
    /// Of them without an answer in the log.
    pub unanswered: u64,
    /// Failed.
    pub errors: u64,
    /// How long they took, in microseconds.
    pub latencies: Histogram<u64>,
    /// Together.
    pub sum_ns: u128,
    /// The longest.
    pub max_ns: u64,
}

impl Default for KindFigures {
    fn default() -> Self {
        // The bounds are valid.
        let latencies = Histogram::new_with_bounds(1, LONGEST_US, 3);
        let latencies = latencies.unwrap_or_else(|error| unreachable!("bounds of a histogram: {error}"));
        Self { count: 0, unanswered: 0, errors: 0, latencies, sum_ns: 0, max_ns: 0 }
    }
}

impl KindFigures {
    /// An operation of this kind took so long.
    pub fn took(&mut self, ns: u64) {
        self.latencies.saturating_record((ns / 1000).max(1));
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }
}

/// Of one suffix or client.
#[derive(Debug, Clone, Default)]
pub struct GroupFigures {
    /// Operations by kind.
    pub kinds: [u64; Kind::ALL.len()],
    /// Failed.
    pub errors: u64,
    /// With a time.
    pub timed: u64,
    /// Together.
    pub sum_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl GroupFigures {
    /// Counts an operation.
    pub fn add(&mut self, kind: Kind, is_error: bool, ns: Option<u64>) {
        self.kinds[kind.index()] += 1;
        self.errors += u64::from(is_error);
        if let Some(ns) = ns {
            self.timed += 1;
            self.sum_ns = self.sum_ns.saturating_add(ns);
            self.max_ns = self.max_ns.max(ns);
        }
    }
}

/// Of searches with filters of one shape.
#[derive(Debug, Clone, Default)]
pub struct FilterFigures {
    /// Together.
    pub sum_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The most entries that one returned.
    pub entries_max: u64,
    /// The filter of the longest.
    pub filter: Box<[u8]>,
    /// Its base.
    pub base: Box<[u8]>,
}

impl FilterFigures {
    /// A search took so long.
    pub fn add(&mut self, ns: u64, entries: u64) {
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
        self.entries_max = self.entries_max.max(entries);
    }
}

/// Of updates of one entry.
#[derive(Debug, Clone, Default)]
pub struct EntryFigures {
    /// Together.
    pub sum_ns: u64,
    /// The longest, and when it was answered.
    pub max_ns: u64,
    /// See `max_ns`.
    pub at: Option<Moment>,
}

/// Answers that came when the connection was closed.
#[derive(Debug, Clone, Default)]
pub struct LateFigures {
    /// How many.
    pub count: u64,
    /// The longest.
    pub max_ns: u64,
    /// Its connection.
    pub connection: u64,
}

/// What the server did by itself.
#[derive(Debug, Clone, Default)]
pub struct InternalFigures {
    /// Operations.
    pub count: u64,
    /// Together.
    pub sum_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Its entry.
    pub dn: Box<[u8]>,
}

/// Lines.
#[derive(Debug, Clone, Default)]
pub struct LineFigures {
    /// All.
    pub all: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Damaged, or of no access log.
    pub bad: u64,
    /// Cut, because they were too long.
    pub cut: u64,
    /// The last of a file, without an end.
    pub unfinished: u64,
    /// Empty, or the head of a file.
    pub blank: u64,
    /// Left out by time or client.
    pub left_out: u64,
    /// That the server could not write.
    pub dropped: u64,
    /// The first that were bad.
    pub examples: Vec<BadLine>,
}

/// A line that was not understood.
#[derive(Debug, Clone)]
pub struct BadLine {
    /// Of which file.
    pub file: String,
    /// From 1.
    pub number: u64,
    /// Its begin.
    pub text: String,
}

/// Connections.
#[derive(Debug, Clone, Default)]
pub struct ConnectionFigures {
    /// Begins in the log.
    pub opened: u64,
    /// Ends in the log.
    pub closed: u64,
    /// Most at once, of those whose begin is in the log.
    pub peak: u64,
    /// Open now, of those.
    pub open: u64,
}
