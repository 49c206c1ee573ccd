//! Searches of what is in no backend: the root DSE, the schema, the monitor, the changelog.

use ldap::{LdapResult, Scope};

use super::asked::Asked;
use super::assertion::assert_on;
use super::context::SearchContext;
use super::refusal::SearchRefusal;
use super::search_plan::SearchPlan;
use super::worker::WorkerFor;
use crate::own::OwnSearch;
use query::error::store_failure;
use query::rights::Reader;

impl SearchContext<'_> {
    /// Plans the search if its base is one of the server's own entries.
    pub(super) fn plan_synthetic(
        &self,
        plan: &mut SearchPlan,
        worker: &WorkerFor<'_>,
        asked: &Asked<'_, '_, '_>,
    ) -> Result<bool, LdapResult> {
        let (base, request) = (&worker.base, asked.request);
        // Below the root DSE are the backends.
        if base.is_root() && request.scope != Scope::BaseObject {
            return Ok(false);
        }
        let search = OwnSearch { base, written: request.base, scope: request.scope, filter: &request.filter };
        let about = (&**asked.facts, &**asked.session);
        let found = self.in_force.ask_own_entries(self.history, self.monitor, about, base, |tree, context| {
            tree.check_read(asked.rights)?;
            tree.search(context, &search)
        });
        let Some(found) = found.transpose()? else { return Ok(false) };
        if found.changes.is_some() && plan.arrangement.as_ref().is_some_and(|arrangement| arrangement.is_ordered()) {
            return Err(SearchRefusal::OrderedChangelog.into());
        }
        if let Some(assertion) = &asked.wanted.assertion {
            let view = found.base.view().map_err(|problem| store_failure(&problem))?;
            assert_on(assertion, asked.match_context(), Reader { facts: asked.facts, rights: &*worker.rights }, &view)?;
        }
        plan.synthetic.extend(found.entries);
        plan.changes = found.changes.map(Box::new);
        Ok(true)
    }
}
