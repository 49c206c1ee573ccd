//! Tasks of the running server, from the side of the tools: scheduling one, following it, and `manage-tasks`.

mod book;
mod follow;
pub mod manage_tasks;
mod scheduling;

pub use scheduling::SchedulingOptions;
