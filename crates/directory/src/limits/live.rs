//! The rules in force, and their replacement while the server runs.
//!
//! Limits carry the number of the configuration that they come from. So a session sees with one look at one number that there is
//! another configuration, and finds out its limits anew.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use config::Config;
use schema::Schema;

use super::LimitRules;
use crate::directory::Directory;
use crate::open::OpenError;

/// See the module.
#[derive(Debug)]
pub(crate) struct LiveLimits {
    rules: ArcSwap<LimitRules>,
    generation: AtomicU64,
    /// Held by whoever replaces them, so that no two configurations have one number.
    changing: Mutex<()>,
}

impl LiveLimits {
    pub(crate) fn new(config: &Config, schema: &Schema) -> Result<LiveLimits, OpenError> {
        let rules = LimitRules::new(config, schema, 0)?;
        Ok(LiveLimits {
            rules: ArcSwap::from_pointee(rules),
            generation: AtomicU64::new(0),
            changing: Mutex::default(),
        })
    }

    /// The rules of this moment.
    pub(crate) fn rules(&self) -> Arc<LimitRules> {
        self.rules.load_full()
    }

    /// The number of the configuration in force.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}

impl Directory {
    /// Takes the limits of a configuration, for everybody from the next search on. Returns whether they are others than before.
    ///
    /// # Errors
    /// When a rule has a name or a pattern that cannot be; then nothing changes.
    pub fn set_limits(&self, config: &Config) -> Result<bool, OpenError> {
        let _only_one = self.limits.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.limits.rules();
        let generation = self.limits.generation() + 1;
        let rules = LimitRules::new(config, &self.schema(), generation)?;
        if rules.has_same_source(&before) {
            return Ok(false);
        }
        // In this order: who sees the new number finds the new rules.
        self.limits.rules.store(Arc::new(rules));
        self.limits.generation.store(generation, Ordering::Release);
        Ok(true)
    }
}
