//! Extended operations of administrators: worked on in a pool, for root only.
//!
//! Knows requests and answers; what is done is the business of `administration`.

use std::sync::Arc;

use directory::OpenError;
use ldap::{
    ExtendedRequest, LdapResult, Message, ResultCode,
    administration::{JobProgress, RebuildIndexes, encode_name_list},
    encode,
    oids::intermediate,
};
use runtime::pool::{Place, Turn};

use super::directory_executor::{DirectoryExecutor, on_loss};
use crate::{
    administration::{Administration, RebuildError},
    answer::Answer,
    executor::{Call, Step},
    remote::{ChunkEnd, Remote},
};

/// A result, and the response value.
type Outcome = (LdapResult, Option<Vec<u8>>);

/// What a request is worked on with.
struct Work<'w> {
    administration: &'w Administration,
    remote: &'w Remote,
    turn: &'w mut Turn,
    message: i32,
}

impl DirectoryExecutor {
    /// Has the configuration read again; the response says what became of it.
    pub(super) fn reload(&self, call: &mut Call<'_>, message: &Message<'_>, request: &ExtendedRequest<'_>) -> Step {
        if request.value.is_some() {
            return refused(call, message, ResultCode::PROTOCOL_ERROR, "a reload request has no value");
        }
        self.administer(call, message, false, |work| match work.administration.reload() {
            Ok(done) => (LdapResult::success(), Some(done.encode())),
            Err(reason) => (LdapResult::new(ResultCode::UNWILLING_TO_PERFORM, reason), None),
        })
    }

    /// Has indexes built anew; the response comes when that has begun, or when it is done.
    pub(super) fn rebuild_indexes(
        &self,
        call: &mut Call<'_>,
        message: &Message<'_>,
        request: &ExtendedRequest<'_>,
    ) -> Step {
        let request = match RebuildIndexes::decode(request.value) {
            Ok(request) => request,
            Err(error) => return refused(call, message, ResultCode::PROTOCOL_ERROR, &error.to_string()),
        };
        // Whoever waits may go away; building goes on.
        self.administer(call, message, request.wait, move |work| match rebuild(work, &request) {
            Ok(names) => (LdapResult::success(), Some(encode_name_list(&names))),
            Err(error) => (LdapResult::new(code_of(&error), error.to_string()), None),
        })
    }

    fn administer(
        &self,
        call: &mut Call<'_>,
        message: &Message<'_>,
        is_abortable: bool,
        work: impl FnOnce(&mut Work<'_>) -> Outcome + Send + 'static,
    ) -> Step {
        if let Some(control) = message.controls.iter().find(|control| control.critical) {
            let text = super::extended::unknown_control(control.oid);
            return refused(call, message, ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, &text);
        }
        if !call.session.identity.is_root() {
            let text = "only root users and the local administrator may ask for this";
            return refused(call, message, ResultCode::INSUFFICIENT_ACCESS_RIGHTS, text);
        }
        let id = message.id;
        let remote = call.remote(is_abortable, on_loss(id, encode::tags::EXTENDED));
        let administration = Arc::clone(&self.administration);
        self.administration.pool().submit(move |place| {
            let (result, value) = match place {
                Place::Running(turn) => {
                    work(&mut Work { administration: &administration, remote: &remote, turn, message: id })
                }
                Place::Refused => {
                    let text = "too many requests of administrators are waiting, or the server is stopping";
                    (LdapResult::new(ResultCode::BUSY, text), None)
                }
            };
            remote.finish(move |out| answer(out, id, result, value.as_deref()));
        });
        Step::Pending
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

fn refused(call: &mut Call<'_>, message: &Message<'_>, code: ResultCode, text: &str) -> Step {
    Step::Done(answer(call.out, message.id, LdapResult::new(code, text), None))
}

fn answer(out: &mut Vec<u8>, id: i32, result: LdapResult, value: Option<&[u8]>) -> Answer {
    encode::extended_response(out, id, &result, None, value, &[]);
    Answer::of(result.code, result.message)
}
