//! References that wait: one thread that proposes them slice by slice, so that other updates get their turn, and tells
//! what became of each name that changed.
//!
//! What waits is in the backends themselves (see [`queue`](change::apply::queue)), so this thread may end at any
//! moment: the next one finds it there. Entries of other backends that refer to a name are changed before the job is
//! taken out of the queue.
//!
//! Knows queues, time and backends; which entries a job is about is the business of `apply`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ldap::{LdapResult, ResultCode};
use schema::Schema;

use super::decided::Decided;
use super::done::report_of;
use super::intake::{Cause, Intake};
use change::apply::queue::{BATCH_JOBS, Bounds, Job, Slice, bounds, job};
use change::apply::{ReferenceProbe, Report, Tally};
use change::csn::Csn;
use change::proposal::Kind;
use query::backend::{Backend, BackendIndex, all_indices};
use query::error::store_failure;
use query::monitor_entry::MonitorEntry;

/// Pause after a slice while updates of clients wait.
const YIELD: Duration = Duration::from_millis(2);
/// Pause after a failure of the store.
const RETRY: Duration = Duration::from_secs(1);

/// What became of the references to one name.
#[derive(Clone, Copy, Debug)]
pub struct FollowedName<'a> {
    /// The connection of the update that changed the name.
    pub connection: u64,
    /// Its number on the connection.
    pub operation: u32,
    /// The old name.
    pub dn: &'a str,
    /// The new one; none when the entry is gone.
    pub new_dn: Option<&'a str>,
    /// What was changed.
    pub tally: Tally,
    /// Success, or why something is left as it was.
    pub code: ResultCode,
    /// From the update to the last reference.
    pub elapsed: Duration,
}

/// Told of changes that no client asked for; from the writer's thread too, so it must be quick.
pub trait InternalLog: Send + Sync {
    /// All references to a name were followed.
    fn name_followed(&self, name: &FollowedName<'_>);
}

/// The thread and what it counts.
#[derive(Default)]
pub(crate) struct ReferenceKeeper {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    log: OnceLock<Arc<dyn InternalLog>>,
    names: AtomicU64,
    entries: AtomicU64,
    references: AtomicU64,
    last_us: AtomicU64,
    longest_us: AtomicU64,
}

#[derive(Default)]
struct State {
    is_woken: bool,
    is_stopping: bool,
}

impl std::fmt::Debug for ReferenceKeeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReferenceKeeper").finish_non_exhaustive()
    }
}

impl ReferenceKeeper {
    /// Starts the thread. One that was started before ends first: plugins or schema may have changed.
    pub(super) fn start(
        &self,
        backends: Arc<[Backend]>,
        intake: Arc<Intake>,
        schema: Arc<Schema>,
        probe: ReferenceProbe,
    ) -> std::io::Result<()> {
        self.stop();
        self.shared.lock().is_stopping = false;
        let shared = Arc::clone(&self.shared);
        let worker = Worker { shared, backends, intake, schema, probe };
        let thread = std::thread::Builder::new().name("references".to_owned()).spawn(move || worker.run())?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// Ends the thread after the slice that is under way.
    pub(crate) fn stop(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.shared.lock().is_stopping = true;
        self.shared.changed.notify_all();
        if let Some(thread) = thread {
            // A panic was told by the thread itself.
            let _ = thread.join();
        }
    }

    /// Who is told; once.
    pub(crate) fn set_log(&self, log: Arc<dyn InternalLog>) {
        let _ = self.shared.log.set(log);
    }

    /// Takes note of what an update did to references.
    pub(super) fn note(&self, report: &Report, csn: Csn, connection: u64, operation: u32) {
        let Some(report) = &report.references else { return };
        if report.is_queued {
            self.shared.lock().is_woken = true;
            self.shared.changed.notify_all();
            return;
        }
        for (dn, tally) in report.names.iter().zip(&report.jobs).filter(|(_, tally)| tally.entries > 0) {
            let elapsed = Duration::from_micros(now_us().saturating_sub(csn.time_us));
            let (new_dn, tally, code) = (report.new_name.as_deref(), *tally, ResultCode::SUCCESS);
            self.shared.tell(&FollowedName { connection, operation, dn, new_dn, tally, code, elapsed });
        }
    }

    /// What `cn=monitor` says.
    pub(crate) fn monitor_entry(&self, backends: &[Backend]) -> MonitorEntry {
        let waiting = |backend: &Backend| {
            let snapshot = backend.store.snapshot().ok()?;
            let waiting = bounds(&snapshot.view()).ok()?;
            Some(waiting.next.saturating_sub(waiting.first))
        };
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        MonitorEntry::new("Referential Integrity")
            .with("names-followed", count(&self.shared.names))
            .with("entries-changed", count(&self.shared.entries))
            .with("references-found", count(&self.shared.references))
            .with("queue-length", backends.iter().filter_map(waiting).sum::<u64>())
            .with("clean-up-time-last-us", count(&self.shared.last_us))
            .with("clean-up-time-max-us", count(&self.shared.longest_us))
    }
}

impl Drop for ReferenceKeeper {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopping(&self) -> bool {
        self.lock().is_stopping
    }

