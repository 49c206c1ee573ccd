//! The history of changes, read from the logs of the backends.
//!
//! `apply` leaves a [`trace`] beside every proposal that changes entries: what was there before and after. Here the traces of all backends
//! are one ascending sequence of [`Change`]s. Who shows them (`cn=changelog`, persistent searches, the audit log) is elsewhere.
//!
//! | file | what |
//! |---|---|
//! | `change` | a change as readers see it |
//! | `trace` | how it is written |
//! | `numbers` | change numbers, and who waits for more |
//! | `points` | from a number or a time to a place of the log |
//! | `reader` | merging the logs |
//! | `retention`, `kept` | what is let go, and what is remembered of it |
//! | `entry` | a change as an entry of `cn=changelog` |

mod change;
pub(crate) mod entry;
mod kept;
mod numbers;
mod points;
mod reader;
mod retention;
pub(crate) mod trace;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use config::ChangelogConfig;
use store::StoreError;
use store::log::{FrameBuffer, FrameRead, Log, LogPlace, LogSegment};

pub use change::{AttributeChange, Cause, Change, ChangeKind, Rename};
pub(crate) use numbers::{ChangeNumbers, Recorder};
pub use numbers::{Follower, Wake};
pub use reader::{HistoryError, HistoryReader};

use crate::monitor::MonitorEntry;
use kept::Kept;
use points::Point;
use reader::Lane;
use retention::Retention;

/// Changes of one second may stand in the logs in another order than that of their times.
const DISORDER_US: u64 = 1_000_000;

/// See the module.
pub struct History {
    numbers: Arc<ChangeNumbers>,
    sources: Vec<Source>,
    /// The last number that cannot be read any more.
    purged: AtomicU64,
    retention: Arc<Retention>,
}

/// The log of one backend.
pub(crate) struct Source {
    /// `backend-id`
    pub(crate) id: String,
    /// [`store::Backend::data_uuid`]
    pub(crate) data: [u8; 16],
    pub(crate) log: Arc<dyn Log>,
}

impl Source {
    /// The first record that the log still has, or the next one.
    fn first_seq(&self) -> u64 {
        self.log.segments().first().map_or_else(|| self.log.end().seq, |segment| segment.start.seq)
    }
}

/// From which record on the log of a backend is to be kept until [`History::open`] has looked, by what the file of that path says.
pub(crate) fn kept_from(path: &Path, backend: &str) -> u64 {
    let kept = Kept::read(path).ok().flatten().unwrap_or_default();
    kept.backends.iter().find(|kept| kept.id == backend).map_or(0, |kept| kept.first)
}

/// Which changes can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The first number; greater than `last` when there is none.
    pub first: u64,
    /// The last number.
    pub last: u64,
}

impl History {
    /// Finds the changes in the logs of the backends, in the order of their lanes, and numbers the next ones from there on. What is to be
    /// remembered beside the logs is in the file of that path.
    ///
    /// # Errors
    /// When a log or the file cannot be read.
    pub(crate) fn open(
        numbers: Arc<ChangeNumbers>,
        sources: Vec<Source>,
        config: ChangelogConfig,
        path: Option<PathBuf>,
    ) -> Result<Self, StoreError> {
        let history = Self::look(numbers, sources, Retention::new(config, path))?;
        history.remember()?;
        if config.enabled {
            for source in &history.sources {
                source.log.keep_from(source.first_seq())?;
            }
        }
        history.numbers.switch(config.enabled);
        Ok(history)
    }

