//! Runs the tasks of the book when they are due, each on a thread of its own.
//!
//! Knows times and ends; what each kind of task does is in `work`.

mod backends;
mod host;
mod watch;
mod work;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use directory::Directory;
use jiff::Timestamp;
use runtime::log::error::ErrorLog;
use runtime::panics::panic_text;
use tasks::work::{Kind, Work};
use tasks::{Run, Severity, State, TaskBook, Waiting};

pub(crate) use host::{Ending, Host};

use crate::limits::STOP_TIME_MAX;
use crate::messages;
use work::{Ended, TaskWork};

/// How long the file of the tasks is left alone after it could not be written.
const FILE_AGAIN: Duration = Duration::from_secs(10);

/// Between two looks at tasks that are to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// See the module.
pub(crate) struct TaskRunner {
    book: Arc<TaskBook>,
    thread: Option<JoinHandle<()>>,
}

/// Notes that the tasks which an earlier server did not end are over: before the first client can ask for them.
pub(crate) fn end_interrupted(directory: &Directory, errors: &ErrorLog) {
    if let Err(error) = directory.tasks().begin(Timestamp::now()) {
        errors.report(messages::TASKS_NOT_WRITTEN, format_args!("{error}: it is tried again"));
    }
}

impl TaskRunner {
    /// Begins to run the directory's tasks.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(directory: &Arc<Directory>, host: Host) -> io::Result<TaskRunner> {
        let book = Arc::clone(directory.tasks());
        let own = Arc::new(TaskWork { directory: Arc::clone(directory), host });
        let (running, thread) = (Arc::clone(&book), std::thread::Builder::new().name("tasks".to_owned()));
        Ok(TaskRunner { book, thread: Some(thread.spawn(move || run_all(&running, &own))?) })
    }

    /// No task begins any more, and those that run are asked to end.
    pub(crate) fn close(&self) {
        self.book.close();
    }

    /// Waits until all tasks have ended, for ten seconds at most.
    pub(crate) fn join(&mut self) {
        self.book.close();
        if let Some(thread) = self.thread.take() {
            // A panic of a task is caught where it runs.
            let _ = thread.join();
        }
    }
}

impl Drop for TaskRunner {
    fn drop(&mut self) {
        self.join();
    }
}

fn run_all(book: &Arc<TaskBook>, work: &Arc<TaskWork>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    loop {
        threads.retain(|thread| !thread.is_finished());
        match book.next(&Timestamp::now) {
            Waiting::Closed => break,
            Waiting::Trouble(error) => {
                work.host.errors.report(
                    messages::TASKS_NOT_WRITTEN,
                    format_args!("{error}: no task begins until it can be written"),
                );
                let mut left = FILE_AGAIN;
                while !book.is_closed() && !left.is_zero() {
                    std::thread::sleep(LOOK_EVERY);
                    left = left.saturating_sub(LOOK_EVERY);
                }
            }
            Waiting::Run(run) => {
                let (own_book, own_work) = (Arc::clone(book), Arc::clone(work));
                let id = run.task.id.clone();
                let thread = std::thread::Builder::new().name("task".to_owned());
                match thread.spawn(move || run_one(&own_book, &own_work, &run)) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => end(book, work, (&id, "Task"), Err(format!("the system gives no thread: {error}"))),
                }
            }
        }
    }
    // One that waits for a disk or a pipe does not keep the server from ending; the next start says that it was
    // stopped.
    let mut left = STOP_TIME_MAX;
    while threads.iter().any(|thread| !thread.is_finished()) && !left.is_zero() {
        std::thread::sleep(LOOK_EVERY);
        left = left.saturating_sub(LOOK_EVERY);
    }
}

/// What a task of that kind is called in a sentence.
fn title_of(run: &Run) -> &'static str {
    Kind::of(&run.task.attributes).map_or("Task", Kind::title)
}

fn run_one(book: &Arc<TaskBook>, work: &TaskWork, run: &Run) {
    let (id, title) = (run.task.id.as_str(), title_of(run));
    let begun = format!("{title} task {id} started execution");
    work.host.errors.report(messages::TASK_BEGUN, &begun);
    book.log(id, Severity::Notice, &begun, Timestamp::now());
    let done = catch_unwind(AssertUnwindSafe(|| match Work::read(&run.task.attributes) {
        Ok(asked) => work.run(book, &run.task, &asked),
        Err(fault) => Err(fault.to_string()),
    }));
    let done = done.unwrap_or_else(|panic| Err(format!("a defect of the server: {}", panic_text(panic.as_ref()))));
    let stops = match &done {
        Ok(Ended::AndStop { restart }) => Some(*restart),
        _ => None,
    };
    end(book, work, (id, title), done);
    if let Some(restart) = stops {
        work.host.ending.stop(restart);
    }
}

/// Notes how a task ended.
fn end(book: &TaskBook, work: &TaskWork, (id, title): (&str, &str), done: Result<Ended, String>) {
    let now = Timestamp::now();
    let state = match &done {
        Ok(Ended::Done | Ended::AndStop { .. }) => State::CompletedSuccessfully,
        Ok(Ended::Cancelled) if book.is_closed() => State::StoppedByShutdown,
        Ok(Ended::Cancelled) => State::StoppedByAdministrator,
        Err(_) => State::StoppedByError,
    };
    if let Err(problem) = &done {
        book.log(id, Severity::Error, problem, now);
        work.host.errors.report(messages::TASK_FAILED, format_args!("{title} task {id}: {problem}"));
    }
    let ended = format!("{title} task {id} finished execution in the state {}", state.words());
    book.log(id, if state == State::CompletedSuccessfully { Severity::Notice } else { Severity::Error }, &ended, now);
    work.host.errors.report(messages::TASK_ENDED, &ended);
    if let Err(error) = book.end(id, state, now) {
        work.host.errors.report(messages::TASKS_NOT_WRITTEN, format_args!("{error}: it is tried again"));
    }
}
