//! A connection as operations see it: who asks, and the transaction that is open on it.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Instant;

use access::{Bound, Identity, TlsChannel};

use crate::sasl::Exchange;
use crate::update::TransactionSlot;

/// What a directory needs to know of a connection.
#[derive(Clone, Debug)]
pub struct Session {
    asker: access::Session,
    /// Its transaction (RFC 5805), which a bind ends.
    pub(crate) transaction: RefCell<TransactionSlot>,
    /// A SASL bind that goes on with the next request, unless that is another bind.
    pub(crate) exchange: RefCell<Option<Exchange>>,
}

impl Session {
    /// A connection on which nobody has bound yet; its limits are found out when it searches.
    #[must_use]
    pub fn anonymous(connection: u64) -> Self {
        let (transaction, exchange) = Default::default();
        Self { asker: access::Session::anonymous(connection), transaction, exchange }
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
        let transaction = self.transaction.clone();
        Self { asker: self.asker.acting_as(identity), transaction, exchange: RefCell::default() }
    }

    /// The same connection outside of any transaction, for what is found out beside its requests.
    pub(crate) fn apart(&self) -> Self {
        let (transaction, exchange) = Default::default();
        Self { asker: self.asker.clone(), transaction, exchange }
    }

    /// Takes over what a TLS handshake agreed on.
    pub fn set_tls(&mut self, strength_bits: u32, channel: TlsChannel) {
        // An exchange that began without it is not bound to it.
        self.exchange.take();
        self.asker.tls = Some(Arc::new(channel));
        self.asker.set_strength(strength_bits);
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
