//! Updates of tasks: what was read of them is checked against the backends, and goes to the book.

use jiff::Timestamp;
use ldap::{LdapResult, ResultCode};
use schema::NormalizedDn;
use tasks::TaskRefusal;
use tasks::work::{Part, Work};

use super::context::UpdateContext;
use crate::own::TaskUpdate;
use crate::refusal::Refusal;

impl UpdateContext<'_> {
    /// Does what is asked with a task, and says what became of it. Waits for the disk.
    pub(super) fn update_task(&self, update: TaskUpdate) -> LdapResult {
        match self.try_update_task(update) {
            Ok(()) => LdapResult::success(),
            Err(refused) => refused,
        }
    }

    fn try_update_task(&self, update: TaskUpdate) -> Result<(), LdapResult> {
        let now = Timestamp::now();
        let book = self.tasks;
        let done = match update {
            TaskUpdate::Add(task, work) => {
                self.check_work(&work)?;
                book.add(*task, now)
            }
            TaskUpdate::AddRecurring(task, work) => {
                self.check_work(&work)?;
                book.add_recurring(*task, now)
            }
            TaskUpdate::Cancel(id) => book.cancel(&id, now),
            TaskUpdate::Reschedule(id, start) => book.reschedule(&id, start, now),
            TaskUpdate::Remove(id) => book.remove(&id, now),
            TaskUpdate::RemoveRecurring(id) => book.remove_recurring(&id, now),
        };
        done.map_err(|refusal| Refusal::Task { code: code_of(&refusal), problem: refusal.to_string() }.into())
    }

    /// Refuses a task that could never succeed.
    fn check_work(&self, work: &Work) -> Result<(), LdapResult> {
        match work {
            Work::Export(work) => {
                self.check_backend(&work.backend)?;
                self.check_part(&work.part)
            }
            Work::Rebuild { base_dn, .. } => {
                let name = self.name(base_dn)?;
                let mut bases = self.backends.iter().flat_map(|backend| &backend.suffixes);
                match bases.any(|base| base.normalized == name) {
                    true => Ok(()),
                    false => Err(unwilling(format!("no backend has the base DN \"{base_dn}\""))),
                }
            }
            _ => Ok(()),
        }
    }

    fn check_part(&self, part: &Part) -> Result<(), LdapResult> {
        for branch in part.include_branches.iter().chain(&part.exclude_branches) {
            self.name(branch)?;
        }
        for filter in part.include_filters.iter().chain(&part.exclude_filters) {
            ldap::filter::parse(filter).map_err(|error| unwilling(format!("\"{filter}\" is no filter: {error}")))?;
        }
        Ok(())
    }

    fn check_backend(&self, id: &str) -> Result<(), LdapResult> {
        match self.backends.iter().any(|backend| backend.id == id) {
            true => Ok(()),
            false => Err(unwilling(format!("there is no backend \"{id}\" in service"))),
        }
    }

    fn name(&self, dn: &str) -> Result<NormalizedDn, LdapResult> {
        let name = NormalizedDn::parse(&self.schema(), dn.as_bytes());
        name.map_err(|error| unwilling(format!("\"{dn}\" is no DN: {error}")))
    }
}

fn unwilling(problem: String) -> LdapResult {
    Refusal::Task { code: ResultCode::UNWILLING_TO_PERFORM, problem }.into()
}

fn code_of(refusal: &TaskRefusal) -> ResultCode {
    match refusal {
        TaskRefusal::Exists(_) => ResultCode::ENTRY_ALREADY_EXISTS,
        TaskRefusal::Unknown(_) => ResultCode::NO_SUCH_OBJECT,
        TaskRefusal::UnknownDependency(_)
        | TaskRefusal::Ended { .. }
        | TaskRefusal::Running(_)
        | TaskRefusal::Awaited { .. }
        | TaskRefusal::Never(_) => ResultCode::UNWILLING_TO_PERFORM,
        TaskRefusal::TooMany(_) | TaskRefusal::TooLarge { .. } => ResultCode::ADMIN_LIMIT_EXCEEDED,
        TaskRefusal::File(_) => ResultCode::UNAVAILABLE,
    }
}
