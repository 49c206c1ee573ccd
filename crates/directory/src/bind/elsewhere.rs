//! Passwords that another server checks: another directory, as the account's policy says (OpenDJ's LDAP pass-through
//! authentication), or saslauthd, where the stored value is `{SASL}USER@REALM` (slapd).
//!
//! What is asked, and what follows from the answer. Who asks, over which connection, is [`RemotePasswords`]. It takes
//! as long as a network does: it belongs on a thread that may wait.

use std::ops::ControlFlow;
use std::sync::Arc;

use access::account_state::{CACHED_PASSWORD, CACHED_PASSWORD_TIME, moment};
use accounts::pass_through::{CacheRule, Mapping, PassThrough};
use accounts::{Moment, StateChange};
use password::PASSWORD_BYTES_MAX;
use query::entry::{DnParts, EntryView, StoredAt, each_stored};
use query::entry_place::EntryPlace;
use query::facts::Facts;
use store::{Snapshot, StoreError};

use super::claimed::Who;
use super::context::BindContext;
use super::done::BindDone;
use super::step::{Attempt, BindStep, Guessing, RemoteJob};
use crate::account::{StateOf, StateWrite};
use crate::refusal::Refusal;

/// `{SASL}` values of one entry that saslauthd is asked about.
const SASL_VALUES_MAX: usize = 4;

/// Asks other servers whether passwords are right.
pub trait RemotePasswords {
    /// Whether a password is right; blocks until that is known, or cannot be.
    fn check(&self, question: &RemoteQuestion<'_>) -> RemoteVerdict;
}

/// What another server is asked.
#[derive(Clone, Copy)]
pub struct RemoteQuestion<'q> {
    /// Who it is about.
    pub account: RemoteAccount<'q>,
    /// The password that was given.
    pub password: &'q [u8],
}

/// An account as another server is asked about it.
#[derive(Clone, Copy, Debug)]
pub enum RemoteAccount<'q> {
    /// One of another directory.
    Directory {
        /// The name of the policy, which says which directory.
        policy: &'q str,
        /// How the account is found there.
        mapping: &'q Mapping,
        /// The name of its entry here.
        dn: &'q str,
        /// Its values of [`Mapping::attributes`], in their order, each with the attribute's name.
        values: &'q [(&'q str, Vec<u8>)],
    },
    /// One that saslauthd knows.
    Saslauthd {
        /// `USER@REALM`, or `USER`.
        user: &'q [u8],
    },
}

/// What another server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteVerdict {
    /// The password is right.
    Right,
    /// It is not, or there is no such account; why is for the log.
    Wrong(String),
    /// Nobody can be asked; why is for the log.
    Unavailable(String),
}

/// Who checks the password of a bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere<'j> {
    /// The directory of the policy of that name.
    Directory(&'j str),
    /// saslauthd.
    Saslauthd,
}

/// How such a bind goes on, and what the other server said, for the log.
pub struct RemoteDone {
    /// Where the bind is.
    pub step: BindStep,
    /// Why the password is not right, or nobody can be asked.
    pub reason: Option<String>,
}

/// A password that another directory said is right.
struct Cached {
    stored: Vec<u8>,
    at: Moment,
}

impl RemoteJob {
    /// Who checks the password.
    #[must_use]
    pub fn elsewhere(&self) -> Elsewhere<'_> {
        let policy = &self.attempt.claimed.policy;
        if policy.pass_through.is_some() { Elsewhere::Directory(&policy.dn) } else { Elsewhere::Saslauthd }
    }

    /// Checks the password.
    pub(crate) fn run_in(self, context: &BindContext<'_>, remote: &dyn RemotePasswords) -> RemoteDone {
        let RemoteJob { attempt, clear } = self;
        if clear.len() > PASSWORD_BYTES_MAX {
            return RemoteDone { step: context.conclude(attempt, false), reason: Some("It is too long".to_owned()) };
        }
        let checked = match attempt.claimed.policy.pass_through.clone() {
            Some(pass_through) => context.check_in_directory(attempt, &pass_through, &clear, remote),
            None => context.check_by_saslauthd(attempt, &clear, remote),
        };
        checked.unwrap_or_else(|error| RemoteDone { step: *context.failed_to_read(&error), reason: None })
    }
}

