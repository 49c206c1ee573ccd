//! What a directory gives to its persistent searches: where they start and end, and what they ask of it.

use std::sync::{Arc, Weak};

use ldap::LdapResult;
use store::StoreError;

use crate::directory::Directory;
use crate::search::{Persistent, RequestTime, SearchDone, SearchPlan};
use crate::watch::{Present, WatchOutput, Watched};
use access::Rights;
use change::history::History;
use query::backend::all_indices;
use query::notices::Notices;

impl Directory {
    /// Tells changes to a persistent search whose first part is over, until it ends: `done` is how far it came.
    pub fn watch(self: &Arc<Self>, plan: Box<SearchPlan>, done: SearchDone, output: Box<dyn WatchOutput>) {
        let directory: Weak<dyn Watched> = Arc::<Self>::downgrade(self);
        self.watches.start(directory, plan, done, output);
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

    fn plan_again(&self, persistent: &Persistent, rights: &Arc<Rights>) -> Result<Box<SearchPlan>, LdapResult> {
        self.searching().prepare_again(persistent, rights)
    }

    fn rights_at(&self, present: &Present, session: &access::Session) -> Result<Arc<Rights>, StoreError> {
        let now_unix_seconds = RequestTime::now().unix_seconds;
        let rights = self.access_control.rights_of(session, &self.facts(), &self.reading, now_unix_seconds)?;
        let snapshots: Vec<_> = all_indices(&self.backends).zip(&present.snapshots).collect();
        if snapshots.iter().all(|(backend, snapshot)| rights.are_of(*backend, snapshot)) {
            return Ok(rights);
        }
        Ok(rights.renewed(&snapshots, now_unix_seconds)?.unwrap_or(rights))
    }

    fn administrator_notices(&self) -> &Notices {
        self.notices()
    }
}
