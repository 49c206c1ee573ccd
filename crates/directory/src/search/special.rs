//! Searches of what is in no backend: the root DSE, the schema, the monitor, the changelog.

use ldap::{LdapResult, ResultCode, Scope, SearchRequest};
use schema::MatchContext;

use super::prepare::asserted;
use super::search_plan::SearchPlan;
use super::worker::Worker;
use crate::controls::ReadControls;
use crate::directory::Directory;
use crate::own::OwnSearch;
use query::error::refuse;
use query::facts::Facts;
use query::filter::{Asker, ItemRights};
use query::filter::{FilterScratch, Matcher};
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
        // Below the root DSE are the backends.
        if base.is_root() && request.scope != Scope::BaseObject {
            return Ok(false);
        }
        let access = plan.access;
        let search = OwnSearch { base, written: request.base, scope: request.scope, filter: &request.filter };
        let found = self.ask_own_entries(facts, base, |tree, context| {
            tree.check_read(access)?;
            tree.search(context, &search)
        });
        let Some(found) = found.transpose()? else { return Ok(false) };
        if found.changes.is_some() && plan.arrangement.as_ref().is_some_and(|arrangement| arrangement.is_ordered()) {
            let message = "The changelog comes in the order of change numbers: search it without the sort and virtual list view controls";
            return Err(refuse(ResultCode::UNWILLING_TO_PERFORM, message));
        }
        check_assertion(plan, facts, wanted, context, &found.base)?;
        plan.synthetic.extend(found.entries);
        plan.changes = found.changes.map(Box::new);
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
