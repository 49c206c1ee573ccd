//! What waits to be written for one backend, by account.
//!
//! Knows changes and who waits for them; not how they are written.

use std::collections::{HashMap, VecDeque};

use access::guesses::Guess;
use accounts::StateChange;
use change::state_changes::{ACCOUNTS_MAX, AccountChanges};
use ldap::LdapResult;
use query::backend::BackendIndex;
use query::entry_place::EntryPlace;
use schema::NormalizedDn;
use store::EntryId;

/// Told when changes can be seen and are on disk, or why they are not. Called on the writer's thread: must be quick.
pub(crate) type Written = Box<dyn FnOnce(Result<(), LdapResult>) + Send>;

/// Changes that wait at most; beyond, further ones are not taken. What guesses change is bounded by those in flight.
const CHANGES_MAX: usize = 1 << 17;

/// Whose state it is.
#[derive(Clone, Debug)]
pub(crate) enum StateOf {
    /// That of an entry, with its `entryUUID`.
    Entry(EntryPlace, [u8; 16]),
    /// That of nobody: the backend where the entry would be, and the number of the name, unless there is no name.
    Nobody(BackendIndex, Option<u64>),
    /// That of a root user, by the name of the account.
    Root(NormalizedDn),
}

/// What a bind wants to be written.
pub(crate) struct StateWrite {
    pub(crate) of: StateOf,
    /// May be none, for who must only wait as long as others.
    pub(crate) changes: Vec<StateChange>,
    /// The guess that stays counted until then.
    pub(crate) guess: Option<Guess>,
    /// Who waits.
    pub(crate) done: Option<Written>,
}

/// What waits of one account.
pub(super) struct Pending {
    pub(super) account: AccountChanges,
    guesses: Vec<Guess>,
    pub(super) done: Vec<Written>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Waiting {
    accounts: VecDeque<Pending>,
    /// Number of the account's place: ascending, without those that went.
    places: HashMap<EntryId, u64>,
    /// The number of the first place.
    first: u64,
    changes: usize,
    /// Those who only wait as long as others.
    others: Vec<Other>,
}

/// Who only waits as long as others.
pub(super) struct Other {
    pub(super) done: Option<Written>,
    /// What is counted of names that nobody has, by their numbers.
    pub(super) changes: Vec<(u64, StateChange)>,
    /// Stays counted until then.
    _guess: Option<Guess>,
}

/// What is proposed together.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) accounts: Vec<Pending>,
    pub(super) others: Vec<Other>,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.others.is_empty()
    }

    /// Accounts that wait.
    pub(super) fn len(&self) -> usize {
        self.accounts.len()
    }

    /// Takes in what a bind wants; `Err` gives it back when too much waits.
    pub(super) fn add(&mut self, wanted: StateWrite) -> Result<(), StateWrite> {
        if let StateOf::Nobody(_, number) = wanted.of {
            let changes = number.map_or_else(Vec::new, |it| wanted.changes.into_iter().map(|one| (it, one)).collect());
            self.others.push(Other { done: wanted.done, changes, _guess: wanted.guess });
            return Ok(());
        }
        if wanted.changes.is_empty() {
            self.others.push(Other { done: wanted.done, changes: Vec::new(), _guess: None });
            return Ok(());
        }
        if self.changes >= CHANGES_MAX {
            return Err(wanted);
        }
        let StateOf::Entry(place, entry_uuid) = wanted.of else { return Err(wanted) };
        let StateWrite { changes, guess, done, .. } = wanted;
        let Some(pending) = self.of(place.id, entry_uuid) else { return Ok(()) };
        let before = pending.account.changes.len();
        changes.into_iter().for_each(|change| merge(&mut pending.account.changes, change));
        let after = pending.account.changes.len();
        pending.guesses.extend(guess);
        pending.done.extend(done);
        self.changes = (self.changes + after).saturating_sub(before);
        Ok(())
    }

    fn of(&mut self, entry: EntryId, entry_uuid: [u8; 16]) -> Option<&mut Pending> {
        let known = self.places.get(&entry).and_then(|place| usize::try_from(place - self.first).ok());
        let at = known.unwrap_or_else(|| {
            self.places.insert(entry, self.first + self.accounts.len() as u64);
            let account = AccountChanges { entry, entry_uuid, changes: Vec::new() };
            self.accounts.push_back(Pending { account, guesses: Vec::new(), done: Vec::new() });
            self.accounts.len() - 1
        });
        self.accounts.get_mut(at)
    }

    /// Takes out what is proposed next: those who have waited longest.
    pub(super) fn take(&mut self) -> Batch {
        let count = self.accounts.len().min(ACCOUNTS_MAX);
        let accounts: Vec<Pending> = self.accounts.drain(..count).collect();
        for pending in &accounts {
            self.places.remove(&pending.account.entry);
            self.changes = self.changes.saturating_sub(pending.account.changes.len());
        }
        self.first += count as u64;
        if self.accounts.is_empty() {
            // What a storm took is given back.
            self.accounts.shrink_to(ACCOUNTS_MAX);
            self.places.shrink_to(ACCOUNTS_MAX);
        }
        Batch { accounts, others: std::mem::take(&mut self.others) }
    }

    /// Puts a batch back that could not be written, before what came since; at most so many accounts wait then. Gives
    /// how many were let go.
    pub(super) fn put_back(&mut self, batch: Vec<Pending>, most: usize) -> usize {
        let mut lost = 0;
        for pending in batch {
            let Pending { account: AccountChanges { entry, entry_uuid, changes }, guesses, done: _ } = pending;
            if self.accounts.len() >= most && !self.places.contains_key(&entry) {
                lost += 1;
                continue;
            }
            let Some(known) = self.of(entry, entry_uuid) else { continue };
            let before = known.account.changes.len();
            let since = std::mem::replace(&mut known.account.changes, changes);
            since.into_iter().for_each(|change| merge(&mut known.account.changes, change));
            let after = known.account.changes.len();
            known.guesses.extend(guesses);
            self.changes = (self.changes + after).saturating_sub(before);
        }
        lost
    }
}

