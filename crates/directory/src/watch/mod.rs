//! Persistent searches (draft-ietf-ldapext-psearch-03): changes told as they come, served from the history of changes.
//!
//! A search that has shown what there is becomes a `Watch`: a prepared filter, a selection of attributes, and for each
//! backend the last change that it knows of. One thread follows the changes for all of them; it is started with the
//! first and sleeps while nothing is changed. Nothing is queued for a client that does not read: its watch stays behind
//! in the history and goes on from there, or ends when the history does not go back that far any more. So memory is
//! bounded by the number of watches, and no update waits for anybody.
//!
//! | file | what |
//! |---|---|
//! | `start` | the entry point |
//! | `watches` | all of them: their number, their end |
//! | `permit` | the right to be one of them |
//! | `output` | what is seen of a client |
//! | `watched` | what is seen of the directory |
//! | `event` | changes, with the entries before and after each |
//! | `state` | an entry to which changes are done, or taken back |
//! | `told` | one watch: which changes it is told, and how |
//! | `follow` | the thread |
//! | `shared` | what the thread and everybody else share |
//!
//! Knows no sockets.

mod event;
mod follow;
mod output;
mod permit;
mod shared;
mod start;
mod state;
mod told;
mod watched;
mod watches;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use event::Present;
pub use output::{WatchOutput, WatchWaker};
pub(crate) use permit::Permit;
pub(crate) use watched::Watched;
pub(crate) use watches::Watches;
