//! Names of password policies and validators that come with an update: one that is none is refused, since its account
//! would have another policy, or its policy other rules, than somebody thinks.
//!
//! Here and not in `apply`: they are in the configuration, policies in other backends too. A policy that goes later
//! means the default, a validator that goes no rule, which the log is told when it is met.

use std::sync::Arc;

use ldap::{EntryRequest, LdapResult, ModifyOperation};
use query::error::{shown, store_failure};
use query::facts::Facts;
use schema::NormalizedDn;

use super::context::UpdateContext;
use crate::refusal::Refusal;

/// Refuses values of `ds-pwp-password-policy-dn` that name no policy, and of `ds-cfg-password-validator` that name no
/// validator.
pub(super) fn check(
    context: &UpdateContext<'_>,
    facts: &Arc<Facts>,
    request: &EntryRequest<'_>,
) -> Result<(), LdapResult> {
    let check = |attribute: ldap::Attribute<'_>| match named(facts, attribute.description) {
        Some(what) => attribute.values.iter().try_for_each(|value| check_name(context, facts, what, value)),
        None => Ok(()),
    };
    match request {
        EntryRequest::Add(add) => add.attributes.iter().try_for_each(check),
        EntryRequest::Modify(modify) => {
            let mut brings = modify.changes.iter().filter(|change| change.operation != ModifyOperation::Delete);
            brings.try_for_each(|change| check(change.attribute))
        }
        EntryRequest::Delete(_) | EntryRequest::ModifyDn(_) => Ok(()),
    }
}

/// What values name.
#[derive(Clone, Copy)]
enum Named {
    Policy,
    Validator,
}

/// Other attributes cost a look at their first letter.
fn named(facts: &Facts, description: &[u8]) -> Option<Named> {
    if !matches!(description.first(), Some(b'd' | b'D' | b'0'..=b'9')) {
        return None;
    }
    let known = facts.schema.type_of_description(description)?;
    match known.name() {
        _ if Some(known.index) == facts.account.policy_dn => Some(Named::Policy),
        "ds-cfg-password-validator" => Some(Named::Validator),
        _ => None,
    }
}

fn check_name(context: &UpdateContext<'_>, facts: &Arc<Facts>, what: Named, value: &[u8]) -> Result<(), LdapResult> {
    // What is no name at all is refused by its syntax.
    let Ok(name) = NormalizedDn::parse(&facts.schema, value) else { return Ok(()) };
    let policies = &context.reading.policies;
    let is_known = match what {
        Named::Policy => policies.has(facts, context.backends, &name).map_err(|error| store_failure(&error))?,
        Named::Validator => policies.configured().validator(&name).is_some(),
    };
    match (is_known, what) {
        (true, _) => Ok(()),
        (false, Named::Policy) => Err(Refusal::NoPasswordPolicy { value: shown(value) }.into()),
        (false, Named::Validator) => Err(Refusal::NoPasswordValidator { value: shown(value) }.into()),
    }
}
