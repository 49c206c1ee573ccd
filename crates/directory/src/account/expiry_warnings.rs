//! Users whose password will expire soon and who do not log in: found by a walk over all entries, slice after slice.
//!
//! That a user is told stands in the entry (`ds-pwp-warned-time`), as after a bind that warns, so that each is told
//! once, whatever server looks and however often. Who tells them reads it from the history of changes.

use std::sync::mpsc::channel;
use std::time::Duration;

use access::PolicyFinder;
use access::account::account_of;
use access::inactive::inactive;
use accounts::{Account, PasswordPolicy, StateChange};
use config::Writability;
use ldap::LdapResult;
use query::backend::BackendIndex;
use query::entry_place::EntryPlace;
use query::error::store_failure;
use store::{EntryId, StoreError};

use super::pending::{StateOf, StateWrite};
use crate::directory::Directory;

/// Entries that are looked at in one snapshot.
const SLICE: usize = 512;

/// How long a slice waits until what it found is written.
const WRITTEN_WITHIN: Duration = Duration::from_secs(60);

/// Where a walk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkPlace {
    backend: BackendIndex,
    entry: EntryId,
}

/// What a slice came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarnedSlice {
    /// Users that are told now.
    pub warned: usize,
    /// Where the next slice begins; none: this one was the last.
    pub next: Option<WalkPlace>,
}

impl WalkPlace {
    /// Before all entries.
    pub const START: WalkPlace = WalkPlace { backend: BackendIndex(0), entry: EntryId(0) };

    fn of_next_backend(self) -> WalkPlace {
        WalkPlace { backend: BackendIndex(self.backend.0 + 1), entry: EntryId(0) }
    }
}

impl Directory {
    /// Looks at the next accounts of a walk, and notes with those whose password will expire soon that their user is
    /// told; those of policies that tell nobody (`tells`) are left alone. Waits until the notes are on disk.
    ///
    /// # Errors
    /// When entries cannot be read.
    pub fn warn_of_expiry(
        &self,
        from: WalkPlace,
        tells: &dyn Fn(&PasswordPolicy) -> bool,
    ) -> Result<WarnedSlice, LdapResult> {
        let Some(backend) = self.backends.get(from.backend.0) else {
            return Ok(WarnedSlice { warned: 0, next: None });
        };
        let later = Some(from.of_next_backend()).filter(|place| place.backend.0 < self.backends.len());
        if backend.writability == Writability::Disabled {
            return Ok(WarnedSlice { warned: 0, next: later });
        }
        let (due, next) = self.due(from, tells).map_err(|error| store_failure(&error))?;
        let (sender, written) = channel();
        let warned = due.len();
        for wanted in due {
            let sender = sender.clone();
            let done = Some(Box::new(move |_| drop(sender)) as _);
            self.states.write(StateWrite { done, ..wanted });
        }
        drop(sender);
        // Ends when all are written: nothing is ever sent.
        let _ = written.recv_timeout(WRITTEN_WITHIN) as Result<(), _>;
        Ok(WarnedSlice { warned, next: next.or(later) })
    }

    /// What a slice finds, and where the next one of the same backend begins.
    fn due(
        &self,
        from: WalkPlace,
        tells: &dyn Fn(&PasswordPolicy) -> bool,
    ) -> Result<(Vec<StateWrite>, Option<WalkPlace>), StoreError> {
        let Some(backend) = self.backends.get(from.backend.0) else { return Ok((Vec::new(), None)) };
        let (facts, now) = (self.facts(), self.account_clock().now());
        let finder = PolicyFinder { facts: &facts, context: &self.reading };
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        let (mut due, mut next) = (Vec::new(), None);
        for (count, found) in view.entries(from.entry)?.enumerate() {
            let (id, _) = found?;
            if count == SLICE {
                next = Some(WalkPlace { backend: from.backend, entry: id });
                break;
            }
            let place = EntryPlace { backend: from.backend, id };
            let Some(account) = account_of(finder, place, &snapshot)? else { continue };
            let (Some(entry_uuid), false) = (account.uuid, account.passwords.is_empty()) else { continue };
            let (policy, state) = (&*account.policy, &*account.state);
            let expiry = Account { policy, state, now }.expiry();
            let is_due = expiry.warns && expiry.is_first_warning && !state.is_disabled && tells(policy);
            if is_due && inactive(&self.reading, &facts, place, &snapshot)?.is_none() {
                let changes = vec![StateChange::Warned { at: now }];
                due.push(StateWrite { of: StateOf::Entry(place, entry_uuid), changes, guess: None, done: None });
            }
        }
        Ok((due, next))
    }
}
