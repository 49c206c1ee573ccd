//! From a prepared filter to candidates: which index keys are read, in which order, and when reading more is not worth it.
//!
//! The rules are OpenDJ's (a key over `index-entry-limit` counts as not indexed, And ignores what is not indexed, Or needs all of it,
//! Not never is), with exact counts where OpenDJ guesses. A candidate is only that: the entry decides, unless
//! [`Found::is_exact`].
//!
//! Invariants:
//! (1) Every entry that matches the filter is among the candidates.
//! (2) When the plan is exact, every candidate matches the filter, at the moment of the view.

mod and;
pub mod cost;
mod item;
mod range;
pub mod trace;

use std::time::{Duration, Instant};

use store::{EntryId, IndexKey, Postings, StoreError, View};

use super::idset::IdSet;
use crate::facts::Facts;
use crate::filter::{Matcher, Node};
pub(super) use item::successor;
use trace::{Combination, Count, Leaf, Reason, Trace};

/// With so few candidates left, looking at the entries is cheaper than reading another index (OpenDJ's constant).
pub const FEW_CANDIDATES: u64 = 10;

/// Ids that one range of keys may sum up to; beyond it, the range counts as not indexed (OpenDJ's constant).
pub const RANGE_IDS_MAX: u64 = 100_000;

/// What an index says about a filter.
#[derive(Clone, Debug)]
pub enum Candidates {
    /// Nothing: every entry is a candidate.
    Unindexed {
        /// A key or range was over its limit, as opposed to: there is no index.
        over_limit: bool,
    },
    /// The entries of one key, not read yet.
    List {
        /// The key.
        key: IndexKey,
        /// Its exact number of entries.
        count: u64,
    },
    /// These.
    Set(IdSet),
}

impl Candidates {
    /// How many; `None` when every entry is one.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        match self {
            Candidates::Unindexed { .. } => None,
            Candidates::List { count, .. } => Some(*count),
            Candidates::Set(set) => Some(set.len()),
        }
    }
}

/// What the planner found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Who may match.
    pub candidates: Candidates,
    /// Nobody among them does not, so that the filter need not be tried again.
    pub is_exact: bool,
}

impl Found {
    fn unindexed(over_limit: bool) -> Found {
        Found { candidates: Candidates::Unindexed { over_limit }, is_exact: false }
    }

    fn nobody() -> Found {
        Found { candidates: Candidates::Set(IdSet::default()), is_exact: true }
    }
}

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
        self.node(0, None)
    }

    /// The candidates of the component at `at` alone.
    pub fn plan_component(&mut self, at: usize) -> Result<Found, StoreError> {
        self.node(at, None)
    }

    /// The candidates of one component. Of those outside `within`, nothing needs to be said.
    fn node(&mut self, at: usize, within: Option<&IdSet>) -> Result<Found, StoreError> {
        match self.matcher.nodes().get(at) {
            Some(Node::And { end }) => self.conjunction(at + 1, *end, false, within),
            Some(Node::Or { end }) => self.disjunction(at + 1, *end, within),
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
    fn disjunction(&mut self, from: usize, end: usize, within: Option<&IdSet>) -> Result<Found, StoreError> {
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

    fn begin(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.begin();
        }
    }

    fn end(&mut self, combination: Combination, is_component: bool, candidates: &Candidates) {
        if let Some(trace) = &mut self.trace {
            trace.end(combination, is_component, Count::from(candidates));
        }
    }

    /// Reports a step. The leaf is made only if somebody wants it.
    fn report(&mut self, leaf: impl FnOnce() -> Leaf) {
        if let Some(trace) = &mut self.trace {
            trace.leaf(leaf());
        }
    }

    fn skipped(&mut self, at: usize, reason: Reason) {
        self.report(|| Leaf { reason: Some(reason), ..Leaf::of(at) });
    }

    fn undefined(&mut self, at: usize) {
        self.report(|| Leaf { candidates: Count::Known(0), reason: Some(Reason::Undefined), ..Leaf::of(at) });
    }

    /// Now, if time is measured.
    fn clock(&self) -> Option<Instant> {
        self.trace.as_ref().map(|_| Instant::now())
    }
}

fn since(started: Option<Instant>) -> Duration {
    started.map_or(Duration::ZERO, |started| started.elapsed())
}

/// A list as a set.
pub(crate) fn whole(list: &Postings<'_>) -> Result<IdSet, StoreError> {
    if list.count() <= super::idset::FEW_MAX as u64 {
        return Ok(IdSet::from_ascending(list.iter()));
    }
    Ok(IdSet::Many(list.to_set()?))
}

/// What a list and a set have in common: the shorter one is looked for in the longer one.
pub(super) fn common(list: &Postings<'_>, set: &IdSet) -> Result<IdSet, StoreError> {
    let mut both = IdSet::default();
    if list.count() < set.len() {
        both.extend(list.iter().filter(|id| set.contains(*id)));
    } else {
        list.common(set.iter(), |id| both.insert(id))?;
    }
    Ok(both)
}