    fn tell(&self, name: &FollowedName<'_>) {
        let time_us = u64::try_from(name.elapsed.as_micros()).unwrap_or(u64::MAX);
        self.names.fetch_add(1, Ordering::Relaxed);
        self.entries.fetch_add(name.tally.entries, Ordering::Relaxed);
        self.references.fetch_add(name.tally.references, Ordering::Relaxed);
        self.last_us.store(time_us, Ordering::Relaxed);
        self.longest_us.fetch_max(time_us, Ordering::Relaxed);
        if let Some(log) = self.log.get() {
            log.name_followed(name);
        }
    }
}

/// Works off what waits.
pub(super) struct Worker {
    shared: Arc<Shared>,
    backends: Arc<[Backend]>,
    intake: Arc<Intake>,
    schema: Arc<Schema>,
    probe: ReferenceProbe,
}

impl Worker {
    /// Apart from any thread, with counters of its own.
    #[cfg(test)]
    pub(super) fn new(directory: &crate::Directory) -> Self {
        let probe = ReferenceProbe::new(&directory.facts(), &change::apply::plugins_text(directory.config()));
        Self {
            shared: Arc::default(),
            backends: Arc::clone(&directory.backends),
            intake: Arc::clone(directory.updates.intake()),
            schema: directory.schema(),
            probe,
        }
    }

