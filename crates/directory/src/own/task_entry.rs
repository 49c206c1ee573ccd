//! A task as an entry: OpenDJ's classes and attributes.

use query::facts::Facts;
use query::own_names::TASKS_DN;
use query::synthetic::{Attributes, SyntheticEntry};
use schema::NormalizedDn;
use store::StoreError;
use tasks::work::Kind;
use tasks::{Recurring, State, Task, generalized};

/// Where tasks are.
pub(super) const SCHEDULED: &str = "Scheduled Tasks";
/// Where recurring tasks are.
pub(super) const RECURRING: &str = "Recurring Tasks";

/// Attributes that the server writes.
pub(super) const OF_SERVER: [&str; 5] = [
    "ds-task-state",
    "ds-task-actual-start-time",
    "ds-task-completion-time",
    "ds-task-log-message",
    "ds-task-processed-entry-count",
];

/// The names above tasks, and above recurring ones.
#[derive(Debug)]
pub(super) struct TaskNames {
    pub(super) scheduled: NormalizedDn,
    pub(super) recurring: NormalizedDn,
}

impl TaskNames {
    pub(super) fn new(facts: &Facts) -> Self {
        let name = |container: &str| {
            NormalizedDn::parse(&facts.schema, container_dn(container).as_bytes()).unwrap_or_default()
        };
        Self { scheduled: name(SCHEDULED), recurring: name(RECURRING) }
    }
}

/// The entry above tasks or recurring tasks, or above both (no name).
pub(super) fn container(facts: &Facts, name: &str, children: usize) -> Result<SyntheticEntry, StoreError> {
    let dn = if name.is_empty() { TASKS_DN.to_owned() } else { container_dn(name) };
    let mut attributes = Attributes::new();
    attributes.add("objectClass", ["top", "extensibleObject"]);
    attributes.add("cn", [if name.is_empty() { "tasks" } else { name }]);
    let mut entry = SyntheticEntry::new(facts, &dn, &attributes)?;
    entry.set_children(children as u64);
    Ok(entry)
}

fn container_dn(name: &str) -> String {
    format!("cn={name},{TASKS_DN}")
}

/// The entry of a task.
pub(super) fn of_task(facts: &Facts, task: &Task) -> Result<SyntheticEntry, StoreError> {
    let mut attributes = asked(&task.attributes, &task.by, &generalized(task.made));
    attributes.add("ds-task-id", [task.id.as_str()]);
    attributes.add("ds-task-state", [task.state.name()]);
    for (name, time) in [
        ("ds-task-scheduled-start-time", task.start),
        ("ds-task-actual-start-time", task.begun),
        ("ds-task-completion-time", task.ended),
    ] {
        attributes.add(name, time.map(generalized));
    }
    common(&mut attributes, &task.dependencies, task.on_failure);
    attributes.add("ds-task-log-message", task.messages.iter().map(String::as_str));
    attributes.add("ds-recurring-task-id", task.recurring.as_deref());
    if let Some(progress) = &task.progress {
        attributes.add("ds-task-processed-entry-count", [progress.entries.to_string()]);
        attributes.add("ds-task-phase", [progress.phase]);
        attributes.add("ds-task-phase-done", [progress.done.to_string()]);
        attributes.add("ds-task-phase-total", progress.total.map(|total| total.to_string()));
    }
    SyntheticEntry::new(facts, &dn("ds-task-id", &task.id, SCHEDULED), &attributes)
}

/// The entry of a recurring task.
pub(super) fn of_recurring(facts: &Facts, recurring: &Recurring) -> Result<SyntheticEntry, StoreError> {
    let mut attributes = asked(&recurring.attributes, &recurring.by, &generalized(recurring.made));
    attributes.add("ds-recurring-task-id", [recurring.id.as_str()]);
    attributes.add("ds-recurring-task-schedule", [recurring.schedule.text()]);
    attributes.add("ds-task-id", [recurring.id.as_str()]);
    attributes.add("ds-task-state", [State::Recurring.name()]);
    common(&mut attributes, &recurring.dependencies, recurring.on_failure);
    SyntheticEntry::new(facts, &dn("ds-recurring-task-id", &recurring.id, RECURRING), &attributes)
}

/// What was asked for, and by whom.
fn asked(written: &tasks::Attributes, by: &str, made: &str) -> Attributes {
    let mut attributes = Attributes::new();
    if written.values("objectClass").is_empty() {
        let class = Kind::of(written).ok().and_then(Kind::object_class);
        attributes.add("objectClass", ["top", "ds-task"].into_iter().chain(class));
    }
    for (name, values) in written.iter() {
        attributes.add(name, values.iter().map(String::as_str));
    }
    attributes.add("creatorsName", [by]);
    attributes.add("createTimestamp", [made]);
    attributes
}

fn common(attributes: &mut Attributes, dependencies: &[String], action: Option<tasks::DependencyAction>) {
    attributes.add("ds-task-dependency-id", dependencies.iter().map(String::as_str));
    attributes.add("ds-task-failed-dependency-action", action.map(|action| action.name()));
}

fn dn(attribute: &str, id: &str, container: &str) -> String {
    let mut dn = format!("{attribute}=");
    // Writing to a string does not fail.
    let _ = ldap::dn::write_escaped(&mut dn, id.as_bytes());
    dn.push(',');
    dn.push_str(&container_dn(container));
    dn
}
