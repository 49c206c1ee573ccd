//! The entries of some object classes, found by the index of `objectClass`.

use store::{IndexKey, StoreError, Values, View};

use crate::class_flags::ClassFlags;
use crate::facts::Facts;
use crate::id_set::IdSet;

/// All entries of classes that the server treats specially, by the objectClass index or, without one, by looking at
/// every entry for `flags`.
pub fn ids_of_classes<'c>(
    facts: &Facts,
    view: &View<'_>,
    classes: impl IntoIterator<Item = &'c [u8]>,
    flags: ClassFlags,
) -> Result<IdSet, StoreError> {
    ids_of_classes_by(facts, view, classes, &|classes| facts.class_flags(classes).has(flags))
}

/// The same of any classes: without the index every entry is looked at, and `is_of` tells by its classes whether it
/// counts.
pub fn ids_of_classes_by<'c>(
    facts: &Facts,
    view: &View<'_>,
    classes: impl IntoIterator<Item = &'c [u8]>,
    is_of: &dyn Fn(Values<'_>) -> bool,
) -> Result<IdSet, StoreError> {
    let indexes = view.indexes();
    let attribute = facts.object_class.and_then(|index| facts.schema.attribute_by_index(index));
    let mut ids = IdSet::default();
    if let Some(attribute) = attribute
        && let Some(rule) = attribute.equality
        && let Some(index) = indexes.set().equality(attribute.index, rule)
        && indexes.is_trusted(index.id)
    {
        let mut form = Vec::new();
        for class in classes {
            form.clear();
            if rule.normalize_assertion(&facts.schema, class, &mut form).is_ok() {
                ids.extend(view.postings(&IndexKey::new(index.id, &form))?.iter());
            }
        }
        return Ok(ids);
    }
    for id in view.all()?.iter() {
        if let Some(record) = view.entry(id)?
            && is_of(record.view()?.object_classes())
        {
            ids.insert(id);
        }
    }
    Ok(ids)
}
