//! Clear passwords in adds and modifications: they are hashed before the request becomes a proposal, so that neither
//! the log nor any replica ever sees one.
//!
//! Knows `userPassword` and storage schemes. A clear value to be deleted is looked for among the stored ones, because a
//! hash cannot be compared with it later.

use std::borrow::Cow;

use ldap::{Attribute, EntryRequest, LdapResult, MadeUpdate, ModifyOperation};
use schema::NormalizedDn;

use super::context::UpdateContext;
use super::decided::snapshot;
use super::order::Order;
use super::rights::check_privilege_names;
use crate::refusal::Refusal;
use access::account::stored_passwords;
use query::backend::BackendIndex;
use query::error::store_failure;
use query::facts::Facts;

/// What the log is to hold of a request.
pub(super) enum Prepared {
    /// No password is in it: it can stay as it came.
    Unchanged,
    /// What the log holds of it, without clear passwords.
    Rewritten(Vec<u8>),
    /// Hashing takes long, and this thread must not.
    Slow,
}

/// Hashes the clear passwords of a request to the backend at `at`.
pub(super) fn prepare(
    context: &UpdateContext<'_>,
    facts: &Facts,
    order: &Order<'_, '_>,
    request: &EntryRequest<'_>,
    at: BackendIndex,
    name: &NormalizedDn,
) -> Result<Prepared, LdapResult> {
    let (mut has_passwords, mut has_privileges) = (false, false);
    let mut look = |attribute: &Attribute<'_>| {
        let known = facts.schema.type_of_description(attribute.description).map(|known| known.index);
        has_passwords |= known.is_some() && known == facts.user_password;
        has_privileges |= known.is_some() && known == facts.privilege_name;
    };
    match request {
        EntryRequest::Add(request) => request.attributes.iter().for_each(|attribute| look(&attribute)),
        EntryRequest::Modify(request) => request.changes.iter().for_each(|change| look(&change.attribute)),
        EntryRequest::Delete(_) | EntryRequest::ModifyDn(_) => {}
    }
    if has_privileges {
        check_privilege_names(facts, request)?;
    }
    if !has_passwords {
        return Ok(Prepared::Unchanged);
    }
    let work = Passwords { context, facts, order, request, at, name };
    if !order.may_be_slow && work.would_be_slow()? {
        return Ok(Prepared::Slow);
    }
    work.rewrite()
}

fn is_password(facts: &Facts, description: &[u8]) -> bool {
    let attribute = facts.schema.type_of_description(description);
    attribute.is_some_and(|attribute| Some(attribute.index) == facts.user_password)
}

struct Passwords<'p, 'o, 'm> {
    context: &'p UpdateContext<'p>,
    facts: &'p Facts,
    order: &'p Order<'o, 'm>,
    request: &'p EntryRequest<'m>,
    at: BackendIndex,
    name: &'p NormalizedDn,
}

impl Passwords<'_, '_, '_> {
    /// Whether a slow hash has to be made or tried.
    fn would_be_slow(&self) -> Result<bool, LdapResult> {
        let has_clear = |attribute: &Attribute<'_>| attribute.values.iter().any(|value| !password::is_encoded(value));
        let slow_scheme = self.context.updates.scheme.is_slow();
        match self.request {
            EntryRequest::Add(request) => Ok(slow_scheme
                && request.attributes.iter().any(|it| is_password(self.facts, it.description) && has_clear(&it))),
            EntryRequest::Modify(request) => {
                for change in request.changes.iter() {
                    if !is_password(self.facts, change.attribute.description) || !has_clear(&change.attribute) {
                        continue;
                    }
                    let slow = match change.operation {
                        ModifyOperation::Delete => self.stored()?.iter().any(|stored| password::is_slow(stored)),
                        _ => slow_scheme,
                    };
                    if slow {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            EntryRequest::Delete(_) | EntryRequest::ModifyDn(_) => Ok(false),
        }
    }

    fn rewrite(&self) -> Result<Prepared, LdapResult> {
        let made = match self.request {
            EntryRequest::Add(request) => {
                let values = request.attributes.iter().map(|own| self.values(&own, ModifyOperation::Add));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                let attributes = request.attributes.iter().zip(&values);
                let attributes = attributes.map(|(own, values)| (own.description, borrowed(values)));
                MadeUpdate::add(request.entry, attributes)
            }
            EntryRequest::Modify(request) => {
                let values = request.changes.iter().map(|own| self.values(&own.attribute, own.operation));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                let changes = request.changes.iter().zip(&values);
                let changes = changes.map(|(own, values)| (own.operation, own.attribute.description, borrowed(values)));
                MadeUpdate::modify(request.object, changes)
            }
            EntryRequest::Delete(_) | EntryRequest::ModifyDn(_) => return Ok(Prepared::Unchanged),
        };
        Ok(Prepared::Rewritten(made.into_encoded()))
    }

    /// The values of an attribute, hashed if it holds passwords.
    fn values<'v>(
        &self,
        attribute: &Attribute<'v>,
        operation: ModifyOperation,
    ) -> Result<Vec<Cow<'v, [u8]>>, LdapResult> {
        let is_password = is_password(self.facts, attribute.description);
        let value = |value: &'v [u8]| match operation {
            _ if !is_password => Ok(Cow::Borrowed(value)),
            ModifyOperation::Delete => self.stored_form_of(value).map(Cow::Owned),
            _ => self.encoded(value).map(Cow::Owned),
        };
        attribute.values.iter().map(value).collect()
    }

    /// The stored form of a new password.
    fn encoded(&self, value: &[u8]) -> Result<Vec<u8>, LdapResult> {
        if password::is_encoded(value) {
            if self.order.session.identity.is_root() || self.context.updates.allow_pre_encoded {
                return Ok(value.to_vec());
            }
            return Err(Refusal::EncodedPassword.into());
        }
        encode(self.context, value)
    }

    /// The stored value that a clear one is the password of; an empty value, which no entry has, when there is none.
    fn stored_form_of(&self, value: &[u8]) -> Result<Vec<u8>, LdapResult> {
        if password::is_encoded(value) {
            return Ok(value.to_vec());
        }
        let found = self.stored()?.into_iter().find(|stored| password::verify(stored, value));
        Ok(found.unwrap_or_default())
    }

    fn stored(&self) -> Result<Vec<Vec<u8>>, LdapResult> {
        let Some(backend) = self.context.backends.get(self.at.0) else { return Ok(Vec::new()) };
        let snapshot = snapshot(backend)?;
        let found = stored_passwords(self.facts, backend, &snapshot.view(), self.name)
            .map_err(|error| store_failure(&error))?;
        Ok(found.map(|account| account.passwords).unwrap_or_default())
    }
}

fn borrowed<'v>(values: &'v [Cow<'_, [u8]>]) -> impl Iterator<Item = &'v [u8]> {
    values.iter().map(|value| value.as_ref())
}

/// The stored form of a clear password under the configured scheme.
pub(super) fn encode(context: &UpdateContext<'_>, clear: &[u8]) -> Result<Vec<u8>, LdapResult> {
    password::encode_random(context.updates.scheme, &password::Parameters::default(), clear).map_err(
        |error| match error {
            password::EncodeError::NoRandomness => Refusal::NoPasswordMade { problem: error.to_string() }.into(),
            password::EncodeError::Length => Refusal::PasswordNotStored { problem: error.to_string() }.into(),
        },
    )
}
