//! A thread that is told to stop, and joined, when its owner drops it.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// See the module.
#[derive(Debug)]
pub struct Stoppable {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// Whether a thread is to stop.
#[derive(Debug, Default)]
pub struct Stop {
    is_said: Mutex<bool>,
    said: Condvar,
}

impl Stop {
    /// Whether it is time to stop.
    #[must_use]
    pub fn is_said(&self) -> bool {
        *self.lock()
    }

    /// Sleeps for that time, or until it is time to stop; whether it is.
    #[must_use]
    pub fn wait(&self, time: Duration) -> bool {
        let waited = self.said.wait_timeout_while(self.lock(), time, |is_said| !*is_said);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stoppable {
    /// Starts a thread of that name, which looks at [`Stop`].
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(name: &str, work: impl FnOnce(&Stop) + Send + 'static) -> io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || work(&stopped))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Stoppable {
    fn drop(&mut self) {
        *self.stop.lock() = true;
        self.stop.said.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic was reported by the panic hook.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn who_sleeps_wakes_to_stop_and_is_waited_for() {
        let (sender, events) = channel();
        let thread = Stoppable::start("sleeper", move |stop| {
            sender.send(stop.is_said() || stop.wait(Duration::from_millis(1))).unwrap();
            sender.send(stop.wait(Duration::from_secs(3_600)) && stop.is_said()).unwrap();
        });
        assert_eq!(events.recv(), Ok(false), "it runs before it is told to stop");
        drop(thread.unwrap());
        assert_eq!(events.try_recv(), Ok(true));
    }
}
