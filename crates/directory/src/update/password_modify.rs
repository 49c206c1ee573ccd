//! The password modify extended operation (RFC 3062): becomes a modify request of `userPassword`, after the old
//! password was compared and the new one checked and hashed, or made.
//!
//! Knows whose password it is about; the root users' own are in the configuration file. Who is not authenticated proves
//! with the old password to be the user: whatever is wrong with that is answered alike.

use std::sync::Arc;

use access::{Identity, Privilege};
use accounts::{PasswordPolicyResponse, PolicyError};
use change::proposal::Kind;
use ldap::extended::PasswordModify;
use ldap::{LdapResult, MadeUpdate, ModifyOperation, ResultCode};
use query::backend::BackendIndex;
use query::error::{invalid_dn, no_such_object};
use query::facts::Facts;
use schema::NormalizedDn;
use store::EntryId;
use zeroize::Zeroizing;

use super::context::UpdateContext;
use super::decided::Decided;
use super::done::{ExtendedAnswer, UpdateDone};
use super::old_password::{self, OldPassword};
use super::order::{KeptUpdate, Order, Ready, UpdateRequest};
use super::password_case::{Asker, PasswordCase};
use super::password_checks::{Refused, tell};
use super::policy_control::refused_by_policy;
use super::rights::{Refusal as RightsRefusal, Told};
use crate::bind::ClearPassword;
use crate::refusal::Refusal;
use crate::session::Session;

/// The account whose password is to change.
struct Whose {
    name: NormalizedDn,
    dn: String,
    at: BackendIndex,
}

/// The new password.
#[derive(Default)]
struct New {
    stored: Vec<Vec<u8>>,
    /// The stored values of the old password, where other passwords stay; empty where the new one is the only one.
    replaced: Vec<Vec<u8>>,
    /// In clear, when the server made it.
    generated: Option<Zeroizing<Vec<u8>>>,
}

