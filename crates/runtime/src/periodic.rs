//! A thread that does something again and again, until it is dropped.

use std::io;
use std::time::Duration;

use crate::stoppable::Stoppable;

/// See the module.
#[derive(Debug)]
pub struct Periodic {
    _thread: Stoppable,
}

impl Periodic {
    /// Calls `work` after each `pause`, the first time after the first.
    pub fn start(name: &str, pause: Duration, mut work: impl FnMut() + Send + 'static) -> io::Result<Self> {
        let thread = Stoppable::start(name, move |stop| {
            while !stop.wait(pause) {
                work();
            }
        });
        Ok(Self { _thread: thread? })
    }
}
