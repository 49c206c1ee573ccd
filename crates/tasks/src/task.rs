//! One task: what was asked for, and where it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attributes::Attributes;
use crate::state::{DependencyAction, State};

/// A task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// `ds-task-id`.
    pub id: String,
    /// What was asked for: classes, the class name, the options.
    pub attributes: Attributes,
    /// Where it is.
    pub state: State,
    /// When it is to begin; none: at once.
    pub start: Option<Timestamp>,
    /// When it began.
    pub begun: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// The tasks that must end before it begins.
    pub dependencies: Vec<String>,
    /// What becomes of it when one of them fails.
    pub on_failure: Option<DependencyAction>,
    /// What it said.
    pub messages: Vec<String>,
    /// How much it said.
    pub message_count: u64,
    /// Who asked for it.
    pub by: String,
    /// When it was asked for.
    pub made: Timestamp,
    /// The schedule that it belongs to.
    pub recurring: Option<String>,
    /// How far it is.
    #[serde(skip)]
    pub progress: Option<Progress>,
    /// Somebody wants it to end.
    #[serde(skip)]
    pub(crate) cancelled: Arc<AtomicBool>,
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is counted.
    pub phase: &'static str,
    /// How much is done.
    pub done: u64,
    /// How much there is, if that is known.
    pub total: Option<u64>,
    /// Entries that it has looked at.
    pub entries: u64,
}

impl Task {
    /// A task that was just asked for, by `by`.
    #[must_use]
    pub fn new(id: &str, attributes: Attributes, by: &str, made: Timestamp) -> Task {
        Task {
            id: id.to_owned(),
            attributes,
            state: State::Unscheduled,
            start: None,
            begun: None,
            ended: None,
            dependencies: Vec::new(),
            on_failure: None,
            messages: Vec::new(),
            message_count: 0,
            by: by.to_owned(),
            made,
            recurring: None,
            progress: None,
            cancelled: Arc::default(),
        }
    }

    /// Whether somebody wants it to end.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }
}