/// Adds a change to those of an account; what a later one makes pointless goes.
fn merge(changes: &mut Vec<StateChange>, new: StateChange) {
    match &new {
        StateChange::ClearFailures { at: cleared } => changes.retain(|known| match known {
            StateChange::CountFailure { at, .. } | StateChange::ClearFailures { at } => at > cleared,
            _ => true,
        }),
        StateChange::LastLogin { at, attribute, .. } => {
            let is_later = |known: &StateChange| match known {
                StateChange::LastLogin { at: other, attribute: same, .. } => same == attribute && other > at,
                _ => false,
            };
            if changes.iter().any(is_later) {
                return;
            }
            changes
                .retain(|known| !matches!(known, StateChange::LastLogin { attribute: same, .. } if same == attribute));
        }
        StateChange::Warned { .. } if changes.iter().any(|known| matches!(known, StateChange::Warned { .. })) => return,
        StateChange::SpendCode { token, next } => {
            let (token, next) = (*token, *next);
            let known = changes.iter_mut().find_map(|known| match known {
                StateChange::SpendCode { token: same, next } if *same == token => Some(next),
                _ => None,
            });
            if let Some(known) = known {
                *known = next.max(*known);
                return;
            }
        }
        StateChange::Reencode { .. } if changes.contains(&new) => return,
        StateChange::CachePassword { .. } | StateChange::ForgetCachedPassword { .. } => changes.retain(|known| {
            !matches!(known, StateChange::CachePassword { .. } | StateChange::ForgetCachedPassword { .. })
        }),
        _ => {}
    }
    changes.push(new);
}

#[cfg(test)]
mod tests {
    use accounts::{LockRules, Moment};
    use query::backend::BackendIndex;

    use super::*;

    fn failure(at: u64) -> StateChange {
        StateChange::CountFailure { at: Moment(at), rules: LockRules { count: 3, ..LockRules::default() } }
    }

    fn login(at: u64) -> StateChange {
        let (attribute, value) = ("pwdLastSuccess".to_owned(), at.to_string().into_bytes());
        StateChange::LastLogin { at: Moment(at), attribute, value }
    }

    fn clear(at: u64) -> StateChange {
        StateChange::ClearFailures { at: Moment(at) }
    }

    fn wanted(entry: u64, changes: Vec<StateChange>) -> StateWrite {
        let place = EntryPlace { backend: BackendIndex(0), id: EntryId(entry) };
        StateWrite { of: StateOf::Entry(place, [1; 16]), changes, guess: None, done: None }
    }

    fn changes_of(batch: &Batch) -> Vec<(u64, Vec<StateChange>)> {
        batch.accounts.iter().map(|it| (it.account.entry.0, it.account.changes.clone())).collect()
    }

    #[test]
    fn changes_of_one_account_are_one() {
        let mut waiting = Waiting::default();
        for (entry, changes) in [
            (1, vec![failure(1)]),
            (2, vec![login(5), failure(5)]),
            (1, vec![failure(2)]),
            (2, vec![login(7)]),
            (2, vec![login(6)]),
            (1, vec![clear(2)]),
            (1, vec![failure(3)]),
        ] {
            assert!(waiting.add(wanted(entry, changes)).is_ok());
        }
        assert_eq!((waiting.len(), waiting.changes), (2, 4));
        let batch = waiting.take();
        let expected = [(1, vec![clear(2), failure(3)]), (2, vec![failure(5), login(7)])];
        assert_eq!(changes_of(&batch), expected);
        assert!(waiting.is_empty() && waiting.changes == 0 && waiting.places.is_empty());
    }

    #[test]
    fn what_was_not_written_stands_before_what_came_since() {
        let mut waiting = Waiting::default();
        for entry in 1..=3 {
            assert!(waiting.add(wanted(entry, vec![failure(entry)])).is_ok());
        }
        let failed = waiting.take().accounts;
        assert!(waiting.add(wanted(2, vec![failure(9)])).is_ok());
        assert_eq!(waiting.put_back(failed, 2), 1, "no more than there is room for");
        assert_eq!(changes_of(&waiting.take()), [(2, vec![failure(2), failure(9)]), (1, vec![failure(1)])]);
    }

    #[test]
    fn a_storm_is_taken_in_parts() {
        let mut waiting = Waiting::default();
        for round in 0..3 {
            for entry in 0..ACCOUNTS_MAX as u64 + 5 {
                assert!(waiting.add(wanted(entry, vec![failure(round)])).is_ok());
            }
        }
        assert_eq!(waiting.take().accounts.len(), ACCOUNTS_MAX);
        assert!(waiting.add(wanted(ACCOUNTS_MAX as u64, vec![failure(8)])).is_ok());
        let rest = waiting.take();
        assert_eq!((rest.accounts.len(), rest.accounts[0].account.changes.len()), (5, 4));
    }
}
