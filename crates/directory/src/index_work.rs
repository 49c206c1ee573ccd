//! Held while the indexes of a backend change; and who builds them.
//!
//! Knows nothing of configurations, nor what a change is.

use std::sync::{Mutex, PoisonError};

use crate::index_builder::IndexBuilders;

/// See the module.
#[derive(Default)]
pub(crate) struct IndexWork {
    pub(crate) changing: Mutex<()>,
    pub(crate) builders: Mutex<Option<IndexBuilders>>,
}

impl IndexWork {
    /// There may be something to build.
    pub(crate) fn wake(&self) {
        if let Some(builders) = &*self.builders.lock().unwrap_or_else(PoisonError::into_inner) {
            builders.wake();
        }
    }

    /// Ends the builders; what is not built is built on at the next start.
    pub(crate) fn stop(&self) {
        drop(self.builders.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
