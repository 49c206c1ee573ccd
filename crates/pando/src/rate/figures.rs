//! What was measured: how many operations, how long they took, how many failed.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Longer answers count as this long.
const LONGEST_US: u64 = 3_600_000_000;

/// What one thread, or all of them, measured.
#[derive(Debug)]
pub struct Figures {
    /// Since the last report.
    pub recent: Sums,
    /// Since the beginning.
    pub all: Sums,
    /// Of all operations, in microseconds.
    latencies: Histogram<u64>,
}

/// Operations added up.
#[derive(Debug, Default, Clone, Copy)]
pub struct Sums {
    /// Those that ended, failed ones included.
    pub operations: u64,
    /// Those that failed.
    pub errors: u64,
    /// How long they took.
    took_us: u64,
}

impl Default for Figures {
    fn default() -> Self {
        // Three digits of any time: the bounds are valid.
        let latencies = Histogram::new_with_bounds(1, LONGEST_US, 3);
        let latencies = latencies.unwrap_or_else(|error| unreachable!("bounds of a histogram: {error}"));
        Figures { recent: Sums::default(), all: Sums::default(), latencies }
    }
}

impl Figures {
    /// An operation ended.
    pub fn add(&mut self, took: Duration, is_error: bool) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(LONGEST_US);
        for sums in [&mut self.recent, &mut self.all] {
            sums.operations += 1;
            sums.errors += u64::from(is_error);
            sums.took_us += took_us;
        }
        self.latencies.saturating_record(took_us.max(1));
    }

    /// Takes over what another measured since this was done last.
    pub fn take(&mut self, other: &mut Figures) {
        for (sums, own) in [(&mut self.recent, other.recent), (&mut self.all, other.recent)] {
            sums.operations += own.operations;
            sums.errors += own.errors;
            sums.took_us += own.took_us;
        }
        // Both have the same bounds.
        _ = self.latencies.add(&other.latencies);
        other.recent = Sums::default();
        other.latencies.reset();
    }

    /// So many percent of all operations took at most so many milliseconds.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        self.latencies.value_at_percentile(percent) as f64 / 1e3
    }
}

impl Sums {
    /// Milliseconds that an operation took, in the mean.
    pub fn mean_ms(&self) -> f64 {
        if self.operations == 0 { 0.0 } else { self.took_us as f64 / self.operations as f64 / 1e3 }
    }
}
