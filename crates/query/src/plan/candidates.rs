//! What the planner gives: the entries that may match, as a list to be read, a set, or all.
//!
//! Knows ids and lists of ids; no filter.

use store::{IndexKey, Postings, StoreError};

use crate::id_set::IdSet;

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
    /// Every candidate matches the filter, so it is not evaluated again.
    pub is_exact: bool,
}

impl Found {
    /// No index answers.
    #[must_use]
    pub fn unindexed(over_limit: bool) -> Found {
        Found { candidates: Candidates::Unindexed { over_limit }, is_exact: false }
    }

    /// No entry matches.
    #[must_use]
    pub fn nobody() -> Found {
        Found { candidates: Candidates::Set(IdSet::default()), is_exact: true }
    }
}

/// A list as a set.
pub fn whole(list: &Postings<'_>) -> Result<IdSet, StoreError> {
    if list.count() <= crate::id_set::FEW_MAX as u64 {
        return Ok(IdSet::from_ascending(list.iter()));
    }
    Ok(IdSet::Many(list.to_set()?))
}

/// What a list and a set have in common: the shorter one is looked for in the longer one.
pub fn common(list: &Postings<'_>, set: &IdSet) -> Result<IdSet, StoreError> {
    let mut both = IdSet::default();
    if list.count() < set.len() {
        both.extend(list.iter().filter(|id| set.contains(*id)));
    } else {
        list.common(set.iter(), |id| both.insert(id))?;
    }
    Ok(both)
}
