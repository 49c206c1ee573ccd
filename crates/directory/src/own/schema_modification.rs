//! A modify request of `cn=schema`, read: which definitions it adds and deletes. What that would break is found out
//! elsewhere.

use access::Identity;
use ldap::{LdapResult, ModifyOperation, ModifyRequest};
use schema::{DefinitionKind, SchemaChange};

use crate::refusal::Refusal;
use change::proposal::Flags;
use query::error::shown;

/// A modification that was read.
#[derive(Debug)]
pub(crate) struct SchemaModification {
    pub(crate) changes: Vec<SchemaChange>,
    pub(crate) identity: Identity,
    pub(crate) flags: Flags,
}

impl SchemaModification {
    /// Reads a modify request of the subschema entry.
    pub(super) fn read(identity: &Identity, flags: Flags, request: &ModifyRequest<'_>) -> Result<Self, LdapResult> {
        let mut changes = Vec::new();
        for change in request.changes.iter() {
            let attribute = String::from_utf8_lossy(change.attribute.description);
            let Some(kind) = DefinitionKind::of_attribute(&attribute) else {
                return Err(Refusal::NoDefinition { attribute: shown(attribute.as_bytes()) }.into());
            };
            let is_add = match change.operation {
                ModifyOperation::Add => true,
                ModifyOperation::Delete if !change.attribute.values.is_empty() => false,
                _ => return Err(Refusal::SchemaAsAWhole { attribute: attribute.into_owned() }.into()),
            };
            for value in change.attribute.values.iter() {
                let value = std::str::from_utf8(value).map(str::to_owned);
                let value = value.map_err(|_| Refusal::DefinitionNotUtf8 { attribute: attribute.to_string() })?;
                changes.push(if is_add {
                    SchemaChange::Add { kind, value }
                } else {
                    SchemaChange::Delete { kind, value }
                });
            }
        }
        Ok(Self { changes, identity: identity.clone(), flags })
    }
}
