//! Why the book does not do what it is asked for.

use crate::file::BookError;
use crate::state::State;

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum TaskRefusal {
    /// There is one of that id.
    #[error("there is a task \"{0}\" already: choose another id")]
    Exists(String),
    /// There is none of that id.
    #[error("there is no task \"{0}\"")]
    Unknown(String),
    /// It depends on one that is not there.
    #[error("there is no task \"{0}\", which this one is to wait for")]
    UnknownDependency(String),
    /// It has ended.
    #[error("the task \"{id}\" has ended ({}) and cannot be cancelled or changed", state.name())]
    Ended {
        /// Which.
        id: String,
        /// How.
        state: State,
    },
    /// It runs.
    #[error("the task \"{0}\" is running: cancel it first, by setting ds-task-state to STOPPED_BY_ADMINISTRATOR")]
    Running(String),
    /// Others wait for it.
    #[error("the task \"{id}\" cannot be removed while the task \"{waiting}\" waits for it")]
    Awaited {
        /// Which.
        id: String,
        /// Who waits.
        waiting: String,
    },
    /// No more fit.
    #[error("there are {0} tasks that have not ended, and that is the most: cancel some, or wait")]
    TooMany(usize),
    /// Too much is asked for.
    #[error("the task has {bytes} bytes of options, and the most is {most}")]
    TooLarge {
        /// So much.
        bytes: usize,
        /// The most.
        most: usize,
    },
    /// A schedule without an end.
    #[error("the schedule \"{0}\" never comes")]
    Never(String),
    /// It cannot be kept.
    #[error(transparent)]
    File(#[from] BookError),
}
