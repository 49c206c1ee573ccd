//! What all entries that lie in no backend have in common: where they are, who may read them, what a search and a
//! compare find, and which updates they take. One file each stands behind it.
//!
//! Knows no directory: what the entries are made from comes with the question.

use std::fmt::Debug;
use std::sync::Arc;

use access::{Identity, Privilege, Rights};
use config::Config;
use ldap::{EntryRequest, Filter, LdapResult, Scope};
use schema::NormalizedDn;

use super::change_scan::ChangeScan;
use super::configuration_change::ConfigurationChange;
use super::schema_modification::SchemaModification;
use super::task_change::TaskUpdate;
use crate::refusal::Refusal;
use change::history::History;
use change::proposal::Flags;
use query::error::{no_such_object, shown};
use query::facts::Facts;
use query::monitor_entry::MonitorEntry;
use query::plan::covers;
use query::synthetic::SyntheticEntry;
use tasks::TaskBook;

/// Asks the parts of the server what they say of themselves.
pub(crate) trait MonitorSource {
    /// What there is to say at this moment.
    fn collect(&self, facts: &Facts) -> Vec<MonitorEntry>;

    /// The configuration that was last taken.
    fn configuration(&self) -> Arc<Config>;

    /// The SASL mechanisms that a connection is offered.
    fn sasl_mechanisms(&self, session: &access::Session) -> Vec<&'static str>;

    /// The tasks of the server.
    fn tasks(&self) -> &TaskBook;
}

/// What the entries are made from, at the moment of a request.
pub(crate) struct OwnContext<'d> {
    pub(crate) facts: &'d Facts,
    pub(crate) history: &'d Arc<History>,
    pub(crate) monitor: &'d dyn MonitorSource,
    pub(crate) session: &'d access::Session,
}

/// A search whose base is one of the entries.
pub(crate) struct OwnSearch<'r, 'f> {
    pub(crate) base: &'r NormalizedDn,
    /// The base as the client wrote it.
    pub(crate) written: &'r [u8],
    pub(crate) scope: Scope,
    pub(crate) filter: &'r Filter<'f>,
}

/// What such a search looks at.
pub(crate) struct OwnFound {
    /// The base entry, in scope or not.
    pub(crate) base: Arc<SyntheticEntry>,
    /// The entries in scope.
    pub(crate) entries: Vec<Arc<SyntheticEntry>>,
    /// Further entries, which are read one after the other.
    pub(crate) changes: Option<ChangeScan>,
}

impl OwnFound {
    /// Those in scope, out of all entries of a tree. Without the base, `nearest` says what there is above it.
    pub(super) fn among(
        mut entries: Vec<Arc<SyntheticEntry>>,
        search: &OwnSearch<'_, '_>,
        nearest: impl FnOnce(&[Arc<SyntheticEntry>]) -> String,
    ) -> Result<Self, LdapResult> {
        let base = entries.iter().find(|entry| entry.normalized() == search.base).map(Arc::clone);
        let base = base.ok_or_else(|| no_such_object(&shown(search.written), nearest(&entries)))?;
        entries.retain(|entry| covers(search.base, search.scope, entry.normalized()));
        Ok(Self { base, entries, changes: None })
    }
}

/// An update that one of the entries takes.
#[derive(Debug)]
pub(crate) enum OwnUpdate {
    /// Of the subschema entry.
    Schema(SchemaModification),
    /// Of a task.
    Task(Box<TaskUpdate>),
    /// Of the configuration.
    Configuration(Box<ConfigurationChange>),
}

/// Who asks for an update.
pub(crate) struct OwnAsker<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) rights: &'a Rights,
    pub(crate) facts: &'a Facts,
    pub(crate) tasks: &'a TaskBook,
    pub(crate) configuration: &'a Config,
}

/// Entries that lie in no backend: one, or one with others below it.
pub(crate) trait OwnTree: Debug + Send + Sync {
    /// The name of the topmost entry.
    fn base(&self) -> &NormalizedDn;

    /// The same as the server shows it.
    fn dn(&self) -> &'static str;

    /// What a refusal calls it.
    fn title(&self) -> &'static str;

    /// Whether a name is here and in no backend, whether or not there is such an entry.
    fn holds(&self, dn: &NormalizedDn) -> bool {
        self.base().is_ancestor_or_equal(dn)
    }

    /// Whether it is switched on.
    fn is_on(&self, _history: &History) -> bool {
        true
    }

    /// Refuses those without the privilege that reading it takes.
    fn check_read(&self, _rights: &Rights) -> Result<(), LdapResult> {
        Ok(())
    }

    /// The entry of that name, if there is one; `written` is what the client calls it.
    fn entry(
        &self,
        context: &OwnContext<'_>,
        dn: &NormalizedDn,
        written: &[u8],
    ) -> Result<Option<Arc<SyntheticEntry>>, LdapResult>;

    /// The same; `noSuchObject` if there is none.
    fn find(
        &self,
        context: &OwnContext<'_>,
        dn: &NormalizedDn,
        written: &[u8],
    ) -> Result<Arc<SyntheticEntry>, LdapResult> {
        self.entry(context, dn, written)?.ok_or_else(|| no_such_object(&shown(written), self.dn()))
    }

    /// What a search looks at: the base alone, where nothing is below it.
    fn search(&self, context: &OwnContext<'_>, search: &OwnSearch<'_, '_>) -> Result<OwnFound, LdapResult> {
        let base = self.find(context, search.base, search.written)?;
        let is_in_scope = covers(search.base, search.scope, base.normalized());
        Ok(OwnFound { entries: is_in_scope.then(|| Arc::clone(&base)).into_iter().collect(), base, changes: None })
    }

    /// What an update of the name `dn` is to do, or why it is refused.
    fn update(
        &self,
        _asker: &OwnAsker<'_>,
        _flags: Flags,
        _request: &EntryRequest<'_>,
        _dn: &NormalizedDn,
    ) -> Result<OwnUpdate, LdapResult> {
        Err(self.unwilling())
    }

    /// The privilege that an update takes.
    fn write_privilege(&self) -> Privilege {
        Privilege::UpdateSchema
    }

    /// The refusal of an update.
    fn unwilling(&self) -> LdapResult {
        Refusal::OwnEntries { title: self.title().to_owned() }.into()
    }
}
