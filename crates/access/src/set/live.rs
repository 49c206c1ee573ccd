//! The sets of all backends, each as of any moment that is asked for.
//!
//! A set is made of the one before by what changed between; some are kept, because snapshots of several moments are in
//! use at the same time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use query::backend::{Backend, BackendIndex};
use query::facts::Facts;
use query::notices::{NoticeKind, Notices};
use store::{StoreError, View};

use super::aci_set::{AciSet, Loading};
use super::proposed::ProposedInstructions;

/// Sets of one backend that are kept.
const KEPT_MAX: usize = 8;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct LiveSets {
    backends: Box<[Live]>,
    /// What is proposed for entries, if these are sets of what is tried.
    proposed: ProposedInstructions,
    /// Where it is told that a backend has no index of its instructions.
    notices: Option<Arc<Notices>>,
}

#[derive(Debug, Default)]
struct Live {
    newest: ArcSwapOption<AciSet>,
    /// The newest at the end. Held while one is made.
    kept: Mutex<VecDeque<Arc<AciSet>>>,
}

impl LiveSets {
    /// Of so many backends, with what is proposed for their entries.
    pub fn new(backends: usize, proposed: ProposedInstructions) -> LiveSets {
        LiveSets { backends: (0..backends).map(|_| Live::default()).collect(), proposed, notices: None }
    }

    /// The same; that a backend has no index of its instructions is told.
    pub fn telling(self, notices: &Arc<Notices>) -> LiveSets {
        LiveSets { notices: Some(Arc::clone(notices)), ..self }
    }

    /// What is proposed for entries.
    pub fn proposed(&self) -> &ProposedInstructions {
        &self.proposed
    }

    /// The set of a backend at the moment of `view`.
    pub fn at(
        &self,
        (at, backend): (BackendIndex, &Backend),
        loading: Loading<'_>,
        view: &View<'_>,
    ) -> Result<Arc<AciSet>, StoreError> {
        let proposed = Some((&self.proposed, at)).filter(|(proposed, _)| !proposed.is_empty());
        let loading = Loading { proposed, ..loading };
        let Some(live) = self.backends.get(at.0) else { return Ok(Arc::new(AciSet::load(loading, view, None)?)) };
        let mark = view.marks().access;
        let is_it = |set: &Arc<AciSet>, facts: &Arc<Facts>| set.mark == mark && Arc::ptr_eq(&set.facts, facts);
        if let Some(newest) = live.newest.load_full().filter(|set| is_it(set, loading.facts)) {
            return Ok(newest);
        }
        let mut kept = live.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept.iter().find(|set| is_it(set, loading.facts)) {
            return Ok(Arc::clone(found));
        }
        let last = kept.back();
        let before = last.filter(|set| Arc::ptr_eq(&set.facts, loading.facts));
        let changed = before.and_then(|set| Some((set, view.marks().holders_since(set.mark)?)));
        let set = Arc::new(match changed {
            Some((set, changed)) => set.updated(loading, view, changed)?,
            None => AciSet::load(loading, view, last.map(|set| &**set))?,
        });
        if let (Some(scan), Some(notices)) = (set.scan, &self.notices) {
            notices.warn_once_of(NoticeKind::AccessControl, scan.sentence(backend));
        }
        let is_newest = kept.back().is_none_or(|newest| newest.mark <= set.mark);
        if is_newest {
            kept.push_back(Arc::clone(&set));
            live.newest.store(Some(Arc::clone(&set)));
        } else {
            kept.push_front(Arc::clone(&set));
        }
        if kept.len() > KEPT_MAX {
            kept.pop_front();
        }
        Ok(set)
    }

    /// The newest sets of all backends, as far as they were made.
    pub fn all_newest(&self) -> Vec<Arc<AciSet>> {
        self.backends.iter().filter_map(|live| live.newest.load_full()).collect()
    }

    /// The newest set of a backend, if one was made.
    pub fn newest(&self, backend: BackendIndex) -> Option<Arc<AciSet>> {
        self.backends.get(backend.0)?.newest.load_full()
    }
}
