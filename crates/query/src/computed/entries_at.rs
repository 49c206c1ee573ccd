//! The entries of one backend at one moment, as definitions look at them: by name, by place, by what they have stored.
//!
//! Knows groups; nothing of what entries are given.

use schema::NormalizedDn;
use store::{EntryId, RecordView, StoreError, View};

use crate::backend::{BackendIndex, Suffix};
use crate::class_flags::ClassFlags;
use crate::entry::{DnParts, EntryView};
use crate::entry_place::EntryPlace;
use crate::facts::Facts;
use crate::filter::{Asker, FilterScratch, Matcher, Truth};
use crate::groups::GroupsAt;

/// See the module.
#[derive(Clone, Copy)]
pub struct EntriesAt<'g> {
    groups: GroupsAt<'g>,
    shown: GroupsAt<'g>,
}

impl<'g> EntriesAt<'g> {
    /// Seen with the groups of the moment: all of them, and as the asker sees them.
    #[must_use]
    pub fn new(groups: GroupsAt<'g>, shown: GroupsAt<'g>) -> EntriesAt<'g> {
        EntriesAt { groups, shown }
    }

    /// Groups at the same moment, as the asker sees them.
    #[must_use]
    pub fn shown_groups(&self) -> GroupsAt<'g> {
        self.shown
    }

    /// The schema.
    #[must_use]
    pub fn facts(&self) -> &'g Facts {
        self.groups.facts()
    }

    /// The entry's own backend at the moment.
    #[must_use]
    pub fn view(&self) -> View<'g> {
        self.groups.view()
    }

    /// Groups at the same moment.
    #[must_use]
    pub fn groups(&self) -> GroupsAt<'g> {
        self.groups
    }

    /// The entry's own backend, as its place in the list.
    #[must_use]
    pub fn backend(&self) -> BackendIndex {
        self.groups.own()
    }

    /// The suffixes of the entry's own backend.
    #[must_use]
    pub fn suffixes(&self) -> &'g [Suffix] {
        self.groups.suffixes()
    }

    /// What the classes of an entry mean.
    #[must_use]
    pub fn class_flags(&self, record: &RecordView<'_>) -> ClassFlags {
        self.groups.class_flags(self.groups.own(), record)
    }

    /// An entry of the own backend by its name; the root of the tree where the backend holds the empty name.
    pub fn locate_here(&self, name: &NormalizedDn) -> Result<Option<EntryId>, StoreError> {
        if name.is_root() {
            return Ok(self.suffixes().iter().any(Suffix::is_root).then_some(EntryId::ROOT));
        }
        let place = self.groups.locate(name.as_bytes())?;
        Ok(place.filter(|place| place.backend == self.groups.own()).map(|place| place.id))
    }

    /// An entry of any backend by its name.
    pub fn locate(&self, name: &[u8]) -> Result<Option<EntryPlace>, StoreError> {
        if name.is_empty() { Ok(None) } else { self.groups.locate(name) }
    }

    /// Appends the name of an entry of the own backend.
    pub fn put_dn(&self, id: EntryId, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        self.groups.put_dn(EntryPlace { backend: self.groups.own(), id }, out)
    }

    /// Appends the normalized name of an entry of the own backend; `false` when it cannot be told.
    pub fn put_form(&self, record: &RecordView<'_>, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        self.groups.put_form(self.groups.own(), record, out)
    }

    /// Whether an entry matches a filter with what it has stored.
    pub fn matches_stored(
        &self,
        entry: &EntryView<'_>,
        filter: &Matcher,
        scratch: &mut FilterScratch,
    ) -> Result<bool, StoreError> {
        let view = self.view();
        let mut dn = Vec::new();
        if filter.needs_dn() {
            self.put_dn(entry.id, &mut dn)?;
        }
        let stored = EntryView { dn: DnParts::whole(&dn), source: &view, ..*entry };
        Ok(filter.matches(self.facts(), &stored, Asker::SERVER, scratch)? == Truth::True)
    }

    /// How many RDNs an entry is below another one; none when it is not.
    pub fn depth_below(&self, entry: &EntryView<'_>, top: EntryId) -> Result<Option<usize>, StoreError> {
        if entry.id == top {
            return Ok(Some(0));
        }
        self.groups.depth_below(entry.record.parent(), top).map(|depth| depth.map(|depth| depth + 1))
    }

    /// Whether an entry is in a group.
    pub fn is_in_group(&self, entry: &EntryView<'_>, group: &NormalizedDn) -> Result<bool, StoreError> {
        self.groups.contains(entry, group.as_bytes())
    }
}
