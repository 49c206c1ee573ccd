//! Who is asking: the state of one connection that operations depend on.
//!
//! Knows no socket. The server makes one [`Session`] per connection, and replaces its identity when a bind succeeds or
//! fails.

use std::cell::Cell;
use std::sync::Arc;

use query::backend::BackendIndex;
use store::EntryId;

use crate::limits::Kept;
use crate::standing::Standing;

/// What a directory needs to know of a connection.
#[derive(Clone, Debug)]
pub struct Session {
    /// The authenticated identity; anonymous until a bind succeeds (RFC 4511 §4.2.1).
    pub identity: Identity,
    /// Number of the connection, as the access log prints it.
    pub connection: u64,
    /// LDAP version of the last bind: 3 unless the client said 2.
    pub version: u8,
    /// Bits of encryption on the connection, 0 for none.
    pub security_strength_bits: u32,
    /// User id of the process at the other end of a local socket.
    pub peer_uid: Option<u32>,
    /// Whether what it is bound as still exists.
    pub standing: Standing,
    /// What it may spend. A session belongs to one thread, so that a look at an entry can be kept without a lock.
    pub limits: Cell<Kept>,
}

/// The authenticated identity of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Identity {
    /// No one.
    #[default]
    Anonymous,
    /// A root user of the configuration: may do everything.
    Root {
        /// The name it bound with.
        dn: Arc<str>,
    },
    /// A user that has an entry.
    User {
        /// The entry's name when it bound.
        dn: Arc<str>,
        /// Which backend holds the entry.
        backend: BackendIndex,
        /// The entry, which keeps its id when it is renamed.
        entry: EntryId,
    },
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
            peer_uid: None,
            standing: Standing::default(),
            limits: Cell::default(),
        }
    }
}

impl Identity {
    /// The name that goes into `creatorsName` and the logs; empty for no one.
    #[must_use]
    pub fn dn(&self) -> &str {
        match self {
            Identity::Anonymous => "",
            Identity::Root { dn } | Identity::User { dn, .. } => dn,
        }
    }

    /// Whether this is a root user.
    #[must_use]
    pub fn is_root(&self) -> bool {
        matches!(self, Identity::Root { .. })
    }

    /// Whether nobody has authenticated.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        matches!(self, Identity::Anonymous)
    }

    /// The authorization identity (RFC 4513 §5.2.1.8): `dn:…`, or empty for no one. What "who am I" (RFC 4532) answers.
    #[must_use]
    pub fn authorization_id(&self) -> String {
        match self {
            Identity::Anonymous => String::new(),
            Identity::Root { dn } | Identity::User { dn, .. } => format!("dn:{dn}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorization_ids_are_those_of_rfc_4513() {
        assert_eq!(Identity::Anonymous.authorization_id(), "");
        let root = Identity::Root { dn: "cn=Directory Manager".into() };
        assert_eq!(root.authorization_id(), "dn:cn=Directory Manager");
        assert!(root.is_root() && !root.is_anonymous());
        assert!(Session::anonymous(7).identity.is_anonymous());
    }
}
