//! The indexes of a backend at one moment: which exist, which of them may answer searches, and why the others may not.
//!
//! Part of every version of the backend, so that a search never uses an index that its snapshot does not have in full.
//! Does not know how an index comes to be trusted.

use std::sync::Arc;

use super::configured::ConfiguredIndexes;
use super::set::{Index, IndexSet};
use super::state::{Build, BuildPoint, IndexStates};
use crate::extract::{KeyExtractor, NoKeys};
use crate::{EntryId, IndexId};

/// Why an index answers no searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distrust {
    /// Entries are missing in it: it has to be rebuilt.
    Degraded,
    /// It is being built: so many entries are in it.
    Building {
        /// Entries done.
        entries: u64,
    },
    /// Its keys were derived by other rules than this program's: it has to be rebuilt.
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
#[derive(Clone)]
pub struct BackendIndexes {
    configured: Arc<ConfiguredIndexes>,
    states: IndexStates,
    extractor: Arc<dyn KeyExtractor>,
    set: Arc<IndexSet>,
    /// By ascending number.
    untrusted: Vec<UntrustedIndex>,
    /// By number.
    kept: Vec<Kept>,
}

/// Which entries of an index updates keep up to date.
#[derive(Clone, Copy, Default)]
struct Kept {
    /// Entries up to this one; later ones are added by the builder.
    through: EntryId,
    /// The entry among them of which only a part is in.
    within: EntryId,
}

impl Default for BackendIndexes {
    fn default() -> Self {
        Self::new(Arc::default(), IndexStates::default(), Arc::new(NoKeys))
    }
}

impl BackendIndexes {
    /// The indexes whose keys `extractor` makes, as `states` remembers them.
    pub(crate) fn new(
        configured: Arc<ConfiguredIndexes>,
        states: IndexStates,
        extractor: Arc<dyn KeyExtractor>,
    ) -> Self {
        let set = extractor.indexes();
        let indexes = Self { configured, states, extractor, set, untrusted: Vec::new(), kept: Vec::new() };
        indexes.settled()
    }

    /// The same indexes with other states.
    pub(crate) fn with_states(&self, states: IndexStates) -> Self {
        Self { states, ..self.clone() }.settled()
    }

    fn settled(mut self) -> Self {
        let why = |index: &Index| match self.states.get(index.id) {
            Some(state) if !state.is_current() => Some(Distrust::OtherDerivation),
            Some(state) => match &state.build {
                Build::Complete => None,
                Build::UpTo(point) => Some(Distrust::Building { entries: point.entries }),
                Build::Unknown => Some(Distrust::Degraded),
            },
            None => Some(Distrust::Degraded),
        };
        let untrusted = |index: &Index| Some(UntrustedIndex { id: index.id, why: why(index)? });
        self.untrusted = self.set.iter().filter_map(untrusted).collect();
        let all = Kept { through: EntryId(u64::MAX), within: EntryId::ROOT };
        self.kept = vec![all; usize::from(IndexId::FIRST_CONFIGURED.0)];
        for (_, state) in self.states.iter().filter(|(_, state)| state.is_current()) {
            let at = usize::from(state.id.0);
            self.kept.resize(self.kept.len().max(at + 1), Kept::default());
            if let Some(place) = self.kept.get_mut(at) {
                *place = match &state.build {
                    Build::Complete => all,
                    Build::UpTo(BuildPoint { within: Some((within, _)), .. }) => {
                        Kept { through: *within, within: *within }
                    }
                    Build::UpTo(point) => Kept { through: point.through, within: EntryId::ROOT },
                    Build::Unknown => Kept::default(),
                };
            }
        }
        self
    }

    /// As configured.
    #[must_use]
    pub fn configured(&self) -> &Arc<ConfiguredIndexes> {
        &self.configured
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

    /// Whether there is something for a builder to do: an index to build, or rows of a former one to remove.
    #[must_use]
    pub fn has_work(&self) -> bool {
        let is_building = |why| matches!(why, Distrust::Building { .. });
        self.states.retired().len() > 0 || self.untrusted.iter().any(|index| is_building(index.why))
    }

    /// Whether an index may answer searches: it is in the set, and every entry is in it.
    #[inline]
    #[must_use]
    pub fn is_trusted(&self, id: IndexId) -> bool {
        (self.untrusted.is_empty() || self.why_untrusted(id).is_none()) && self.set.get(id).is_some()
    }

    /// Why an index of the set may not answer searches.
    #[must_use]
    pub fn why_untrusted(&self, id: IndexId) -> Option<Distrust> {
        let at = self.untrusted.binary_search_by_key(&id, |index| index.id).ok()?;
        self.untrusted.get(at).map(|index| index.why)
    }

    /// Makes the keys.
    pub(crate) fn extractor(&self) -> &Arc<dyn KeyExtractor> {
        &self.extractor
    }

    /// Whether an update of that entry brings the index up to date.
    #[inline]
    pub(crate) fn keeps(&self, index: IndexId, entry: EntryId) -> bool {
        self.kept.get(usize::from(index.0)).is_some_and(|kept| entry <= kept.through)
    }

    /// Whether only a part of that entry's keys is in the index.
    #[inline]
    pub(crate) fn has_part_of(&self, index: IndexId, entry: EntryId) -> bool {
        self.kept.get(usize::from(index.0)).is_some_and(|kept| entry == kept.within)
    }
}

impl std::fmt::Debug for BackendIndexes {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("BackendIndexes").field("states", &self.states).finish_non_exhaustive()
    }
}
