//! Passwords in adds and modifications: they obey the policy of their account, and are hashed before the request
//! becomes a proposal, so that neither the log nor any replica ever sees a clear one.
//!
//! Knows `userPassword`. A clear value to be deleted is looked for among the stored ones, because a hash cannot be
//! compared with it later.

use std::borrow::Cow;
use std::sync::Arc;

use access::Identity;
use accounts::PolicyError;
use ldap::{AddRequest, Attribute, Change, EntryRequest, MadeUpdate, ModifyOperation, ModifyRequest};
use query::backend::BackendIndex;
use query::error::shown;
use query::facts::Facts;
use schema::NormalizedDn;

use super::context::UpdateContext;
use super::old_password::Whose;
use super::order::Order;
use super::password_case::{Asker, PasswordCase};
use super::password_checks::{Follows, Refused};
use super::rights::check_privilege_names;
use crate::refusal::Refusal;

/// What the log is to hold of a request.
pub(super) enum Prepared {
    /// No password is in it: it can stay as it came.
    Unchanged,
    /// What the log holds of it, without clear passwords, and what follows from the new ones.
    Rewritten { op_bytes: Vec<u8>, follows: Follows },
    /// Hashing takes long, and this thread must not.
    Slow,
}

/// What the passwords of a request are prepared with.
pub(super) struct Preparing<'p, 'o, 'm> {
    pub(super) context: &'p UpdateContext<'p>,
    pub(super) facts: &'p Arc<Facts>,
    pub(super) order: &'p Order<'o, 'm>,
    /// Who asks, by the name that its entry has now.
    pub(super) identity: &'p Identity,
    /// Where the entry is, or will be.
    pub(super) at: BackendIndex,
    pub(super) name: &'p NormalizedDn,
}

impl Preparing<'_, '_, '_> {
    /// Checks and hashes the clear passwords of a request.
    pub(super) fn prepare(&self, request: &EntryRequest<'_>) -> Result<Prepared, Refused> {
        let facts = self.facts;
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
            check_privilege_names(facts, request).map_err(ldap::LdapResult::from)?;
        }
        match request {
            EntryRequest::Add(request) if has_passwords => self.add(request),
            EntryRequest::Modify(request) if has_passwords => self.modify(request),
            _ => Ok(Prepared::Unchanged),
        }
    }

    fn asker(&self) -> Asker<'_, '_, '_> {
        Asker { order: self.order, identity: self.identity }
    }

    fn add(&self, request: &AddRequest<'_>) -> Result<Prepared, Refused> {
        let case = self.context.password_case_of_new(self.facts, &self.asker(), self.at, (self.name, request))?;
        let passwords = || request.attributes.iter().filter(|it| is_password(self.facts, it.description));
        for attribute in passwords() {
            check_no_options(&attribute)?;
        }
        let values: Vec<&[u8]> = passwords().flat_map(|attribute| attribute.values.iter()).collect();
        check_count(&case, values.len())?;
        let clear = || values.iter().filter(|value| !password::is_encoded(value));
        if clear().count() < values.len() {
            case.check_encoded()?;
        }
        if !self.order.may_be_slow && clear().next().is_some() && case.is_slow_to_set() {
            return Ok(Prepared::Slow);
        }
        clear().try_for_each(|value| case.check_rules(self.facts, value, &[]))?;
        let values = request.attributes.iter().map(|own| self.stored_forms(&case, &own));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let attributes = request.attributes.iter().zip(&values);
        let attributes = attributes.map(|(own, values)| (own.description, borrowed(values)));
        let op_bytes = MadeUpdate::add(request.entry, attributes).into_encoded();
        Ok(Prepared::Rewritten { op_bytes, follows: case.follows_of_new() })
    }

    /// The values of an attribute, hashed if it holds passwords.
    fn stored_forms<'v>(&self, case: &PasswordCase, own: &Attribute<'v>) -> Result<Vec<Cow<'v, [u8]>>, Refused> {
        let mut values = Vec::new();
        for value in own.values.iter() {
            if is_password(self.facts, own.description) && !password::is_encoded(value) {
                values.extend(case.encode(value)?.into_iter().map(Cow::Owned));
            } else {
                values.push(Cow::Borrowed(value));
            }
        }
        Ok(values)
    }

    fn modify(&self, request: &ModifyRequest<'_>) -> Result<Prepared, Refused> {
        let case = self.context.password_case(self.facts, &self.asker(), self.at, self.name)?;
        // That there is no such entry is for `apply` to say, with the matched name.
        let Some(case) = case else { return Ok(Prepared::Unchanged) };
        let (left, new, old) = (case.stored.clone(), Vec::new(), Vec::new());
        let (facts, sent) = (self.facts, request.object);
        let mut work = Modifying { preparing: self, facts, sent, case, left, new, old };
        if !self.order.may_be_slow && work.would_be_slow(request) {
            return Ok(Prepared::Slow);
        }
        let changes: Vec<_> = request.changes.iter().collect();
        let mut values = Vec::with_capacity(changes.len());
        for change in &changes {
            values.push(work.values(change)?);
        }
        work.check_all()?;
        let changes = changes.iter().zip(&values);
        let changes = changes.map(|(own, values)| (own.operation, own.attribute.description, borrowed(values)));
        let op_bytes = MadeUpdate::modify(request.object, changes).into_encoded();
        Ok(Prepared::Rewritten { op_bytes, follows: work.case.follows() })
    }
}

