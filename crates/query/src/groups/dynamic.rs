//! Dynamic groups: what a `memberURL` says, prepared, and whether an entry is one of those that it describes.
//!
//! Prepared URLs are kept by their text, so what is kept is never out of date. Which entries are dynamic groups is for
//! [`super`].
//!
//! A host in the URL is not looked at (as in OpenDJ): the members are entries of this server. The filter sees no
//! passwords, and a URL whose filter asks for membership describes nobody: it could depend on itself.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use ldap::{LdapUrl, Scope};
use schema::{MatchContext, NormalizedDn, TypeIndex};
use store::StoreError;

use crate::entry::EntryView;
use crate::facts::Facts;
use crate::filter::{Asker, ItemRights};
use crate::filter::{FilterScratch, Matcher, Truth};
use crate::rights::{ReadRight, Reader};

/// Prepared URLs that are kept.
const URLS_KEPT_MAX: usize = 10_000;

/// A prepared URL.
#[derive(Debug)]
pub struct MemberUrl {
    pub base: NormalizedDn,
    pub scope: Scope,
    pub matcher: Matcher,
    /// The attributes that it lists, as far as the schema has them; none if it lists none.
    pub attributes: Option<Vec<TypeIndex>>,
}

/// Prepared URLs of one schema, by their text. None is kept of a text that describes nobody.
#[derive(Debug, Default)]
struct Kept {
    facts: Option<Arc<Facts>>,
    urls: HashMap<Box<[u8]>, Option<Arc<MemberUrl>>>,
}

/// Prepares URLs, each once.
#[derive(Debug, Default)]
pub struct MemberUrls(ArcSwap<Kept>);

impl MemberUrl {
    /// Prepares a URL; why it describes nobody, in words that follow "its memberURL".
    fn parse(facts: &Facts, text: &[u8], now_unix_seconds: i64) -> Result<MemberUrl, String> {
        let text = std::str::from_utf8(text).map_err(|_| "is not UTF-8".to_owned())?;
        let url = LdapUrl::parse(text).map_err(|error| format!("is no LDAP URL: {error}"))?;
        let base = NormalizedDn::parse(&facts.schema, url.dn.as_bytes()).map_err(|error| error.to_string())?;
        let mut matcher = Matcher::default();
        let always = ldap::FilterBuf::every_entry();
        let filter = url.filter.as_ref().unwrap_or(&always).filter();
        matcher.compile(facts, &filter, MatchContext { now_unix_seconds });
        matcher.leave_out_secrets(facts);
        if matcher.needs_groups() {
            return Err("asks for groups in its filter, which would make membership depend on itself".to_owned());
        }
        let listed = url.attributes.iter().filter_map(|name| facts.schema.attribute_type(name.as_bytes()));
        let attributes = (!url.attributes.is_empty()).then(|| listed.map(|it| it.index).collect());
        Ok(MemberUrl { base, scope: url.scope.unwrap_or(Scope::BaseObject), matcher, attributes })
    }

    /// Whether an entry with that normalized name and parent is in scope.
    pub fn has_in_scope(&self, name: &[u8]) -> bool {
        let Some(below) = name.strip_prefix(self.base.as_bytes()) else { return false };
        let depth = below.iter().filter(|byte| **byte == 0).count();
        match self.scope {
            Scope::BaseObject => depth == 0,
            Scope::SingleLevel => depth == 1,
            Scope::WholeSubtree => true,
            Scope::SubordinateSubtree => depth > 0,
        }
    }

    /// Whether it describes the entry, whose normalized name is `name`: to an asker, as a search of its own would.
    pub fn describes(
        &self,
        facts: &Facts,
        entry: &EntryView<'_>,
        name: &[u8],
        asker: Option<Reader<'_>>,
        scratch: &mut FilterScratch,
    ) -> Result<bool, StoreError> {
        if !self.has_in_scope(name) {
            return Ok(false);
        }
        let truth = match asker {
            None => self.matcher.matches(facts, entry, Asker::SERVER, scratch)?,
            Some(reader) => self.matcher.matches_one(facts, entry, ReadRight::Search, reader.rights)?,
        };
        Ok(truth == Truth::True)
    }

    /// What has to be asked before the filter is tried, where rights depend on the entry.
    pub(super) fn items(&self, reader: Reader<'_>) -> ItemRights {
        ItemRights::of(&self.matcher, reader.facts, ReadRight::Search, reader.rights)
    }

    /// Whether an asker may know that it does not describe the entry, whose normalized name is `name`.
    pub(super) fn may_be_tested(
        &self,
        items: &ItemRights,
        reader: Reader<'_>,
        entry: &EntryView<'_>,
        name: &[u8],
    ) -> Result<bool, StoreError> {
        let Reader { facts, rights } = reader;
        Ok(self.has_in_scope(name) && items.may_assert_all(&self.matcher, facts, rights, ReadRight::Search, entry)?)
    }
}

impl MemberUrls {
    /// The prepared URL; `None` describes nobody, and `told` hears why the first time.
    pub fn get(
        &self,
        facts: &Arc<Facts>,
        text: &[u8],
        now_unix_seconds: i64,
        told: impl FnOnce(String),
    ) -> Option<Arc<MemberUrl>> {
        let kept = self.0.load();
        let is_same = kept.facts.as_ref().is_some_and(|known| Arc::ptr_eq(known, facts));
        if let Some(known) = kept.urls.get(text).filter(|_| is_same) {
            return known.clone();
        }
        let url = match MemberUrl::parse(facts, text, now_unix_seconds) {
            Ok(url) => Some(Arc::new(url)),
            Err(why) => {
                told(why);
                None
            }
        };
        // What depends on the time of day is prepared for each operation.
        if url.as_ref().is_some_and(|url| url.matcher.depends_on_time()) {
            return url;
        }
        let has_room = is_same && kept.urls.len() < URLS_KEPT_MAX;
        let mut urls = if has_room { kept.urls.clone() } else { HashMap::new() };
        urls.insert(text.into(), url.clone());
        // Whoever else stores at the same time wins or loses; what is lost is prepared again.
        self.0.store(Arc::new(Kept { facts: Some(facts.clone()), urls }));
        url
    }
}
