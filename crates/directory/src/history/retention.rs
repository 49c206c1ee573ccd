//! What of the history is kept: changes go by age, and by the room that all logs take together, a segment at a time.
//!
//! Invariants:
//! (1) Before a segment may go, the file of [`Kept`] says that its changes cannot be read any more.
//! (2) What recovery needs is the log's own business: here only what is kept beyond that is given up.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use config::ChangelogConfig;
use store::StoreError;
use store::log::LogSegment;

use super::kept::{Kept, KeptBackend};
use super::{DISORDER_US, History, LogScan, Source};

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The settings, the file and the thread that looks.
pub(super) struct Retention {
    settings: Mutex<Settings>,
    changed: Condvar,
    /// Where [`Kept`] is written; nowhere in tests of other things.
    path: Option<PathBuf>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Settings {
    config: ChangelogConfig,
    is_stopping: bool,
    /// What was found out about segments: backend, generation → number and time of the first change.
    known: BTreeMap<(usize, u64), (u64, u64)>,
    written: Option<Kept>,
}

/// A segment that may go.
struct Doomed {
    /// All its changes were proposed before.
    before_us: u64,
    lane: usize,
    bytes: u64,
    /// Everything in the backend before this number goes with it; none when nothing of it has one.
    next_number: u64,
    /// The record that is kept first.
    next_seq: u64,
}

impl Retention {
    pub(super) fn new(config: ChangelogConfig, path: Option<PathBuf>) -> Self {
        let settings = Settings { config, is_stopping: false, known: BTreeMap::new(), written: None };
        Self { settings: Mutex::new(settings), changed: Condvar::new(), path, thread: Mutex::default() }
    }

    /// Of logs that are only read.
    pub(super) fn none() -> Self {
        Self::new(ChangelogConfig { enabled: true, max_age: Duration::MAX, max_bytes: u64::MAX }, None)
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.lock().config.enabled
    }

