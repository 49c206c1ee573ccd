//! Where a persistent search becomes a watch: the entry point.
//!
//! Stands above the thread that tells changes; knows nothing of how it does that, nor what the directory is.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use super::follow::follow;
use super::output::{WatchOutput, WatchWaker};
use super::shared::{Shared, lock};
use super::told::Watch;
use super::watched::Watched;
use super::watches::Watches;
use crate::search::{SearchDone, SearchPlan, SearchRefusal};

impl Watches {
    /// Tells changes of `directory` to a persistent search whose first part is over, until it ends: `done` is how far
    /// it came.
    pub fn start(
        &self,
        directory: Weak<dyn Watched>,
        mut plan: Box<SearchPlan>,
        done: SearchDone,
        mut output: Box<dyn WatchOutput>,
    ) {
        plan.end_first_part();
        let Some(persistent) = plan.take_persistent() else { return output.finish(done) };
        let shared = &self.shared;
        let mut state = shared.lock();
        if let Some(result) = state.ending.clone() {
            drop(state);
            return output.finish(SearchDone { result, ..done });
        }
        let id = state.next_id;
        state.next_id += 1;
        drop(state);
        // Not under the lock: who is cancelled already calls at once.
        let waker = WatchWaker::new(Arc::<Shared>::clone(shared), id);
        output.wake_by(waker.clone());
        let watch = Watch::new(id, plan, persistent, done, output, waker);
        lock(&shared.named).insert(id, watch.to_string());
        shared.lock().arrived.push(watch);
        if let Err(error) = self.start_thread(directory) {
            let refusal = SearchRefusal::NoThread { error: error.to_string() };
            let arrived = std::mem::take(&mut shared.lock().arrived);
            for watch in arrived {
                lock(&shared.named).remove(&watch.id);
                watch.end(refusal.clone().into());
            }
        }
        shared.changed.notify_all();
    }

    /// Starts the thread unless it runs.
    fn start_thread(&self, directory: Weak<dyn Watched>) -> std::io::Result<()> {
        let mut thread = lock(&self.shared.thread);
        if thread.as_ref().is_none_or(JoinHandle::is_finished) {
            let shared = Arc::clone(&self.shared);
            let follow = move || follow(&shared, &directory);
            *thread = Some(std::thread::Builder::new().name("watches".to_owned()).spawn(follow)?);
        }
        Ok(())
    }
}
