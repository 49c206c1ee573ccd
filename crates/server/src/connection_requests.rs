//! Requests that concern the connection itself and not the directory: abandon, cancel (RFC 3909), StartTLS (RFC 4511
//! §4.14), get connection id.

use std::sync::Arc;

use ldap::{LdapResult, Message, Operation, ResultCode, oids::extended as oids};
use runtime::{
    end::{End, EndReason},
    loop_core::Core,
};

use crate::{
    answer::Answer, client::Client, ldap_loop::LdapLoop, log::OperationIds, metrics::OperationKind, reply,
    stalls::Waits,
};

impl LdapLoop {
    /// RFC 4511 §4.11: no response; the log says what became of it.
    pub(crate) fn abandon(&self, client: &mut Client, target: i32) -> Answer {
        let Some(operation) = client.state.outstanding_by_message(target) else {
            return Answer::of(ResultCode::NO_SUCH_OPERATION, "");
        };
        if !operation.is_abortable {
            return Answer::of(ResultCode::CANNOT_CANCEL, "");
        }
        operation.is_abandoned = true;
        operation.backlog.cancel();
        Answer::of(ResultCode::CANCELED, "")
    }

    /// An extended request of this module. `None`: answered later. `Err`: the connection ends.
    pub(crate) fn connection_extended(
        &mut self,
        core: &mut Core,
        client: &mut Client,
        ids: OperationIds,
        message: &Message<'_>,
        is_last: bool,
    ) -> Result<Option<Answer>, End> {
        if let Err(LdapResult { code, message: text, .. }) = reply::refuse_critical(message) {
            reply::extended(client, ids.message, code, &text, None, None);
            return Ok(Some(Answer::of(code, text)));
        }
        match message.operation {
            Operation::Cancel(target) => Ok(self.cancel(client, ids, target)),
            Operation::StartTls => self.start_tls(core, client, ids, is_last).map(Some),
            _ => Ok(Some(connection_id(client, ids))),
        }
    }

    fn cancel(&self, client: &mut Client, ids: OperationIds, target: i32) -> Option<Answer> {
        let (code, text) = match client.state.outstanding_by_message(target) {
            None => (ResultCode::NO_SUCH_OPERATION, "no such operation is under way"),
            Some(operation) if operation.kind == OperationKind::Bind => {
                (ResultCode::CANNOT_CANCEL, "a bind cannot be cancelled")
            }
            Some(operation) if !operation.is_abortable => (ResultCode::TOO_LATE, "the update is already being written"),
            Some(operation) if operation.cancelled_by.is_some() => {
                (ResultCode::CANNOT_CANCEL, "the operation is being cancelled already")
            }
            Some(operation) => {
                operation.cancelled_by = Some(ids);
                operation.backlog.cancel();
                return None;
            }
        };
        reply::extended(client, ids.message, code, text, None, None);
        Some(Answer::of(code, text))
    }

    /// The cancelled operation has ended, so that the cancel request can be answered (RFC 3909 §2.2).
    pub(crate) fn answer_cancel(
        &mut self,
        core: &mut Core,
        client: &mut Client,
        ids: OperationIds,
        was_cancelled: bool,
    ) {
        let (code, text) =
            if was_cancelled { (ResultCode::SUCCESS, "") } else { (ResultCode::TOO_LATE, "it has ended already") };
        reply::extended(client, ids.message, code, text, None, None);
        self.set_extended_fields(oids::CANCEL);
        let answer = Answer { waits: Waits::Elsewhere, ..Answer::of(code, text) };
        self.conclude(core, client, OperationKind::Extended, ids, answer);
    }

    fn start_tls(&self, core: &mut Core, client: &mut Client, ids: OperationIds, is_last: bool) -> Result<Answer, End> {
        let offered = self
            .listeners
            .get(client.listener())
            .and_then(|settings| settings.start_tls.as_ref().map(|tls| Arc::clone(tls.config())));
        let refusal = if client.is_tls() {
            Some((ResultCode::OPERATIONS_ERROR, "TLS is already established"))
        } else if !client.state.outstanding.is_empty() {
            Some((ResultCode::OPERATIONS_ERROR, "other operations are under way on the connection"))
        } else if offered.is_none() {
            Some((ResultCode::PROTOCOL_ERROR, "StartTLS is not available here"))
        } else {
            None
        };
        let (Some(config), None) = (offered, refusal) else {
            let (code, text) = refusal.unwrap_or((ResultCode::PROTOCOL_ERROR, ""));
            reply::extended(client, ids.message, code, text, Some(oids::START_TLS), None);
            return Ok(Answer::of(code, text));
        };
        if !is_last {
            // Whatever came in clear after the request must not be taken for something that was protected.
            return Err(End::new(EndReason::SecurityProblem, "data followed the StartTLS request in clear"));
        }
        reply::extended(client, ids.message, ResultCode::SUCCESS, "", Some(oids::START_TLS), None);
        core.start_tls(client, &config)?;
        Ok(Answer::default())
    }
}

fn connection_id(client: &mut Client, ids: OperationIds) -> Answer {
    let mut value = Vec::with_capacity(12);
    ber::Writer::new(&mut value).integer(ber::INTEGER, i64::try_from(client.id()).unwrap_or(i64::MAX));
    let oid = Some(oids::GET_CONNECTION_ID);
    reply::extended(client, ids.message, ResultCode::SUCCESS, "", oid, Some(&value));
    Answer::default()
}
