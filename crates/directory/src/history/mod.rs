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

mod change;
mod numbers;
mod points;
mod reader;
pub(crate) mod trace;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use store::StoreError;
use store::log::{FrameBuffer, FrameRead, Log, LogPlace, LogSegment};

pub use change::{AttributeChange, Cause, Change, ChangeKind, Rename};
pub(crate) use numbers::{ChangeNumbers, Recorder};
pub use numbers::{Follower, Wake};
pub use reader::{HistoryError, HistoryReader};

use points::Point;
use reader::Lane;

/// Changes of one second may stand in the logs in another order than that of their times.
const DISORDER_US: u64 = 1_000_000;

/// See the module.
pub struct History {
    numbers: Arc<ChangeNumbers>,
    logs: Vec<Arc<dyn Log>>,
    /// The last number that cannot be read any more.
    purged: AtomicU64,
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
    /// Finds the changes in the logs of the backends, in the order of their lanes, and numbers the next ones from there on.
    ///
    /// # Errors
    /// When a log cannot be read.
    pub(crate) fn open(numbers: Arc<ChangeNumbers>, logs: Vec<Arc<dyn Log>>) -> Result<Self, StoreError> {
        let mut next = 1;
        let mut firsts = Vec::new();
        for (lane, log) in logs.iter().enumerate() {
            let mut scan = LogScan { log: &**log, frame: FrameBuffer::default() };
            let mut is_first = true;
            for segment in log.segments() {
                let Some((number, time_us)) = scan.first_in(&segment)? else { continue };
                let before_us = if is_first { 0 } else { time_us.saturating_add(DISORDER_US) };
                if is_first && segment.start.seq > 1 {
                    firsts.push(number);
                }
                is_first = false;
                if let Some(mut points) = numbers.points(lane) {
                    points.push(Point { place: segment.start, number, before_us });
                }
            }
            next = next.max(scan.last()? + 1);
        }
        numbers.begin_with(next);
        for (lane, log) in logs.iter().enumerate() {
            if let Some(mut points) = numbers.points(lane) {
                let before_us = points.last().map_or(0, |point| point.before_us);
                points.push(Point { place: log.end(), number: next, before_us });
            }
        }
        let purged = AtomicU64::new(firsts.into_iter().max().map_or(0, |first| first - 1));
        Ok(Self { numbers, logs, purged })
    }

    /// The changes that stand in logs which nobody writes in this process.
    ///
    /// # Errors
    /// When a log cannot be read.
    pub fn of_files(logs: Vec<Arc<dyn Log>>) -> Result<Self, StoreError> {
        Self::open(ChangeNumbers::new(logs.len()), logs)
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

    /// Reads from that number on; from the first one when it is lower.
    #[must_use]
    pub fn from(&self, number: u64) -> HistoryReader {
        let number = number.max(self.bounds().first);
        self.reader(number, |lane| Some(self.numbers.points(lane)?.at_number(number)?.place))
    }

    /// Reads from the first change on that may have been proposed at that time (µs since 1970) or later; earlier ones may come first.
    #[must_use]
    pub fn since(&self, time_us: u64) -> HistoryReader {
        self.reader(self.bounds().first, |lane| Some(self.numbers.points(lane)?.at_time(time_us)?.place))
    }

    fn reader(&self, number: u64, place: impl Fn(usize) -> Option<LogPlace>) -> HistoryReader {
        let lane =
            |(at, log): (usize, &Arc<dyn Log>)| Lane::new(Arc::clone(log), place(at).unwrap_or_else(|| log.end()));
        let lanes = self.logs.iter().enumerate().map(lane).collect();
        HistoryReader::new(Arc::clone(&self.numbers), lanes, number)
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

/// Looks at the traces of a log when it is opened.
struct LogScan<'l> {
    log: &'l dyn Log,
    frame: FrameBuffer,
}

impl LogScan<'_> {
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

    /// The last number in the log; 0 when there is none.
    fn last(&mut self) -> Result<u64, StoreError> {
        for segment in self.log.segments().iter().rev() {
            let mut last = 0;
            self.walk(segment, |number, count, _| {
                last = number + u64::from(count) - 1;
                true
            })?;
            if last > 0 {
                return Ok(last);
            }
        }
        Ok(0)
    }
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History").field("numbers", &self.numbers).finish_non_exhaustive()
    }
}
