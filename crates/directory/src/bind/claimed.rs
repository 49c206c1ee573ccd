//! Who is meant by a name: an account, a root user, or nobody.
//!
//! Nobody has a password, a policy and a state as everybody else, so that what follows is the same work.

use std::sync::Arc;

use access::Bound;
use access::guesses::Guessed;
use access::inactive::Inactive;
use accounts::{Account, AccountState, Moment, PasswordPolicy};
use password::{ScramHash, ScramKeys};
use query::backend::BackendIndex;
use query::entry_place::EntryPlace;
use schema::NormalizedDn;

use super::done::BindFailure;
use crate::account::StateOf;

/// Who is meant, with all that a bind depends on. What is large is boxed: a claim is handed on several times.
pub(crate) struct Claimed {
    pub(super) who: Who,
    /// As stored; of whom there is none, decoys.
    pub(super) passwords: Vec<Vec<u8>>,
    pub(super) policy: Arc<PasswordPolicy>,
    pub(super) state: Box<AccountState>,
    /// When the bind came.
    pub(super) now: Moment,
}

/// Who it is.
pub(super) enum Who {
    /// Nobody can bind by that name.
    Nobody {
        /// Why.
        why: BindFailure,
        /// Where the entry would be.
        backend: BackendIndex,
        /// Of the name; none where there is none.
        number: Option<u64>,
    },
    /// A root user of the configuration.
    Root(Box<FoundRoot>),
    /// An entry with a password.
    Entry(Box<Found>),
}

/// An entry that was found.
pub(super) struct Found {
    pub(super) place: EntryPlace,
    pub(super) entry_uuid: [u8; 16],
    pub(super) name: NormalizedDn,
    /// The last change that was seen.
    pub(super) seen: u64,
    pub(super) inactive: Option<Inactive>,
    /// What the session would be.
    pub(super) bound: Bound,
}

/// A root user who was found.
pub(super) struct FoundRoot {
    pub(super) name: NormalizedDn,
    /// Under which the state is kept.
    pub(super) account: NormalizedDn,
    pub(super) guessed: Guessed,
    /// What the session would be.
    pub(super) bound: Bound,
}

impl Who {
    /// Whose state is written; nobody's is not, but waits for that of others.
    pub(super) fn state_of(&self) -> StateOf {
        match self {
            Who::Entry(found) => StateOf::Entry(found.place, found.entry_uuid),
            Who::Root(found) => StateOf::Root(found.account.clone()),
            Who::Nobody { backend, number, .. } => StateOf::Nobody(*backend, *number),
        }
    }
}

impl Claimed {
    /// The account at the moment of the bind.
    pub(super) fn account(&self) -> Account<'_> {
        Account { policy: &self.policy, state: &self.state, now: self.now }
    }

    /// Whose guesses are counted.
    pub(super) fn guessed(&self) -> Option<Guessed> {
        match &self.who {
            Who::Entry(found) => Some(Guessed::entry(found.place)),
            Who::Root(root) => Some(root.guessed),
            Who::Nobody { number, .. } => number.map(Guessed::Nobody),
        }
    }

    /// A number of the account, for what is remembered of its password.
    pub(super) fn uuid(&self) -> Option<[u8; 16]> {
        let made = |kind: u8, number: u64| {
            let mut uuid = [kind; 16];
            uuid[8..].copy_from_slice(&number.to_le_bytes());
            uuid
        };
        match &self.who {
            Who::Entry(found) => Some(found.entry_uuid),
            Who::Root(root) => match root.guessed {
                Guessed::Root(number) => Some(made(0xff, number)),
                _ => None,
            },
            Who::Nobody { number, .. } => number.map(|number| made(0xfe, number)),
        }
    }

    /// Whether anybody can be let in.
    pub(super) fn is_somebody(&self) -> bool {
        !matches!(self.who, Who::Nobody { .. })
    }

    /// The keys by which a mechanism of SCRAM knows the account; nobody has any.
    pub(crate) fn scram_keys(&self, hash: ScramHash) -> Option<ScramKeys> {
        match self.who {
            Who::Nobody { .. } => None,
            // What is stored here does not count.
            Who::Entry(_) if self.policy.pass_through.is_some() => None,
            Who::Root(_) | Who::Entry(_) => self.passwords.iter().find_map(|stored| password::scram_keys(stored, hash)),
        }
    }

    /// Whether another server checks the password.
    pub(super) fn is_checked_elsewhere(&self) -> bool {
        let is_entry = matches!(self.who, Who::Entry(_));
        is_entry
            && (self.policy.pass_through.is_some() || self.passwords.iter().any(|it| password::sasl_user(it).is_some()))
    }

    /// Whether a stored password is slow to check.
    pub(super) fn is_slow(&self) -> bool {
        self.passwords.iter().any(|stored| password::is_slow(stored))
    }
}
