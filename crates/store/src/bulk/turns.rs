//! Turns of workers: they finish chunks in any order, but do what depends on the order of the file in that order.

use std::sync::{Condvar, Mutex};

/// Says whose turn it is.
#[derive(Debug, Default)]
pub(super) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    stopped: bool,
}

impl Turns {
    /// Waits for turn `number`; false when the work was stopped.
    pub fn wait(&self, number: u64) -> bool {
        let Ok(mut state) = self.state.lock() else { return false };
        while state.next != number && !state.stopped {
            match self.changed.wait(state) {
                Ok(woken) => state = woken,
                Err(_) => return false,
            }
        }
        !state.stopped
    }

    /// Ends the current turn.
    pub fn pass(&self) {
        if let Ok(mut state) = self.state.lock() {
            state.next += 1;
        }
        self.changed.notify_all();
    }

    /// Ends the waiting of all workers.
    pub fn stop(&self) {
        if let Ok(mut state) = self.state.lock() {
            state.stopped = true;
        }
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_order() {
        let turns = Turns::default();
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for number in [3, 1, 0, 2] {
                let (turns, done) = (&turns, &done);
                scope.spawn(move || {
                    assert!(turns.wait(number));
                    done.lock().unwrap().push(number);
                    turns.pass();
                });
            }
        });
        assert_eq!(*done.lock().unwrap(), [0, 1, 2, 3]);
    }

    #[test]
    fn stopping_wakes_those_who_wait() {
        let turns = Turns::default();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| turns.wait(1));
            turns.stop();
            assert!(!waiting.join().unwrap());
        });
    }
}
