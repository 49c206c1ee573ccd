//! Counters and latency histograms, one set for each event loop, merged when somebody looks.
//!
//! Each loop alone writes its own set, so a count is a plain load and store on a line of cache nobody else writes.
//! Knows neither what is counted nor who reads it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// A count that one thread writes and any may read.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds; only the owning loop may call this, hence no locked instruction.
    #[inline]
    pub fn add(&self, more: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    /// Takes over a count that is kept elsewhere; only the owning loop may call this.
    #[inline]
    pub fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }

    /// The count.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What one loop counts of its connections, whatever protocol they speak.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct NetworkMetrics {
    /// Connections accepted or handed over to this loop.
    pub connections_established: Counter,
    /// Connections closed.
    pub connections_closed: Counter,
    /// Connections refused at the door.
    pub connections_rejected: Counter,
    /// Connections closed because nothing was asked for too long.
    pub connections_idle: Counter,
    /// Bytes read from sockets.
    pub bytes_read: Counter,
    /// Bytes written to sockets.
    pub bytes_written: Counter,
    /// Messages that the protocol does not know, or that broke its rules.
    pub protocol_errors: Counter,
    /// Panics, of operations and of the loop.
    pub panics: Counter,
    /// TLS handshakes completed.
    pub tls_handshakes: Counter,
    /// TLS handshakes that failed.
    pub tls_failures: Counter,
    /// Wake-ups of the loop.
    pub turns: Counter,
}

/// Numbers of one kind of operation on one loop.
#[derive(Debug, Default)]
pub struct Timings {
    /// Requests read.
    pub requests: Counter,
    /// Requests answered.
    pub responses: Counter,
    /// Sum of their times.
    pub elapsed_ns: Counter,
    latency: Histogram,
    longest: LongestPerMinute,
}

impl Timings {
    /// One operation ended, in the minute that it is (since 1970).
    #[inline]
    pub fn record(&self, minute: u64, elapsed: Duration) {
        let nanoseconds = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.responses.add(1);
        self.elapsed_ns.add(nanoseconds);
        self.latency.record(nanoseconds);
        self.longest.record(minute, elapsed);
    }

    /// Adds this loop's histogram to `into`.
    pub fn merge_latency(&self, into: &mut LatencySummary) {
        into.merge(&self.latency);
    }

    /// The longest operation of each of the last minutes that had any: minute since 1970, time. In no order.
    pub fn longest_per_minute(&self) -> impl Iterator<Item = (u64, Duration)> {
        self.longest.0.iter().map(|slot| unpack(slot.load(Ordering::Relaxed))).filter(|(minute, _)| *minute > 0)
    }
}

/// Minutes that are remembered.
pub const MINUTES: usize = 60;

/// For each of the last minutes, the minute (upper half) and the longest time in µs (lower half), so that both change
/// at once.
#[derive(Debug)]
struct LongestPerMinute([AtomicU64; MINUTES]);

impl Default for LongestPerMinute {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; MINUTES])
    }
}

impl LongestPerMinute {
    fn record(&self, minute: u64, elapsed: Duration) {
        let Some(slot) = self.0.get(minute as usize % MINUTES) else { return };
        let time_us = elapsed.as_micros().min(u128::from(u32::MAX)) as u64;
        let (known, longest) = unpack(slot.load(Ordering::Relaxed));
        if known != minute || elapsed > longest {
            slot.store(minute << 32 | time_us, Ordering::Relaxed);
        }
    }
}

fn unpack(slot: u64) -> (u64, Duration) {
    (slot >> 32, Duration::from_micros(slot & u64::from(u32::MAX)))
}

/// Bits of a value below its highest one that choose the bucket: 2^4 buckets per power of two, hence an error of at
/// most 6 %.
const PRECISION_BITS: u32 = 4;
const PER_POWER: usize = 1 << PRECISION_BITS;
/// Highest power of two kept apart: 2^37 ns is 137 s, longer than any time limit but the unlimited.
const POWER_MAX: u32 = 37;
const BUCKETS: usize = (POWER_MAX - PRECISION_BITS + 2) as usize * PER_POWER;

/// A log-linear histogram of nanoseconds, fixed in size (2.2 KiB).
struct Histogram {
    buckets: [AtomicU32; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [const { AtomicU32::new(0) }; BUCKETS] }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram").finish_non_exhaustive()
    }
}

