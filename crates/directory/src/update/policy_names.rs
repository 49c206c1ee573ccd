//! Names of password policies that come with an update: one that is none is refused, since its account would have
//! another policy than somebody thinks.
//!
//! Here and not in `apply`: policies are in the configuration and in other backends too. A policy that goes later means
//! the default, which the log is told when it is met.

use std::sync::Arc;

use ldap::{EntryRequest, LdapResult, ModifyOperation};
use query::error::{shown, store_failure};
use query::facts::Facts;
use schema::NormalizedDn;

use super::context::UpdateContext;
use crate::refusal::Refusal;

/// Refuses values of `ds-pwp-password-policy-dn` that name no policy.
pub(super) fn check(
    context: &UpdateContext<'_>,
    facts: &Arc<Facts>,
    request: &EntryRequest<'_>,
) -> Result<(), LdapResult> {
    let check = |attribute: ldap::Attribute<'_>| {
        if names_policies(facts, attribute.description) {
            attribute.values.iter().try_for_each(|value| check_name(context, facts, value))
        } else {
            Ok(())
        }
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

/// Other attributes cost a look at their first letter.
fn names_policies(facts: &Facts, description: &[u8]) -> bool {
    matches!(description.first(), Some(b'd' | b'D' | b'0'..=b'9'))
        && facts.account.policy_dn.is_some()
        && facts.schema.type_of_description(description).map(|known| known.index) == facts.account.policy_dn
}

fn check_name(context: &UpdateContext<'_>, facts: &Arc<Facts>, value: &[u8]) -> Result<(), LdapResult> {
    // What is no name at all is refused by its syntax.
    let Ok(name) = NormalizedDn::parse(&facts.schema, value) else { return Ok(()) };
    let policies = &context.reading.policies;
    match policies.has(facts, context.backends, &name).map_err(|error| store_failure(&error))? {
        true => Ok(()),
        false => Err(Refusal::NoPasswordPolicy { value: shown(value) }.into()),
    }
}
