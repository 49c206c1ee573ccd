//! From a group down to the entries that are in it: the candidates of filters on membership.
//!
//! The planner only counts what a group lists itself. The names are looked up when the search is run, on the pool: see
//! [`GroupsAt::expand`]. A candidate is only that; whether an entry is in the group is decided upwards, from the entry.
//!
//! Invariant: every entry of the own backend that is in the group is among the candidates.

use std::collections::HashSet;
use std::ops::ControlFlow;

use ldap::Scope;
use schema::TypeIndex;
use store::{Content, EntryId, RecordView, StoreError};

use super::dynamic::MemberUrl;
use super::graph::{attributes, equality_of, trusted};
use super::moment::GroupsAt;
use crate::backend::all_indices;
use crate::class_flags::ClassFlags;
use crate::entry_place::EntryPlace;
use crate::filter::{Item, Matcher, Node, NodeIndex, Target, Test};
use crate::group_types::{ANY_GROUP, STATIC, lists_by};
use crate::id_set::IdSet;
use crate::locate::locate;
use crate::plan::{
    Branch, Candidates, FEW_CANDIDATES, Found, Narrowed, Planner, RANGE_IDS_MAX, scoped_candidates, whole,
};

/// Members that a filter on membership looks up; a group that has more is not indexed, as a range of so many ids is
/// not. 100,000 look-ups take a quarter of a second.
pub const MEMBERS_MAX: u64 = RANGE_IDS_MAX;

/// Groups that `(isMemberOf=*)` adds up before it counts as not indexed.
const GROUPS_MAX: usize = 1_000;

/// Virtual static groups that are followed to a target when members are counted.
const TARGETS_MAX: usize = 10;

/// Names looked up between two looks at the clock.
const NAMES_PER_LOOK: u64 = 1_024;

/// What a filter asks of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedMembers {
    /// Entries in the group.
    Group(EntryPlace),
    /// Entries in any group.
    Any,
    /// Entries that name, in that attribute, the entry with that normalized name or one that names it in turn.
    Chain(TypeIndex, Box<[u8]>),
}

/// Candidates that are looked up when the search is run: any of several.
#[derive(Clone, Debug, Default)]
pub struct MemberPlan {
    wanted: Vec<WantedMembers>,
    also: IdSet,
    count: u64,
}

/// What came of looking them up.
#[derive(Debug)]
pub enum Expanded {
    /// The candidates.
    Set(IdSet),
    /// More than [`MEMBERS_MAX`], or a group described by a filter that no index answers.
    NotIndexed,
    /// A chain leads through more entries than are followed.
    TooLong,
    /// The caller said stop.
    Stopped,
}

impl MemberPlan {
    fn of(wanted: WantedMembers, count: u64) -> MemberPlan {
        MemberPlan { wanted: vec![wanted], also: IdSet::default(), count }
    }

    /// About how many candidates; members of nested groups are not counted yet.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Candidates of this or of the other.
    pub fn or(&mut self, other: MemberPlan) {
        self.count = self.count.saturating_add(other.count);
        self.wanted.extend(other.wanted);
        self.also.or(&other.also);
    }

    /// These too.
    pub fn or_set(&mut self, ids: &IdSet) {
        self.count = self.count.saturating_add(ids.len());
        self.also.or(ids);
    }
}

/// What groups tell the planner of a component of a filter.
enum Narrowing {
    /// Entries that match are among these.
    Members(MemberPlan),
    /// Nothing.
    None,
}

