//! One base of a search in one backend becomes a part of its plan: the candidates below it.

use std::sync::Arc;

use ldap::{LdapResult, Scope};
use store::{EntryId, Snapshot, StoreError, View};

use super::context::SearchContext;
use super::explanation::Explanation;
use super::part::Part;
use super::search_plan::{Asking, SearchPlan};
use super::worker::{WorkerBackend, WorkerFor};
use query::backend::BackendIndex;
use query::class_flags::ClassFlags;
use query::class_ids::ids_of_classes;
use query::computed::{Definitions, Program};
use query::error;
use query::facts::Facts;
use query::filter::Matcher;
use query::id_set::IdSet;
use query::plan::{Branch, Found, Narrowed, RANGE_IDS_MAX, scoped_candidates};
use query::read_moment::{ReadContext, ReadMoment};
use query::rights::{ReadRights, Reader};

/// A base entry, and the moment at which it was found.
pub(super) struct PartBase {
    pub(super) backend: BackendIndex,
    pub(super) entry: EntryId,
    pub(super) scope: Scope,
    pub(super) snapshot: Snapshot,
}

impl SearchContext<'_> {
    /// Finds the candidates below one base and adds them to the plan.
    pub(super) fn plan_part(
        &self,
        plan: &mut SearchPlan,
        worker: &mut WorkerFor<'_>,
        facts: &Arc<Facts>,
        of: PartBase,
    ) -> Result<(), LdapResult> {
        let PartBase { backend: at, entry: base, scope, snapshot } = of;
        let Some(backend) = self.backends.get(at.0) else { return Ok(()) };
        let known = worker.backend(at);
        known.refresh(facts, &snapshot);
        known.find_suffix_entry(backend, &snapshot).map_err(|problem| error::store_failure(&problem))?;
        let has_referrals = known.classes.any(ClassFlags::REFERRAL) && !plan.visibility.manage_dsa_it;
        // Only where there are groups that do not list their members: others pay nothing.
        let has_computed = known.classes.any(self.group_options.answering());
        let tells_members = !plan.selection.members().is_empty() && self.group_options.shows_members();
        if has_computed && (plan.matcher.asks_for_members() || tells_members) {
            plan.ask(self.reading, true);
        }
        let rights = worker.rights.clone();
        let known = worker.backend(at);
        let (definitions, is_rewritten) = self.definitions(plan, known, facts, at, &snapshot, &*rights)?;
        let asks_computed = has_computed && plan.matcher.asks_for_members();
        let view = snapshot.view();
        let is_everything = scope == Scope::WholeSubtree && known.suffix_entry == Some(base);
        let branch = Branch { base, scope, is_everything };
        let mut explanation = plan.explanations.is_some().then(|| Explanation::new(at, scope));
        let trace = explanation.as_mut().map(|explanation| &mut explanation.trace);
        let moment = plan.moment().map(|moment| moment.knowing(at, definitions.clone()));
        let program = match &moment {
            Some(moment) if is_rewritten && scope != Scope::BaseObject => {
                rewritten(moment, at, view, plan.plannable(), backend.entry_limit())
                    .map_err(|problem| error::store_failure(&problem))?
            }
            _ => None,
        };
        let matcher = program.as_ref().map_or(plan.plannable(), |program| &program.matcher);
        let planned = scoped_candidates(matcher, facts, backend, &view, branch, trace).and_then(|narrowed| {
            let mut narrowed = narrowed;
            narrowed.found.is_exact &= !is_rewritten && !plan.items.asks();
            let members = match &moment {
                Some(moment) => {
                    let groups = moment.at(at, view).groups();
                    if asks_computed && scope != Scope::BaseObject {
                        groups.add_computed_groups(&mut narrowed.found)?;
                    }
                    groups.plan(matcher, &narrowed)?
                }
                None => None,
            };
            let referrals = if has_referrals && scope != Scope::BaseObject {
                ids_of_classes(facts, &view, [&b"referral"[..]], ClassFlags::REFERRAL)?
            } else {
                IdSet::default()
            };
            Ok((narrowed, members, referrals))
        });
        let (narrowed, members, referrals) = planned.map_err(|problem| error::store_failure(&problem))?;
        plan.unindexed |= narrowed.is_unindexed && members.is_none();
        if let Some(all) = &mut plan.explanations {
            all.extend(explanation.map(Explanation::finish));
        }
        let Narrowed { found: Found { candidates, is_exact }, .. } = narrowed;
        plan.parts.push(Part {
            backend: at,
            base,
            scope,
            candidates,
            members,
            is_exact,
            seq: snapshot.seq(),
            is_everything,
            definitions,
            program,
            referrals,
            snapshot: Some(snapshot),
        });
        Ok(())
    }

    /// What entries of a backend are given, if filter or attributes ask for something of it, or for groups; and whether
    /// the filter does.
    fn definitions(
        &self,
        plan: &mut SearchPlan,
        known: &WorkerBackend,
        facts: &Arc<Facts>,
        at: BackendIndex,
        snapshot: &Snapshot,
        rights: &dyn ReadRights,
    ) -> Result<(Option<Arc<Definitions>>, bool), LdapResult> {
        // Where nothing is ever defined, this is all that it costs.
        if !known.classes.any(ClassFlags::DEFINITION) && !self.computed_service().has_tables() {
            return Ok((None, false));
        }
        let service = self.computed_service();
        let found = service.definitions(at, facts, &snapshot.view());
        let Some(found) = found.map_err(|problem| error::store_failure(&problem))? else { return Ok((None, false)) };
        let is_filtered = found.concern_filter(plan.plannable());
        if is_filtered || !plan.selection.given(Reader { facts, rights }, found.defined()).is_empty() {
            plan.ask(self.reading, found.is_costly());
        }
        Ok((plan.groups.is_some().then_some(found), is_filtered))
    }
}

impl SearchPlan {
    /// Groups, or what entries are given, will be asked for; `is_long` says that one entry may take long.
    pub(super) fn ask(&mut self, reading: &ReadContext, is_long: bool) {
        let now_unix_seconds = self.now_unix_seconds;
        let asking = || Asking { context: reading.clone(), now_unix_seconds, is_long };
        self.groups.get_or_insert_with(asking).is_long |= is_long;
    }
}

/// The filter as the planner takes it.
fn rewritten(
    moment: &ReadMoment,
    at: BackendIndex,
    view: View<'_>,
    matcher: &Matcher,
    entry_limit: u64,
) -> Result<Option<Box<Program>>, StoreError> {
    let Some(computed) = moment.at(at, view).given_values()? else { return Ok(None) };
    let branch_max = if entry_limit == 0 { RANGE_IDS_MAX } else { entry_limit };
    Ok(Some(Box::new(Program::of(&computed, matcher, branch_max, RANGE_IDS_MAX)?)))
}
