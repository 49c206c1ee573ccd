//! What connections there are and what they do, for whoever watches the server.
//!
//! Nothing is noted while connections are served: a loop that is asked looks at its connections, busy ones first, and
//! leaves the answer for whoever asks next. So nobody waits for a loop, not even a request that is served by one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Connections of one loop that are described; the others are counted.
pub const DESCRIBED_MAX: usize = 200;

/// The connections of one loop at one moment.
#[derive(Debug)]
pub struct LoopSurvey {
    /// When it looked.
    pub at: Instant,
    /// What the protocol says of each that is described.
    pub connections: Vec<String>,
    /// How many others there were.
    pub left_out: usize,
}

/// Where a loop leaves its answer.
#[derive(Debug, Default)]
pub(crate) struct SurveySlot {
    told: Mutex<Option<Arc<LoopSurvey>>>,
    /// It was asked and has not looked yet.
    is_asked: AtomicBool,
}

impl SurveySlot {
    /// The loop looks: whoever asks from now on asks anew.
    pub(crate) fn begin(&self) {
        self.is_asked.store(false, Ordering::Release);
    }

    pub(crate) fn put(&self, survey: LoopSurvey) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(survey));
    }

    pub(crate) fn get(&self) -> Option<Arc<LoopSurvey>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it has to be asked.
    pub(crate) fn ask(&self) -> bool {
        !self.is_asked.swap(true, Ordering::AcqRel)
    }
}

/// What asks the loops of a server, whatever their protocol is.
pub trait Survey: Send + Sync {
    /// What each loop answered last, which may be nothing yet; asks them to look again.
    fn look(&self) -> Vec<Arc<LoopSurvey>>;
}
