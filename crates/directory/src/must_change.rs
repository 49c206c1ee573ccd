//! What may be requested on a connection whose user must change the password first: that, and what a client needs for
//! it. Everything else is refused, whatever it is, in transactions and in another's name too.
//!
//! As draft-behera-ldap-password-policy-11 says, 8.1.2: bind, unbind, abandon, StartTLS, a modification of the own
//! password and the password modify operation. As slapd, also reading the root DSE, which tells a client what it can
//! use, and "who am I". The refusal is the draft's: 50 with the policy error 2 (OpenDJ: 19).

use accounts::{PasswordPolicyResponse, PolicyError};
use ldap::extended::PasswordModify;
use ldap::oids::control;
use ldap::{ControlBuf, Controls, EntryRequest, LdapResult, ModifyRequest, Operation, Scope, Update};
use query::facts::Facts;
use schema::NormalizedDn;

use crate::refusal::Refusal;
use crate::session::Session;
use crate::update::user_called;

/// Controls that have a request done as somebody else, or later.
const ELSEWHERE: [&str; 3] =
    [control::PROXIED_AUTHORIZATION, control::PROXIED_AUTHORIZATION_V1, control::TRANSACTION_SPECIFICATION];

/// Whether a request may be made by who must change the password; `user_named` finds who is called so.
pub(crate) fn may_request(
    facts: &Facts,
    session: &Session,
    (operation, controls): (&Operation<'_>, &Controls<'_>),
    user_named: impl FnOnce(&[u8]) -> Option<String>,
) -> bool {
    match operation {
        Operation::Bind(_) | Operation::Unbind | Operation::Abandon(_) | Operation::StartTls => return true,
        _ if controls.iter().any(|item| ELSEWHERE.map(str::as_bytes).contains(&item.oid)) => return false,
        _ => {}
    }
    let own = session.identity.dn();
    match operation {
        Operation::WhoAmI => true,
        Operation::Search(search) => search.base.is_empty() && search.scope == Scope::BaseObject,
        Operation::Update(Update::PasswordModify(request)) => is_for_oneself(facts, request, own, user_named),
        Operation::Update(Update::Entry(update)) => match update.request() {
            EntryRequest::Modify(request) => is_own_password(facts, request, own),
            _ => false,
        },
        _ => false,
    }
}

/// The refusal, with what the client is told if it sent the password policy control.
pub(crate) fn refusal(controls: &Controls<'_>) -> (LdapResult, Option<ControlBuf>) {
    let wants_policy = controls.find(control::PASSWORD_POLICY).is_some();
    let told = wants_policy.then(|| PasswordPolicyResponse::of_error(PolicyError::ChangeAfterReset).control());
    (Refusal::MustChangePassword.into(), told)
}

fn is_same(facts: &Facts, dn: &[u8], own: &str) -> bool {
    let normal = |dn: &[u8]| NormalizedDn::parse(&facts.schema, dn).ok();
    let own = normal(own.as_bytes());
    own.is_some() && normal(dn) == own
}

fn is_for_oneself(
    facts: &Facts,
    request: &PasswordModify<'_>,
    own: &str,
    user_named: impl FnOnce(&[u8]) -> Option<String>,
) -> bool {
    if let Some(user) = user_called(request) {
        return user_named(user).is_some_and(|dn| is_same(facts, dn.as_bytes(), own));
    }
    match request.user_identity {
        None | Some([]) => true,
        Some(named) => {
            let prefix = named.split_at_checked(3).filter(|(prefix, _)| prefix.eq_ignore_ascii_case(b"dn:"));
            is_same(facts, prefix.map_or(named, |(_, dn)| dn), own)
        }
    }
}

/// Whether nothing but a password is modified.
fn is_own_password(facts: &Facts, request: &ModifyRequest<'_>, own: &str) -> bool {
    let is_password = |description: &[u8]| {
        facts.schema.attribute_type(description).is_some_and(|attribute| facts.is_secret(attribute.index))
    };
    let mut changes = request.changes.iter().peekable();
    changes.peek().is_some()
        && changes.all(|change| is_password(change.attribute.description))
        && is_same(facts, request.object, own)
}
