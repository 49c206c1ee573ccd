//! What the planner did, step by step, for whoever wants it explained: which keys it read, what they gave, and why not
//! others.
//!
//! The planner reports here as it goes; there is no second planner. Without a trace a step costs one comparison. Knows
//! nothing of how it is shown.

use std::ops::Bound;
use std::time::Duration;

use schema::TypeIndex;
use store::IndexId;
use store::index::Distrust;

use super::candidates::Candidates;
use crate::filter::NodeIndex;
use crate::plan::remedy::WantedIndex;

/// How many entries a step says are candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many.
    Known(u64),
    /// All: no index said anything.
    NotIndexed,
    /// All: an index would have, but for a limit.
    LimitExceeded,
}

impl From<&Candidates> for Count {
    fn from(candidates: &Candidates) -> Count {
        match candidates {
            Candidates::Unindexed { over_limit: true } => Count::LimitExceeded,
            Candidates::Unindexed { over_limit: false } => Count::NotIndexed,
            Candidates::List { count, .. } => Count::Known(*count),
            Candidates::Set(set) => Count::Known(set.len()),
        }
    }
}

/// Why an index was not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The attribute has no such index.
    NoIndex(WantedIndex),
    /// It has one that may not be used.
    Untrusted(Distrust),
    /// The key is in more entries than the limit allows.
    OverLimit {
        /// `index-entry-limit`
        limit: u64,
    },
    /// The keys of the range are in too many entries.
    RangeOverLimit,
    /// Looking at what is left costs less.
    Cheaper,
    /// No index lists the entries that do not match something.
    Not,
    /// The keys are hashed, so that they have no order.
    Hashed,
    /// A matching rule that no index is for.
    Rule,
    /// Values in names count too (`:dn:`), and no index has them.
    NameValues,
    /// The server computes the attribute.
    Computed,
    /// The filter names no attribute.
    AnyAttribute,
    /// Every entry matches.
    EveryEntry,
    /// No entry can match: unknown attribute, no rule, or an assertion value that is none.
    Undefined,
    /// The base is above so much that its entries are not collected.
    ScopeOverLimit {
        /// Entries that would be collected.
        limit: u64,
    },
    /// All entries of the backend are in scope.
    ScopeIsAll,
}

/// What of an index was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// One key.
    Exact(Box<[u8]>),
    /// All keys between two.
    Range {
        /// The first.
        from: Bound<Box<[u8]>>,
        /// The last.
        to: Bound<Box<[u8]>>,
    },
}

/// One read, or one component that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The component of the filter.
    pub node: NodeIndex,
    /// The other one of two bounds that were read as one range.
    pub pair: Option<NodeIndex>,
    /// The step answers the whole component.
    pub is_whole: bool,
    /// The attribute type that the component is about.
    pub attribute: Option<TypeIndex>,
    /// The index that was read, or would have been.
    pub index: Option<IndexId>,
    /// What of it.
    pub key: Option<Key>,
    /// What it gave.
    pub candidates: Count,
    /// Entries of the key that was over a limit.
    pub over: Option<u64>,
    /// Candidates left after it was intersected.
    pub retained: Option<u64>,
    /// What it should have cost, in nanoseconds.
    pub estimate: u64,
    /// What it cost.
    pub elapsed: Duration,
    /// Why it, or the index that is for such a component, was not used.
    pub reason: Option<Reason>,
}

impl Leaf {
    /// About the component `node`; nothing known yet.
    #[must_use]
    pub fn of(node: NodeIndex) -> Leaf {
        Leaf {
            node,
            pair: None,
            is_whole: true,
            attribute: None,
            index: None,
            key: None,
            candidates: Count::NotIndexed,
            over: None,
            retained: None,
            estimate: 0,
            elapsed: Duration::ZERO,
            reason: None,
        }
    }
}

/// How a branch combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// And
    Intersection,
    /// Or
    Union,
}

/// One element of the explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// A read.
    Leaf(Box<Leaf>),
    /// Reads combined.
    Branch {
        /// How.
        combination: Combination,
        /// What.
        elements: Vec<Element>,
        /// What came out.
        candidates: Count,
        /// Candidates left after it was intersected with what was there.
        retained: Option<u64>,
    },
}

impl Element {
    fn retained(&self) -> Option<u64> {
        match self {
            Element::Leaf(leaf) => leaf.retained,
            Element::Branch { retained, .. } => *retained,
        }
    }
}

/// What the scope was good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeStep {
    /// Entries in scope, if they were collected.
    pub candidates: Count,
    /// Candidates left.
    pub retained: Count,
    /// What collecting them should have cost, in nanoseconds.
    pub estimate: u64,
    /// What it cost.
    pub elapsed: Duration,
    /// Why they were not collected.
    pub reason: Option<Reason>,
}

/// The steps of one plan, in the order in which they were done.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Elements of the branches that are open, innermost last.
    open: Vec<Vec<Element>>,
    done: Vec<Element>,
    /// The scope's step, when there was one.
    pub scope: Option<ScopeStep>,
    /// What the plan ends with.
    pub last: Option<Count>,
    /// An Or is looked through to its end even when one part of it is not indexed: for advice, which needs all of them.
    pub is_thorough: bool,
}

impl Trace {
    /// One that looks through everything that advice can be about.
    #[must_use]
    pub fn thorough() -> Trace {
        Trace { is_thorough: true, ..Trace::default() }
    }

    /// What was done for the filter.
    #[must_use]
    pub fn filter(&self) -> Option<&Element> {
        self.done.first()
    }

    /// Begins a branch.
    pub fn begin(&mut self) {
        self.open.push(Vec::new());
    }

    /// Adds a leaf to the branch that is open.
    pub fn leaf(&mut self, leaf: Leaf) {
        self.push(Element::Leaf(Box::new(leaf)));
    }

    /// Ends the innermost branch. One that answers a single component by a single read is that read.
    pub fn end(&mut self, combination: Combination, is_component: bool, candidates: Count) {
        let mut elements = self.open.pop().unwrap_or_default();
        if is_component && let [Element::Leaf(leaf)] = elements.as_mut_slice() {
            leaf.retained = None;
            let leaf = elements.pop();
            leaf.into_iter().for_each(|leaf| self.push(leaf));
            return;
        }
        if combination == Combination::Intersection {
            // What was used comes first, in the order of use.
            elements.sort_by_key(|element| element.retained().is_none());
        }
        self.push(Element::Branch { combination, elements, candidates, retained: None });
    }

    /// Says of the branch that was ended last what was left after it.
    pub fn retained(&mut self, left: u64) {
        match self.open.last_mut().and_then(|elements| elements.last_mut()) {
            Some(Element::Branch { retained, .. }) => *retained = Some(left),
            Some(Element::Leaf(leaf)) => leaf.retained = Some(left),
            None => {}
        }
    }

    fn push(&mut self, element: Element) {
        match self.open.last_mut() {
            Some(elements) => elements.push(element),
            None => self.done.push(element),
        }
    }
}
