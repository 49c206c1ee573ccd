//! The entry behind a name that authenticates: who it is, its stored passwords, its limits.
//!
//! Knows where passwords are; does not check them. Follows neither aliases nor referrals.

use ldap::LdapResult;
use schema::NormalizedDn;
use store::{Content, EntryId, View};

use crate::backend::Backend;
use crate::error::store_failure;
use crate::facts::Facts;
use crate::limits::OwnLimits;
use crate::locate::locate;

/// An entry that may authenticate.
pub(crate) struct Account {
    /// The entry.
    pub(crate) id: EntryId,
    /// Values of `userPassword`, as stored.
    pub(crate) passwords: Vec<Vec<u8>>,
    /// Limits that it has stored.
    pub(crate) limits: OwnLimits,
}

/// The account of that name in `backend`; none when there is no such entry.
pub(crate) fn stored_passwords(
    facts: &Facts,
    backend: &Backend,
    view: &View<'_>,
    name: &NormalizedDn,
) -> Result<Option<Account>, LdapResult> {
    let failed = |error: store::StoreError| store_failure(&error);
    let Some(suffix) = backend.suffix_of(name.as_bytes()) else { return Ok(None) };
    let path = locate(view, &suffix.normalized, name.as_bytes()).map_err(failed)?;
    let Some(id) = path.found() else { return Ok(None) };
    let Some(record) = view.entry(id).map_err(failed)? else { return Ok(None) };
    let record = record.view().map_err(failed)?;
    let limits = OwnLimits::read(&facts.own_limits, view, &record).map_err(failed)?;
    let mut passwords = Vec::new();
    let Some(password) = facts.user_password else { return Ok(Some(Account { id, passwords, limits })) };
    for desc in view.tables().by_type(password.0) {
        match record.stored(*desc).map(|attribute| attribute.content) {
            Some(Content::Inline(values)) => passwords.extend(values.iter().map(<[u8]>::to_vec)),
            Some(Content::Large(_)) => {
                for value in view.large_values(id, *desc).map_err(failed)? {
                    passwords.push(value.map_err(failed)?.1.into_owned());
                }
            }
            None => {}
        }
    }
    Ok(Some(Account { id, passwords, limits }))
}
