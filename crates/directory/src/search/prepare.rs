//! Planning a search: everything that can refuse it, then the candidates.
//!
//! Invariant: on the way of a search with one base and few candidates nothing is allocated that the worker could keep.

use std::sync::Arc;
use std::time::Duration;

use ldap::{Controls, LdapResult, ResultCode, Scope, SearchRequest};

use super::advice::{Costly, EXAMINED_MIN, Went};
use super::asked::Asked;
use super::context::SearchContext;
use super::kept_rights::KeptRights;
use super::limits::Limits;
use super::refusal::SearchRefusal;
use super::request_time::RequestTime;
use super::search_done::SearchDone;
use super::search_plan::SearchPlan;
use super::visible::Visibility;
use super::worker::{Worker, WorkerFor};
use super::{explain, persistent};
use crate::controls::ReadControls;
use crate::session::Session;
use access::Privilege;
use access::limits::SessionLimits;
use query::answers::Answers;
use query::asker_rights::{AskerRights, Which};
use query::error::store_failure;
use query::filter::ItemRights;
use query::rights::{Answer, ReadRight, ReadRights};

/// How often a search is planned whose rights change meanwhile. What it sends is judged by rights of then anyway.
const PLANNED_MOST: usize = 4;

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
        for _ in 0..PLANNED_MOST {
            if let Err(result) = self.fill_plan(&mut plan, worker, session, request, controls, time) {
                let (unindexed, masked) = (plan.unindexed, plan.masked);
                let done = SearchDone { unindexed, masked, ..SearchDone::of(result) };
                worker.recycle(plan);
                return Err(Box::new(done));
            }
            if plan.has_rights_of_its_snapshots() {
                break;
            }
            plan.clear();
        }
        Ok(plan)
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
        let rights = self.rights_of(session, &facts, time.unix_seconds)?;
        let asked = Asked { facts: &facts, session, request, wanted: &wanted, own: &own, time, rights: &rights };
        // Below the root DSE are the backends.
        let is_above_all = worker.base.is_root() && request.scope != Scope::BaseObject;
        let which = if is_above_all { Which::Stored } else { self.which(&worker.base) };
        let answers = self.take_rights(plan, self.asker(&rights, session), which)?;
        let worker = &mut WorkerFor { worker, rights: answers };
        self.compile(plan, &asked, &*worker.rights)?;
        if plan.is_refused() {
            return Ok(());
        }
        if which == Which::Own {
            self.plan_synthetic(plan, worker, &asked)?;
            return if wanted.persistent.is_some() { Err(persistent::refuse_own_entries()) } else { Ok(()) };
        }
        let planned = self.plan_stored(plan, worker, &asked);
        // Whatever else is wrong would tell that there is such an entry.
        planned.map_err(|refusal| match plan.hidden_base.take() {
            Some(missing) => {
                plan.masked = Some(refusal.code);
                *missing
            }
            None => refusal,
        })
    }

    /// Takes the rights of who asks into the plan; gives the answers to plan by.
    pub(super) fn take_rights(
        &self,
        plan: &mut SearchPlan,
        asker: Arc<dyn AskerRights>,
        which: Which,
    ) -> Result<Answers, LdapResult> {
        let (kept, answers) = KeptRights::of(asker, which).map_err(|problem| store_failure(&problem))?;
        (plan.rights, plan.shows) = (kept, answers.shows_entries());
        Ok(answers)
    }

    /// Plans a search of entries in backends.
    fn plan_stored(
        &self,
        plan: &mut SearchPlan,
        worker: &mut WorkerFor<'_>,
        asked: &Asked<'_, '_, '_>,
    ) -> Result<(), LdapResult> {
        let Asked { facts, session, request, wanted, .. } = *asked;
        let is_explained = explain::is_asked(request);
        if is_explained && !(asked.rights.bypasses_acl() || asked.rights.has(Privilege::MonitorRead)) {
            return Err(SearchRefusal::ExplanationNotAllowed.into());
        }
        if let Some(persistent) = wanted.persistent.filter(|_| !is_explained) {
            plan.persistent = Some(self.admit_persistent(session, asked.rights, request, persistent)?);
        }
        let is_changes_only = plan.persistent.as_ref().is_some_and(|persistent| persistent.asked.changes_only);
        plan.explanations = is_explained.then(Vec::new);
        if is_changes_only {
            self.plan_base(plan, worker, asked)?;
        } else {
            self.plan_entries(plan, worker, asked)?;
        }
        // Entries below it may show: what needs the entry itself is refused.
        let needs_base =
            request.scope == Scope::BaseObject || plan.is_persistent() || is_explained || wanted.assertion.is_some();
        if needs_base && let Some(missing) = plan.hidden_base.take() {
            plan.masked = Some(ResultCode::SUCCESS);
            return Err(*missing);
        }
        if plan.is_persistent() {
            self.note_parts(plan, worker.base.is_root(), facts)?;
        }
        if let Some(assertion) = &wanted.assertion {
            self.check_base_assertion(plan, worker, asked, assertion)?;
        }
        if is_changes_only {
            plan.skip_first_part();
            return Ok(());
        }
        if let Some(explanations) = plan.explanations.take() {
            return explain::answer(plan, facts, request, &explanations);
        }
        self.admit_costly(plan, asked)
    }

    /// Refuses a search without an index where the asker may not do that, and has one that costs much noted.
    fn admit_costly(&self, plan: &mut SearchPlan, asked: &Asked<'_, '_, '_>) -> Result<(), LdapResult> {
        let facts = asked.facts;
        let may_search_unindexed = asked.own.unindexed_search || asked.rights.has(Privilege::UnindexedSearch);
        let is_refused = plan.unindexed && !may_search_unindexed;
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
    pub(super) fn compile(
        &self,
        plan: &mut SearchPlan,
        asked: &Asked<'_, '_, '_>,
        rights: &dyn ReadRights,
    ) -> Result<(), LdapResult> {
        let Asked { facts, request, wanted, .. } = asked;
        plan.visibility = Visibility {
            manage_dsa_it: wanted.manage_dsa_it,
            subentries: wanted.subentries,
            in_searching: request.deref_aliases.in_searching(),
        };
        plan.limits = limits(asked.own, request, asked.time);
        plan.matcher.compile(facts, &request.filter, asked.match_context());
        plan.items = ItemRights::of(&plan.matcher, facts, ReadRight::Search, rights);
        plan.allowed = (!plan.items.is_all()).then(|| Box::new(plan.matcher.without(&plan.items)));
        plan.selection.restart(facts, request.attributes.iter(), request.types_only);
        plan.selection.remember_in(self.range_cursors);
        plan.facts = Some(Arc::clone(facts));
        plan.backends = Some(Arc::clone(self.backends));
        plan.now_unix_seconds = asked.time.unix_seconds;
        if plan.matcher.needs_groups() || plan.selection.asks_for_groups() {
            plan.ask(self.reading, true);
        }
        // Children that do not show do not count.
        if plan.shows != Answer::Yes && (plan.matcher.counts_children() || plan.selection.counts_children()) {
            plan.ask(self.reading, true);
        }
        if wanted.presentation.is_some() {
            self.arrange(plan, asked, rights)?;
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
