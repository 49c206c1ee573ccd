//! From bytes to executed messages: frame, decode, refuse or execute.
//!
//! A panic in one operation is answered with `other` and ends neither the connection nor the loop. Does not read or write
//! sockets.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use ber::Frame;
use ldap::{Message, MessageError, Request, ResultCode};
use runtime::log::error::{Category, message_id};

use crate::{
    answer::Answer,
    connection::{Connection, Outstanding},
    engine::{End, Engine, Next},
    executor::{Call, Step},
    log::{DisconnectReason, OperationIds, request},
    mailbox::Address,
    metrics::OperationKind,
    reply,
};

impl Engine {
    /// Executes complete messages of `bytes` and returns how many bytes they had.
    pub(crate) fn execute_all(
        &mut self,
        slot: usize,
        connection: &mut Connection,
        bytes: &[u8],
        budget: &mut usize,
    ) -> (usize, Next) {
        let request_bytes_max =
            self.listeners.get(connection.listener).map_or(0, |settings| settings.request_bytes_max);
        let mut consumed = 0;
        while *budget > 0 && connection.may_execute(self.limits.outstanding_max) {
            let rest = bytes.get(consumed..).unwrap_or(&[]);
            let length = match ber::frame(rest, request_bytes_max) {
                _ if rest.is_empty() => break,
                Ok(Frame::Complete(length)) => length,
                Ok(Frame::NeedMore) => {
                    connection.needs_more = true;
                    break;
                }
                Err(error) => return (consumed, Next::End(self.bad_frame(connection, error, request_bytes_max))),
            };
            *budget -= 1;
            let is_last = consumed + length == bytes.len();
            match self.execute(slot, connection, rest.get(..length).unwrap_or(&[]), is_last) {
                Next::Continue => consumed += length,
                Next::Wait => return (consumed, Next::Wait),
                Next::End(end) => return (consumed + length, Next::End(end)),
            }
        }
        (consumed, Next::Continue)
    }

    /// Decodes and executes one message.
    fn execute(&mut self, slot: usize, connection: &mut Connection, bytes: &[u8], is_last: bool) -> Next {
        let message = match Message::decode(bytes) {
            Ok(message) => message,
            Err(error) => return self.bad_message(connection, &error),
        };
        if self.must_wait(connection, &message.op) {
            return Next::Wait;
        }
        let kind = request::kind(&message.op);
        let ids = OperationIds { connection: connection.id, operation: connection.next_operation, message: message.id };
        connection.next_operation += 1;
        self.metrics.of(kind).requests.add(1);
        self.log_request(kind, ids, &message);
        let next = match &message.op {
            Request::Unbind => return Next::End(End::new(DisconnectReason::Unbind, "")),
            Request::Abandon(target) => Ok(self.abandon(connection, *target)),
            Request::Extended(extended) if reply::is_for_connection(extended.name) => {
                match self.connection_extended(connection, ids, extended, &message, is_last) {
                    Ok(None) => return Next::Continue,
                    Ok(Some(answer)) => Ok(answer),
                    Err(end) => return Next::End(end),
                }
            }
            _ => self
                .refuse(connection, ids, &message)
                .map_or_else(|| self.execute_outside(slot, connection, ids, kind, &message), Ok),
        };
        if let Ok(answer) = next {
            self.conclude(connection, kind, ids, answer);
        }
        Next::Continue
    }

    /// A bind waits for what runs, and stops what can be stopped (RFC 4511 §4.2.1).
    fn must_wait(&mut self, connection: &mut Connection, request: &Request<'_>) -> bool {
        connection.waits_for_outstanding = false;
        if !matches!(request, Request::Bind(_)) || connection.outstanding.is_empty() {
            return false;
        }
        for operation in connection.outstanding.iter_mut().filter(|operation| operation.is_abortable) {
            operation.stream.cancel();
        }
        connection.waits_for_outstanding = true;
        true
    }

    /// Refuses what the connection's own limits do not allow.
    fn refuse(&mut self, connection: &mut Connection, ids: OperationIds, message: &Message<'_>) -> Option<Answer> {
        let (code, text) = if connection.outstanding.len() >= self.limits.outstanding_max {
            self.metrics.busy.add(1);
            (ResultCode::BUSY, "too many operations of this connection wait for their end")
        } else if connection.outstanding_by_message(ids.message).is_some() {
            self.metrics.protocol_errors.add(1);
            (ResultCode::PROTOCOL_ERROR, "the message id is that of an operation that is not answered yet")
        } else if self.is_refused_version(connection, &message.op) {
            self.metrics.protocol_errors.add(1);
            (ResultCode::PROTOCOL_ERROR, "this LDAP version is not supported here; use version 3")
        } else {
            return None;
        };
        reply::failure(&mut connection.output, ids.message, &message.op, code, text);
        Some(Answer::of(code, text))
    }