    fn run(self) {
        while !self.shared.is_stopping() {
            let mut pause: Option<Duration> = None;
            for at in all_indices(&self.backends) {
                let next = self.work_off(at).unwrap_or(Some(RETRY));
                pause = [pause, next].into_iter().flatten().min();
            }
            let state = self.shared.lock();
            let is_quiet = |state: &mut State| !state.is_woken && !state.is_stopping;
            let mut state = match pause {
                None => self.shared.changed.wait_while(state, is_quiet).unwrap_or_else(PoisonError::into_inner),
                Some(pause) => {
                    let waited = self.shared.changed.wait_timeout_while(state, pause, is_quiet);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.is_woken = false;
        }
    }

    /// Does what is due in one backend's queue; gives the time until the next job is.
    fn work_off(&self, at: BackendIndex) -> Result<Option<Duration>, LdapResult> {
        while !self.shared.is_stopping() {
            let (first, jobs, due) = self.batch(at)?;
            if jobs.is_empty() {
                return Ok(due);
            }
            self.work_batch(at, first + jobs.len() as u64, &jobs)?;
        }
        Ok(None)
    }

    pub(super) fn work_batch(&self, at: BackendIndex, end: u64, jobs: &[Job]) -> Result<(), LdapResult> {
        let mut tallies: Vec<Tally> = jobs.iter().map(|job| job.done).collect();
        let mut result = Ok(());
        for other in all_indices(&self.backends).filter(|other| *other != at) {
            if self.refers(other, jobs)? {
                result = result.and(self.slices(other, 0, jobs, &mut tallies)?);
            }
        }
        if self.shared.is_stopping() {
            return Ok(());
        }
        result = result.and(self.slices(at, end, jobs, &mut tallies)?);
        if self.shared.is_stopping() {
            return Ok(());
        }
        let code = match result {
            Ok(()) => ResultCode::SUCCESS,
            Err(result) => {
                // What cannot be done must not keep the rest waiting.
                self.slices(at, end, &[], &mut [])??;
                result.code
            }
        };
        for (job, tally) in jobs.iter().zip(tallies) {
            if tally.entries == 0 && code == ResultCode::SUCCESS {
                continue;
            }
            let elapsed = Duration::from_micros(now_us().saturating_sub(job.time_us));
            let (connection, operation) = (job.connection, job.operation);
            let (dn, new_dn) = (job.dn.as_str(), job.new.as_deref());
            self.shared.tell(&FollowedName { connection, operation, dn, new_dn, tally, code, elapsed });
        }
        Ok(())
    }

    /// The number of the first job that waits; the jobs from there that are due and can be done together; if there are
    /// none, the time until there are.
    pub(super) fn batch(&self, at: BackendIndex) -> Result<(u64, Vec<Job>, Option<Duration>), LdapResult> {
        let failed = |error| store_failure(&error);
        let Some(backend) = self.backends.get(at.0) else { return Ok((0, Vec::new(), None)) };
        let snapshot = backend.store.snapshot().map_err(failed)?;
        let view = snapshot.view();
        let Bounds { first, next, .. } = bounds(&view).map_err(failed)?;
        let now = now_us();
        let mut jobs: Vec<Job> = Vec::new();
        for number in first..next {
            let Some(job) = job(&view, number).map_err(failed)? else { break };
            if job.due_us > now {
                let due = jobs.is_empty().then(|| Duration::from_micros(job.due_us - now));
                return Ok((first, jobs, due));
            }
            if job.is_subtree && !jobs.is_empty() {
                break;
            }
            let is_alone = job.is_subtree;
            jobs.push(job);
            if is_alone || jobs.len() >= BATCH_JOBS {
                break;
            }
        }
        Ok((first, jobs, None))
    }

    fn refers(&self, at: BackendIndex, jobs: &[Job]) -> Result<bool, LdapResult> {
        let failed = |error| store_failure(&error);
        let Some(backend) = self.backends.get(at.0) else { return Ok(false) };
        let snapshot = backend.store.snapshot().map_err(failed)?;
        self.probe.refers(&self.schema, &snapshot.view(), jobs).map_err(failed)
    }

    /// Proposes slice after slice. The outer error is one of the store, after which everything is tried again; the
    /// inner one is a refusal.
    pub(super) fn slices(
        &self,
        at: BackendIndex,
        finish_before: u64,
        jobs: &[Job],
        tallies: &mut [Tally],
    ) -> Result<Result<(), LdapResult>, LdapResult> {
        let Some(backend) = self.backends.get(at.0) else { return Ok(Ok(())) };
        let mut slice = Slice { finish_before, cursor: Vec::new(), jobs: jobs.to_vec() };
        while !self.shared.is_stopping() {
            let report = self.propose(at, backend, &slice)?;
            if !report.result.is_success() {
                return Ok(Err(report.result));
            }
            let Some(done) = report.references else { return Ok(Ok(())) };
            for (sum, tally) in tallies.iter_mut().zip(done.jobs) {
                sum.add(tally);
            }
            match done.cursor {
                Some(cursor) => slice.cursor = cursor,
                None => return Ok(Ok(())),
            }
            if backend.store.stats().queue_length > 0 {
                std::thread::sleep(YIELD);
            }
        }
        Ok(Ok(()))
    }

    fn propose(&self, at: BackendIndex, backend: &Backend, slice: &Slice) -> Result<Report, LdapResult> {
        let cause = slice.jobs.first();
        let decided = Decided {
            connection: cause.map_or(0, |job| job.connection),
            operation: cause.map_or(0, |job| job.operation),
            ..Decided::by_server(at, Kind::CleanReferences, slice.encode())
        };
        let (_, proposal) = self.intake.encode(&decided, [0; 16]);
        report_of(self.intake.submit_and_wait(backend, Cause::References, proposal))
    }
}

/// Now, in µs since 1970.
pub(super) fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX)
}
