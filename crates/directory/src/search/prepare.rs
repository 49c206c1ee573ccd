//! Planning a search: everything that can refuse it, then the candidates.
//!
//! Invariant: on the way of a search with one base and few candidates nothing is allocated that the worker could keep.

use std::sync::Arc;
use std::time::Duration;

use ldap::{Controls, LdapResult, SearchRequest};

use super::advice::{Costly, EXAMINED_MIN, Went};
use super::asked::Asked;
use super::context::SearchContext;
use super::limits::Limits;
use super::refusal::SearchRefusal;
use super::request_time::RequestTime;
use super::search_done::SearchDone;
use super::search_plan::SearchPlan;
use super::visible::Visibility;
use super::worker::Worker;
use super::{explain, persistent};
use crate::controls::ReadControls;
use crate::session::Session;
use access::Access;
use access::limits::SessionLimits;
use query::filter::ItemRights;
use query::rights::ReadRight;

impl SearchContext<'_> {
    /// Decides what a search has to look at.
    ///
    /// # Errors
    /// How the search ended when it is refused or refers elsewhere.
    pub(crate) fn plan(
        &self,
        worker: &mut Worker,
        session: &Session,
        request: &SearchRequest<'_>,
        controls: &Controls<'_>,
        time: RequestTime,
    ) -> Result<Box<SearchPlan>, Box<SearchDone>> {
        let mut plan = worker.plans.pop().unwrap_or_default();
        match self.fill_plan(&mut plan, worker, session, request, controls, time) {
            Ok(()) => Ok(plan),
            Err(result) => {
                let done = SearchDone { unindexed: plan.unindexed, ..SearchDone::of(result) };
                worker.recycle(plan);
                Err(Box::new(done))
            }
        }
    }

    fn fill_plan(
        &self,
        plan: &mut SearchPlan,
        worker: &mut Worker,
        session: &Session,
        request: &SearchRequest<'_>,
        controls: &Controls<'_>,
        time: RequestTime,
    ) -> Result<(), LdapResult> {
        let wanted = ReadControls::read(controls, true)?;
        let facts = self.facts();
        worker.take_base(&facts, request.base)?;
        let own = self.limits_finder(&facts).of_session(session, time.started);
        own.check_filters([&request.filter])?;
        own.check_filters(wanted.filters())?;
        let asked = Asked { facts: &facts, session, request, wanted: &wanted, own: &own, time };
        self.compile(plan, &asked)?;
        if plan.is_refused() {
            return Ok(());
        }
        if self.plan_synthetic(plan, worker, &asked)? {
            return if wanted.persistent.is_some() { Err(persistent::refuse_own_entries()) } else { Ok(()) };
        }
        plan.access.check_entries()?;
        if let Some(persistent) = wanted.persistent.filter(|_| !explain::is_asked(request)) {
            plan.persistent = Some(self.admit_persistent(session, request, persistent)?);
        }
        let is_changes_only = plan.persistent.as_ref().is_some_and(|persistent| persistent.asked.changes_only);
        plan.explanations = explain::is_asked(request).then(Vec::new);
        if is_changes_only {
            self.plan_base(plan, worker, &asked)?;
        } else {
            self.plan_entries(plan, worker, &asked)?;
        }
        if plan.is_persistent() {
            self.note_parts(plan, worker.base.is_root(), &facts)?;
        }
        if let Some(assertion) = &wanted.assertion {
            self.check_assertion(plan, worker, &asked, assertion)?;
        }
        if is_changes_only {
            plan.skip_first_part();
            return Ok(());
        }
        if let Some(explanations) = plan.explanations.take() {
            return explain::answer(plan, &facts, request, &explanations);
        }
        self.admit_costly(plan, &asked)
    }

    /// Refuses a search without an index where the asker may not do that, and has one that costs much noted.
    fn admit_costly(&self, plan: &mut SearchPlan, asked: &Asked<'_, '_, '_>) -> Result<(), LdapResult> {
        let facts = asked.facts;
        let is_refused = plan.unindexed && !plan.access.may_search_unindexed() && !asked.own.unindexed_search;
        if plan.unindexed || plan.candidate_count() > EXAMINED_MIN {
            let is_secret = |name: &[u8]| facts.schema.attribute_type(name).is_some_and(|it| facts.is_secret(it.index));
            plan.costly = Some(Box::new(Costly::new(asked.request, asked.time, self.shapes, is_secret)));
        }
        if is_refused {
            plan.record_advice(Went { is_unindexed: true, is_refused, ..Went::default() });
            return Err(SearchRefusal::Unindexed.into());
        }
        Ok(())
    }

    /// Takes what the request says of entries, of whichever: who asks, filter, attributes, limits.
    pub(super) fn compile(&self, plan: &mut SearchPlan, asked: &Asked<'_, '_, '_>) -> Result<(), LdapResult> {
        let Asked { facts, request, wanted, .. } = asked;
        let access = Access::of(&asked.session.identity);
        plan.access = access;
        plan.visibility = Visibility {
            manage_dsa_it: wanted.manage_dsa_it,
            subentries: wanted.subentries,
            in_searching: request.deref_aliases.in_searching(),
        };
        plan.limits = limits(asked.own, request, asked.time);
        plan.matcher.compile(facts, &request.filter, asked.match_context());
        plan.items = ItemRights::of(&plan.matcher, facts, ReadRight::Search, &access);
        plan.allowed = (!plan.items.is_all()).then(|| Box::new(plan.matcher.without(&plan.items)));
        plan.selection.restart(facts, request.attributes.iter(), request.types_only);
        plan.selection.remember_in(self.range_cursors);
        plan.facts = Some(Arc::clone(facts));
        plan.backends = Some(Arc::clone(self.backends));
        plan.now_unix_seconds = asked.time.unix_seconds;
        if plan.matcher.needs_groups() || plan.selection.asks_for_groups() {
            plan.ask(self.reading, true);
        }
        if wanted.presentation.is_some() {
            self.arrange(plan, asked)?;
        }
        Ok(())
    }
}

/// What a request gets of what its session may spend.
fn limits(own: &SessionLimits, request: &SearchRequest<'_>, time: RequestTime) -> Limits {
    let asked_ms = u64::from(request.time_limit_seconds).saturating_mul(1000);
    let granted_ms = own.time_ms.granted(asked_ms).number();
    Limits {
        size: own.size.granted(u64::from(request.size_limit)).number(),
        deadline: granted_ms.and_then(|limit| time.started.checked_add(Duration::from_millis(limit))),
        lookthrough: own.lookthrough.number(),
    }
}
