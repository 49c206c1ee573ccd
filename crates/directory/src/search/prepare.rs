//! Planning a search: everything that can refuse it, then the candidates.
//!
//! Invariant: on the way of a search with one base and few candidates nothing is allocated that the worker could keep.

use std::sync::Arc;
use std::time::Duration;

use ldap::{Controls, LdapResult, ResultCode, Scope, SearchRequest};
use schema::MatchContext;
use store::{EntryId, Snapshot, StoreError, View};

use super::advice::{self, Went};
use super::explain;
use super::explanation::Explanation;
use super::output::SearchDone;
use super::part::Part;
use super::request_time::RequestTime;
use super::search_plan::{Asking, Limits, SearchPlan};
use super::visible::Visibility;
use super::worker::{KnownBase, Worker};
use super::{alias, persistent};
use crate::controls::ReadControls;
use crate::directory::Directory;
use crate::session::Session;
use access::Access;
use access::limits::SessionLimits;
use query::backend::Backend;
use query::base::{Following, find_base};
use query::class_flags::ClassFlags;
use query::class_ids::ids_of_classes;
use query::computed::{Definitions, Program};
use query::entry::{DnParts, EntryView};
use query::error;
use query::facts::Facts;
use query::filter::{Asker, ItemRights};
use query::filter::{FilterScratch, Matcher, Truth};
use query::id_set::IdSet;
use query::plan::{Branch, Narrowed, scoped_candidates};
use query::plan::{Found, RANGE_IDS_MAX};
use query::read_moment::{ReadAt, ReadMoment};
use query::rights::Reader;

/// OpenDJ's words.
const UNINDEXED_REFUSED: &str = "You do not have sufficient privileges to perform an unindexed search";

