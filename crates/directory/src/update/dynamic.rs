//! The refresh operation (RFC 2589): becomes a modify request of `entryExpireTimestamp`. Here it is decided how long
//! the entry lives and when that is over, so that `apply` needs no clock.
//!
//! Knows the settings of the plugin; that the entry is dynamic is for `apply` to see.

use std::sync::{Arc, PoisonError};

use config::{Config, DynamicEntries, LIFETIME_SECONDS_MAX, PluginKind, Writability};
use ldap::extended::{Refresh, encode_refreshed};
use ldap::{LdapResult, MadeUpdate, ModifyOperation, oids};
use schema::NormalizedDn;

use super::context::UpdateContext;
use super::decided::Decided;
use super::done::ExtendedAnswer;
use super::dynamic_state::SWITCH_ON;
use super::expiry::{ExpiryThread, Worker};
use super::order::{Order, Ready};
use super::rights::Told;
use crate::in_force::naming_contexts;
use crate::open_error::OpenError;
use crate::refusal::Refusal;
use change::csn::Csn;
use change::proposal::Kind;
use query::dynamic_entry::EXPIRY;
use query::error::invalid_dn;

impl UpdateContext<'_> {
    /// Takes what a configuration says of dynamic entries, and starts or ends whoever removes them.
    pub(super) fn set_dynamic_entries(&self, config: &Config) -> Result<(), OpenError> {
        let mut found = config.plugins.iter().filter_map(|plugin| match &plugin.kind {
            PluginKind::DynamicEntries(settings) => Some((settings, &plugin.base_dns)),
            _ => None,
        });
        let found = found.next();
        let subtrees = match found {
            None => Vec::new(),
            Some((_, base_dns)) if base_dns.is_empty() => naming_contexts(self.backends).map(str::to_owned).collect(),
            Some((_, base_dns)) => base_dns.clone(),
        };
        let failed = |error| OpenError::Store { backend: "rootDSE".to_owned(), error };
        self.in_force.set_dynamic_subtrees(subtrees).map_err(failed)?;
        let state = &self.updates.dynamic;
        state.stop();
        let settings = found.map(|(settings, _)| Arc::new(settings.clone()));
        state.settings.store(settings.clone());
        let Some(settings) = settings.filter(|_| self.updates.writability != Writability::Disabled) else {
            return Ok(());
        };
        let worker = Worker {
            backends: Arc::clone(self.backends),
            intake: Arc::clone(self.updates.intake()),
            references: Arc::clone(&self.updates.references),
            schema: self.schema(),
            notices: Arc::clone(self.notices),
            counts: Arc::clone(&state.counts),
            settings,
        };
        let thread = ExpiryThread::start(worker).map_err(|error| OpenError::Thread { error })?;
        *state.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    pub(super) fn prepare_refresh(
        &self,
        order: &Order<'_, '_>,
        wanted: &Refresh<'_>,
    ) -> Result<Ready<'static>, Box<Told>> {
        let Some(settings) = self.updates.dynamic.settings.load_full() else {
            return Err(Refusal::NotDynamic { remedy: SWITCH_ON }.into());
        };
        let controls = self.update_controls(order, Kind::Refresh)?;
        let ttl_seconds = lifetime(&settings, wanted.ttl_seconds)?;
        let facts = self.facts();
        let dn = wanted.entry;
        let name = NormalizedDn::parse(&facts.schema, dn).map_err(|error| invalid_dn(dn, error))?;
        let backend = self.backend_of(&name, dn)?;
        let now = self.updates.intake().next_csn();
        let mut until = Vec::with_capacity(15);
        Csn { time_us: now.time_us + ttl_seconds * 1_000_000, ..now }.write_timestamp(&mut until);
        let change = (ModifyOperation::Replace, EXPIRY.as_bytes(), [until.as_slice()]);
        let made = MadeUpdate::modify(dn, [change]);
        let identity = self.requestor(&order.session.identity)?;
        let mut controls = controls.owned();
        let (judged, review) = self.review_made(order, (&identity, backend, Kind::Refresh), &made, &mut controls)?;
        Ok(Ready::Proposal(Box::new(Decided {
            backend,
            kind: Kind::Refresh,
            controls,
            op_bytes: made.into_encoded().into(),
            password: Vec::new(),
            policy: None,
            identity,
            judged,
            review,
            connection: order.session.connection,
            operation: order.operation,
            answer: Some(ExtendedAnswer { name: Some(oids::extended::REFRESH), value: encode_refreshed(ttl_seconds) }),
        })))
    }
}

/// How long an entry lives that is to live for so many seconds.
fn lifetime(settings: &DynamicEntries, asked: i64) -> Result<u64, LdapResult> {
    let asked = u64::try_from(asked).unwrap_or_default();
    if !(1..=LIFETIME_SECONDS_MAX).contains(&asked) {
        return Err(Refusal::NoLifetime { most: LIFETIME_SECONDS_MAX }.into());
    }
    let max = settings.max_ttl_seconds;
    if asked > max {
        return Err(Refusal::LifetimeTooLong { most: max, asked }.into());
    }
    Ok(asked.max(settings.min_ttl_seconds))
}
