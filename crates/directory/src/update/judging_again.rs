//! A thread that judges again what changed between its judgement and its turn, so that the writer of a backend goes on
//! meanwhile: what one asker's instructions cost is not waited for by the updates of others.
//!
//! Bounded: when too much waits, whoever comes then is told to come again. Knows no update.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// Updates that may wait. Each has been judged and proposed before.
const WAITING_MAX: usize = 1_024;

/// One judgement, and what follows from it.
pub(super) trait JudgeAgain: Send {
    /// Judges, and goes on.
    fn judge(self: Box<Self>);

    /// Ends without: too much waits, or the server stops.
    fn give_up(self: Box<Self>);
}

/// See the module. The thread is started when there is something to judge for the first time.
#[derive(Default)]
pub(crate) struct JudgingAgain(Mutex<State>);

/// The way to the thread.
type Queue = SyncSender<Box<dyn JudgeAgain>>;

#[derive(Default)]
struct State {
    thread: Option<(Queue, JoinHandle<()>)>,
    is_over: bool,
}

impl std::fmt::Debug for JudgingAgain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JudgingAgain").finish_non_exhaustive()
    }
}

impl JudgingAgain {
    /// Has something judged on the thread. Called by writers: it does not wait.
    pub(super) fn hand_over(&self, what: Box<dyn JudgeAgain>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = match state.queue() {
            Some(queue) => match queue.try_send(what) {
                Ok(()) => return,
                Err(TrySendError::Full(what) | TrySendError::Disconnected(what)) => what,
            },
            None => what,
        };
        drop(state);
        refused.give_up();
    }

    /// Ends the thread after what waits for it.
    pub(crate) fn stop(&self) {
        let thread = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.is_over = true;
            state.thread.take()
        };
        if let Some((queue, thread)) = thread {
            drop(queue);
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

impl State {
    fn queue(&mut self) -> Option<&Queue> {
        if self.thread.is_none() && !self.is_over {
            let (sender, receiver) = sync_channel::<Box<dyn JudgeAgain>>(WAITING_MAX);
            let run = move || {
                for what in receiver {
                    // A defect that one update meets must not end the others; it goes with its callback.
                    let _ = catch_unwind(AssertUnwindSafe(|| what.judge()));
                }
            };
            let thread = std::thread::Builder::new().name("judging".to_owned()).spawn(run).ok()?;
            self.thread = Some((sender, thread));
        }
        self.thread.as_ref().map(|(queue, _)| queue)
    }
}
