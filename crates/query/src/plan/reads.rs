//! What the planner reads: keys and ranges of keys that were found for the components of an And.
//!
//! Knows indexes; which reads pay is for `and`.

use std::ops::Bound;
use std::time::Duration;

use schema::{Assertion, TypeIndex};
use smallvec::SmallVec;
use store::index::Index;
use store::{IndexKey, Postings};

use super::candidates::FEW_CANDIDATES;
use super::cost;
use super::trace::{Count, Key, Leaf, Reason};
use crate::filter::NodeIndex;
use crate::id_set::IdSet;

/// Bytes of a bound.
pub(super) type Form = SmallVec<[u8; 64]>;

/// One key, found and counted.
pub(super) struct KeyRead<'p> {
    pub node: NodeIndex,
    pub attribute: TypeIndex,
    pub key: IndexKey,
    pub list: Postings<'p>,
    pub count: u64,
    /// Components that it answers exactly.
    pub exact: usize,
    /// It is all that is read for the component.
    pub is_whole: bool,
    /// Why this and not the index that is for such a component.
    pub reason: Option<Reason>,
    pub elapsed: Duration,
}

/// A range of keys, not looked at.
pub(super) struct RangeRead<'p> {
    pub node: NodeIndex,
    /// The component that gave the other bound.
    pub pair: Option<NodeIndex>,
    pub attribute: TypeIndex,
    pub index: &'p Index,
    pub from: Bound<Form>,
    pub to: Bound<Form>,
    /// What else a key must match.
    pub tried: Option<&'p Assertion>,
    pub is_exact: bool,
    pub is_whole: bool,
    /// It is for `>=` and `<=`: read after everything else, as it has the most keys for what it gives.
    pub is_last: bool,
}

/// An index that cannot be used.
pub(super) struct Missing {
    pub reason: Reason,
    pub index: Option<store::IndexId>,
    pub key: Option<Box<[u8]>>,
    pub over: Option<u64>,
}

impl Missing {
    pub fn because(reason: Reason) -> Missing {
        Missing { reason, index: None, key: None, over: None }
    }

    pub fn is_over_limit(&self) -> bool {
        matches!(self.reason, Reason::OverLimit { .. } | Reason::RangeOverLimit)
    }

    pub fn leaf(self, node: NodeIndex, attribute: Option<TypeIndex>) -> Leaf {
        let candidates = if self.is_over_limit() { Count::LimitExceeded } else { Count::NotIndexed };
        let key = self.key.map(Key::Exact);
        let reason = Some(self.reason);
        Leaf { attribute, index: self.index, key, candidates, over: self.over, reason, ..Leaf::of(node) }
    }
}

impl KeyRead<'_> {
    pub fn leaf(&self) -> Leaf {
        Leaf {
            is_whole: self.is_whole,
            attribute: Some(self.attribute),
            index: Some(self.key.index()),
            key: Some(Key::Exact(self.key.key().into())),
            candidates: Count::Known(self.count),
            estimate: cost::KEY,
            elapsed: self.elapsed,
            reason: self.reason,
            ..Leaf::of(self.node)
        }
    }
}

impl RangeRead<'_> {
    pub fn leaf(&self) -> Leaf {
        let bound = |bound: &Bound<Form>| bound.as_ref().map(|form| Box::from(form.as_slice()));
        Leaf {
            pair: self.pair,
            is_whole: self.is_whole,
            attribute: Some(self.attribute),
            index: Some(self.index.id),
            key: Some(Key::Range { from: bound(&self.from), to: bound(&self.to) }),
            ..Leaf::of(self.node)
        }
    }
}

/// What there is to intersect.
#[derive(Default)]
pub(super) struct Conjunction<'p> {
    pub keys: SmallVec<[KeyRead<'p>; 3]>,
    pub ranges: SmallVec<[RangeRead<'p>; 1]>,
    /// Or
    pub branches: SmallVec<[NodeIndex; 1]>,
    /// Known without an index.
    pub set: Option<IdSet>,
    pub components: usize,
    /// Components that are answered exactly so far.
    pub exact: usize,
    pub over_limit: bool,
    pub is_nobody: bool,
}

impl<'p> Conjunction<'p> {
    /// Joins a bound to the opposite bound of the same attribute, if that is there.
    pub fn pair(&mut self, other: &RangeRead<'p>) -> bool {
        use std::ops::Bound::Unbounded;
        let is_opposite = |range: &RangeRead<'p>| {
            let halves = (&range.from, &range.to, &other.from, &other.to);
            matches!(halves, (Unbounded, to, from, Unbounded) | (from, Unbounded, Unbounded, to)
                if !matches!(from, Unbounded) && !matches!(to, Unbounded))
        };
        let found = self.ranges.iter_mut().find(|range| {
            range.is_last
                && range.tried.is_none()
                && range.pair.is_none()
                && range.index.id == other.index.id
                && is_opposite(range)
        });
        let Some(range) = found else { return false };
        match &other.from {
            Unbounded => range.to = other.to.clone(),
            from => range.from = from.clone(),
        }
        range.pair = Some(other.node);
        range.is_exact &= other.is_exact;
        true
    }

    /// Nobody matches one of the components.
    pub fn rule_out(&mut self) {
        self.is_nobody = true;
    }

    pub fn has_few(&self) -> bool {
        self.is_nobody || self.set.is_some() || self.keys.iter().any(|read| read.count <= FEW_CANDIDATES)
    }
}
