//! What tasks need of the server around them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use runtime::log::error::ErrorLog;
use runtime::signals;

use crate::connection_rules::ConnectionRules;
use crate::connections::Connections;

/// See the module.
pub(crate) struct Host {
    pub(crate) errors: ErrorLog,
    pub(crate) connections: Arc<Connections>,
    pub(crate) rules: Arc<ConnectionRules>,
    pub(crate) ending: Arc<Ending>,
}

/// How the server ends, once it does.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    restarts: AtomicBool,
}

impl Ending {
    /// Has the server stop, and start again.
    pub(crate) fn stop(&self, restart: bool) {
        self.restarts.store(restart, Ordering::Release);
        signals::stop_self();
    }

    /// Whether the server is to start again.
    pub(crate) fn restarts(&self) -> bool {
        self.restarts.load(Ordering::Acquire)
    }
}
