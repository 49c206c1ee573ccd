//! Sort keys of entries as their reader may know them: an attribute that the asker may not search in an entry is
//! missing there.

use std::borrow::Cow;

use query::entry::EntryView;
use query::rights::{ReadRight, Reader};
use schema::TypeIndex;
use smallvec::SmallVec;
use store::index::{IndexedEntry, SortOrder};
use store::{RecordView, StoreError};

use super::Sorting;

/// A record without some attributes.
struct Readable<'r, 'e> {
    record: &'r RecordView<'e>,
    hidden: SmallVec<[TypeIndex; 4]>,
}

impl IndexedEntry for Readable<'_, '_> {
    fn each_attribute<'s>(
        &'s self,
        wanted: &dyn Fn(TypeIndex) -> bool,
        visit: &mut dyn FnMut(TypeIndex, Cow<'s, [u8]>),
    ) {
        self.record.each_attribute(&|attribute| !self.hidden.contains(&attribute) && wanted(attribute), visit);
    }

    fn each_large(&self, visit: &mut dyn FnMut(TypeIndex)) {
        self.record.each_large(&mut |attribute| {
            if !self.hidden.contains(&attribute) {
                visit(attribute);
            }
        });
    }
}

/// Appends the key by which an entry is sorted for its reader; `are_rights_new`: they are not those that the search was
/// planned by.
pub(super) fn put_key(
    sorting: &Sorting,
    reader: Reader<'_>,
    are_rights_new: bool,
    entry: &EntryView<'_>,
    out: &mut Vec<u8>,
) -> Result<(), StoreError> {
    let order: &SortOrder = &sorting.order;
    let mut hidden = SmallVec::new();
    let mut ask = |attribute: TypeIndex| {
        if !reader.may(ReadRight::Search, entry, attribute)? {
            hidden.push(attribute);
        }
        Ok::<_, StoreError>(())
    };
    match are_rights_new {
        false => sorting.asks.iter().try_for_each(|attribute| ask(*attribute))?,
        true => sorting.attributes(reader.facts).try_for_each(&mut ask)?,
    }
    match hidden.is_empty() {
        true => order.put_key(&reader.facts.schema, &entry.record, out),
        false => order.put_key(&reader.facts.schema, &Readable { record: &entry.record, hidden }, out),
    }
    Ok(())
}
