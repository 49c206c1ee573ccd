//! What the writer is asked to do, and how an order wakes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::Sender;

use crate::extract::IndexBinder;
use crate::proposed::Proposed;
use crate::tables::TypeResolver;

/// What the writer is asked to do.
pub(crate) enum Job {
    Propose(Proposed),
    /// A new schema: descriptions are bound to types anew.
    Rebind {
        /// Served right before it, with nothing in between.
        first: Option<Proposed>,
        resolver: Arc<dyn TypeResolver>,
        binder: Arc<dyn IndexBinder>,
        /// Dropped when readers have it.
        bound: Sender<()>,
    },
    /// Freeze now, so that the overlay of this moment gets into LMDB.
    Fold,
    /// The order may have something to give. The flag is set until the writer asks it.
    Ordered(Arc<AtomicBool>),
    Stop,
    #[cfg(test)]
    Crash,
}

impl Job {
    /// The proposal in it.
    pub fn into_proposed(self) -> Option<Proposed> {
        match self {
            Job::Propose(proposed) => Some(proposed),
            Job::Rebind { first, .. } => first,
            _ => None,
        }
    }
}

/// Wakes the writer, so that it asks its order for the next proposal.
#[derive(Clone, Debug)]
pub struct Waker {
    jobs: Sender<Job>,
    is_called: Arc<AtomicBool>,
}

impl Waker {
    pub(crate) fn new(jobs: Sender<Job>) -> Waker {
        Waker { jobs, is_called: Arc::default() }
    }

    /// From any thread; several calls before the writer has come to it are one.
    pub fn wake(&self) {
        if !self.is_called.swap(true, Ordering::AcqRel) {
            // A writer that has ended asks no more.
            let _ = self.jobs.send(Job::Ordered(self.is_called.clone()));
        }
    }
}