impl UpdateContext<'_> {
    pub(super) fn prepare_password_modify(
        &self,
        order: &Order<'_, '_>,
        wanted: &PasswordModify<'_>,
    ) -> Result<Ready<'static>, Box<Told>> {
        let facts = self.facts();
        if !order.session.identity.is_anonymous() {
            return self.password_modify_as(order, wanted, &facts, false);
        }
        if wanted.user_identity.is_none_or(<[u8]>::is_empty) {
            return Err(Refusal::AnonymousPassword.into());
        }
        let Some(old) = wanted.old_password else {
            let refused = Refused::new(Refusal::AnonymousWithoutOld, PolicyError::PasswordModNotAllowed);
            return tell(refused, &None);
        };
        let dn = self.target(order, wanted).unwrap_or_default();
        let name = NormalizedDn::parse(&facts.schema, dn.as_bytes()).unwrap_or_default();
        let wrong = || LdapResult::new(ResultCode::INVALID_CREDENTIALS, "");
        let (may_be_slow, address) = (order.may_be_slow, order.session.address);
        let password = ClearPassword { clear: old, may_be_slow, with_code: true, address };
        match self.compare_old(order, old_password::Whose { name: &name, sent: dn.as_bytes() }, password, wrong)? {
            OldPassword::TakesLong => Ok(Ready::Slow(KeptUpdate::PasswordModify(wanted.encode().into()))),
            OldPassword::Wrong(refused) => tell(refused, &None),
            OldPassword::Right(proven) => {
                let session = order.session.acting_as(proven.identity());
                self.password_modify_as(&Order { session: &session, ..*order }, wanted, &facts, true)
            }
        }
    }

    /// The answer to who names a user whom no entry is found for. Who may not reset passwords is not told which users
    /// there are.
    pub(crate) fn unknown_user(
        &self,
        session: &Session,
        asked: UpdateRequest<'_, '_>,
        result: LdapResult,
    ) -> UpdateDone {
        let UpdateRequest { controls, operation, message_id, .. } = asked;
        let order = Order { session, controls, operation, message_id, may_be_slow: false };
        let may_reset = self.rights_of(&order, &self.facts()).map(|rights| rights.has(Privilege::PasswordReset));
        let told = match may_reset {
            Ok(true) => Told::open(result),
            Ok(false) => {
                Told { policy: Some(PolicyError::PasswordModNotAllowed), ..Told::from(RightsRefusal::ResetPassword) }
            }
            Err(result) => Told::open(result),
        };
        refused_by_policy(controls, told)
    }

    fn password_modify_as(
        &self,
        order: &Order<'_, '_>,
        wanted: &PasswordModify<'_>,
        facts: &Arc<Facts>,
        is_proven: bool,
    ) -> Result<Ready<'static>, Box<Told>> {
        let controls = self.update_controls(order, Kind::PasswordModify)?;
        let whose = self.whose(order, wanted, facts)?;
        let identity = self.requestor(&order.session.identity)?;
        let mut controls = controls.owned();
        // Rights are asked for before any password is looked at: with the new one, if the client sends it.
        let asked = made_update(&whose.dn, &New::asked(wanted));
        let reviewed = self.review_made(order, (&identity, whose.at, Kind::PasswordModify), &asked, &mut controls);
        let (judged, review) = reviewed.map_err(|mut told| {
            if told.result.code == ResultCode::INSUFFICIENT_ACCESS_RIGHTS {
                told.policy = Some(PolicyError::PasswordModNotAllowed);
            }
            told
        })?;
        let slow = || Ok(Ready::Slow(KeptUpdate::PasswordModify(wanted.encode().into())));
        let check_old = |old: &[u8]| match is_proven {
            true => Ok(()),
            false => {
                let whose = old_password::Whose { name: &whose.name, sent: whose.dn.as_bytes() };
                self.check_old(order, whose, old, Refusal::WrongOldPassword).map(drop)
            }
        };
        let asker = Asker { order, identity: &identity };
        let case = match self.password_case(facts, &asker, whose.at, &whose.name) {
            Ok(case) => case,
            Err(result) => return tell(result.into(), &review),
        };
        let (case, new) = match case {
            Some(case) => match case.judge(facts, wanted, order.may_be_slow, check_old) {
                Ok(Some(new)) => (Some(case), new),
                Ok(None) => return slow(),
                Err(refused) => return tell(refused, &review),
            },
            // That there is no such entry is for `apply` to say, with the matched name.
            None => (None, New::default()),
        };
        Ok(Ready::Proposal(Box::new(Decided {
            backend: whose.at,
            kind: Kind::PasswordModify,
            controls,
            op_bytes: made_update(&whose.dn, &new).into_encoded().into(),
            password: case.map(|case| case.follows().change.encode()).unwrap_or_default(),
            // That the user has to change a password that was reset is not said to who resets it.
            policy: Some(PasswordPolicyResponse::default()),
            identity,
            judged,
            review,
            connection: order.session.connection,
            operation: order.operation,
            answer: new.generated.map(|password| ExtendedAnswer {
                name: None,
                value: ldap::extended::encode_generated_password(&password),
            }),
        })))
    }

    fn whose(&self, order: &Order<'_, '_>, wanted: &PasswordModify<'_>, facts: &Facts) -> Result<Whose, LdapResult> {
        let dn = self.target(order, wanted)?;
        let name =
            NormalizedDn::parse(&facts.schema, dn.as_bytes()).map_err(|error| invalid_dn(dn.as_bytes(), error))?;
        if self.roots.load().find(&name).is_some() {
            return Err(Refusal::RootPassword.into());
        }
        let at = self.backend_of(&name, dn.as_bytes())?;
        Ok(Whose { name, dn, at })
    }

    /// The name of the entry whose password is to change.
    fn target(&self, order: &Order<'_, '_>, wanted: &PasswordModify<'_>) -> Result<String, LdapResult> {
        match wanted.user_identity.filter(|identity| !identity.is_empty()) {
            None => self.own_name(&order.session.identity),
            Some(named) => {
                let dn = without_prefix(named);
                std::str::from_utf8(dn).map(str::to_owned).map_err(|error| invalid_dn(dn, error))
            }
        }
    }

    /// The name of the requestor's entry as it is now: it may have been renamed since the bind.
    fn own_name(&self, identity: &Identity) -> Result<String, LdapResult> {
        match self.requestor(identity)? {
            Identity::User { dn, entry: EntryId::ROOT, .. } => Err(no_such_object(&dn, "")),
            now => Ok(now.dn().to_owned()),
        }
    }
}

