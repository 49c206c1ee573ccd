//! `access rehearse`: which operations of the access log would be decided otherwise if access control were changed.
//!
//! Nothing is changed: the change is tried in memory, and every operation is decided as things are and as they would
//! be. What the access log does not hold is said at the end.
//!
//! | file | what |
//! |---|---|
//! | `logged` | operations with who asked for them, from lines |
//! | `log_files` | the lines of a log and of what was put aside of it, also as they come |
//! | `proposed` | the change that is rehearsed, and the directory with and without it |
//! | `findings` | what `access lint` finds in the change |
//! | `written` | what updates wrote, from the history of changes |
//! | `compared` | one operation, decided on both |
//! | `report` | differences by user and cause |
//! | `run` | all of it in order |

mod compared;
mod findings;
mod log_files;
mod logged;
mod proposed;
mod report;
mod run;
mod written;

pub use run::{Options, run};