impl BindContext<'_> {
    fn check_in_directory(
        &self,
        attempt: Attempt,
        pass_through: &PassThrough,
        clear: &[u8],
        remote: &dyn RemotePasswords,
    ) -> Result<RemoteDone, StoreError> {
        let Who::Entry(found) = &attempt.claimed.who else { return Ok(wrong(self, attempt, "It is no entry")) };
        let facts = self.in_force.facts();
        let cached = self.cached_password(&facts, found.place)?;
        if let (Some(rule), Some(cached)) = (&pass_through.cached, &cached)
            && rule.counts(cached.at, attempt.claimed.now)
            && password::verify(&cached.stored, clear)
        {
            return Ok(RemoteDone { step: self.go_on(attempt, true)?, reason: None });
        }
        let values = self.values(&facts, found.place, pass_through.mapping.attributes())?;
        let account = RemoteAccount::Directory {
            policy: &attempt.claimed.policy.dn,
            mapping: &pass_through.mapping,
            dn: found.bound.identity.dn(),
            values: &values,
        };
        let verdict = remote.check(&RemoteQuestion { account, password: clear });
        let (place, entry_uuid, at) = (found.place, found.entry_uuid, self.clock.now());
        let write = |change| {
            self.states.write(StateWrite {
                of: StateOf::Entry(place, entry_uuid),
                changes: vec![change],
                guess: None,
                done: None,
            });
        };
        match verdict {
            RemoteVerdict::Unavailable(reason) => Ok(self.unavailable(attempt, reason)),
            RemoteVerdict::Wrong(reason) => {
                if cached.is_some() {
                    write(StateChange::ForgetCachedPassword { at });
                }
                Ok(RemoteDone { step: self.go_on(attempt, false)?, reason: Some(reason) })
            }
            RemoteVerdict::Right => {
                let step = self.go_on(attempt, true)?;
                if let (Some(rule), true) = (&pass_through.cached, step.is_success())
                    && let Some(value) = self.encoded(rule, clear)
                {
                    write(StateChange::CachePassword { at, value });
                }
                Ok(RemoteDone { step, reason: None })
            }
        }
    }

    fn check_by_saslauthd(
        &self,
        attempt: Attempt,
        clear: &[u8],
        remote: &dyn RemotePasswords,
    ) -> Result<RemoteDone, StoreError> {
        // An entry may have other values beside: those are checked here, and first, because that costs nobody anything.
        let stored = &attempt.claimed.passwords;
        if stored.iter().fold(false, |found, stored| password::verify(stored, clear) | found) {
            return Ok(RemoteDone { step: self.go_on(attempt, true)?, reason: None });
        }
        let mut reasons = (None, None);
        for user in stored.iter().filter_map(|stored| password::sasl_user(stored)).take(SASL_VALUES_MAX) {
            let account = RemoteAccount::Saslauthd { user };
            match remote.check(&RemoteQuestion { account, password: clear }) {
                RemoteVerdict::Right => return Ok(RemoteDone { step: self.go_on(attempt, true)?, reason: None }),
                RemoteVerdict::Wrong(reason) => reasons.0 = Some(reason),
                RemoteVerdict::Unavailable(reason) => reasons.1 = Some(reason),
            }
        }
        match reasons {
            (_, Some(reason)) => Ok(self.unavailable(attempt, reason)),
            (reason, None) => Ok(RemoteDone { step: self.go_on(attempt, false)?, reason }),
        }
    }

    /// What follows from the answer: much can have happened to the account meanwhile.
    fn go_on(&self, mut attempt: Attempt, is_right: bool) -> Result<BindStep, StoreError> {
        let passwords = std::mem::take(&mut attempt.claimed.passwords);
        let policy = Arc::clone(&attempt.claimed.policy);
        let claimed = self.renew(attempt.claimed)?;
        let is_same = policy.pass_through == claimed.policy.pass_through
            && (policy.pass_through.is_some() || claimed.passwords.is_empty() || claimed.passwords == passwords);
        Ok(self.conclude(Attempt { claimed, ..attempt }, is_right && is_same))
    }

    /// Nobody can be asked: that is no wrong password, and does not count as one.
    fn unavailable(&self, attempt: Attempt, reason: String) -> RemoteDone {
        if let Guessing::UnderLock(guess) = attempt.guess {
            guess.give_back();
        }
        let (result, bound) = (Refusal::PasswordServerUnavailable.into(), self.nobody());
        let done = BindDone { result, controls: Vec::new(), bound, failure: None };
        RemoteDone { step: BindStep::Done(done), reason: Some(reason) }
    }

    /// The form in which a password is kept; none when the system has no randomness.
    fn encoded(&self, rule: &CacheRule, clear: &[u8]) -> Option<Vec<u8>> {
        password::encode_random(rule.scheme, &self.parameters.load(), clear).ok()
    }

    fn snapshot(&self, place: EntryPlace) -> Result<Option<Snapshot>, StoreError> {
        self.backends.get(place.backend.0).map(|backend| backend.store.snapshot()).transpose()
    }

    fn cached_password(&self, facts: &Facts, place: EntryPlace) -> Result<Option<Cached>, StoreError> {
        let Some(snapshot) = self.snapshot(place)? else { return Ok(None) };
        let view = snapshot.view();
        let Some(record) = view.entry(place.id)? else { return Ok(None) };
        let source = StoredAt::new(place.backend, view);
        let entry = EntryView { id: place.id, record: record.view()?, dn: DnParts::default(), source: &source };
        let first = |name: &str| -> Result<Option<Vec<u8>>, StoreError> {
            let mut first = None;
            if let Some(attribute) = facts.schema.attribute_type(name.as_bytes()) {
                each_stored(&entry, attribute.index, &mut |value| {
                    first = Some(value.to_vec());
                    ControlFlow::Break(())
                })?;
            }
            Ok(first)
        };
        let (Some(stored), Some(time)) = (first(CACHED_PASSWORD)?, first(CACHED_PASSWORD_TIME)?) else {
            return Ok(None);
        };
        Ok(moment(&time).map(|at| Cached { stored, at }))
    }

    /// The values that an entry has, or is given, of attributes.
    fn values<'n>(
        &self,
        facts: &Arc<Facts>,
        place: EntryPlace,
        names: &'n [String],
    ) -> Result<Vec<(&'n str, Vec<u8>)>, StoreError> {
        let types =
            || names.iter().filter_map(|name| Some((name, facts.schema.attribute_type(name.as_bytes())?.index)));
        let mut values = Vec::new();
        let Some(snapshot) = self.snapshot(place)? else { return Ok(values) };
        let mut take = |name: &'n String, each: &mut dyn FnMut(Each<'_>) -> Result<(), StoreError>| {
            each(&mut |value| {
                values.push((name.as_str(), value.to_vec()));
                ControlFlow::Continue(())
            })
        };
        let wanted = types().map(|(_, index)| index);
        let given = self.reading.if_given(facts, place, &snapshot, wanted, |computed, entry| {
            types().try_for_each(|(name, index)| take(name, &mut |each| computed.values_of(entry, index, each)))
        })?;
        if given.is_none()
            && let Some(record) = snapshot.view().entry(place.id)?
        {
            let source = StoredAt::new(place.backend, snapshot.view());
            let entry = EntryView { id: place.id, record: record.view()?, dn: DnParts::default(), source: &source };
            types().try_for_each(|(name, index)| take(name, &mut |each| each_stored(&entry, index, each)))?;
        }
        Ok(values)
    }
}

/// Takes one value after the other.
type Each<'e> = &'e mut dyn FnMut(&[u8]) -> ControlFlow<()>;

fn wrong(context: &BindContext<'_>, attempt: Attempt, reason: &str) -> RemoteDone {
    RemoteDone { step: context.conclude(attempt, false), reason: Some(reason.to_owned()) }
}
