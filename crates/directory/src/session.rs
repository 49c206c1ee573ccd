//! A connection as operations see it: who asks, and the transaction that is open on it.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::time::Instant;

use access::{Bound, Identity};

use crate::update::TransactionSlot;

/// What a directory needs to know of a connection.
#[derive(Clone, Debug)]
pub struct Session {
    asker: access::Session,
    /// Its transaction (RFC 5805), which a bind ends.
    pub(crate) transaction: RefCell<TransactionSlot>,
}

impl Session {
    /// A connection on which nobody has bound yet; its limits are found out when it searches.
    #[must_use]
    pub fn anonymous(connection: u64) -> Self {
        Self { asker: access::Session::anonymous(connection), transaction: RefCell::default() }
    }

    /// A connection on which somebody has bound; the limits are found out when it searches.
    #[must_use]
    pub fn of(identity: Identity, connection: u64) -> Self {
        let mut session = Self::anonymous(connection);
        session.identity = identity;
        session
    }

    /// The same connection for one request that acts as somebody else. It may be a part of the connection's
    /// transaction.
    #[must_use]
    pub fn acting_as(&self, identity: Identity) -> Self {
        Self { asker: self.asker.acting_as(identity), transaction: self.transaction.clone() }
    }

    /// The same connection outside of any transaction, for what is found out beside its requests.
    pub(crate) fn apart(&self) -> Self {
        Self { asker: self.asker.clone(), transaction: RefCell::default() }
    }

    /// Takes over what a bind decided, at `now`.
    pub fn take(&mut self, bound: Bound, now: Instant) {
        self.transaction.borrow_mut().abort();
        self.asker.take(bound, now);
    }
}

impl Deref for Session {
    type Target = access::Session;

    #[inline]
    fn deref(&self) -> &access::Session {
        &self.asker
    }
}

impl DerefMut for Session {
    #[inline]
    fn deref_mut(&mut self) -> &mut access::Session {
        &mut self.asker
    }
}
