//! Who asks for an update, as its proposal says it.

use std::sync::Arc;

use ldap::LdapResult;
use store::EntryId;

use super::context::UpdateContext;
use super::decided::snapshot;
use access::Identity;
use query::error::store_failure;

impl UpdateContext<'_> {
    /// Who asks, with the name that the entry has now: it may have been renamed since the bind. If it is gone, no entry
    /// stands behind the name, also when another one of that name is added.
    pub(super) fn requestor(&self, identity: &Identity) -> Result<Identity, LdapResult> {
        let Identity::User { dn, backend: at, entry } = identity else { return Ok(identity.clone()) };
        let Some(backend) = self.backends.get(at.0) else { return Ok(identity.clone()) };
        let now = snapshot(backend)?.view().dn_of(*entry).map_err(|error| store_failure(&error))?;
        Ok(match now {
            Some(now) => Identity::User { dn: now.into(), backend: *at, entry: *entry },
            None => Identity::User { dn: Arc::clone(dn), backend: *at, entry: EntryId::ROOT },
        })
    }
}
