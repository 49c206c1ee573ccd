//! Bind (RFC 4511 §4.2, RFC 4513): from a name and a password to an identity.
//!
//! A refusal never tells whether the name exists: result, message and, as far as can be, time are the same.
//! Deliberately slow hashes are given back as a job for a pool. SASL mechanisms are refused.

use arc_swap::ArcSwap;
use ldap::oids::control;
use ldap::{Authentication, BindRequest, ControlBuf, Controls, LdapResult, ResultCode};
use schema::NormalizedDn;
use zeroize::Zeroizing;

use crate::in_force::InForce;
use crate::refusal::Refusal;
use crate::root_users::RootUsers;
use access::account::stored_passwords;
use access::inactive::{Inactive, LOCKED_MESSAGE, inactive};
use access::limits::{Bound, LimitsFinder, LiveLimits, given_limits};
use access::{Identity, Standing};
use query::backend::{Backend, holder};
use query::entry_place::EntryPlace;
use query::error::{invalid_dn, shown, store_failure};
use query::read_moment::ReadContext;

/// Verified against when there is nothing to verify against, so that a missing name takes as long as a wrong password.
const NOBODYS_PASSWORD: &[u8] =
    b"{SSHA512}5IB4vKvtQsnhcQPoBXfnKcGftUVbYzQakhIQQhjOZrdI+eCwtiqiP7nnl/GeO3tQHX6tplnlPbJKYuVm9jL8vvr7/P3+/wEC";

/// Where a bind is.
#[must_use = "a slow bind has to be run on a pool"]
pub enum BindStep {
    /// Decided.
    Done(BindDone),
    /// The stored password is slow to check: call [`HashJob::run`] on a pool.
    SlowHash(HashJob),
}

/// How a bind ended.
pub struct BindDone {
    /// For the client.
    pub result: LdapResult,
    /// What the session is from now on: anonymous unless it succeeded.
    pub bound: Bound,
    /// Why the credentials were not good, for the log's reader; the client is told by configuration only.
    pub failure: Option<BindFailure>,
}

/// What was wrong with a name and a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindFailure {
    /// A simple bind with an empty name.
    #[error("There is a password, but no name")]
    NoName,
    /// No backend, or no entry.
    #[error("There is no entry with this name")]
    NoEntry,
    /// An entry that nobody can bind as.
    #[error("The entry has no password")]
    NoPassword,
    /// None of the entry's passwords.
    #[error("The password is wrong")]
    WrongPassword,
    /// The right password of an account that may not bind.
    #[error("The account is inactivated (nsAccountLock)")]
    Inactivated,
    /// The right password of an account that is disabled.
    #[error("The account is disabled (ds-pwp-account-disabled)")]
    Disabled,
}

/// How a bind ends that does not succeed.
enum Ending {
    /// It did not get as far as a password.
    Refused(LdapResult),
    /// Name and password were judged.
    Failed(BindFailure),
}

impl<R: Into<LdapResult>> From<R> for Ending {
    fn from(result: R) -> Ending {
        Ending::Refused(result.into())
    }
}

/// A bind that waits for a slow hash.
pub struct HashJob {
    stored: Vec<Vec<u8>>,
    clear: Zeroizing<Vec<u8>>,
    bound: Bound,
    /// Why the account may not bind. At most who knows the password is told.
    inactive: Option<Inactive>,
    /// What is left if the password is wrong.
    nobody: Bound,
    verbose: bool,
}

/// What binds need of the directory.
pub(crate) struct BindContext<'d> {
    pub(crate) in_force: &'d InForce,
    pub(crate) backends: &'d [Backend],
    pub(crate) limits: &'d LiveLimits,
    pub(crate) reading: &'d ReadContext,
    pub(crate) roots: &'d ArcSwap<RootUsers>,
}

/// Controls of the response to a successful bind: the authorization identity if it was asked for (RFC 3829).
pub(crate) fn bind_controls(controls: &Controls<'_>, identity: &Identity) -> Vec<ControlBuf> {
    match controls.find(control::AUTHORIZATION_IDENTITY_REQUEST) {
        Some(_) => {
            let value = identity.authorization_id().into_bytes();
            vec![ControlBuf::new(control::AUTHORIZATION_IDENTITY_RESPONSE, Some(value))]
        }
        None => Vec::new(),
    }
}

