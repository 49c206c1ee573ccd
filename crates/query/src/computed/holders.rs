//! The entries that have stored a value that passes an assertion, by the indexes of a backend.

use ldap::Scope;
use store::{EntryId, StoreError};

use super::definition::ComputedAssertion;
use super::entries_at::EntriesAt;
use crate::backend::BackendIndex;
use crate::filter::{Item, Matcher, Target};
use crate::id_set::IdSet;
use crate::plan::{Branch, Candidates, Narrowed, scoped_candidates, whole};

/// The entries of a backend whose stored values of an attribute may pass an assertion on it; `None` when no index
/// tells, or they are more than `max`.
pub(super) fn holders(
    at: &EntriesAt<'_>,
    backend: BackendIndex,
    wanted: &ComputedAssertion<'_>,
    max: u64,
) -> Result<Option<IdSet>, StoreError> {
    let mut one = Matcher::default();
    one.push_copy_of(wanted.matcher, &Item { target: Target::Type(wanted.attribute), ..wanted.item.clone() });
    let groups = at.groups();
    let Some(known) = groups.backends().get(backend.0) else { return Ok(None) };
    let view = groups.view_of(backend)?;
    let branch = Branch { base: EntryId::ROOT, scope: Scope::WholeSubtree, is_everything: true };
    let Narrowed { found, is_unindexed } = scoped_candidates(&one, at.facts(), known, &view, branch, None)?;
    Ok(match found.candidates {
        Candidates::Set(set) if !is_unindexed && set.len() <= max => Some(set),
        Candidates::List { key, count } if !is_unindexed && count <= max => Some(whole(&view.postings(&key)?)?),
        _ => None,
    })
}
