//! One search request, read, with who asks and what he may spend.

use std::sync::Arc;

use access::Rights;
use access::limits::SessionLimits;
use ldap::SearchRequest;
use query::facts::Facts;
use schema::MatchContext;

use super::request_time::RequestTime;
use crate::controls::ReadControls;
use crate::session::Session;

/// See the module.
pub(super) struct Asked<'r, 'm, 'c> {
    pub(super) facts: &'r Arc<Facts>,
    pub(super) session: &'r Session,
    pub(super) request: &'r SearchRequest<'m>,
    pub(super) wanted: &'r ReadControls<'c>,
    /// What the session may spend.
    pub(super) own: &'r SessionLimits,
    pub(super) time: RequestTime,
    /// Privileges of who asks.
    pub(super) rights: &'r Arc<Rights>,
}

impl Asked<'_, '_, '_> {
    /// For matching rules.
    pub(super) fn match_context(&self) -> MatchContext {
        MatchContext { now_unix_seconds: self.time.unix_seconds }
    }
}
