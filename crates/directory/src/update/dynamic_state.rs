//! What is kept of dynamic entries (RFC 2589) while the server runs: the settings, and the thread that removes what is
//! over.
//!
//! Knows no request but an add, which it refuses where nobody would remove the entry.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use config::DynamicEntries;
use ldap::{EntryRequest, LdapResult};

use super::expiry::{ExpiryCounts, ExpiryThread};
use crate::refusal::Refusal;
use query::class_flags::ClassFlags;
use query::facts::Facts;
use query::monitor_entry::MonitorEntry;

/// What to do where entries are to be dynamic.
pub(super) const SWITCH_ON: &str = "configure a plugin of type dynamic-entries";

/// What is kept of dynamic entries while the server runs.
#[derive(Debug, Default)]
pub(crate) struct DynamicState {
    /// None when entries cannot be dynamic.
    pub(super) settings: ArcSwapOption<DynamicEntries>,
    pub(super) counts: Arc<ExpiryCounts>,
    pub(super) thread: Mutex<Option<ExpiryThread>>,
}

impl DynamicState {
    /// Refuses a new dynamic entry where nobody would remove it.
    pub(super) fn check_add(&self, facts: &Facts, request: &EntryRequest<'_>) -> Result<(), LdapResult> {
        let EntryRequest::Add(request) = request else { return Ok(()) };
        if self.settings.load().is_some() {
            return Ok(());
        }
        let is_class = |name: &[u8]| facts.schema.attribute_type(name).map(|it| it.index) == facts.object_class;
        let classes = request.attributes.iter().filter(|attribute| is_class(attribute.description));
        let classes = classes.flat_map(|attribute| attribute.values.iter());
        if !facts.flags_of_classes(classes).has(ClassFlags::DYNAMIC) {
            return Ok(());
        }
        Err(Refusal::DynamicClass { remedy: SWITCH_ON }.into())
    }

    /// Ends the thread after the slice that is under way.
    pub(crate) fn stop(&self) {
        drop(self.thread.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// What `cn=monitor` says; nothing when entries cannot be dynamic.
    pub(crate) fn monitor_entry(&self) -> Option<MonitorEntry> {
        self.settings.load().as_ref().map(|_| self.counts.monitor_entry())
    }
}
