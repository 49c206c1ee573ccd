//! The password modify extended operation (RFC 3062): becomes a modify request of `userPassword`, after the old
//! password was checked and the new one hashed, or made.
//!
//! Knows whose password it is about; the root users' own are in the configuration file.

use ldap::extended::PasswordModify;
use ldap::{LdapResult, MadeUpdate, ModifyOperation};
use schema::NormalizedDn;
use store::EntryId;

use super::context::UpdateContext;
use super::decided::{Decided, snapshot};
use super::done::ExtendedAnswer;
use super::order::{KeptUpdate, Order, Ready};
use super::passwords;
use super::rights::Told;
use crate::refusal::Refusal;
use access::Identity;
use access::account::stored_passwords;
use change::proposal::Kind;
use query::backend::BackendIndex;
use query::error::{invalid_dn, no_such_object, store_failure};
use query::facts::Facts;

impl UpdateContext<'_> {
    pub(super) fn prepare_password_modify(
        &self,
        order: &Order<'_, '_>,
        wanted: &PasswordModify<'_>,
    ) -> Result<Ready<'static>, Box<Told>> {
        let controls = self.update_controls(order, Kind::PasswordModify)?;
        let facts = self.facts();
        let dn = self.target(order, wanted)?;
        let name =
            NormalizedDn::parse(&facts.schema, dn.as_bytes()).map_err(|error| invalid_dn(dn.as_bytes(), error))?;
        if self.roots.load().find(&name).is_some() {
            return Err(Refusal::RootPassword.into());
        }
        let at = self.backend_of(&name, dn.as_bytes())?;
        let identity = self.requestor(&order.session.identity)?;
        if !self.updates.allow_user_changes
            && matches!(identity, Identity::User { .. })
            && NormalizedDn::parse(&facts.schema, identity.dn().as_bytes()).is_ok_and(|own| own == name)
        {
            return Err(Refusal::UserPasswordsOff.into());
        }
        let mut controls = controls.owned();
        // Rights are asked for before any password is looked at: with the new one, if the client sends it.
        let asked = made_update(&dn, wanted.new_password.unwrap_or_default());
        let (judged, review) = self.review_made(order, (&identity, at, Kind::PasswordModify), &asked, &mut controls)?;
        let told = |result: LdapResult| match &review {
            Some(review) => Box::new(review.tell(result)),
            None => result.into(),
        };
        if !self.check_old(&facts, order, at, &name, wanted).map_err(told)? {
            return Ok(Ready::Slow(KeptUpdate::PasswordModify(wanted.encode().into())));
        }
        let (stored, generated) = self.new_password(wanted)?;
        let made = made_update(&dn, &stored);
        Ok(Ready::Proposal(Box::new(Decided {
            backend: at,
            kind: Kind::PasswordModify,
            controls,
            op_bytes: made.into_encoded().into(),
            password: Vec::new(),
            identity,
            judged,
            review,
            connection: order.session.connection,
            operation: order.operation,
            answer: generated.map(|password| ExtendedAnswer {
                name: None,
                value: ldap::extended::encode_generated_password(&password),
            }),
        })))
    }

    /// The name of the entry whose password is to change.
    fn target(&self, order: &Order<'_, '_>, wanted: &PasswordModify<'_>) -> Result<String, LdapResult> {
        let identity = &order.session.identity;
        if identity.is_anonymous() {
            return Err(Refusal::AnonymousPassword.into());
        }
        match wanted.user_identity.filter(|identity| !identity.is_empty()) {
            None => self.own_name(identity),
            Some(named) if named.len() > 1 && named[..2].eq_ignore_ascii_case(b"u:") => Err(Refusal::UserName.into()),
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

    /// Checks the old password if one is given. `false`: that takes long, and this thread must not.
    fn check_old(
        &self,
        facts: &Facts,
        order: &Order<'_, '_>,
        at: BackendIndex,
        name: &NormalizedDn,
        wanted: &PasswordModify<'_>,
    ) -> Result<bool, LdapResult> {
        let Some(backend) = self.backends.get(at.0) else { return Ok(true) };
        let snapshot = snapshot(backend)?;
        let account =
            stored_passwords(facts, backend, &snapshot.view(), name).map_err(|error| store_failure(&error))?;
        // That there is no such entry is for `apply` to say, with the matched name.
        let Some(account) = account else { return Ok(true) };
        let slow = (wanted.old_password.is_some() && account.passwords.iter().any(|stored| password::is_slow(stored)))
            || self.updates.scheme.is_slow();
        if slow && !order.may_be_slow {
            return Ok(false);
        }
        if let Some(old) = wanted.old_password
            && !account.passwords.iter().any(|stored| password::verify(stored, old))
        {
            return Err(Refusal::WrongOldPassword.into());
        }
        Ok(true)
    }

    /// The stored form of the new password, and the password itself when the server made it.
    fn new_password(&self, wanted: &PasswordModify<'_>) -> Result<(Vec<u8>, Option<Vec<u8>>), LdapResult> {
        match wanted.new_password {
            Some([]) => Err(Refusal::EmptyPassword.into()),
            Some(new) => Ok((passwords::encode(self, new)?, None)),
            None => {
                let made =
                    password::generate().map_err(|error| Refusal::NoPasswordMade { problem: error.to_string() })?;
                Ok((passwords::encode(self, &made)?, Some(made)))
            }
        }
    }
}

/// The request that sets a password.
fn made_update(dn: &str, password: &[u8]) -> MadeUpdate {
    let change = (ModifyOperation::Replace, &b"userPassword"[..], [password]);
    MadeUpdate::modify(dn.as_bytes(), [change])
}

/// `dn:` is how authorization identities are written (RFC 4513 §5.2.1.8); most clients send the bare name.
fn without_prefix(identity: &[u8]) -> &[u8] {
    match identity.split_at_checked(3) {
        Some((prefix, dn)) if prefix.eq_ignore_ascii_case(b"dn:") => dn,
        _ => identity,
    }
}
