//! The history of changes, read from the logs of the backends.
//!
//! `apply` leaves a [`trace`] beside every proposal that changes entries: what was there before and after. Here the
//! traces of all backends are one ascending sequence of [`Change`]s. Who shows them (`cn=changelog`, persistent
//! searches, the audit log) is elsewhere.
//!
//! | file | what |
//! |---|---|
//! | `sequence` | opening it, and what readers ask of it |
//! | `source`, `log_scan` | the log of one backend, and what is found in it at the start |
//! | `change`, `kind` | a change as readers see it |
//! | `trace` | how it is written |
//! | `numbers` | change numbers, and who waits for more |
//! | `points` | from a number or a time to a place of the log |
//! | `reader` | merging the logs |
//! | `retention`, `prune`, `kept` | what is removed, and what is remembered of it |
//! | `damage` | what cannot be read |
//! | `entry` | a change as an entry of `cn=changelog` |

mod change;
mod damage;
pub mod entry;
mod error;

mod kept;
mod kind;
mod log_scan;
mod numbers;
mod points;
mod prune;
mod reader;
mod retention;
mod sequence;
mod source;
pub mod trace;

pub use change::{AttributeChange, Change, Edit, Rename};
pub use error::HistoryOpenError;
pub use kind::{Cause, ChangeKind};
pub use numbers::{ChangeNumbers, Follower, Recorder, Wake};
pub use reader::{HistoryError, HistoryReader};
pub use sequence::{Bounds, History, kept_from};
pub use source::LogSource;
