//! Stalls: operations that took long because they waited inside the server. Each is one line of the error log: who, for
//! what, and where the time went.
//!
//! Knows times and the error log; asked only about operations that took longer than the threshold.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use query::json::JsonWriter;
use query::monitor_entry::MonitorEntry;
use runtime::log::error::ErrorLog;
use store::{Phases, Submitter, WaitReason};

use crate::log::OperationIds;
use crate::messages;
use crate::metrics::OperationKind;

/// Lines in one [`WINDOW`]; what comes beyond is counted, and told with the next line.
const LINES_MAX: u64 = 10;
const WINDOW: Duration = Duration::from_secs(10);
/// Slow operations that are remembered.
const SLOW_MAX: usize = 20;

/// Where the time of an operation went, as far as others had a part in it.
#[derive(Debug, Clone, Default)]
pub(crate) enum Waits {
    /// It ran on its event loop and waited for nobody; others waited for it.
    #[default]
    Inline,
    /// It was given away, to whom is not known any more.
    Elsewhere,
    /// The writer of a backend had it.
    Writer(Box<Phases>),
    /// A pool had it.
    Pool {
        /// From the request until a thread took it.
        queue_us: u32,
        /// Between its turns.
        turns_us: u32,
    },
}

impl Waits {
    /// In a pool.
    pub(crate) fn pool(queue: Duration, turns: Duration) -> Self {
        let us = |time: Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        Self::Pool { queue_us: us(queue), turns_us: us(turns) }
    }

    /// In a writer, if it came so far.
    pub(crate) fn writer(phases: Option<Phases>) -> Self {
        phases.map_or(Self::Elsewhere, |phases| Self::Writer(Box::new(phases)))
    }
}

/// What a stalled operation waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// A place in a pool.
    Pool,
    /// The writer's queue, the disk of its log, folds …
    Writer(WaitReason),
    /// It held its event loop.
    Inline,
    /// Its event loop, or a password hash.
    Elsewhere,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Stalls {
    errors: ErrorLog,
    /// `u64::MAX` for never.
    threshold_ns: AtomicU64,
    lines: Mutex<Lines>,
    slow: Mutex<VecDeque<String>>,
    counts: [AtomicU64; Reason::NAMES.len()],
}

#[derive(Debug, Default)]
struct Lines {
    window: Option<Instant>,
    told: u64,
    untold: u64,
}

impl Lines {
    /// Whether a line may be written now, and how many were not since the last one.
    fn may_tell(&mut self, now: Instant) -> Option<u64> {
        let is_over = self.window.is_none_or(|begun| now.saturating_duration_since(begun) >= WINDOW);
        if is_over {
            (self.window, self.told) = (Some(now), 0);
        }
        if self.told >= LINES_MAX {
            self.untold += 1;
            return None;
        }
        self.told += 1;
        Some(std::mem::take(&mut self.untold))
    }
}

impl Stalls {
    pub(crate) fn new(errors: ErrorLog, threshold: Option<Duration>) -> Self {
        let stalls = Self {
            errors,
            threshold_ns: AtomicU64::new(0),
            lines: Mutex::default(),
            slow: Mutex::default(),
            counts: [const { AtomicU64::new(0) }; Reason::NAMES.len()],
        };
        stalls.set_threshold(threshold);
        stalls
    }

    /// The log that it tells.
    pub(crate) fn errors(&self) -> &ErrorLog {
        &self.errors
    }

