//! Builds indexes behind the back of a serving backend: slice after slice, each a proposal, whenever updates leave
//! room.
//!
//! How far it is stands in the backend itself, so a builder remembers nothing: after a crash the next one goes on.
//! Afterwards it sees to it that rows of former indexes are removed.
//!
//! Knows pace and order; what a slice does is the store's business.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use store::IndexId;
use store::index::Distrust;

use crate::index_propose::propose;
use crate::update::Intake;
use change::index_proposal::IndexProposal;
use query::backend::{Backend, all_indices};

/// Keys of one slice: a few milliseconds of the writer's time.
const SLICE_WORK: u64 = 1_000;
/// A slice waits so long for updates that wait, and then takes its turn among them.
const GIVE_WAY_MAX: Duration = Duration::from_millis(20);
/// Between two looks whether there is room.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Between two folds that remove rows of former indexes.
const SWEEP_EVERY: Duration = Duration::from_millis(200);
/// After a failure.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// What a builder tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexNotice {
    /// It begins, or goes on after a restart.
    Begun {
        /// The backend.
        backend: String,
        /// The indexes that are built.
        indexes: Vec<String>,
        /// Entries that there are.
        entries: u64,
    },
    /// Indexes are complete, and searches use them.
    Complete {
        /// The backend.
        backend: String,
        /// The indexes.
        indexes: Vec<String>,
        /// Entries that are in them.
        entries: u64,
        /// Since it began.
        elapsed: Duration,
    },
    /// It cannot go on, and tries again later.
    Failed {
        /// The backend.
        backend: String,
        /// Why.
        reason: String,
    },
}

impl std::fmt::Display for IndexNotice {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Begun { backend, indexes, entries } => {
                let names = indexes.join(", ");
                write!(out, "Building indexes of the backend \"{backend}\" online: {names}; it has {entries} entries")
            }
            Self::Complete { backend, indexes, entries, elapsed } => {
                let (names, seconds) = (indexes.join(", "), elapsed.as_secs_f64());
                let rate = *entries as f64 / seconds.max(0.001);
                write!(
                    out,
                    "Indexes of the backend \"{backend}\" are complete and in use: {names}; {entries} entries in \
                     {seconds:.1} seconds \
                     ({rate:.0}/s)"
                )
            }
            Self::Failed { backend, reason } => write!(
                out,
                "Indexes of the backend \"{backend}\" cannot be built further ({reason}): it is tried again in {} \
                 seconds; run \
                 verify-index if this goes on",
                RETRY_AFTER.as_secs()
            ),
        }
    }
}

type Tell = Arc<dyn Fn(IndexNotice) + Send + Sync>;

/// The builders of all backends; dropped, they end.
pub(crate) struct IndexBuilders {
    bell: Arc<Bell>,
    threads: Vec<JoinHandle<()>>,
}

/// Wakes builders.
#[derive(Default)]
struct Bell {
    state: Mutex<Rung>,
    rung: Condvar,
}

#[derive(Clone, Copy, Default)]
struct Rung {
    times: u64,
    is_over: bool,
}

impl Bell {
    fn look(&self) -> Rung {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self, is_over: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.times += 1;
        state.is_over |= is_over;
        self.rung.notify_all();
    }

    /// Waits for a ring after the one that was `seen`.
    fn wait(&self, seen: Rung, at_most: Option<Duration>) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_quiet = |state: &mut Rung| state.times == seen.times;
        match at_most {
            Some(time) => drop(self.rung.wait_timeout_while(state, time, is_quiet)),
            None => drop(self.rung.wait_while(state, is_quiet)),
        }
    }
}

impl IndexBuilders {
    /// One thread for each backend.
    pub(crate) fn start(backends: &Arc<[Backend]>, intake: &Arc<Intake>, tell: &Tell) -> std::io::Result<Self> {
        let mut builders = Self { bell: Arc::default(), threads: Vec::new() };
        for at in all_indices(backends) {
            let (backends, bell) = (Arc::clone(backends), Arc::clone(&builders.bell));
            let (intake, tell) = (Arc::clone(intake), Arc::clone(tell));
            let run = move || {
                if let Some(backend) = backends.get(at.0) {
                    Builder { backend, intake: &intake, bell: &bell, tell: &tell }.run();
                }
            };
            builders.threads.push(std::thread::Builder::new().name("indexes".to_owned()).spawn(run)?);
        }
        Ok(builders)
    }

    /// There may be something to do.
    pub(crate) fn wake(&self) {
        self.bell.ring(false);
    }
}

