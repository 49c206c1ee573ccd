//! Undoing on a copy in memory: whether the directory as it is now takes the requests, and what stands in their way.
//!
//! The rules that judge are those of the server, `apply` itself: what passes here passes there, as long as nobody
//! changes anything in between. Beyond the rules it looks at one thing: an entry that was added and changed since is
//! not just deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use ldap::ldif::{LdifChange, LdifOperation};
use ldap::{LdapResult, ModifyOperation, ResultCode};
use schema::{AttributeDescription, NormalizedDn, Schema};
use store::{Content, EntryId, StoreError, Trial, View};

use super::entry_change::{EntryChange, Upkeep, upkeep};
use super::inverse::{inverse, permissive};
use crate::apply::normal_form;
use crate::history::ChangeKind;
use crate::tried_changes::TriedChanges;
use query::backend::Suffix;
use query::facts::Facts;
use query::locate::locate;

/// Differences of one entry that are shown.
const DIFFERENCES_SHOWN_MAX: usize = 5;

/// One change that is to be undone.
#[derive(Clone, Debug)]
pub struct Step {
    /// The change's number.
    pub number: u64,
    /// The entry's number in its backend.
    pub entry: EntryId,
    /// What was done.
    pub entry_change: EntryChange,
    /// Whether it followed another change that is undone before it.
    pub follows: bool,
}

/// What stands in the way of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// In a sentence.
    pub message: String,
    /// Whether the step can be done nevertheless, at the price of what was changed since.
    pub can_be_forced: bool,
}

/// How a step went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsed {
    /// The requests to be made, less exact ones where there are obstacles.
    pub requests: Vec<LdifChange>,
    /// What stands in the way; without force nothing of all is to be done then.
    pub obstacles: Vec<Obstacle>,
}

/// A copy of one backend on which changes are undone.
pub struct Rehearsal<'b> {
    trial: Trial<'b>,
    facts: Arc<Facts>,
    suffixes: Vec<Suffix>,
    changes: TriedChanges,
}

impl<'b> Rehearsal<'b> {
    /// Begins with the backend as it is now.
    #[must_use]
    pub fn new(trial: Trial<'b>, facts: Arc<Facts>, suffixes: Vec<Suffix>, root_dn: &str) -> Self {
        Self { trial, facts, suffixes, changes: TriedChanges::new(root_dn) }
    }

    /// Undoes one change.
    ///
    /// # Errors
    /// When the backend cannot be read.
    pub fn undo(&mut self, step: &Step) -> Result<Rehearsed, StoreError> {
        let mut done = Rehearsed::default();
        let mut entry_change = step.entry_change.clone();
        self.follow_name(step.entry, &mut entry_change, &mut done)?;
        let requests = match inverse(&self.facts, &entry_change) {
            Ok(requests) => requests,
            Err(lost) => {
                done.obstacles.push(Obstacle { message: lost.to_string(), can_be_forced: false });
                return Ok(done);
            }
        };
        if entry_change.kind == ChangeKind::Add {
            self.compare(&entry_change, &mut done)?;
        }
        for request in requests {
            let request = if step.follows { permissive(request) } else { request };
            match self.perform(&request)? {
                Ok(()) => done.requests.push(request),
                Err(result) => self.refused(step, request, &result, &mut done)?,
            }
        }
        Ok(done)
    }

