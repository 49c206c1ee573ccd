//! The verdict of another bind's verification, which comes before somebody asks to be called with it, or after.

use std::sync::{Mutex, PoisonError};

use access::verified::Verdict;

/// What is done with it.
pub(super) type WithVerdict = Box<dyn FnOnce(Verdict) + Send>;

/// See the module.
#[derive(Default)]
pub(super) struct AwaitedVerdict(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Nothing,
    Asked(WithVerdict),
    Come(Verdict),
}

impl AwaitedVerdict {
    /// It comes.
    pub(super) fn come(&self, verdict: Verdict) {
        let before = self.replace(State::Come(verdict));
        if let State::Asked(call) = before {
            call(verdict);
        }
    }

    /// Calls when it comes, or now.
    pub(super) fn then(&self, call: WithVerdict) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Come(verdict) = *state {
            drop(state);
            return call(verdict);
        }
        *state = State::Asked(call);
    }

    fn replace(&self, new: State) -> State {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), new)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn it_comes_once_whoever_is_first() {
        for asks_first in [true, false] {
            let (awaited, (sender, receiver)) = (AwaitedVerdict::default(), channel());
            if !asks_first {
                awaited.come(Verdict::Right);
            }
            awaited.then(Box::new(move |verdict| sender.send(verdict).unwrap()));
            if asks_first {
                assert!(receiver.try_recv().is_err());
                awaited.come(Verdict::Right);
            }
            assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [Verdict::Right]);
        }
    }
}