    /// `stall-threshold`; `None` is never. Returns whether it is another than before.
    pub(crate) fn set_threshold(&self, threshold: Option<Duration>) -> bool {
        let ns = threshold.map_or(u64::MAX, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        self.threshold_ns.swap(ns, Ordering::Relaxed) != ns
    }

    /// Whether it is worth a closer look.
    #[inline]
    pub(crate) fn is_long(&self, elapsed: Duration) -> bool {
        elapsed.as_nanos() >= u128::from(self.threshold_ns.load(Ordering::Relaxed))
    }

    /// Tells of an operation that took long, if it waited for others or others for it.
    #[cold]
    pub(crate) fn look(&self, kind: OperationKind, ids: OperationIds, elapsed: Duration, waits: &Waits) {
        let reason = waits.reason(elapsed);
        let waited = waits.waited(elapsed);
        self.remember(slow_operation(kind, ids, elapsed, waits));
        if !self.is_long(waited) {
            return;
        }
        if let Some(count) = self.counts.get(reason.index()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let untold = self.lines.lock().unwrap_or_else(PoisonError::into_inner).may_tell(Instant::now());
        let Some(untold) = untold else { return };
        let OperationIds { connection, operation, message } = ids;
        let (name, took) = (kind.log_name(), Millis(elapsed));
        let more = if untold > 0 { format!(" ({untold} more stalls since the line before)") } else { String::new() };
        self.errors.report(
            messages::STALL,
            format_args!(
                "conn={connection} op={operation} msgID={message}: {name} took {took} ms, {}: {waits}; {}{more}",
                Why(reason, waits),
                reason.advice(kind)
            ),
        );
    }

    fn remember(&self, operation: String) {
        let mut slow = self.slow.lock().unwrap_or_else(PoisonError::into_inner);
        if slow.len() >= SLOW_MAX {
            slow.pop_front();
        }
        slow.push_back(operation);
    }

    /// How many there were, by reason; and the last operations that took longer than the threshold, whether they waited
    /// or not.
    pub(crate) fn monitor_entry(&self) -> MonitorEntry {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let mut entry = MonitorEntry::new("Stalls").with("stalls", counts.clone().sum::<u64>());
        let slow = self.slow.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        entry.attributes.push(("slow-operation".to_owned(), slow));
        Reason::NAMES
            .iter()
            .zip(counts)
            .fold(entry, |entry, (name, count)| entry.with(&format!("stalls-{name}"), count))
    }
}

/// As JSON, with the time at which it ended.
fn slow_operation(kind: OperationKind, ids: OperationIds, elapsed: Duration, waits: &Waits) -> String {
    let OperationIds { connection, operation, .. } = ids;
    let ended = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    JsonWriter::object_text(|json| {
        json.key("ended").number(ended.as_secs());
        json.key("connection").number(connection);
        json.key("operation").number(operation);
        json.key("kind").text(kind.log_name());
        json.key("time-us").number(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX));
        json.key("why").text(&Why(waits.reason(elapsed), waits).to_string());
        json.key("waits").text(&waits.to_string());
    })
}

impl Waits {
    fn reason(&self, elapsed: Duration) -> Reason {
        match self {
            Waits::Inline => Reason::Inline,
            Waits::Elsewhere => Reason::Elsewhere,
            Waits::Pool { .. } => Reason::Pool,
            Waits::Writer(phases) if rest(phases, elapsed) * 2 > elapsed => Reason::Elsewhere,
            Waits::Writer(phases) => Reason::Writer(phases.reason()),
        }
    }

