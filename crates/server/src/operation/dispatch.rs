//! Who executes which operation.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use directory::{Admitted, Bound, Identity, Privilege, RequestTime, Revoked, Session};
use ldap::oids::control;
use ldap::{ControlBuf, LdapResult, Message, Operation, ResultCode, encode};
use runtime::listener::Audience;
use runtime::pool::Admission;

use super::directory_executor::{DirectoryExecutor, on_loss, time_of, write_result};
use crate::answer::Answer;
use crate::executor::{Call, Executor, Step};
use crate::log::criteria::Groups;
use crate::refusal::Refusal;

impl Groups for DirectoryExecutor {
    fn is_in_group(&self, identity: &Identity, group: &str) -> bool {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        // What cannot be read is told where it is needed; for the log, the user is in no group then.
        self.directory.is_in_group(identity, group, now).unwrap_or(false)
    }
}

impl Executor for DirectoryExecutor {
    fn session(&self, connection: u64, audience: Audience, now: Instant) -> Session {
        match audience {
            Audience::Clients => self.directory.session(connection, now),
            Audience::LocalAdministrator => self.directory.administrator_session(connection, now),
        }
    }

    fn nobody(&self) -> Bound {
        self.directory.nobody()
    }

    fn look_up_host_name(&self, session: &Session, told: Box<dyn FnOnce() + Send>) -> bool {
        let Some(address) = session.address.filter(|_| self.directory.needs_host_names()) else { return false };
        let host_name = session.host_name.clone();
        self.pools.host_names.look_up(address, move |name| {
            host_name.resolve(name.as_deref());
            told();
        });
        true
    }

    fn revoked(&self, session: &Session) -> Option<Revoked> {
        if self.directory.is_in_doubt(session) { self.directory.revoked(session) } else { None }
    }

    fn bypasses_lockdown(&self, session: &Session, unix_seconds: i64) -> bool {
        let rights = self.directory.rights_of(session, unix_seconds);
        rights.is_ok_and(|rights| rights.has(Privilege::BypassLockdown))
    }

    fn check_must_change(
        &self,
        session: &Session,
        message: &Message<'_>,
    ) -> Result<(), Box<(LdapResult, Option<ControlBuf>)>> {
        self.directory.check_must_change(session, &message.operation, &message.controls)
    }

    fn admit(&self, session: &Session, message: &Message<'_>, time: RequestTime) -> Result<Admitted, LdapResult> {
        self.directory.admit(session, &message.operation, message.controls, time)
    }

    fn execute(&mut self, call: &mut Call<'_>, message: &Message<'_>) -> Step {
        if !message.controls.is_empty()
            && let Some(step) = self.explain(call, message)
        {
            return step;
        }
        if self.directory.tries_proposed_instructions() {
            self.try_proposed(call, message);
        }
        match &message.operation {
            Operation::Search(request) => self.search(call, message, request),
            Operation::Bind(request) => self.bind(call, message, request),
            Operation::Update(update) => self.update(call, message, update),
            Operation::Compare(request) => {
                let time = time_of(call);
                let result = self.directory.compare(call.session, request, &message.controls, time);
                Step::Done(write_result(call.out, message.id, encode::tags::COMPARE, result, &[]))
            }
            Operation::StartTransaction => Step::Done(self.start_transaction(call, message)),
            Operation::WhoAmI => Step::Done(self.who_am_i(call, message)),
            Operation::ReloadConfiguration => self.reload(call, message),
            Operation::RebuildIndexes(request) => self.rebuild_indexes(call, message, request),
            Operation::SetAccountClock(request) => Step::Done(self.set_account_clock(call, message, *request)),
            Operation::NotExecutable(request) => Step::Done(self.not_executable(call, message, request)),
            // The connection itself answers these.
            Operation::Unbind
            | Operation::Abandon(_)
            | Operation::Cancel(_)
            | Operation::StartTls
            | Operation::ConnectionId => Step::Done(Answer::default()),
        }
    }
}

impl DirectoryExecutor {
    /// Has a request compared with what proposed access control instructions say of it, when there is time.
    #[cold]
    fn try_proposed(&self, call: &Call<'_>, message: &Message<'_>) {
        let request = self.directory.shadow_request(call.session, &message.operation, time_of(call));
        let Some(request) = request else { return };
        let directory = Arc::clone(&self.directory);
        self.pools.shadow.submit(move |admission| match admission {
            Admission::Running(_) => directory.compare_with_proposed(&request),
            Admission::Refused => request.leave_out(),
        });
    }

    /// The answer to a request that asks why it would be granted or refused, instead of being done. It reads entries
    /// and evaluates every instruction, so a pool's thread makes it.
    fn explain(&self, call: &mut Call<'_>, message: &Message<'_>) -> Option<Step> {
        let time = time_of(call);
        let asked = self.directory.explanation_by_control(call.session, &message.operation, &message.controls, time)?;
        let (id, response) = (message.id, message.operation.response_tag()?);
        let asked = match asked {
            Ok(asked) => asked,
            Err(refused) => return Some(Step::Done(write_result(call.out, id, response, refused, &[]))),
        };
        let remote = call.remote(false, on_loss(id, response));
        let directory = Arc::clone(&self.directory);
        self.pools.search.submit(move |admission| {
            let explained = match admission {
                Admission::Running(_) => asked.explain(&directory),
                Admission::Refused => Err(Refusal::SearchesWait.into()),
            };
            remote.finish(move |out| {
                let (result, controls) = match explained {
                    Ok(json) => {
                        let control = ControlBuf::new(control::ACCESS_EXPLANATION, Some(json.into_bytes()));
                        let told = "Nothing was done: the answer is in the control";
                        (LdapResult::new(ResultCode::NO_OPERATION, told), vec![control])
                    }
                    Err(refused) => (refused, Vec::new()),
                };
                write_result(out, id, response, result, &controls)
            });
        });
        Some(Step::Pending)
    }
}
