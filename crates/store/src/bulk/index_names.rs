//! The names of indexes in tools, the store's own indexes included.

use super::error::BulkError;
use crate::IndexId;
use crate::index::Indexer;

/// Names of the store's own indexes in tools.
const SYSTEM: [(IndexId, &str); 3] =
    [(IndexId::DN, "dn2id"), (IndexId::CHILDREN, "id2children"), (IndexId::ALL, "id2entry")];

/// The name of an index for people.
pub(super) fn index_name(indexer: &Indexer, id: IndexId) -> String {
    let system = SYSTEM.iter().find(|(own, _)| *own == id).map(|(_, name)| (*name).to_owned());
    let configured = || indexer.indexes().get(id).map(|index| index.name.clone());
    system.or_else(configured).unwrap_or_else(|| format!("number {}", id.0))
}

/// The indexes of these names; all for none. A bare attribute name stands for its indexes.
pub(super) fn named_indexes(indexer: &Indexer, names: &[String]) -> Result<Vec<IndexId>, BulkError> {
    let all = || SYSTEM.iter().map(|(id, _)| *id).chain(indexer.indexes().iter().map(|index| index.id));
    if names.is_empty() {
        return Ok(all().collect());
    }
    let mut found = Vec::new();
    for name in names {
        let before = found.len();
        let attribute = indexer.schema().attribute_type(name.as_bytes()).map(|attribute| attribute.index);
        found.extend(all().filter(|id| {
            let of_attribute =
                attribute.is_some_and(|own| indexer.indexes().of_attribute(own).any(|index| index.id == *id));
            of_attribute || index_name(indexer, *id).eq_ignore_ascii_case(name)
        }));
        if found.len() == before {
            return Err(BulkError::Option(format!("there is no index \"{name}\"")));
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}
