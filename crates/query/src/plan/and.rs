//! And: what the indexes have for each component is gathered with counts, then intersected, the least first, while
//! there is something to gain.
//!
//! Everything is one: a component by itself is an And of what is read for it, an And within an And is part of it.

use std::borrow::Cow;

use smallvec::SmallVec;
use store::StoreError;

use super::candidates::{Candidates, FEW_CANDIDATES, Found, common, whole};
use super::cost;
use super::planner::{Planner, since};
use super::reads::{Conjunction, KeyRead, RangeRead};
use super::trace::{Combination, Count, Leaf, Reason};
use crate::filter::{Item, Node, NodeIndex, Target, Test};
use crate::id_set::IdSet;

/// When a component is looked up: another phase begins only if the ones before leave something to gain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// One look at a counter.
    Selective,
    /// The same, of what most entries have.
    Common,
    /// Several keys, ranges, branches.
    Costly,
}

/// What is read after the keys.
enum Later<'p> {
    Range(RangeRead<'p>),
    Branch(NodeIndex),
}

impl Later<'_> {
    /// Ranges for `>=` and `<=` come last, otherwise the filter's order holds.
    fn order(&self) -> (bool, NodeIndex) {
        match self {
            Later::Range(range) => (range.is_last, range.node),
            Later::Branch(at) => (false, *at),
        }
    }
}

