//! The definitions that the entries of a backend make, kept between proposals.

use std::sync::Arc;

use query::computed::{ComputedService, Definitions};
use query::notices::Notices;

/// Definitions as the rules of one backend keep them.
///
/// Invariant: what is kept is that of the proposal before, as long as no entry that defines something was written.
/// Every update that may write one (or give another name to what is above one), or take numbers of class sets back,
/// drops it.
pub(super) struct DefinitionsCache {
    pub(super) service: ComputedService,
    /// None until it is needed.
    pub(super) known: Option<Option<Arc<Definitions>>>,
}

impl Default for DefinitionsCache {
    fn default() -> Self {
        DefinitionsCache { service: ComputedService::new(&[], 1, &Arc::new(Notices::default())), known: None }
    }
}

impl DefinitionsCache {
    /// Something may have been moved or removed. Where nothing refuses writes, or nothing is kept yet, that changes
    /// nothing.
    pub(super) fn forget_some(&mut self) {
        if matches!(self.known, Some(Some(_))) {
            *self = DefinitionsCache::default();
        }
    }
}
