//! What the planner did in one part of a search, while it is kept for an answer.

use std::time::{Duration, Instant};

use ldap::Scope;
use query::backend::BackendIndex;
use query::plan::trace::Trace;

/// What the planner did in one part of a search.
pub(super) struct Explanation {
    pub(super) backend: BackendIndex,
    pub(super) scope: Scope,
    pub(super) began: Instant,
    pub(super) elapsed: Duration,
    pub(super) trace: Trace,
}

impl Explanation {
    /// Of the part about to be planned.
    pub fn new(backend: BackendIndex, scope: Scope) -> Explanation {
        Explanation { backend, scope, began: Instant::now(), elapsed: Duration::ZERO, trace: Trace::default() }
    }

    /// The part is planned.
    pub fn finish(mut self) -> Explanation {
        self.elapsed = self.began.elapsed();
        self
    }
}
