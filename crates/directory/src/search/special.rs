//! Searches of what is in no backend: the root DSE, the schema, the monitor, the changelog.

use std::sync::Arc;

use ldap::{LdapResult, Scope, SearchRequest};
use schema::MatchContext;

use super::prepare::asserted;
use super::search_plan::SearchPlan;
use super::worker::Worker;
use crate::controls::ReadControls;
use crate::directory::Directory;
use query::error;
use query::facts::Facts;
use query::filter::{Asker, ItemRights};
use query::filter::{FilterScratch, Matcher};
use query::plan::covers;
use query::synthetic::SyntheticEntry;

impl Directory {
    /// Plans the search if its base is one of the server's own entries.
    pub(super) fn plan_synthetic(
        &self,
        plan: &mut SearchPlan,
        worker: &Worker,
        facts: &Facts,
        request: &SearchRequest<'_>,
        wanted: &ReadControls<'_>,
        context: MatchContext,
    ) -> Result<bool, LdapResult> {
        let base = &worker.base;
        let own = self.own_entries();
        let entries: Vec<Arc<SyntheticEntry>> = if base.is_root() {
            if request.scope != Scope::BaseObject {
                return Ok(false);
            }
            vec![self.in_force.root_dse(facts, &own, self.history())?]
        } else if *base == *own.schema.normalized() {
            vec![own.schema.clone()]
        } else if own.monitor.is_ancestor_or_equal(base) {
            plan.access.check_monitor()?;
            self.monitor_entries(facts)?.into_iter().map(Arc::new).collect()
        } else if self.history().is_on() && own.changelog.is_ancestor_or_equal(base) {
            let found = self.plan_changelog(plan, worker, facts, request)?;
            check_assertion(plan, facts, wanted, context, &found)?;
            return Ok(true);
        } else {
            return Ok(false);
        };
        let Some(found) = entries.iter().find(|entry| entry.normalized() == base) else {
            let shown = String::from_utf8_lossy(request.base);
            return Err(error::no_such_object(&shown, crate::monitor::MONITOR_DN));
        };
        check_assertion(plan, facts, wanted, context, found)?;
        plan.synthetic.extend(entries.iter().filter(|entry| covers(base, request.scope, entry.normalized())).cloned());
        Ok(true)
    }
}

fn check_assertion(
    plan: &SearchPlan,
    facts: &Facts,
    wanted: &ReadControls<'_>,
    context: MatchContext,
    base: &SyntheticEntry,
) -> Result<(), LdapResult> {
    let Some(assertion) = &wanted.assertion else { return Ok(()) };
    let mut matcher = Matcher::default();
    matcher.compile(facts, assertion, context);
    let items = ItemRights::of(&matcher, facts, &plan.access);
    let asker = Asker { rights: &plan.access, items: &items };
    let truth = base.view().and_then(|view| matcher.matches(facts, &view, asker, &mut FilterScratch::default()));
    asserted(truth)
}
