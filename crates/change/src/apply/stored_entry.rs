//! An entry as it is stored now, lent as filters see it.

use ldap::LdapResult;
use query::entry::{DnParts, EntryView};
use store::{EntryId, RecordView, StoreError, View};

use super::draft::failed;

/// Lends an entry as filters see it.
pub(super) fn with_entry<T>(
    view: &View<'_>,
    id: EntryId,
    use_it: impl FnOnce(&EntryView<'_>) -> Result<T, LdapResult>,
) -> Result<T, LdapResult> {
    let damaged = || failed(StoreError::Misuse("an entry vanished while it was changed"));
    let found = view.entry(id).map_err(failed)?.ok_or_else(damaged)?;
    let record: RecordView<'_> = found.view().map_err(failed)?;
    let parent = match record.parent() {
        EntryId::ROOT => String::new(),
        parent => view.dn_of(parent).map_err(failed)?.unwrap_or_default(),
    };
    let dn = DnParts { rdn: record.rdn(), parent: parent.as_bytes() };
    use_it(&EntryView { id, record, dn, source: view })
}