    /// The part of its time that it, or others because of it, waited. A search that computes in a pool, and a client
    /// that reads slowly, hold up nobody.
    fn waited(&self, elapsed: Duration) -> Duration {
        match self {
            Waits::Pool { queue_us, turns_us } => micros(*queue_us) + micros(*turns_us),
            Waits::Inline | Waits::Elsewhere | Waits::Writer(_) => elapsed,
        }
    }
}

fn micros(us: u32) -> Duration {
    Duration::from_micros(us.into())
}

/// What of the time was not the writer's.
fn rest(phases: &Phases, elapsed: Duration) -> Duration {
    elapsed.saturating_sub(Duration::from_micros(phases.total_us()))
}

impl Reason {
    /// As in the attribute names of `cn=monitor`.
    const NAMES: [&'static str; 9] =
        ["pool", "inline", "elsewhere", "queue", "apply", "others", "sync", "publish", "fold"];

    fn index(self) -> usize {
        match self {
            Reason::Pool => 0,
            Reason::Inline => 1,
            Reason::Elsewhere => 2,
            Reason::Writer(WaitReason::None | WaitReason::Queue) => 3,
            Reason::Writer(WaitReason::Apply) => 4,
            Reason::Writer(WaitReason::Others) => 5,
            Reason::Writer(WaitReason::Sync) => 6,
            Reason::Writer(WaitReason::Publish) => 7,
            Reason::Writer(WaitReason::Fold) => 8,
        }
    }

    /// What whoever reads the line can do.
    fn advice(self, kind: OperationKind) -> &'static str {
        match self {
            Reason::Pool if kind == OperationKind::Bind => {
                "see cn=Work Queue,cn=monitor for how many passwords wait for a core and how long a hash takes"
            }
            Reason::Pool => "find the searches without an index that take the places with pando index-advice",
            Reason::Inline => {
                "other connections of this event loop waited for it; look at the request in the access log"
            }
            Reason::Elsewhere => "see whether the processors are overloaded",
            Reason::Writer(WaitReason::None | WaitReason::Queue) => "see whether the processors are overloaded",
            Reason::Writer(WaitReason::Apply) => "other updates waited for it; make it smaller if this repeats",
            Reason::Writer(WaitReason::Others) => "look at the updates of that connection in the access log",
            Reason::Writer(WaitReason::Sync) => "see whether the disk of the backend's log is busy or failing",
            Reason::Writer(WaitReason::Publish) => "see whether the processors are overloaded",
            Reason::Writer(WaitReason::Fold) => "the disk of the backend's database is too slow for so many updates",
        }
    }
}

/// The reason as words behind "it took n ms,".
struct Why<'w>(Reason, &'w Waits);

impl fmt::Display for Why<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.0 {
            Reason::Pool => "waiting for a place in its pool",
            Reason::Inline => "running on its event loop",
            Reason::Elsewhere => "waiting for its event loop or a password hash",
            Reason::Writer(WaitReason::None | WaitReason::Queue) => "most of it waiting for its turn",
            Reason::Writer(WaitReason::Apply) => "most of it being applied",
            Reason::Writer(WaitReason::Others) => "most of it waiting for other updates",
            Reason::Writer(WaitReason::Sync) => "most of it waiting for the sync of the log",
            Reason::Writer(WaitReason::Publish) => "most of it waiting to become visible",
            Reason::Writer(WaitReason::Fold) => "most of it waiting for folds",
        })?;
        match (self.0, self.1) {
            (Reason::Writer(WaitReason::Others), Waits::Writer(phases)) if phases.behind.longest_us > 0 => {
                let longest = Millis(micros(phases.behind.longest_us));
                match phases.behind.longest {
                    Submitter::SERVER => write!(out, " (the longest {longest} ms, of the server itself)"),
                    Submitter(connection) => write!(out, " (the longest {longest} ms, of conn={connection})"),
                }
            }
            _ => Ok(()),
        }
    }
}

/// The phases, in ms.
impl fmt::Display for Waits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |us: u32| Millis(micros(us));
        match self {
            Waits::Inline | Waits::Elsewhere => out.write_str("it waited for no writer and no pool"),
            Waits::Pool { queue_us, turns_us } => {
                write!(out, "queue {}, between turns {}", us(*queue_us), us(*turns_us))
            }
            Waits::Writer(phases) => {
                write!(out, "queue {}", us(phases.queue_us))?;
                let behind = &phases.behind;
                if behind.sync_us > 0 || behind.apply_us > 0 || behind.fold_us > 0 {
                    let (sync, apply, fold) = (us(behind.sync_us), us(behind.apply_us), us(behind.fold_us));
                    write!(out, " (sync {sync}, others {apply}, folds {fold})")?;
                }
                let (apply, batch) = (us(phases.apply_us), us(phases.batch_us));
                let (sync, publish) = (us(phases.sync_us), us(phases.publish_us));
                write!(out, ", apply {apply}, others of its batch {batch}, sync {sync}, publish {publish}, ")?;
                write!(out, "{} in the batch", phases.batch)
            }
        }
    }
}