/// The changes of one modify request, one after the other.
struct Modifying<'p, 'v> {
    preparing: &'p Preparing<'p, 'p, 'p>,
    facts: &'p Facts,
    /// The name as the client sent it.
    sent: &'p [u8],
    case: PasswordCase,
    /// Stored values that no change has removed so far.
    left: Vec<Vec<u8>>,
    /// Passwords that come: clear, or encoded already.
    new: Vec<&'v [u8]>,
    /// Clear passwords that were deleted: the user knows them.
    old: Vec<&'v [u8]>,
}

impl<'v> Modifying<'_, 'v> {
    /// Whether a slow hash has to be made or tried.
    fn would_be_slow(&self, request: &ModifyRequest<'_>) -> bool {
        let has_clear = |attribute: &Attribute<'_>| attribute.values.iter().any(|value| !password::is_encoded(value));
        let mut own = request.changes.iter().filter(|it| is_password(self.facts, it.attribute.description));
        own.any(|change| {
            has_clear(&change.attribute)
                && match change.operation {
                    ModifyOperation::Delete => self.case.is_slow_to_compare(),
                    ModifyOperation::Add => self.case.is_slow_to_compare() || self.case.is_slow_to_set(),
                    _ => self.case.is_slow_to_set(),
                }
        })
    }

    /// The values of a change, hashed if they are passwords.
    fn values(&mut self, change: &Change<'v>) -> Result<Vec<Cow<'v, [u8]>>, Refused> {
        let Change { operation, attribute } = change;
        if !is_password(self.facts, attribute.description) {
            return Ok(attribute.values.iter().map(Cow::Borrowed).collect());
        }
        check_no_options(attribute)?;
        self.case.check_users_may()?;
        self.case.check_secure()?;
        self.case.check_age()?;
        match operation {
            ModifyOperation::Add => self.comes(attribute),
            ModifyOperation::Replace => {
                self.left.clear();
                self.comes(attribute)
            }
            ModifyOperation::Delete => self.goes(attribute),
            ModifyOperation::Increment => Err(Refusal::PasswordIncrement.into()),
        }
    }

    fn comes(&mut self, attribute: &Attribute<'v>) -> Result<Vec<Cow<'v, [u8]>>, Refused> {
        check_count(&self.case, attribute.values.iter().count())?;
        let mut values = Vec::new();
        for value in attribute.values.iter() {
            if password::is_encoded(value) {
                self.case.check_encoded()?;
                values.push(Cow::Borrowed(value));
            } else if self.left.iter().any(|stored| password::verify(stored, value)) {
                return Err(Refused::new(Refusal::SamePassword, PolicyError::PasswordInHistory));
            } else {
                values.extend(self.case.encode(value)?.into_iter().map(Cow::Owned));
            }
            self.new.push(value);
        }
        Ok(values)
    }

    fn goes(&mut self, attribute: &Attribute<'v>) -> Result<Vec<Cow<'v, [u8]>>, Refused> {
        let mut values = Vec::new();
        for value in attribute.values.iter() {
            if password::is_encoded(value) {
                if self.case.is_self {
                    self.case.check_encoded()?;
                }
                let before = self.left.len();
                self.left.retain(|stored| stored != value);
                if self.left.len() == before && !self.case.policy.allow_multiple_password_values {
                    // It comes by an earlier part of the transaction, in the place of what is stored now; if not,
                    // `apply` says that there is no such value.
                    self.left.clear();
                }
                values.push(Cow::Borrowed(value));
                continue;
            }
            values.extend(self.stored_of(value)?.into_iter().map(Cow::Owned));
            self.old.push(value);
        }
        if values.is_empty() {
            self.left.clear();
        }
        Ok(values)
    }

    /// Takes out the stored forms of a clear password. Who does not know it guesses, as in a bind.
    fn stored_of(&mut self, clear: &[u8]) -> Result<Vec<Vec<u8>>, Refused> {
        if self.left.is_empty() {
            return Err(Refusal::NoSuchPassword.into());
        }
        self.case.check_not_locked()?;
        let Preparing { context, order, name, .. } = self.preparing;
        let whose = Whose { name, sent: self.sent };
        let proven = context.check_old(order, whose, clear, Refusal::NoSuchPassword)?;
        let is_only = self.left.len() == 1 && self.left == proven.stored();
        let left = std::mem::take(&mut self.left);
        let (gone, left): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|stored| is_only || password::verify(stored, clear));
        self.left = left;
        if gone.is_empty() { Err(Refusal::NoSuchPassword.into()) } else { Ok(gone) }
    }

    /// What depends on all changes together.
    fn check_all(&self) -> Result<(), Refused> {
        let case = &self.case;
        let must_give_old =
            case.is_self && case.policy.password_change_requires_current_password && !case.stored.is_empty();
        if must_give_old && self.old.is_empty() {
            return Err(Refused::new(Refusal::OldPasswordNeeded, PolicyError::MustSupplyOldPassword));
        }
        let comes = !self.new.is_empty();
        check_count(case, self.new.len() + usize::from(comes && !self.left.is_empty()))?;
        let clear = || self.new.iter().filter(|value| !password::is_encoded(value));
        clear().try_for_each(|value| case.check_rules(self.facts, value, &self.old))?;
        clear().try_for_each(|value| case.check_history(value))
    }
}

fn is_password(facts: &Facts, description: &[u8]) -> bool {
    let attribute = facts.schema.type_of_description(description);
    attribute.is_some_and(|attribute| Some(attribute.index) == facts.user_password)
}

fn check_no_options(attribute: &Attribute<'_>) -> Result<(), Refused> {
    if attribute.description.contains(&b';') {
        return Err(Refusal::PasswordOptions { attribute: shown(attribute.description) }.into());
    }
    Ok(())
}

fn check_count(case: &PasswordCase, count: usize) -> Result<(), Refused> {
    if count > 1 && !case.policy.allow_multiple_password_values {
        return Err(Refused::new(Refusal::SeveralPasswords, PolicyError::PasswordModNotAllowed));
    }
    Ok(())
}

fn borrowed<'v>(values: &'v [Cow<'_, [u8]>]) -> impl Iterator<Item = &'v [u8]> {
    values.iter().map(|value| value.as_ref())
}

/// Whether a request is about passwords.
pub(super) fn writes_password(facts: &Facts, request: &EntryRequest<'_>) -> bool {
    match request {
        EntryRequest::Add(request) => request.attributes.iter().any(|it| is_password(facts, it.description)),
        EntryRequest::Modify(request) => {
            request.changes.iter().any(|change| is_password(facts, change.attribute.description))
        }
        EntryRequest::Delete(_) | EntryRequest::ModifyDn(_) => false,
    }
}
