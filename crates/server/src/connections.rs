//! The connections of all loops by their number, for whoever ends one of them from outside.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::connection::ConnectionAddress;
use runtime::mailbox::Mailbox;

use crate::remote::{LdapMail, News};

type Door = (ConnectionAddress, Arc<Mailbox<LdapMail>>);

/// See the module.
#[derive(Default)]
pub(crate) struct Connections(Mutex<HashMap<u64, Door>>);

impl Connections {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Door>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection is there.
    pub(crate) fn opened(&self, id: u64, address: ConnectionAddress, mailbox: &Arc<Mailbox<LdapMail>>) {
        self.lock().insert(id, (address, Arc::clone(mailbox)));
    }

    /// It is gone.
    pub(crate) fn closed(&self, id: u64) {
        self.lock().remove(&id);
    }

    /// Ends the connection of that number; with a message, its client is told. `false`: there is none.
    pub(crate) fn end(&self, id: u64, message: Option<String>) -> bool {
        let Some((address, mailbox)) = self.lock().get(&id).map(|(address, mailbox)| (*address, Arc::clone(mailbox)))
        else {
            return false;
        };
        mailbox.send(address, LdapMail { operation: 0, news: News::Disconnect { message } });
        true
    }
}
