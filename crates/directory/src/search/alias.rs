//! Dereferencing aliases below the base (RFC 4511 §4.5.1.3): what an alias in scope names becomes a base of its own.
//!
//! Everything here is for directories that have aliases; others are told apart before, at the cost of one flag.

use std::collections::BTreeSet;
use std::sync::Arc;

use ldap::{LdapResult, ResultCode, Scope};
use store::{EntryId, StoreError};

use super::context::SearchContext;
use super::plan_part::PartBase;
use super::refusal::SearchRefusal;
use super::search_plan::SearchPlan;
use super::worker::WorkerFor;
use query::backend::BackendIndex;
use query::base::{Following, alias_target, find_base, shows_target};
use query::class_flags::ClassFlags;
use query::class_ids::ids_of_classes;
use query::entry::{DnParts, EntryView, StoredAt};
use query::error;
use query::facts::Facts;
use query::rights::Reader;

/// Bases that aliases may add to one search.
const BASES_MAX: usize = 1_000;

const LEADS_NOWHERE: [ResultCode; 4] = [
    ResultCode::NO_SUCH_OBJECT,
    ResultCode::ALIAS_PROBLEM,
    ResultCode::ALIAS_DEREFERENCING_PROBLEM,
    ResultCode::LOOP_DETECT,
];

/// Adds the targets of all aliases in scope, and of those that come into scope by it. Each target is a base once, so
/// that circles end.
pub fn add_targets(
    context: &SearchContext<'_>,
    plan: &mut SearchPlan,
    worker: &mut WorkerFor<'_>,
    facts: &Arc<Facts>,
) -> Result<(), LdapResult> {
    let mut bases: BTreeSet<(BackendIndex, EntryId)> =
        plan.parts.iter().map(|part| (part.backend, part.base)).collect();
    let mut next = 0;
    while next < plan.parts.len() {
        let targets = targets_below(plan, worker, facts, next)?;
        let scope = plan.parts.get(next).map_or(Scope::BaseObject, |part| part.scope);
        // One level: the target stands for the alias. A subtree: so does everything below it.
        let scope = if scope == Scope::SingleLevel { Scope::BaseObject } else { Scope::WholeSubtree };
        for target in targets {
            let rights = worker.rights.clone();
            let following = Following { aliases: true, manage_dsa_it: true, scope: None, rights: &*rights };
            let found = match find_base(context.backends, facts, &target, "", following) {
                Ok(found) if found.hidden.is_some() => continue,
                Ok(found) => found,
                // An alias that leads nowhere or in a circle stands for nothing; the search goes on without it.
                Err(result) if LEADS_NOWHERE.contains(&result.code) => continue,
                Err(result) => return Err(result),
            };
            if !bases.insert((found.backend, found.id)) {
                continue;
            }
            if bases.len() > BASES_MAX {
                return Err(SearchRefusal::TooManyAliases { most: BASES_MAX }.into());
            }
            let base = PartBase { backend: found.backend, entry: found.id, scope, snapshot: found.snapshot };
            context.plan_part(plan, worker, facts, base)?;
        }
        next += 1;
    }
    Ok(())
}

fn targets_below(
    plan: &SearchPlan,
    worker: &mut WorkerFor<'_>,
    facts: &Facts,
    at: usize,
) -> Result<Vec<schema::NormalizedDn>, LdapResult> {
    let failure = |problem: StoreError| error::store_failure(&problem);
    let mut targets = Vec::new();
    let Some(part) = plan.parts.get(at) else { return Ok(targets) };
    let Some(snapshot) = &part.snapshot else { return Ok(targets) };
    let rights = worker.rights.clone();
    let reader = Reader { facts, rights: &*rights };
    let known = worker.backend(part.backend);
    // The base itself is found already: an alias there is not "below".
    if part.scope == Scope::BaseObject || !known.classes.any(ClassFlags::ALIAS) {
        return Ok(targets);
    }
    let view = snapshot.view();
    for id in ids_of_classes(facts, &view, [&b"alias"[..]], ClassFlags::ALIAS).map_err(failure)?.iter() {
        let Some(record) = view.entry(id).map_err(failure)? else { continue };
        let record = record.view().map_err(failure)?;
        let in_scope = match part.scope {
            Scope::SingleLevel => record.parent() == part.base,
            _ => id != part.base && known.names.is_within(&view, record.parent(), part.base).map_err(failure)?,
        };
        let source = StoredAt::new(part.backend, view);
        let entry = EntryView { id, record, dn: DnParts::default(), source: &source };
        if in_scope
            && shows_target(reader, &entry).map_err(failure)? == Some(true)
            && let Some(target) = alias_target(facts, &entry)
        {
            targets.push(target);
        }
    }
    Ok(targets)
}
