//! Tasks: work that a server is asked to do at a time, after other tasks, or again and again; what became of it; and
//! the file that keeps all of this over restarts and power cuts.
//!
//! Names, values and rules are those of OpenDJ's task backend. Knows states, times and schedules; what a task does, who
//! may ask for it and how it looks over LDAP is the business of whoever uses the book.

mod attributes;
mod book;
mod file;
mod log_message;
mod recurring;
mod refusal;
mod schedule;
mod state;
mod task;
#[cfg(test)]
mod tests;
mod times;
pub mod work;

pub use attributes::Attributes;
pub use book::{Run, TaskBook, Waiting};
pub use file::BookError;
pub use log_message::Severity;
pub use recurring::Recurring;
pub use refusal::TaskRefusal;
pub use schedule::{Schedule, ScheduleError};
pub use state::{DependencyAction, State};
pub use task::{Progress, Task};
pub use times::{generalized, parse_start};
