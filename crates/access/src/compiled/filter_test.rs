//! Filters of instructions and URLs, prepared.

use std::sync::Arc;

use ldap::{FilterBuf, LdapUrl, Scope};
use query::entry::EntryView;
use query::facts::Facts;
use query::filter::{Asker, FilterScratch, Matcher, Truth};
use schema::{MatchContext, NormalizedDn, TypeIndex};
use store::StoreError;

/// A prepared filter.
#[derive(Debug)]
pub(crate) struct FilterTest {
    matcher: Matcher,
    /// Of one that means something else tomorrow: prepared again for each entry.
    source: Option<FilterBuf>,
}

impl FilterTest {
    pub fn of(facts: &Facts, filter: &FilterBuf) -> FilterTest {
        let matcher = prepared(facts, filter, 0);
        let source = matcher.depends_on_time().then(|| filter.clone());
        FilterTest { matcher, source }
    }

    /// Whether the entry must come with its name.
    pub fn needs_dn(&self) -> bool {
        self.matcher.needs_dn()
    }

    /// Whether an entry matches, as it is shown.
    pub fn matches(
        &self,
        facts: &Facts,
        entry: &EntryView<'_>,
        now_unix_seconds: i64,
        scratch: &mut FilterScratch,
    ) -> Result<Truth, StoreError> {
        match &self.source {
            None => self.matcher.matches(facts, entry, Asker::SERVER, scratch),
            Some(source) => prepared(facts, source, now_unix_seconds).matches(facts, entry, Asker::SERVER, scratch),
        }
    }

    /// Whether one value of an attribute matches.
    pub fn matches_value(&self, facts: &Facts, attribute: TypeIndex, value: &[u8]) -> bool {
        self.matcher.matches_single(facts, attribute, value) == Truth::True
    }
}

fn prepared(facts: &Facts, filter: &FilterBuf, now_unix_seconds: i64) -> Matcher {
    let mut matcher = Matcher::default();
    matcher.compile(facts, &filter.filter(), MatchContext { now_unix_seconds });
    matcher.take_undefined_for_false();
    matcher.settle_forms(facts);
    matcher
}

/// A URL that finds users.
#[derive(Debug)]
pub(crate) struct UrlTest {
    base: NormalizedDn,
    scope: Scope,
    filter: Option<FilterTest>,
}

impl UrlTest {
    /// None when the URL finds nobody.
    pub fn of(facts: &Facts, url: &LdapUrl) -> Option<UrlTest> {
        let base = NormalizedDn::parse(&facts.schema, url.dn.as_bytes()).ok()?;
        let filter = url.filter.as_ref().map(|filter| FilterTest::of(facts, filter));
        Some(UrlTest { base, scope: url.scope.unwrap_or(Scope::BaseObject), filter })
    }

    /// Whether it finds the entry, whose normalized name is `name`.
    pub fn finds(
        &self,
        facts: &Facts,
        name: &[u8],
        entry: &EntryView<'_>,
        now_unix_seconds: i64,
    ) -> Result<bool, StoreError> {
        let Some(below) = name.strip_prefix(self.base.as_bytes()) else { return Ok(false) };
        let depth = below.iter().filter(|byte| **byte == 0).count();
        let is_in_scope = match self.scope {
            Scope::BaseObject => depth == 0,
            Scope::SingleLevel => depth == 1,
            Scope::WholeSubtree => true,
            Scope::SubordinateSubtree => depth > 0,
        };
        match &self.filter {
            _ if !is_in_scope => Ok(false),
            None => Ok(true),
            Some(filter) => {
                let truth = filter.matches(facts, entry, now_unix_seconds, &mut FilterScratch::default())?;
                Ok(truth == Truth::True)
            }
        }
    }
}

/// The URL of a value, if it is one.
pub(crate) fn url_of_value(facts: &Facts, value: &[u8]) -> Option<Arc<UrlTest>> {
    let url = LdapUrl::parse(std::str::from_utf8(value).ok()?).ok()?;
    UrlTest::of(facts, &url).map(Arc::new)
}
