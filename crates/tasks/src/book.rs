//! The book of tasks: all of them, and which is to run next.
//!
//! Invariants:
//! (1) What the book says was asked for, begun or ended is in its file; a task whose beginning cannot be written does
//!     not begin.
//! (2) Every recurring task has one task that waits or runs, unless its schedule never comes again.
//! (3) A task is given out once.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::file::{self, BookError, Pages};
use crate::log_message::{self, Severity};
use crate::recurring::{Recurring, was_wrong};
use crate::refusal::TaskRefusal;
use crate::state::{DependencyAction, State};
use crate::task::{Progress, Task};
use crate::times::compact_local;

/// Tasks that are kept, with those that have ended.
const SCHEDULED_MAX: usize = 500;
/// Recurring tasks.
const RECURRING_MAX: usize = 100;
/// Tasks that run at once; more wait.
const RUNNING_MAX: usize = 16;
/// Options of a task.
const ATTRIBUTES_BYTES_MAX: usize = 16 << 10;
/// So long a task that has ended is kept (OpenDJ's `task-retention-time`).
const KEPT: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);
/// The clock may be set at any time, so a task that waits for it is looked at so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a file that cannot be written is left alone.
const FILE_AGAIN: Duration = Duration::from_secs(10);

/// See the module.
pub struct TaskBook {
    path: PathBuf,
    zone: TimeZone,
    inner: Mutex<Inner>,
    changed: Condvar,
}

struct Inner {
    pages: Pages,
    is_stopping: bool,
}

/// A task to be run now.
#[derive(Clone, Debug)]
pub struct Run {
    /// As it is when it begins.
    pub task: Task,
}

/// What a look for work found.
#[derive(Debug)]
pub enum Waiting {
    /// This is to be done.
    Run(Box<Run>),
    /// The beginning of a task cannot be written; look again.
    Trouble(BookError),
    /// Nothing more comes: the book was closed.
    Closed,
}

impl TaskBook {
    /// Reads the book.
    ///
    /// # Errors
    /// When its file cannot be read, or holds something else.
    pub fn open(path: PathBuf) -> Result<TaskBook, BookError> {
        let pages = file::read(&path)?;
        let inner = Mutex::new(Inner { pages, is_stopping: false });
        Ok(TaskBook { path, zone: TimeZone::system(), inner, changed: Condvar::new() })
    }

    /// The same with a time zone of one's own.
    #[cfg(test)]
    pub(crate) fn in_zone(self, zone: TimeZone) -> TaskBook {
        TaskBook { zone, ..self }
    }

    /// Does what a look does, and says whether [`TaskBook::next`] would give a task at once.
    #[cfg(test)]
    pub(crate) fn look(&self, now: Timestamp) -> bool {
        let mut inner = self.lock();
        let mut pages = inner.pages.clone();
        self.settle(&mut pages, now);
        let is_due = pages.scheduled.iter().any(|task| is_due(task, now));
        self.write(&mut inner, pages).is_ok() && is_due
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tasks that were scheduled, and what became of them.
    #[must_use]
    pub fn scheduled(&self) -> Vec<Task> {
        self.lock().pages.scheduled.clone()
    }

    /// The recurring tasks.
    #[must_use]
    pub fn recurring(&self) -> Vec<Recurring> {
        self.lock().pages.recurring.clone()
    }

    /// One of the tasks that were scheduled.
    #[must_use]
    pub fn task(&self, id: &str) -> Option<Task> {
        self.lock().pages.scheduled.iter().find(|task| task.id == id).cloned()
    }

    /// A server begins to run the tasks: those that an earlier one did not end are over.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn begin(&self, now: Timestamp) -> Result<(), BookError> {
        let mut inner = self.lock();
        inner.is_stopping = false;
        let mut pages = inner.pages.clone();
        for task in pages.scheduled.iter_mut().filter(|task| task.state == State::Running) {
            say(task, Severity::Error, "The server ended while the task was running, and did not complete it", now);
            (task.state, task.ended) = (State::StoppedByShutdown, Some(now));
        }
        self.settle(&mut pages, now);
        self.write(&mut inner, pages)
    }