    fn is_refused_version(&self, connection: &Connection, request: &Request<'_>) -> bool {
        let Request::Bind(bind) = request else { return false };
        let allows_v2 = self.listeners.get(connection.listener).is_some_and(|settings| settings.allow_ldap_v2);
        !(bind.version == 3 || (bind.version == 2 && allows_v2))
    }

    /// Hands a request to the executor. `Err` if the answer comes later.
    fn execute_outside(
        &mut self,
        slot: usize,
        connection: &mut Connection,
        ids: OperationIds,
        kind: OperationKind,
        message: &Message<'_>,
    ) -> Result<Answer, ()> {
        let mark = connection.output.len();
        let address = Address { slot, connection: connection.id, operation: ids.operation };
        let executor = self.executor.as_mut();
        let mut call = Call::new(
            &connection.session,
            ids,
            &mut connection.output,
            self.moment,
            self.unix_seconds,
            &self.mailbox,
            address,
        );
        let step = catch_unwind(AssertUnwindSafe(|| executor.execute(&mut call, message)));
        let taken = call.taken();
        match step {
            Ok(Step::Done(answer)) => Ok(answer),
            Ok(Step::Pending) => {
                if let Some(taken) = taken {
                    connection.is_exclusive = kind == OperationKind::Bind;
                    connection.outstanding.push(Outstanding {
                        kind,
                        ids,
                        begun: self.moment,
                        fields: self.fields.as_slice().into(),
                        request_controls: self.controls.as_str().into(),
                        stream: taken.stream,
                        is_abortable: taken.is_abortable,
                        is_abandoned: false,
                        cancelled_by: None,
                        unacknowledged_bytes: 0,
                    });
                }
                self.moment = Instant::now();
                Err(())
            }
            Err(panic) => {
                connection.output.truncate(mark);
                self.metrics.panics.add(1);
                let text = reply::panic_text(panic.as_ref());
                self.errors.error(
                    Category::Core,
                    message_id::PANIC,
                    format_args!(
                        "conn={} op={} msgID={}: the operation failed by a defect of the server: {text}",
                        ids.connection, ids.operation, ids.message
                    ),
                );
                reply::failure(&mut connection.output, ids.message, &message.op, ResultCode::OTHER, reply::DEFECT);
                Ok(Answer::of(ResultCode::OTHER, reply::DEFECT))
            }
        }
    }

    fn bad_frame(&mut self, connection: &mut Connection, error: ber::FrameError, bytes_max: usize) -> End {
        match error {
            ber::FrameError::TooLarge { .. } => {
                let text = format!("the request is larger than max-request-size ({bytes_max} bytes)");
                let end = self.notice(connection, ResultCode::PROTOCOL_ERROR, &text);
                End { reason: DisconnectReason::MaxRequestSize, ..end }
            }
            ber::FrameError::Malformed => {
                self.notice(connection, ResultCode::PROTOCOL_ERROR, "the bytes are not an LDAP message")
            }
        }
    }

    /// RFC 4511 §4.1.1: what cannot be understood ends the connection; if at least the operation is known, it is answered
    /// and the connection lives on.
    fn bad_message(&mut self, connection: &mut Connection, error: &MessageError) -> Next {
        let text = error.to_string();
        let Some((message, response, kind)) = reply::answerable(error) else {
            return Next::End(self.notice(connection, ResultCode::PROTOCOL_ERROR, &text));
        };
        self.metrics.protocol_errors.add(1);
        self.metrics.of(kind).requests.add(1);
        reply::result(&mut connection.output, message, response, ResultCode::PROTOCOL_ERROR, &text);
        let ids = OperationIds { connection: connection.id, operation: connection.next_operation, message };
        connection.next_operation += 1;
        self.fields.clear();
        self.controls.clear();
        self.conclude(connection, kind, ids, Answer::of(ResultCode::PROTOCOL_ERROR, text));
        Next::Continue
    }
}
