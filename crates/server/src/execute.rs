//! From bytes to executed messages: frame, decode, refuse or execute.
//!
//! A panic in one operation is answered with `other` and ends neither the connection nor the loop. Does not read or
//! write sockets.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use ber::Frame;
use directory::{Admitted, RequestTime, Session, needs_admission};
use ldap::{Controls, Message, MessageError, Operation, ResultCode};
use runtime::connection::Peer;
use runtime::end::{End, EndReason};
use runtime::loop_core::Core;
use runtime::panics::panic_text;
use runtime::protocol::Next;

use crate::answer::Answer;
use crate::client::{Client, Outstanding};
use crate::executor::{Call, Step};
use crate::ldap_loop::LdapLoop;
use crate::log::{OperationIds, request};
use crate::metrics::OperationKind;
use crate::refusal::Refusal;
use crate::remote::OperationAddress;
use crate::{messages, reply};

/// What became of one message.
enum Executed {
    /// It was consumed; its answer is in the output, or comes later.
    Yes,
    /// It waits; it was not consumed.
    NotYet,
    /// The connection ends.
    End(End),
}

impl LdapLoop {
    /// Executes complete messages of `bytes` and returns how many bytes they had.
    pub(crate) fn execute_all(
        &mut self,
        core: &mut Core,
        client: &mut Client,
        bytes: &[u8],
        budget: &mut usize,
    ) -> (usize, Next) {
        let request_bytes_max = self.listeners.get(client.listener()).map_or(0, |settings| settings.request_bytes_max);
        let mut consumed = 0;
        while *budget > 0 && client.may_take() && client.state.may_execute(self.limits.outstanding_max) {
            let rest = bytes.get(consumed..).unwrap_or(&[]);
            let length = match ber::frame(rest, request_bytes_max) {
                _ if rest.is_empty() => break,
                Ok(Frame::Complete(length)) => length,
                Ok(Frame::NeedMore) => return (consumed, Next::NeedMore),
                Err(error) => return (consumed, Next::End(self.bad_frame(client, error, request_bytes_max))),
            };
            *budget -= 1;
            let is_last = consumed + length == bytes.len();
            match self.execute(core, client, rest.get(..length).unwrap_or(&[]), is_last) {
                Executed::Yes => consumed += length,
                Executed::NotYet => break,
                Executed::End(end) => return (consumed + length, Next::End(end)),
            }
        }
        (consumed, Next::Continue)
    }

    /// Decodes and executes one message.
    fn execute(&mut self, core: &mut Core, client: &mut Client, bytes: &[u8], is_last: bool) -> Executed {
        // Made before the message, which may come to hold it.
        let controls_left;
        let mut message = match Message::decode(bytes) {
            Ok(message) => message,
            Err(error) => return self.bad_message(core, client, &error),
        };
        if must_wait(client, &message.operation) {
            return Executed::NotYet;
        }
        if let Some(end) = self.end_if_revoked(client) {
            return Executed::End(end);
        }
        let kind = request::kind(&message.operation);
        let ids = OperationIds { connection: client.id(), operation: client.state.next_operation, message: message.id };
        client.state.next_operation += 1;
        self.metrics.of(kind).requests.add(1);
        self.log_request(client, kind, ids, &message);
        if let Some(refused) = self.refuse_by_rules(client, &message) {
            self.conclude(core, client, kind, ids, refused);
            return Executed::Yes;
        }
        if self.connection_rules.is_locked_down()
            && let Some(refused) = self.refuse_in_lockdown(core, client, &message)
        {
            self.conclude(core, client, kind, ids, refused);
            return Executed::Yes;
        }
        if let Err(refused) = self.executor.check_must_change(&client.state.session, &message) {
            let (result, control) = *refused;
            let refused =
                reply::refuse_with_control(&mut client.output, message.id, &message.operation, result, control);
            self.conclude(core, client, kind, ids, refused);
            return Executed::Yes;
        }
        let mut acting = None;
        if needs_admission(&message.operation, message.controls) {
            match self.admit(core, client, ids, &message) {
                Ok(admitted) => {
                    acting = admitted.acting;
                    if let Some(controls) = admitted.controls {
                        controls_left = controls;
                        message.controls = Controls::decode(&controls_left).unwrap_or_default();
                    }
                }
                Err(refused) => {
                    self.conclude(core, client, kind, ids, *refused);
                    return Executed::Yes;
                }
            }
        }
        if let Some(acting) = &acting {
            self.acting_as = Some(acting.identity.dn().into());
        }
        let answered = match &message.operation {
            Operation::Unbind => return Executed::End(End::new(EndReason::Goodbye, "")),
            Operation::Abandon(target) => Some(self.abandon(client, *target)),
            Operation::Cancel(_) | Operation::StartTls | Operation::ConnectionId => {
                match self.connection_extended(core, client, ids, &message, is_last) {
                    Ok(answer) => answer,
                    Err(end) => return Executed::End(end),
                }
            }
            _ => match self.refuse(client, ids, &message) {
                Some(refused) => Some(refused),
                None => self.execute_outside(core, client, ids, kind, &message, acting.as_deref()),
            },
        };
        if let Some(answer) = answered {
            self.conclude(core, client, kind, ids, answer);
        }
        self.acting_as = None;
        Executed::Yes
    }

