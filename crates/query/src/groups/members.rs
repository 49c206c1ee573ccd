//! The members of groups that do not list them: dynamic and virtual static groups answer to `member` and `uniqueMember` as if they
//! did, dynamic groups only if they are configured to. All members are told where the configuration allows it, within the
//! requester's limits.
//!
//! Values that such an entry has itself win over these.

use std::collections::HashSet;
use std::ops::ControlFlow;

use schema::TypeIndex;
use store::record::put_value;
use store::{RecordView, StoreError};

use super::graph::attributes;
use super::moment::GroupsAt;
use super::service::Members;
use crate::class_flags::ClassFlags;
use crate::entry::{DnParts, EntryView};
use crate::filter::FilterScratch;
use crate::group_types::lists_by;
use crate::place::Place;

/// Virtual static groups that are followed to a target.
const TARGETS_MAX: usize = 10;

impl GroupsAt<'_> {
    /// Whether an entry is a group that does not list its members, and would do so in that attribute.
    pub fn computes_members(&self, record: &RecordView<'_>, attribute: TypeIndex) -> bool {
        let flags = self.class_flags(self.own, record);
        let types = &self.facts().groups;
        if !types.is_list(attribute) || attributes(record, attribute).next().is_some() {
            return false;
        }
        if flags.has(ClassFlags::VIRTUAL_STATIC_GROUP) {
            return flags.has(ClassFlags::UNIQUE_MEMBER_GROUP) == (Some(attribute) == types.unique_member);
        }
        flags.has(ClassFlags::DYNAMIC_GROUP) && self.configured(attribute).of_dynamic_groups
    }

    fn configured(&self, attribute: TypeIndex) -> Members {
        let options = self.groups.service.options;
        if Some(attribute) == self.facts().groups.unique_member { options.unique_member } else { options.member }
    }

    /// Whether the entry with that normalized name is in the group.
    pub fn has_member(&self, group: &EntryView<'_>, member: &[u8]) -> Result<bool, StoreError> {
        let Some(place) = self.locate(member)? else { return Ok(false) };
        let view = self.view_of(place.backend)?;
        let Some(record) = view.entry(place.id)? else { return Ok(false) };
        let entry = EntryView { id: place.id, record: record.view()?, dn: DnParts::default(), source: &view };
        self.has(Place { backend: self.own, id: group.id }, place.backend, &entry)
    }

    /// Appends the members of the group in wire form, if they may be told; `false` when there are none.
    pub fn put_members(
        &self,
        group: &EntryView<'_>,
        attribute: TypeIndex,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        if !self.configured(attribute).are_shown || !self.computes_members(&group.record, attribute) {
            return Ok(false);
        }
        let start = out.len();
        let mut place = Place { backend: self.own, id: group.id };
        let mut seen = HashSet::new();
        for _ in 0..TARGETS_MAX {
            let flags = self.flags_at(place)?;
            for url in self.urls_of(place, flags)? {
                for backend in 0..self.groups.backends.len() {
                    self.from(backend)?.put_described(&url, &mut seen, out)?;
                }
            }
            self.put_listed(place, flags, out)?;
            match self.target_of(place, flags)? {
                Some(target) => place = target,
                None => break,
            }
        }
        Ok(out.len() > start)
    }

    /// One entry more is looked at; `false` when that is too many.
    fn spend(&self) -> bool {
        let left = self.groups.budget.get();
        if left != u64::MAX {
            self.groups.budget.set(left.saturating_sub(1));
        }
        left > 1
    }

    /// The entries of the own backend that a URL describes.
    fn put_described(
        &self,
        url: &super::dynamic::MemberUrl,
        seen: &mut HashSet<Place>,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let view = self.view_of(self.own)?;
        let candidates = self.described(url)?;
        let all = view.all()?;
        let ids: Box<dyn Iterator<Item = _>> = match &candidates {
            Some(set) => Box::new(set.iter()),
            None => Box::new(all.iter()),
        };
        let mut scratch = FilterScratch::default();
        let (mut form, mut dn) = (Vec::new(), Vec::new());
        for id in ids {
            if !self.spend() {
                return Ok(());
            }
            let place = Place { backend: self.own, id };
            let Some(record) = view.entry(id)? else { continue };
            let record = record.view()?;
            form.clear();
            dn.clear();
            if !self.put_form(self.own, &record, &mut form)? || !self.put_dn(place, &mut dn)? {
                continue;
            }
            let entry = EntryView { id, record, dn: DnParts::whole(&dn), source: &view };
            if url.describes(self.facts(), &entry, &form, &mut scratch)? && seen.insert(place) {
                put_value(out, &dn);
            }
        }
        Ok(())
    }

    /// What a group lists itself, as it is written there.
    fn put_listed(&self, group: Place, flags: ClassFlags, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let view = self.view_of(group.backend)?;
        let Some(record) = view.entry(group.id)? else { return Ok(()) };
        let record = record.view()?;
        for (attribute, kind) in self.facts().groups.lists() {
            if lists_by(flags, kind) {
                self.each_value(group, &record, attribute, &mut |value| {
                    if !self.spend() {
                        return ControlFlow::Break(());
                    }
                    put_value(out, value);
                    ControlFlow::Continue(())
                })?;
            }
        }
        Ok(())
    }
}