    /// Takes a task.
    ///
    /// # Errors
    /// When it cannot be; then nothing has changed.
    pub fn add(&self, task: Task, now: Timestamp) -> Result<(), TaskRefusal> {
        check_size(&task.attributes)?;
        let mut inner = self.lock();
        let mut pages = inner.pages.clone();
        self.settle(&mut pages, now);
        if pages.scheduled.iter().any(|other| other.id == task.id) {
            return Err(TaskRefusal::Exists(task.id));
        }
        check_dependencies(&pages, &task.dependencies)?;
        make_room(&mut pages)?;
        pages.scheduled.push(task);
        self.settle(&mut pages, now);
        Ok(self.write(&mut inner, pages)?)
    }

    /// Takes a recurring task.
    ///
    /// # Errors
    /// As [`TaskBook::add`].
    pub fn add_recurring(&self, recurring: Recurring, now: Timestamp) -> Result<(), TaskRefusal> {
        check_size(&recurring.attributes)?;
        let mut inner = self.lock();
        let mut pages = inner.pages.clone();
        if pages.recurring.iter().any(|other| other.id == recurring.id) {
            return Err(TaskRefusal::Exists(recurring.id));
        }
        if pages.recurring.len() >= RECURRING_MAX {
            return Err(TaskRefusal::TooMany(RECURRING_MAX));
        }
        if recurring.next(now, &self.zone).is_none() {
            return Err(TaskRefusal::Never(recurring.schedule.text().to_owned()));
        }
        check_dependencies(&pages, &recurring.dependencies)?;
        make_room(&mut pages)?;
        pages.recurring.push(recurring);
        self.settle(&mut pages, now);
        Ok(self.write(&mut inner, pages)?)
    }

    /// Cancels a task: one that waits never begins, one that runs is asked to end.
    ///
    /// # Errors
    /// When there is none, or it has ended.
    pub fn cancel(&self, id: &str, now: Timestamp) -> Result<(), TaskRefusal> {
        let mut inner = self.lock();
        let mut pages = inner.pages.clone();
        let task = find(&mut pages, id)?;
        if task.state == State::Running {
            task.cancelled.store(true, std::sync::atomic::Ordering::Release);
            return Ok(());
        }
        if !task.state.is_pending() {
            return Err(TaskRefusal::Ended { id: id.to_owned(), state: task.state });
        }
        (task.state, task.ended) = (State::CanceledBeforeStarting, Some(now));
        self.settle(&mut pages, now);
        Ok(self.write(&mut inner, pages)?)
    }

    /// Gives a task that waits another time.
    ///
    /// # Errors
    /// When there is none, or it waits no more.
    pub fn reschedule(&self, id: &str, start: Option<Timestamp>, now: Timestamp) -> Result<(), TaskRefusal> {
        let mut inner = self.lock();
        let mut pages = inner.pages.clone();
        let task = find(&mut pages, id)?;
        match task.state {
            State::Running => return Err(TaskRefusal::Running(id.to_owned())),
            state if !state.is_pending() => return Err(TaskRefusal::Ended { id: id.to_owned(), state }),
            _ => (task.state, task.start, task.made) = (State::Unscheduled, start, now),
        }
        self.settle(&mut pages, now);
        Ok(self.write(&mut inner, pages)?)
    }

    /// Forgets a task that does not run; one that waits will not.
    ///
    /// # Errors
    /// When there is none, it runs, or others wait for it.
    pub fn remove(&self, id: &str, now: Timestamp) -> Result<(), TaskRefusal> {
        let mut inner = self.lock();
        let mut pages = inner.pages.clone();
        if find(&mut pages, id)?.state == State::Running {
            return Err(TaskRefusal::Running(id.to_owned()));
        }
        if let Some(waiting) = waiting_for(&pages, id) {
            return Err(TaskRefusal::Awaited { id: id.to_owned(), waiting });
        }
        pages.scheduled.retain(|task| task.id != id);
        self.settle(&mut pages, now);
        Ok(self.write(&mut inner, pages)?)
    }

