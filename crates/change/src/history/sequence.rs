//! The history itself: found in the logs when it is opened, numbered from there on, read by its followers.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use config::ChangelogConfig;
use query::monitor_entry::MonitorEntry;
use store::StoreError;
use store::log::{Log, LogPlace, LogSegment};

use super::damage::Damages;
use super::error::HistoryOpenError;
use super::kept::Kept;
use super::log_scan::{DISORDER_US, LogScan};
use super::numbers::{ChangeNumbers, Follower, Wake};
use super::points::Point;
use super::reader::{HistoryReader, Lane};
use super::retention::Retention;
use super::source::LogSource;

/// Numbers that are left out when it is not known how many were given last: more than a segment of a log has room for
/// changes, and more than are given before the file of [`Kept`] is written again ([`retention`]).
const LOST_MAX: u64 = 1_000_000;

/// See the module.
pub struct History {
    pub(super) numbers: Arc<ChangeNumbers>,
    pub(super) sources: Vec<LogSource>,
    /// The last number that cannot be read any more.
    pub(super) purged: AtomicU64,
    /// The first change that can be read, as far as the retention's thread has looked: the monitor reads no file.
    pub(super) oldest: ArcSwapOption<Oldest>,
    pub(super) damages: Arc<Damages>,
    pub(super) retention: Arc<Retention>,
    /// What is still to be reported to the administrator.
    pub(super) sentences: Mutex<Vec<String>>,
}

/// The first change that can be read.
pub(super) struct Oldest {
    /// [`Bounds::first`] when it was looked for.
    first: u64,
    number: u64,
    /// Generalized time.
    time: String,
}

