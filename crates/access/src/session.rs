//! Who is asking: the state of one connection that operations depend on.
//!
//! Knows no socket. The server makes one [`Session`] per connection, and replaces its identity when a bind succeeds or
//! fails.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::connection_facts::{Authentication, HostName, LocalPeer, TlsChannel};
use crate::identity::Identity;
use crate::limits::Kept;
use crate::rights::Rights;
use crate::standing::Standing;

/// What a local socket counts as: nobody listens on it. The same number as in OpenLDAP and 389 Directory Server.
pub const LOCAL_STRENGTH_BITS: u32 = 71;

/// What a directory needs to know of a connection.
#[derive(Clone, Debug)]
pub struct Session {
    /// The authenticated identity; anonymous until a bind succeeds (RFC 4511 §4.2.1).
    pub identity: Identity,
    /// Number of the connection, as the access log prints it.
    pub connection: u64,
    /// LDAP version of the last bind: 3 unless the client said 2.
    pub version: u8,
    /// Bits of encryption on the connection, 0 for none; [`LOCAL_STRENGTH_BITS`] on a local socket.
    pub security_strength_bits: u32,
    /// Who is at the other end of a local socket.
    pub local_peer: Option<LocalPeer>,
    /// What is known of its TLS.
    pub tls: Option<Arc<TlsChannel>>,
    /// Where the client is: what the PROXY protocol says, if it is spoken. None on a local socket.
    pub address: Option<IpAddr>,
    /// The name of that address.
    pub host_name: HostName,
    /// How the identity was authenticated.
    pub authentication: Authentication,
    /// When it was bound.
    pub bound_at: Option<Instant>,
    /// Who acts as the identity (proxied authorization), if somebody does.
    pub proxied_by: Option<Identity>,
    /// Whether what it is bound as still exists.
    pub standing: Standing,
    /// What it may spend. A session belongs to one thread, so that a look at an entry can be kept without a lock.
    pub limits: Cell<Kept>,
    /// What it may do, as of its last request: see [`crate::AccessControl::rights_of`].
    pub rights: RefCell<Option<Arc<Rights>>>,
}

impl Session {
    /// A connection on which nobody has bound yet; its limits are determined when it searches.
    #[must_use]
    pub fn anonymous(connection: u64) -> Self {
        Self {
            identity: Identity::Anonymous,
            connection,
            version: 3,
            security_strength_bits: 0,
            local_peer: None,
            tls: None,
            address: None,
            host_name: HostName::default(),
            authentication: Authentication::None,
            bound_at: None,
            proxied_by: None,
            standing: Standing::default(),
            limits: Cell::default(),
            rights: RefCell::default(),
        }
    }

    /// Takes the strength of encryption of the connection, which rules may ask for.
    pub fn set_strength(&mut self, bits: u32) {
        self.security_strength_bits = bits;
        self.forget_rights();
    }

    /// The client's certificate in DER, if it has one that is good.
    #[must_use]
    pub fn certificate(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.client_certificate.as_deref()
    }

    /// What rules look at has changed.
    pub fn forget_rights(&mut self) {
        self.rights = RefCell::default();
    }

    /// The same connection for one request that acts as somebody else (proxied authorization): rules look at the rights
    /// and privileges of `identity`, and at the address, encryption and authentication of the connection.
    #[must_use]
    pub fn acting_as(&self, identity: Identity) -> Self {
        Self {
            proxied_by: Some(self.proxied_by.clone().unwrap_or_else(|| self.identity.clone())),
            identity,
            limits: Cell::default(),
            rights: RefCell::default(),
            ..self.clone()
        }
    }
}