impl Drop for IndexBuilders {
    fn drop(&mut self) {
        self.bell.ring(true);
        for thread in self.threads.drain(..) {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

struct Builder<'b> {
    backend: &'b Backend,
    intake: &'b Intake,
    bell: &'b Bell,
    tell: &'b Tell,
}

impl Builder<'_> {
    fn run(&self) {
        loop {
            let seen = self.bell.look();
            if seen.is_over {
                return;
            }
            match self.work() {
                Ok(()) => self.bell.wait(seen, None),
                Err(store::StoreError::Closed) => return,
                Err(error) => {
                    self.backend.build_failure.store(Some(Arc::new(error.to_string())));
                    (self.tell)(IndexNotice::Failed { backend: self.backend.id.clone(), reason: error.to_string() });
                    self.bell.wait(seen, Some(RETRY_AFTER));
                }
            }
        }
    }

    /// Builds everything that is to be built, then has rows of former indexes removed.
    fn work(&self) -> Result<(), store::StoreError> {
        let mut known: Vec<(IndexId, String, Instant)> = Vec::new();
        while !self.bell.look().is_over {
            let building = self.building();
            let fresh = |id: &IndexId| !known.iter().any(|(own, ..)| own == id);
            let new: Vec<(IndexId, String, Instant)> = building
                .iter()
                .filter(|(id, _)| fresh(id))
                .map(|(id, name)| (*id, name.clone(), Instant::now()))
                .collect();
            if !new.is_empty() {
                let indexes = new.iter().map(|(_, name, _)| name.clone()).collect();
                let entries = self.backend.store.snapshot()?.entry_count()?;
                (self.tell)(IndexNotice::Begun { backend: self.backend.id.clone(), indexes, entries });
                known.extend(new);
            }
            self.tell_complete(&mut known, &building)?;
            if !building.is_empty() {
                self.give_way();
                let started = Instant::now();
                propose(self.backend, self.intake, &IndexProposal::Build { work: SLICE_WORK })?;
                if self.backend.build_failure.load().is_some() {
                    self.backend.build_failure.store(None);
                }
                // While updates wait, half of the time is theirs.
                if self.backend.store.is_busy() {
                    std::thread::sleep(started.elapsed());
                }
            } else if !self.sweep()? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn building(&self) -> Vec<(IndexId, String)> {
        let indexes = self.backend.store.indexes();
        let is_building = |why: Distrust| matches!(why, Distrust::Building { .. });
        let building = indexes.untrusted().iter().filter(|index| is_building(index.why));
        building.filter_map(|index| Some((index.id, indexes.set().get(index.id)?.name.clone()))).collect()
    }

    /// Tells of those that were being built and are not any more, unless they were dropped.
    fn tell_complete(
        &self,
        known: &mut Vec<(IndexId, String, Instant)>,
        building: &[(IndexId, String)],
    ) -> Result<(), store::StoreError> {
        let is_building = |id: IndexId| building.iter().any(|(own, _)| *own == id);
        if known.iter().all(|(id, ..)| is_building(*id)) {
            return Ok(());
        }
        let snapshot = self.backend.store.snapshot()?;
        let ended = known.iter().filter(|(id, ..)| !is_building(*id) && snapshot.indexes().is_trusted(*id));
        let begun = ended.clone().map(|(_, _, begun)| *begun).min();
        if let Some(begun) = begun {
            let (backend, elapsed) = (self.backend.id.clone(), begun.elapsed());
            let indexes = ended.map(|(_, name, _)| name.clone()).collect();
            (self.tell)(IndexNotice::Complete { backend, indexes, entries: snapshot.entry_count()?, elapsed });
        }
        known.retain(|(id, ..)| is_building(*id));
        Ok(())
    }

    /// Lets waiting updates go first, for a while; and does not fill an overlay that the fold cannot take yet.
    fn give_way(&self) {
        let since = Instant::now();
        while !self.bell.look().is_over {
            let updates_first = self.backend.store.is_busy() && since.elapsed() < GIVE_WAY_MAX;
            if !updates_first && !self.backend.store.is_pressed() {
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Forgets former indexes without rows, and asks for a fold, which removes rows of the others. `false` when none is
    /// left.
    fn sweep(&self) -> Result<bool, store::StoreError> {
        let seen = self.bell.look();
        let snapshot = self.backend.store.snapshot()?;
        let mut numbers = Vec::new();
        for id in snapshot.indexes().states().retired() {
            if snapshot.view().is_blank(id)? {
                numbers.push(id);
            }
        }
        let is_done = snapshot.indexes().states().retired().len() == numbers.len();
        drop(snapshot);
        if !numbers.is_empty() {
            propose(self.backend, self.intake, &IndexProposal::Forget { numbers })?;
        }
        if is_done {
            return Ok(false);
        }
        propose(self.backend, self.intake, &IndexProposal::Build { work: 0 })?;
        self.backend.store.fold_soon();
        self.bell.wait(seen, Some(SWEEP_EVERY));
        Ok(true)
    }
}
