//! The members of groups that do not list them: dynamic and virtual static groups answer to `member` and `uniqueMember`
//! as if they did, dynamic groups only if they are configured to. All members are told where the configuration allows
//! it, within the requester's limits.
//!
//! Values that such an entry has itself win over these.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use schema::TypeIndex;
use store::record::put_value;
use store::{RecordView, StoreError};

use super::dynamic::MemberUrl;
use super::graph::attributes;
use super::moment::GroupsAt;
use super::service::Members;
use crate::backend::all_indices;
use crate::class_flags::ClassFlags;
use crate::entry::{DnParts, EntryView, StoredAt};
use crate::entry_place::EntryPlace;
use crate::filter::FilterScratch;
use crate::group_types::lists_by;
use crate::rights::ReadRight;

/// Takes an entry and its name.
type Described<'d> = &'d mut dyn FnMut(&EntryView<'_>, &[u8]) -> Result<(), StoreError>;

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
        let record = record.view()?;
        if !self.shows(place, &record)? {
            return Ok(false);
        }
        let entry = EntryView { id: place.id, record, dn: DnParts::default(), source: &view };
        self.has(EntryPlace { backend: self.own, id: group.id }, place.backend, &entry)
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
        let mut place = EntryPlace { backend: self.own, id: group.id };
        let mut seen: HashSet<Vec<u8>> = HashSet::new();
        for _ in 0..TARGETS_MAX {
            let flags = self.flags_at(place)?;
            for url in self.urls_of(place, flags)? {
                self.each_described(&url, &mut |_, dn| {
                    if !seen.contains(dn) {
                        seen.insert(dn.to_vec());
                        put_value(out, dn);
                    }
                    Ok(())
                })?;
            }
            self.put_listed(place, flags, out)?;
            match self.target_of(place, flags)? {
                Some(target) if self.shows_at(target)? => place = target,
                Some(_) | None => break,
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

    /// A URL, prepared; `None` describes nobody, and `told` hears why the first time.
    pub(crate) fn member_url(&self, text: &[u8], told: &mut dyn FnMut(String)) -> Option<Arc<MemberUrl>> {
        self.groups.service.urls.get(&self.groups.facts, text, self.groups.now_unix_seconds, told)
    }

    /// Calls `each` with the entries of all backends that a URL describes, and their names, as long as the requester
    /// may look at more.
    pub(crate) fn each_described(&self, url: &MemberUrl, each: Described<'_>) -> Result<(), StoreError> {
        all_indices(&self.groups.backends).try_for_each(|backend| self.from(backend)?.each_described_here(url, each))
    }

    fn each_described_here(&self, url: &MemberUrl, each: Described<'_>) -> Result<(), StoreError> {
        let view = self.view_of(self.own)?;
        let candidates = self.described(url)?;
        let all = view.all()?;
        let ids: Box<dyn Iterator<Item = _>> = match &candidates {
            Some(set) => Box::new(set.iter()),
            None => Box::new(all.iter()),
        };
        let mut scratch = FilterScratch::default();
        let (mut form, mut dn) = (Vec::new(), Vec::new());
        let items = self.asker().map(|reader| (reader, url.items(reader)));
        for id in ids {
            let Some(record) = view.entry(id)? else { continue };
            let record = record.view()?;
            if !self.shows(EntryPlace { backend: self.own, id }, &record)? {
                continue;
            }
            form.clear();
            dn.clear();
            if !self.put_form(self.own, &record, &mut form)?
                || !self.put_dn(EntryPlace { backend: self.own, id }, &mut dn)?
            {
                continue;
            }
            let source = StoredAt::new(self.own, view);
            let entry = EntryView { id, record, dn: DnParts::whole(&dn), source: &source };
            let is_described = url.describes(self.facts(), &entry, &form, self.asker(), &mut scratch)?;
            // That the indexes have it among the candidates must not be counted where it may not be known.
            let is_counted = match &items {
                Some((reader, items)) if !is_described => url.may_be_tested(items, *reader, &entry, &form)?,
                _ => true,
            };
            if is_counted && !self.spend() {
                return Ok(());
            }
            if is_described {
                each(&entry, &dn)?;
            }
        }
        Ok(())
    }

    /// What a group lists itself, as it is written there.
    fn put_listed(&self, group: EntryPlace, flags: ClassFlags, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let view = self.view_of(group.backend)?;
        let Some(record) = view.entry(group.id)? else { return Ok(()) };
        let record = record.view()?;
        for (attribute, kind) in self.facts().groups.lists() {
            if lists_by(flags, kind) && self.may(ReadRight::Read, group, &record, attribute)? {
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