    /// Changes nothing.
    fn look(numbers: Arc<ChangeNumbers>, sources: Vec<Source>, retention: Retention) -> Result<Self, StoreError> {
        let kept = retention.read().map_err(|error| StoreError::io("changelog numbers", &error))?;
        let mut next = kept.as_ref().map_or(1, |kept| kept.next.max(1));
        let mut found = Vec::new();
        for (lane, source) in sources.iter().enumerate() {
            let mut scan = LogScan::new(&*source.log);
            let mut first: Option<u64> = None;
            for segment in source.log.segments() {
                let Some((number, time_us)) = scan.first_in(&segment)? else { continue };
                let before_us = first.map_or(0, |_| time_us.saturating_add(DISORDER_US));
                first = first.or(Some(number));
                numbers.found(lane, Point { place: segment.start, number, before_us });
            }
            let (last, time_us) = scan.last()?;
            numbers.set_latest_us(lane, time_us);
            next = next.max(last + 1);
            found.push(first);
        }
        numbers.begin_with(next);
        for (lane, source) in sources.iter().enumerate() {
            let before_us = numbers.latest_us(lane).saturating_add(DISORDER_US);
            numbers.found(lane, Point { place: source.log.end(), number: next, before_us });
        }
        let purged = purged(kept.as_ref(), retention.is_enabled(), &sources, &found, next);
        Ok(Self { numbers, sources, purged: AtomicU64::new(purged), retention: Arc::new(retention) })
    }

    /// The changes that stand in logs which nobody writes in this process.
    ///
    /// # Errors
    /// When a log cannot be read.
    pub fn of_files(logs: Vec<Arc<dyn Log>>) -> Result<Self, StoreError> {
        let numbers = ChangeNumbers::new(logs.len());
        let source = |log| Source { id: String::new(), data: [0; 16], log };
        Self::look(numbers, logs.into_iter().map(source).collect(), Retention::none())
    }

    /// Whether changes are traced now.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.numbers.is_on()
    }

    /// Which changes can be read now.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        Bounds { first: self.purged.load(Ordering::SeqCst) + 1, last: self.numbers.settled() }
    }

    /// The last number that was given. What has it may not be durable yet, and never become so.
    #[must_use]
    pub fn given(&self) -> u64 {
        self.numbers.next().saturating_sub(1)
    }

    /// Reads from that number on; from the first one when it is lower.
    #[must_use]
    pub fn from(&self, number: u64) -> HistoryReader {
        let number = number.max(self.bounds().first);
        self.reader(number, |lane| Some(self.numbers.points(lane)?.at_number(number)?.place))
    }

    /// Reads from that number on, without changes that were certainly proposed before that time (µs since 1970).
    pub(crate) fn since_number(&self, number: u64, time_us: u64) -> HistoryReader {
        let number = number.max(self.bounds().first);
        self.reader(number, |lane| {
            let points = self.numbers.points(lane)?;
            let (by_number, by_time) = (points.at_number(number)?.place, points.at_time(time_us)?.place);
            Some(by_number.max(by_time))
        })
    }

    /// Reads from the first change on that may have been proposed at that time (µs since 1970) or later; earlier ones may come first.
    #[must_use]
    pub fn since(&self, time_us: u64) -> HistoryReader {
        self.reader(self.bounds().first, |lane| Some(self.numbers.points(lane)?.at_time(time_us)?.place))
    }

    fn reader(&self, number: u64, place: impl Fn(usize) -> Option<LogPlace>) -> HistoryReader {
        let lane = |(at, source): (usize, &Source)| {
            Lane::new(Arc::clone(&source.log), place(at).unwrap_or_else(|| source.log.end()))
        };
        let lanes = self.sources.iter().enumerate().map(lane).collect();
        HistoryReader::new(Arc::clone(&self.numbers), lanes, number)
    }

    /// What `cn=monitor` says.
    pub(crate) fn monitor_entry(&self) -> MonitorEntry {
        let (bounds, config) = (self.bounds(), self.settings());
        let segments = || self.sources.iter().flat_map(|source| source.log.segments());
        let entry = MonitorEntry::new("Changelog")
            .with("changelog-enabled", config.enabled)
            .with("last-purged-change-number", bounds.first - 1)
            .with("last-change-number", bounds.last)
            .with("changelog-bytes", segments().map(|segment| segment.bytes).sum::<u64>())
            .with("changelog-bytes-max", config.max_bytes)
            .with("changelog-segments", segments().count());
        let mut reader = self.from(bounds.first);
        let oldest = if bounds.first <= bounds.last { reader.next_change().ok().flatten() } else { None };
        let Some(oldest) = oldest else { return entry };
        let mut time = Vec::new();
        oldest.csn.write_timestamp(&mut time);
        entry.with("first-change-number", oldest.number).with("oldest-change-time", String::from_utf8_lossy(&time))
    }

    /// Waits until there are changes after that number; `false` when it took longer than `longest`. Never on an event loop.
    #[must_use]
    pub fn wait_beyond(&self, number: u64, longest: Duration) -> bool {
        self.numbers.wait_beyond(number, longest)
    }

    /// Calls `wake` on a writer's thread whenever there are more changes, until the follower is dropped. It must be quick, and leave
    /// reading to another thread.
    #[must_use]
    pub fn follow(&self, wake: Wake) -> Follower {
        self.numbers.follow(wake)
    }
}

