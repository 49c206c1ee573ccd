//! What binds need of the directory, and finding who is meant.

use std::sync::Arc;

use access::account::find_account;
use access::guess_sources::GuessSources;
use access::guesses::Guesses;
use access::inactive::inactive;
use access::limits::{Bound, LimitsFinder, LiveLimits, given_limits};
use access::locked_guesses::LockedGuesses;
use access::unknown_names::UnknownNames;
use access::{AccountClock, Authentication, Identity, PolicyFinder, Standing};
use accounts::{AccountState, PasswordPolicy};
use arc_swap::ArcSwap;
use ldap::LdapResult;
use password::Parameters;
use query::backend::{Backend, BackendIndex, holder};
use query::entry_place::EntryPlace;
use query::error::store_failure;
use query::facts::Facts;
use query::read_moment::ReadContext;
use schema::NormalizedDn;
use store::StoreError;

use super::claimed::{Claimed, Found, FoundRoot, Who};
use super::decoy::{Decoys, NobodysName};
use super::done::BindFailure;
use super::remembered::RememberedBinds;
use crate::account::{Reencoder, StateWriter};
use crate::in_force::InForce;
use crate::root_accounts::RootAccounts;
use crate::root_users::{RootUser, RootUsers};
use crate::second_factor::SecondFactors;
use crate::timer::Timer;

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct BindContext<'d> {
    pub(crate) in_force: &'d InForce,
    pub(crate) backends: &'d [Backend],
    pub(crate) limits: &'d LiveLimits,
    pub(crate) reading: &'d ReadContext,
    pub(crate) roots: &'d ArcSwap<RootUsers>,
    pub(crate) guesses: &'d Arc<Guesses>,
    pub(crate) locked_guesses: &'d Arc<LockedGuesses>,
    pub(crate) unknown_names: &'d UnknownNames,
    pub(crate) guess_sources: &'d GuessSources,
    pub(crate) states: &'d StateWriter,
    pub(crate) clock: &'d AccountClock,
    pub(crate) decoys: &'d Decoys,
    /// What new passwords cost.
    pub(crate) parameters: &'d ArcSwap<Parameters>,
    pub(crate) remembered: &'d RememberedBinds,
    pub(crate) reencoder: &'d Reencoder,
    pub(crate) timer: &'d Arc<Timer>,
    pub(crate) second_factors: &'d SecondFactors,
    pub(crate) root_accounts: &'d RootAccounts,
}

