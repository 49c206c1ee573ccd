//! Which entries a rule is about: those at and below some names, those that match a filter.

use schema::{MatchContext, NormalizedDn, Schema};
use store::{EntryId, StoreError, View};

use crate::apply::error::ApplyError;
use crate::apply::stored_entry::with_entry;
use query::facts::Facts;
use query::filter::Asker;
use query::filter::{FilterScratch, Matcher, Truth};

/// See the module.
pub(super) struct Scope {
    /// Empty: everywhere.
    bases: Vec<NormalizedDn>,
    filter: Option<Matcher>,
}

impl Scope {
    /// From configured texts. A DN or filter that cannot be read (it could when it was configured) covers nothing.
    pub(super) fn new(facts: &Facts, bases: &[String], filter: Option<&str>) -> Self {
        let base = |dn: &String| NormalizedDn::parse(&facts.schema, dn.as_bytes()).ok();
        Self { bases: bases.iter().filter_map(base).collect(), filter: filter.map(|text| matcher(facts, text)) }
    }

    /// Whether it has a filter.
    pub(super) fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether an entry of that name may be covered.
    pub(super) fn covers_name(&self, name: &NormalizedDn) -> bool {
        self.bases.is_empty() || self.bases.iter().any(|base| base.is_ancestor_or_equal(name))
    }

    /// The same of a stored entry.
    pub(super) fn covers_name_of(&self, schema: &Schema, view: &View<'_>, id: EntryId) -> Result<bool, StoreError> {
        if self.bases.is_empty() {
            return Ok(true);
        }
        let dn = view.dn_of(id)?.unwrap_or_default();
        Ok(NormalizedDn::parse(schema, dn.as_bytes()).is_ok_and(|name| self.covers_name(&name)))
    }

    /// Whether a stored entry matches the filter; its name is not looked at.
    pub(super) fn matches(&self, facts: &Facts, view: &View<'_>, id: EntryId) -> Result<bool, ApplyError> {
        self.filter.as_ref().map_or(Ok(true), |filter| matches(facts, filter, view, id))
    }
}

/// A filter that was found to be one when it was configured; else one that nothing matches.
pub(super) fn matcher(facts: &Facts, text: &str) -> Matcher {
    let mut matcher = Matcher::default();
    if let Ok(parsed) = ldap::filter::parse(text) {
        matcher.compile(facts, &parsed.filter(), MatchContext::default());
    }
    matcher
}

/// Whether a stored entry matches.
pub(super) fn matches(facts: &Facts, matcher: &Matcher, view: &View<'_>, id: EntryId) -> Result<bool, ApplyError> {
    with_entry(view, id, |entry| {
        Ok(matcher.matches(facts, entry, Asker::SERVER, &mut FilterScratch::default())? == Truth::True)
    })
}
