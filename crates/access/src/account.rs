//! The entry behind a name that authenticates: who it is, its stored passwords, its limits.
//!
//! Knows where passwords are; does not check them. Follows neither aliases nor referrals.

use schema::NormalizedDn;
use store::{Content, EntryId, StoreError, View};

use crate::limits::OwnLimits;
use query::backend::Backend;
use query::facts::Facts;
use query::locate::locate;

/// An entry that may authenticate.
pub struct Account {
    /// The entry.
    pub id: EntryId,
    /// Values of `userPassword`, as stored.
    pub passwords: Vec<Vec<u8>>,
    /// Limits that it has stored.
    pub limits: OwnLimits,
}

/// The account of that name in `backend`; none when there is no such entry.
pub fn stored_passwords(
    facts: &Facts,
    backend: &Backend,
    view: &View<'_>,
    name: &NormalizedDn,
) -> Result<Option<Account>, StoreError> {
    let Some(suffix) = backend.suffix_of(name.as_bytes()) else { return Ok(None) };
    let path = locate(view, &suffix.normalized, name.as_bytes())?;
    let Some(id) = path.found() else { return Ok(None) };
    let Some(record) = view.entry(id)? else { return Ok(None) };
    let record = record.view()?;
    let limits = OwnLimits::read(&facts.own_limits, view, &record)?;
    let mut passwords = Vec::new();
    let Some(password) = facts.user_password else { return Ok(Some(Account { id, passwords, limits })) };
    for desc in view.tables().by_type(password.0) {
        match record.stored(*desc).map(|attribute| attribute.content) {
            Some(Content::Inline(values)) => passwords.extend(values.iter().map(<[u8]>::to_vec)),
            Some(Content::Large(_)) => {
                for value in view.large_values(id, *desc)? {
                    passwords.push(value?.1.into_owned());
                }
            }
            None => {}
        }
    }
    Ok(Some(Account { id, passwords, limits }))
}