    /// Forgets a recurring task, and its task that waits. One that runs goes on.
    ///
    /// # Errors
    /// When there is none.
    pub fn remove_recurring(&self, id: &str, now: Timestamp) -> Result<(), TaskRefusal> {
        let mut inner = self.lock();
        let mut pages = inner.pages.clone();
        let before = pages.recurring.len();
        pages.recurring.retain(|recurring| recurring.id != id);
        if pages.recurring.len() == before {
            return Err(TaskRefusal::Unknown(id.to_owned()));
        }
        for task in pages.scheduled.iter_mut().filter(|task| task.recurring.as_deref() == Some(id)) {
            if task.state.is_pending() {
                (task.state, task.ended) = (State::CanceledBeforeStarting, Some(now));
            }
        }
        self.settle(&mut pages, now);
        Ok(self.write(&mut inner, pages)?)
    }

    /// Waits for the next task that is to run, and notes that it does. `clock` says what time it is.
    pub fn next(&self, clock: &dyn Fn() -> Timestamp) -> Waiting {
        let mut inner = self.lock();
        loop {
            if inner.is_stopping {
                return Waiting::Closed;
            }
            let now = clock();
            let mut pages = inner.pages.clone();
            let mut is_changed = self.settle(&mut pages, now);
            let running = pages.scheduled.iter().filter(|task| task.state == State::Running).count();
            let due = pages.scheduled.iter_mut().find(|task| running < RUNNING_MAX && is_due(task, now));
            let run = due.map(|task| {
                (task.state, task.begun) = (State::Running, Some(now));
                Box::new(Run { task: task.clone() })
            });
            is_changed |= run.is_some();
            let mut wait = LOOK_EVERY;
            if is_changed && let Err(error) = self.write(&mut inner, pages) {
                if run.is_some() {
                    return Waiting::Trouble(error);
                }
                wait = FILE_AGAIN;
            } else if let Some(run) = run {
                return Waiting::Run(run);
            }
            // With nothing to wait for, only a change of the book brings something.
            inner = match inner.pages.scheduled.iter().any(|task| task.state.is_pending()) {
                true => self.changed.wait_timeout(inner, wait).unwrap_or_else(PoisonError::into_inner).0,
                false => self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// A task that runs says something.
    pub fn log(&self, id: &str, severity: Severity, text: &str, now: Timestamp) {
        let mut inner = self.lock();
        if let Ok(task) = find(&mut inner.pages, id) {
            say(task, severity, text, now);
        }
        let pages = inner.pages.clone();
        // What cannot be written now is written with the task's end.
        let _ = self.write(&mut inner, pages);
    }

    /// A task that runs is so far. Not kept over a restart.
    pub fn progress(&self, id: &str, progress: Progress) {
        if let Ok(task) = find(&mut self.lock().pages, id) {
            task.progress = Some(progress);
        }
    }

    /// A task has ended so.
    ///
    /// # Errors
    /// When that cannot be written; the book knows it all the same, and writes it with the next change.
    pub fn end(&self, id: &str, state: State, now: Timestamp) -> Result<(), BookError> {
        let mut inner = self.lock();
        let mut pages = inner.pages.clone();
        if let Ok(task) = find(&mut pages, id) {
            (task.state, task.ended, task.progress) = (state, Some(now), None);
        }
        self.settle(&mut pages, now);
        inner.pages = pages.clone();
        let written = self.write(&mut inner, pages);
        self.changed.notify_all();
        written
    }

    /// No task begins any more; those that run are asked to end.
    pub fn close(&self) {
        let mut inner = self.lock();
        inner.is_stopping = true;
        for task in &inner.pages.scheduled {
            task.cancelled.store(task.state == State::Running, std::sync::atomic::Ordering::Release);
        }
        self.changed.notify_all();
    }

    /// Whether the book was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.lock().is_stopping
    }

    /// Brings what follows from other tasks and from the time up to date; whether something changed.
    fn settle(&self, pages: &mut Pages, now: Timestamp) -> bool {
        let before = (pages.scheduled.len(), states(pages));
        forget_old(pages, now);
        self.reschedule_after_wrong_clock(pages, now);
        // A task that ends may end others.
        while settle_states(pages, now) {}
        self.refill(pages, now);
        before != (pages.scheduled.len(), states(pages))
    }

    /// Every schedule has a task that waits or runs.
    fn refill(&self, pages: &mut Pages, now: Timestamp) {
        for recurring in &mut pages.recurring {
            let is_there = |task: &&Task| !task.state.is_done() && task.recurring.as_ref() == Some(&recurring.id);
            if pages.scheduled.iter().any(|task| is_there(&task)) {
                continue;
            }
            let Some(start) = recurring.next(now, &self.zone) else { continue };
            let id = free_id(&pages.scheduled, &format!("{}-{}", recurring.id, compact_local(start, &self.zone)));
            pages.scheduled.push(Task {
                state: State::WaitingOnStartTime,
                start: Some(start),
                dependencies: recurring.dependencies.clone(),
                on_failure: recurring.on_failure,
                recurring: Some(recurring.id.clone()),
                ..Task::new(&id, recurring.attributes.clone(), &recurring.by, now)
            });
            recurring.last = Some(start);
        }
    }

    /// A task of a schedule that was made while the clock was far ahead waits for a time that is too late.
    fn reschedule_after_wrong_clock(&self, pages: &mut Pages, now: Timestamp) {
        for task in pages.scheduled.iter_mut().filter(|task| task.state.is_pending() && was_wrong(task.made, now)) {
            let recurring = pages.recurring.iter_mut().find(|it| task.recurring.as_ref() == Some(&it.id));
            let Some(recurring) = recurring else { continue };
            let Some(start) = recurring.schedule.next_after(now, &self.zone) else { continue };
            (task.start, task.made, task.state) = (Some(start), now, State::Unscheduled);
            recurring.last = Some(start);
        }
    }

    fn write(&self, inner: &mut MutexGuard<'_, Inner>, pages: Pages) -> Result<(), BookError> {
        file::write(&self.path, &pages)?;
        inner.pages = pages;
        self.changed.notify_all();
        Ok(())
    }
}

impl std::fmt::Debug for TaskBook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskBook").field("path", &self.path).finish_non_exhaustive()
    }
}

