//! A thread that does something again and again, until it is dropped.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// See the module.
#[derive(Debug)]
pub struct Periodic {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Periodic {
    /// Calls `work` after each `pause`, the first time after the first.
    pub fn start(name: &str, pause: Duration, mut work: impl FnMut() + Send + 'static) -> io::Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
            while !sleep_or_stop(&stopped, pause) {
                work();
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

/// True when it is time to stop.
fn sleep_or_stop(stop: &(Mutex<bool>, Condvar), time: Duration) -> bool {
    let stopped = stop.0.lock().unwrap_or_else(PoisonError::into_inner);
    let wait = stop.1.wait_timeout_while(stopped, time, |stopped| !*stopped);
    *wait.unwrap_or_else(PoisonError::into_inner).0
}
