//! A modify request of `cn=schema`, read: which definitions it adds and deletes. What that would break is found out
//! elsewhere.

use access::Identity;
use ldap::{LdapResult, ModifyOperation, ModifyRequest, ResultCode};
use schema::{DefinitionKind, SchemaChange};

use change::proposal::Flags;
use query::error::{refuse, shown};

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
        if !identity.is_root() {
            let message = "Only root users may change the schema";
            return Err(refuse(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, message));
        }
        let mut changes = Vec::new();
        for change in request.changes.iter() {
            let attribute = String::from_utf8_lossy(change.attribute.description);
            let Some(kind) = DefinitionKind::of_attribute(&attribute) else {
                let message =
                    format!("Only definitions can be changed in cn=schema, not {}", shown(attribute.as_bytes()));
                return Err(refuse(ResultCode::CONSTRAINT_VIOLATION, message));
            };
            let is_add = match change.operation {
                ModifyOperation::Add => true,
                ModifyOperation::Delete if !change.attribute.values.is_empty() => false,
                _ => {
                    let message =
                        format!("Add or delete single values of {attribute}: the schema is not replaced as a whole");
                    return Err(refuse(ResultCode::UNWILLING_TO_PERFORM, message));
                }
            };
            for value in change.attribute.values.iter() {
                let value = std::str::from_utf8(value).map(str::to_owned).map_err(|_| {
                    refuse(ResultCode::INVALID_ATTRIBUTE_SYNTAX, format!("A value of {attribute} is not UTF-8"))
                })?;
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
