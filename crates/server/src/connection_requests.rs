//! Requests that concern the connection itself and not the directory: abandon, cancel (RFC 3909), StartTLS (RFC 4511
//! §4.14), get connection id.

use ldap::oids::extended as oids;
use ldap::{Message, Operation, ResultCode};
use runtime::end::{End, EndReason};
use runtime::loop_core::Core;

use crate::answer::Answer;
use crate::client::Client;
use crate::ldap_loop::LdapLoop;
use crate::log::OperationIds;
use crate::metrics::OperationKind;
use crate::refusal::Refusal;
use crate::reply;
use crate::stalls::Waits;

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
        if let Err(refusal) = reply::refuse_critical(message) {
            return Ok(Some(reply::refuse_extended(client, ids.message, refusal, None)));
        }
        match message.operation {
            Operation::Cancel(target) => Ok(self.cancel(client, ids, target)),
            Operation::StartTls => self.start_tls(core, client, ids, is_last).map(Some),
            _ => Ok(Some(connection_id(client, ids))),
        }
    }

    fn cancel(&self, client: &mut Client, ids: OperationIds, target: i32) -> Option<Answer> {
        let refusal = match client.state.outstanding_by_message(target) {
            None => Refusal::NothingToCancel,
            Some(operation) if operation.kind == OperationKind::Bind => Refusal::BindNotCancelled,
            Some(operation) if !operation.is_abortable => Refusal::UpdateTooFar,
            Some(operation) if operation.cancelled_by.is_some() => Refusal::CancelledAlready,
            Some(operation) => {
                operation.cancelled_by = Some(ids);
                operation.backlog.cancel();
                return None;
            }
        };
        Some(reply::refuse_extended(client, ids.message, refusal, None))
    }

    /// The cancelled operation has ended, so that the cancel request can be answered (RFC 3909 §2.2).
    pub(crate) fn answer_cancel(
        &mut self,
        core: &mut Core,
        client: &mut Client,
        ids: OperationIds,
        was_cancelled: bool,
    ) {
        let answer = match was_cancelled {
            true => reply::extended(client, ids.message, None, None),
            false => reply::refuse_extended(client, ids.message, Refusal::Ended, None),
        };
        self.set_extended_fields(oids::CANCEL);
        let answer = Answer { waits: Waits::Elsewhere, ..answer };
        self.conclude(core, client, OperationKind::Extended, ids, answer);
    }

    fn start_tls(&self, core: &mut Core, client: &mut Client, ids: OperationIds, is_last: bool) -> Result<Answer, End> {
        let offered = self
            .listeners
            .get(client.listener())
            .and_then(|settings| settings.start_tls.as_ref().map(|tls| tls.serving()));
        let refusal = if client.is_tls() {
            Some(Refusal::TlsAlready)
        } else if !client.state.outstanding.is_empty() {
            Some(Refusal::TlsBesideOthers)
        } else if offered.is_none() {
            Some(Refusal::NoStartTls)
        } else {
            None
        };
        let serving = match (offered, refusal) {
            (Some(serving), None) => serving,
            (_, refusal) => {
                let refusal = refusal.unwrap_or(Refusal::NoStartTls);
                return Ok(reply::refuse_extended(client, ids.message, refusal, Some(oids::START_TLS)));
            }
        };
        if !is_last {
            // What came in clear after the request must not be taken for data that TLS protected.
            return Err(End::new(EndReason::SecurityProblem, "data followed the StartTLS request in clear"));
        }
        let answer = reply::extended(client, ids.message, Some(oids::START_TLS), None);
        core.start_tls(client, serving)?;
        Ok(answer)
    }
}

fn connection_id(client: &mut Client, ids: OperationIds) -> Answer {
    let mut value = Vec::with_capacity(12);
    ber::Writer::new(&mut value).integer(ber::INTEGER, i64::try_from(client.id()).unwrap_or(i64::MAX));
    reply::extended(client, ids.message, Some(oids::GET_CONNECTION_ID), Some(&value))
}
