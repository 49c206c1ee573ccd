//! Files of histograms: the log of HdrHistogram, a line an interval, which its tools read. Times are microseconds.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::SystemTime;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;

use super::engine::Times;

/// Microseconds in the millisecond that the column of the longest time counts.
const MAX_DIVISOR: f64 = 1000.0;

/// A file that grows by intervals.
pub struct HistogramFile {
    out: BufWriter<File>,
    begun: SystemTime,
    is_begun: bool,
}

impl HistogramFile {
    /// Creates the file.
    pub fn create(path: &Path) -> io::Result<HistogramFile> {
        Ok(HistogramFile { out: BufWriter::new(File::create(path)?), begun: SystemTime::now(), is_begun: false })
    }

    /// Adds an interval.
    pub fn put(&mut self, latencies: &Histogram<u64>, now: Times) -> io::Result<()> {
        let mut builder = IntervalLogWriterBuilder::new();
        builder.with_max_value_divisor(MAX_DIVISOR);
        let mut head = Vec::new();
        if !self.is_begun {
            let since = now.to;
            self.begun = SystemTime::now().checked_sub(since).unwrap_or(SystemTime::UNIX_EPOCH);
            builder.add_comment("[Histogram log format version 1.3]");
            builder.add_comment("Values are microseconds, the column Interval_Max is milliseconds");
            builder.with_base_time(self.begun).with_start_time(self.begun);
        }
        let mut serializer = V2DeflateSerializer::new();
        {
            let mut log = builder.begin_log_with(&mut head, &mut serializer)?;
            let length = now.to.saturating_sub(now.from);
            log.write_histogram(latencies, now.from, length, None)
                .map_err(|error| io::Error::other(error.to_string()))?;
        }
        self.is_begun = true;
        self.out.write_all(&head)?;
        self.out.flush()
    }

    /// Everything that was written is in the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_is_read_by_the_library_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latencies.hlog");
        let mut file = HistogramFile::create(&path).unwrap();
        for (second, took) in [(1, 700), (2, 80_000)] {
            let mut latencies = Histogram::<u64>::new_with_bounds(1, 3_600_000_000, 3).unwrap();
            latencies.record_n(took, 5).unwrap();
            let now = Times { from: Duration::from_secs(second - 1), to: Duration::from_secs(second) };
            file.put(&latencies, now).unwrap();
        }
        file.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"#[Histogram log format version 1.3]"));
        let mut found = Vec::new();
        let mut heads = 0;
        for entry in IntervalLogIterator::new(&bytes) {
            match entry.unwrap() {
                LogEntry::Interval(interval) => {
                    use base64::Engine;
                    let encoded = interval.encoded_histogram();
                    let encoded = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
                    let read: Histogram<u64> = Deserializer::new().deserialize(&mut &encoded[..]).unwrap();
                    found.push((interval.start_timestamp().as_secs(), interval.max(), read.len(), read.max() / 1000));
                }
                _ => heads += 1,
            }
        }
        assert_eq!((found, heads), (vec![(0, 0.7, 5, 0), (1, 80.063, 5, 80)], 2));
    }
}
