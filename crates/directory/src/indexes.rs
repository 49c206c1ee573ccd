//! The indexes of the backends while they serve: made what the configuration says, rebuilt on demand, and built in the background.
//!
//! Every change is a proposal, so a crash at any point goes on where it was. Knows configurations and backends; not who asks.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use config::{Applier, AtRestart, Config};
use store::bulk::RebuildWhich;
use store::index::{ConfiguredIndexes, Index, IndexConfigs};

use crate::directory::Directory;
use crate::index_builder::{IndexBuilders, IndexNotice};
use crate::index_propose::propose;
use crate::open::OpenError;
use crate::root_users::RootUsers;
use crate::update::bind_schema;
use change::index_proposal::IndexProposal;
use query::backend::Backend;
use query::computed::check_tables;
use query::configured::configured_indexes;

/// What a new configuration changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconfigured {
    /// What took effect, a sentence each.
    pub changed: Vec<String>,
    /// The parts that had something to apply.
    pub applied: BTreeSet<Applier>,
    /// What differs from what the server started with and takes a restart.
    pub at_restart: Vec<AtRestart>,
}

impl Reconfigured {
    fn applied(&mut self, applier: Applier, sentence: impl Into<String>) {
        self.applied.insert(applier);
        self.changed.push(sentence.into());
    }
}

impl Directory {
    /// Builds what is to be built from now on, in the background, and tells of it.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start_index_builders(&self, tell: Arc<dyn Fn(IndexNotice) + Send + Sync>) -> std::io::Result<()> {
        let builders = IndexBuilders::start(&self.backends, self.updates.intake(), &tell)?;
        *self.index_work.builders.lock().unwrap_or_else(PoisonError::into_inner) = Some(builders);
        Ok(())
    }

    /// Takes what is declared live ([`Applier`]), except what the network side applies. A configuration with something that is not valid
    /// changes nothing. Waits for disks: not for event loops.
    ///
    /// # Errors
    /// When something is not valid under the schema in force, or a backend does not take the change.
    pub fn reconfigure(&self, new: &Config) -> Result<Reconfigured, OpenError> {
        let _only_one = self.index_work.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wanted = Vec::new();
        for (at, backend) in self.backends.iter().enumerate() {
            // A backend that is configured no more stays in service until the restart.
            let Some(configured) = new.backend(&backend.id) else { continue };
            wanted.push((at, backend, configured.index_entry_limit, configured_indexes(&self.schema(), configured)?));
        }
        let mut done = Reconfigured { at_restart: self.config.changes_to(new).at_restart, ..Reconfigured::default() };
        let root_users = RootUsers::new(new, &self.schema())?;
        self.updating().check_plugins(new)?;
        check_tables(&self.facts(), &new.virtual_attributes)?;
        if self.set_limits(new)? {
            done.applied(Applier::Limits, "The limits of operations changed");
        }
        if self.set_root_users(root_users) {
            done.applied(Applier::Binds, "The root users or the answers to failed binds changed");
        }
        if self.updating().set_plugins(new)? {
            done.applied(Applier::Plugins, "The plugins changed");
        }
        let changelog = self.history().set(new.changelog);
        if changelog.map_err(|error| OpenError::Store { backend: "changelog".to_owned(), error })? {
            done.applied(Applier::Changelog, "The retention of the changelog changed");
        }
        if self.reading.computed.set_tables(&new.virtual_attributes) {
            done.applied(Applier::VirtualAttributes, "The virtual attributes changed");
        }
        for (at, backend, entry_limit, indexes) in wanted {
            if backend.set_entry_limit(entry_limit) {
                done.applied.insert(Applier::Indexes);
            }
            let before = backend.store.indexes().configured().clone();
            if *before == indexes {
                continue;
            }
            let gone: Vec<&str> = missing(&before.names, &indexes.names);
            let new: Vec<&str> = missing(&indexes.names, &before.names);
            let mut sentence = format!("Indexes of the backend \"{}\" changed", backend.id);
            for (what, names) in [("built now", new), ("dropped", gone)] {
                if !names.is_empty() {
                    sentence = format!("{sentence}; {what}: {}", names.join(", "));
                }
            }
            self.set_indexes(at, indexes, Vec::new())?;
            done.applied(Applier::Indexes, sentence);
        }
        self.index_work.wake();
        Ok(done)
    }

    /// Builds indexes of a backend anew while it serves. Until they are complete, no search uses them. Gives back their names.
    ///
    /// # Errors
    /// When there is no such backend or index, or the backend does not take the change.
    pub fn rebuild_indexes(&self, backend_id: &str, which: &RebuildWhich) -> Result<Vec<String>, OpenError> {
        let _only_one = self.index_work.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.backends.iter().position(|backend| backend.id.eq_ignore_ascii_case(backend_id));
        let Some((at, backend)) = found.and_then(|at| Some((at, self.backends.get(at)?))) else {
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
            self.set_indexes(at, configured, names.clone())?;
            backend.build_failure.store(None);
            self.index_work.wake();
        }
        Ok(names.iter().map(|name| without_stamp(name).to_owned()).collect())
    }

    /// The configured indexes that OpenDJ index ids or attribute names stand for.
    fn names_of(&self, backend: &Backend, asked: &[String]) -> Result<Vec<String>, OpenError> {
        let (indexes, schema) = (backend.store.indexes(), self.schema());
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

    /// Makes the indexes of the backends those of the configuration, when the directory opens; what cannot be finished as it is, is
    /// begun anew.
    pub(crate) fn settle_indexes(&self) -> Result<(), OpenError> {
        for (at, backend) in self.backends.iter().enumerate() {
            let Some(configured) = self.config.backend(&backend.id) else { continue };
            let wanted = configured_indexes(&self.schema(), configured)?;
            let indexes = backend.store.indexes();
            let anew = indexes.states().degraded();
            if **indexes.configured() != wanted || !anew.is_empty() {
                self.set_indexes(at, wanted, anew)?;
            }
        }
        Ok(())
    }

    /// Proposes and waits.
    fn set_indexes(&self, at: usize, configured: ConfiguredIndexes, anew: Vec<String>) -> Result<(), OpenError> {
        let Some(backend) = self.backends.get(at) else { return Ok(()) };
        // Filters and secret are no part of the proposal: the backend has them before it meets indexes that need them.
        backend.key_makers.store(Arc::new(configured.configs.clone()));
        bind_schema(backend, &self.schema()).wait();
        let proposal = IndexProposal::Set { configured, anew };
        propose(backend, self.updates.intake(), &proposal)
            .map_err(|error| OpenError::Store { backend: backend.id.clone(), error })
    }
}

/// Those of `names` that `others` have not.
fn missing<'n>(names: &'n [String], others: &[String]) -> Vec<&'n str> {
    names.iter().filter(|name| !others.contains(name)).map(|name| without_stamp(name)).collect()
}

/// The name as people know it: what follows the `@` only tells keys of one making from those of another.
pub(crate) fn without_stamp(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}
