//! Rights that depend on what an entry holds, as access control instructions with a filter give them.

use std::rc::Rc;
use std::sync::Arc;

use query::answers::Answers;
use query::asker_rights::{AskerRights, Snapshots, Which};
use query::backend::BackendIndex;
use query::entry::EntryView;
use query::facts::Facts;
use query::rights::{Answer, ReadRight, ReadRights};
use schema::TypeIndex;
use store::{Content, Snapshot, StoreError};

use crate::Identity;
use crate::search::doubles;

/// Attributes that are seen of some entries only.
const PRIVATE: [&str; 5] = ["sn", "telephoneNumber", "member", "roleOccupant", "aliasedObjectName"];

/// An entry shows if it has `employeeType: seen`; `PRIVATE` may be had of those that also have `employeeType: open`,
/// passwords of none.
#[derive(Debug)]
pub struct ByMark;

impl ByMark {
    /// Somebody with these rights.
    pub fn identity() -> Identity {
        let dn = "cn=by mark";
        doubles::set(dn, Arc::new(ByMark));
        Identity::User { dn: dn.into(), backend: BackendIndex(0), entry: store::EntryId(u64::MAX) }
    }
}

impl AskerRights for ByMark {
    fn answers(self: Arc<Self>, which: Which) -> Result<Answers, StoreError> {
        Ok(match which {
            Which::Stored => Answers::ByEntry(Rc::new(ByMark)),
            Which::Own => Answers::Fixed(Arc::new(query::rights::Unrestricted)),
        })
    }

    fn are_of(&self, _backend: BackendIndex, _snapshot: &Snapshot) -> bool {
        true
    }

    fn renewed(&self, _snapshots: Snapshots<'_>, _now: i64) -> Result<Option<Arc<dyn AskerRights>>, StoreError> {
        Ok(None)
    }
}

fn has_mark(facts: &Facts, entry: &EntryView<'_>, mark: &[u8]) -> bool {
    assert!(entry.source.stored().is_some(), "whoever asks says where the entry is");
    let marks = facts.schema.attribute_type(b"employeeType").unwrap().index;
    let descs = entry.record.tables().by_type(marks.0);
    entry.record.attributes().any(|stored| match stored.content {
        Content::Inline(values) => descs.contains(&stored.desc) && values.iter().any(|value| value == mark),
        Content::Large(_) => false,
    })
}

impl ReadRights for ByMark {
    fn of_type(&self, facts: &Facts, _right: ReadRight, attribute: TypeIndex) -> Answer {
        if facts.is_secret(attribute) { Answer::No } else { Answer::Ask }
    }

    fn of_entry(
        &self,
        facts: &Facts,
        _right: ReadRight,
        entry: &EntryView<'_>,
        attribute: TypeIndex,
    ) -> Result<bool, StoreError> {
        let known = facts.schema.attribute_by_index(attribute).unwrap();
        let is_private = PRIVATE.iter().any(|name| known.has_name(name));
        Ok(has_mark(facts, entry, b"seen") && (!is_private || has_mark(facts, entry, b"open")))
    }

    fn of_unknown(&self, _right: ReadRight) -> Answer {
        Answer::No
    }

    fn shows_entries(&self) -> Answer {
        Answer::Ask
    }

    fn shows(&self, facts: &Facts, entry: &EntryView<'_>) -> Result<bool, StoreError> {
        Ok(has_mark(facts, entry, b"seen"))
    }
}
