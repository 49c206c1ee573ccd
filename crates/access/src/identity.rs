//! The authenticated identity of a connection.

use std::sync::Arc;

use query::backend::BackendIndex;
use store::EntryId;

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
        assert!(Identity::default().is_anonymous());
    }
}
