//! One base of a search in one backend, with its candidates.

use std::sync::Arc;

use ldap::Scope;
use store::{EntryId, Snapshot};

use query::backend::BackendIndex;
use query::computed::{Definitions, Program};
use query::groups::MemberPlan;
use query::id_set::IdSet;
use query::plan::{Branch, Candidates};

/// One base in one backend.
pub(super) struct Part {
    pub(super) backend: BackendIndex,
    pub(super) base: EntryId,
    pub(super) scope: Scope,
    pub(super) candidates: Candidates,
    /// Candidates that following groups will find, when they are fewer. They are looked up when the part is run.
    pub(super) members: Option<Box<MemberPlan>>,
    /// Whoever is among the candidates matches the filter, after the change `seq`.
    pub(super) is_exact: bool,
    /// The last change that the plan knows of.
    pub(super) seq: u64,
    /// Everything in the backend is in scope.
    pub(super) is_everything: bool,
    /// What entries are given at the moment of `snapshot`, if something is asked for that they are given.
    pub(super) definitions: Option<Arc<Definitions>>,
    /// The filter that was planned, where that is not the filter that was asked.
    pub(super) program: Option<Box<Program>>,
    /// Referral objects in scope, which the filter does not say anything about; only with [`Candidates`] from an index.
    pub(super) referrals: IdSet,
    /// The moment at which it was planned, and is run if it is run soon.
    pub(super) snapshot: Option<Snapshot>,
}

impl Part {
    pub(super) fn branch(&self) -> Branch {
        Branch { base: self.base, scope: self.scope, is_everything: self.is_everything }
    }
}
