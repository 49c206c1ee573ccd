//! Tells the book how far a job is, and stops the job when its task is cancelled.

use std::sync::Arc;

use jobs::Watch;
use store::bulk::Cancel;
use tasks::{Progress, Task, TaskBook};

/// See the module.
pub(super) struct TaskWatch {
    book: Arc<TaskBook>,
    task: Task,
    cancel: Cancel,
}

impl TaskWatch {
    pub(super) fn new(book: &Arc<TaskBook>, task: &Task) -> Self {
        Self { book: Arc::clone(book), task: task.clone(), cancel: Cancel::default() }
    }
}

impl Watch for TaskWatch {
    fn progress(&mut self, now: &jobs::Progress) {
        if self.task.is_cancelled() {
            self.cancel.cancel();
        }
        let progress = Progress { phase: now.phase, done: now.done, total: now.total, entries: now.entries };
        self.book.progress(&self.task.id, progress);
    }

    fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
}
