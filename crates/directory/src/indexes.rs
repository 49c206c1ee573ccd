//! The indexes of the backends while they serve: made what the configuration says, rebuilt on demand, and built in the
//! background.
//!
//! Every change is a proposal, so a crash at any point goes on where it was. Knows configurations and backends; not who
//! asks.

use std::sync::{Arc, PoisonError};

use config::Config;
use store::bulk::RebuildWhich;
use store::index::{ConfiguredIndexes, Index, IndexConfigs};

use crate::in_force::InForce;
use crate::index_builder::{IndexBuilders, IndexNotice};
use crate::index_propose::propose;
use crate::index_work::IndexWork;
use crate::open_error::OpenError;
use crate::update::{Intake, bind_schema};
use change::index_proposal::IndexProposal;
use query::backend::{Backend, BackendIndex, numbered};
use query::configured::configured_indexes;

/// What changes of indexes need of the directory.
pub(crate) struct IndexContext<'d> {
    pub(crate) config: &'d Config,
    pub(crate) in_force: &'d InForce,
    pub(crate) backends: &'d Arc<[Backend]>,
    pub(crate) intake: &'d Arc<Intake>,
    pub(crate) work: &'d IndexWork,
}

impl IndexContext<'_> {
    /// Builds what is to be built from now on, in the background, and tells of it.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub(crate) fn start_builders(&self, tell: Arc<dyn Fn(IndexNotice) + Send + Sync>) -> std::io::Result<()> {
        let builders = IndexBuilders::start(self.backends, self.intake, &tell)?;
        *self.work.builders.lock().unwrap_or_else(PoisonError::into_inner) = Some(builders);
        Ok(())
    }

    /// Builds indexes of a backend anew while it serves. Until they are complete, no search uses them. Gives back their
    /// names.
    ///
    /// # Errors
    /// When there is no such backend or index, or the backend does not take the change.
    pub(crate) fn rebuild(&self, backend_id: &str, which: &RebuildWhich) -> Result<Vec<String>, OpenError> {
        let _only_one = self.work.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let found = numbered(self.backends).find(|(_, backend)| backend.id.eq_ignore_ascii_case(backend_id));
        let Some((at, backend)) = found else {
            return Err(OpenError::NoBackend { backend: backend_id.to_owned() });
        };
        let indexes = backend.store.indexes();
        let names = match which {
            RebuildWhich::All => indexes.states().iter().map(|(name, _)| name.to_owned()).collect(),
            RebuildWhich::Degraded => indexes.states().degraded(),
            RebuildWhich::Named(names) => self.names_of(backend, names)?,
        };
        if !names.is_empty() {
            let IndexConfigs { filters, secret, .. } = (**backend.key_makers.load()).clone();
            let mut configured = (**indexes.configured()).clone();
            configured.configs = IndexConfigs { filters, secret, ..configured.configs };
            self.set(at, configured, names.clone())?;
            backend.build_failure.store(None);
            self.work.wake();
        }
        Ok(names.iter().map(|name| without_stamp(name).to_owned()).collect())
    }

    /// The configured indexes that OpenDJ index ids or attribute names stand for.
    fn names_of(&self, backend: &Backend, asked: &[String]) -> Result<Vec<String>, OpenError> {
        let (indexes, schema) = (backend.store.indexes(), self.in_force.schema());
        let mut found: Vec<String> = Vec::new();
        for name in asked {
            let attribute = schema.attribute_type(name.as_bytes()).map(|attribute| attribute.index);
            let is_meant = |index: &Index| index.name.eq_ignore_ascii_case(name) || Some(index.attribute) == attribute;
            let is_meant = |id| indexes.set().get(id).is_some_and(is_meant);
            let states = indexes.states().iter().filter(|(_, state)| is_meant(state.id));
            let meant: Vec<String> = states.map(|(name, _)| name.to_owned()).collect();
            if meant.is_empty() {
                return Err(OpenError::NoIndex { backend: backend.id.clone(), index: name.clone() });
            }
            found.extend(meant);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Makes the indexes of the backends those of the configuration, when the directory opens; what cannot be finished
    /// as it is, is begun anew.
    pub(crate) fn settle(&self) -> Result<(), OpenError> {
        for (at, backend) in numbered(self.backends) {
            let Some(configured) = self.config.backend(&backend.id) else { continue };
            let wanted = configured_indexes(&self.in_force.schema(), configured)?;
            let indexes = backend.store.indexes();
            let anew = indexes.states().degraded();
            if **indexes.configured() != wanted || !anew.is_empty() {
                self.set(at, wanted, anew)?;
            }
        }
        Ok(())
    }

    /// Proposes and waits.
    pub(crate) fn set(
        &self,
        at: BackendIndex,
        configured: ConfiguredIndexes,
        anew: Vec<String>,
    ) -> Result<(), OpenError> {
        let Some(backend) = self.backends.get(at.0) else { return Ok(()) };
        // Filters and secret are no part of the proposal: the backend has them before it meets indexes that need them.
        backend.key_makers.store(Arc::new(configured.configs.clone()));
        bind_schema(backend, &self.in_force.schema()).wait();
        let proposal = IndexProposal::Set { configured, anew };
        propose(backend, self.intake, &proposal)
            .map_err(|error| OpenError::Store { backend: backend.id.clone(), error })
    }
}

/// The name as people know it: what follows the `@` only tells keys of one making from those of another.
pub(crate) fn without_stamp(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}
