//! Whether a session may go on as what it is bound as: root users come and go with the configuration, accounts are
//! deleted, disabled, locked, and given other passwords.
//!
//! A session of an account compares one number at each request: that of its entry, which changes whenever the entry is
//! written. Only then the entry is looked at again.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use accounts::{Account as AccountNow, Lock, Moment};
use query::entry::{DnParts, EntryView};
use query::entry_place::EntryPlace;
use query::read_moment::ReadContext;
use store::StoreError;

use crate::account::Account;
use crate::account_policy::PolicyFinder;
use crate::account_state;
use crate::inactive::inactive;

/// What a session keeps of what it is bound as.
#[derive(Clone, Debug, Default)]
pub struct Standing(Kind);

#[derive(Clone, Debug, Default)]
enum Kind {
    /// Nobody takes it away: that of anonymous clients.
    #[default]
    Lasting,
    /// That of a root user.
    Root(RootStanding),
    /// That of an account.
    Account(AccountStanding),
}

/// Shared by a root user and all sessions that are bound as this user.
#[derive(Clone, Debug, Default)]
pub struct Revocation(Arc<AtomicBool>);

#[derive(Clone, Debug)]
struct RootStanding {
    revocation: Revocation,
    /// The session may only change the password; that ends it.
    must_change: bool,
}

#[derive(Clone, Debug)]
struct AccountStanding {
    place: EntryPlace,
    uuid: Option<[u8; 16]>,
    /// When somebody else set the account's password last, as of the bind.
    password_reset: Option<Moment>,
    /// When an administrator disabled the account last, as of the bind.
    last_disabled: Option<Moment>,
    /// The entry's counter when it was looked at.
    counter: Cell<u32>,
    /// What the session is limited for until the password was changed.
    limit: Cell<Limit>,
    /// Set when the password was changed on this connection; none where the session was never limited.
    changed_here: Option<Arc<AtomicBool>>,
}

/// Why a session may only change its password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Limit {
    /// It may do everything.
    #[default]
    None,
    /// It began with a grace login; it ends when the password is no longer expired.
    Expired,
    /// The password was set by somebody else. Whoever knows that one must not profit from another connection's change.
    Reset,
}

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Revoked {
    /// The root user is gone, disabled or locked by an administrator, or has another password.
    #[error("The root user of this connection was removed, disabled or locked, or has another password: bind again")]
    RootUser,
    /// OpenDJ's text.
    #[error(
        "Terminating the client connection because its associated authentication or authorization entry has been \
         deleted"
    )]
    Deleted,
    /// By an administrator.
    #[error("The account of this connection was disabled")]
    Disabled,
    /// By an administrator, until somebody unlocks it.
    #[error("The account of this connection was locked")]
    Locked,
    /// By somebody else than its user.
    #[error("The password of this connection's account was reset: bind again")]
    PasswordReset,
}

