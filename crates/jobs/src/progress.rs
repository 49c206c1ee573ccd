//! How far a job is, for whoever watches it.

use std::time::Duration;

use store::bulk::{self, Cancel};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Entries.
    Entries,
    /// Bytes.
    Bytes,
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What it is at: `entries`, `indexes`, `syncing`.
    pub phase: &'static str,
    /// What `done` and `total` count.
    pub unit: Unit,
    /// How much of the phase is done.
    pub done: u64,
    /// How much there is, if that is known.
    pub total: Option<u64>,
    /// Entries that the job has looked at.
    pub entries: u64,
    /// Of them bad ones.
    pub rejected: u64,
    /// Since it began.
    pub elapsed: Duration,
}

impl Progress {
    /// Entries a second since the job began.
    #[must_use]
    pub fn entries_per_second(&self) -> f64 {
        rate(self.entries, self.elapsed)
    }

    pub(crate) fn of(now: &bulk::Progress, entries_in: Unit) -> Self {
        let (phase, unit) = match now.phase {
            bulk::Phase::Entries => ("entries", entries_in),
            bulk::Phase::Indexes => ("indexes", Unit::Bytes),
            bulk::Phase::Syncing => ("syncing", Unit::Bytes),
        };
        Self {
            phase,
            unit,
            done: now.bytes_read,
            total: now.bytes_total,
            entries: now.processed,
            rejected: now.rejected,
            elapsed: now.elapsed,
        }
    }
}

/// So many a second.
#[must_use]
pub fn rate(count: u64, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64().max(0.001)
}

/// Watches a job, and can stop it.
pub trait Watch {
    /// It is so far; told some times a second at most.
    fn progress(&mut self, now: &Progress);

    /// The switch that stops it.
    fn cancel(&self) -> Cancel {
        Cancel::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_nothing_are_nothing() {
        assert!(rate(0, Duration::ZERO).abs() < f64::EPSILON);
        assert!((rate(10, Duration::from_secs(2)) - 5.0).abs() < f64::EPSILON);
    }
}
