//! From a draft to a record in the store: untouched attributes are copied as bytes, touched ones written anew,
//! operational ones stamped.
//!
//! The order of the steps matters to the indexes: large values that go leave before the record changes, large values
//! that come arrive after it, because the store decides by the record which keys are still needed.
//!
//! Knows no rules: the schema has been checked before, plugins judge what is written here.

use schema::uuid;
use store::{Attribute, Content, DescId, EntryId, Interner, RecordBuilder, RecordView, StoreError, Txn};

use super::change_notes::Note;
use super::draft::{Before, Draft, Now, Touched};
use super::marks::mark_written;
use super::stamps::Stamps;
use super::value_set::normal_form;
use super::work::Work;

/// Where the entry stands in the tree.
#[derive(Clone, Copy)]
pub(super) struct TreePosition<'p> {
    /// The entry above.
    pub(super) parent: EntryId,
    /// RDN in user form; the whole DN of a base entry.
    pub(super) rdn: &'p [u8],
}

/// Stores the entry, and notes what is different from then on.
pub(super) fn store(
    work: &mut Work<'_, '_>,
    note: &Note<'_>,
    draft: &mut Draft<'_>,
    place: TreePosition<'_>,
    mut stamps: Stamps,
) -> Result<(), StoreError> {
    let Work { txn, rules, facts, .. } = work;
    number(txn, draft)?;
    let touched = |desc: DescId| draft.touched.iter().any(|touched| touched.desc == Some(desc));
    stamps.retain(|(desc, _)| !touched(*desc));
    rules.notes.written(txn, draft, &stamps, note)?;
    remove_large(txn, draft)?;
    let record = build(txn, draft, place, &stamps)?;
    txn.put_entry(draft.id, record)?;
    mark_written(txn, facts, draft, place.parent, place.rdn);
    add_large(txn, draft)
}

/// Gives each description that will be stored its number.
fn number(txn: &mut Txn<'_>, draft: &mut Draft<'_>) -> Result<(), StoreError> {
    for touched in &mut draft.touched {
        if touched.desc.is_none() && !touched.is_empty() {
            touched.desc = Some(txn.description(&touched.description)?);
        }
    }
    Ok(())
}

fn remove_large(txn: &mut Txn<'_>, draft: &Draft<'_>) -> Result<(), StoreError> {
    for touched in &draft.touched {
        match (&touched.before, &touched.now, touched.desc) {
            (Before::Large(_), Now::Set(_), Some(desc)) => txn.remove_large_values(draft.id, desc)?,
            (_, Now::Edit(edit), _) => {
                for normal in edit.removed.keys() {
                    txn.remove_large_value(draft.id, edit.desc, normal)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn add_large(txn: &mut Txn<'_>, draft: &Draft<'_>) -> Result<(), StoreError> {
    for touched in &draft.touched {
        match (&touched.now, touched.desc) {
            (Now::Edit(edit), _) => {
                for (normal, value) in &edit.added {
                    txn.add_large_value(draft.id, edit.desc, normal, value)?;
                }
            }
            (Now::Set(set), Some(desc)) if is_large(touched) => {
                let schema = draft.schema;
                let attribute = touched.type_index.and_then(|index| schema.attribute_by_index(index));
                let rule = attribute.and_then(|attribute| attribute.equality);
                for value in set.iter() {
                    txn.add_large_value(draft.id, desc, &normal_form(rule, schema, value), value)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn build(
    txn: &mut Txn<'_>,
    draft: &Draft<'_>,
    place: TreePosition<'_>,
    stamps: &Stamps,
) -> Result<Vec<u8>, StoreError> {
    let mut builder = RecordBuilder::new(place.parent, place.rdn);
    let find = |desc: DescId| draft.touched.iter().find(|touched| touched.desc == Some(desc));
    let stamped = |desc: DescId| stamps.iter().any(|stamp| stamp.0 == desc);
    let mut written: Vec<DescId> = Vec::with_capacity(draft.touched.len());
    if let Some(record) = &draft.record {
        let except: Vec<DescId> = draft.touched.iter().filter_map(|touched| touched.desc).collect();
        builder.keep_header(record.header(), &except);
        copy(txn, &mut builder, record, |builder, txn, attribute| match find(attribute.desc) {
            Some(touched) => {
                written.push(attribute.desc);
                push(txn, builder, attribute.desc, touched)
            }
            None if stamped(attribute.desc) => Ok(()),
            None => match attribute.content {
                Content::Inline(values) => builder.push_values(attribute.desc, values, txn),
                Content::Large(stub) => builder.push_large(attribute.desc, stub),
            },
        })?;
    }
    for touched in &draft.touched {
        if let Some(desc) = touched.desc.filter(|desc| !written.contains(desc)) {
            push(txn, &mut builder, desc, touched)?;
        }
    }
    for (desc, value) in stamps {
        builder.push(*desc, [value.as_slice()], txn)?;
    }
    builder.finish()
}

fn copy(
    txn: &mut Txn<'_>,
    builder: &mut RecordBuilder,
    record: &RecordView<'_>,
    mut each: impl FnMut(&mut RecordBuilder, &mut Txn<'_>, Attribute<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    record.attributes().try_for_each(|attribute| each(builder, txn, attribute))
}

fn push(txn: &mut Txn<'_>, builder: &mut RecordBuilder, desc: DescId, touched: &Touched) -> Result<(), StoreError> {
    match &touched.now {
        Now::Edit(edit) => builder.push_large(desc, edit.stub),
        Now::Set(set) if is_large(touched) => {
            let bytes = set.iter().map(|value| value.len() as u64).sum();
            builder.push_large(desc, store::LargeStub { count: set.len() as u64, bytes })
        }
        Now::Set(set) => builder.push(desc, set.iter(), txn),
    }
}

/// Whether the values leave the record. Object classes never do: every operation needs them.
fn is_large(touched: &Touched) -> bool {
    match &touched.now {
        Now::Edit(_) => true,
        Now::Set(set) => {
            let longest = set.iter().map(<[u8]>::len).max().unwrap_or(0);
            !touched.is_object_class() && RecordBuilder::is_large(set.len(), longest)
        }
    }
}

/// `entryUUID` as the request has it, where it may.
pub(super) fn uuid_of(draft: &Draft<'_>) -> Option<[u8; 16]> {
    let touched = draft.touched.iter().find(|touched| touched.description == "entryUUID")?;
    let Now::Set(set) = &touched.now else { return None };
    uuid::parse(set.iter().next()?)
}
