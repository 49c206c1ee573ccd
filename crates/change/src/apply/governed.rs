//! Attributes that an entry shows from somewhere else instead of what it has stored (Sun: CoS with `override` or
//! `operational`): clients cannot write them, because what they wrote would not be shown. Taking stored values away is
//! allowed, and root may write with the relax control.
//!
//! Knows the definitions that the backend's own entries make, which are the same at every replay; whether a value is
//! given in the end may depend on other backends and is not looked up.

use std::sync::Arc;

use ldap::{ModifyOperation, ModifyRequest};
use schema::{NormalizedDn, TypeIndex};
use smallvec::SmallVec;

use super::definitions_cache::DefinitionsCache;
use super::error::ApplyError;
use super::work::{Target, Work};
use crate::refusal::Refusal;
use query::backend::BackendIndex;
use query::class_flags::ClassFlags;
use query::computed::Definitions;
use query::facts::Facts;

impl Work<'_, '_> {
    /// Refuses to give a stored entry values of an attribute that is given to it.
    pub(super) fn check_not_given(&mut self, target: &Target, request: &ModifyRequest<'_>) -> Result<(), ApplyError> {
        let definitions = self.definitions()?;
        let is_class = |name: &[u8]| name.eq_ignore_ascii_case(b"objectClass") || name == b"2.5.4.0";
        if target.classes.flags.has(ClassFlags::DEFINITION)
            || request.changes.iter().any(|change| is_class(change.attribute.description))
        {
            self.rules.definitions = DefinitionsCache::default();
        }
        let Some(definitions) = definitions.filter(|_| !self.is_relaxed()) else { return Ok(()) };
        if target.classes.flags.has(ClassFlags::SUBENTRY) {
            return Ok(());
        }
        let record = target.record()?;
        let tables = record.tables();
        let has =
            |attribute: TypeIndex| record.attributes().any(|stored| tables.by_type(attribute.0).contains(&stored.desc));
        if is_template(&self.facts, record.object_classes().iter()) {
            return Ok(());
        }
        let written = request.changes.iter().filter(|change| {
            change.operation != ModifyOperation::Delete && change.attribute.values.iter().next().is_some()
        });
        let names = written.map(|change| change.attribute.description);
        check(&self.facts, &definitions, &target.name, &has, names)
    }

    /// The same for an entry that is added with `attributes`: descriptions and values.
    pub(super) fn check_new_not_given<'v>(
        &mut self,
        dn: &[u8],
        attributes: impl Iterator<Item = (&'v [u8], ldap::Strings<'v>)> + Clone,
    ) -> Result<(), ApplyError> {
        let definitions = self.definitions()?;
        let facts = Arc::clone(&self.facts);
        let schema = &facts.schema;
        let type_of = |name: &[u8]| schema.attribute_type(name).map(|it| it.index);
        let classes = attributes.clone().filter(|(name, _)| type_of(name) == self.facts.object_class);
        let classes: SmallVec<[&[u8]; 8]> = classes.flat_map(|(_, values)| values.iter()).collect();
        let known = || classes.iter().filter_map(|name| schema.object_class(name));
        if known().any(|class| facts.definitions.flags_of(class).has(ClassFlags::DEFINITION)) {
            self.rules.definitions = DefinitionsCache::default();
        }
        let Some(definitions) = definitions.filter(|_| !self.is_relaxed()) else { return Ok(()) };
        let is_subentry = known().any(|class| {
            let above = [&b"subentry"[..], b"ldapSubentry"].into_iter().filter_map(|name| schema.object_class(name));
            above.into_iter().any(|above| class.is_subclass_of(above.index))
        });
        if is_subentry || is_template(&self.facts, classes.into_iter()) {
            return Ok(());
        }
        let has = |attribute: TypeIndex| attributes.clone().any(|(name, _)| type_of(name) == Some(attribute));
        let (name, _) = self.resolve(dn)?;
        check(&self.facts, &definitions, &name, &has, attributes.clone().map(|(name, _)| name))
    }

    /// What the backend's entries define; nothing where none refuses writes.
    fn definitions(&mut self) -> Result<Option<Arc<Definitions>>, ApplyError> {
        if let Some(known) = &self.rules.definitions.known {
            return Ok(known.clone());
        }
        let found = self.rules.definitions.service.definitions(BackendIndex(0), &self.facts, &self.view())?;
        let refuses = |it: &Arc<Definitions>| {
            it.groups().iter().flat_map(|group| &group.definitions).any(|(_, definition)| definition.refuses_writes)
        };
        let found = found.filter(refuses);
        self.rules.definitions.known = Some(found.clone());
        Ok(found)
    }
}

/// Templates are where the values come from.
fn is_template<'v>(facts: &Facts, mut classes: impl Iterator<Item = &'v [u8]>) -> bool {
    let Some(template) = facts.schema.object_class(b"cosTemplate") else { return false };
    classes.any(|name| facts.schema.object_class(name).is_some_and(|class| class.is_subclass_of(template.index)))
}

fn check<'v>(
    facts: &Facts,
    definitions: &Definitions,
    name: &NormalizedDn,
    has: &dyn Fn(TypeIndex) -> bool,
    written: impl Iterator<Item = &'v [u8]>,
) -> Result<(), ApplyError> {
    // Attributes that no client may write are refused elsewhere, with another text.
    let written = written.filter_map(|name| facts.schema.attribute_type(name)).filter(|it| !facts.is_virtual(it.index));
    for attribute in written {
        let mut own = definitions.groups().iter().filter(|group| group.attribute == attribute.index);
        let is_given = own.any(|group| {
            group.definitions.iter().any(|(_, definition)| {
                definition.refuses_writes && definition.reach.is_below_base(name) && definition.source.concerns(has)
            })
        });
        if is_given {
            return Err(Refusal::FromClassOfService { attribute: attribute.name().to_owned() }.into());
        }
    }
    Ok(())
}
