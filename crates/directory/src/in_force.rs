//! The schema in force and the entries that follow from it: the root DSE, `cn=schema`, the names of the monitor and the
//! changelog.
//!
//! Knows no operation; whoever begins one takes what is in force at that moment.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};
use schema::{NormalizedDn, Schema};
use store::StoreError;

use crate::own::{Announced, Capabilities, MonitorSource, OwnContext, OwnEntries, OwnTree};
use change::history::History;
use query::backend::Backend;
use query::facts::Facts;

/// See the module.
pub(crate) struct InForce {
    facts: ArcSwap<Facts>,
    own: ArcSwap<OwnEntries>,
    /// Taken while the entries are made anew.
    remaking: Mutex<()>,
}

impl InForce {
    /// The entries of a schema, as long as nobody says what the server can do.
    ///
    /// # Errors
    /// When one of them would be too large.
    pub(crate) fn new(facts: Arc<Facts>, backends: &[Backend]) -> Result<InForce, StoreError> {
        let naming_contexts = naming_contexts(backends).map(str::to_owned).collect();
        let own = OwnEntries::new(&facts, Announced { naming_contexts, ..Announced::default() })?;
        Ok(InForce { facts: ArcSwap::new(facts), own: ArcSwap::from_pointee(own), remaking: Mutex::default() })
    }

    /// The schema in force, and what was looked up in it.
    pub(crate) fn facts(&self) -> Arc<Facts> {
        self.facts.load_full()
    }

    /// Asks the entries that lie in no backend and hold the name `dn`, if there are such.
    pub(crate) fn ask_own_entries<T>(
        &self,
        history: &Arc<History>,
        monitor: &dyn MonitorSource,
        (facts, session): (&Facts, &access::Session),
        dn: &NormalizedDn,
        ask: impl FnOnce(&dyn OwnTree, &OwnContext<'_>) -> T,
    ) -> Option<T> {
        let own = self.own_entries();
        let context = OwnContext { facts, history, monitor, session };
        own.holder(history, dn).map(|tree| ask(tree, &context))
    }

    /// The schema in force.
    pub(crate) fn schema(&self) -> Arc<Schema> {
        self.facts.load().schema.clone()
    }

    /// The entries in force.
    pub(crate) fn own_entries(&self) -> Guard<Arc<OwnEntries>> {
        self.own.load()
    }

    /// Says what the server can do beyond what the directory does, for the root DSE.
    ///
    /// # Errors
    /// When the root DSE would be too large.
    pub(crate) fn set_capabilities(&self, capabilities: Capabilities) -> Result<(), StoreError> {
        self.announce(|announced| announced.capabilities = capabilities)
    }

    /// Says where entries can be dynamic, for the root DSE.
    ///
    /// # Errors
    /// When the root DSE would be too large.
    pub(crate) fn set_dynamic_subtrees(&self, dynamic_subtrees: Vec<String>) -> Result<(), StoreError> {
        self.announce(|announced| announced.dynamic_subtrees = dynamic_subtrees)
    }

    fn announce(&self, change: impl FnOnce(&mut Announced)) -> Result<(), StoreError> {
        let _only_one = self.remaking.lock().unwrap_or_else(PoisonError::into_inner);
        let own = self.own.load();
        let mut announced = own.announced().clone();
        change(&mut announced);
        if announced != *own.announced() {
            self.own.store(Arc::new(OwnEntries::new(&self.facts(), announced)?));
        }
        Ok(())
    }

    /// Takes a new schema: searches that begin from now on use it. What updates do about it is in the log's order, in
    /// `apply`.
    ///
    /// # Errors
    /// When the schema's entry would be too large.
    pub(crate) fn set_schema(&self, schema: Arc<Schema>) -> Result<(), StoreError> {
        let _only_one = self.remaking.lock().unwrap_or_else(PoisonError::into_inner);
        let facts = Arc::new(Facts::new(schema));
        let announced = self.own.load().announced().clone();
        self.own.store(Arc::new(OwnEntries::new(&facts, announced)?));
        self.facts.store(facts);
        Ok(())
    }
}

pub(crate) fn naming_contexts(backends: &[Backend]) -> impl Iterator<Item = &str> {
    backends.iter().flat_map(|backend| &backend.suffixes).map(|suffix| suffix.dn.as_str())
}
