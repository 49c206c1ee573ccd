//! The bases of a search: the entry that the request names, the base entries of other backends below it, what aliases
//! lead to.

use std::sync::Arc;

use ldap::{LdapResult, ResultCode, Scope};
use store::StoreError;

use super::alias;
use super::asked::Asked;
use super::context::SearchContext;
use super::plan_part::PartBase;
use super::search_plan::SearchPlan;
use super::worker::{KnownBase, WorkerFor};
use query::backend::{BackendIndex, Suffix, holder, numbered};
use query::base::Following;
use query::error;
use query::facts::Facts;
use query::rights::Answer;

impl SearchContext<'_> {
    /// Finds all bases of a search, and the candidates below each.
    pub(super) fn plan_entries(
        &self,
        plan: &mut SearchPlan,
        worker: &mut WorkerFor<'_>,
        asked: &Asked<'_, '_, '_>,
    ) -> Result<(), LdapResult> {
        let (facts, scope) = (asked.facts, asked.request.scope);
        // Below the root DSE are the suffixes (as in OpenDJ): one level is their base entries, a subtree all entries.
        if worker.base.is_root() {
            return match plan.shows {
                Answer::No => Ok(()),
                Answer::Yes | Answer::Ask => self.plan_all_suffixes(plan, worker, facts, scope),
            };
        }
        let base = self.base_entry(plan, worker, asked, scope)?;
        self.plan_part(plan, worker, facts, base)?;
        if scope != Scope::BaseObject {
            self.plan_suffixes_below(plan, worker, facts, scope)?;
        }
        if plan.visibility.in_searching {
            alias::add_targets(self, plan, worker, facts)?;
        }
        Ok(())
    }

    /// The base entry, from memory when it was the last one's too; `scope` is what is searched of it.
    pub(super) fn base_entry(
        &self,
        plan: &mut SearchPlan,
        worker: &mut WorkerFor<'_>,
        asked: &Asked<'_, '_, '_>,
        scope: Scope,
    ) -> Result<PartBase, LdapResult> {
        let (facts, request) = (asked.facts, asked.request);
        let failure = |problem: StoreError| error::store_failure(&problem);
        if let (Answer::Yes, Some((at, _))) = (plan.shows, holder(self.backends, worker.base.as_bytes())) {
            let Some(backend) = self.backends.get(at.0) else { return Err(error::no_such_object("", "")) };
            let snapshot = backend.store.snapshot().map_err(failure)?;
            let base = std::mem::take(&mut worker.base);
            let known = worker.backend(at).known_base(facts, &snapshot, base.as_bytes());
            worker.base = base;
            if let Some(id) = known.map_err(failure)? {
                return Ok(PartBase { backend: at, entry: id, scope, snapshot });
            }
        }
        let following = Following {
            aliases: request.deref_aliases.finding_base(),
            manage_dsa_it: asked.wanted.manage_dsa_it,
            scope: Some(request.scope),
            rights: &*worker.rights,
        };
        let found = self.find_base(facts, &worker.base, request.base, following)?;
        let finds_aliases = following.aliases;
        plan.hidden_base = found.hidden;
        if plan.shows == Answer::No
            && let Some(missing) = plan.hidden_base.take()
        {
            plan.masked = Some(ResultCode::SUCCESS);
            return Err(*missing);
        }
        let dn = worker.base.as_bytes().to_vec();
        let holder = holder(self.backends, &dn).map(|(at, _)| at);
        // An alias may have led elsewhere: then the name does not stand for this entry.
        if holder == Some(found.backend) && !finds_aliases {
            let (generation, seq) = (found.snapshot.tree_generation(), found.snapshot.seq());
            worker.backend(found.backend).base = Some(KnownBase { dn, id: found.id, generation, seq });
        }
        Ok(PartBase { backend: found.backend, entry: found.id, scope, snapshot: found.snapshot })
    }

    fn plan_all_suffixes(
        &self,
        plan: &mut SearchPlan,
        worker: &mut WorkerFor<'_>,
        facts: &Arc<Facts>,
        scope: Scope,
    ) -> Result<(), LdapResult> {
        for (at, backend) in numbered(self.backends) {
            for suffix in &backend.suffixes {
                let scope = match scope {
                    Scope::SingleLevel if suffix.is_root() => Scope::SingleLevel,
                    Scope::SingleLevel => Scope::BaseObject,
                    _ => Scope::WholeSubtree,
                };
                self.plan_suffix(plan, worker, facts, at, suffix, scope)?;
            }
        }
        Ok(())
    }

    /// Other backends may hold suffixes below the base: a subtree includes them, one level those right below.
    fn plan_suffixes_below(
        &self,
        plan: &mut SearchPlan,
        worker: &mut WorkerFor<'_>,
        facts: &Arc<Facts>,
        scope: Scope,
    ) -> Result<(), LdapResult> {
        if self.backends.iter().map(|backend| backend.suffixes.len()).sum::<usize>() <= 1 {
            return Ok(());
        }
        let base = worker.base.clone();
        for (at, backend) in numbered(self.backends) {
            for suffix in &backend.suffixes {
                let is_wanted = match scope {
                    Scope::BaseObject => false,
                    Scope::SingleLevel => suffix.normalized.parent().as_ref() == Some(&base),
                    Scope::WholeSubtree | Scope::SubordinateSubtree => base.is_ancestor_of(&suffix.normalized),
                };
                if is_wanted {
                    let scope = if scope == Scope::SingleLevel { Scope::BaseObject } else { Scope::WholeSubtree };
                    self.plan_suffix(plan, worker, facts, at, suffix, scope)?;
                }
            }
        }
        Ok(())
    }

    fn plan_suffix(
        &self,
        plan: &mut SearchPlan,
        worker: &mut WorkerFor<'_>,
        facts: &Arc<Facts>,
        at: BackendIndex,
        suffix: &Suffix,
        scope: Scope,
    ) -> Result<(), LdapResult> {
        let Some(backend) = self.backends.get(at.0) else { return Ok(()) };
        let failure = |problem: StoreError| error::store_failure(&problem);
        let snapshot = backend.store.snapshot().map_err(failure)?;
        match suffix.top(&snapshot.view()).map_err(failure)? {
            Some(entry) => self.plan_part(plan, worker, facts, PartBase { backend: at, entry, scope, snapshot }),
            // A suffix without its base entry has no entries.
            None => Ok(()),
        }
    }
}
