//! Delete (RFC 4511 §4.8), and of whole subtrees (draft-armijo-ldap-treedelete).

use ldap::{LdapResult, ResultCode};
use store::{EntryId, StoreError, View};

use super::draft::failed;
use super::work::Work;
use crate::error::{refuse, shown};
use crate::proposal::Flags;

/// Most entries that one subtree delete takes: it is one change, and other updates wait for it (some seconds at this many).
pub(super) const SUBTREE_DELETE_ENTRIES_MAX: usize = 100_000;

/// Applies a delete request.
pub(super) fn delete(work: &mut Work<'_, '_>, dn: &[u8]) -> Result<(), LdapResult> {
    work.require_root("Deleting an entry")?;
    let target = work.find(dn)?;
    work.look_before(target.id)?;
    let children = work.view().children(target.id).map_err(failed)?.count();
    if children > 0 && !work.has(Flags::SUBTREE_DELETE) {
        let message = format!(
            "\"{}\" has {children} entries right below it: delete these first, or send the subtree delete control \
             (1.2.840.113556.1.4.805)",
            shown(dn)
        );
        return Err(refuse(ResultCode::NOT_ALLOWED_ON_NON_LEAF, message));
    }
    let Some(doomed) = subtree(&work.view(), target.id).map_err(failed)? else {
        let message = format!(
            "\"{}\" has more than {SUBTREE_DELETE_ENTRIES_MAX} entries below it: delete its branches one after the other",
            shown(dn)
        );
        return Err(refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, message));
    };
    // Parents come before their children in the list, so its end goes first.
    for id in doomed.into_iter().rev() {
        work.txn.delete_entry(id).map_err(failed)?;
    }
    Ok(())
}

/// The entry and everything below it, parents first; `None` when that is too much.
fn subtree(view: &View<'_>, top: EntryId) -> Result<Option<Vec<EntryId>>, StoreError> {
    let mut found = vec![top];
    let mut next = 0;
    while let Some(id) = found.get(next).copied() {
        next += 1;
        let room = SUBTREE_DELETE_ENTRIES_MAX.saturating_sub(found.len());
        let children = view.children(id)?;
        if children.count() > room as u64 {
            return Ok(None);
        }
        found.extend(children.iter());
    }
    Ok(Some(found))
}