impl<'p> Planner<'p, '_> {
    /// The entries that all components from `from` to `end` have in common; `is_component` says that it is but one.
    pub(super) fn conjunction(
        &mut self,
        from: NodeIndex,
        end: NodeIndex,
        is_component: bool,
        within: Option<&IdSet>,
    ) -> Result<Found, StoreError> {
        self.begin();
        let mut all = Conjunction::default();
        let mut is_done = within.is_some_and(|within| within.len() <= FEW_CANDIDATES);
        for phase in [Phase::Selective, Phase::Common, Phase::Costly] {
            self.gather(from, end, phase, is_done, &mut all)?;
            is_done |= all.has_few();
        }
        let found = self.intersect(&mut all, within)?;
        self.end(Combination::Intersection, is_component, &found.candidates);
        Ok(found)
    }

    /// Looks up the components of one phase; `is_done` says that there are few candidates already.
    fn gather(
        &mut self,
        from: NodeIndex,
        end: NodeIndex,
        phase: Phase,
        is_done: bool,
        all: &mut Conjunction<'p>,
    ) -> Result<(), StoreError> {
        let matcher = self.matcher;
        let mut child = from;
        while child < end {
            let next = matcher.end_of(child);
            match matcher.node(child) {
                Some(Node::And { end }) => self.gather(child.next(), *end, phase, is_done, all)?,
                node if self.phase(node) != phase => {}
                _ if is_done || all.has_few() => {
                    all.components += 1;
                    self.skipped(child, Reason::Cheaper);
                }
                Some(Node::Item(item)) => {
                    all.components += 1;
                    self.gather_item(child, item, all)?;
                }
                Some(Node::Or { .. } | Node::Set(_)) => {
                    all.components += 1;
                    all.branches.push(child);
                }
                Some(Node::Not { .. }) if !matcher.can_match(child) => {
                    all.components += 1;
                    all.is_nobody = true;
                    self.undefined(child);
                }
                Some(Node::Not { .. }) => {
                    all.components += 1;
                    self.skipped(child, Reason::Not);
                }
                Some(Node::Undefined) | None => {
                    all.components += 1;
                    all.is_nobody = true;
                    self.undefined(child);
                }
            }
            child = next;
        }
        Ok(())
    }

    fn phase(&self, node: Option<&Node>) -> Phase {
        match node {
            Some(Node::Item(Item { test: Test::Present, .. })) => Phase::Common,
            Some(Node::Item(Item { test: Test::Equal(_) | Test::Sounds(_), target, .. })) => match target {
                Target::Type(attribute) if Some(*attribute) == self.facts.object_class => Phase::Common,
                _ => Phase::Selective,
            },
            Some(Node::Undefined) | None => Phase::Selective,
            Some(_) => Phase::Costly,
        }
    }

    fn intersect(&mut self, all: &mut Conjunction<'p>, within: Option<&IdSet>) -> Result<Found, StoreError> {
        if all.is_nobody {
            return Ok(Found::nobody());
        }
        if all.keys.len() > 1 {
            all.keys.sort_by(|a, b| a.count.cmp(&b.count).then_with(|| a.key.cmp(&b.key)));
            // The same key for two components is read once.
            all.keys.dedup_by(|later, first| {
                let is_same = later.key == first.key;
                first.exact += if is_same { later.exact } else { 0 };
                is_same
            });
        }
        let nothing_else = all.ranges.is_empty() && all.branches.is_empty() && all.set.is_none() && within.is_none();
        if let ([only], true) = (all.keys.as_slice(), nothing_else) {
            let is_exact = all.exact + only.exact == all.components;
            self.report(|| Leaf { retained: Some(only.count), ..only.leaf() });
            let candidates = if only.count <= FEW_CANDIDATES {
                Candidates::Set(IdSet::from_ascending(only.list.iter()))
            } else {
                Candidates::List { key: only.key.clone(), count: only.count }
            };
            return Ok(Found { candidates, is_exact });
        }
        let mut current: Option<Cow<'_, IdSet>> = match all.set.take() {
            Some(set) => Some(Cow::Owned(set)),
            None => within.map(Cow::Borrowed),
        };
        let entries = if all.keys.len() > 1 || current.is_some() { self.view.entry_count()? } else { 0 };
        for read in &all.keys {
            self.intersect_key(read, &mut current, entries, &mut all.exact)?;
        }
        let mut later: SmallVec<[Later<'p>; 2]> = SmallVec::new();
        later.extend(all.ranges.drain(..).map(Later::Range));
        later.extend(all.branches.iter().copied().map(Later::Branch));
        later.sort_by_key(Later::order);
        for step in later {
            let is_done = current.as_ref().is_some_and(|set| set.len() <= FEW_CANDIDATES);
            match step {
                Later::Range(range) if is_done => {
                    self.report(|| Leaf { reason: Some(Reason::Cheaper), ..range.leaf() });
                }
                Later::Branch(at) if is_done => self.skipped(at, Reason::Cheaper),
                Later::Range(range) => self.intersect_range(&range, &mut current, all)?,
                Later::Branch(at) => self.intersect_branch(at, &mut current, all)?,
            }
        }
        let is_exact = all.exact == all.components;
        let candidates = match current {
            Some(set) => Candidates::Set(set.into_owned()),
            None => Candidates::Unindexed { over_limit: all.over_limit },
        };
        Ok(Found { candidates, is_exact })
    }

    fn intersect_key(
        &mut self,
        read: &KeyRead<'p>,
        current: &mut Option<Cow<'_, IdSet>>,
        entries: u64,
        exact: &mut usize,
    ) -> Result<(), StoreError> {
        let left = current.as_ref().map(|set| set.len());
        if left.is_some_and(|left| left <= FEW_CANDIDATES || !cost::is_worth(left, read.count, entries)) {
            self.report(|| Leaf { reason: Some(Reason::Cheaper), ..read.leaf() });
            return Ok(());
        }
        let started = self.clock();
        let next = match current.as_deref() {
            None => whole(&read.list)?,
            Some(set) => common(&read.list, set)?,
        };
        self.report(|| {
            let leaf = read.leaf();
            let reading = match left {
                None => read.count.saturating_mul(cost::ID),
                Some(left) => cost::of_common(left, read.count, entries),
            };
            let (estimate, elapsed) = (leaf.estimate.saturating_add(reading), leaf.elapsed + since(started));
            Leaf { retained: Some(next.len()), estimate, elapsed, ..leaf }
        });
        *exact += read.exact;
        *current = Some(Cow::Owned(next));
        Ok(())
    }

    fn intersect_range(
        &mut self,
        range: &RangeRead<'p>,
        current: &mut Option<Cow<'_, IdSet>>,
        all: &mut Conjunction<'p>,
    ) -> Result<(), StoreError> {
        let started = self.clock();
        let scan = self.scan(range, current.as_deref())?;
        let leaf = || Leaf { estimate: scan.cost, elapsed: since(started), ..range.leaf() };
        match scan.found {
            Ok(set) => {
                let candidates = Count::Known(scan.candidates);
                self.report(|| Leaf { candidates, retained: Some(set.len()), ..leaf() });
                // A pair answers two components.
                all.exact += if range.is_exact && scan.is_certain { 1 + usize::from(range.pair.is_some()) } else { 0 };
                *current = Some(Cow::Owned(set));
            }
            Err(reason) => {
                let is_over = reason != Reason::Cheaper;
                all.over_limit |= is_over;
                let candidates = if is_over { Count::LimitExceeded } else { Count::NotIndexed };
                self.report(|| Leaf { candidates, over: scan.over, reason: Some(reason), ..leaf() });
                if current.is_none()
                    && let Some(read) = self.presence(range.node, range.attribute, reason)?
                {
                    self.intersect_key(&read, current, 0, &mut all.exact)?;
                }
            }
        }
        Ok(())
    }

    fn intersect_branch(
        &mut self,
        at: NodeIndex,
        current: &mut Option<Cow<'_, IdSet>>,
        all: &mut Conjunction<'p>,
    ) -> Result<(), StoreError> {
        let found = self.node(at, current.as_deref())?;
        let next = match (found.candidates, current.as_deref()) {
            (Candidates::Unindexed { over_limit }, _) => {
                all.over_limit |= over_limit;
                return Ok(());
            }
            (Candidates::List { key, .. }, None) => whole(&self.view.postings(&key)?)?,
            (Candidates::List { key, .. }, Some(set)) => common(&self.view.postings(&key)?, set)?,
            (Candidates::Set(set), None) => set,
            (Candidates::Set(mut set), Some(current)) => {
                set.and(current);
                set
            }
        };
        if let Some(trace) = &mut self.trace {
            trace.retained(next.len());
        }
        all.exact += usize::from(found.is_exact);
        *current = Some(Cow::Owned(next));
        Ok(())
    }
}
