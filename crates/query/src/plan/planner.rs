//! The planner: walks a prepared filter and puts the candidates of its components together.
//!
//! What one assertion reads is in `item`, what And does in `and`.

use std::time::{Duration, Instant};

use store::{EntryId, IndexKey, StoreError, View};

use super::candidates::{Candidates, Found, whole};
use super::trace::{Combination, Count, Leaf, Reason, Trace};
use crate::facts::Facts;
use crate::filter::{Matcher, Node, NodeIndex};
use crate::id_set::IdSet;

/// From a normalized DN to the entry that has it.
pub type Resolve<'p> = dyn Fn(&[u8]) -> Result<Option<EntryId>, StoreError> + 'p;

/// Plans one filter on one backend at one moment.
pub struct Planner<'p, 't> {
    /// The moment.
    pub view: View<'p>,
    /// The schema.
    pub facts: &'p Facts,
    /// The filter.
    pub matcher: &'p Matcher,
    /// The entry with a normalized DN, for `(entryDN=…)`.
    pub resolve: &'p Resolve<'p>,
    /// Who wants to know.
    pub trace: Option<&'t mut Trace>,
}

impl<'p> Planner<'p, '_> {
    /// The candidates of the whole filter.
    pub fn plan(&mut self) -> Result<Found, StoreError> {
        self.node(NodeIndex::ROOT, None)
    }

    /// The candidates of the component at `at` alone.
    pub fn plan_component(&mut self, at: NodeIndex) -> Result<Found, StoreError> {
        self.node(at, None)
    }

    /// The candidates of one component. Of those outside `within`, nothing needs to be said.
    pub(super) fn node(&mut self, at: NodeIndex, within: Option<&IdSet>) -> Result<Found, StoreError> {
        match self.matcher.node(at) {
            Some(Node::And { end }) => self.conjunction(at.next(), *end, false, within),
            Some(Node::Or { end }) => self.disjunction(at.next(), *end, within),
            Some(Node::Not { .. }) if !self.matcher.can_match(at) => {
                self.undefined(at);
                Ok(Found::nobody())
            }
            Some(Node::Not { .. }) => {
                self.skipped(at, Reason::Not);
                Ok(Found::unindexed(false))
            }
            Some(Node::Item(_)) => self.conjunction(at, self.matcher.end_of(at), true, within),
            Some(Node::Set(set)) => {
                let set = self.matcher.set(*set).cloned().unwrap_or_default();
                let count = Some(set.len());
                self.report(|| Leaf { candidates: Count::Known(set.len()), retained: count, ..Leaf::of(at) });
                Ok(Found { candidates: Candidates::Set(set), is_exact: false })
            }
            // Undefined is not true for any entry.
            Some(Node::Undefined) | None => {
                self.undefined(at);
                Ok(Found::nobody())
            }
        }
    }

    /// All of the children's entries; if one is not indexed, all entries.
    fn disjunction(&mut self, from: NodeIndex, end: NodeIndex, within: Option<&IdSet>) -> Result<Found, StoreError> {
        self.begin();
        let mut all = IdSet::default();
        let mut lists: Vec<(IndexKey, u64)> = Vec::new();
        let (mut is_exact, mut unindexed, mut over_limit) = (true, false, false);
        let mut child = from;
        while child < end && (!unindexed || self.trace.as_ref().is_some_and(|trace| trace.is_thorough)) {
            let found = self.node(child, within)?;
            is_exact &= found.is_exact;
            match found.candidates {
                Candidates::Unindexed { over_limit: over } => {
                    unindexed = true;
                    over_limit |= over;
                }
                Candidates::List { key, count } => lists.push((key, count)),
                Candidates::Set(set) if all.is_empty() => all = set,
                Candidates::Set(set) => all.or(&set),
            }
            child = self.matcher.end_of(child);
        }
        // Lists are read when it is known that they are needed, and not at all when one of them is the answer.
        let found = if unindexed {
            Found::unindexed(over_limit)
        } else if let ([(key, count)], true) = (lists.as_slice(), all.is_empty()) {
            Found { candidates: Candidates::List { key: key.clone(), count: *count }, is_exact }
        } else {
            for (key, _) in &lists {
                all.or(&whole(&self.view.postings(key)?)?);
            }
            Found { candidates: Candidates::Set(all), is_exact }
        };
        self.end(Combination::Union, false, &found.candidates);
        Ok(found)
    }

    pub(super) fn begin(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.begin();
        }
    }

    pub(super) fn end(&mut self, combination: Combination, is_component: bool, candidates: &Candidates) {
        if let Some(trace) = &mut self.trace {
            trace.end(combination, is_component, Count::from(candidates));
        }
    }

    /// Reports a step. The leaf is made only if somebody wants it.
    pub(super) fn report(&mut self, leaf: impl FnOnce() -> Leaf) {
        if let Some(trace) = &mut self.trace {
            trace.leaf(leaf());
        }
    }

    pub(super) fn skipped(&mut self, at: NodeIndex, reason: Reason) {
        self.report(|| Leaf { reason: Some(reason), ..Leaf::of(at) });
    }

    pub(super) fn undefined(&mut self, at: NodeIndex) {
        self.report(|| Leaf { candidates: Count::Known(0), reason: Some(Reason::Undefined), ..Leaf::of(at) });
    }

    /// Now, if time is measured.
    pub(super) fn clock(&self) -> Option<Instant> {
        self.trace.as_ref().map(|_| Instant::now())
    }
}

/// The time since then, if it is measured.
pub(super) fn since(started: Option<Instant>) -> Duration {
    started.map_or(Duration::ZERO, |started| started.elapsed())
}
