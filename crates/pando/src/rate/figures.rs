//! What was measured: how many operations, how long they took, how many failed.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use ldap::ResultCode;

/// Longer answers count as this long.
const LONGEST_US: u64 = 3_600_000_000;

/// What one thread, or all of them, measured.
#[derive(Debug)]
pub struct Figures {
    /// Since the last report.
    pub recent: Sums,
    /// Since the beginning.
    pub all: Sums,
    /// What went wrong first.
    pub problem: Option<Problem>,
    /// Of all operations, in microseconds.
    latencies: Histogram<u64>,
    /// Of those since the last report.
    recent_latencies: Histogram<u64>,
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The server says so.
    Refused(ResultCode),
    /// No answer came.
    Lost(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Refused(code) => write!(out, "the server answers {code}"),
            Problem::Lost(problem) => write!(out, "{problem}"),
        }
    }
}

/// Operations added up.
#[derive(Debug, Default, Clone, Copy)]
pub struct Sums {
    /// Those that ended, failed ones included.
    pub operations: u64,
    /// Those that failed.
    pub errors: u64,
    /// How long they took.
    pub took_us: u64,
    /// What the tool counts beside: entries, adds, time of binds.
    pub extra: u64,
}

impl Default for Figures {
    fn default() -> Self {
        // Three digits of any time: the bounds are valid.
        let latencies = Histogram::new_with_bounds(1, LONGEST_US, 3);
        let latencies = latencies.unwrap_or_else(|error| unreachable!("bounds of a histogram: {error}"));
        let recent_latencies = latencies.clone();
        Figures { recent: Sums::default(), all: Sums::default(), problem: None, latencies, recent_latencies }
    }
}

impl Figures {
    /// An operation of one thread ended.
    pub fn add(&mut self, took: Duration, problem: Option<Problem>, extra: u64) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(LONGEST_US);
        let sums = &mut self.recent;
        sums.operations += 1;
        sums.errors += u64::from(problem.is_some());
        sums.took_us = sums.took_us.saturating_add(took_us);
        sums.extra += extra;
        self.recent_latencies.saturating_record(took_us.max(1));
        if self.problem.is_none() {
            self.problem = problem;
        }
    }

    /// Takes over what a thread measured since this was done last.
    pub fn take(&mut self, other: &mut Figures) {
        self.recent.add(&other.recent);
        self.all.add(&other.recent);
        if self.problem.is_none() {
            self.problem = other.problem.take();
        }
        // All have the same bounds.
        _ = self.latencies.add(&other.recent_latencies);
        _ = self.recent_latencies.add(&other.recent_latencies);
        other.recent = Sums::default();
        other.recent_latencies.reset();
    }

    /// What was reported is no longer recent.
    pub fn end_interval(&mut self) {
        self.recent = Sums::default();
        self.recent_latencies.reset();
    }

    /// How long the operations since the last report took, in microseconds.
    pub fn recent_latencies(&self) -> &Histogram<u64> {
        &self.recent_latencies
    }

    /// The longest time of all, in milliseconds.
    pub fn max_ms(&self) -> f64 {
        self.latencies.max() as f64 / 1e3
    }

    /// So many percent of all operations took at most so many milliseconds.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        self.latencies.value_at_percentile(percent) as f64 / 1e3
    }
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        self.operations += other.operations;
        self.errors += other.errors;
        self.took_us = self.took_us.saturating_add(other.took_us);
        self.extra += other.extra;
    }

    /// Milliseconds that an operation took, in the mean.
    pub fn mean_ms(&self) -> f64 {
        if self.operations == 0 { 0.0 } else { self.took_us as f64 / self.operations as f64 / 1e3 }
    }
}
