//! What updates need of the directory, and nothing else of it.

use std::sync::Arc;

use arc_swap::ArcSwap;
use config::Instance;
use schema::Schema;

use super::state::UpdateState;
use crate::account::StateWriter;
use crate::bind::BindContext;
use crate::configuration_keeper::Configured;
use crate::default_referral::DefaultReferral;
use crate::guess_rates::GuessWatch;
use crate::in_force::InForce;
use crate::root_users::RootUsers;
use crate::shadow::Shadow;
use access::limits::{LimitsFinder, LiveLimits};
use access::{AccessControl, AccountClock};
use change::history::History;
use query::backend::Backend;
use query::facts::Facts;
use query::notices::Notices;
use query::read_moment::ReadContext;
use tasks::TaskBook;

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct UpdateContext<'d> {
    pub(crate) configured: Configured<'d>,
    pub(crate) instance: &'d Instance,
    pub(crate) in_force: &'d InForce,
    pub(crate) backends: &'d Arc<[Backend]>,
    pub(crate) updates: &'d UpdateState,
    pub(crate) limits: &'d LiveLimits,
    pub(crate) reading: &'d ReadContext,
    pub(crate) access_control: &'d AccessControl,
    pub(crate) shadow: &'d Shadow,
    pub(crate) history: &'d Arc<History>,
    pub(crate) roots: &'d ArcSwap<RootUsers>,
    pub(crate) default_referral: &'d DefaultReferral,
    pub(crate) notices: &'d Arc<Notices>,
    pub(crate) account_clock: &'d AccountClock,
    pub(crate) states: &'d StateWriter,
    pub(crate) tasks: &'d TaskBook,
    /// For attacks on old passwords.
    pub(crate) guess_watch: GuessWatch<'d>,
    /// For old passwords that come with new ones.
    pub(crate) binding: BindContext<'d>,
}

impl UpdateContext<'_> {
    /// The schema in force, and what was looked up in it.
    pub(super) fn facts(&self) -> Arc<Facts> {
        self.in_force.facts()
    }

    /// The schema in force.
    pub(super) fn schema(&self) -> Arc<Schema> {
        self.in_force.schema()
    }

    /// Finds out what sessions may spend.
    pub(super) fn limits_finder<'c>(&'c self, facts: &'c Arc<Facts>) -> LimitsFinder<'c> {
        LimitsFinder { live: self.limits, facts, context: self.reading }
    }
}