    /// Refuses what the connection is not encrypted well enough for.
    #[inline]
    fn refuse_by_rules(&self, client: &mut Client, message: &Message<'_>) -> Option<Answer> {
        let Peer::Tcp { .. } = client.peer() else { return None };
        let handler = self.listeners.get(client.listener()).map_or("", |listener| listener.handler.as_str());
        let bits = client.state.session.security_strength_bits;
        let refusal = self.connection_rules.refuse(handler, bits, &message.operation)?;
        let bound = matches!(message.operation, Operation::Bind(_)).then(|| Box::new(self.executor.nobody()));
        let refused = reply::refuse(&mut client.output, message.id, &message.operation, refusal);
        Some(Answer { bound, ..refused })
    }

    /// Refuses whoever is not an administrator of this machine: from here anybody may bind, and with the privilege
    /// bypass-lockdown do more.
    #[cold]
    fn refuse_in_lockdown(&self, core: &Core, client: &mut Client, message: &Message<'_>) -> Option<Answer> {
        let is_near = match client.peer() {
            Peer::Tcp { remote, .. } => remote.ip().to_canonical().is_loopback(),
            Peer::Local(_) => true,
        };
        let begins = matches!(
            message.operation,
            Operation::Bind(_) | Operation::StartTls | Operation::Unbind | Operation::Abandon(_)
        );
        let may = || self.executor.bypasses_lockdown(&client.state.session, core.unix_seconds);
        if (is_near && (begins || may())) || matches!(message.operation, Operation::Unbind | Operation::Abandon(_)) {
            return None;
        }
        let bound = matches!(message.operation, Operation::Bind(_)).then(|| Box::new(self.executor.nobody()));
        let refused = reply::refuse(&mut client.output, message.id, &message.operation, Refusal::LockedDown);
        Some(Answer { bound, ..refused })
    }

    /// Refuses what the connection's own limits do not allow.
    fn refuse(&self, client: &mut Client, ids: OperationIds, message: &Message<'_>) -> Option<Answer> {
        let refusal = if client.state.outstanding.len() >= self.limits.outstanding_max {
            self.metrics.busy.add(1);
            Refusal::TooManyOperations
        } else if client.state.outstanding_by_message(ids.message).is_some() {
            self.metrics.network.protocol_errors.add(1);
            Refusal::MessageIdInUse
        } else if self.is_refused_version(client, &message.operation) {
            self.metrics.network.protocol_errors.add(1);
            Refusal::ProtocolVersion
        } else {
            return None;
        };
        Some(reply::refuse(&mut client.output, ids.message, &message.operation, refusal))
    }

    fn is_refused_version(&self, client: &Client, operation: &Operation<'_>) -> bool {
        let Operation::Bind(bind) = operation else { return false };
        let allows_v2 = self.listeners.get(client.listener()).is_some_and(|settings| settings.allow_ldap_v2);
        !(bind.version == 3 || (bind.version == 2 && allows_v2))
    }

