//! Letting go of changes: what is too old or too much, found a segment at a time, by a thread that looks every second.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use config::ChangelogConfig;
use query::notices::{NoticeKind, Notices};
use store::StoreError;
use store::log::LogSegment;

use super::kept::{Kept, KeptBackend};
use super::kind::Cause;
use super::log_scan::{DISORDER_US, LogScan};
use super::retention::{Doomed, Known, Retention, State};
use super::sequence::History;
use super::source::LogSource;

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The file is written at the latest when so many numbers were given since: a small part of
/// [`LOST_MAX`](super::LOST_MAX).
const NOTED_EVERY: u64 = 100_000;

impl History {
    /// Starts the thread that removes what is too old or too much, and reports what an administrator should know. It
    /// ends when the history does.
    pub fn start(self: &Arc<Self>, notices: &Arc<Notices>) -> io::Result<()> {
        let (retention, history, notices) = (Arc::clone(&self.retention), Arc::downgrade(self), Arc::clone(notices));
        let keep_house = move || keep_house(&retention, &history, &notices);
        let thread = std::thread::Builder::new().name("changelog".to_owned()).spawn(keep_house)?;
        *self.retention.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// Ends the thread.
    pub fn stop(&self) {
        let thread = self.retention.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.retention.lock().is_stopping = true;
        self.retention.changed.notify_all();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    /// Remembers where the numbers ended, when all backends are closed.
    ///
    /// # Errors
    /// When the file beside the logs cannot be written; the logs have the numbers, too.
    pub fn end(&self) -> Result<(), StoreError> {
        self.remember(true)
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> ChangelogConfig {
        **self.retention.config.load()
    }

    /// Whether those who follow changes (`cn=changelog`, persistent searches) are shown one with that cause.
    #[must_use]
    pub fn shows(&self, cause: Cause<'_>) -> bool {
        cause != Cause::AccountState || self.retention.config.load().account_state
    }

    /// Takes other settings; `false` when they are the same. What is too much then goes at once.
    ///
    /// # Errors
    /// When the file beside the logs cannot be written.
    pub fn set(&self, config: ChangelogConfig) -> Result<bool, StoreError> {
        let old = *self.retention.config.swap(Arc::new(config));
        if old == config {
            return Ok(false);
        }
        if old.enabled != config.enabled
            && let Err(error) = self.switch(config.enabled)
        {
            // Not in force: the next reload tries again.
            self.retention.config.store(Arc::new(old));
            return Err(error);
        }
        self.prune()?;
        Ok(true)
    }

    /// Begins or ends keeping changes. What was before has a hole at its end, so it cannot be read any more.
    pub(super) fn switch(&self, is_on: bool) -> Result<(), StoreError> {
        if !is_on {
            self.numbers.switch(false);
        }
        self.purged.fetch_max(self.numbers.next() - 1, Ordering::SeqCst);
        self.remember(false)?;
        for source in &self.sources {
            source.log.keep_from(if is_on { source.log.end().seq } else { u64::MAX })?;
        }
        self.numbers.switch(is_on);
        Ok(())
    }

    /// Removes what is too old or too much now.
    pub fn prune(&self) -> Result<(), StoreError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.prune_at(u64::try_from(now.as_micros()).unwrap_or(u64::MAX))
    }

    /// The same at another time.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn prune_at(&self, now_us: u64) -> Result<(), StoreError> {
        let mut state = self.retention.lock();
        let config = self.settings();
        if !config.enabled {
            return Ok(());
        }
        let max_age_us = u64::try_from(config.max_age.as_micros()).unwrap_or(u64::MAX);
        let oldest_us = now_us.saturating_sub(max_age_us);
        let (mut doomed, mut bytes) = (Vec::new(), 0);
        for (lane, source) in self.sources.iter().enumerate() {
            // Before the segments: those before this one are written no more.
            let written = source.log.end().generation;
            let segments = source.log.segments();
            bytes += segments.iter().map(|segment| segment.bytes).sum::<u64>();
            doomed.extend(self.candidates(lane, written, &segments, &mut state.known)?);
        }
        doomed.sort_by_key(|segment| (!segment.is_damaged, segment.before_us, segment.lane, segment.next_seq));
        let (mut gone, mut purged): (BTreeMap<usize, u64>, _) = (BTreeMap::new(), self.relieved(&state));
        for segment in doomed {
            if !segment.is_damaged && segment.before_us >= oldest_us && bytes <= config.max_bytes {
                break;
            }
            bytes = bytes.saturating_sub(segment.bytes);
            purged = purged.max(segment.next_number.saturating_sub(1));
            gone.insert(segment.lane, segment.next_seq);
        }
        self.purged.fetch_max(purged, Ordering::SeqCst);
        drop(state);
        // Invariant 1.
        self.remember_without(&gone, false)?;
        self.let_go(&gone)?;
        self.look_at_oldest();
        Ok(())
    }

    /// Keeps of these logs what is from that record on.
    fn let_go(&self, gone: &BTreeMap<usize, u64>) -> Result<(), StoreError> {
        // Under the lock: switching off sets the settings first, and removes everything after that.
        let _state = self.retention.lock();
        if !self.settings().enabled {
            return Ok(());
        }
        for (lane, next_seq) in gone {
            self.tell_of_damage(*lane);
            let Some(source) = self.sources.get(*lane) else { continue };
            // Before: no reader begins where nothing is left.
            let segments = source.log.segments();
            let next = segments.iter().find(|segment| segment.start.seq >= *next_seq);
            let generation = next.map_or_else(|| source.log.end().generation, |segment| segment.start.generation);
            if let Some(mut points) = self.numbers.points(*lane) {
                points.forget_before(generation);
            }
            source.log.keep_from(*next_seq)?;
        }
        Ok(())
    }

    /// The segments of a backend that may go, the oldest first: all but the one that is being written.
    fn candidates(
        &self,
        lane: usize,
        written: u64,
        segments: &[LogSegment],
        known: &mut Known,
    ) -> Result<Vec<Doomed>, StoreError> {
        let Some(source) = self.sources.get(lane) else { return Ok(Vec::new()) };
        let mut scan = LogScan::new(&*source.log);
        let mut firsts = Vec::with_capacity(segments.len());
        for segment in segments {
            let key = (lane, segment.start.generation);
            let first = match known.get(&key) {
                Some(first) => *first,
                None => match scan.first_in(segment) {
                    Err(error) if self.damages.note(lane, segment.last, &error) => None,
                    first => {
                        let first = first?;
                        if first.is_some() || segment.start.generation < written {
                            known.insert(key, first);
                        }
                        first
                    }
                },
            };
            firsts.push(first);
        }
        let damaged = self.damages.seq(lane);
        let oldest = segments.first().map_or(u64::MAX, |segment| segment.start.generation);
        if let Some(mut points) = self.numbers.points(lane) {
            points.forget_before(oldest);
        }
        known.retain(|(other, generation), _| *other != lane || *generation >= oldest);
        let mut doomed = Vec::new();
        for (at, segment) in segments.iter().enumerate().filter(|(_, segment)| segment.start.generation < written) {
            let next = firsts.iter().skip(at + 1).flatten().next();
            let (next_number, next_us) = match next {
                Some((number, time_us)) => (*number, *time_us),
                // Nothing of the backend is behind it. Others may have got many numbers since.
                None => (self.numbers.latest(lane) + 1, self.numbers.latest_us(lane)),
            };
            let is_damaged = segment.start.seq <= damaged;
            let has_changes = is_damaged || firsts.get(at).is_some_and(Option::is_some);
            doomed.push(Doomed {
                before_us: next_us.saturating_add(DISORDER_US),
                is_damaged,
                lane,
                bytes: segment.bytes,
                next_number: if has_changes { next_number } else { 0 },
                next_seq: segment.last + 1,
            });
        }
        Ok(doomed)
    }

    /// The last number that a full disk has taken: the log begins later than it should.
    fn relieved(&self, state: &State) -> u64 {
        let Some(written) = &state.written else { return 0 };
        let number = |(lane, source): (usize, &LogSource)| {
            let was = written.backends.iter().find(|backend| backend.id == source.id)?.first;
            let segments = source.log.segments();
            let first = segments.first().filter(|segment| segment.start.seq > was)?;
            let mut known = segments.iter().filter_map(|it| *state.known.get(&(lane, it.start.generation))?);
            let next = known.next().map_or_else(|| self.numbers.latest(lane) + 1, |(number, _)| number);
            (first.start.seq > was).then(|| next.saturating_sub(1))
        };
        self.sources.iter().enumerate().filter_map(number).max().unwrap_or_default()
    }

    /// Writes the file beside the logs, unless it says the same already.
    pub(super) fn remember(&self, is_final: bool) -> Result<(), StoreError> {
        self.remember_without(&BTreeMap::new(), is_final)
    }

    /// The same when only what is from that record on will be kept of these logs.
    fn remember_without(&self, gone: &BTreeMap<usize, u64>, is_final: bool) -> Result<(), StoreError> {
        let mut state = self.retention.lock();
        let backend = |(lane, source): (usize, &LogSource)| KeptBackend {
            id: source.id.clone(),
            data: u128::from_be_bytes(source.data),
            first: source.first_seq().max(gone.get(&lane).copied().unwrap_or_default()),
        };
        let kept = Kept {
            next: self.numbers.next(),
            purged: self.purged.load(Ordering::SeqCst),
            is_on: self.settings().enabled,
            is_final,
            backends: self.sources.iter().enumerate().map(backend).collect(),
        };
        // The next number alone is in the logs, as long as there are logs.
        let is_same = |old: &Kept| {
            kept.next.saturating_sub(old.next) < NOTED_EVERY && Kept { next: kept.next, ..old.clone() } == kept
        };
        if !is_final && state.written.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        if let Some(path) = &self.retention.path {
            kept.write(path).map_err(|error| StoreError::io("changelog numbers", &error))?;
        }
        state.written = Some(kept);
        Ok(())
    }
}

fn keep_house(retention: &Retention, history: &Weak<History>, notices: &Notices) {
    let mut trouble = None;
    let mut state = retention.lock();
    while !state.is_stopping {
        let waited = retention.changed.wait_timeout(state, LOOK_EVERY);
        drop(waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state));
        let Some(history) = history.upgrade() else { return };
        // What cannot be removed now is tried again; that is reported once.
        let failed = history.prune().err();
        if let Some(error) = failed.as_ref().filter(|_| trouble != failed) {
            notices.warn(NoticeKind::History, &format!(
                "The changelog cannot remove old changes ({error}): check the folder \"changelog\" and the logs of the \
                 backends; the server tries again every second"
            ));
        }
        trouble = failed;
        history.sentences().iter().for_each(|sentence| notices.warn(NoticeKind::History, sentence));
        state = retention.lock();
    }
}
