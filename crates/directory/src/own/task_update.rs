//! Updates below `cn=tasks`, read: an added entry is a task, a changed state cancels it.

use access::{Privilege, Question, Right};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ldap::{AddRequest, Dn, EntryRequest, LdapResult, ModifyOperation, ModifyRequest, ResultCode};
use schema::NormalizedDn;
use tasks::work::{Work, WorkFault};
use tasks::{Attributes, DependencyAction, Recurring, Schedule, State, Task, parse_start};

use super::task_change::TaskUpdate;
use super::task_entry::{OF_SERVER, TaskNames, of_recurring, of_task};
use super::tree::OwnAsker;
use crate::refusal::Refusal;
use query::error::{shown, store_failure};
use query::synthetic::SyntheticEntry;

/// Longest id of a task.
const ID_BYTES_MAX: usize = 128;

/// Who has one of these sees the tasks.
pub(super) const PRIVILEGES: [Privilege; 9] = [
    Privilege::ConfigRead,
    Privilege::LdifImport,
    Privilege::LdifExport,
    Privilege::BackendBackup,
    Privilege::BackendRestore,
    Privilege::ServerShutdown,
    Privilege::ServerRestart,
    Privilege::ServerLockdown,
    Privilege::DisconnectClient,
];

/// The privilege that a task takes.
fn privilege_of(work: &Work) -> Privilege {
    match work {
        Work::Rebuild { .. } => Privilege::LdifImport,
        Work::Export(_) => Privilege::LdifExport,
        Work::Shutdown { restart: true, .. } => Privilege::ServerRestart,
        Work::Shutdown { .. } => Privilege::ServerShutdown,
        Work::Disconnect { .. } => Privilege::DisconnectClient,
        Work::EnterLockdown | Work::LeaveLockdown => Privilege::ServerLockdown,
    }
}

/// Reads an update of the name `dn`.
pub(super) fn read_update(
    names: &TaskNames,
    asker: &OwnAsker<'_>,
    request: &EntryRequest<'_>,
    dn: &NormalizedDn,
) -> Result<TaskUpdate, LdapResult> {
    let place = Place::of(names, request.entry(), dn);
    match (request, place) {
        (EntryRequest::Add(request), Some(place)) => add(asker, request, place),
        (EntryRequest::Modify(request), Some(Place::Scheduled(id))) => {
            let update = modify(request, id.clone())?;
            let attribute = request.changes.iter().next().map(|change| change.attribute.description);
            let attribute = attribute.and_then(|description| asker.facts.schema.attribute_type(description));
            check_scheduled(asker, &id, attribute.map(|known| Question::attribute(Right::Write, known.index)))?;
            Ok(update)
        }
        (EntryRequest::Delete(_), Some(Place::Scheduled(id))) => {
            check_scheduled(asker, &id, Some(Question::entry(Right::Delete)))?;
            Ok(TaskUpdate::Remove(id))
        }
        (EntryRequest::Delete(_), Some(Place::Recurring(id))) => {
            let task = asker.tasks.recurring().into_iter().find(|task| task.id == id);
            let task = task.ok_or_else(|| Refusal::NoTask { id: id.clone() })?;
            check_privilege(asker, &task.attributes)?;
            check_right(asker, of_recurring(asker.facts, &task), Question::entry(Right::Delete))?;
            Ok(TaskUpdate::RemoveRecurring(id))
        }
        (EntryRequest::Modify(_) | EntryRequest::ModifyDn(_), Some(_)) => Err(Refusal::TaskOtherwise.into()),
        (_, None) => Err(Refusal::TaskPlace.into()),
    }
}

/// Whether the asker may do this with a task that is there.
fn check_scheduled(asker: &OwnAsker<'_>, id: &str, question: Option<Question<'_>>) -> Result<(), LdapResult> {
    let task = asker.tasks.task(id).ok_or_else(|| Refusal::NoTask { id: id.to_owned() })?;
    check_privilege(asker, &task.attributes)?;
    let question = question.ok_or(Refusal::TaskOtherwise)?;
    check_right(asker, of_task(asker.facts, &task), question)
}

/// Who may have a task done may also have it cancelled and forgotten.
fn check_privilege(asker: &OwnAsker<'_>, attributes: &Attributes) -> Result<(), LdapResult> {
    // What another version took and this one does not know, whoever may change the configuration removes.
    let needed = Work::read(attributes).map_or(Privilege::ConfigWrite, |work| privilege_of(&work));
    match asker.rights.has(needed) {
        true => Ok(()),
        false => Err(Refusal::TaskPrivilege { privilege: needed.name() }.into()),
    }
}

/// Which entry below `cn=tasks` a name names.
enum Place {
    Scheduled(String),
    Recurring(String),
}

impl Place {
    fn of(names: &TaskNames, written: &[u8], dn: &NormalizedDn) -> Option<Place> {
        let below = |parent: &NormalizedDn| parent.is_ancestor_or_equal(dn) && dn.len() == parent.len() + 1;
        let parsed = Dn::parse(std::str::from_utf8(written).ok()?).ok()?;
        let [ava] = parsed.rdn()?.avas() else { return None };
        let id = String::from_utf8(ava.value.to_vec()).ok()?;
        match &*ava.attribute.to_ascii_lowercase() {
            "ds-task-id" if below(&names.scheduled) => Some(Place::Scheduled(id)),
            "ds-recurring-task-id" if below(&names.recurring) => Some(Place::Recurring(id)),
            _ => None,
        }
    }
}