/// The last number that cannot be read, by what was remembered and by the first number that was found in each log.
fn purged(kept: Option<&Kept>, is_on: bool, sources: &[Source], found: &[Option<u64>], next: u64) -> u64 {
    let in_lane = |(source, first): (&Source, &Option<u64>)| {
        let Some(kept) = kept else { return first.filter(|_| source.first_seq() > 1).map_or(0, |first| first - 1) };
        match kept.backends.iter().find(|backend| backend.id == source.id) {
            // An import has begun another log.
            Some(backend) if backend.data != u128::from_be_bytes(source.data) => next - 1,
            Some(backend) if source.first_seq() > backend.first => first.unwrap_or(next) - 1,
            _ => 0,
        }
    };
    let has_hole = kept.is_some_and(|kept| is_on && !kept.is_on);
    let remembered = if has_hole { next - 1 } else { kept.map_or(0, |kept| kept.purged) };
    sources.iter().zip(found).map(in_lane).fold(remembered, u64::max)
}

/// Looks at the traces of a log when it is opened.
struct LogScan<'l> {
    log: &'l dyn Log,
    frame: FrameBuffer,
}

impl<'l> LogScan<'l> {
    fn new(log: &'l dyn Log) -> Self {
        Self { log, frame: FrameBuffer::default() }
    }

    /// Calls `each` with the number, count and time of the traced records of a segment, until it says stop.
    fn walk(&mut self, segment: &LogSegment, mut each: impl FnMut(u64, u32, u64) -> bool) -> Result<(), StoreError> {
        let mut place = segment.start;
        while place.seq <= segment.last {
            match self.log.read_frame(place, &mut self.frame)? {
                FrameRead::Frame(next) => place = next,
                FrameRead::End | FrameRead::Gone => break,
            }
            while self.frame.advance()? {
                let Some(record) = self.frame.record() else { continue };
                let Some((number, count)) = trace::numbers(record.trace) else { continue };
                let time_us =
                    crate::proposal::Proposal::decode(record.proposal).map_or(0, |proposal| proposal.csn.time_us);
                if !each(number, count, time_us) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Number and time of the first change in a segment.
    fn first_in(&mut self, segment: &LogSegment) -> Result<Option<(u64, u64)>, StoreError> {
        let mut first = None;
        self.walk(segment, |number, _, time_us| {
            first = Some((number, time_us));
            false
        })?;
        Ok(first)
    }

    /// Number and time of the last change in the log; 0 when there is none.
    fn last(&mut self) -> Result<(u64, u64), StoreError> {
        for segment in self.log.segments().iter().rev() {
            let mut last = (0, 0);
            self.walk(segment, |number, count, time_us| {
                last = (number + u64::from(count) - 1, time_us.max(last.1));
                true
            })?;
            if last.0 > 0 {
                return Ok(last);
            }
        }
        Ok((0, 0))
    }
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History").field("numbers", &self.numbers).finish_non_exhaustive()
    }
}
