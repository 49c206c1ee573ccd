//! What a watch sees of its client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use query::encode::{EncodeError, ShownEntry};

use crate::search::SearchDone;

/// Where the changes go that a persistent search is told. Called by the one thread that serves all, so nothing here may
/// wait.
pub trait WatchOutput: Send {
    /// Takes an entry, with the change that it is told for. It may be kept for a while, to be sent with others.
    ///
    /// # Errors
    /// When its values cannot be read.
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<(), EncodeError>;

    /// Sends what was kept.
    fn flush(&mut self);

    /// Whether the client has taken so much of what was sent that more may come.
    fn has_room(&self) -> bool;

    /// Whether the operation was abandoned or cancelled, or the client is gone.
    fn is_cancelled(&self) -> bool;

    /// Has `waker` told, from now on, when [`has_room`](WatchOutput::has_room) or
    /// [`is_cancelled`](WatchOutput::is_cancelled) may have become true. Called once.
    fn wake_by(&mut self, waker: WatchWaker);

    /// The search is over.
    fn finish(self: Box<Self>, done: SearchDone);
}

/// Who is woken for a watch.
pub(super) trait Wake: Send + Sync {
    /// The client of the watch has room, or does not want more.
    fn wake(&self, id: u64);
}

/// Tells the thread of the watches that one of them may go on, or has to end.
#[derive(Clone)]
pub struct WatchWaker {
    watches: Arc<dyn Wake>,
    id: u64,
    /// The watch is behind because the client had no room.
    is_waiting: Arc<AtomicBool>,
}

impl std::fmt::Debug for WatchWaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchWaker").field("id", &self.id).finish_non_exhaustive()
    }
}

impl WatchWaker {
    pub(super) fn new(watches: Arc<dyn Wake>, id: u64) -> WatchWaker {
        WatchWaker { watches, id, is_waiting: Arc::default() }
    }

    /// The client took something. Costs one look unless the watch waits for that.
    pub fn has_room(&self) {
        if self.is_waiting.swap(false, Ordering::SeqCst) {
            self.watches.wake(self.id);
        }
    }

    /// Nobody wants the rest.
    pub fn cancelled(&self) {
        self.watches.wake(self.id);
    }

    /// From now on room is waited for. Whoever calls this looks once more whether there is any.
    pub(super) fn wait(&self) {
        self.is_waiting.store(true, Ordering::SeqCst);
    }
}