impl BindContext<'_> {
    /// Checks a bind request.
    pub(crate) fn bind(&self, request: &BindRequest<'_>, controls: &Controls<'_>) -> BindStep {
        self.try_bind(request, controls).unwrap_or_else(|ending| {
            BindStep::Done(match ending {
                Ending::Refused(result) => BindDone { result, bound: self.nobody(), failure: None },
                Ending::Failed(failure) => BindDone::failed(failure, self.nobody(), self.roots.load().verbose),
            })
        })
    }

    fn nobody(&self) -> Bound {
        self.limits.nobody()
    }

    fn try_bind(&self, request: &BindRequest<'_>, controls: &Controls<'_>) -> Result<BindStep, Ending> {
        for item in controls.iter() {
            if item.critical && item.oid != control::AUTHORIZATION_IDENTITY_REQUEST.as_bytes() {
                return Err(Refusal::critical_control(item.oid).into());
            }
        }
        if !(2..=3).contains(&request.version) {
            return Err(Refusal::ProtocolVersion { version: request.version }.into());
        }
        let clear = match request.authentication {
            Authentication::Simple(clear) => clear,
            Authentication::Sasl { mechanism, .. } => {
                return Err(Refusal::SaslMechanism { mechanism: shown(mechanism) }.into());
            }
        };
        match (request.name, clear) {
            ([], []) => Ok(BindStep::Done(BindDone::succeeded(self.nobody()))),
            ([], _) => Err(Ending::Failed(BindFailure::NoName)),
            (_, []) if self.roots.load().dn_requires_password => {
                // RFC 4513 §5.1.2: many a client takes an unauthenticated bind for a login.
                Err(Refusal::NameWithoutPassword.into())
            }
            (_, []) => Ok(BindStep::Done(BindDone::succeeded(self.nobody()))),
            (name, clear) => self.check_password(name, clear),
        }
    }

    fn check_password(&self, dn: &[u8], clear: &[u8]) -> Result<BindStep, Ending> {
        let facts = self.in_force.facts();
        let limits = LimitsFinder { live: self.limits, facts: &facts, context: self.reading };
        let name = NormalizedDn::parse(&facts.schema, dn).map_err(|error| invalid_dn(dn, error))?;
        if let Some(root) = self.roots.load().user(&name) {
            let limits = limits.by_rules(&root.dn, Some(&name), true).map_err(|error| store_failure(&error))?;
            let identity = Identity::Root { dn: root.dn.clone() };
            let authentication = access::Authentication::Simple;
            let bound = Bound { identity, authentication, limits, standing: root.standing.clone() };
            return Ok(self.judge(vec![root.password.clone()], clear, bound, None));
        }
        let nobody = |failure| {
            let _ = password::verify(NOBODYS_PASSWORD, clear);
            Ending::Failed(failure)
        };
        let Some((at, _)) = holder(self.backends, name.as_bytes()) else { return Err(nobody(BindFailure::NoEntry)) };
        let Some(backend) = self.backends.get(at.0) else { return Err(nobody(BindFailure::NoEntry)) };
        let snapshot = backend.store.snapshot().map_err(|error| store_failure(&error))?;
        let view = snapshot.view();
        let account = stored_passwords(&facts, backend, &view, &name).map_err(|error| store_failure(&error))?;
        let Some(account) = account else { return Err(nobody(BindFailure::NoEntry)) };
        if account.passwords.is_empty() {
            return Err(nobody(BindFailure::NoPassword));
        }
        let stored_name = view.dn_of(account.id).map_err(|error| store_failure(&error))?.unwrap_or_default();
        let limits = limits.by_rules(&stored_name, Some(&name), false);
        let place = EntryPlace { backend: at, id: account.id };
        let given = given_limits(self.reading, &facts, place, &snapshot).map_err(|error| store_failure(&error))?;
        let limits = given.unwrap_or(account.limits).over(limits.map_err(|error| store_failure(&error))?);
        let identity = Identity::User { dn: stored_name.into(), backend: at, entry: account.id };
        let inactive = inactive(self.reading, &facts, place, &snapshot).map_err(|error| store_failure(&error))?;
        let authentication = access::Authentication::Simple;
        let bound = Bound { identity, authentication, limits, standing: Standing::default() };
        Ok(self.judge(account.passwords, clear, bound, inactive))
    }

    fn judge(&self, stored: Vec<Vec<u8>>, clear: &[u8], bound: Bound, inactive: Option<Inactive>) -> BindStep {
        let (nobody, verbose) = (self.nobody(), self.roots.load().verbose);
        let job = HashJob { stored, clear: Zeroizing::new(clear.to_vec()), bound, inactive, nobody, verbose };
        if job.stored.iter().any(|stored| password::is_slow(stored)) {
            return BindStep::SlowHash(job);
        }
        BindStep::Done(job.run())
    }
}

impl BindDone {
    fn succeeded(bound: Bound) -> BindDone {
        BindDone { result: LdapResult::success(), bound, failure: None }
    }

    /// Result and message are the same for every failure, unless the configuration lets clients know (`verbose`).
    fn failed(failure: BindFailure, nobody: Bound, verbose: bool) -> BindDone {
        let message = if verbose { failure.to_string() } else { String::new() };
        let result = LdapResult::new(ResultCode::INVALID_CREDENTIALS, message);
        BindDone { result, bound: nobody, failure: Some(failure) }
    }
}

impl HashJob {
    /// Checks the password; takes as long as the stored value's cost says.
    #[must_use]
    pub fn run(self) -> BindDone {
        // Every value is tried, so that the time does not tell which one it was.
        let matches = self.stored.iter().fold(false, |found, stored| password::verify(stored, &self.clear) | found);
        match (matches, self.inactive) {
            (true, None) => BindDone::succeeded(self.bound),
            (true, Some(Inactive::Disabled)) => BindDone::failed(BindFailure::Disabled, self.nobody, self.verbose),
            (true, Some(Inactive::Locked)) => BindDone {
                // A text that other servers' clients know.
                result: LdapResult::new(ResultCode::UNWILLING_TO_PERFORM, LOCKED_MESSAGE),
                bound: self.nobody,
                failure: Some(BindFailure::Inactivated),
            },
            (false, _) => BindDone::failed(BindFailure::WrongPassword, self.nobody, self.verbose),
        }
    }
}