fn states(pages: &Pages) -> Vec<(State, Option<Timestamp>)> {
    pages.scheduled.iter().map(|task| (task.state, task.start)).collect()
}

fn say(task: &mut Task, severity: Severity, text: &str, now: Timestamp) {
    log_message::push(&mut task.messages, task.message_count, severity, text, now);
    task.message_count += 1;
}

fn find<'p>(pages: &'p mut Pages, id: &str) -> Result<&'p mut Task, TaskRefusal> {
    pages.scheduled.iter_mut().find(|task| task.id == id).ok_or_else(|| TaskRefusal::Unknown(id.to_owned()))
}

fn free_id(scheduled: &[Task], wanted: &str) -> String {
    let is_free = |id: &String| !scheduled.iter().any(|task| task.id == *id);
    let numbered = (2..).map(|number| format!("{wanted}-{number}"));
    std::iter::once(wanted.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

fn check_size(attributes: &crate::Attributes) -> Result<(), TaskRefusal> {
    match attributes.bytes() {
        bytes if bytes > ATTRIBUTES_BYTES_MAX => Err(TaskRefusal::TooLarge { bytes, most: ATTRIBUTES_BYTES_MAX }),
        _ => Ok(()),
    }
}

fn check_dependencies(pages: &Pages, dependencies: &[String]) -> Result<(), TaskRefusal> {
    let is_there = |id: &String| pages.scheduled.iter().any(|task| task.id == *id);
    match dependencies.iter().find(|id| !is_there(id)) {
        Some(id) => Err(TaskRefusal::UnknownDependency(id.clone())),
        None => Ok(()),
    }
}

/// The oldest task that has ended gives way to a new one.
fn make_room(pages: &mut Pages) -> Result<(), TaskRefusal> {
    while pages.scheduled.len() >= SCHEDULED_MAX {
        let ended = pages.scheduled.iter().enumerate().filter(|(_, task)| may_go(pages, task));
        let oldest = ended.min_by_key(|(_, task)| task.ended).map(|(at, _)| at);
        let Some(oldest) = oldest else { return Err(TaskRefusal::TooMany(SCHEDULED_MAX)) };
        pages.scheduled.remove(oldest);
    }
    Ok(())
}

fn forget_old(pages: &mut Pages, now: Timestamp) {
    let is_old = |task: &Task| task.ended.is_some_and(|ended| now.duration_since(ended) > KEPT);
    let old: Vec<String> =
        pages.scheduled.iter().filter(|task| is_old(task) && may_go(pages, task)).map(|task| task.id.clone()).collect();
    pages.scheduled.retain(|task| !old.contains(&task.id));
}

/// It has ended, and nobody asks how.
fn may_go(pages: &Pages, task: &Task) -> bool {
    task.state.is_done() && waiting_for(pages, &task.id).is_none()
}

/// Who waits for a task.
fn waiting_for(pages: &Pages, id: &str) -> Option<String> {
    let waits = |dependencies: &[String]| dependencies.iter().any(|other| other == id);
    let task = pages.scheduled.iter().find(|task| task.state.is_pending() && waits(&task.dependencies));
    let recurring = || pages.recurring.iter().find(|recurring| waits(&recurring.dependencies));
    task.map(|task| task.id.clone()).or_else(|| recurring().map(|recurring| recurring.id.clone()))
}

/// What a task that waits waits for, now; whether another task may be concerned.
fn settle_states(pages: &mut Pages, now: Timestamp) -> bool {
    let ended: Vec<(String, State)> = pages.scheduled.iter().map(|task| (task.id.clone(), task.state)).collect();
    let state_of = |id: &String| ended.iter().find(|(known, _)| known == id).map(|(_, state)| *state);
    let mut is_one_ended = false;
    for task in pages.scheduled.iter_mut().filter(|task| task.state.is_pending() && task.state != State::Disabled) {
        let states: Vec<State> = task.dependencies.iter().filter_map(state_of).collect();
        let failed = task
            .dependencies
            .iter()
            .find(|id| state_of(id).is_some_and(|state| state.is_done() && state != State::CompletedSuccessfully));
        if let Some(failed) = failed {
            let text = format!("The task \"{failed}\", which this one waits for, did not complete successfully");
            match task.on_failure.unwrap_or_default() {
                DependencyAction::Process => {}
                action => {
                    say(task, Severity::Error, &text, now);
                    (task.state, task.ended) = match action {
                        DependencyAction::Disable => (State::Disabled, None),
                        _ => (State::CanceledBeforeStarting, Some(now)),
                    };
                    is_one_ended = true;
                    continue;
                }
            }
        }
        let waits = states.iter().any(|state| !state.is_done());
        task.state = match task.start {
            Some(start) if start > now => State::WaitingOnStartTime,
            _ if waits => State::WaitingOnDependency,
            _ => State::Unscheduled,
        };
    }
    is_one_ended
}

fn is_due(task: &Task, now: Timestamp) -> bool {
    task.state == State::Unscheduled && task.start.is_none_or(|start| start <= now)
}
