//! What is to be done with a task, once a request was read and the asker may have it done.

use jiff::Timestamp;
use tasks::work::Work;
use tasks::{Recurring, Task};

/// See the module.
#[derive(Debug)]
pub(crate) enum TaskUpdate {
    /// It is scheduled.
    Add(Box<Task>, Work),
    /// It comes again and again.
    AddRecurring(Box<Recurring>, Work),
    /// It is cancelled.
    Cancel(String),
    /// It is to begin at another time.
    Reschedule(String, Option<Timestamp>),
    /// It is forgotten.
    Remove(String),
    /// A recurring task is forgotten.
    RemoveRecurring(String),
}
