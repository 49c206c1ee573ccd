//! An entry as it is stored now, lent as filters see it.

use query::entry::{DnParts, EntryView};
use store::{EntryId, RecordView, StoreError, View};

use super::error::ApplyError;

/// Lends an entry as filters see it.
pub(super) fn with_entry<T>(
    view: &View<'_>,
    id: EntryId,
    use_it: impl FnOnce(&EntryView<'_>) -> Result<T, ApplyError>,
) -> Result<T, ApplyError> {
    let missing = || StoreError::Damaged("an entry that an index names is not there".to_owned());
    let found = view.entry(id)?.ok_or_else(missing)?;
    let record: RecordView<'_> = found.view()?;
    let parent = match record.parent() {
        EntryId::ROOT => String::new(),
        parent => view.dn_of(parent)?.unwrap_or_default(),
    };
    let dn = DnParts { rdn: record.rdn(), parent: parent.as_bytes() };
    use_it(&EntryView { id, record, dn, source: view })
}