    fn lock(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_house(&self, history: &Weak<History>) {
        let mut settings = self.lock();
        while !settings.is_stopping {
            let waited = self.changed.wait_timeout(settings, LOOK_EVERY);
            drop(waited.map_or_else(|poisoned| poisoned.into_inner().0, |(settings, _)| settings));
            let Some(history) = history.upgrade() else { return };
            // What cannot be let go now is tried again.
            let _ = history.prune();
            settings = self.lock();
        }
    }

    /// What was remembered when the server ran last.
    pub(super) fn read(&self) -> io::Result<Option<Kept>> {
        self.path.as_deref().map_or(Ok(None), Kept::read)
    }
}

impl History {
    /// Starts the thread that lets go of what is too old or too much. It ends when the history does.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<()> {
        let (retention, history) = (Arc::clone(&self.retention), Arc::downgrade(self));
        let keep_house = move || retention.keep_house(&history);
        let thread = std::thread::Builder::new().name("changelog".to_owned()).spawn(keep_house)?;
        *self.retention.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// Ends the thread, and remembers where the numbers ended.
    pub(crate) fn stop(&self) {
        let thread = self.retention.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.retention.lock().is_stopping = true;
        self.retention.changed.notify_all();
        if let Some(thread) = thread {
            let _ = thread.join();
            // The logs have the numbers, too; without the file only an import right now would lose them.
            let _ = self.remember();
        }
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> ChangelogConfig {
        self.retention.lock().config
    }

    /// Takes other settings; `false` when they are the same. What is too much then goes at once.
    ///
    /// # Errors
    /// When the file beside the logs cannot be written.
    pub(crate) fn set(&self, config: ChangelogConfig) -> Result<bool, StoreError> {
        let old = std::mem::replace(&mut self.retention.lock().config, config);
        if old == config {
            return Ok(false);
        }
        if old.enabled != config.enabled
            && let Err(error) = self.switch(config.enabled)
        {
            // Not in force: the next reload tries again.
            self.retention.lock().config = old;
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
        self.remember()?;
        for source in &self.sources {
            source.log.keep_from(if is_on { source.log.end().seq } else { u64::MAX })?;
        }
        self.numbers.switch(is_on);
        Ok(())
    }

    /// Lets go of what is too old or too much now.
    pub(crate) fn prune(&self) -> Result<(), StoreError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.prune_at(u64::try_from(now.as_micros()).unwrap_or(u64::MAX))
    }

    pub(crate) fn prune_at(&self, now_us: u64) -> Result<(), StoreError> {
        let mut settings = self.retention.lock();
        let config = settings.config;
        if !config.enabled {
            return Ok(());
        }
        let max_age_us = u64::try_from(config.max_age.as_micros()).unwrap_or(u64::MAX);
        let oldest_us = now_us.saturating_sub(max_age_us);
        let (mut doomed, mut bytes) = (Vec::new(), 0);
        for (lane, source) in self.sources.iter().enumerate() {
            let segments = source.log.segments();
            bytes += segments.iter().map(|segment| segment.bytes).sum::<u64>();
            doomed.extend(self.candidates(lane, source, &segments, &mut settings.known)?);
        }
        doomed.sort_by_key(|segment| (segment.before_us, segment.lane, segment.next_seq));
        let mut gone: BTreeMap<usize, Doomed> = BTreeMap::new();
        for segment in doomed {
            if segment.before_us >= oldest_us && bytes <= config.max_bytes {
                break;
            }
            bytes = bytes.saturating_sub(segment.bytes);
            gone.insert(segment.lane, segment);
        }
        let purged = gone.values().map(|segment| segment.next_number.saturating_sub(1)).max();
        let purged = purged.into_iter().chain([self.relieved(&settings)]).max().unwrap_or_default();
        self.purged.fetch_max(purged, Ordering::SeqCst);
        drop(settings);
        // Invariant 1.
        self.remember()?;
        // Under the lock: whoever switches off sets the settings first, and lets everything go after it.
        let settings = self.retention.lock();
        if !settings.config.enabled {
            return Ok(());
        }
        for (lane, segment) in gone {
            if let Some(source) = self.sources.get(lane) {
                source.log.keep_from(segment.next_seq)?;
            }
        }
        Ok(())
    }

    /// The segments of a backend that may go, the oldest first: all but the one that is being written.
    fn candidates(
        &self,
        lane: usize,
        source: &Source,
        segments: &[LogSegment],
        known: &mut BTreeMap<(usize, u64), (u64, u64)>,
    ) -> Result<Vec<Doomed>, StoreError> {
        let mut scan = LogScan::new(&*source.log);
        let mut firsts = Vec::with_capacity(segments.len());
        for segment in segments {
            let key = (lane, segment.start.generation);
            let first = match known.get(&key) {
                Some(first) => Some(*first),
                None => scan.first_in(segment)?,
            };
            if let Some(first) = first {
                known.insert(key, first);
            }
            firsts.push(first);
        }
        let oldest = segments.first().map_or(u64::MAX, |segment| segment.start.generation);
        if let Some(mut points) = self.numbers.points(lane) {
            points.forget_before(oldest);
        }
        known.retain(|(other, generation), _| *other != lane || *generation >= oldest);
        let mut doomed = Vec::new();
        let end = source.log.end();
        for (at, segment) in segments.iter().enumerate() {
            if segment.start.generation == end.generation {
                break;
            }
            let next = firsts.iter().skip(at + 1).flatten().next();
            let (next_number, next_us) = match next {
                Some((number, time_us)) => (*number, *time_us),
                None => (self.numbers.next(), self.numbers.latest_us(lane)),
            };
            let has_changes = firsts.get(at).is_some_and(Option::is_some);
            doomed.push(Doomed {
                before_us: next_us.saturating_add(DISORDER_US),
                lane,
                bytes: segment.bytes,
                next_number: if has_changes { next_number } else { 0 },
                next_seq: segment.last + 1,
            });
        }
        Ok(doomed)
    }

    /// The last number that a full disk has taken: the log begins later than it should.
    fn relieved(&self, settings: &Settings) -> u64 {
        let Some(written) = &settings.written else { return 0 };
        let number = |(lane, source): (usize, &Source)| {
            let was = written.backends.iter().find(|backend| backend.id == source.id)?.first;
            let segments = source.log.segments();
            let first = segments.first().filter(|segment| segment.start.seq > was)?;
            let known = segments.iter().find_map(|it| settings.known.get(&(lane, it.start.generation)));
            let next = known.map_or_else(|| self.numbers.next(), |(number, _)| *number);
            (first.start.seq > was).then(|| next.saturating_sub(1))
        };
        self.sources.iter().enumerate().filter_map(number).max().unwrap_or_default()
    }

    /// Writes the file beside the logs, unless it says the same already.
    pub(super) fn remember(&self) -> Result<(), StoreError> {
        let mut settings = self.retention.lock();
        let backend = |source: &Source| KeptBackend {
            id: source.id.clone(),
            data: u128::from_be_bytes(source.data),
            first: source.first_seq(),
        };
        let kept = Kept {
            next: self.numbers.next(),
            purged: self.purged.load(Ordering::SeqCst),
            is_on: settings.config.enabled,
            backends: self.sources.iter().map(backend).collect(),
        };
        // The next number alone is in the logs.
        let is_same = |old: &Kept| Kept { next: kept.next, ..old.clone() } == kept;
        if !settings.is_stopping && settings.written.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        if let Some(path) = &self.retention.path {
            kept.write(path).map_err(|error| StoreError::io("changelog numbers", &error))?;
        }
        settings.written = Some(kept);
        Ok(())
    }
}
