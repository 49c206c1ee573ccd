//! Password policies between operations: prepared once, kept, and always those of the moment that is asked for.
//!
//! Invariant: a kept set is used for a moment only if schema and configuration are the same, and no policy and no name
//! above one has changed between: policies move the mark [`store::Marks::membership`] when they change, as groups and
//! definitions do.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use schema::NormalizedDn;
use store::{StoreError, View};

use super::configured::ConfiguredPolicies;
use super::set::PolicySet;
use crate::backend::{Backend, BackendIndex, holder};
use crate::facts::Facts;
use crate::notices::Notices;

/// See the module.
pub struct PolicyService {
    configured: ArcSwap<ConfiguredPolicies>,
    /// By backend.
    kept: Box<[ArcSwapOption<PolicySet>]>,
    notices: Arc<Notices>,
}

impl PolicyService {
    /// A service for so many backends.
    #[must_use]
    pub fn new(configured: ConfiguredPolicies, backends: usize, notices: &Arc<Notices>) -> PolicyService {
        PolicyService {
            configured: ArcSwap::from_pointee(configured),
            kept: (0..backends).map(|_| ArcSwapOption::empty()).collect(),
            notices: Arc::clone(notices),
        }
    }

    /// The policies of the configuration.
    #[must_use]
    pub fn configured(&self) -> Arc<ConfiguredPolicies> {
        self.configured.load_full()
    }

    /// Takes others, for everybody from the next bind on; tells whether they differ.
    pub fn set_configured(&self, new: ConfiguredPolicies) -> bool {
        let is_changed = **self.configured.load() != new;
        if is_changed {
            self.configured.store(Arc::new(new));
        }
        is_changed
    }

    /// Where what is wrong with policies is told.
    pub(super) fn notices(&self) -> &Notices {
        &self.notices
    }

    /// Whether a policy has that name now: one of the configuration, or an entry of one of the backends.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn has(&self, facts: &Arc<Facts>, backends: &[Backend], name: &NormalizedDn) -> Result<bool, StoreError> {
        if self.configured.load().named(name).is_some() {
            return Ok(true);
        }
        let Some((at, _)) = holder(backends, name.as_bytes()) else { return Ok(false) };
        let Some(backend) = backends.get(at.0) else { return Ok(false) };
        let snapshot = backend.store.snapshot()?;
        Ok(self.set_of(at, facts, &snapshot.view())?.named(name).is_some())
    }

    /// Whether some policy counts wrong passwords now: one of the configuration, or an entry of one of the backends.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn count_failures(&self, facts: &Arc<Facts>, backends: &[Backend]) -> Result<bool, StoreError> {
        if self.configured.load().count_failures() {
            return Ok(true);
        }
        for (at, backend) in backends.iter().enumerate() {
            let snapshot = backend.store.snapshot()?;
            if self.set_of(BackendIndex(at), facts, &snapshot.view())?.count_failures() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The policies that are entries of a backend at one moment.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn set_of(
        &self,
        backend: BackendIndex,
        facts: &Arc<Facts>,
        view: &View<'_>,
    ) -> Result<Arc<PolicySet>, StoreError> {
        let configured = self.configured.load();
        let Some(place) = self.kept.get(backend.0) else { return Ok(Arc::new(PolicySet::unknown(facts, &configured))) };
        let known = place.load_full().filter(|known| known.is_for(facts, &configured));
        if let Some(known) = &known
            && known.is_of(view)?
        {
            return Ok(Arc::clone(known));
        }
        let before = known.map_or_else(|| PolicySet::unknown(facts, &configured), Arc::unwrap_or_clone);
        let set = Arc::new(before.at(view, &self.notices)?);
        // Whoever else stores at the same time wins or loses: what is lost is found out again.
        place.store(Some(Arc::clone(&set)));
        Ok(set)
    }
}