impl Directory {
    /// Decides what a search has to look at. The plan is run by [`SearchPlan::run`], here or on another thread.
    ///
    /// # Errors
    /// How the search ended when it is refused or refers elsewhere.
    pub fn plan_search(
        &self,
        worker: &mut Worker,
        session: &Session,
        message_id: i32,
        request: &SearchRequest<'_>,
        controls: &Controls<'_>,
        time: RequestTime,
    ) -> Result<Box<SearchPlan>, Box<SearchDone>> {
        let mut plan = worker.plans.pop().unwrap_or_default();
        match self.fill_plan(&mut plan, worker, session, message_id, request, controls, time) {
            Ok(()) => Ok(plan),
            Err(result) => {
                let done = SearchDone { unindexed: plan.unindexed, ..SearchDone::of(result) };
                worker.recycle(plan);
                Err(Box::new(done))
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one request")]
    fn fill_plan(
        &self,
        plan: &mut SearchPlan,
        worker: &mut Worker,
        session: &Session,
        message_id: i32,
        request: &SearchRequest<'_>,
        controls: &Controls<'_>,
        time: RequestTime,
    ) -> Result<(), LdapResult> {
        let wanted = ReadControls::read(controls, true)?;
        let facts = self.facts();
        let context = MatchContext { now_unix_seconds: time.unix_seconds };
        worker.take_base(&facts, request.base)?;
        let own = self.limits_finder(&facts).of_session(session, time.started);
        own.check_filters([&request.filter])?;
        own.check_filters(wanted.filters())?;
        self.compile(plan, &facts, session, message_id, request, &wanted, &own, time)?;
        let access = plan.access;
        if plan.is_refused() {
            return Ok(());
        }
        if self.plan_synthetic(plan, worker, &facts, request, &wanted, context)? {
            return if wanted.persistent.is_some() { Err(persistent::refuse_own_entries()) } else { Ok(()) };
        }
        access.check_entries()?;
        if let Some(asked) = wanted.persistent.filter(|_| !explain::is_asked(request)) {
            plan.persistent = Some(self.admit_persistent(session, request, asked)?);
        }
        let is_changes_only = plan.persistent.as_ref().is_some_and(|persistent| persistent.asked.changes_only);
        plan.explanations = explain::is_asked(request).then(Vec::new);
        if is_changes_only {
            self.plan_base(plan, worker, &facts, request, &wanted)?;
        } else {
            self.plan_entries(plan, worker, &facts, request, &wanted)?;
        }
        if plan.is_persistent() {
            self.note_parts(plan, worker.base.is_root(), &facts)?;
        }
        if let Some(assertion) = &wanted.assertion {
            self.check_assertion(plan, worker, &facts, assertion, context)?;
        }
        if is_changes_only {
            plan.skip_first_part();
            return Ok(());
        }
        if let Some(explanations) = plan.explanations.take() {
            return explain::answer(plan, &facts, request, &explanations);
        }
        let is_refused = plan.unindexed && !access.may_search_unindexed() && !own.unindexed_search;
        if plan.unindexed || plan.candidate_count() > advice::EXAMINED_MIN {
            let is_secret = |name: &[u8]| facts.schema.attribute_type(name).is_some_and(|it| facts.is_secret(it.index));
            plan.costly = Some(Box::new(advice::Costly::new(request, time, &self.shapes, is_secret)));
        }
        if is_refused {
            plan.record_advice(Went { is_unindexed: true, is_refused, ..Went::default() });
            return Err(LdapResult::new(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, UNINDEXED_REFUSED));
        }
        Ok(())
    }

    /// Takes what the request says of entries, of whichever: who asks, filter, attributes, limits.
    #[allow(clippy::too_many_arguments, reason = "the parts of one request")]
    pub(super) fn compile(
        &self,
        plan: &mut SearchPlan,
        facts: &Arc<Facts>,
        session: &Session,
        message_id: i32,
        request: &SearchRequest<'_>,
        wanted: &ReadControls<'_>,
        own: &SessionLimits,
        time: RequestTime,
    ) -> Result<(), LdapResult> {
        let access = Access::of(&session.identity);
        let context = MatchContext { now_unix_seconds: time.unix_seconds };
        plan.message_id = message_id;
        plan.access = access;
        plan.visibility = Visibility {
            manage_dsa_it: wanted.manage_dsa_it,
            subentries: wanted.subentries,
            in_searching: request.deref_aliases.in_searching(),
        };
        plan.limits = limits(own, request, time);
        plan.matcher.compile(facts, &request.filter, context);
        plan.items = ItemRights::of(&plan.matcher, facts, &access);
        plan.allowed = (!plan.items.is_all()).then(|| Box::new(plan.matcher.without(&plan.items)));
        plan.selection.restart(facts, request.attributes.iter(), request.types_only);
        plan.selection.remember_in(&self.range_cursors);
        plan.facts = Some(facts.clone());
        plan.backends = Some(self.backends.clone());
        plan.now_unix_seconds = time.unix_seconds;
        if plan.matcher.needs_groups() || plan.selection.asks_for_groups() {
            plan.ask(self, true);
        }
        if wanted.presentation.is_some() {
            self.arrange(plan, facts, request, wanted, own, context)?;
        }
        Ok(())
    }

    fn plan_entries(
        &self,
        plan: &mut SearchPlan,
        worker: &mut Worker,
        facts: &Arc<Facts>,
        request: &SearchRequest<'_>,
        wanted: &ReadControls<'_>,
    ) -> Result<(), LdapResult> {
        // Below the root DSE are the suffixes (as in OpenDJ): one level is their base entries, a subtree all entries.
        if worker.base.is_root() {
            return self.plan_all_suffixes(plan, worker, facts, request.scope);
        }
        let (backend, id, snapshot) = self.base_entry(worker, facts, request, wanted)?;
        self.plan_part(plan, worker, facts, backend, id, request.scope, snapshot)?;
        if request.scope != Scope::BaseObject {
            self.plan_suffixes_below(plan, worker, facts, request.scope)?;
        }
        if plan.visibility.in_searching {
            alias::add_targets(self, plan, worker, facts)?;
        }
        Ok(())
    }

    /// The base entry, from memory when it was the last one's too.
    pub(super) fn base_entry(
        &self,
        worker: &mut Worker,
        facts: &Arc<Facts>,
        request: &SearchRequest<'_>,
        wanted: &ReadControls<'_>,
    ) -> Result<(usize, EntryId, Snapshot), LdapResult> {
        let failure = |problem: StoreError| error::store_failure(&problem);
        if let Some((at, _)) = query::backend::holder(&self.backends, worker.base.as_bytes()) {
            let Some(backend) = self.backends.get(at) else { return Err(error::no_such_object("", "")) };
            let snapshot = backend.store.snapshot().map_err(failure)?;
            let base = std::mem::take(&mut worker.base);
            let known = worker.backend(at).known_base(facts, &snapshot, base.as_bytes());
            worker.base = base;
            if let Some(id) = known.map_err(failure)? {
                return Ok((at, id, snapshot));
            }
        }
        let shown = String::from_utf8_lossy(request.base);
        let following = Following {
            aliases: request.deref_aliases.finding_base(),
            manage_dsa_it: wanted.manage_dsa_it,
            scope: Some(request.scope),
        };
        let found = find_base(&self.backends, facts, &worker.base, &shown, following)?;
        let dn = worker.base.as_bytes().to_vec();
        let holder = query::backend::holder(&self.backends, &dn).map(|(at, _)| at);
        // An alias may have led elsewhere: then the name does not stand for this entry.
        if holder == Some(found.backend) && !following.aliases {
            let (generation, seq) = (found.snapshot.tree_generation(), found.snapshot.seq());
            worker.backend(found.backend).base = Some(KnownBase { dn, id: found.id, generation, seq });
        }
        Ok((found.backend, found.id, found.snapshot))
    }

    fn plan_all_suffixes(
        &self,
        plan: &mut SearchPlan,
        worker: &mut Worker,
        facts: &Arc<Facts>,
        scope: Scope,
    ) -> Result<(), LdapResult> {
        let scope = if scope == Scope::SingleLevel { Scope::BaseObject } else { Scope::WholeSubtree };
        for (at, backend) in self.backends.iter().enumerate() {
            for suffix in &backend.suffixes {
                self.plan_suffix(plan, worker, facts, at, suffix.normalized.as_bytes(), scope)?;
            }
        }
        Ok(())
    }

    /// Other backends may hold suffixes below the base: a subtree includes them, one level those right below.
    fn plan_suffixes_below(
        &self,
        plan: &mut SearchPlan,
        worker: &mut Worker,
        facts: &Arc<Facts>,
        scope: Scope,
    ) -> Result<(), LdapResult> {
        if self.backends.iter().map(|backend| backend.suffixes.len()).sum::<usize>() <= 1 {
            return Ok(());
        }
        let base = worker.base.clone();
        for (at, backend) in self.backends.iter().enumerate() {
            for suffix in &backend.suffixes {
                let is_wanted = match scope {
                    Scope::BaseObject => false,
                    Scope::SingleLevel => suffix.normalized.parent().as_ref() == Some(&base),
                    Scope::WholeSubtree | Scope::SubordinateSubtree => base.is_ancestor_of(&suffix.normalized),
                };
                if is_wanted {
                    let scope = if scope == Scope::SingleLevel { Scope::BaseObject } else { Scope::WholeSubtree };
                    self.plan_suffix(plan, worker, facts, at, suffix.normalized.as_bytes(), scope)?;
                }
            }
        }
        Ok(())
    }

    fn plan_suffix(
        &self,
        plan: &mut SearchPlan,
        worker: &mut Worker,
        facts: &Arc<Facts>,
        at: usize,
        suffix: &[u8],
        scope: Scope,
    ) -> Result<(), LdapResult> {
        let Some(backend) = self.backends.get(at) else { return Ok(()) };
        let failure = |problem: StoreError| error::store_failure(&problem);
        let snapshot = backend.store.snapshot().map_err(failure)?;
        match snapshot.child(EntryId::ROOT, suffix).map_err(failure)? {
            Some(id) => self.plan_part(plan, worker, facts, at, id, scope, snapshot),
            // A suffix without its base entry has no entries.
            None => Ok(()),
        }
    }

    /// Finds the candidates below one base and adds them to the plan.
    #[allow(clippy::too_many_arguments, reason = "a base is a backend, an entry and a moment")]
    pub(super) fn plan_part(
        &self,
        plan: &mut SearchPlan,
        worker: &mut Worker,
        facts: &Arc<Facts>,
        at: usize,
        base: EntryId,
        scope: Scope,
        snapshot: Snapshot,
    ) -> Result<(), LdapResult> {
        let Some(backend) = self.backends.get(at) else { return Ok(()) };
        let known = worker.backend(at);
        known.refresh(facts, &snapshot);
        known.find_suffix_entry(backend, &snapshot).map_err(|problem| error::store_failure(&problem))?;
        let has_referrals = known.classes.any(ClassFlags::REFERRAL) && !plan.visibility.manage_dsa_it;
        // Only where there are groups that do not list their members: others pay nothing.
        let has_computed = known.classes.any(self.group_options.answering());
        let tells_members = !plan.selection.members().is_empty() && self.group_options.shows_members();
        if has_computed && (plan.matcher.asks_for_members() || tells_members) {
            plan.ask(self, true);
        }
        let (definitions, is_rewritten) = self.definitions(plan, known, facts, at, &snapshot)?;
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

    /// What entries of a backend are given, if filter or attributes ask for something of it, or for groups; and whether the filter does.
    fn definitions(
        &self,
        plan: &mut SearchPlan,
        known: &super::worker::WorkerBackend,
        facts: &Arc<Facts>,
        at: usize,
        snapshot: &Snapshot,
    ) -> Result<(Option<Arc<Definitions>>, bool), LdapResult> {
        // Where nothing is ever defined, this is all that it costs.
        if !known.classes.any(ClassFlags::DEFINITION) && !self.computed_service().has_tables() {
            return Ok((None, false));
        }
        let service = self.computed_service();
        let found = service.definitions(at, facts, &snapshot.view());
        let Some(found) = found.map_err(|problem| error::store_failure(&problem))? else { return Ok((None, false)) };
        let (access, facts) = (plan.access, Arc::clone(facts));
        let reader = Reader { facts: &facts, rights: &access };
        let is_filtered = found.concern_filter(plan.plannable());
        if is_filtered || !plan.selection.given(reader, found.defined()).is_empty() {
            plan.ask(self, found.is_costly());
        }
        Ok((plan.groups.is_some().then_some(found), is_filtered))
    }

    /// RFC 4528: the search is done only if its base entry matches.
    fn check_assertion(
        &self,
        plan: &SearchPlan,
        worker: &mut Worker,
        facts: &Facts,
        assertion: &ldap::Filter<'_>,
        context: MatchContext,
    ) -> Result<(), LdapResult> {
        let Some(part) = plan.parts.first() else { return Ok(()) };
        let Some(snapshot) = &part.snapshot else { return Ok(()) };
        let known = worker.backend(part.backend);
        let moment = self.reading.moment(&self.facts(), context.now_unix_seconds);
        let source = moment.at(part.backend, snapshot.view());
        let truth = entry_truth(plan.access, known, facts, part.base, &snapshot.view(), &source, assertion, context);
        asserted(truth)
    }
}

/// The filter as the planner takes it.
fn rewritten(
    moment: &ReadMoment,
    at: usize,
    view: View<'_>,
    matcher: &Matcher,
    entry_limit: u64,
) -> Result<Option<Box<Program>>, StoreError> {
    let Some(computed) = moment.at(at, view).given_values()? else { return Ok(None) };
    let branch_max = if entry_limit == 0 { RANGE_IDS_MAX } else { entry_limit };
    Ok(Some(Box::new(Program::of(&computed, matcher, branch_max, RANGE_IDS_MAX)?)))
}

impl SearchPlan {
    /// Groups, or what entries are given, will be asked for; `is_long` says that one entry may take long.
    fn ask(&mut self, directory: &Directory, is_long: bool) {
        let now_unix_seconds = self.now_unix_seconds;
        let context = || directory.reading.clone();
        let asking = self.groups.get_or_insert_with(|| Asking { context: context(), now_unix_seconds, is_long });
        asking.is_long |= is_long;
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

/// What an assertion control's filter means for one entry.
#[allow(clippy::too_many_arguments, reason = "an entry is a place in a view")]
fn entry_truth(
    access: Access,
    known: &mut super::worker::WorkerBackend,
    facts: &Facts,
    id: EntryId,
    view: &View<'_>,
    source: &ReadAt<'_>,
    assertion: &ldap::Filter<'_>,
    context: MatchContext,
) -> Result<Truth, StoreError> {
    let mut matcher = Matcher::default();
    matcher.compile(facts, assertion, context);
    let items = ItemRights::of(&matcher, facts, &access);
    let asker = Asker { rights: &access, items: &items };
    let Some(record) = view.entry(id)? else { return Ok(Truth::False) };
    let record = record.view()?;
    let parent = known.names.dn(view, record.parent())?.unwrap_or_default();
    let entry = EntryView { id, record, dn: DnParts { rdn: record.rdn(), parent }, source };
    matcher.matches(facts, &entry, asker, &mut FilterScratch::default())
}

pub(super) fn asserted(truth: Result<Truth, StoreError>) -> Result<(), LdapResult> {
    match truth {
        Ok(Truth::True) => Ok(()),
        Ok(_) => Err(LdapResult::new(
            ResultCode::ASSERTION_FAILED,
            "The entry does not match the filter of the assertion control",
        )),
        Err(problem) => Err(error::store_failure(&problem)),
    }
}

impl super::worker::WorkerBackend {
    /// Brings what is kept up to the schema and the tree of this moment.
    pub(super) fn refresh(&mut self, facts: &Arc<Facts>, snapshot: &Snapshot) {
        if !self.facts.as_ref().is_some_and(|known| Arc::ptr_eq(known, facts)) {
            self.classes.clear();
            self.base = None;
            self.facts = Some(facts.clone());
        }
        self.classes.refresh(facts, snapshot.tables());
        self.names.keep_if(snapshot.tree_generation());
    }

    /// Finds the base entry of a backend that has but one: below it is everything, and scope needs no look at the tree.
    fn find_suffix_entry(&mut self, backend: &Backend, snapshot: &Snapshot) -> Result<(), StoreError> {
        let generation = snapshot.tree_generation();
        if self.suffix_generation != Some(generation) {
            self.suffix_entry = match backend.suffixes.as_slice() {
                [only] => snapshot.child(EntryId::ROOT, only.normalized.as_bytes())?,
                _ => None,
            };
            self.suffix_generation = Some(generation);
        }
        Ok(())
    }

    fn known_base(
        &mut self,
        facts: &Arc<Facts>,
        snapshot: &Snapshot,
        dn: &[u8],
    ) -> Result<Option<EntryId>, StoreError> {
        self.refresh(facts, snapshot);
        let Some(base) = &mut self.base else { return Ok(None) };
        let is_same = base.dn == dn && base.generation == snapshot.tree_generation();
        // Where there are referrals or aliases, one may have come to stand on the way.
        if !is_same || self.classes.any(ClassFlags::REFERRAL.with(ClassFlags::ALIAS)) {
            return Ok(None);
        }
        // Nothing was changed since it was seen, or it is looked for again.
        if base.seq != snapshot.seq() {
            if snapshot.entry(base.id)?.is_none() {
                return Ok(None);
            }
            base.seq = snapshot.seq();
        }
        Ok(Some(base.id))
    }
}
