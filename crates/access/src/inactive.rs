//! Accounts that an administrator has taken out of use: `nsAccountLock: true` (Sun, 389) or `ds-pwp-account-disabled:
//! true` (OpenDJ) in the entry, or given to it (Sun, 389: by a class of service on `nsRole`), keeps it from binding.
//!
//! Knows two attributes of one entry; what the client is told is for `bind`. Sessions that are there go on, as in those
//! servers.

use std::ops::ControlFlow;
use std::sync::Arc;

use schema::TypeIndex;
use store::{Snapshot, StoreError};

use query::entry::{DnParts, EntryView, each_stored};
use query::entry_place::EntryPlace;
use query::facts::Facts;
use query::read_moment::ReadContext;

/// What DSEE and 389 answer to who knows the password of a locked account.
pub const LOCKED_MESSAGE: &str = "Account inactivated. Contact system administrator.";

/// Why an account may not bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inactive {
    /// `ds-pwp-account-disabled`: as with a wrong password.
    Disabled,
    /// `nsAccountLock`: a client with the right password is told.
    Locked,
}

/// Why an entry may not bind, if so. Where no entry has such a value and nothing is defined, it is not read.
///
/// # Errors
/// When something cannot be read.
pub fn inactive(
    context: &ReadContext,
    facts: &Arc<Facts>,
    place: EntryPlace,
    snapshot: &Snapshot,
) -> Result<Option<Inactive>, StoreError> {
    for (attribute, why) in [(facts.account_disabled, Inactive::Disabled), (facts.account_lock, Inactive::Locked)] {
        if let Some(attribute) = attribute
            && is_true(context, facts, place, snapshot, attribute)?
        {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

fn is_true(
    context: &ReadContext,
    facts: &Arc<Facts>,
    place: EntryPlace,
    snapshot: &Snapshot,
    attribute: TypeIndex,
) -> Result<bool, StoreError> {
    let mut is_true = false;
    let mut look = |value: &[u8]| {
        is_true = value.eq_ignore_ascii_case(b"true");
        if is_true { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let given = context.if_given(facts, place, snapshot, std::iter::once(attribute), |computed, entry| {
        computed.values_of(entry, attribute, &mut look)
    })?;
    let view = snapshot.view();
    if given.is_none()
        && !view.tables().by_type(attribute.0).is_empty()
        && let Some(record) = view.entry(place.id)?
    {
        let entry = EntryView { id: place.id, record: record.view()?, dn: DnParts::default(), source: &view };
        each_stored(&entry, attribute, &mut look)?;
    }
    Ok(is_true)
}
