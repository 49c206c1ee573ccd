//! The entries that lie in no backend: the root DSE, `cn=schema`, `cn=monitor`, `cn=changelog`, `cn=config` and
//! `cn=tasks`, each an [`OwnTree`].
//!
//! Search, compare and update ask [`OwnEntries::holder`] whether a name is one of theirs, and know no more of them.

mod change_scan;
mod changelog;
mod configuration;
mod configuration_change;
#[cfg(test)]
mod configuration_doors;
mod configuration_values;
mod monitor;
mod refused_edit;
mod root_dse;
mod schema;
mod schema_modification;
mod task_change;
mod task_entry;
mod task_update;
mod tasks;
mod tree;

use store::StoreError;

use ::schema::NormalizedDn;
use change::history::History;
use query::facts::Facts;

pub(crate) use change_scan::ChangeScan;
pub(crate) use configuration_change::ConfigurationChange;
pub use refused_edit::refused_edit;
pub(crate) use root_dse::Announced;
pub use root_dse::Capabilities;
pub(crate) use schema_modification::SchemaModification;
pub(crate) use task_change::TaskUpdate;
pub(crate) use tree::{MonitorSource, OwnAsker, OwnContext, OwnSearch, OwnTree, OwnUpdate};

/// All of them, made from one schema.
#[derive(Debug)]
pub(crate) struct OwnEntries {
    root_dse: root_dse::RootDse,
    schema: schema::SubschemaEntry,
    monitor: monitor::Monitor,
    changelog: changelog::Changelog,
    configuration: configuration::Configuration,
    tasks: tasks::Tasks,
}

impl OwnEntries {
    /// The entries of a server.
    ///
    /// # Errors
    /// When the schema has more text than a record may have.
    pub(crate) fn new(facts: &Facts, announced: Announced) -> Result<Self, StoreError> {
        Ok(Self {
            root_dse: root_dse::RootDse::new(facts, announced)?,
            schema: schema::SubschemaEntry::new(facts)?,
            monitor: monitor::Monitor::new(facts),
            changelog: changelog::Changelog::new(facts),
            configuration: configuration::Configuration::new(facts),
            tasks: tasks::Tasks::new(facts),
        })
    }

    /// What the root DSE says of the server.
    pub(crate) fn announced(&self) -> &Announced {
        self.root_dse.announced()
    }

    /// Those that hold a name.
    pub(crate) fn holder(&self, history: &History, dn: &NormalizedDn) -> Option<&dyn OwnTree> {
        let all: [&dyn OwnTree; 6] =
            [&self.root_dse, &self.schema, &self.monitor, &self.changelog, &self.configuration, &self.tasks];
        all.into_iter().find(|tree| tree.holds(dn) && tree.is_on(history))
    }
}
