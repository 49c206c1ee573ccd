//! The indexes of a backend at one moment: which there are, which of them may answer searches, and why the others may not.
//!
//! Part of every version of the backend, so that a search never uses an index that its snapshot does not have in full. Knows nothing of
//! how an index comes to be trusted.

use std::sync::Arc;

use super::set::{Index, IndexSet};
use super::state::{IndexStates, key_derivation};
use crate::IndexId;

/// Why an index answers no searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distrust {
    /// It is new and has to be built.
    NeverBuilt,
    /// It is being built: so many entries are in it.
    Building {
        /// Entries done.
        entries: u64,
    },
    /// Its keys were derived by other rules than today's: it has to be made anew.
    OtherDerivation,
}

/// An index that answers no searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UntrustedIndex {
    /// Its number.
    pub id: IndexId,
    /// Why.
    pub why: Distrust,
}

/// The indexes of a backend at one moment.
#[derive(Debug, Clone, Default)]
pub struct BackendIndexes {
    set: Arc<IndexSet>,
    states: IndexStates,
    /// By ascending number.
    untrusted: Vec<UntrustedIndex>,
    /// By number: whether the index is kept in step. The store's own are, and the trusted ones; an untrusted one lacks entries, so
    /// changes could not be true.
    kept: Vec<bool>,
}

impl BackendIndexes {
    /// The indexes of `set`, as `states` remembers them.
    #[must_use]
    pub fn new(set: Arc<IndexSet>, states: IndexStates) -> Self {
        let why = |index: &Index| {
            let state = states.iter().find(|(_, state)| state.id == index.id).map(|(_, state)| state);
            match state {
                Some(state) if state.derivation != key_derivation() => Some(Distrust::OtherDerivation),
                Some(state) if state.trusted => None,
                _ => Some(Distrust::NeverBuilt),
            }
        };
        let untrusted =
            set.iter().filter_map(|index| Some(UntrustedIndex { id: index.id, why: why(index)? })).collect();
        let mut kept = vec![true; usize::from(IndexId::FIRST_CONFIGURED.0)];
        for (_, state) in states.iter() {
            let at = usize::from(state.id.0);
            kept.resize(kept.len().max(at + 1), false);
            if let Some(place) = kept.get_mut(at) {
                *place = states.is_trusted(state.id);
            }
        }
        Self { set, states, untrusted, kept }
    }

    /// All of them.
    #[must_use]
    pub fn set(&self) -> &Arc<IndexSet> {
        &self.set
    }

    /// What is remembered of them.
    #[must_use]
    pub fn states(&self) -> &IndexStates {
        &self.states
    }

    /// Those that answer no searches, by ascending number. Usually none.
    #[must_use]
    pub fn untrusted(&self) -> &[UntrustedIndex] {
        &self.untrusted
    }

    /// Whether an index may answer searches: it is in the set, and every entry is in it.
    #[inline]
    #[must_use]
    pub fn is_trusted(&self, id: IndexId) -> bool {
        (self.untrusted.is_empty() || self.why_untrusted(id).is_none()) && self.set.get(id).is_some()
    }

    /// Whether updates bring the keys of the index up to date.
    #[inline]
    pub(crate) fn keeps(&self, id: IndexId) -> bool {
        self.kept.get(usize::from(id.0)).copied().unwrap_or(false)
    }

    /// Why an index of the set may not answer searches.
    #[must_use]
    pub fn why_untrusted(&self, id: IndexId) -> Option<Distrust> {
        let at = self.untrusted.binary_search_by_key(&id, |index| index.id).ok()?;
        self.untrusted.get(at).map(|index| index.why)
    }
}
