//! What a watch sees of its client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Shared;
use crate::search::SearchDone;

/// Where the changes go that a persistent search is told. Called by the one thread that serves all, so nothing here may wait.
pub trait WatchOutput: Send {
    /// Takes whole messages.
    fn send(&mut self, messages: Vec<u8>);

    /// Whether the client has taken so much of what was sent that more may come.
    fn has_room(&self) -> bool;

    /// Whether the operation was abandoned or cancelled, or the client is gone.
    fn is_cancelled(&self) -> bool;

    /// Has `waker` told, from now on, when [`has_room`](WatchOutput::has_room) or [`is_cancelled`](WatchOutput::is_cancelled) may have
    /// become true. Called once.
    fn wake_by(&mut self, waker: WatchWaker);

    /// The search is over.
    fn finish(self: Box<Self>, done: SearchDone);
}

/// Tells the thread of the watches that one of them may go on, or has to end.
#[derive(Clone, Debug)]
pub struct WatchWaker {
    shared: Arc<Shared>,
    id: u64,
    /// The watch is behind because the client had no room.
    is_waiting: Arc<AtomicBool>,
}

impl WatchWaker {
    pub(super) fn new(shared: Arc<Shared>, id: u64) -> WatchWaker {
        WatchWaker { shared, id, is_waiting: Arc::default() }
    }

    /// The client took something. Costs one look unless the watch waits for that.
    pub fn has_room(&self) {
        if self.is_waiting.swap(false, Ordering::SeqCst) {
            self.shared.wake(self.id);
        }
    }

    /// Nobody wants the rest.
    pub fn cancelled(&self) {
        self.shared.wake(self.id);
    }

    /// From now on room is waited for. Whoever calls this looks once more whether there is any.
    pub(super) fn wait(&self) {
        self.is_waiting.store(true, Ordering::SeqCst);
    }
}
