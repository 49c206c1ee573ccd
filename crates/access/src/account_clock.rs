//! The time by which accounts are judged: that of the system, which the local administrator may set ahead or back to
//! try what policies do. Certificates, logs, change numbers and limits of time keep the time of the system.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use accounts::Moment;

/// See the module.
#[derive(Debug, Default)]
pub struct AccountClock {
    ahead_ms: AtomicI64,
}

impl AccountClock {
    /// The moment it is.
    #[must_use]
    pub fn now(&self) -> Moment {
        let system = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let system = u64::try_from(system.as_millis()).unwrap_or(u64::MAX);
        Moment(system.saturating_add_signed(self.ahead_ms()))
    }

    /// By how many milliseconds it is ahead of the system's clock; below 0: behind it.
    #[must_use]
    pub fn ahead_ms(&self) -> i64 {
        self.ahead_ms.load(Ordering::Relaxed)
    }

    /// Sets it so many milliseconds ahead of the system's clock, until the server ends.
    pub fn set_ahead(&self, ms: i64) {
        self.ahead_ms.store(ms, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_ahead_by_what_was_set() {
        let clock = AccountClock::default();
        let before = clock.now();
        clock.set_ahead(3_600_000);
        assert!(clock.now().0 >= before.0 + 3_600_000);
        clock.set_ahead(i64::MIN);
        assert_eq!(clock.now(), Moment(0));
        clock.set_ahead(0);
        assert!(clock.now().0 < before.0 + 3_600_000);
    }
}
