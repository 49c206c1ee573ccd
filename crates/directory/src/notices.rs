//! What an administrator should know and no client is told: one sentence each, for the error log.
//!
//! Knows no log: whoever serves the directory says where sentences go. What comes before is dropped.

use std::fmt;
use std::sync::OnceLock;

/// Takes a sentence.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// Where sentences go.
#[derive(Default)]
pub struct Notices(OnceLock<Tell>);

impl Notices {
    /// Sets it; a second one is refused.
    pub fn set(&self, tell: Tell) {
        let _ = self.0.set(tell);
    }

    /// Tells something that is wrong while the server goes on.
    pub fn warn(&self, sentence: &str) {
        if let Some(tell) = self.0.get() {
            tell(sentence);
        }
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Notices({})", self.0.get().is_some())
    }
}