/// A time in ms.
struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use store::Behind;

    use super::*;

    fn line(waits: &Waits, elapsed_ms: u64) -> String {
        let elapsed = Duration::from_millis(elapsed_ms);
        format!("{}: {waits}", Why(waits.reason(elapsed), waits))
    }

    #[test]
    fn the_line_says_what_was_waited_for() {
        let phases = Phases { queue_us: 300_000, apply_us: 1_000, sync_us: 90_000, batch: 7, ..Phases::default() };
        let behind = Behind { sync_us: 280_000, apply_us: 9_000, ..Behind::default() };
        assert_eq!(
            line(&Waits::writer(Some(Phases { behind, ..phases })), 400),
            "most of it waiting for the sync of the log: queue 300 (sync 280, others 9, folds 0), apply 1, others of \
             its batch 0, \
             sync 90, publish 0, 7 in the batch"
        );
        let behind = Behind { apply_us: 290_000, longest_us: 250_000, longest: Submitter(12), ..Behind::default() };
        let others = line(&Waits::writer(Some(Phases { behind, ..phases })), 400);
        assert!(
            others.starts_with("most of it waiting for other updates (the longest 250 ms, of conn=12): "),
            "{others}"
        );
        let behind = Behind { fold_us: 290_000, ..Behind::default() };
        assert!(
            line(&Waits::writer(Some(Phases { behind, ..phases })), 400).starts_with("most of it waiting for folds: ")
        );
        // Before it came to the writer, or after.
        assert!(
            line(&Waits::writer(Some(phases)), 4_000).starts_with("waiting for its event loop or a password hash: ")
        );
        let pool = Waits::pool(Duration::from_millis(170), Duration::from_millis(5));
        assert_eq!(line(&pool, 5_000), "waiting for a place in its pool: queue 170, between turns 5");
    }

    #[test]
    fn only_waiting_counts_and_each_reason_has_its_count() {
        let stalls = Stalls::new(ErrorLog::silent(), Some(Duration::from_millis(100)));
        let ids = OperationIds { connection: 1, operation: 2, message: 3 };
        let ms = Duration::from_millis;
        assert!(!stalls.is_long(ms(99)) && stalls.is_long(ms(100)));
        for (queue, elapsed) in [(99, 9_000), (100, 9_000)] {
            stalls.look(OperationKind::Search, ids, ms(elapsed), &Waits::pool(ms(queue), ms(0)));
        }
        let phases = Phases { apply_us: 150_000, ..Phases::default() };
        stalls.look(OperationKind::Modify, ids, ms(150), &Waits::writer(Some(phases)));
        let shown: Vec<(String, Vec<String>)> = stalls.monitor_entry().attributes;
        let count =
            |name: &str| shown.iter().find(|(own, _)| own == name).map(|(_, values)| values[0].clone()).unwrap();
        assert_eq!(
            (count("stalls"), count("stalls-pool"), count("stalls-apply")),
            ("2".into(), "1".into(), "1".into())
        );
        // Also the search that computed and did not wait.
        let slow = || stalls.monitor_entry().attributes.remove(1).1;
        assert_eq!(slow().len(), 3);
        let last = slow().remove(2);
        assert!(last.contains(r#""kind":"MODIFY","time-us":150000,"why":"most of it being applied""#), "{last}");
        (0..2 * SLOW_MAX).for_each(|_| stalls.look(OperationKind::Search, ids, ms(200), &Waits::Inline));
        assert_eq!(slow().len(), SLOW_MAX);
        stalls.set_threshold(None);
        assert!(!stalls.is_long(Duration::from_secs(1 << 30)));
    }

    #[test]
    fn a_flood_of_stalls_is_a_few_lines() {
        let mut lines = Lines::default();
        let begun = Instant::now();
        let told = (0..500).filter(|_| lines.may_tell(begun).is_some()).count();
        assert_eq!(told as u64, LINES_MAX);
        assert_eq!(lines.may_tell(begun + WINDOW), Some(500 - LINES_MAX));
        assert_eq!(lines.may_tell(begun + WINDOW), Some(0));
    }
}
