//! From a name to who it is: a root user, a user with an entry, nobody.

use std::sync::Arc;

use access::Identity;
use query::backend::{Backend, holder};
use query::facts::Facts;
use query::locate::locate;
use schema::NormalizedDn;
use store::StoreError;

use crate::root_users::RootUsers;

/// Why nobody has a name.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// It is no distinguished name.
    #[error("\"{name}\" is not a distinguished name")]
    BadDn {
        /// As given.
        name: String,
    },
    /// There is neither an entry nor a root user of that name.
    #[error("there is no entry and no root user \"{name}\"")]
    Missing {
        /// As given.
        name: String,
    },
    /// The entry cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Who has that name; the empty one is anonymous.
pub(crate) fn identity_of(
    name: &str,
    facts: &Facts,
    backends: &[Backend],
    roots: &RootUsers,
) -> Result<Identity, SubjectError> {
    if name.is_empty() {
        return Ok(Identity::Anonymous);
    }
    let normal = NormalizedDn::parse(&facts.schema, name.as_bytes())
        .map_err(|_| SubjectError::BadDn { name: name.to_owned() })?;
    if let Some(root) = roots.user(&normal) {
        return Ok(Identity::Root { dn: Arc::clone(&root.dn) });
    }
    let missing = || SubjectError::Missing { name: name.to_owned() };
    let (backend, suffix) = holder(backends, normal.as_bytes()).ok_or_else(missing)?;
    let snapshot = backends.get(backend.0).ok_or_else(missing)?.store.snapshot()?;
    let view = snapshot.view();
    let entry = locate(&view, &suffix.normalized, normal.as_bytes())?.found().ok_or_else(missing)?;
    let dn = view.dn_of(entry)?.ok_or_else(missing)?;
    Ok(Identity::User { dn: dn.into(), backend, entry })
}
