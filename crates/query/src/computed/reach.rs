//! Which entries a definition holds for: below some names, down to some depth, without some branches, of some groups,
//! and matching a filter (RFC 3672: a subtree specification; OpenDJ: base-dn, scope, group-dn, filter).
//!
//! Invariants: (1) What an entry has stored decides, never what it is given: definitions cannot depend on themselves.
//! (2) Subentries are given nothing (X.501 §14.1: they are not part of what they administer).

use std::rc::Rc;
use std::sync::Arc;

use ldap::Scope;
use schema::{MatchContext, NormalizedDn};
use smallvec::SmallVec;
use store::{EntryId, StoreError};

use super::entries_at::EntriesAt;
use crate::class_flags::ClassFlags;
use crate::entry::EntryView;
use crate::facts::Facts;
use crate::filter::{FilterScratch, Matcher};

/// See the module.
#[derive(Debug, Clone)]
pub struct Reach {
    /// At and below one of these; everywhere when there are none.
    pub bases: Vec<NormalizedDn>,
    /// Which entries below a base.
    pub scope: Scope,
    /// RDNs below the base from which on entries are in reach (RFC 3672: `minimum`).
    pub minimum: usize,
    /// RDNs below the base up to which they are (`maximum`).
    pub maximum: Option<usize>,
    /// Branches that are not in reach (`specificExclusions`).
    pub excluded: Vec<Excluded>,
    /// Members of one of these groups; anybody when there are none.
    pub groups: Vec<NormalizedDn>,
    filter: Option<Arc<Matcher>>,
}

/// A branch out of reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excluded {
    /// Its top.
    pub base: NormalizedDn,
    /// Whether the top is in reach itself (`chopAfter`), or not (`chopBefore`).
    pub keeps_top: bool,
}

/// A reach with its names looked up in one backend at one moment.
#[derive(Debug)]
pub struct Resolved {
    /// Everything, without a look at the tree.
    is_everything: bool,
    /// Tops of what is in reach, with how many RDNs they are below their base.
    roots: SmallVec<[(EntryId, usize); 1]>,
    excluded: SmallVec<[(EntryId, bool); 1]>,
}

impl Resolved {
    /// The only entry that everything in reach is at or below, unless that is everything there is.
    pub(super) fn only_root(&self) -> Option<EntryId> {
        match self.roots.as_slice() {
            [(root, _)] if !self.is_everything => Some(*root),
            _ => None,
        }
    }
}

impl Reach {
    /// All entries at and below `bases`.
    #[must_use]
    pub fn below(bases: Vec<NormalizedDn>) -> Reach {
        Reach {
            bases,
            scope: Scope::WholeSubtree,
            minimum: 0,
            maximum: None,
            excluded: Vec::new(),
            groups: Vec::new(),
            filter: None,
        }
    }

    /// Only entries that match, see [`filter_on_stored`].
    ///
    /// # Errors
    /// Why it cannot decide, in words.
    pub fn set_filter(&mut self, facts: &Facts, text: &str) -> Result<(), String> {
        let matcher = filter_on_stored(facts, text)?;
        self.filter = (!matcher.is_always_true(facts)).then(|| Arc::new(matcher));
        Ok(())
    }

    /// What entries have to match.
    #[must_use]
    pub fn filter(&self) -> Option<&Matcher> {
        self.filter.as_deref()
    }

    /// Whether a name is at or below one of the bases, whatever else is asked of the entry.
    #[must_use]
    pub fn is_below_base(&self, name: &NormalizedDn) -> bool {
        self.bases.is_empty() || self.bases.iter().any(|base| base.is_ancestor_or_equal(name))
    }

