//! What searches need of the directory, and nothing else of it.

use std::sync::Arc;

use access::limits::{LimitsFinder, LiveLimits};
use access::{AccessControl, AccountClock, Rights};
use arc_swap::ArcSwap;
use change::history::History;
use ldap::LdapResult;
use query::asker_rights::{AskerRights, Which};
use query::backend::{Backend, holder};
use query::base::{Base, Following, find_base};
use query::computed::ComputedService;
use query::encode::RangeCursors;
use query::error::store_failure;
use query::facts::Facts;
use query::groups::GroupOptions;
use query::read_moment::ReadContext;
use schema::NormalizedDn;

use super::advice::ShapeTable;
use super::paged::CookieKey;
use crate::default_referral::DefaultReferral;
use crate::in_force::InForce;
use crate::own::MonitorSource;
use crate::root_users::RootUsers;
use crate::session::Session;
use crate::watch::Watches;

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct SearchContext<'d> {
    pub(crate) in_force: &'d InForce,
    pub(crate) backends: &'d Arc<[Backend]>,
    pub(crate) limits: &'d LiveLimits,
    pub(crate) access_control: &'d AccessControl,
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
    /// For names that no suffix holds.
    pub(crate) default_referral: &'d DefaultReferral,
    pub(crate) watches: &'d Watches,
    pub(crate) monitor: &'d dyn MonitorSource,
    pub(crate) roots: &'d ArcSwap<RootUsers>,
    pub(crate) account_clock: &'d AccountClock,
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

    /// Finds the entry that the request calls `written`; a name that no suffix holds may be another server's.
    pub(crate) fn find_base(
        &self,
        facts: &Facts,
        dn: &NormalizedDn,
        written: &[u8],
        following: Following<'_>,
    ) -> Result<Base, LdapResult> {
        let found = find_base(self.backends, facts, dn, &String::from_utf8_lossy(written), following);
        found.map_err(|refusal| match holder(self.backends, dn.as_bytes()) {
            Some(_) => refusal,
            None => self.default_referral.answer(written, following.scope),
        })
    }

    /// What a session may do.
    pub(crate) fn rights_of(
        &self,
        session: &Session,
        facts: &Arc<Facts>,
        now_unix_seconds: i64,
    ) -> Result<Arc<Rights>, LdapResult> {
        let rights = self.access_control.rights_of(session, facts, self.reading, now_unix_seconds);
        rights.map_err(|problem| store_failure(&problem))
    }

    /// Whether a name belongs to the server's own entries, or to those of backends.
    pub(crate) fn which(&self, dn: &NormalizedDn) -> Which {
        if self.in_force.own_entries().holder(self.history, dn).is_some() { Which::Own } else { Which::Stored }
    }

    /// What is asked for the rights on entries.
    pub(crate) fn asker(&self, rights: &Arc<Rights>, session: &Session) -> Arc<dyn AskerRights> {
        #[cfg(test)]
        if let Some(double) = super::doubles::of(session.identity.dn()) {
            return double;
        }
        let _ = session;
        Arc::<Rights>::clone(rights)
    }

    /// Finds out what sessions may spend.
    pub(crate) fn limits_finder<'c>(&'c self, facts: &'c Arc<Facts>) -> LimitsFinder<'c> {
        LimitsFinder { live: self.limits, facts, context: self.reading }
    }
}
