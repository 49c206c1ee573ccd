//! The schema in force and the entries that follow from it: the root DSE, `cn=schema`, the names of the monitor and the changelog.
//!
//! Knows no operation; whoever begins one takes what is in force at that moment.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};
use ldap::LdapResult;
use schema::{NormalizedDn, Schema};
use store::StoreError;

use crate::monitor::MONITOR_DN;
use crate::rootdse::{Capabilities, root_dse};
use crate::schema_entry::schema_entry;
use change::history::entry::CHANGELOG_DN;
use change::history::{Bounds, History};
use query::backend::Backend;
use query::error;
use query::facts::Facts;
use query::synthetic::SyntheticEntry;

/// See the module.
pub(crate) struct InForce {
    facts: ArcSwap<Facts>,
    own: ArcSwap<OwnEntries>,
    /// Taken while the entries are made anew.
    remaking: Mutex<()>,
    backends: Arc<[Backend]>,
}

/// The entries that are in no backend.
#[derive(Debug)]
pub(crate) struct OwnEntries {
    pub root_dse: Arc<SyntheticEntry>,
    /// The same with the change numbers of that moment, when it was last asked for.
    numbered: ArcSwapOption<NumberedDse>,
    /// What `root_dse` says the server can do.
    capabilities: Capabilities,
    /// Where entries can be dynamic (RFC 2589); nothing when they cannot.
    dynamic_subtrees: Vec<String>,
    /// The changelog's name.
    pub changelog: NormalizedDn,
    pub schema: Arc<SyntheticEntry>,
    /// The monitor's name; its entries are made for each search.
    pub monitor: NormalizedDn,
}

/// The root DSE while the changelog begins and ends there.
#[derive(Debug)]
struct NumberedDse {
    bounds: Bounds,
    entry: Arc<SyntheticEntry>,
}

impl InForce {
    /// The entries of a schema, as long as nobody says what the server can do.
    ///
    /// # Errors
    /// When one of them would be too large.
    pub(crate) fn new(facts: Arc<Facts>, backends: &Arc<[Backend]>) -> Result<InForce, StoreError> {
        let own = own_entries(&facts, backends, Capabilities::default(), Vec::new())?;
        Ok(InForce {
            facts: ArcSwap::new(facts),
            own: ArcSwap::from_pointee(own),
            remaking: Mutex::default(),
            backends: Arc::clone(backends),
        })
    }

    /// The schema in force, and what was looked up in it.
    pub(crate) fn facts(&self) -> Arc<Facts> {
        self.facts.load_full()
    }

    /// The schema in force.
    pub(crate) fn schema(&self) -> Arc<Schema> {
        self.facts.load().schema.clone()
    }

    /// The entries in force.
    pub(crate) fn own_entries(&self) -> Arc<OwnEntries> {
        self.own.load_full()
    }

    /// Says what the server can do beyond what the directory does, for the root DSE.
    ///
    /// # Errors
    /// When the root DSE would be too large.
    pub(crate) fn set_capabilities(&self, capabilities: Capabilities) -> Result<(), StoreError> {
        let _only_one = self.remaking.lock().unwrap_or_else(PoisonError::into_inner);
        let dynamic_subtrees = self.own.load().dynamic_subtrees.clone();
        self.own.store(Arc::new(own_entries(&self.facts(), &self.backends, capabilities, dynamic_subtrees)?));
        Ok(())
    }

    /// Says where entries can be dynamic, for the root DSE.
    ///
    /// # Errors
    /// When the root DSE would be too large.
    pub(crate) fn set_dynamic_subtrees(&self, dynamic_subtrees: Vec<String>) -> Result<(), StoreError> {
        let _only_one = self.remaking.lock().unwrap_or_else(PoisonError::into_inner);
        let own = self.own.load_full();
        if own.dynamic_subtrees != dynamic_subtrees {
            let capabilities = own.capabilities.clone();
            self.own.store(Arc::new(own_entries(&self.facts(), &self.backends, capabilities, dynamic_subtrees)?));
        }
        Ok(())
    }

    /// Takes a new schema: searches that begin from now on use it. What updates do about it is in the log's order, in `apply`.
    ///
    /// # Errors
    /// When the schema's entry would be too large.
    pub(crate) fn set_schema(&self, schema: Arc<Schema>) -> Result<(), StoreError> {
        let _only_one = self.remaking.lock().unwrap_or_else(PoisonError::into_inner);
        let facts = Arc::new(Facts::new(schema));
        let own = self.own.load_full();
        let (capabilities, dynamic_subtrees) = (own.capabilities.clone(), own.dynamic_subtrees.clone());
        self.own.store(Arc::new(own_entries(&facts, &self.backends, capabilities, dynamic_subtrees)?));
        self.facts.store(facts);
        Ok(())
    }

    /// The root DSE, which says where the changelog begins and ends.
    pub(crate) fn root_dse(
        &self,
        facts: &Facts,
        own: &OwnEntries,
        history: &History,
    ) -> Result<Arc<SyntheticEntry>, LdapResult> {
        if !history.is_on() {
            return Ok(Arc::clone(&own.root_dse));
        }
        let bounds = history.bounds();
        if let Some(numbered) = own.numbered.load().as_deref()
            && numbered.bounds == bounds
        {
            return Ok(Arc::clone(&numbered.entry));
        }
        // Two searches may make it at once; whose is kept does not matter.
        let contexts: Vec<&str> = naming_contexts(&self.backends).collect();
        let made = root_dse(facts, contexts.into_iter(), &own.capabilities, Some(bounds), &own.dynamic_subtrees);
        let entry = Arc::new(made.map_err(|problem| error::store_failure(&problem))?);
        own.numbered.store(Some(Arc::new(NumberedDse { bounds, entry: Arc::clone(&entry) })));
        Ok(entry)
    }
}

fn own_entries(
    facts: &Facts,
    backends: &[Backend],
    capabilities: Capabilities,
    dynamic_subtrees: Vec<String>,
) -> Result<OwnEntries, StoreError> {
    let contexts: Vec<&str> = naming_contexts(backends).collect();
    Ok(OwnEntries {
        root_dse: Arc::new(root_dse(facts, contexts.into_iter(), &capabilities, None, &dynamic_subtrees)?),
        numbered: ArcSwapOption::empty(),
        capabilities,
        dynamic_subtrees,
        changelog: NormalizedDn::parse(&facts.schema, CHANGELOG_DN.as_bytes()).unwrap_or_default(),
        schema: Arc::new(schema_entry(facts, None)?),
        monitor: NormalizedDn::parse(&facts.schema, MONITOR_DN.as_bytes()).unwrap_or_default(),
    })
}

pub(crate) fn naming_contexts(backends: &[Backend]) -> impl Iterator<Item = &str> {
    backends.iter().flat_map(|backend| &backend.suffixes).map(|suffix| suffix.dn.as_str())
}
