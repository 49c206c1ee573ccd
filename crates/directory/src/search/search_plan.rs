//! A search that may be run: everything that was decided about it, and its candidates.

use std::sync::Arc;

use ldap::{LdapResult, ResultCode};
use smallvec::SmallVec;

use query::backend::Backend;
use query::encode::Selection;
use query::facts::Facts;
use query::filter::Matcher;
use query::filter::{Asker, ItemRights};
use query::read_moment::{ReadContext, ReadMoment};
use query::rights::{Answer, ReadRight, ReadRights};
use query::synthetic::SyntheticEntry;

use crate::own::ChangeScan;

use super::account_usability::UsabilityAsked;
use super::advice::Costly;
use super::arrangement::Arrangement;
use super::dereference::Dereferencing;
use super::effective_rights::EffectiveRights;
use super::explanation::Explanation;
use super::kept_rights::KeptRights;
use super::limits::Limits;
use super::part::Part;
use super::persistent_state::Persistent;
use super::visible::Visibility;

/// Candidates that an event loop may look at before it serves others; more go to the pool. About 200 µs of work.
const LONG_CANDIDATES: u64 = 200;

/// A search that may be run.
#[derive(Default)]
pub struct SearchPlan {
    pub(super) facts: Option<Arc<Facts>>,
    pub(super) backends: Option<Arc<[Backend]>>,
    pub(super) matcher: Matcher,
    /// Which of the filter's assertions the asker may not make of every entry.
    pub(super) items: ItemRights,
    /// The filter that is planned, where the asker may not make some assertion of any entry.
    pub(super) allowed: Option<Box<Matcher>>,
    pub(super) selection: Selection,
    pub(super) rights: KeptRights,
    /// Which entries show to the asker.
    pub(super) shows: Answer,
    /// The answer where nothing is sent, because the base does not show.
    pub(super) hidden_base: Option<Box<LdapResult>>,
    /// What the result would have been where that was told instead.
    pub(super) masked: Option<ResultCode>,
    pub(super) visibility: Visibility,
    pub(super) parts: SmallVec<[Part; 1]>,
    pub(super) synthetic: Vec<Arc<SyntheticEntry>>,
    /// Changes to be looked at, when the base is the changelog.
    pub(super) changes: Option<Box<ChangeScan>>,
    pub(super) limits: Limits,
    pub(super) unindexed: bool,
    pub(super) now_unix_seconds: i64,
    /// What groups are asked with, when the filter or the attributes ask for them.
    pub(super) groups: Option<Asking>,
    /// Kept only when the search may turn out to be worth [`advice`].
    pub(super) costly: Option<Box<Costly>>,
    /// Pages and order, when a control asks for them.
    pub(super) arrangement: Option<Box<Arrangement>>,
    /// What the planner did in each part, when the client wants to know that instead of entries.
    pub(super) explanations: Option<Vec<Explanation>>,
    /// Which entries that others name are shown with them.
    pub(super) dereferencing: Option<Box<Dereferencing>>,
    /// Whether accounts could be used is told with their entries.
    pub(super) usability: Option<UsabilityAsked>,
    /// Whose rights to entries are shown with them.
    pub(super) effective_rights: Option<Box<EffectiveRights>>,
    /// What is to be told when it has been run, when changes are to be told as they come.
    pub(super) persistent: Option<Box<Persistent>>,
}

/// With what a search asks for groups, and for what entries are given.
#[derive(Clone)]
pub(super) struct Asking {
    pub(super) context: ReadContext,
    pub(super) now_unix_seconds: i64,
    /// What one entry costs depends on how many groups it is in.
    pub(super) is_long: bool,
}

impl SearchPlan {
    /// Whether it belongs on another thread than the event loop's.
    #[must_use]
    pub fn is_long(&self) -> bool {
        let follows_groups = self.groups.as_ref().is_some_and(|asking| asking.is_long);
        self.changes.is_some() || self.parts.len() > 1 || self.candidate_count() > LONG_CANDIDATES || follows_groups
    }

    /// Candidates of all bases; everything counts as very many.
    pub(super) fn candidate_count(&self) -> u64 {
        let count = |part: &Part| match &part.members {
            Some(members) => members.count(),
            None => part.candidates.count().unwrap_or(u64::MAX),
        };
        self.parts.iter().map(count).fold(0, u64::saturating_add)
    }

    /// Whether no index answers the filter.
    #[must_use]
    pub fn is_unindexed(&self) -> bool {
        self.unindexed
    }

    /// Whether changes are to be told when it has been run.
    #[must_use]
    pub fn is_persistent(&self) -> bool {
        self.persistent.is_some()
    }

    /// Lets go of the snapshots it was planned on, because it has to wait before it is run: ids are stable, and every
    /// entry is checked again.
    pub fn release_snapshots(&mut self) {
        for part in &mut self.parts {
            part.snapshot = None;
        }
    }

    /// Whether the rights that it was planned by are those of the moments that it was planned on.
    pub(super) fn has_rights_of_its_snapshots(&self) -> bool {
        let is_of = |part: &Part| match &part.snapshot {
            Some(snapshot) => self.rights.are_of(part.backend, snapshot),
            None => true,
        };
        self.parts.iter().all(is_of)
    }

    /// Who asks, for the filter.
    pub(super) fn asker<'a>(&'a self, rights: &'a dyn ReadRights) -> Asker<'a> {
        Asker { rights, right: ReadRight::Search, items: &self.items }
    }

    /// The filter as the planner takes it: without what the asker may not ask.
    pub(super) fn plannable(&self) -> &Matcher {
        self.allowed.as_deref().unwrap_or(&self.matcher)
    }

    /// What entries show from now on beyond their records; none when nobody asks.
    pub(super) fn moment(&self) -> Option<ReadMoment> {
        match (&self.groups, &self.facts) {
            (Some(asking), Some(facts)) => {
                Some(asking.context.moment(facts, asking.now_unix_seconds).within(self.limits.lookthrough))
            }
            _ => None,
        }
    }

    pub(super) fn clear(&mut self) {
        self.facts = None;
        self.backends = None;
        self.items = ItemRights::default();
        self.allowed = None;
        self.parts.clear();
        self.synthetic.clear();
        self.changes = None;
        self.unindexed = false;
        self.costly = None;
        self.groups = None;
        self.arrangement = None;
        self.explanations = None;
        self.persistent = None;
        self.dereferencing = None;
        self.usability = None;
        self.effective_rights = None;
        self.visibility = Visibility::default();
        self.rights = KeptRights::default();
        self.shows = Answer::default();
        self.hidden_base = None;
        self.masked = None;
    }
}
