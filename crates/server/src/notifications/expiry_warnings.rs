//! The thread that once a day looks for users whose password will expire soon and who do not log in, so that they are
//! told before it is too late.
//!
//! It walks over the entries at a tenth of a processor's time at most. Entries say who was told, so a walk that a stop
//! of the server cut short, or two in one day, tell nobody twice.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use accounts::AccountEventKind;
use directory::{Directory, WalkPlace};
use jiff::civil::Date;
use runtime::stoppable::{Stop, Stoppable};

use super::Notifications;
use crate::messages;

/// Between two looks at the clock.
const LOOK: Duration = Duration::from_millis(200);

/// Shortest rest after a slice.
const REST_MIN: Duration = Duration::from_millis(5);

/// How much longer it rests than it works.
const REST_FACTOR: u32 = 9;

/// The running thread. Dropping it joins.
pub(crate) struct ExpiryWarnings {
    _thread: Stoppable,
}

impl ExpiryWarnings {
    /// Starts to wait for the time of day.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start(directory: &Arc<Directory>, tells: Arc<Notifications>) -> std::io::Result<ExpiryWarnings> {
        let directory = Arc::downgrade(directory);
        let thread = Stoppable::start("expiry warnings", move |stop| watch(&directory, &tells, stop))?;
        Ok(ExpiryWarnings { _thread: thread })
    }
}

/// What is due on a day is done when its time has come, also when no server ran at that time.
fn watch(directory: &Weak<Directory>, tells: &Notifications, stop: &Stop) {
    let mut done_on: Option<Date> = None;
    while !stop.is_said() {
        let now = jiff::Zoned::now().datetime();
        if let Some((hour, minute)) = tells.expiry_warning_time()
            && done_on != Some(now.date())
            && minutes(now.hour().unsigned_abs(), now.minute().unsigned_abs()) >= minutes(hour, minute)
        {
            done_on = Some(now.date());
            walk(directory, tells, stop);
        }
        let _ = stop.wait(LOOK);
    }
}

/// Of a time of day.
fn minutes(hour: u8, minute: u8) -> u32 {
    u32::from(hour) * 60 + u32::from(minute)
}

fn walk(directory: &Weak<Directory>, tells: &Notifications, stop: &Stop) {
    let (mut place, mut warned) = (Some(WalkPlace::START), 0);
    while let Some(from) = place.filter(|_| !stop.is_said()) {
        let Some(directory) = directory.upgrade() else { return };
        let begun = Instant::now();
        let is_told = |policy: &accounts::PasswordPolicy| {
            tells.tells(AccountEventKind::PasswordExpiring, &policy.notification_handlers)
        };
        match directory.warn_of_expiry(from, &is_told) {
            Ok(slice) => {
                warned += slice.warned;
                place = slice.next;
            }
            Err(result) => {
                let text = format_args!("The passwords that will expire cannot be looked for: {}", result.message);
                tells.errors.report(messages::NOTIFICATION_FAILED, text);
                return;
            }
        }
        drop(directory);
        let rest = (begun.elapsed() * REST_FACTOR).max(REST_MIN);
        let _ = stop.wait(rest);
    }
    let text = format_args!("The passwords of {warned} accounts will expire soon, which their users are told now");
    tells.errors.report(messages::EXPIRY_WARNINGS, text);
}
