//! The tasks of a server as a client sees them: read, added and cancelled over LDAP.

use ldap::ldif::{AttributeLines, LdifChange, LdifModification, LdifOperation};
use ldap::{LdapResult, ModifyOperation, ResultCode, Scope};
use tasks::State;
use tasks::work::Kind;

use crate::client::{Client, Found, refusal};
use crate::failure::Failure;

const SCHEDULED: &str = "cn=Scheduled Tasks,cn=tasks";
const RECURRING: &str = "cn=Recurring Tasks,cn=tasks";

/// A task that was found.
pub struct TaskEntry(Found);

impl TaskEntry {
    pub fn values(&self, name: &str) -> &[String] {
        self.0.values(name)
    }

    pub fn first(&self, name: &str) -> Option<&str> {
        self.values(name).first().map(String::as_str)
    }

    pub fn id(&self) -> &str {
        self.first("ds-task-id").unwrap_or_default()
    }

    /// What people call what it does.
    pub fn title(&self) -> &str {
        let class = self.first("ds-task-class-name").unwrap_or_default();
        match Kind::parse(class) {
            Ok(kind) => kind.title(),
            Err(_) => class,
        }
    }

    /// What it was asked to do, by names as manage-tasks shows them: `LDIF file`.
    pub fn options(&self) -> Vec<(String, &[String])> {
        let kind = self.first("ds-task-class-name").and_then(|class| Kind::parse(class).ok());
        let Some(class) = kind.and_then(Kind::object_class) else { return Vec::new() };
        let of_work = self.0.attributes().filter_map(|(name, values)| {
            let option = name.strip_prefix(class)?.strip_prefix('-')?.replace('-', " ");
            Some((option, values))
        });
        of_work.collect()
    }

    /// None for a state that this version does not know.
    pub fn state(&self) -> Option<State> {
        self.first("ds-task-state").and_then(State::parse)
    }

    pub fn state_words(&self) -> &str {
        match self.state() {
            Some(state) => state.words(),
            None => self.first("ds-task-state").unwrap_or_default(),
        }
    }
}

fn dn(attribute: &str, id: &str, below: &str) -> String {
    let mut dn = format!("{attribute}=");
    // Writing to a string does not fail.
    let _ = ldap::dn::write_escaped(&mut dn, id.as_bytes());
    format!("{dn},{below}")
}

fn change(dn: String, operation: LdifOperation) -> LdifChange {
    LdifChange { dn, line: 0, controls: Vec::new(), operation }
}

/// All tasks, those of schedules last.
pub fn all(client: &mut Client) -> Result<Vec<TaskEntry>, Failure> {
    let mut tasks = Vec::new();
    for below in [SCHEDULED, RECURRING] {
        tasks.extend(client.search(below, Scope::SingleLevel, "(objectClass=*)", &["*"])?.into_iter().map(TaskEntry));
    }
    Ok(tasks)
}

/// The task of that id.
pub fn find(client: &mut Client, id: &str) -> Result<Option<TaskEntry>, Failure> {
    Ok(all(client)?.into_iter().find(|task| task.id() == id))
}

/// Adds a task, by a schedule if one is given.
pub fn add(
    client: &mut Client,
    id: &str,
    schedule: Option<&str>,
    attributes: &[(&str, String)],
) -> Result<(), Failure> {
    let lines = attributes.iter().map(|(name, value)| (*name, value.as_bytes()));
    let dn = match schedule {
        None => dn("ds-task-id", id, SCHEDULED),
        Some(_) => dn("ds-recurring-task-id", id, RECURRING),
    };
    done("adding the task", client.change(&change(dn, LdifOperation::Add(AttributeLines::from_parts(lines))))?)
}

/// Cancels a task that waits or runs; ends a schedule.
pub fn cancel(client: &mut Client, task: &TaskEntry) -> Result<(), Failure> {
    let id = task.id();
    let wanted = match task.state() {
        Some(State::Recurring) => {
            let change = change(dn("ds-recurring-task-id", id, RECURRING), LdifOperation::Delete);
            return done("canceling the task", client.change(&change)?);
        }
        Some(State::Running) => State::StoppedByAdministrator,
        Some(state) if state.is_done() => {
            return Err(Failure::new(format_args!("Task '{id}' has finished and cannot be canceled")));
        }
        _ => State::CanceledBeforeStarting,
    };
    let modification = LdifModification {
        operation: ModifyOperation::Replace,
        description: "ds-task-state".to_owned(),
        values: vec![wanted.name().into()],
        line: 0,
    };
    let change = change(dn("ds-task-id", id, SCHEDULED), LdifOperation::Modify(vec![modification]));
    done("canceling the task", client.change(&change)?)
}

fn done(what: &str, result: LdapResult) -> Result<(), Failure> {
    match result.code {
        ResultCode::SUCCESS => Ok(()),
        _ => Err(refusal(what, &result)),
    }
}
