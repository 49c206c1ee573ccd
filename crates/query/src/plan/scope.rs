//! What the scope of a search does for its candidates: nothing when they are few, its own entries when they are fewer.
//!
//! The filter's candidates come from the planner; what is found here is still checked against scope, entry by entry.

use std::time::Instant;

use ldap::Scope;
use schema::NormalizedDn;
use store::{EntryId, IndexKey, StoreError, View};

use super::candidates::{Candidates, FEW_CANDIDATES, Found, RANGE_IDS_MAX, common, whole};
use super::cost;
use super::planner::Planner;
use super::trace::{Count, Reason, ScopeStep, Trace};
use crate::backend::Backend;
use crate::facts::Facts;
use crate::filter::Matcher;
use crate::id_set::IdSet;
use crate::locate::locate;

/// From so many candidates on, the entries of a subtree are collected to see whether they are fewer.
const COLLECT_MIN: u64 = 100;

/// The base of a search, and how far below it reaches.
#[derive(Clone, Copy)]
pub struct Branch {
    /// The entry where it begins.
    pub base: EntryId,
    /// How far it reaches.
    pub scope: Scope,
    /// Everything in the backend is in scope.
    pub is_everything: bool,
}

/// Whether the entry `dn` is in the scope of a search with that base.
pub fn covers(base: &NormalizedDn, scope: Scope, dn: &NormalizedDn) -> bool {
    match scope {
        Scope::BaseObject => dn == base,
        Scope::SingleLevel => {
            let below = dn.as_bytes().len().checked_sub(base.as_bytes().len());
            base.is_ancestor_of(dn) && below == dn.rdn().map(|rdn| rdn.as_bytes().len() + 1)
        }
        Scope::WholeSubtree => base.is_ancestor_or_equal(dn),
        Scope::SubordinateSubtree => base.is_ancestor_of(dn),
    }
}

/// What the indexes say about filter and scope together.
pub struct Narrowed {
    /// What they say.
    pub found: Found,
    /// The search counts as unindexed.
    pub is_unindexed: bool,
}

/// Plans filter and scope.
pub fn scoped_candidates(
    matcher: &Matcher,
    facts: &Facts,
    backend: &Backend,
    view: &View<'_>,
    branch: Branch,
    mut trace: Option<&mut Trace>,
) -> Result<Narrowed, StoreError> {
    if branch.scope == Scope::BaseObject {
        let found = Found { candidates: Candidates::Set(IdSet::one(branch.base)), is_exact: false };
        return Ok(Narrowed { found, is_unindexed: false });
    }
    let resolve = |dn: &[u8]| match backend.suffix_of(dn) {
        Some(suffix) => Ok(locate(view, &suffix.normalized, dn)?.found()),
        None => Ok(None),
    };
    let trace_of_filter = trace.as_deref_mut();
    let mut planner = Planner { view: *view, facts, matcher, resolve: &resolve, trace: trace_of_filter };
    let found = planner.plan()?;
    if let Some(trace) = trace.as_deref_mut() {
        trace.last = Some(Count::from(&found.candidates));
    }
    if found.candidates.count().is_some_and(|count| count <= FEW_CANDIDATES) {
        return Ok(Narrowed { found, is_unindexed: false });
    }
    let limit = match backend.entry_limit() {
        0 => RANGE_IDS_MAX,
        limit => limit.min(RANGE_IDS_MAX),
    };
    let started = trace.as_ref().map(|_| Instant::now());
    let (narrowed, mut step) = match branch.scope {
        Scope::SingleLevel => by_children(found, view, branch.base, limit)?,
        _ => by_subtree(found, view, branch, limit)?,
    };
    if let Some(trace) = trace {
        step.elapsed = started.map(|started| started.elapsed()).unwrap_or_default();
        trace.last = Some(if narrowed.is_unindexed { Count::NotIndexed } else { step.retained });
        trace.scope = Some(step);
    }
    Ok(narrowed)
}

fn step(candidates: Count, retained: &Candidates, estimate: u64, reason: Option<Reason>) -> ScopeStep {
    let elapsed = std::time::Duration::ZERO;
    ScopeStep { candidates, retained: Count::from(retained), estimate, elapsed, reason }
}

