//! A schedule by which a task comes again and again, and what becomes of it when the clock is set.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::attributes::Attributes;
use crate::schedule::Schedule;
use crate::state::DependencyAction;

/// The clock may be set back so far without a time coming twice, as cron has it. Further back, it was wrong before, and
/// what it showed does not count.
const SET_BACK_MAX: SignedDuration = SignedDuration::from_hours(3);

/// A recurring task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recurring {
    /// `ds-recurring-task-id`.
    pub id: String,
    /// What each of its tasks is asked to do.
    pub attributes: Attributes,
    /// When.
    pub schedule: Schedule,
    /// What becomes of its tasks when one fails that they depend on.
    pub on_failure: Option<DependencyAction>,
    /// The tasks that each must wait for.
    pub dependencies: Vec<String>,
    /// Who asked for it.
    pub by: String,
    /// When that was.
    pub made: Timestamp,
    /// The last time for which a task was made.
    pub last: Option<Timestamp>,
}

impl Recurring {
    /// The next time at which a task is due, at `now`: never one that was there before.
    #[must_use]
    pub fn next(&self, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let last = self.last.filter(|last| !was_wrong(*last, now));
        let after = last.map_or(now, |last| last.max(now));
        self.schedule.next_after(after, zone)
    }
}

/// Whether a time that the clock showed is so far ahead of `now` that it was wrong.
pub(crate) fn was_wrong(shown: Timestamp, now: Timestamp) -> bool {
    shown.duration_since(now) > SET_BACK_MAX
}
