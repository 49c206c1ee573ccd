//! Delete (RFC 4511 §4.8), and of whole subtrees (draft-armijo-ldap-treedelete).

use schema::NormalizedDn;
use store::{EntryId, RecordView, StoreError};

use super::change_notes::Note;
use super::error::ApplyError;
use super::marks::mark_removed;
use super::plugins::{self, Moved};
use super::work::{Target, Work};
use crate::history::ChangeKind;
use crate::judged_tree::{SLICE_ENTRIES, doomed};
use crate::proposal::Flags;
use crate::refusal::Refusal;
use query::error::Refusal as NameRefusal;
use query::error::shown;

/// Applies a delete request. With the subtree delete control and more than [`SLICE_ENTRIES`] to delete, the entries
/// that are deepest below the first child go, and the report asks for the same proposal again.
pub(super) fn delete(work: &mut Work<'_, '_>, dn: &[u8]) -> Result<(), ApplyError> {
    let (judged, tree) = work.judged_tree()?;
    let target = work.find(dn, judged)?;
    if let Some(tree) = tree
        && !tree.is(&work.view(), target.id)?
    {
        return Err(ApplyError::JudgedElse);
    }
    work.read_before(target.id)?;
    let children = work.view().children(target.id)?.count();
    if children > 0 && !work.has(Flags::SUBTREE_DELETE) {
        let dn = shown(dn);
        return Err(match work.may_know_all() {
            true => Refusal::HasChildren { dn, count: children }.into(),
            false => Refusal::HasSomeChildren { dn }.into(),
        });
    }
    let doomed = doomed(&work.view(), target.id, SLICE_ENTRIES)?;
    work.has_more = doomed.last() != Some(&target.id);
    let mut gone = Vec::new();
    if work.rules.plugins.follows_references() {
        let (view, schema) = (work.view(), &work.facts.schema);
        for id in &doomed {
            let dn = view.dn_of(*id)?.unwrap_or_default();
            let old = NormalizedDn::parse(schema, dn.as_bytes())
                .map_err(|error| NameRefusal::invalid_dn(dn.as_bytes(), error))?;
            gone.push(Moved { old, dn, new: None, is_subtree: false });
        }
    }
    for id in doomed {
        note(work, id, &target)?;
        remove(work, id)?;
    }
    if gone.is_empty() { Ok(()) } else { plugins::follow(work, gone) }
}

/// Deletes an entry that was just found to be the last of its subtree: where it is not, the tree is damaged.
fn remove(work: &mut Work<'_, '_>, id: EntryId) -> Result<(), ApplyError> {
    work.txn.delete_entry(id).map_err(|error| match error {
        StoreError::Misuse(problem) => StoreError::Damaged(problem.to_owned()).into(),
        error => error.into(),
    })
}

/// Marks and notes an entry that goes.
fn note(work: &mut Work<'_, '_>, id: EntryId, target: &Target) -> Result<(), ApplyError> {
    let requested =
        |record: &RecordView<'_>| Note::requested(ChangeKind::Delete, record.header().uuid.unwrap_or_default());
    if id == target.id {
        let record = target.record()?;
        mark_removed(work, id, &record);
        return Ok(work.rules.notes.deleted(work.txn, id, &record, &requested(&record))?);
    }
    let tables = work.txn.tables().clone();
    let found = work.view().entry(id)?.map(|record| record.into_bytes().into_owned());
    let Some(bytes) = found else {
        return Err(StoreError::Damaged("an entry that the tree names is not there".to_owned()).into());
    };
    let record = RecordView::parse(&bytes, &tables)?;
    mark_removed(work, id, &record);
    if !work.rules.notes.is_on() {
        return Ok(());
    }
    let dn = work.view().dn_of(id)?.unwrap_or_default();
    let note = Note { dn: &dn, ..requested(&record) };
    Ok(work.rules.notes.deleted(work.txn, id, &record, &note)?)
}
