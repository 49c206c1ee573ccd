//! `cn=schema`: the subschema subentry (RFC 4512 §4.2), complete and true: it lists the schema in force and nothing else.

use schema::DefinitionKind;
use store::StoreError;

use query::facts::Facts;
use query::synthetic::{Attributes, SyntheticEntry};
use query::virtual_attributes::SCHEMA_DN;

/// Makes the subschema subentry of the schema in `facts`. `modified` is the time of its last change, if it ever was changed.
///
/// # Errors
/// When the schema has more text than a record may have.
pub fn schema_entry(facts: &Facts, modified: Option<&str>) -> Result<SyntheticEntry, StoreError> {
    let mut attributes = Attributes::new();
    attributes.add("objectClass", ["top", "ldapSubentry", "subschema"]);
    attributes.add("cn", ["schema"]);
    for kind in DefinitionKind::ALL {
        attributes.add(kind.attribute(), facts.schema.definitions(kind));
    }
    attributes.add("modifyTimestamp", modified);
    SyntheticEntry::new(facts, SCHEMA_DN, &attributes)
}