/// One level is a list that is there anyway.
fn by_children(found: Found, view: &View<'_>, base: EntryId, limit: u64) -> Result<(Narrowed, ScopeStep), StoreError> {
    let key = IndexKey::children(base);
    let list = view.postings(&key)?;
    let children = list.count();
    let Some(count) = found.candidates.count() else {
        // However many they are, looking at them costs less than looking at everything.
        let is_unindexed = children > limit;
        let reason = is_unindexed.then_some(Reason::ScopeOverLimit { limit });
        let candidates = Candidates::List { key, count: children };
        let said = if is_unindexed { Count::NotIndexed } else { Count::Known(children) };
        let step = step(said, if is_unindexed { &found.candidates } else { &candidates }, cost::KEY, reason);
        return Ok((Narrowed { found: Found { candidates, ..found }, is_unindexed }, step));
    };
    let is_over = children > limit;
    if is_over || !cost::is_worth(count, children, view.entry_count()?) {
        let reason = if is_over { Reason::ScopeOverLimit { limit } } else { Reason::Cheaper };
        let step = step(Count::NotIndexed, &found.candidates, cost::KEY, Some(reason));
        return Ok((Narrowed { found, is_unindexed: false }, step));
    }
    let both = match &found.candidates {
        Candidates::Set(set) => common(&list, set)?,
        // The shorter of the two lists is read, the other one asked.
        Candidates::List { key, .. } if children < count => common(&view.postings(key)?, &whole(&list)?)?,
        Candidates::List { key, .. } => common(&list, &whole(&view.postings(key)?)?)?,
        Candidates::Unindexed { .. } => whole(&list)?,
    };
    let estimate = cost::KEY + cost::of_common(count, children, u64::MAX);
    let candidates = Candidates::Set(both);
    let step = step(Count::Known(children), &candidates, estimate, None);
    Ok((Narrowed { found: Found { candidates, ..found }, is_unindexed: false }, step))
}

/// A subtree has to be collected. That is done if it takes much less time than looking at the candidates, or if they
/// are all entries.
fn by_subtree(found: Found, view: &View<'_>, branch: Branch, limit: u64) -> Result<(Narrowed, ScopeStep), StoreError> {
    let count = found.candidates.count();
    let is_unindexed = count.is_none();
    let collect_max = match count {
        None => limit,
        Some(count) if count < COLLECT_MIN => 0,
        Some(count) => limit.min(count / 4),
    };
    if branch.is_everything && is_unindexed && view.entry_count()? <= limit {
        let candidates = Candidates::List { key: IndexKey::all(), count: view.entry_count()? };
        let step = step(Count::from(&candidates), &candidates, cost::KEY, None);
        return Ok((Narrowed { found: Found { candidates, ..found }, is_unindexed: false }, step));
    }
    let reason = if branch.is_everything {
        Some(Reason::ScopeIsAll)
    } else if collect_max == 0 {
        Some(Reason::Cheaper)
    } else {
        None
    };
    let mut left = collect_max;
    let collected = if reason.is_none() { subtree(view, branch.base, &mut left)? } else { None };
    let Some(all) = collected else {
        let reason = reason.unwrap_or(Reason::ScopeOverLimit { limit: collect_max });
        let step = step(Count::NotIndexed, &found.candidates, cost::KEY, Some(reason));
        return Ok((Narrowed { found, is_unindexed }, step));
    };
    let size = all.len();
    let both = match &found.candidates {
        Candidates::Unindexed { .. } => all,
        Candidates::List { key, .. } => common(&view.postings(key)?, &all)?,
        Candidates::Set(set) => {
            let mut both = all;
            both.and(set);
            both
        }
    };
    let candidates = Candidates::Set(both);
    let step = step(Count::Known(size), &candidates, size.saturating_mul(cost::KEY + cost::ID), None);
    Ok((Narrowed { found: Found { candidates, ..found }, is_unindexed: false }, step))
}

/// The base and all entries below it, if they are at most `left`; from that goes what was looked at, also where they
/// are more.
pub fn subtree(view: &View<'_>, base: EntryId, left: &mut u64) -> Result<Option<IdSet>, StoreError> {
    *left = left.saturating_sub(1);
    // The root of the tree is no entry.
    let mut all = if base == EntryId::ROOT { IdSet::default() } else { IdSet::one(base) };
    let mut open = vec![base];
    while let Some(id) = open.pop() {
        let children = view.children(id)?;
        let Some(rest) = left.checked_sub(children.count()) else { return Ok(None) };
        *left = rest;
        for child in children.iter() {
            all.insert(child);
            open.push(child);
        }
    }
    Ok(Some(all))
}
