//! The states of a task, with OpenDJ's names.

use serde::{Deserialize, Serialize};

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// Added, and not looked at yet.
    Unscheduled,
    /// A task before it failed, and it is not to run then.
    Disabled,
    /// Its time has not come.
    WaitingOnStartTime,
    /// Its time has come, but not the end of the tasks that it depends on.
    WaitingOnDependency,
    /// It is being done.
    Running,
    /// Done.
    CompletedSuccessfully,
    /// Done, but not all of it.
    CompletedWithErrors,
    /// The server ended before the task.
    StoppedByShutdown,
    /// It failed.
    StoppedByError,
    /// It was cancelled while it ran.
    StoppedByAdministrator,
    /// It was cancelled before it ran.
    CanceledBeforeStarting,
    /// It stands for a schedule.
    Recurring,
}

/// Each state: its name in entries, and in words.
const NAMES: [(State, &str, &str); 12] = [
    (State::Unscheduled, "UNSCHEDULED", "Unscheduled"),
    (State::Disabled, "DISABLED", "Disabled"),
    (State::WaitingOnStartTime, "WAITING_ON_START_TIME", "Waiting on start time"),
    (State::WaitingOnDependency, "WAITING_ON_DEPENDENCY", "Waiting on dependency"),
    (State::Running, "RUNNING", "Running"),
    (State::CompletedSuccessfully, "COMPLETED_SUCCESSFULLY", "Completed successfully"),
    (State::CompletedWithErrors, "COMPLETED_WITH_ERRORS", "Completed with errors"),
    (State::StoppedByShutdown, "STOPPED_BY_SHUTDOWN", "Stopped by shutdown"),
    (State::StoppedByError, "STOPPED_BY_ERROR", "Stopped by error"),
    (State::StoppedByAdministrator, "STOPPED_BY_ADMINISTRATOR", "Stopped by administrator"),
    (State::CanceledBeforeStarting, "CANCELED_BEFORE_STARTING", "Canceled before starting"),
    (State::Recurring, "RECURRING", "Recurring"),
];

impl State {
    /// The value of `ds-task-state`.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(state, ..)| *state == self).map_or("", |(_, name, _)| name)
    }

    /// The same in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        NAMES.iter().find(|(state, ..)| *state == self).map_or("", |(.., words)| words)
    }

    /// The state of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<State> {
        NAMES.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name)).map(|(state, ..)| *state)
    }

    /// Whether the task may still begin.
    #[must_use]
    pub fn is_pending(self) -> bool {
        matches!(self, State::Unscheduled | State::Disabled | State::WaitingOnStartTime | State::WaitingOnDependency)
    }

    /// Whether nothing more becomes of the task.
    #[must_use]
    pub fn is_done(self) -> bool {
        !self.is_pending() && !matches!(self, State::Running | State::Recurring)
    }
}

/// What becomes of a task when one that it depends on has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DependencyAction {
    /// It runs all the same.
    Process,
    /// It is cancelled.
    #[default]
    Cancel,
    /// It is kept and does not run.
    Disable,
}

impl DependencyAction {
    /// The value of `ds-task-failed-dependency-action`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            DependencyAction::Process => "process",
            DependencyAction::Cancel => "cancel",
            DependencyAction::Disable => "disable",
        }
    }

    /// The action of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<DependencyAction> {
        [DependencyAction::Process, DependencyAction::Cancel, DependencyAction::Disable]
            .into_iter()
            .find(|action| action.name().eq_ignore_ascii_case(name))
    }
}
