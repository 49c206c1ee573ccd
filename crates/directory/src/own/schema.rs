//! `cn=schema`: the subschema subentry (RFC 4512 §4.2), complete and true: it lists the schema in force and nothing
//! else.

use std::sync::Arc;

use access::Identity;
use ldap::{EntryRequest, LdapResult};
use schema::{DefinitionKind, NormalizedDn};
use store::StoreError;

use super::schema_modification::SchemaModification;
use super::tree::{OwnContext, OwnTree, OwnUpdate};
use crate::refusal::Refusal;
use change::proposal::Flags;
use query::facts::Facts;
use query::synthetic::{Attributes, SyntheticEntry};
use query::virtual_attributes::SCHEMA_DN;

/// The subschema subentry of one schema.
#[derive(Debug)]
pub(super) struct SubschemaEntry(Arc<SyntheticEntry>);

impl SubschemaEntry {
    /// Lists the schema of `facts`.
    pub(super) fn new(facts: &Facts) -> Result<Self, StoreError> {
        let mut attributes = Attributes::new();
        attributes.add("objectClass", ["top", "ldapSubentry", "subschema"]);
        attributes.add("cn", ["schema"]);
        for kind in DefinitionKind::ALL {
            attributes.add(kind.attribute(), facts.schema.definitions(kind));
        }
        Ok(Self(Arc::new(SyntheticEntry::new(facts, SCHEMA_DN, &attributes)?)))
    }
}

impl OwnTree for SubschemaEntry {
    fn base(&self) -> &NormalizedDn {
        self.0.normalized()
    }

    fn dn(&self) -> &'static str {
        SCHEMA_DN
    }

    fn title(&self) -> &'static str {
        "The schema"
    }

    fn entry(
        &self,
        _context: &OwnContext<'_>,
        dn: &NormalizedDn,
        _written: &[u8],
    ) -> Result<Option<Arc<SyntheticEntry>>, LdapResult> {
        Ok((dn == self.base()).then(|| Arc::clone(&self.0)))
    }

    fn update(
        &self,
        identity: &Identity,
        flags: Flags,
        request: &EntryRequest<'_>,
        dn: &NormalizedDn,
    ) -> Result<OwnUpdate, LdapResult> {
        match request {
            EntryRequest::Modify(request) if dn == self.base() => {
                SchemaModification::read(identity, flags, request).map(OwnUpdate::Schema)
            }
            _ => Err(Refusal::SchemaOtherwise.into()),
        }
    }
}