    /// Hands a request to the executor. `None` if the answer comes later.
    fn execute_outside(
        &mut self,
        core: &mut Core,
        client: &mut Client,
        ids: OperationIds,
        kind: OperationKind,
        message: &Message<'_>,
        acting: Option<&Session>,
    ) -> Option<Answer> {
        let mark = client.output.len();
        let address = OperationAddress { connection: client.address(), operation: ids.operation };
        let executor = self.executor.as_mut();
        let mut call = Call::new(
            acting.unwrap_or(&client.state.session),
            ids,
            &mut client.output,
            core.moment,
            core.unix_seconds,
            &self.mailbox,
            address,
        );
        let step = catch_unwind(AssertUnwindSafe(|| executor.execute(&mut call, message)));
        let taken = call.taken();
        match step {
            Ok(Step::Done(answer)) => Some(answer),
            Ok(Step::Pending) => {
                if let Some(taken) = taken {
                    // A log that comes meanwhile may want what none wants now.
                    if self.request.fields.is_empty() {
                        self.keep_request(kind, message);
                    }
                    client.state.is_exclusive = kind == OperationKind::Bind;
                    client.state.outstanding.push(Outstanding {
                        kind,
                        ids,
                        begun: core.moment,
                        request: self.request.clone(),
                        acting_as: self.acting_as.take(),
                        backlog: taken.backlog,
                        is_abortable: taken.is_abortable,
                        is_abandoned: false,
                        cancelled_by: None,
                        unacknowledged_bytes: 0,
                    });
                }
                core.moment = Instant::now();
                None
            }
            Err(panic) => {
                client.output.truncate(mark);
                Some(self.answer_defect(client, ids, message, panic.as_ref()))
            }
        }
    }

    /// Has the executor decide about controls, the OID of an extended request and whom it acts as.
    fn admit(
        &self,
        core: &Core,
        client: &mut Client,
        ids: OperationIds,
        message: &Message<'_>,
    ) -> Result<Admitted, Box<Answer>> {
        let time = RequestTime { started: core.moment, unix_seconds: core.unix_seconds };
        let session = &client.state.session;
        match catch_unwind(AssertUnwindSafe(|| self.executor.admit(session, message, time))) {
            Ok(Ok(admitted)) => Ok(admitted),
            Ok(Err(result)) => {
                Err(Box::new(reply::refuse_with(&mut client.output, ids.message, &message.operation, result)))
            }
            Err(panic) => Err(Box::new(self.answer_defect(client, ids, message, panic.as_ref()))),
        }
    }

    /// A panic in an operation: the client is told that it failed, the administrator how.
    fn answer_defect(
        &self,
        client: &mut Client,
        ids: OperationIds,
        message: &Message<'_>,
        panic: &(dyn Any + Send),
    ) -> Answer {
        self.metrics.network.panics.add(1);
        let text = panic_text(panic);
        self.errors.report(
            messages::OPERATION_PANIC,
            format_args!(
                "conn={} op={} msgID={}: the operation failed by a defect of the server: {text}",
                ids.connection, ids.operation, ids.message
            ),
        );
        reply::refuse(&mut client.output, ids.message, &message.operation, Refusal::Defect)
    }

    fn bad_frame(&self, client: &mut Client, error: ber::FrameError, bytes_max: usize) -> End {
        match error {
            ber::FrameError::TooLarge { .. } => {
                let end = self.notice_refusal(client, Refusal::RequestTooLarge { bytes_max });
                End { reason: EndReason::MaxRequestSize, ..end }
            }
            ber::FrameError::Malformed => self.notice_refusal(client, Refusal::NotLdap),
        }
    }

    /// RFC 4511 §4.1.1: what cannot be understood ends the connection; if at least the operation is known, it is
    /// answered and the connection lives on.
    fn bad_message(&mut self, core: &mut Core, client: &mut Client, error: &MessageError) -> Executed {
        let text = error.to_string();
        let Some((message, response, kind)) = reply::answerable(error) else {
            return Executed::End(self.notice(client, ResultCode::PROTOCOL_ERROR, &text));
        };
        let code = error.error.result_code();
        if code == ResultCode::PROTOCOL_ERROR {
            self.metrics.network.protocol_errors.add(1);
        }
        self.metrics.of(kind).requests.add(1);
        reply::result(&mut client.output, message, response, code, &text);
        let ids = OperationIds { connection: client.id(), operation: client.state.next_operation, message };
        client.state.next_operation += 1;
        self.request.clear();
        self.conclude(core, client, kind, ids, Answer::of(code, text));
        Executed::Yes
    }
}

/// A bind waits for what runs, and stops what can be stopped (RFC 4511 §4.2.1).
fn must_wait(client: &mut Client, operation: &Operation<'_>) -> bool {
    let state = &mut client.state;
    state.waits_for_outstanding = false;
    if !matches!(operation, Operation::Bind(_)) || state.outstanding.is_empty() {
        return false;
    }
    for operation in state.outstanding.iter_mut().filter(|operation| operation.is_abortable) {
        operation.backlog.cancel();
    }
    state.waits_for_outstanding = true;
    true
}
