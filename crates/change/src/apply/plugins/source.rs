//! Entries that an LDAP URL finds, in the backend that a rule belongs to: whose values are allowed, or taken.

use std::ops::ControlFlow;

use ldap::Scope as SearchScope;
use query::locate::locate;
use store::{EntryId, View};

use super::configured::ValueSource;
use super::lookup::Lookup;
use super::scope::matches;
use crate::apply::error::ApplyError;
use crate::apply::value_set::normal_form;
use crate::apply::work::Work;

/// Where a value is looked for.
struct Asked<'a> {
    /// The entry that is judged, which does not count.
    judged: EntryId,
    lookup: &'a Lookup,
    /// The entry that the URL begins at.
    base: EntryId,
    normal: &'a [u8],
}

impl ValueSource {
    /// The entry that it begins at, if there is one.
    pub(super) fn base_entry(&self, work: &Work<'_, '_>, view: &View<'_>) -> Result<Option<EntryId>, ApplyError> {
        let Some(suffix) = work.rules.suffix_of(&self.base) else { return Ok(None) };
        Ok(locate(view, &suffix.normalized, self.base.as_bytes())?.found())
    }

    /// Whether some entry but the one that is judged has the value. By index where there is one; else the entries of
    /// the scope are read one by one.
    pub(super) fn has(&self, work: &Work<'_, '_>, judged: EntryId, value: &[u8]) -> Result<bool, ApplyError> {
        let view = work.view();
        let Some(base) = self.base_entry(work, &view)? else { return Ok(false) };
        for lookup in &self.attributes {
            let normal = normal_form(Some(lookup.rule), &work.facts.schema, value);
            let asked = Asked { judged, lookup, base, normal: &normal };
            let found = if lookup.is_indexed(&view) {
                self.has_by_index(work, &view, &asked)?
            } else {
                self.has_by_walk(work, &view, &asked)?
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_by_index(&self, work: &Work<'_, '_>, view: &View<'_>, asked: &Asked<'_>) -> Result<bool, ApplyError> {
        const AT_ONCE: usize = 64;
        let mut from = EntryId(0);
        loop {
            let schema = &work.facts.schema;
            let holders = asked.lookup.holders(schema, view, asked.normal, from, AT_ONCE)?;
            for id in holders.iter().filter(|id| **id != asked.judged) {
                if self.is_in_scope(view, asked.base, *id)? && self.matches(work, view, *id)? {
                    return Ok(true);
                }
            }
            match holders.last() {
                Some(last) if holders.len() == AT_ONCE => from = EntryId(last.0 + 1),
                _ => return Ok(false),
            }
        }
    }

    fn has_by_walk(&self, work: &Work<'_, '_>, view: &View<'_>, asked: &Asked<'_>) -> Result<bool, ApplyError> {
        let mut found = Ok(false);
        self.walk(view, asked.base, &mut |id, is_in_scope| {
            let schema = &work.facts.schema;
            let has = || asked.lookup.entry_has(schema, view, id, asked.normal);
            if is_in_scope && id != asked.judged {
                found = has()
                    .map_err(ApplyError::from)
                    .and_then(|has| if has { self.matches(work, view, id) } else { Ok(false) });
            }
            if matches!(found, Ok(false)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        found
    }

    /// Calls `each` with the entries from `base` down that have to be looked at, and whether they are in scope, until
    /// it says stop.
    pub(super) fn walk(
        &self,
        view: &View<'_>,
        base: EntryId,
        each: &mut dyn FnMut(EntryId, bool) -> ControlFlow<()>,
    ) -> Result<(), ApplyError> {
        let goes_below = |depth: usize| match self.scope {
            SearchScope::BaseObject => false,
            SearchScope::SingleLevel => depth == 0,
            SearchScope::WholeSubtree | SearchScope::SubordinateSubtree => true,
        };
        let is_in_scope = |depth: usize| match self.scope {
            SearchScope::BaseObject => depth == 0,
            SearchScope::SingleLevel => depth == 1,
            SearchScope::WholeSubtree => true,
            SearchScope::SubordinateSubtree => depth > 0,
        };
        if each(base, is_in_scope(0)).is_break() {
            return Ok(());
        }
        // The way down: an entry, and which of its children was looked at last.
        let mut way = vec![(base, EntryId::ROOT)];
        loop {
            let depth = way.len();
            let Some((id, done)) = way.last_mut() else { return Ok(()) };
            let child = if goes_below(depth - 1) { view.child_after(*id, *done)? } else { None };
            let Some(child) = child else {
                way.pop();
                continue;
            };
            *done = child;
            if each(child, is_in_scope(depth)).is_break() {
                return Ok(());
            }
            way.push((child, EntryId::ROOT));
        }
    }

    /// Whether an entry matches the filter.
    pub(super) fn matches(&self, work: &Work<'_, '_>, view: &View<'_>, id: EntryId) -> Result<bool, ApplyError> {
        self.filter.as_ref().map_or(Ok(true), |filter| matches(&work.facts, filter, view, id))
    }

    fn is_in_scope(&self, view: &View<'_>, base: EntryId, id: EntryId) -> Result<bool, ApplyError> {
        let parent = |id: EntryId| -> Result<EntryId, ApplyError> {
            let Some(record) = view.entry(id)? else { return Ok(EntryId::ROOT) };
            Ok(record.view()?.parent())
        };
        match self.scope {
            SearchScope::BaseObject => Ok(id == base),
            SearchScope::SingleLevel => Ok(parent(id)? == base),
            _ => {
                let mut at = id;
                let mut is_below = self.scope == SearchScope::WholeSubtree;
                while at != EntryId::ROOT {
                    if at == base && is_below {
                        return Ok(true);
                    }
                    is_below = true;
                    at = parent(at)?;
                }
                Ok(false)
            }
        }
    }
}