    /// Whether groups are followed to decide.
    #[must_use]
    pub fn is_costly(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Looks the names up.
    pub(crate) fn resolve(&self, at: &EntriesAt<'_>) -> Result<Resolved, StoreError> {
        let mut resolved = Resolved { is_everything: false, roots: SmallVec::new(), excluded: SmallVec::new() };
        let is_whole = self.scope == Scope::WholeSubtree && self.minimum == 0 && self.maximum.is_none();
        let is_above = |suffix: &NormalizedDn| {
            self.bases.is_empty() || self.bases.iter().any(|base| base.is_ancestor_or_equal(suffix))
        };
        let suffixes = at.suffixes();
        if is_whole && self.excluded.is_empty() && suffixes.iter().all(|suffix| is_above(&suffix.normalized)) {
            resolved.is_everything = true;
            return Ok(resolved);
        }
        let everywhere = [NormalizedDn::root()];
        let bases = if self.bases.is_empty() { &everywhere[..] } else { &self.bases };
        for base in bases {
            resolved.roots.extend(tops(at, base)?);
        }
        for excluded in &self.excluded {
            // Of a suffix below the top the base entry goes too.
            let own = |(id, below)| (id, excluded.keeps_top && below == 0);
            resolved.excluded.extend(tops(at, &excluded.base)?.into_iter().map(own));
        }
        Ok(resolved)
    }

    /// Whether an entry is in reach.
    pub(crate) fn has(
        &self,
        at: &EntriesAt<'_>,
        resolved: &Rc<Resolved>,
        entry: &EntryView<'_>,
        scratch: &mut FilterScratch,
    ) -> Result<bool, StoreError> {
        if at.class_flags(&entry.record).has(ClassFlags::SUBENTRY) || !self.is_placed(at, resolved, entry)? {
            return Ok(false);
        }
        if let Some(filter) = self.filter()
            && !at.matches_stored(entry, filter, scratch)?
        {
            return Ok(false);
        }
        for group in &self.groups {
            if at.is_in_group(entry, group)? {
                return Ok(true);
            }
        }
        Ok(self.groups.is_empty())
    }

    fn is_placed(&self, at: &EntriesAt<'_>, resolved: &Resolved, entry: &EntryView<'_>) -> Result<bool, StoreError> {
        if resolved.is_everything {
            return Ok(true);
        }
        let mut is_below = false;
        for (root, offset) in &resolved.roots {
            let depth = at.depth_below(entry, *root)?.map(|depth| depth + offset);
            is_below |= depth.is_some_and(|depth| {
                let is_in_scope = match self.scope {
                    Scope::BaseObject => depth == 0,
                    Scope::SingleLevel => depth == 1,
                    Scope::WholeSubtree => true,
                    Scope::SubordinateSubtree => depth > 0,
                };
                is_in_scope && depth >= self.minimum && self.maximum.is_none_or(|maximum| depth <= maximum)
            });
        }
        if !is_below {
            return Ok(false);
        }
        for (top, keeps_top) in &resolved.excluded {
            if let Some(depth) = at.depth_below(entry, *top)?
                && (depth > 0 || !keeps_top)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Where what is at and below a name begins in the tree, with how many RDNs that is below the name: at its entry, and
/// at each suffix of the own backend below it, whose base entries are below no other.
fn tops(at: &EntriesAt<'_>, name: &NormalizedDn) -> Result<SmallVec<[(EntryId, usize); 1]>, StoreError> {
    let mut tops = SmallVec::new();
    tops.extend(at.locate_here(name)?.map(|id| (id, 0)));
    for suffix in at.suffixes().iter().filter(|suffix| name.is_ancestor_of(&suffix.normalized)) {
        let below = suffix.normalized.len() - name.len();
        tops.extend(at.locate_here(&suffix.normalized)?.map(|id| (id, below)));
    }
    Ok(tops)
}

/// A filter that decides by what entries have stored. Passwords match nothing: who makes definitions may not be who may
/// read them.
///
/// # Errors
/// Why it cannot decide, in words.
pub(super) fn filter_on_stored(facts: &Facts, text: &str) -> Result<Matcher, String> {
    let parsed = ldap::filter::parse(text).map_err(|problem| format!("{text} is no filter: {problem}"))?;
    let mut matcher = Matcher::default();
    matcher.compile(facts, &parsed.filter(), MatchContext::default());
    matcher.leave_out_secrets(facts);
    if matcher.needs_groups() {
        return Err(format!("the filter {text} asks for groups, but only what is stored decides"));
    }
    if matcher.depends_on_time() {
        return Err(format!("the filter {text} depends on the time of day"));
    }
    Ok(matcher)
}
