//! Extended operations of administrators: worked on in a pool, for those with the privilege that each takes.
//!
//! Knows requests and answers; what is done is the business of `administration`.

use std::sync::Arc;

use directory::{LocalPeer, OpenError, Privilege};
use ldap::administration::{JobProgress, RebuildIndexes, SetAccountClock, encode_name_list};
use ldap::oids::intermediate;
use ldap::{LdapResult, Message, ResultCode, encode};
use query::error::store_failure;
use runtime::pool::{Admission, Turn};

use super::directory_executor::{DirectoryExecutor, on_loss};
use crate::administration::{Administration, RebuildError};
use crate::answer::Answer;
use crate::changed_by::ChangedBy;
use crate::executor::{Call, Step};
use crate::refusal::Refusal;
use crate::remote::{ChunkEnd, Remote};
use crate::reply::{refuse_critical, respond};

/// The response value, or why there is none.
type Outcome = Result<Option<Vec<u8>>, LdapResult>;

/// What a request is worked on with.
struct Work<'w> {
    administration: &'w Administration,
    remote: &'w Remote,
    turn: &'w mut Turn,
    message: i32,
}

impl DirectoryExecutor {
    /// Has the configuration read again; the response says what became of it.
    pub(super) fn reload(&self, call: &mut Call<'_>, message: &Message<'_>) -> Step {
        let by = ChangedBy::reload(match call.session.local_peer {
            Some(LocalPeer { uid, .. }) => format!("uid {uid}"),
            None => call.session.identity.dn().to_owned(),
        });
        self.administer(call, message, (Privilege::ConfigWrite, false), move |work| {
            match work.administration.reload(&by) {
                Ok(done) => Ok(Some(done.encode())),
                Err(problem) => Err(Refusal::Configuration { problem }.into()),
            }
        })
    }

    /// Has indexes built anew; the response comes when that has begun, or when it is done.
    pub(super) fn rebuild_indexes(&self, call: &mut Call<'_>, message: &Message<'_>, request: &RebuildIndexes) -> Step {
        let request = request.clone();
        // The indexes are built even if the client goes away.
        self.administer(call, message, (Privilege::LdifImport, request.wait), move |work| {
            match rebuild(work, &request) {
                Ok(names) => Ok(Some(encode_name_list(&names))),
                Err(error) => Err(LdapResult::new(code_of(&error), error.to_string())),
            }
        })
    }

    /// Sets the clock by which accounts are judged; for the local administrator alone.
    pub(super) fn set_account_clock(
        &self,
        call: &mut Call<'_>,
        message: &Message<'_>,
        request: SetAccountClock,
    ) -> Answer {
        let outcome = match self.directory.is_local_administrator(call.session) {
            true => refuse_critical(message).map(|()| None),
            false => Err(Refusal::NotLocalAdministrator),
        };
        if outcome.is_ok() {
            self.administration.set_account_clock(request.ahead_ms);
        }
        respond(call.out, message.id, outcome.map_err(Into::into))
    }

    fn administer(
        &self,
        call: &mut Call<'_>,
        message: &Message<'_>,
        (privilege, is_abortable): (Privilege, bool),
        work: impl FnOnce(&mut Work<'_>) -> Outcome + Send + 'static,
    ) -> Step {
        let allowed = refuse_critical(message).map_err(LdapResult::from);
        if let Err(refusal) = allowed.and_then(|()| self.check_privilege(call, privilege)) {
            return Step::Done(respond(call.out, message.id, Err(refusal)));
        }
        let id = message.id;
        let remote = call.remote(is_abortable, on_loss(id, encode::tags::EXTENDED));
        let administration = Arc::clone(&self.administration);
        self.administration.pool().submit(move |admission| {
            let outcome = match admission {
                Admission::Running(turn) => {
                    work(&mut Work { administration: &administration, remote: &remote, turn, message: id })
                }
                Admission::Refused => Err(Refusal::AdministratorsWait.into()),
            };
            remote.finish(move |out| respond(out, id, outcome));
        });
        Step::Pending
    }

    fn check_privilege(&self, call: &Call<'_>, privilege: Privilege) -> Result<(), LdapResult> {
        let rights = self.directory.rights_of(call.session, call.unix_seconds);
        match rights.map_err(|error| store_failure(&error))?.has(privilege) {
            true => Ok(()),
            false => Err(Refusal::NotAdministrator { privilege: privilege.name() }.into()),
        }
    }
}

fn rebuild(work: &mut Work<'_>, request: &RebuildIndexes) -> Result<Vec<String>, RebuildError> {
    let names = work.administration.rebuild(request)?;
    if request.wait {
        let (remote, message) = (work.remote, work.message);
        let is_cancelled = || remote.backlog().is_cancelled();
        let report = &mut |progress: &JobProgress| {
            let mut bytes = Vec::new();
            let value = progress.encode();
            encode::intermediate(&mut bytes, message, Some(intermediate::JOB_PROGRESS), Some(&value), &[]);
            remote.chunk(bytes, ChunkEnd::Whole);
        };
        work.administration.wait_for(&request.backend, &names, work.turn, &is_cancelled, report)?;
    }
    Ok(names)
}

fn code_of(error: &RebuildError) -> ResultCode {
    match error {
        RebuildError::Refused(OpenError::NoBackend { .. } | OpenError::NoIndex { .. }) => ResultCode::NO_SUCH_OBJECT,
        RebuildError::Refused(_) => ResultCode::UNWILLING_TO_PERFORM,
        RebuildError::Store(_) | RebuildError::Failed(_) | RebuildError::Dropped(_) => ResultCode::OTHER,
        RebuildError::Stopping => ResultCode::UNAVAILABLE,
        RebuildError::Cancelled => ResultCode::CANCELED,
    }
}