fn add(asker: &OwnAsker<'_>, request: &AddRequest<'_>, place: Place) -> Result<TaskUpdate, LdapResult> {
    let mut attributes = Attributes::default();
    for attribute in request.attributes.iter() {
        let name = shown(attribute.description);
        for value in attribute.values.iter() {
            let value = String::from_utf8(value.to_vec());
            attributes.add(&name, [value.map_err(|_| Refusal::TaskValue { attribute: name.clone() })?]);
        }
    }
    if let Some(attribute) = OF_SERVER.into_iter().find(|name| !attributes.values(name).is_empty()) {
        return Err(Refusal::TaskOfServer { attribute: attribute.to_owned() }.into());
    }
    let work = Work::read(&attributes).map_err(fault)?;
    check_privilege(asker, &attributes)?;
    let now = Timestamp::now();
    let by = asker.identity.dn().to_owned();
    let dependencies = attributes.remove("ds-task-dependency-id");
    let on_failure = match attributes.remove("ds-task-failed-dependency-action").first() {
        None => None,
        Some(value) => {
            Some(DependencyAction::parse(value).ok_or_else(|| Refusal::TaskAction { value: value.clone() })?)
        }
    };
    let start = attributes.remove("ds-task-scheduled-start-time");
    let start = start.first().map(|value| read_start(value)).transpose()?.flatten();
    let (scheduled, schedule) = (attributes.remove("ds-task-id"), attributes.remove("ds-recurring-task-schedule"));
    let recurring = attributes.remove("ds-recurring-task-id");
    let (id, named) = match &place {
        Place::Scheduled(id) => (id, &scheduled),
        Place::Recurring(id) => (id, &recurring),
    };
    let fits = named.iter().all(|other| other.eq_ignore_ascii_case(id));
    if !fits || id.is_empty() || id.len() > ID_BYTES_MAX || id.chars().any(char::is_control) {
        return Err(Refusal::TaskName.into());
    }
    let made = match (&place, schedule.as_slice()) {
        (Place::Scheduled(_), []) => {
            let mut task = Task::new(id, attributes, &by, now);
            (task.dependencies, task.on_failure, task.start) = (dependencies, on_failure, start);
            check_right(asker, of_task(asker.facts, &task), Question::entry(Right::Add))?;
            TaskUpdate::Add(Box::new(task), work)
        }
        (Place::Recurring(_), [schedule]) => {
            let schedule =
                Schedule::parse(schedule).map_err(|error| refused(ResultCode::CONSTRAINT_VIOLATION, &error))?;
            let id = id.clone();
            let task = Recurring { id, attributes, schedule, on_failure, dependencies, by, made: now, last: None };
            check_right(asker, of_recurring(asker.facts, &task), Question::entry(Right::Add))?;
            TaskUpdate::AddRecurring(Box::new(task), work)
        }
        (Place::Scheduled(_), _) => return Err(Refusal::TaskPlace.into()),
        (Place::Recurring(_), _) => return Err(fault(WorkFault::Missing("one ds-recurring-task-schedule"))),
    };
    Ok(made)
}

/// Whether access control allows this with the entry.
fn check_right(
    asker: &OwnAsker<'_>,
    entry: Result<SyntheticEntry, store::StoreError>,
    question: Question<'_>,
) -> Result<(), LdapResult> {
    let may = entry.and_then(|entry| {
        let rights = asker.rights.of_own_entries();
        rights.may(asker.facts, &entry.view()?, question)
    });
    match may {
        Ok(true) => Ok(()),
        Ok(false) => Err(Refusal::TaskRight.into()),
        Err(error) => Err(store_failure(&error)),
    }
}

fn modify(request: &ModifyRequest<'_>, id: String) -> Result<TaskUpdate, LdapResult> {
    let mut changes = request.changes.iter();
    let (Some(change), None) = (changes.next(), changes.next()) else { return Err(Refusal::TaskOtherwise.into()) };
    let mut values = change.attribute.values.iter().map(shown);
    let (Some(value), None) = (values.next(), values.next()) else { return Err(Refusal::TaskOtherwise.into()) };
    if change.operation != ModifyOperation::Replace {
        return Err(Refusal::TaskOtherwise.into());
    }
    let cancels = [State::CanceledBeforeStarting, State::StoppedByAdministrator];
    match &*shown(change.attribute.description).to_ascii_lowercase() {
        "ds-task-state" if State::parse(&value).is_some_and(|state| cancels.contains(&state)) => {
            Ok(TaskUpdate::Cancel(id))
        }
        "ds-task-scheduled-start-time" => Ok(TaskUpdate::Reschedule(id, read_start(&value)?)),
        _ => Err(Refusal::TaskOtherwise.into()),
    }
}

fn read_start(value: &str) -> Result<Option<Timestamp>, Refusal> {
    parse_start(value, &TimeZone::system()).ok_or_else(|| Refusal::TaskStart { value: value.to_owned() })
}

fn fault(fault: WorkFault) -> LdapResult {
    let code = match &fault {
        WorkFault::UnknownClass(_) | WorkFault::NotDone { .. } => ResultCode::UNWILLING_TO_PERFORM,
        WorkFault::NotOfClass { .. } | WorkFault::Missing(_) => ResultCode::OBJECT_CLASS_VIOLATION,
        WorkFault::Value { .. } => ResultCode::INVALID_ATTRIBUTE_SYNTAX,
        WorkFault::Several(_) => ResultCode::CONSTRAINT_VIOLATION,
    };
    refused(code, &fault)
}

/// A refusal with a sentence of another crate, which begins in lower case.
fn refused(code: ResultCode, problem: &dyn std::fmt::Display) -> LdapResult {
    Refusal::Task { code, problem: problem.to_string() }.into()
}
