//! `cn=schema`: the subschema subentry (RFC 4512 §4.2), complete and true: it lists the schema in force and nothing
//! else.

use std::sync::Arc;

use access::{Privilege, Question, Right};
use ldap::{EntryRequest, LdapResult, ModifyRequest};
use schema::{DefinitionKind, NormalizedDn};
use store::StoreError;

use super::schema_modification::SchemaModification;
use super::tree::{OwnAsker, OwnContext, OwnTree, OwnUpdate};
use crate::refusal::Refusal;
use change::proposal::Flags;
use query::error::{no_such_object, shown, store_failure};
use query::facts::Facts;
use query::rights::Reader;
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

impl SubschemaEntry {
    /// A change takes the privilege update-schema, and the right to write what is changed.
    fn check_rights(&self, asker: &OwnAsker<'_>, request: &ModifyRequest<'_>) -> Result<(), LdapResult> {
        let rights = asker.rights.of_own_entries();
        let entry = self.0.view().map_err(|error| store_failure(&error))?;
        let reader = Reader { facts: asker.facts, rights: &rights };
        if !reader.shows(&entry).map_err(|error| store_failure(&error))? {
            return Err(no_such_object(&shown(request.object), ""));
        }
        if !asker.rights.has(Privilege::UpdateSchema) {
            return Err(Refusal::SchemaByUser.into());
        }
        for change in request.changes.iter() {
            let description = change.attribute.description;
            // What is no definition is refused later, whoever asks.
            let Some(known) = asker.facts.schema.attribute_type(description) else { continue };
            let question = Question::attribute(Right::Write, known.index);
            if !rights.may(asker.facts, &entry, question).map_err(|error| store_failure(&error))? {
                return Err(Refusal::SchemaAttribute { attribute: shown(description) }.into());
            }
        }
        Ok(())
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
        asker: &OwnAsker<'_>,
        flags: Flags,
        request: &EntryRequest<'_>,
        dn: &NormalizedDn,
    ) -> Result<OwnUpdate, LdapResult> {
        match request {
            EntryRequest::Modify(request) if dn == self.base() => {
                self.check_rights(asker, request)?;
                SchemaModification::read(asker.identity, flags, request).map(OwnUpdate::Schema)
            }
            _ => Err(Refusal::SchemaOtherwise.into()),
        }
    }
}
