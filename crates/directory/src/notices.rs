//! What an administrator should know and no client is told: one sentence each, for the error log.
//!
//! Knows no log: whoever serves the directory says where sentences go. What comes before is dropped.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Sentences that are remembered, so that each is told once.
const REMEMBERED_MAX: usize = 10_000;

/// Takes a sentence.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// Where sentences go.
#[derive(Default)]
pub struct Notices {
    tell: OnceLock<Tell>,
    told: Mutex<HashSet<String>>,
}

impl Notices {
    /// Sets it; a second one is refused.
    pub fn set(&self, tell: Tell) {
        let _ = self.tell.set(tell);
    }

    /// Tells something that is wrong while the server goes on.
    pub fn warn(&self, sentence: &str) {
        if let Some(tell) = self.tell.get() {
            tell(sentence);
        }
    }

    /// The same, unless it was told before.
    pub fn warn_once(&self, sentence: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < REMEMBERED_MAX && !told.contains(&sentence) {
            self.warn(&sentence);
            told.insert(sentence);
        }
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Notices({})", self.tell.get().is_some())
    }
}
