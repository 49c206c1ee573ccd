//! The entry behind a name that authenticates: who it is, its stored passwords, its policy and state, its limits.
//!
//! Knows where passwords are; does not check them. Follows neither aliases nor referrals.

use std::sync::Arc;

use accounts::{AccountState, PasswordPolicy};
use schema::{NormalizedDn, TypeIndex};
use store::{Content, EntryId, RecordView, Snapshot, StoreError, View};

use crate::account_policy::PolicyFinder;
use crate::account_state;
use crate::limits::OwnLimits;
use query::backend::{Backend, BackendIndex};
use query::entry::{DnParts, EntryView};
use query::entry_place::EntryPlace;
use query::facts::Facts;
use query::locate::locate;

/// An entry that may authenticate.
pub struct Account {
    /// The entry.
    pub id: EntryId,
    /// Its `entryUUID`.
    pub uuid: Option<[u8; 16]>,
    /// Values of the policy's password attribute, as stored.
    pub passwords: Vec<Vec<u8>>,
    /// Limits that it has stored.
    pub limits: OwnLimits,
    /// The policy in force for it.
    pub policy: Arc<PasswordPolicy>,
    /// What it says of its state.
    pub state: Box<AccountState>,
}

/// The account of that name in `backend` at a moment; none when there is no such entry.
///
/// # Errors
/// When something cannot be read.
pub fn find_account(
    finder: PolicyFinder<'_>,
    at: BackendIndex,
    backend: &Backend,
    snapshot: &Snapshot,
    name: &NormalizedDn,
) -> Result<Option<Account>, StoreError> {
    let Some(id) = entry_of(backend, &snapshot.view(), name)? else { return Ok(None) };
    account_of(finder, EntryPlace { backend: at, id }, snapshot)
}

/// The account that an entry is at a moment; none when there is no such entry.
///
/// # Errors
/// When something cannot be read.
pub fn account_of(
    finder: PolicyFinder<'_>,
    place: EntryPlace,
    snapshot: &Snapshot,
) -> Result<Option<Account>, StoreError> {
    let (view, id) = (snapshot.view(), place.id);
    let Some(record) = view.entry(id)? else { return Ok(None) };
    let record = record.view()?;
    let facts = finder.facts;
    let limits = OwnLimits::read(&facts.own_limits, &view, &record)?;
    let policy = finder.of_entry(place, &record, snapshot)?;
    let entry = EntryView { id, record, dn: DnParts::default(), source: &view };
    let state = Box::new(account_state::read(facts, &entry, &policy)?);
    let passwords = passwords_of(password_attribute(facts, &policy), &view, id, &record)?;
    Ok(Some(Account { id, uuid: record.header().uuid, passwords, limits, policy, state }))
}

/// The stored passwords of an entry; none when there is no such entry.
///
/// # Errors
/// When something cannot be read.
pub fn passwords_of_entry(facts: &Facts, view: &View<'_>, id: EntryId) -> Result<Vec<Vec<u8>>, StoreError> {
    let Some(record) = view.entry(id)? else { return Ok(Vec::new()) };
    passwords_of(facts.user_password, view, id, &record.view()?)
}

fn entry_of(backend: &Backend, view: &View<'_>, name: &NormalizedDn) -> Result<Option<EntryId>, StoreError> {
    let Some(suffix) = backend.suffix_of(name.as_bytes()) else { return Ok(None) };
    Ok(locate(view, &suffix.normalized, name.as_bytes())?.found())
}

fn password_attribute(facts: &Facts, policy: &PasswordPolicy) -> Option<TypeIndex> {
    match policy.password_attribute.as_str() {
        "userPassword" => facts.user_password,
        other => facts.schema.attribute_type(other.as_bytes()).map(|it| it.index),
    }
}

fn passwords_of(
    attribute: Option<TypeIndex>,
    view: &View<'_>,
    id: EntryId,
    record: &RecordView<'_>,
) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut passwords = Vec::new();
    let Some(attribute) = attribute else { return Ok(passwords) };
    for desc in view.tables().by_type(attribute.0) {
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
    Ok(passwords)
}
