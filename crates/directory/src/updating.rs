//! Updates of a directory: where they come in. What they are made of is in [`update`](crate::update).

use ldap::{Controls, LdapResult};

use crate::directory::Directory;
use crate::session::Session;
use crate::update::{SlowUpdate, Submitted, UpdateCallback, UpdateContext, UpdateRequest, start_transaction};

impl Directory {
    /// What updates need.
    pub(crate) fn updating(&self) -> UpdateContext<'_> {
        UpdateContext {
            instance: &self.config.instance,
            in_force: &self.in_force,
            backends: &self.backends,
            updates: &self.updates,
            limits: &self.limits,
            reading: &self.reading,
            history: self.history(),
            roots: &self.roots,
            notices: &self.notices,
        }
    }

    /// Takes an update. The callback is called with the outcome when it is durable, or with the reason why nothing was done.
    pub fn submit(&self, session: &Session, asked: UpdateRequest<'_, '_>, done: UpdateCallback) -> Submitted {
        self.updating().submit(session, asked, done)
    }

    /// Begins a transaction on a connection; gives its identifier.
    ///
    /// # Errors
    /// The result to send: somebody anonymous, or a transaction that is open already.
    pub fn start_transaction(&self, session: &Session, controls: &Controls<'_>) -> Result<Vec<u8>, LdapResult> {
        start_transaction(session, controls)
    }
}

impl SlowUpdate {
    /// Hashes, and submits.
    pub fn run(self, directory: &Directory) {
        self.run_in(&directory.updating());
    }
}