/// From which record on the log of a backend is to be kept until [`History::open`] has looked, by what the file of that
/// path says; everything, if it says nothing that can be understood.
pub fn kept_from(path: &Path, backend: &str) -> u64 {
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
    /// Finds the changes in the logs of the backends, in the order of their lanes, and numbers the next ones from there
    /// on. What is to be remembered beside the logs is in the file of that path. Behind damage in a log, the history
    /// begins anew.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn open(
        numbers: Arc<ChangeNumbers>,
        sources: Vec<LogSource>,
        config: ChangelogConfig,
        path: Option<PathBuf>,
    ) -> Result<Self, HistoryOpenError> {
        let retention = Retention::new(config, path);
        let kept = retention.read()?;
        let failed = |error| HistoryOpenError::Store { error };
        let history = Self::look(numbers, sources, retention, kept.as_ref()).map_err(failed)?;
        history.begin(kept.as_ref(), config.enabled).map_err(failed)?;
        Ok(history)
    }

    /// From here on changes are kept, numbered and remembered.
    fn begin(&self, kept: Option<&Kept>, is_enabled: bool) -> Result<(), StoreError> {
        self.remember(false)?;
        if is_enabled {
            let firsts = self.sources.iter().map(LogSource::first_seq).collect::<Vec<_>>();
            for (lane, (source, first)) in self.sources.iter().zip(firsts).enumerate() {
                self.tell_of_missing(kept.filter(|kept| kept.is_on), source, first);
                self.tell_of_damage(lane);
                source.log.keep_from(first.max(self.damages.seq(lane) + 1))?;
            }
            self.remember(false)?;
        }
        self.numbers.switch(is_enabled);
        self.look_at_oldest();
        Ok(())
    }

    /// Changes nothing.
    fn look(
        numbers: Arc<ChangeNumbers>,
        sources: Vec<LogSource>,
        retention: Retention,
        kept: Option<&Kept>,
    ) -> Result<Self, StoreError> {
        let damages = Arc::new(Damages::new(sources.len()));
        let mut next = kept.map_or(1, |kept| kept.next);
        let (mut firsts, mut lost) = (Vec::new(), 0);
        for (lane, source) in sources.iter().enumerate() {
            let mut scan = LogScan::new(&*source.log);
            let segments = source.log.segments();
            let end = scan.last(&segments, |seq, error| damages.note(lane, seq, error))?;
            let mut first: Option<u64> = None;
            for segment in segments.iter().filter(|segment| segment.last > damages.seq(lane)) {
                let found = match scan.first_in(segment) {
                    // What is before the damage is removed with it.
                    Err(error) if damages.note(lane, segment.last, &error) => {
                        first = None;
                        numbers.forget(lane);
                        continue;
                    }
                    found => found?,
                };
                let Some((number, time_us)) = found else { continue };
                let before_us = first.map_or(0, |_| time_us.saturating_add(DISORDER_US));
                first = first.or(Some(number));
                numbers.found(lane, Point { place: segment.start, number, before_us });
            }
            numbers.set_latest(lane, end.number, end.time_us);
            next = next.max(end.number + 1);
            lost += end.damaged + u64::from(kept.is_some_and(|kept| has_lost_numbers(kept, source, &segments)));
            firsts.push(first);
        }
        if !kept.is_some_and(|kept| kept.is_final) {
            next = next.saturating_add(lost * LOST_MAX);
        }
        numbers.begin_with(next);
        for (lane, source) in sources.iter().enumerate() {
            let before_us = numbers.latest_us(lane).saturating_add(DISORDER_US);
            numbers.found(lane, Point { place: source.log.end(), number: next, before_us });
        }
        let damaged = (0..sources.len()).filter(|lane| damages.seq(*lane) > 0);
        let behind = damaged.map(|lane| firsts.get(lane).copied().flatten().unwrap_or(next) - 1).max();
        let purged = purged(kept, retention.is_enabled(), &sources, &firsts, next).max(behind.unwrap_or_default());
        Ok(Self {
            numbers,
            sources,
            purged: AtomicU64::new(purged),
            oldest: ArcSwapOption::empty(),
            damages,
            retention: Arc::new(retention),
            sentences: Mutex::default(),
        })
    }

    /// The changes in logs that this process does not write.
    ///
    /// # Errors
    /// When a log cannot be read.
    pub fn of_files(logs: Vec<Arc<dyn Log>>) -> Result<Self, StoreError> {
        let numbers = ChangeNumbers::new(logs.len());
        let source = |log| LogSource { id: String::new(), data: [0; 16], log };
        Self::look(numbers, logs.into_iter().map(source).collect(), Retention::none(), None)
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
    pub fn since_number(&self, number: u64, time_us: u64) -> HistoryReader {
        let number = number.max(self.bounds().first);
        self.reader(number, |lane| {
            let points = self.numbers.points(lane)?;
            let (by_number, by_time) = (points.at_number(number)?.place, points.at_time(time_us)?.place);
            Some(by_number.max(by_time))
        })
    }

    /// Reads from the first change on that may have been proposed at that time (µs since 1970) or later; earlier ones
    /// may come first.
    #[must_use]
    pub fn since(&self, time_us: u64) -> HistoryReader {
        self.since_number(0, time_us)
    }

    fn reader(&self, number: u64, place: impl Fn(usize) -> Option<LogPlace>) -> HistoryReader {
        let lane = |(at, source): (usize, &LogSource)| {
            Lane::new(Arc::clone(&source.log), place(at).unwrap_or_else(|| source.log.end()))
        };
        let lanes = self.sources.iter().enumerate().map(lane).collect();
        HistoryReader::new(Arc::clone(&self.numbers), Arc::clone(&self.damages), lanes, number)
    }

    /// What `cn=monitor` says.
    pub fn monitor_entry(&self) -> MonitorEntry {
        let (bounds, config) = (self.bounds(), self.settings());
        let segments = || self.sources.iter().flat_map(|source| source.log.segments());
        let entry = MonitorEntry::new("Changelog")
            .with("changelog-enabled", config.enabled)
            .with("last-purged-change-number", bounds.first - 1)
            .with("last-change-number", bounds.last)
            .with("changelog-bytes", segments().map(|segment| segment.bytes).sum::<u64>())
            .with("changelog-bytes-max", config.max_bytes)
            .with("changelog-segments", segments().count());
        match self.oldest.load().as_deref().filter(|it| it.first == bounds.first && it.number <= bounds.last) {
            Some(oldest) => {
                entry.with("first-change-number", oldest.number).with("oldest-change-time", oldest.time.as_str())
            }
            None => entry,
        }
    }

    /// Looks for the first change that can be read, if that is another one by now. Reads a file: never on an event
    /// loop.
    pub(super) fn look_at_oldest(&self) {
        let Bounds { first, last } = self.bounds();
        if first > last || self.oldest.load().as_deref().is_some_and(|oldest| oldest.first == first) {
            return;
        }
        // Damage is noted by the reader, and then there is another first one.
        if let Ok(Some(change)) = self.from(first).next_change() {
            let mut time = Vec::new();
            change.csn.write_timestamp(&mut time);
            let time = String::from_utf8_lossy(&time).into_owned();
            self.oldest.store(Some(Arc::new(Oldest { first, number: change.number, time })));
        }
    }

    /// Says what is wrong with a log, once, when that has moved the beginning.
    pub(super) fn tell_of_damage(&self, lane: usize) {
        let (Some(damage), Some(source)) = (self.damages.untold(lane), self.sources.get(lane)) else { return };
        self.say(format!(
            "Backend \"{}\": {}. Only the changelog still needed that file of the log, so the file is used again: the \
             changelog begins with change {} now, and earlier changes cannot be read any more",
            source.id,
            damage.reason,
            self.bounds().first
        ));
    }

    /// Says that a log begins later than it was left.
    fn tell_of_missing(&self, kept: Option<&Kept>, source: &LogSource, first_seq: u64) {
        let was = kept.and_then(|kept| source.kept(kept)).map(|kept| kept.first);
        if was.is_some_and(|was| was < first_seq) {
            self.say(format!(
                "Backend \"{}\": files of the log that only the changelog needed are missing, or the beginning of one \
                 is damaged: the changelog begins with change {} now, and earlier changes cannot be read any more",
                source.id,
                self.bounds().first
            ));
        }
    }

    fn say(&self, sentence: String) {
        self.sentences.lock().unwrap_or_else(PoisonError::into_inner).push(sentence);
    }

    /// What the administrator should know, once.
    pub fn sentences(&self) -> Vec<String> {
        std::mem::take(&mut *self.sentences.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until there are changes after that number; `false` when it took longer than `longest`. Never on an event
    /// loop.
    #[must_use]
    pub fn wait_beyond(&self, number: u64, longest: Duration) -> bool {
        self.numbers.wait_beyond(number, longest)
    }

    /// Calls `wake` on a writer's thread whenever there are more changes, until the follower is dropped. It must be
    /// quick, and leave reading to another thread.
    #[must_use]
    pub fn follow(&self, wake: Wake) -> Follower {
        self.numbers.follow(wake)
    }
}

/// Whether numbers that the backend got after the file was written stand in no log any more: its files are gone, or its
/// data was exchanged (an import) when the server had not been stopped.
fn has_lost_numbers(kept: &Kept, source: &LogSource, segments: &[LogSegment]) -> bool {
    let Some(backend) = kept.backends.iter().find(|backend| backend.id == source.id && kept.is_on) else {
        return false;
    };
    if backend.data != u128::from_be_bytes(source.data) {
        return true;
    }
    let has_records = segments.iter().any(|segment| segment.last >= segment.start.seq);
    !has_records && backend.first <= source.log.last()
}

/// The last number that cannot be read, by what was remembered and by the first number that was found in each log.
fn purged(kept: Option<&Kept>, is_on: bool, sources: &[LogSource], found: &[Option<u64>], next: u64) -> u64 {
    let in_lane = |(source, first): (&LogSource, &Option<u64>)| {
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

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("History").field("numbers", &self.numbers).finish_non_exhaustive()
    }
}
