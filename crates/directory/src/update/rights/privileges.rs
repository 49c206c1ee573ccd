//! Attributes that take a privilege to write, beside the right: `aci`, privileges, and passwords of others.
//!
//! Knows types and privileges; not which entry is written.

use access::{Privilege, PrivilegeGrant};
use ldap::{EntryRequest, ModifyOperation};
use query::facts::Facts;
use schema::{Schema, TypeIndex};

use super::refusal::Refusal;

/// Attributes that hold access control instructions.
const INSTRUCTIONS: [&[u8]; 2] = [b"aci", b"ds-cfg-global-aci"];

/// Attributes that hold passwords.
const PASSWORDS: [&[u8]; 2] = [b"userPassword", b"authPassword"];

/// What it takes to write an attribute, if it takes a privilege. `is_own` says that passwords are the asker's.
pub(crate) fn privilege_to_write(facts: &Facts, attribute: TypeIndex, is_own: bool) -> Option<Privilege> {
    let is_one_of = |names: &[&[u8]]| names.iter().any(|name| is(&facts.schema, attribute, name));
    if is_one_of(&INSTRUCTIONS) {
        Some(Privilege::ModifyAcl)
    } else if Some(attribute) == facts.privilege_name {
        Some(Privilege::PrivilegeChange)
    } else if !is_own && is_one_of(&PASSWORDS) {
        Some(Privilege::PasswordReset)
    } else {
        None
    }
}

/// The refusal of who lacks the privilege to write an attribute.
pub(super) fn lacking(schema: &Schema, attribute: TypeIndex, privilege: Privilege) -> Refusal {
    if privilege == Privilege::PasswordReset {
        return Refusal::ResetPassword;
    }
    let attribute = schema.attribute_by_index(attribute).map(|it| it.name()).unwrap_or_default().to_owned();
    Refusal::NeedsPrivilege { attribute, privilege: privilege.name().to_owned() }
}

/// Refuses values of `ds-privilege-name` that name no privilege.
pub(crate) fn check_privilege_names(facts: &Facts, request: &EntryRequest<'_>) -> Result<(), Refusal> {
    let check = |attribute: &ldap::Attribute<'_>| {
        let known = facts.schema.type_of_description(attribute.description).map(|known| known.index);
        if known.is_none() || known != facts.privilege_name {
            return Ok(());
        }
        let checked = attribute.values.iter().try_for_each(|value| PrivilegeGrant::check(value).map(drop));
        checked.map_err(|unknown| Refusal::UnknownPrivilege { problem: unknown.to_string() })
    };
    match request {
        EntryRequest::Add(add) => add.attributes.iter().try_for_each(|attribute| check(&attribute)),
        EntryRequest::Modify(modify) => {
            let brings = modify.changes.iter().filter(|change| change.operation != ModifyOperation::Delete);
            brings.map(|change| change.attribute).try_for_each(|attribute| check(&attribute))
        }
        EntryRequest::Delete(_) | EntryRequest::ModifyDn(_) => Ok(()),
    }
}

fn is(schema: &Schema, attribute: TypeIndex, name: &[u8]) -> bool {
    schema.attribute_type(name).is_some_and(|known| known.index == attribute)
}