impl GroupsAt<'_> {
    /// The candidates that following groups will find for a filter, if they are fewer than those that the planner has
    /// found, or if it has found none.
    pub fn plan(&self, matcher: &Matcher, narrowed: &Narrowed) -> Result<Option<Box<MemberPlan>>, StoreError> {
        let known = if narrowed.is_unindexed { None } else { narrowed.found.candidates.count() };
        if !matcher.needs_groups() || known.is_some_and(|count| count <= FEW_CANDIDATES) {
            return Ok(None);
        }
        Ok(match self.narrowing(matcher, NodeIndex::ROOT)? {
            Narrowing::Members(plan) if known.is_none_or(|count| count > plan.count) => Some(Box::new(plan)),
            _ => None,
        })
    }

    /// Adds the groups of the own backend that do not list their members: no index of `member` has them.
    pub fn add_computed_groups(&self, found: &mut Found) -> Result<(), StoreError> {
        let mut all = match &found.candidates {
            Candidates::Unindexed { .. } => return Ok(()),
            Candidates::List { key, .. } => whole(&self.view_of(self.own)?.postings(key)?)?,
            Candidates::Set(set) => set.clone(),
        };
        all.extend(self.groups_of(self.own, self.groups.service.options.answering())?);
        *found = Found { candidates: Candidates::Set(all), is_exact: false };
        Ok(())
    }

    fn narrowing(&self, matcher: &Matcher, at: NodeIndex) -> Result<Narrowing, StoreError> {
        match matcher.node(at) {
            Some(Node::And { end }) => self.least_of(matcher, at.next(), *end),
            Some(Node::Or { end }) => self.all_of(matcher, at.next(), *end),
            Some(Node::Item(item)) => self.of_item(matcher, item),
            Some(Node::Undefined) => Ok(Narrowing::Members(MemberPlan::default())),
            Some(Node::Set(set)) => {
                let mut these = MemberPlan::default();
                these.or_set(matcher.set(*set).unwrap_or(&IdSet::default()));
                Ok(Narrowing::Members(these))
            }
            Some(Node::Not { .. }) | None => Ok(Narrowing::None),
        }
    }

    fn least_of(&self, matcher: &Matcher, from: NodeIndex, end: NodeIndex) -> Result<Narrowing, StoreError> {
        let mut least = Narrowing::None;
        let mut child = from;
        while child < end {
            if let Narrowing::Members(plan) = self.narrowing(matcher, child)? {
                match &least {
                    Narrowing::Members(least) if least.count <= plan.count => {}
                    _ => least = Narrowing::Members(plan),
                }
            }
            child = matcher.end_of(child);
        }
        Ok(least)
    }

    /// What groups do not tell of one alternative, indexes may.
    fn all_of(&self, matcher: &Matcher, from: NodeIndex, end: NodeIndex) -> Result<Narrowing, StoreError> {
        let mut all = MemberPlan::default();
        let mut child = from;
        while child < end {
            match self.narrowing(matcher, child)? {
                Narrowing::Members(plan) => all.or(plan),
                Narrowing::None => match self.indexed(matcher, child)? {
                    Some(set) => all.or_set(&set),
                    None => return Ok(Narrowing::None),
                },
            }
            child = matcher.end_of(child);
        }
        Ok(Narrowing::Members(all))
    }

    /// What indexes say of a component.
    fn indexed(&self, matcher: &Matcher, at: NodeIndex) -> Result<Option<IdSet>, StoreError> {
        let Some(backend) = self.groups.backends.get(self.own.0) else { return Ok(None) };
        let view = self.view_of(self.own)?;
        let resolve = |dn: &[u8]| match backend.suffix_of(dn) {
            Some(suffix) => Ok(locate(&view, &suffix.normalized, dn)?.found()),
            None => Ok(None),
        };
        let mut planner = Planner { view, facts: self.facts(), matcher, resolve: &resolve, trace: None };
        Ok(match planner.plan_component(at)?.candidates {
            Candidates::Unindexed { .. } => None,
            Candidates::List { count, .. } if count > MEMBERS_MAX => None,
            Candidates::List { key, .. } => Some(whole(&view.postings(&key)?)?),
            Candidates::Set(set) => Some(set),
        })
    }

    fn of_item(&self, matcher: &Matcher, item: &Item) -> Result<Narrowing, StoreError> {
        if !item.asks_for_groups() {
            return Ok(Narrowing::None);
        }
        match (&item.test, item.target) {
            (_, Target::Virtual(_, computed)) if !self.offers(computed) => {
                Ok(Narrowing::Members(MemberPlan::default()))
            }
            (Test::Equal(form), _) => self.in_group(matcher.form(form)),
            (Test::Present, _) => self.in_any(),
            (Test::InChain(form), Target::Type(attribute) | Target::Tagged(attribute, _)) => {
                self.in_chain(attribute, matcher.form(form))
            }
            _ => Ok(Narrowing::None),
        }
    }

    fn in_group(&self, group: &[u8]) -> Result<Narrowing, StoreError> {
        let Some(place) = self.group_named(group)? else { return Ok(Narrowing::Members(MemberPlan::default())) };
        Ok(match self.member_count(place, TARGETS_MAX)? {
            Some(count) if count <= MEMBERS_MAX => {
                Narrowing::Members(MemberPlan::of(WantedMembers::Group(place), count))
            }
            _ => Narrowing::None,
        })
    }

    fn in_any(&self) -> Result<Narrowing, StoreError> {
        let mut count = 0;
        let mut groups = 0;
        for backend in all_indices(&self.groups.backends) {
            if !self.may_have(backend, ANY_GROUP)? {
                continue;
            }
            for id in self.groups_of(backend, ANY_GROUP)? {
                groups += 1;
                match self.member_count(EntryPlace { backend, id }, 0)? {
                    Some(more) if count + more <= MEMBERS_MAX && groups <= GROUPS_MAX => count += more,
                    _ => return Ok(Narrowing::None),
                }
            }
        }
        Ok(Narrowing::Members(MemberPlan::of(WantedMembers::Any, count)))
    }

    /// Without an equality index nobody can tell who matches.
    fn in_chain(&self, attribute: TypeIndex, form: &[u8]) -> Result<Narrowing, StoreError> {
        let nobody = Narrowing::Members(MemberPlan::default());
        let Some(rule) = equality_of(self.facts(), attribute) else { return Ok(nobody) };
        let view = self.view_of(self.own)?;
        let Some(index) = trusted(&view, attribute, rule) else { return Ok(nobody) };
        let direct = view.postings(&store::IndexKey::new(index.id, &index.key(form)))?.count();
        Ok(Narrowing::Members(MemberPlan::of(WantedMembers::Chain(attribute, form.into()), direct)))
    }

    /// How many entries a group has, nested groups counted as one; `None` when no index tells the entries of a dynamic
    /// group.
    fn member_count(&self, group: EntryPlace, targets: usize) -> Result<Option<u64>, StoreError> {
        let view = self.view_of(group.backend)?;
        let Some(record) = view.entry(group.id)? else { return Ok(Some(0)) };
        let record = record.view()?;
        let flags = self.class_flags(group.backend, &record);
        let mut count = 0u64;
        for (attribute, _) in self.facts().groups.lists().filter(|(_, kind)| lists_by(flags, *kind)) {
            for stored in attributes(&record, attribute) {
                count = count.saturating_add(match stored.content {
                    Content::Inline(values) => u64::from(values.count()),
                    Content::Large(stub) => stub.count,
                });
            }
        }
        for url in self.urls_of(group, flags)? {
            match self.described(&url)? {
                Some(more) => count = count.saturating_add(more.len()),
                None => return Ok(None),
            }
        }
        if targets > 0
            && let Some(target) = self.target_of(group, flags)?
        {
            match self.member_count(target, targets - 1)? {
                Some(more) => count = count.saturating_add(more),
                None => return Ok(None),
            }
        }
        Ok(Some(count))
    }

    pub(super) fn urls_of(
        &self,
        group: EntryPlace,
        flags: ClassFlags,
    ) -> Result<Vec<std::sync::Arc<MemberUrl>>, StoreError> {
        if !flags.has(ClassFlags::DYNAMIC_GROUP) {
            return Ok(Vec::new());
        }
        let computed = self.computed()?;
        let own = computed.dynamic.iter().find(|(place, _)| *place == group);
        Ok(own.map(|(_, urls)| urls.clone()).unwrap_or_default())
    }

    pub(super) fn target_of(&self, group: EntryPlace, flags: ClassFlags) -> Result<Option<EntryPlace>, StoreError> {
        if !flags.has(ClassFlags::VIRTUAL_STATIC_GROUP) {
            return Ok(None);
        }
        let computed = self.computed()?;
        Ok(computed.virtual_static.iter().find(|(place, _)| *place == group).map(|(_, target)| *target))
    }

    /// The candidates in the own backend for entries that a URL describes; `None` when no index tells.
    pub(super) fn described(&self, url: &MemberUrl) -> Result<Option<IdSet>, StoreError> {
        let Some(backend) = self.groups.backends.get(self.own.0) else { return Ok(None) };
        let view = self.view_of(self.own)?;
        let mut all = IdSet::default();
        for suffix in &backend.suffixes {
            let is_below = suffix.normalized.is_ancestor_or_equal(&url.base);
            // A base above the suffix has all of it below.
            let (base, scope) = if suffix.is_root() && url.base.is_root() {
                // The root DSE itself is in no backend.
                (Some(EntryId::ROOT).filter(|_| url.scope != Scope::BaseObject), url.scope)
            } else if is_below {
                let place = self.locate(url.base.as_bytes())?.filter(|place| place.backend == self.own);
                (place.map(|place| place.id), url.scope)
            } else if url.base.is_ancestor_of(&suffix.normalized) && url.scope != Scope::BaseObject {
                (view.child(EntryId::ROOT, suffix.normalized.as_bytes())?, Scope::WholeSubtree)
            } else {
                (None, url.scope)
            };
            let Some(base) = base else { continue };
            let is_everything = base == EntryId::ROOT && scope == Scope::WholeSubtree;
            let branch = Branch { base, scope, is_everything };
            let found = scoped_candidates(&url.matcher, self.facts(), backend, &view, branch, None)?;
            match found.found.candidates {
                Candidates::Set(set) if !found.is_unindexed => all.or(&set),
                Candidates::List { key, count } if !found.is_unindexed && count <= MEMBERS_MAX => {
                    all.or(&whole(&view.postings(&key)?)?);
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// Looks the candidates up. `stop` is asked now and then.
    pub fn expand(&self, plan: &MemberPlan, stop: &mut dyn FnMut() -> bool) -> Result<Expanded, StoreError> {
        let mut down = Down { found: plan.also.clone(), open: Vec::new(), seen: HashSet::new(), names: 0 };
        for wanted in &plan.wanted {
            match wanted {
                WantedMembers::Group(group) => down.visit(*group),
                WantedMembers::Any => {
                    for backend in all_indices(&self.groups.backends) {
                        if self.may_have(backend, ANY_GROUP)? {
                            let groups = self.groups_of(backend, ANY_GROUP)?;
                            groups.into_iter().for_each(|id| down.visit(EntryPlace { backend, id }));
                        }
                    }
                }
                WantedMembers::Chain(attribute, form) => match self.chain(*attribute, form)? {
                    Some(places) => {
                        let mut own: Vec<_> =
                            places.iter().filter(|it| it.backend == self.own).map(|it| it.id).collect();
                        own.sort_unstable();
                        down.found.extend(own);
                    }
                    None if self.groups.overflowed() => return Ok(Expanded::TooLong),
                    None => {}
                },
            }
        }
        while let Some(group) = down.open.pop() {
            match self.step_down(group, &mut down, stop)? {
                Step::On => {}
                Step::NotIndexed => return Ok(Expanded::NotIndexed),
                Step::Stopped => return Ok(Expanded::Stopped),
            }
        }
        Ok(Expanded::Set(down.found))
    }

    fn step_down(
        &self,
        group: EntryPlace,
        down: &mut Down,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Step, StoreError> {
        let view = self.view_of(group.backend)?;
        let Some(record) = view.entry(group.id)? else { return Ok(Step::On) };
        let record = record.view()?;
        let flags = self.class_flags(group.backend, &record);
        if flags.has(STATIC) {
            match self.listed(group, &record, flags, down, stop)? {
                Step::On => {}
                end => return Ok(end),
            }
        }
        for url in self.urls_of(group, flags)? {
            match self.described(&url)? {
                Some(set) => down.found.or(&set),
                None => return Ok(Step::NotIndexed),
            }
        }
        if let Some(target) = self.target_of(group, flags)? {
            down.visit(target);
        }
        Ok(Step::On)
    }

    /// Looks up what a group lists itself.
    fn listed(
        &self,
        group: EntryPlace,
        record: &RecordView<'_>,
        flags: ClassFlags,
        down: &mut Down,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Step, StoreError> {
        let mut form = Vec::new();
        for (attribute, kind) in self.facts().groups.lists() {
            let Some(rule) = equality_of(self.facts(), attribute).filter(|_| lists_by(flags, kind)) else { continue };
            let mut one = |value: &[u8]| -> Result<Step, StoreError> {
                form.clear();
                down.names += 1;
                if down.names > MEMBERS_MAX {
                    return Ok(Step::NotIndexed);
                }
                if down.names.is_multiple_of(NAMES_PER_LOOK) && stop() {
                    return Ok(Step::Stopped);
                }
                if rule.normalize(&self.facts().schema, value, &mut form).is_ok()
                    && let Some(place) = self.locate(&form)?
                {
                    if place.backend == self.own {
                        down.found.insert(place.id);
                    }
                    if self.flags_at(place)?.has(ANY_GROUP) {
                        down.visit(place);
                    }
                }
                Ok(Step::On)
            };
            let mut ended = Ok(Step::On);
            self.each_value(group, record, attribute, &mut |value| {
                ended = one(value);
                if matches!(ended, Ok(Step::On)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            match ended? {
                Step::On => {}
                end => return Ok(end),
            }
        }
        Ok(Step::On)
    }
}

/// The way down through groups.
struct Down {
    found: IdSet,
    open: Vec<EntryPlace>,
    seen: HashSet<EntryPlace>,
    names: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    On,
    NotIndexed,
    Stopped,
}

impl Down {
    fn visit(&mut self, group: EntryPlace) {
        if self.seen.insert(group) {
            self.open.push(group);
        }
    }
}
