//! What searches need of the directory, and nothing else of it.

use std::sync::Arc;

use access::limits::{LimitsFinder, LiveLimits};
use change::history::History;
use query::backend::Backend;
use query::computed::ComputedService;
use query::encode::RangeCursors;
use query::facts::Facts;
use query::groups::GroupOptions;
use query::read_moment::ReadContext;

use super::advice::ShapeTable;
use super::paged::CookieKey;
use crate::in_force::InForce;
use crate::own::MonitorSource;
use crate::watch::Watches;

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct SearchContext<'d> {
    pub(crate) in_force: &'d InForce,
    pub(crate) backends: &'d Arc<[Backend]>,
    pub(crate) limits: &'d LiveLimits,
    /// The backends once more, with what is kept for reading them.
    pub(crate) reading: &'d ReadContext,
    pub(crate) group_options: GroupOptions,
    pub(crate) history: &'d Arc<History>,
    /// Of paged searches.
    pub(crate) cookies: &'d CookieKey,
    /// Of range retrievals.
    pub(crate) range_cursors: &'d Arc<RangeCursors>,
    /// Shapes of searches that an index might help, by backend.
    pub(crate) shapes: &'d Arc<[ShapeTable]>,
    pub(crate) watches: &'d Watches,
    pub(crate) monitor: &'d dyn MonitorSource,
}

impl SearchContext<'_> {
    /// The schema in force, and what was looked up in it.
    pub(crate) fn facts(&self) -> Arc<Facts> {
        self.in_force.facts()
    }

    /// What is kept for attributes that entries are given.
    pub(crate) fn computed_service(&self) -> &ComputedService {
        &self.reading.computed
    }

    /// Finds out what sessions may spend.
    pub(crate) fn limits_finder<'c>(&'c self, facts: &'c Arc<Facts>) -> LimitsFinder<'c> {
        LimitsFinder { live: self.limits, facts, context: self.reading }
    }
}
