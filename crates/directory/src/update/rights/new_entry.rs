//! An entry that is to be added, as rules about new entries see it: what the request brings and the RDN says, at its
//! place.
//!
//! Knows requests and records; nothing is stored.

use ldap::AddRequest;
use query::facts::Facts;
use query::synthetic::{Attributes, SyntheticEntry};
use schema::AttributeDescription;
use store::{EntryId, StoreError};

/// The entry that a request adds below `parent` (the root for a base entry). Attributes that the schema does not know
/// are left out: they are refused.
pub(in crate::update) fn new_entry(
    facts: &Facts,
    parent: EntryId,
    request: &AddRequest<'_>,
) -> Result<SyntheticEntry, StoreError> {
    let schema = &facts.schema;
    let mut attributes = Attributes::new();
    for attribute in request.attributes.iter() {
        if let Ok(description) = AttributeDescription::parse(schema, attribute.description)
            && description.attribute.is_some()
        {
            attributes.add(&description.canonical(schema), attribute.values.iter());
        }
    }
    let dn = String::from_utf8_lossy(request.entry);
    let parsed = ldap::Dn::parse(&dn).ok();
    let rdn = parsed.as_ref().and_then(ldap::Dn::rdn);
    for ava in rdn.iter().flat_map(|rdn| rdn.avas()) {
        let Some(attribute) = schema.attribute_type(ava.attribute.as_bytes()) else { continue };
        let normal = |value: &[u8]| change::apply::normal_form(attribute.equality, schema, value);
        let mut same = request
            .attributes
            .iter()
            .filter(|it| schema.attribute_type(it.description).is_some_and(|it| it.index == attribute.index));
        if !same.any(|it| it.values.iter().any(|value| normal(value) == normal(&ava.value))) {
            attributes.add(attribute.name(), [&*ava.value]);
        }
    }
    let own = if parent == EntryId::ROOT { dn.to_string() } else { rdn.map(ToString::to_string).unwrap_or_default() };
    SyntheticEntry::below(facts, parent, &own, &dn, &attributes)
}