impl Revocation {
    /// The sessions that share it are no longer valid.
    pub fn revoke(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether that was said.
    #[must_use]
    pub fn is_revoked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Standing {
    /// That of a root user.
    #[must_use]
    pub fn of_root(revocation: &Revocation) -> Self {
        Self(Kind::Root(RootStanding { revocation: revocation.clone(), must_change: false }))
    }

    /// That of an account as it was read; `counter` is its entry's, from when it was read.
    pub fn of_account(place: EntryPlace, account: &Account, counter: impl FnOnce() -> u32) -> Self {
        Self(Kind::Account(AccountStanding {
            place,
            uuid: account.uuid,
            password_reset: account.state.password_reset,
            last_disabled: account.state.last_disabled,
            counter: Cell::new(counter()),
            limit: Cell::default(),
            changed_here: None,
        }))
    }

    /// Says that the session may only change its password: because it was reset, or has expired.
    pub fn limit_to_change(&mut self, is_reset: bool) {
        match &mut self.0 {
            Kind::Lasting => {}
            Kind::Root(root) => root.must_change = true,
            Kind::Account(account) => {
                account.limit.set(if is_reset { Limit::Reset } else { Limit::Expired });
                account.changed_here = Some(Arc::default());
            }
        }
    }

    /// Whether the session may only change its password.
    #[inline]
    #[must_use]
    pub fn must_change(&self) -> bool {
        match &self.0 {
            Kind::Lasting => false,
            Kind::Root(root) => root.must_change,
            Kind::Account(account) => account.limit.get() != Limit::None && !account.has_changed(),
        }
    }

    /// Where to note that the password was changed on this connection; none where nobody asks.
    #[must_use]
    pub fn changed_here(&self) -> Option<Arc<AtomicBool>> {
        match &self.0 {
            Kind::Account(account) => account.changed_here.clone(),
            Kind::Lasting | Kind::Root(_) => None,
        }
    }

    /// Whether the session can end.
    #[inline]
    #[must_use]
    pub fn is_watched(&self) -> bool {
        !matches!(self.0, Kind::Lasting)
    }

    /// Whether something may have happened since the last look.
    #[inline]
    #[must_use]
    pub fn is_in_doubt(&self, context: &ReadContext) -> bool {
        match &self.0 {
            Kind::Lasting => false,
            Kind::Root(root) => root.revocation.is_revoked(),
            Kind::Account(account) => account.counter_now(context) != Some(account.counter.get()),
        }
    }

    /// Why the session ends, if it does; looks at the entry. Where that cannot be read, the session goes on.
    #[cold]
    pub fn look_again(&self, finder: PolicyFinder<'_>, now: Moment) -> Option<Revoked> {
        match &self.0 {
            Kind::Lasting => None,
            Kind::Root(root) => root.revocation.is_revoked().then_some(Revoked::RootUser),
            Kind::Account(account) => account.look_again(finder, now).unwrap_or(None),
        }
    }
}

impl AccountStanding {
    fn has_changed(&self) -> bool {
        self.changed_here.as_ref().is_some_and(|changed| changed.load(Ordering::Acquire))
    }

    fn counter_now(&self, context: &ReadContext) -> Option<u32> {
        let backend = context.backends.get(self.place.backend.0)?;
        Some(backend.store.entry_counter(self.place.id))
    }

    fn look_again(&self, finder: PolicyFinder<'_>, now: Moment) -> Result<Option<Revoked>, StoreError> {
        let Some(backend) = finder.context.backends.get(self.place.backend.0) else { return Ok(None) };
        // Before the snapshot: what is written in between is looked at the next time.
        let counter = backend.store.entry_counter(self.place.id);
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        let Some(record) = view.entry(self.place.id)? else { return Ok(Some(Revoked::Deleted)) };
        let record = record.view()?;
        if record.header().uuid != self.uuid {
            return Ok(Some(Revoked::Deleted));
        }
        let policy = finder.of_entry(self.place, &record, &snapshot)?;
        let entry = EntryView { id: self.place.id, record, dn: DnParts::default(), source: &view };
        let state = account_state::read(finder.facts, &entry, &policy)?;
        // It may have been enabled again since.
        let was_disabled = state.last_disabled != self.last_disabled;
        if state.is_disabled || was_disabled || inactive(finder.context, finder.facts, self.place, &snapshot)?.is_some()
        {
            return Ok(Some(Revoked::Disabled));
        }
        if state.lock == Some(Lock::UntilUnlocked) {
            return Ok(Some(Revoked::Locked));
        }
        if state.password_reset != self.password_reset {
            return Ok(Some(Revoked::PasswordReset));
        }
        let account = AccountNow { policy: &policy, state: &state, now };
        if self.limit.get() == Limit::Expired && !account.expiry().is_expired {
            self.limit.set(Limit::None);
        }
        self.counter.set(counter);
        Ok(None)
    }
}