    /// What is there now, to be looked at.
    pub fn look<T>(&mut self, read: impl FnOnce(&View<'_>) -> T) -> T {
        self.trial.look(read)
    }

    /// An entry that was renamed since, by a change that is not undone, is meant under its present name.
    fn follow_name(
        &mut self,
        id: EntryId,
        entry_change: &mut EntryChange,
        done: &mut Rehearsed,
    ) -> Result<(), StoreError> {
        let Some(now) = self.trial.look(|view| view.dn_of(id))? else { return Ok(()) };
        let schema = &self.facts.schema;
        let normal = |dn: &str| NormalizedDn::parse(schema, dn.as_bytes()).ok();
        if normal(&now) == normal(&entry_change.new_dn) {
            return Ok(());
        }
        if entry_change.kind == ChangeKind::ModifyDn {
            let message = format!("\"{}\" was renamed again: it is \"{now}\" now", entry_change.new_dn);
            done.obstacles.push(Obstacle { message, can_be_forced: true });
        } else {
            entry_change.dn.clone_from(&now);
        }
        entry_change.new_dn = now;
        Ok(())
    }

    /// What the entry that was added has become since.
    fn compare(&mut self, entry_change: &EntryChange, done: &mut Rehearsed) -> Result<(), StoreError> {
        let (facts, suffixes) = (Arc::clone(&self.facts), &self.suffixes);
        let Some(now) = self.trial.look(|view| client_values(view, &facts, suffixes, &entry_change.dn))? else {
            return Ok(());
        };
        let added = entry_change.edits.iter().filter(|edit| upkeep(&facts, &edit.description) == Upkeep::Client);
        let was: BTreeSet<Value> = added
            .flat_map(|edit| edit.added.iter().map(|value| Value::of(&facts.schema, &edit.description, value)))
            .collect();
        let differences = now.difference(&was).map(|it| ("has", it)).chain(was.difference(&now).map(|it| ("lost", it)));
        let differences: Vec<String> =
            differences.map(|(verb, value)| format!("{verb} {}", value.shown(&facts))).collect();
        if differences.is_empty() {
            return Ok(());
        }
        let mut told = differences.iter().take(DIFFERENCES_SHOWN_MAX).cloned().collect::<Vec<_>>().join(", ");
        if differences.len() > DIFFERENCES_SHOWN_MAX {
            told.push_str(&format!(" and {} more", differences.len() - DIFFERENCES_SHOWN_MAX));
        }
        let message =
            format!("\"{}\" was changed since it was added, and would be lost with that: it {told}", entry_change.dn);
        done.obstacles.push(Obstacle { message, can_be_forced: true });
        Ok(())
    }

    /// Tries again less exactly: to find out whether that helps, and because what comes next is judged on what would be
    /// then.
    fn refused(
        &mut self,
        step: &Step,
        request: LdifChange,
        result: &LdapResult,
        done: &mut Rehearsed,
    ) -> Result<(), StoreError> {
        let has_gone = matches!(request.operation, LdifOperation::Delete) && result.code == ResultCode::NO_SUCH_OBJECT;
        let mut obstacle = Obstacle { message: sentence(step, result), can_be_forced: has_gone };
        if !has_gone
            && let Some(forced) = self.forced(request)
            && self.perform(&forced)?.is_ok()
        {
            obstacle.can_be_forced = true;
            done.requests.push(forced);
        }
        done.obstacles.push(obstacle);
        Ok(())
    }

    /// The request that leads to the values from before, also if they were changed since.
    fn forced(&self, request: LdifChange) -> Option<LdifChange> {
        let LdifOperation::Modify(modifications) = &request.operation else { return None };
        let schema = &self.facts.schema;
        let is_single = |description: &str| {
            schema.type_of_description(description.as_bytes()).is_some_and(|attribute| attribute.is_single_value())
        };
        let mut wanted = modifications.clone();
        for modification in &mut wanted {
            if is_single(&modification.description) {
                // Deleted values of such an attribute come first; what is added then is what it had.
                if modification.operation == ModifyOperation::Delete {
                    modification.values.clear();
                }
                modification.operation = ModifyOperation::Replace;
            }
        }
        Some(permissive(LdifChange { operation: LdifOperation::Modify(wanted), ..request }))
    }

    fn perform(&mut self, request: &LdifChange) -> Result<Result<(), LdapResult>, StoreError> {
        Ok(self.changes.apply(&mut self.trial, request)?.map(drop))
    }
}

/// What the server says, as part of a list of what stands in the way.
fn sentence(step: &Step, result: &LdapResult) -> String {
    let dn = &step.entry_change.dn;
    match result.message.trim_end_matches('.') {
        "" => format!("\"{dn}\": {result}"),
        message if message.contains(dn) => message.to_owned(),
        message => format!("\"{dn}\": {message}"),
    }
}

/// A value by which entries are compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Value {
    description: String,
    normal: Box<[u8]>,
}

impl Value {
    fn of(schema: &Schema, description: &str, value: &[u8]) -> Value {
        let parsed = AttributeDescription::parse(schema, description.as_bytes()).ok();
        let attribute = parsed.as_ref().and_then(|it| schema.attribute_by_index(it.attribute?));
        let normal = normal_form(attribute.and_then(|it| it.equality), schema, value);
        Value { description: parsed.map_or_else(|| description.to_owned(), |it| it.canonical(schema)), normal }
    }

    fn shown(&self, facts: &Facts) -> String {
        let attribute = facts.schema.type_of_description(self.description.as_bytes());
        let is_secret = attribute.is_some_and(|it| facts.is_secret(it.index));
        match is_secret {
            true => format!("another {}", self.description),
            false => format!("{}: {}", self.description, query::error::shown(&self.normal)),
        }
    }
}

/// The values of an entry that clients write; none when there is no such entry.
fn client_values(
    view: &View<'_>,
    facts: &Facts,
    suffixes: &[Suffix],
    dn: &str,
) -> Result<Option<BTreeSet<Value>>, StoreError> {
    let Ok(name) = NormalizedDn::parse(&facts.schema, dn.as_bytes()) else { return Ok(None) };
    let holding = suffixes.iter().filter(|suffix| suffix.normalized.is_ancestor_or_equal(&name));
    let Some(suffix) = holding.max_by_key(|suffix| suffix.normalized.as_bytes().len()) else { return Ok(None) };
    let Some(id) = locate(view, &suffix.normalized, name.as_bytes())?.found() else { return Ok(None) };
    let Some(record) = view.entry(id)? else { return Ok(None) };
    let record = record.view()?;
    let mut values = BTreeSet::new();
    let mut large = Vec::new();
    record.for_each(&mut Vec::new(), |attribute| {
        let Some(description) = record.tables().description(attribute.desc) else { return };
        if upkeep(facts, description) != Upkeep::Client {
            return;
        }
        match attribute.content {
            Content::Inline(inline) => {
                values.extend(inline.iter().map(|value| Value::of(&facts.schema, description, value)));
            }
            Content::Large(_) => large.push((attribute.desc, description)),
        }
    });
    for (desc, description) in large {
        for found in view.large_values(id, desc)? {
            values.insert(Value::of(&facts.schema, description, &found?.1));
        }
    }
    Ok(Some(values))
}
