//! A timer that wakes a poll to the microsecond: the timeout of a poll counts whole milliseconds.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// See the module.
#[derive(Debug)]
pub(super) struct Timer(OwnedFd);

impl Timer {
    /// A timer whose end is an event of this token.
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Timer> {
        let file = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        registry.register(&mut SourceFd(&file.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Timer(file))
    }

    /// Ends after this time, and not when it was said before.
    pub(super) fn set(&self, after: Duration) -> io::Result<()> {
        // A time of nothing would stop the timer.
        let after = after.max(Duration::from_nanos(1));
        let it_value = Timespec::try_from(after).map_err(io::Error::other)?;
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: never, it_value })?;
        Ok(())
    }
}
