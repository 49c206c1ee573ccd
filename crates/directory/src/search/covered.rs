//! What the parts of a search that are done have covered, so that an entry below several bases is sent once.
//!
//! Told by place, not by a list of what was sent: memory does not grow with the result, and the next page of a paged
//! search knows the same without being told.

use std::collections::HashSet;

use ldap::Scope;
use store::{EntryId, StoreError, View};

use query::backend::BackendIndex;
use query::parent_names::ParentNames;

/// Bases that have been searched.
#[derive(Debug, Default)]
pub(super) struct Covered {
    /// These entries.
    own: HashSet<(BackendIndex, EntryId)>,
    /// Everything right below these.
    children: HashSet<(BackendIndex, EntryId)>,
    /// Everything below these.
    below: HashSet<(BackendIndex, EntryId)>,
}

impl Covered {
    /// A part is done.
    pub(super) fn add(&mut self, backend: BackendIndex, base: EntryId, scope: Scope) {
        let base = (backend, base);
        if matches!(scope, Scope::BaseObject | Scope::WholeSubtree) {
            self.own.insert(base);
        }
        match scope {
            Scope::BaseObject => {}
            Scope::SingleLevel => drop(self.children.insert(base)),
            Scope::WholeSubtree | Scope::SubordinateSubtree => drop(self.below.insert(base)),
        }
    }

    /// Whether the entry `id` below `parent` was in scope of one of them.
    pub(super) fn has(
        &self,
        backend: BackendIndex,
        view: &View<'_>,
        id: EntryId,
        parent: EntryId,
        names: &mut ParentNames,
    ) -> Result<bool, StoreError> {
        if self.own.contains(&(backend, id)) || self.children.contains(&(backend, parent)) {
            return Ok(true);
        }
        Ok(!self.below.is_empty() && names.any_above(view, parent, |above| self.below.contains(&(backend, above)))?)
    }
}
