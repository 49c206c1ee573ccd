//! What one thread keeps between searches: buffers, and what it knows of each backend.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use ldap::LdapResult;
use schema::NormalizedDn;
use store::{EntryId, Snapshot, StoreError};

use query::answers::Answers;
use query::backend::{Backend, BackendIndex};
use query::class_flags::ClassFlags;
use query::error;
use query::facts::{ClassFlagTable, Facts};
use query::filter::FilterScratch;
use query::parent_names::ParentNames;

use super::search_plan::SearchPlan;

/// What one thread keeps between operations so that none of them allocates. One per event loop and per pool thread.
#[derive(Default)]
pub struct Worker {
    pub(super) backends: Vec<WorkerBackend>,
    pub(super) filter: FilterScratch,
    pub(super) values: Vec<u8>,
    pub(super) ids: Vec<EntryId>,
    pub(super) base: NormalizedDn,
    /// The text that `base` is the normal form of, and the schema under which it is.
    pub(super) base_text: Vec<u8>,
    pub(super) base_facts: Option<Arc<Facts>>,
    /// Plans to be used again.
    #[allow(clippy::vec_box, reason = "a plan is large, and handed out as a box")]
    pub(super) plans: Vec<Box<SearchPlan>>,
}

/// What a thread knows of one backend.
#[derive(Debug, Default)]
pub(super) struct WorkerBackend {
    pub(super) names: ParentNames,
    pub(super) classes: ClassFlagTable,
    /// The schema that `classes` was found out under.
    pub(super) facts: Option<Arc<Facts>>,
    /// The last base of a search here.
    pub(super) base: Option<KnownBase>,
    /// The entry of the only suffix, and the generation of the tree in which it was.
    pub(super) suffix_entry: Option<EntryId>,
    pub(super) suffix_generation: Option<u64>,
}

#[derive(Debug)]
pub(super) struct KnownBase {
    pub(super) dn: Vec<u8>,
    pub(super) id: EntryId,
    pub(super) generation: u64,
    /// The change after which it was last seen.
    pub(super) seq: u64,
}

/// Plans kept for reuse by one thread: pipelined requests are planned and run one after the other.
const PLANS_KEPT: usize = 4;

/// A worker, for as long as it works on the search of one asker.
pub(super) struct WorkerFor<'w> {
    pub(super) worker: &'w mut Worker,
    /// The answers for the asker.
    pub(super) rights: Answers,
}

impl Deref for WorkerFor<'_> {
    type Target = Worker;

    fn deref(&self) -> &Worker {
        self.worker
    }
}

impl DerefMut for WorkerFor<'_> {
    fn deref_mut(&mut self) -> &mut Worker {
        self.worker
    }
}

impl Worker {
    /// Takes a plan that has been run, to use its buffers again.
    pub fn recycle(&mut self, mut plan: Box<SearchPlan>) {
        if self.plans.len() < PLANS_KEPT {
            plan.clear();
            self.plans.push(plan);
        }
    }

    /// Sets `base` to the normal form of `text`; nothing to do when it is the last request's again, as it mostly is.
    pub(super) fn take_base(&mut self, facts: &Arc<Facts>, text: &[u8]) -> Result<(), LdapResult> {
        let is_same_schema = self.base_facts.as_ref().is_some_and(|known| Arc::ptr_eq(known, facts));
        if is_same_schema && self.base_text == text {
            return Ok(());
        }
        self.base_facts = None;
        self.base.parse_into(&facts.schema, text).map_err(|problem| error::invalid_dn(text, problem))?;
        self.base_text.clear();
        self.base_text.extend_from_slice(text);
        self.base_facts = Some(facts.clone());
        Ok(())
    }

    pub(super) fn backend(&mut self, BackendIndex(at): BackendIndex) -> &mut WorkerBackend {
        if self.backends.len() <= at {
            self.backends.resize_with(at + 1, WorkerBackend::default);
        }
        // Invariant: the list was just made long enough.
        &mut self.backends[at]
    }
}

impl WorkerBackend {
    /// Brings what is kept up to the schema and the tree of this moment.
    pub(super) fn refresh(&mut self, facts: &Arc<Facts>, snapshot: &Snapshot) {
        if !self.facts.as_ref().is_some_and(|known| Arc::ptr_eq(known, facts)) {
            self.classes.clear();
            self.base = None;
            self.facts = Some(facts.clone());
        }
        self.classes.refresh(facts, snapshot.tables());
        self.names.keep_if(snapshot.tree_generation());
    }

    /// Finds the base entry of a backend that has but one: below it is everything, and scope needs no look at the tree.
    pub(super) fn find_suffix_entry(&mut self, backend: &Backend, snapshot: &Snapshot) -> Result<(), StoreError> {
        let generation = snapshot.tree_generation();
        if self.suffix_generation != Some(generation) {
            self.suffix_entry = match backend.suffixes.as_slice() {
                [only] => only.top(&snapshot.view())?,
                _ => None,
            };
            self.suffix_generation = Some(generation);
        }
        Ok(())
    }

    pub(super) fn known_base(
        &mut self,
        facts: &Arc<Facts>,
        snapshot: &Snapshot,
        dn: &[u8],
    ) -> Result<Option<EntryId>, StoreError> {
        self.refresh(facts, snapshot);
        let Some(base) = &mut self.base else { return Ok(None) };
        let is_same = base.dn == dn && base.generation == snapshot.tree_generation();
        // Where there are referrals or aliases, one may have come to stand on the way.
        if !is_same || self.classes.any(ClassFlags::REFERRAL.with(ClassFlags::ALIAS)) {
            return Ok(None);
        }
        // Nothing was changed since it was seen, or it is looked for again.
        if base.seq != snapshot.seq() {
            if snapshot.entry(base.id)?.is_none() {
                return Ok(None);
            }
            base.seq = snapshot.seq();
        }
        Ok(Some(base.id))
    }
}
