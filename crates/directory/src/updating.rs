//! Updates of a directory: where they come in. What they are made of is in [`update`](crate::update).

use ldap::{Controls, ExtendedRequest, LdapResult, Message};

use crate::directory::Directory;
use crate::session::Session;
use crate::update::{SlowUpdate, Submitted, UpdateCallback, UpdateContext, start_transaction};

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

    /// Takes an add, modify, delete, modify DN, password modify or end transaction request. `operation` is its number on the connection.
    /// The callback is called with the outcome when it is durable, or with the reason why nothing was done.
    pub fn submit<'m>(
        &self,
        session: &Session,
        operation: u32,
        message: &Message<'m>,
        done: UpdateCallback,
    ) -> Submitted {
        self.updating().submit(session, operation, message, done)
    }

    /// Begins a transaction on a connection; gives its identifier.
    ///
    /// # Errors
    /// The result to send: somebody anonymous, a malformed request, or a transaction that is open already.
    pub fn start_transaction(
        &self,
        session: &Session,
        request: &ExtendedRequest<'_>,
        controls: &Controls<'_>,
    ) -> Result<Vec<u8>, LdapResult> {
        start_transaction(session, request, controls)
    }
}

impl SlowUpdate {
    /// Hashes, and submits.
    pub fn run(self, directory: &Directory) {
        self.run_in(&directory.updating());
    }
}