impl BindContext<'_> {
    /// What a failed bind leaves of a session.
    pub(super) fn nobody(&self) -> Bound {
        self.limits.nobody()
    }

    /// Who is meant by a name.
    pub(crate) fn claim(&self, name: &NormalizedDn) -> Result<Claimed, LdapResult> {
        self.claim_by(name, true)
    }

    /// Who is meant by a name that somebody trusted vouches for: the account need not have a password.
    pub(crate) fn claim_vouched(&self, name: &NormalizedDn) -> Result<Claimed, LdapResult> {
        self.claim_by(name, false)
    }

    fn claim_by(&self, name: &NormalizedDn, by_password: bool) -> Result<Claimed, LdapResult> {
        let facts = self.in_force.facts();
        if let Some(root) = self.roots.load().user(name) {
            return self.claim_root(&facts, root).map_err(|error| store_failure(&error));
        }
        let Some((at, backend)) = self.holder(name) else {
            return Ok(self.claim_of_nobody(&facts, BindFailure::NoEntry, self.outside(name.as_bytes())));
        };
        self.claim_entry(&facts, (at, backend), name, by_password).map_err(|error| store_failure(&error))
    }

    fn claim_root(&self, facts: &Arc<Facts>, root: &RootUser) -> Result<Claimed, StoreError> {
        let bound = Bound {
            identity: Identity::Root { dn: root.dn.clone() },
            authentication: Authentication::None,
            limits: self.limits_finder(facts).by_rules(&root.dn, Some(&root.name), true)?,
            standing: Standing::of_root(&root.revocation),
        };
        let (name, account, guessed) = (root.name.clone(), root.account.clone(), root.guessed());
        let state = Box::new(self.root_accounts.state(&root.account));
        Ok(Claimed {
            who: Who::Root(Box::new(FoundRoot { name, account, guessed, bound })),
            passwords: vec![root.password.clone()],
            policy: Arc::clone(&root.policy),
            state,
            now: self.clock.now(),
        })
    }

    /// Whoever is meant by what the client sent as a name, it is nobody.
    pub(crate) fn claim_nobody(&self, sent: &[u8], why: BindFailure) -> Claimed {
        self.claim_of_nobody(&self.in_force.facts(), why, self.outside(sent))
    }

    fn holder(&self, name: &NormalizedDn) -> Option<(BackendIndex, &Backend)> {
        let (at, _) = holder(self.backends, name.as_bytes())?;
        Some((at, self.backends.get(at.0)?))
    }

    fn limits_finder<'c>(&'c self, facts: &'c Arc<Facts>) -> LimitsFinder<'c> {
        LimitsFinder { live: self.limits, facts, context: self.reading }
    }

    fn claim_entry(
        &self,
        facts: &Arc<Facts>,
        (at, backend): (BackendIndex, &Backend),
        name: &NormalizedDn,
        by_password: bool,
    ) -> Result<Claimed, StoreError> {
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        let finder = PolicyFinder { facts, context: self.reading };
        let nobody = || self.decoys.nobody(name.as_bytes(), at);
        let Some(account) = find_account(finder, at, backend, &snapshot, name)? else {
            return Ok(self.claim_of_nobody(facts, BindFailure::NoEntry, nobody()));
        };
        if by_password && account.passwords.is_empty() && account.policy.pass_through.is_none() {
            return Ok(self.claim_of_nobody(facts, BindFailure::NoPassword, nobody()));
        }
        let place = EntryPlace { backend: at, id: account.id };
        let seen = view.seq().unwrap_or_default();
        let standing = Standing::of_account(place, &account, || {
            let counter = backend.store.entry_counter(place.id);
            // A change that came in between is one that this bind did not see.
            if backend.store.last_change() == seen { counter } else { counter.wrapping_sub(1) }
        });
        let stored_name = view.dn_of(account.id)?.unwrap_or_default();
        let limits = self.limits_finder(facts).by_rules(&stored_name, Some(name), false)?;
        let given = given_limits(self.reading, facts, place, &snapshot)?;
        let limits = given.unwrap_or(account.limits).over(limits);
        let inactive = inactive(self.reading, facts, place, &snapshot)?;
        let bound = Bound {
            identity: Identity::User { dn: stored_name.into(), backend: at, entry: account.id },
            authentication: Authentication::None,
            limits,
            standing,
        };
        let entry_uuid = account.uuid.unwrap_or_default();
        let found = Box::new(Found { place, entry_uuid, name: name.clone(), seen, inactive, bound });
        let mut state = account.state;
        state.is_disabled |= inactive.is_some();
        let (policy, now) = (account.policy, self.clock.now());
        if policy.require_second_factor {
            state.tokens.require();
        }
        let passwords = match &policy.pass_through {
            // What may be stored here does not count; nobody knows the password of this.
            Some(_) => vec![self.decoys.made((policy.new_scheme(), &self.parameters.load()))],
            None => account.passwords,
        };
        Ok(Claimed { who: Who::Entry(found), passwords, policy, state, now })
    }

    /// Nobody, for that reason.
    fn claim_of_nobody(&self, facts: &Arc<Facts>, why: BindFailure, nobody: NobodysName) -> Claimed {
        let policy = PolicyFinder { facts, context: self.reading }.default_policy();
        let new = (policy.new_scheme(), &**self.parameters.load());
        let passwords = self.decoys.of((facts, self.backends), nobody, new);
        // Without a name there is no account that guesses could be counted for.
        let number = (why != BindFailure::NoName).then_some(nobody.number);
        let state = Box::new(self.state_of_nobody(&policy, number));
        let who = Who::Nobody { why, backend: nobody.backend, number };
        Claimed { who, passwords, policy, state, now: self.clock.now() }
    }

    fn state_of_nobody(&self, policy: &PasswordPolicy, number: Option<u64>) -> AccountState {
        let counted = number.filter(|_| policy.lock_rules().count_failures());
        counted.map(|number| self.unknown_names.state(number)).unwrap_or_default()
    }

    /// Whether some policy counts wrong passwords, for whomever it holds.
    pub(super) fn some_policy_counts(&self) -> bool {
        let counts = self.reading.policies.count_failures(&self.in_force.facts(), self.backends);
        // What cannot be read is taken for the slower case.
        counts.unwrap_or(true)
    }

    /// The same account as it is now, if something was written to its backend since.
    pub(super) fn renew(&self, claimed: Claimed) -> Result<Claimed, StoreError> {
        Ok(self.renewed(&claimed)?.unwrap_or(claimed))
    }

    /// The same; none when nothing was written.
    pub(super) fn renewed(&self, claimed: &Claimed) -> Result<Option<Claimed>, StoreError> {
        let found = match &claimed.who {
            Who::Entry(found) => found,
            Who::Root(found) => {
                let facts = self.in_force.facts();
                let now = match self.roots.load().user(&found.name) {
                    Some(root) => self.claim_root(&facts, root)?,
                    None => self.claim_of_nobody(&facts, BindFailure::NoEntry, self.outside(found.name.as_bytes())),
                };
                return Ok(Some(now));
            }
            Who::Nobody { why, backend, number } => {
                let who = Who::Nobody { why: *why, backend: *backend, number: *number };
                let state = Box::new(self.state_of_nobody(&claimed.policy, *number));
                let (passwords, policy) = (claimed.passwords.clone(), Arc::clone(&claimed.policy));
                return Ok(Some(Claimed { who, passwords, policy, state, now: self.clock.now() }));
            }
        };
        let at = found.place.backend;
        let Some(backend) = self.backends.get(at.0) else { return Ok(None) };
        if backend.store.last_change() == found.seen {
            return Ok(None);
        }
        self.claim_entry(&self.in_force.facts(), (at, backend), &found.name, true).map(Some)
    }

    /// A name that no backend holds is like one of the first.
    fn outside(&self, name: &[u8]) -> NobodysName {
        self.decoys.nobody(name, BackendIndex(0))
    }
}
