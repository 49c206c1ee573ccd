//! What each kind of task does.

use std::sync::Arc;

use directory::Directory;
use jiff::Timestamp;
use tasks::work::Work;
use tasks::{Severity, Task, TaskBook};

use super::host::Host;

/// What a client is told whose connection an administrator ends.
const DISCONNECTED: &str = "An administrator has terminated this client connection";

/// How a task ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// All is done.
    Done,
    /// It was asked to end, and did.
    Cancelled,
    /// All is done, and now the server stops.
    AndStop {
        /// And starts again.
        restart: bool,
    },
}

/// What tasks work with.
pub(super) struct TaskWork {
    pub(super) directory: Arc<Directory>,
    pub(super) host: Host,
}

impl TaskWork {
    /// Does it. `Err` is the reason why it failed.
    pub(super) fn run(&self, book: &Arc<TaskBook>, task: &Task, work: &Work) -> Result<Ended, String> {
        match work {
            Work::Export(work) => self.export(book, task, work),
            Work::Rebuild { base_dn, which } => self.rebuild(book, task, base_dn, which),
            Work::Shutdown { restart } => Ok(Ended::AndStop { restart: *restart }),
            Work::Disconnect { connection, message, notify } => {
                let message = notify.then(|| message.clone().unwrap_or_else(|| DISCONNECTED.to_owned()));
                match self.host.connections.end(*connection, message) {
                    true => Ok(Ended::Done),
                    false => Err(format!("there is no client connection with connection ID {connection}")),
                }
            }
            Work::EnterLockdown => Ok(self.lock_down(true)),
            Work::LeaveLockdown => Ok(self.lock_down(false)),
        }
    }

    fn lock_down(&self, is_on: bool) -> Ended {
        self.host.rules.lock_down(is_on);
        Ended::Done
    }

    /// The task says something.
    pub(super) fn say(&self, book: &TaskBook, task: &Task, severity: Severity, text: &str) {
        book.log(&task.id, severity, text, Timestamp::now());
    }
}
