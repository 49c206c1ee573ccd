//! The rules in force, and their replacement while the server runs.
//!
//! Limits carry the number of the configuration that they come from. So a session sees with one look at one number that
//! there is another configuration, and then determines its limits again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use config::Config;
use schema::Schema;

use super::{Bound, LimitRules, LimitsError};
use crate::connection_facts::Authentication;
use crate::identity::Identity;
use crate::standing::Standing;

/// See the module.
#[derive(Debug)]
pub struct LiveLimits {
    rules: ArcSwap<LimitRules>,
    generation: AtomicU64,
    /// Held while they are replaced, so that no two configurations get the same number.
    changing: Mutex<()>,
}

impl LiveLimits {
    /// Those of a configuration.
    ///
    /// # Errors
    /// When a rule has a name or a pattern that cannot be.
    pub fn new(config: &Config, schema: &Schema) -> Result<LiveLimits, LimitsError> {
        let rules = LimitRules::new(config, schema, 0)?;
        Ok(LiveLimits {
            rules: ArcSwap::from_pointee(rules),
            generation: AtomicU64::new(0),
            changing: Mutex::default(),
        })
    }

    /// The rules of this moment.
    pub fn rules(&self) -> Arc<LimitRules> {
        self.rules.load_full()
    }

    /// The number of the configuration in force.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Takes the limits of a configuration, for everybody from the next search on. Returns whether they are others than
    /// before.
    ///
    /// # Errors
    /// When a rule has a name or a pattern that cannot be; then nothing changes.
    pub fn set(&self, config: &Config, schema: &Schema) -> Result<bool, LimitsError> {
        let _only_one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = self.generation() + 1;
        let rules = LimitRules::new(config, schema, generation)?;
        if rules.has_same_source(&self.rules()) {
            return Ok(false);
        }
        // In this order: who sees the new number finds the new rules.
        self.rules.store(Arc::new(rules));
        self.generation.store(generation, Ordering::Release);
        Ok(true)
    }

    /// What a failed bind leaves of a session.
    #[must_use]
    pub fn nobody(&self) -> Bound {
        Bound {
            identity: Identity::Anonymous,
            authentication: Authentication::None,
            limits: self.rules().anonymous(),
            standing: Standing::default(),
        }
    }
}
