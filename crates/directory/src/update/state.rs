//! What updates keep while the server runs: the way in to the backends, the plugins' parts, the settings.
//!
//! Knows the configuration; no request and no session.

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use config::{Config, Writability};

use super::dynamic_state::DynamicState;
use super::inbound::Inbound;
use super::intake::Intake;
use super::judging_again::JudgingAgain;
use super::references::ReferenceKeeper;
use password::Parameters;

/// What updates need of the configuration, and the clock.
#[derive(Debug)]
pub(crate) struct UpdateState {
    pub(super) intake: Arc<Intake>,
    pub(super) inbound: ArcSwap<Inbound>,
    pub(crate) references: Arc<ReferenceKeeper>,
    pub(crate) judging_again: Arc<JudgingAgain>,
    pub(crate) dynamic: DynamicState,
    /// What new passwords cost.
    pub(crate) password_parameters: ArcSwap<Parameters>,
    pub(super) writability: Writability,
    /// Held while a schema changes.
    pub(super) schema_change: Mutex<()>,
}

impl UpdateState {
    /// From the configuration.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            intake: Arc::default(),
            inbound: ArcSwap::default(),
            references: Arc::default(),
            judging_again: Arc::default(),
            dynamic: DynamicState::default(),
            password_parameters: ArcSwap::from_pointee(config.password_parameters),
            writability: config.global.writability,
            schema_change: Mutex::default(),
        }
    }

    /// The way in, for changes that the server makes itself.
    pub(crate) fn intake(&self) -> &Arc<Intake> {
        &self.intake
    }
}
