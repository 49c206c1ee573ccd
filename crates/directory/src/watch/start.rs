//! Where a persistent search becomes a watch: the entry point, and what the watches need of the directory.
//!
//! Stands above the thread that tells changes; knows nothing of how it does that.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use ldap::LdapResult;
use store::StoreError;

use super::event::Present;
use super::follow::follow;
use super::output::{WatchOutput, WatchWaker};
use super::shared::{Shared, lock};
use super::told::Watch;
use super::watched::Watched;
use crate::directory::Directory;
use crate::search::{Persistent, SearchDone, SearchPlan, SearchRefusal};
use change::history::History;
use query::notices::Notices;

impl Directory {
    /// Tells changes to a persistent search whose first part is over, until it ends: `done` is how far it came.
    pub fn watch(self: &Arc<Self>, mut plan: Box<SearchPlan>, done: SearchDone, mut output: Box<dyn WatchOutput>) {
        plan.end_first_part();
        let Some(persistent) = plan.take_persistent() else { return output.finish(done) };
        let shared = &self.watches.shared;
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
        if let Err(error) = self.start_watches() {
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
    fn start_watches(self: &Arc<Self>) -> std::io::Result<()> {
        let shared = &self.watches.shared;
        let mut thread = lock(&shared.thread);
        if thread.as_ref().is_none_or(JoinHandle::is_finished) {
            let shared = Arc::clone(shared);
            let directory: Weak<dyn Watched> = Arc::<Self>::downgrade(self);
            let follow = move || follow(&shared, &directory);
            *thread = Some(std::thread::Builder::new().name("watches".to_owned()).spawn(follow)?);
        }
        Ok(())
    }

    /// Ends all persistent searches, because the server stops.
    pub fn end_watches(&self) {
        self.watches.end();
    }
}

impl Watched for Directory {
    fn changes(&self) -> &Arc<History> {
        self.history()
    }

    fn present(&self) -> Result<Present, StoreError> {
        Present::now(&self.reading, self.facts())
    }

    fn plan_again(&self, persistent: &Persistent) -> Result<Box<SearchPlan>, LdapResult> {
        self.searching().prepare_again(persistent)
    }

    fn administrator_notices(&self) -> &Notices {
        self.notices()
    }
}
