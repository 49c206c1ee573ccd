//! What a write means to rights, told to the store: instructions of access control, groups, definitions.
//!
//! An entry that is none of these costs a look at what its classes mean and at the attributes that were touched. Knows
//! no right: whoever keeps rights sees by the marks that it has to read again.

use query::class_flags::ClassFlags;
use query::facts::Facts;
use query::group_types::ANY_GROUP;
use store::{EntryId, RecordView, Txn};

use super::draft::Draft;
use super::work::Work;

/// Entries that decide about what others belong to, get, or have to obey.
const DECIDES: ClassFlags = ANY_GROUP.with(ClassFlags::DEFINITION).with(ClassFlags::PASSWORD_POLICY);

/// Marks an entry that is added or changed; `parent` and `rdn` are where it stands now.
pub(super) fn mark_written(txn: &mut Txn<'_>, facts: &Facts, draft: &Draft<'_>, parent: EntryId, rdn: &[u8]) {
    let touches_aci = || draft.touched.iter().any(|touched| touched.type_index == facts.aci);
    let is_renamed = |record: &RecordView<'_>| record.parent() != parent || record.rdn() != rdn;
    let is_renamed_holder = || draft.record.as_ref().is_some_and(|record| is_renamed(record) && has_aci(facts, record));
    if facts.aci.is_some() && (touches_aci() || is_renamed_holder()) {
        txn.mark_access(draft.id);
    }
    let becomes = || draft.touches_classes() && facts.flags_of_classes(draft.classes()).has(DECIDES);
    if draft.was.has(DECIDES) || becomes() {
        txn.mark_membership();
    }
}

/// Marks an entry that is deleted.
pub(super) fn mark_removed(work: &mut Work<'_, '_>, id: EntryId, record: &RecordView<'_>) {
    if has_aci(&work.facts, record) {
        work.txn.mark_access(id);
    }
    if work.rules.classes.of(&work.facts, &work.rules.checker, record).flags.has(DECIDES) {
        work.txn.mark_membership();
    }
}

fn has_aci(facts: &Facts, record: &RecordView<'_>) -> bool {
    let Some(aci) = facts.aci else { return false };
    let descriptions = record.tables().by_type(aci.0);
    !descriptions.is_empty() && record.attributes().any(|stored| descriptions.contains(&stored.desc))
}