impl PasswordCase {
    /// Whether the password may be changed as it is wanted, in OpenDJ's order of checks, and the stored forms of the
    /// new one; none: that takes long, and this thread must not.
    /// `check_old` compares the old password.
    fn judge(
        &self,
        facts: &Facts,
        wanted: &PasswordModify<'_>,
        may_be_slow: bool,
        check_old: impl FnOnce(&[u8]) -> Result<(), Refused>,
    ) -> Result<Option<New>, Refused> {
        if self.policy.pass_through.is_some()
            || (self.is_self && self.stored.iter().any(|it| password::sasl_user(it).is_some()))
        {
            return Err(Refused::new(Refusal::PasswordElsewhere, PolicyError::PasswordModNotAllowed));
        }
        self.check_account()?;
        let requires_old = self.is_self && self.policy.password_change_requires_current_password;
        if requires_old && wanted.old_password.is_none() {
            return Err(Refused::new(Refusal::OldPasswordNeeded, PolicyError::MustSupplyOldPassword));
        }
        if wanted.old_password.is_some() && self.policy.require_secure_authentication && !self.is_secure {
            return Err(Refused::new(Refusal::InsecureOld, PolicyError::PasswordModNotAllowed));
        }
        let is_encoded = wanted.new_password.is_some_and(password::is_encoded);
        let is_slow =
            (!is_encoded && self.is_slow_to_set()) || (wanted.old_password.is_some() && self.is_slow_to_compare());
        if is_slow && !may_be_slow {
            return Ok(None);
        }
        wanted.old_password.map_or(Ok(()), check_old)?;
        self.check_users_may()?;
        self.check_secure()?;
        self.check_age()?;
        if self.is_self && !self.policy.allow_expired_password_changes && self.account().expiry().is_expired {
            return Err(Refused::new(Refusal::PasswordExpired, PolicyError::PasswordExpired));
        }
        let new = self.new_password(facts, wanted)?;
        Ok(Some(New { replaced: self.replaced(wanted), ..new }))
    }

    /// The stored values of the old password, if the account has other passwords, too, and may have several: these
    /// stay. A code that follows the old password hides which one it is; then all go.
    fn replaced(&self, wanted: &PasswordModify<'_>) -> Vec<Vec<u8>> {
        let Some(old) = wanted.old_password.filter(|_| self.policy.allow_multiple_password_values) else {
            return Vec::new();
        };
        let replaced: Vec<_> = self.stored.iter().filter(|stored| password::verify(stored, old)).cloned().collect();
        if replaced.len() < self.stored.len() { replaced } else { Vec::new() }
    }

    /// Whether the account is in use, and not locked for who is its user.
    fn check_account(&self) -> Result<(), Refused> {
        let account = self.account();
        if self.state.is_disabled || account.has_not_started() || account.has_ended() {
            return Err(Refused::new(Refusal::AccountOff, PolicyError::AccountLocked));
        }
        self.check_not_locked()
    }

    fn new_password(&self, facts: &Facts, wanted: &PasswordModify<'_>) -> Result<New, Refused> {
        let Some(new) = wanted.new_password else {
            let made = self.generate(facts)?;
            return Ok(New { stored: self.encode(&made)?, generated: Some(made), ..New::default() });
        };
        if new.is_empty() {
            return Err(Refusal::EmptyPassword.into());
        }
        if password::is_encoded(new) {
            self.check_encoded()?;
            return Ok(New { stored: vec![new.to_vec()], ..New::default() });
        }
        let known: Vec<&[u8]> = wanted.old_password.into_iter().collect();
        self.check_rules(facts, new, &known)?;
        self.check_history(new)?;
        Ok(New { stored: self.encode(new)?, ..New::default() })
    }
}

impl New {
    /// What the client sends, before anything is known of the account.
    fn asked(wanted: &PasswordModify<'_>) -> New {
        New { stored: vec![wanted.new_password.unwrap_or_default().to_vec()], ..New::default() }
    }
}

/// The request that sets passwords.
fn made_update(dn: &str, new: &New) -> MadeUpdate {
    let change = |operation, values| (operation, &b"userPassword"[..], values);
    let values = |stored| <[Vec<u8>]>::iter(stored).map(Vec::as_slice);
    let (replaced, stored) = (values(&new.replaced), values(&new.stored));
    match new.replaced.is_empty() {
        true => MadeUpdate::modify(dn.as_bytes(), [change(ModifyOperation::Replace, stored)]),
        false => {
            let changes = [change(ModifyOperation::Delete, replaced), change(ModifyOperation::Add, stored)];
            MadeUpdate::modify(dn.as_bytes(), changes)
        }
    }
}

/// `dn:` is how authorization identities are written (RFC 4513 §5.2.1.8); most clients send the bare name.
fn without_prefix(identity: &[u8]) -> &[u8] {
    match identity.split_at_checked(3) {
        Some((prefix, dn)) if prefix.eq_ignore_ascii_case(b"dn:") => dn,
        _ => identity,
    }
}

/// What a user is called in the user identity of a request, if it is no distinguished name: `u:NAME`, or the name
/// alone.
pub(crate) fn user_called<'a>(wanted: &PasswordModify<'a>) -> Option<&'a [u8]> {
    let named = wanted.user_identity.filter(|identity| !identity.is_empty())?;
    match named.split_at_checked(2) {
        Some((prefix, user)) if prefix.eq_ignore_ascii_case(b"u:") => Some(user),
        _ => (!named.contains(&b'=') && without_prefix(named).len() == named.len()).then_some(named),
    }
}
