//! The thread that follows the history of changes and tells what it says of accounts.
//!
//! It begins at the end: what happened while no server ran is not told.

use std::sync::{Arc, Weak};
use std::time::Duration;

use accounts::{AccountEvent, Moment};
use change::history::{Change, HistoryError};
use directory::Directory;
use runtime::stoppable::{Stop, Stoppable};

use super::Notifications;
use super::changes::{is_about_account, said};

/// Longest sleep between two looks at whether to stop.
const WAIT: Duration = Duration::from_millis(200);

/// The running thread. Dropping it joins.
pub(crate) struct Follower {
    _thread: Stoppable,
}

impl Follower {
    /// Starts to follow.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start(directory: &Arc<Directory>, tells: Arc<Notifications>) -> std::io::Result<Follower> {
        let directory = Arc::downgrade(directory);
        let thread = Stoppable::start("account changes", move |stop| follow(&directory, &tells, stop))?;
        Ok(Follower { _thread: thread })
    }
}

fn follow(directory: &Weak<Directory>, tells: &Notifications, stop: &Stop) {
    let Some(mut position) = directory.upgrade().map(|directory| directory.history().bounds().last) else { return };
    while !stop.is_said() {
        let Some(directory) = directory.upgrade() else { return };
        let last = directory.history().bounds().last;
        if last < position {
            // The data was exchanged, by an import say.
            position = last;
        }
        if last > position {
            // Nobody is told of what is damaged or gone.
            position = match tell_from(&directory, tells, position) {
                Ok(()) | Err(HistoryError::Purged { .. }) => last,
                Err(HistoryError::Damaged { number }) => number.max(position + 1),
                Err(_) => last,
            };
        }
        let _ = directory.history().wait_beyond(position, WAIT);
    }
}

/// Tells of everything behind that change.
fn tell_from(directory: &Directory, tells: &Notifications, position: u64) -> Result<(), HistoryError> {
    if !tells.has_handlers() {
        return Ok(());
    }
    let mut reader = directory.history().from(position + 1);
    while let Some(change) = reader.next_change()? {
        if is_about_account(&change) {
            tell(directory, tells, &change);
        }
    }
    Ok(())
}

fn tell(directory: &Directory, tells: &Notifications, change: &Change<'_>) {
    let Some(policy) = directory.password_policy_of(change.dn_now()) else { return };
    if policy.notification_handlers.is_empty() {
        return;
    }
    for said in said(change, &policy) {
        tells.happened(AccountEvent {
            kind: said.kind,
            dn: change.dn_now().to_owned(),
            at: Moment(change.csn.time_us / 1_000),
            message: said.message,
            properties: said.properties,
            handlers: policy.notification_handlers.clone(),
        });
    }
}