impl Histogram {
    fn record(&self, value: u64) {
        if let Some(bucket) = self.buckets.get(bucket_of(value)) {
            bucket.store(bucket.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }
}

fn bucket_of(value: u64) -> usize {
    if value < PER_POWER as u64 {
        return value as usize;
    }
    let power = 63 - value.leading_zeros();
    if power > POWER_MAX {
        return BUCKETS - 1;
    }
    let within = (value >> (power - PRECISION_BITS)) as usize & (PER_POWER - 1);
    (power - PRECISION_BITS + 1) as usize * PER_POWER + within
}

/// The largest value that falls into a bucket.
fn bucket_upper(bucket: usize) -> u64 {
    if bucket < PER_POWER {
        return bucket as u64;
    }
    let power = (bucket / PER_POWER - 1) as u32;
    ((PER_POWER + bucket % PER_POWER + 1) as u64) * (1 << power) - 1
}

/// Histograms of several loops together.
#[derive(Debug, Clone)]
pub struct LatencySummary {
    buckets: Vec<u64>,
    count: u64,
}

impl Default for LatencySummary {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS], count: 0 }
    }
}

impl LatencySummary {
    fn merge(&mut self, other: &Histogram) {
        for (sum, bucket) in self.buckets.iter_mut().zip(&other.buckets) {
            let count = u64::from(bucket.load(Ordering::Relaxed));
            *sum += count;
            self.count += count;
        }
    }

    /// How many operations are in it.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many of the operations took at most that long, as far as buckets tell: an operation up to 6 % shorter may be
    /// missing.
    pub fn within(&self, time: Duration) -> u64 {
        let bound = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let is_within = |(bucket, _): &(usize, &u64)| bucket_upper(*bucket) <= bound;
        self.buckets.iter().enumerate().take_while(is_within).map(|(_, count)| count).sum()
    }

    /// How many operations took how long, as far as buckets tell: the longest time of each bucket that has some, in ns,
    /// and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| (bucket_upper(bucket), *count))
    }

    /// The time within which `per_million` out of a million operations ended; zero if there were none.
    pub fn percentile(&self, per_million: u64) -> Duration {
        let rank = (u128::from(self.count) * u128::from(per_million)).div_ceil(1_000_000).max(1);
        let mut seen = 0u128;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= rank {
                return Duration::from_nanos(bucket_upper(bucket));
            }
        }
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentiles_of_known_values() {
        let search = Timings::default();
        for microseconds in 1..=1000 {
            search.record(1, Duration::from_micros(microseconds));
        }
        let mut summary = LatencySummary::default();
        assert_eq!(summary.percentile(500_000), Duration::ZERO);
        search.merge_latency(&mut summary);
        assert_eq!(summary.count(), 1000);
        for (per_million, exact) in [(500_000, 500_000), (990_000, 990_000), (1_000_000, 1_000_000)] {
            let found = summary.percentile(per_million).as_nanos() as u64;
            assert!(found >= exact && found <= exact + exact / 15, "{per_million}: {found}");
        }
        for (ms, exact) in [(0, 0), (1, 1000), (1000, 1000)] {
            let found = summary.within(Duration::from_millis(ms));
            assert!(found <= exact && found >= exact - exact * 7 / 100, "{ms}: {found}");
        }
        assert_eq!(search.responses.get(), 1000);
        assert_eq!(search.elapsed_ns.get(), 500_500_000);
    }

    /// S3-50
    #[test]
    fn the_longest_of_each_minute_is_remembered_for_an_hour() {
        let adds = Timings::default();
        for (minute, ms) in [(1000, 5), (1000, 7), (1000, 6), (1001, 1), (1059, 2), (1060, 3)] {
            adds.record(minute, Duration::from_millis(ms));
        }
        let mut found: Vec<_> = adds.longest_per_minute().collect();
        found.sort();
        let expected = [(1001, 1), (1059, 2), (1060, 3)].map(|(minute, ms)| (minute, Duration::from_millis(ms)));
        assert_eq!(found, expected, "1060 has taken the place of 1000");
    }

    proptest! {
        #[test]
        fn a_value_is_within_its_bucket(value in 0u64..(1 << 38)) {
            let bucket = bucket_of(value);
            prop_assert!(bucket < BUCKETS);
            prop_assert!(value <= bucket_upper(bucket));
            if bucket > 0 {
                prop_assert!(value > bucket_upper(bucket - 1));
            }
        }
    }
}
