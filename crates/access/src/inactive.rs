//! Accounts that an administrator has inactivated: `nsAccountLock: true` in the entry, or given to it (Sun, 389: by a class of service
//! on `nsRole`), keeps it from binding.
//!
//! Knows one attribute of one entry; who tells the client so is for `bind`. Sessions that are there go on, as in those servers.

use std::ops::ControlFlow;
use std::sync::Arc;

use store::{Snapshot, StoreError};

use query::entry::{DnParts, EntryView, each_stored};
use query::facts::Facts;
use query::place::Place;
use query::read_moment::ReadContext;

/// What DSEE and 389 answer.
pub const MESSAGE: &str = "Account inactivated. Contact system administrator.";

/// Whether an entry may not bind. Where no entry has such a value and nothing is defined, it is not read.
///
/// # Errors
/// When something cannot be read.
pub fn is_inactive(
    context: &ReadContext,
    facts: &Arc<Facts>,
    place: Place,
    snapshot: &Snapshot,
) -> Result<bool, StoreError> {
    let Some(lock) = facts.account_lock else { return Ok(false) };
    let mut is_locked = false;
    let mut look = |value: &[u8]| {
        is_locked = value.eq_ignore_ascii_case(b"true");
        if is_locked { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let given = context.if_given(facts, place, snapshot, std::iter::once(lock), |computed, entry| {
        computed.values_of(entry, lock, &mut look)
    })?;
    let view = snapshot.view();
    if given.is_none()
        && !view.tables().by_type(lock.0).is_empty()
        && let Some(record) = view.entry(place.id)?
    {
        let entry = EntryView { id: place.id, record: record.view()?, dn: DnParts::default(), source: &view };
        each_stored(&entry, lock, &mut look)?;
    }
    Ok(is_locked)
}
