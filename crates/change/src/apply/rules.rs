//! The rules of one backend: what `apply` goes by beside the entries, as far as it is in force.

use std::sync::Arc;

use query::backend::Suffix;
use query::facts::Facts;
use schema::check::{Checker, Leniency};
use schema::{NormalizedDn, Schema};

use super::change_notes::ChangeNotes;
use super::class_cache::ClassCache;
use super::definitions_cache::DefinitionsCache;
use super::plugins::Plugins;
use crate::history::Recorder;

/// Version of what `apply` does; the log's header names it. Raise it with every change that makes some proposal come
/// out otherwise.
pub const RULES_VERSION: u32 = 12;

/// The rules of one backend.
pub struct UpdateRules {
    /// The base DNs of the backend.
    pub(super) suffixes: Vec<Suffix>,
    /// All base DNs below those.
    pub(super) base_dns: Vec<Suffix>,
    pub(super) leniency: Leniency,
    pub(super) facts: Arc<Facts>,
    pub(super) checker: Arc<Checker>,
    pub(super) classes: ClassCache,
    pub(super) plugins: Arc<Plugins>,
    pub(super) definitions: DefinitionsCache,
    pub(super) notes: ChangeNotes,
    /// Whether schema, plugins and base DNs are those that the backend keeps. At first, and after a batch was taken
    /// back, that is unknown.
    pub(super) is_settled: bool,
}

impl UpdateRules {
    /// Rules for a backend with these suffixes, under the schema of `facts` until the backend says otherwise.
    #[must_use]
    pub fn new(suffixes: Vec<Suffix>, leniency: Leniency, facts: Arc<Facts>) -> Self {
        let checker = Arc::new(Checker::new(Arc::clone(&facts.schema), leniency));
        Self {
            suffixes,
            base_dns: Vec::new(),
            leniency,
            facts,
            checker,
            classes: ClassCache::default(),
            plugins: Arc::default(),
            definitions: DefinitionsCache::default(),
            notes: ChangeNotes::default(),
            is_settled: false,
        }
    }

    /// The base DN that holds a name: the longest one, when they are nested.
    pub(super) fn suffix_of(&self, name: &NormalizedDn) -> Option<&Suffix> {
        let holding = self.suffixes.iter().filter(|suffix| suffix.normalized.is_ancestor_or_equal(name));
        holding.max_by_key(|suffix| suffix.normalized.as_bytes().len())
    }

    /// The same, with notes of what changes for the history.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Recorder) -> Self {
        self.notes = ChangeNotes::new(recorder);
        self
    }

    /// Drops what is kept by number: the numbers are not in force any more.
    pub(super) fn forget_numbers(&mut self) {
        self.classes.clear();
        self.definitions = DefinitionsCache::default();
    }

    pub(super) fn set_schema(&mut self, schema: Arc<Schema>) {
        self.checker = Arc::new(Checker::new(Arc::clone(&schema), self.leniency));
        self.facts = Arc::new(Facts::new(schema));
        self.classes.clear();
        self.definitions = DefinitionsCache::default();
        self.is_settled = false;
    }
}
