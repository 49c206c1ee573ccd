//! Extended operations that are answered at once: who am I (RFC 4532), the start of a transaction (RFC 5805), and those
//! that are unknown or not valid (RFC 4511 §4.12).

use ldap::{Message, NotExecutable};

use super::directory_executor::DirectoryExecutor;
use crate::answer::Answer;
use crate::executor::Call;
use crate::refusal::Refusal;
use crate::reply::{refuse_critical, respond};

impl DirectoryExecutor {
    pub(super) fn start_transaction(&self, call: &mut Call<'_>, message: &Message<'_>) -> Answer {
        let started = self.directory.start_transaction(call.session, &message.controls);
        respond(call.out, message.id, started.map(Some))
    }

    pub(super) fn who_am_i(&self, call: &mut Call<'_>, message: &Message<'_>) -> Answer {
        let who = || call.session.identity.authorization_id().into_bytes();
        let outcome = refuse_critical(message).map(|()| Some(who()));
        respond(call.out, message.id, outcome.map_err(Into::into))
    }

    pub(super) fn not_executable(
        &self,
        call: &mut Call<'_>,
        message: &Message<'_>,
        request: &NotExecutable<'_>,
    ) -> Answer {
        respond(call.out, message.id, Err(Refusal::from(request.fault).into()))
    }
}
