//! From an entry up to the groups that it is in, direct and nested, and the question whether one of them is above an
//! entry.
//!
//! Invariants: (1) Every group is followed once, so circles end. (2) What [`GroupsAt::all_above`] finds and what
//! [`GroupsAt::contains`] says agree.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::rc::Rc;

use schema::{MatchingRule, TypeIndex};
use store::index::Index;
use store::posting::key::KEY_BYTES_MAX;
use store::{Content, EntryId, IndexKey, RecordView, StoreError, Values, View};

use super::moment::Computed;
use super::moment::GroupsAt;
use crate::backend::{BackendIndex, all_indices};
use crate::circle;
use crate::class_flags::ClassFlags;
use crate::class_ids::ids_of_classes;
use crate::entry::{DnParts, EntryView, StoredAt};
use crate::entry_place::EntryPlace;
use crate::facts::Facts;
use crate::group_types::{ANY_GROUP, COMPUTED, GroupTypes, lists_by};
use crate::rights::ReadRight;

/// Entries that one chain of references is followed through.
pub const CHAIN_MAX: usize = 100_000;

impl GroupsAt<'_> {
    /// All groups that the entry is in, without repeats.
    pub fn all_above(&self, entry: &EntryView<'_>) -> Result<Vec<EntryPlace>, StoreError> {
        let mut found = self.direct(self.own, entry)?;
        let mut seen: HashSet<EntryPlace> = found.iter().copied().collect();
        // Two ways to one group, or a circle.
        let mut came_again = false;
        let mut at = 0;
        while let Some(group) = found.get(at).copied() {
            for above in self.above(group)?.iter() {
                if seen.insert(*above) {
                    found.push(*above);
                } else {
                    came_again = true;
                }
            }
            at += 1;
        }
        if came_again {
            self.report_circles(&found)?;
        }
        Ok(found)
    }

    /// Whether the entry is in the group with that normalized name.
    pub fn contains(&self, entry: &EntryView<'_>, group: &[u8]) -> Result<bool, StoreError> {
        match self.group_named(group)? {
            Some(target) => self.has(target, self.own, entry),
            None => Ok(false),
        }
    }

    /// Whether a group has an entry of `backend`.
    pub(super) fn has(
        &self,
        target: EntryPlace,
        backend: BackendIndex,
        entry: &EntryView<'_>,
    ) -> Result<bool, StoreError> {
        for direct in self.direct(backend, entry)? {
            if direct == target || self.is_above(target, direct)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the entry is in any group.
    pub fn is_in_any(&self, entry: &EntryView<'_>) -> Result<bool, StoreError> {
        Ok(!self.direct(self.own, entry)?.is_empty())
    }

    /// The group with that normalized name; none when there is no such entry or it is no group.
    pub(super) fn group_named(&self, form: &[u8]) -> Result<Option<EntryPlace>, StoreError> {
        if let Some(known) = self.groups.state.borrow().targets.get(form) {
            return Ok(*known);
        }
        let mut found = self.locate(form)?;
        if let Some(place) = found
            && !(self.flags_at(place)?.has(ANY_GROUP) && self.shows_at(place)?)
        {
            found = None;
        }
        self.groups.state.borrow_mut().targets.insert(form.into(), found);
        Ok(found)
    }

    /// Whether there is an entry that shows.
    pub(super) fn shows_at(&self, place: EntryPlace) -> Result<bool, StoreError> {
        if self.asker().is_none() {
            return Ok(true);
        }
        let view = self.view_of(place.backend)?;
        let Some(record) = view.entry(place.id)? else { return Ok(false) };
        self.shows(place, &record.view()?)
    }

    /// What an entry's classes mean; nothing when it is not there.
    pub(super) fn flags_at(&self, place: EntryPlace) -> Result<ClassFlags, StoreError> {
        let view = self.view_of(place.backend)?;
        let Some(record) = view.entry(place.id)? else { return Ok(ClassFlags::default()) };
        Ok(self.class_flags(place.backend, &record.view()?))
    }

    /// Groups that have the entry without another group between.
    fn direct(&self, backend: BackendIndex, entry: &EntryView<'_>) -> Result<Vec<EntryPlace>, StoreError> {
        let mut form = Vec::new();
        let mut found = Vec::new();
        if !self.put_form(backend, &entry.record, &mut form)? {
            return Ok(found);
        }
        self.listing(&form, &mut found)?;
        let computed = self.computed()?;
        if !computed.dynamic.is_empty() {
            self.describing(&computed, backend, entry, &form, &mut found)?;
        }
        Ok(found)
    }

    /// Dynamic groups of which the entry is one, added to `found`.
    fn describing(
        &self,
        computed: &Computed,
        backend: BackendIndex,
        entry: &EntryView<'_>,
        form: &[u8],
        found: &mut Vec<EntryPlace>,
    ) -> Result<(), StoreError> {
        let view = self.view_of(backend)?;
        let mut dn = Vec::new();
        self.put_dn(EntryPlace { backend, id: entry.id }, &mut dn)?;
        let stored = StoredAt::new(backend, view);
        let named = EntryView { dn: DnParts::whole(&dn), source: &stored, ..*entry };
        let mut scratch = std::mem::take(&mut self.groups.state.borrow_mut().scratch);
        for (group, urls) in &computed.dynamic {
            for url in urls {
                if url.describes(self.facts(), &named, form, self.asker(), &mut scratch)? {
                    if !found.contains(group) {
                        found.push(*group);
                    }
                    break;
                }
            }
        }
        self.groups.state.borrow_mut().scratch = scratch;
        Ok(())
    }

    /// Groups that have all members of a group: those that list it, and virtual static ones with it as target.
    pub(super) fn above(&self, group: EntryPlace) -> Result<Rc<[EntryPlace]>, StoreError> {
        if let Some(known) = self.groups.state.borrow().above.get(&group) {
            return Ok(Rc::clone(known));
        }
        let mut found = Vec::new();
        let view = self.view_of(group.backend)?;
        if let Some(record) = view.entry(group.id)? {
            let mut form = Vec::new();
            if self.put_form(group.backend, &record.view()?, &mut form)? {
                self.listing(&form, &mut found)?;
            }
        }
        for (virtual_static, target) in &self.computed()?.virtual_static {
            if *target == group && !found.contains(virtual_static) {
                found.push(*virtual_static);
            }
        }
        let found: Rc<[EntryPlace]> = found.into();
        self.remember_above(group, &found);
        Ok(found)
    }

    /// Whether `target` is above `group`.
    fn is_above(&self, target: EntryPlace, group: EntryPlace) -> Result<bool, StoreError> {
        if let Some(known) = self.groups.state.borrow().reaching.get(&(target, group)) {
            return Ok(*known);
        }
        let mut seen = HashSet::from([group]);
        let mut open = vec![group];
        let mut reached = false;
        while let Some(at) = open.pop() {
            // What is not known yet about a group between is found out here.
            let known = self.groups.state.borrow().reaching.get(&(target, at)).copied();
            match known {
                Some(true) => reached = true,
                Some(false) => continue,
                None => {
                    for above in self.above(at)?.iter() {
                        reached |= *above == target;
                        if seen.insert(*above) {
                            open.push(*above);
                        }
                    }
                }
            }
            if reached {
                break;
            }
        }
        let mut state = self.groups.state.borrow_mut();
        if reached {
            state.reaching.insert((target, group), true);
        } else {
            state.reaching.extend(seen.into_iter().map(|at| ((target, at), false)));
        }
        Ok(reached)
    }

    /// Static groups that list the name, in any backend, added to `found`.
    fn listing(&self, form: &[u8], found: &mut Vec<EntryPlace>) -> Result<(), StoreError> {
        let before = found.len();
        for backend in all_indices(&self.groups.backends) {
            for (attribute, kind) in self.facts().groups.lists() {
                if self.may_have(backend, kind)? {
                    self.listing_in(backend, attribute, kind, form, found)?;
                }
            }
        }
        // A group of both classes may list it twice.
        if self.facts().groups.unique_member.is_some() && found.len() > before + 1 {
            let mut seen: HashSet<EntryPlace> = HashSet::with_capacity(found.len());
            found.retain(|place| seen.insert(*place));
        }
        Ok(())
    }

    fn listing_in(
        &self,
        backend: BackendIndex,
        attribute: TypeIndex,
        kind: ClassFlags,
        form: &[u8],
        found: &mut Vec<EntryPlace>,
    ) -> Result<(), StoreError> {
        let all = || self.groups_of(backend, kind);
        let counts = |record: &RecordView<'_>| lists_by(self.class_flags(backend, record), kind);
        self.holders_in(backend, attribute, form, &all, &counts, found)
    }

    /// The entries of a backend that have the name in an attribute and count, added to `found`. `all` are those to be
    /// asked one by one.
    pub(super) fn holders_in(
        &self,
        backend: BackendIndex,
        attribute: TypeIndex,
        form: &[u8],
        all: &dyn Fn() -> Result<Vec<EntryId>, StoreError>,
        counts: &dyn Fn(&RecordView<'_>) -> bool,
        found: &mut Vec<EntryPlace>,
    ) -> Result<(), StoreError> {
        let view = self.view_of(backend)?;
        let Some(rule) = equality_of(self.facts(), attribute) else { return Ok(()) };
        let (ids, is_exact): (Box<dyn Iterator<Item = EntryId>>, bool) = match trusted(&view, attribute, rule) {
            Some(index) => {
                let key = IndexKey::new(index.id, &index.key(form));
                let is_exact = index.is_ordered() && form.len() <= KEY_BYTES_MAX;
                (Box::new(view.postings(&key)?.iter()), is_exact)
            }
            // Until the index is built every group is asked.
            None => (Box::new(all()?.into_iter()), false),
        };
        for id in ids {
            let Some(record) = view.entry(id)? else { continue };
            let record = record.view()?;
            let place = EntryPlace { backend, id };
            let is_holder = counts(&record) && (is_exact || self.lists(&view, id, &record, attribute, rule, form)?);
            if is_holder && self.shows(place, &record)? {
                found.push(place);
            }
        }
        Ok(())
    }

    /// Whether an entry has that value.
    fn lists(
        &self,
        view: &View<'_>,
        id: EntryId,
        record: &RecordView<'_>,
        attribute: TypeIndex,
        rule: &MatchingRule,
        form: &[u8],
    ) -> Result<bool, StoreError> {
        let mut own = Vec::new();
        for stored in attributes(record, attribute) {
            let has = match stored.content {
                Content::Large(_) => view.large_value(id, stored.desc, form)?.is_some(),
                Content::Inline(values) => values.iter().any(|value| {
                    own.clear();
                    rule.normalize(&self.facts().schema, value, &mut own).is_ok() && own == form
                }),
            };
            if has {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The entries of a backend that may be groups of some of these kinds.
    pub(super) fn groups_of(&self, backend: BackendIndex, kinds: ClassFlags) -> Result<Vec<EntryId>, StoreError> {
        let view = self.view_of(backend)?;
        let classes = GroupTypes::class_names(kinds);
        Ok(ids_of_classes(self.facts(), &view, classes, kinds)?.iter().collect())
    }

    /// The dynamic and virtual static groups of all backends.
    pub(super) fn computed(&self) -> Result<Rc<Computed>, StoreError> {
        if let Some(known) = &self.groups.state.borrow().computed {
            return Ok(Rc::clone(known));
        }
        let mut computed = Computed::default();
        for backend in all_indices(&self.groups.backends) {
            if !self.may_have(backend, COMPUTED)? {
                continue;
            }
            let view = self.view_of(backend)?;
            for id in self.groups_of(backend, COMPUTED)? {
                let Some(record) = view.entry(id)? else { continue };
                let (place, record) = (EntryPlace { backend, id }, record.view()?);
                if self.shows(place, &record)? {
                    self.add_computed(&mut computed, place, &record)?;
                }
            }
        }
        let computed = Rc::new(computed);
        self.groups.state.borrow_mut().computed = Some(Rc::clone(&computed));
        Ok(computed)
    }

    fn add_computed(
        &self,
        computed: &mut Computed,
        group: EntryPlace,
        record: &RecordView<'_>,
    ) -> Result<(), StoreError> {
        let flags = self.class_flags(group.backend, record);
        let types = &self.facts().groups;
        if let (true, Some(member_url)) = (flags.has(ClassFlags::DYNAMIC_GROUP), types.member_url) {
            let mut urls = Vec::new();
            let mut add = |value: &[u8]| {
                let told = |why| self.report_bad_url(group, why);
                let service = &self.groups.service;
                urls.extend(service.urls.get(&self.groups.facts, value, self.groups.now_unix_seconds, told));
                ControlFlow::Continue(())
            };
            self.each_value(group, record, member_url, &mut add)?;
            if !urls.is_empty() {
                computed.dynamic.push((group, urls));
            }
        }
        if let (true, Some(target)) = (flags.has(ClassFlags::VIRTUAL_STATIC_GROUP), types.target) {
            let mut form = Vec::new();
            let rule = equality_of(self.facts(), target);
            for value in inline_values(record, target) {
                form.clear();
                let is_name = rule.is_some_and(|it| it.normalize(&self.facts().schema, value, &mut form).is_ok());
                if is_name && let Some(target) = self.locate(&form)? {
                    computed.virtual_static.push((group, target));
                }
            }
        }
        Ok(())
    }

    /// Calls `each` with the values of an attribute, its options and subtypes, until it says stop.
    pub(super) fn each_value(
        &self,
        place: EntryPlace,
        record: &RecordView<'_>,
        attribute: TypeIndex,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let view = self.view_of(place.backend)?;
        let entry = EntryView { id: place.id, record: *record, dn: DnParts::default(), source: &view };
        entry.each_value(attributes(record, attribute), each)
    }

    /// Whether an entry is in such a chain; undefined when the attribute has no equality index.
    pub fn is_in_chain(
        &self,
        entry: &EntryView<'_>,
        attribute: TypeIndex,
        form: &[u8],
    ) -> Result<Option<bool>, StoreError> {
        let place = EntryPlace { backend: self.own, id: entry.id };
        Ok(self.chain(attribute, form)?.map(|chain| chain.contains(&place)))
    }

    /// All entries that name the entry with that name in `attribute`, or name one that does, at any distance.
    pub fn chain(&self, attribute: TypeIndex, form: &[u8]) -> Result<Option<Rc<HashSet<EntryPlace>>>, StoreError> {
        let key = (attribute, Box::from(form));
        if let Some(known) = self.groups.state.borrow().chains.get(&key) {
            return Ok(Some(Rc::clone(known)));
        }
        let Some(rule) = equality_of(self.facts(), attribute) else { return Ok(None) };
        let mut found = HashSet::new();
        let mut open = vec![form.to_vec()];
        while let Some(form) = open.pop() {
            for backend in all_indices(&self.groups.backends) {
                let view = self.view_of(backend)?;
                let Some(index) = trusted(&view, attribute, rule) else { return Ok(None) };
                let is_exact = index.is_ordered() && form.len() <= KEY_BYTES_MAX;
                for id in view.postings(&IndexKey::new(index.id, &index.key(&form)))?.iter() {
                    let place = EntryPlace { backend, id };
                    if found.contains(&place) {
                        continue;
                    }
                    let Some(record) = view.entry(id)? else { continue };
                    let record = record.view()?;
                    if !is_exact && !self.lists(&view, id, &record, attribute, rule, &form)? {
                        continue;
                    }
                    // A link that the asker may not know of leads nowhere.
                    if !(self.shows(place, &record)? && self.may(ReadRight::Search, place, &record, attribute)?) {
                        continue;
                    }
                    found.insert(place);
                    let mut name = Vec::new();
                    if self.put_form(backend, &record, &mut name)? {
                        open.push(name);
                    }
                    if found.len() > CHAIN_MAX {
                        self.groups.state.borrow_mut().overflowed = true;
                        return Ok(None);
                    }
                }
            }
        }
        let found = Rc::new(found);
        self.groups.state.borrow_mut().chains.insert(key, Rc::clone(&found));
        Ok(Some(found))
    }

    /// Names one circle among groups that were just followed, if there is one.
    fn report_circles(&self, groups: &[EntryPlace]) -> Result<(), StoreError> {
        let Some(circle) = circle::find(groups, |group| self.above(group))? else { return Ok(()) };
        let mut names = Vec::new();
        for group in circle {
            let mut dn = Vec::new();
            self.put_dn(group, &mut dn)?;
            names.push(String::from_utf8_lossy(&dn).into_owned());
        }
        self.groups.service.notices.warn_once(format!(
            "Groups are members of each other in a circle: {}. Everybody in one of them is in all of them; remove \
             one of these members to end it",
            circle::shown(names.iter().map(String::as_str), " in ")
        ));
        Ok(())
    }

    /// Tells of a URL of an entry of the own backend that lists nothing.
    pub(crate) fn report_bad_list(&self, entry: EntryId, why: &str) {
        let mut dn = Vec::new();
        let _ = self.put_dn(EntryPlace { backend: self.own, id: entry }, &mut dn);
        self.groups.service.notices.warn_once(format!(
            "The dynamic list \"{}\" shows nothing by a URL that {why}: correct the URL",
            String::from_utf8_lossy(&dn)
        ));
    }

    fn report_bad_url(&self, group: EntryPlace, why: String) {
        let mut dn = Vec::new();
        // Without its name the message still says what is wrong.
        let _ = self.put_dn(group, &mut dn);
        self.groups.service.notices.warn_once(format!(
            "The dynamic group \"{}\" has no members by a memberURL that {why}: correct the URL",
            String::from_utf8_lossy(&dn)
        ));
    }
}

/// The attributes of a record that are of a type, with its options and subtypes.
pub(super) fn attributes<'r>(
    record: &RecordView<'r>,
    attribute: TypeIndex,
) -> impl Iterator<Item = store::record::Attribute<'r>> {
    let descs = record.tables().by_type(attribute.0);
    record.attributes().filter(move |it| descs.contains(&it.desc))
}

fn inline_values<'r>(record: &RecordView<'r>, attribute: TypeIndex) -> impl Iterator<Item = &'r [u8]> {
    let values = attributes(record, attribute).map(|it| match it.content {
        Content::Inline(values) => values,
        Content::Large(_) => Values::default(),
    });
    values.flat_map(|values| values.iter())
}

/// The rule that a type's equality index is made by.
pub(super) fn equality_of(facts: &Facts, attribute: TypeIndex) -> Option<&'static MatchingRule> {
    facts.schema.attribute_by_index(attribute)?.equality
}

/// The equality index, if it may be used.
pub(super) fn trusted<'v>(view: &View<'v>, attribute: TypeIndex, rule: &MatchingRule) -> Option<&'v Index> {
    let indexes = view.indexes();
    indexes.set().equality(attribute, rule).filter(|index| indexes.is_trusted(index.id))
}
