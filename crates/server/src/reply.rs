//! Responses that the server itself words, and the little it must know of requests to do so.
//!
//! Results of the directory are encoded where they are made.

use ber::Tag;
use ldap::message::tags as request_tags;
use ldap::{ControlBuf, LdapResult, Message, MessageError, Operation, ResultCode, encode};

use crate::answer::Answer;
use crate::client::Client;
use crate::metrics::OperationKind;
use crate::refusal::Refusal;

/// The response that an operation ends with, when there is nothing to say but a result.
pub(crate) fn result(out: &mut Vec<u8>, message: i32, response: Tag, code: ResultCode, text: &str) {
    if code == ResultCode::SUCCESS && text.is_empty() {
        encode::success(out, message, response);
    } else {
        encode::result(out, message, response, &LdapResult::new(code, text), &[]);
    }
}

/// A successful extended response without controls.
pub(crate) fn extended(client: &mut Client, message: i32, name: Option<&str>, value: Option<&[u8]>) -> Answer {
    encode::extended_response(&mut client.output, message, &LdapResult::success(), name, value, &[]);
    Answer::default()
}

/// An extended response that refuses.
pub(crate) fn refuse_extended(client: &mut Client, message: i32, refusal: Refusal, name: Option<&str>) -> Answer {
    let result = LdapResult::from(refusal);
    encode::extended_response(&mut client.output, message, &result, name, None, &[]);
    result.into()
}

/// Writes the response to an extended request: its value, or why there is none.
pub(crate) fn respond(out: &mut Vec<u8>, id: i32, outcome: Result<Option<Vec<u8>>, LdapResult>) -> Answer {
    let (result, value) = match outcome {
        Ok(value) => (LdapResult::success(), value),
        Err(result) => (result, None),
    };
    encode::extended_response(out, id, &result, None, value.as_deref(), &[]);
    result.into()
}

/// Refuses a message with a critical control, for operations that take none.
pub(crate) fn refuse_critical(message: &Message<'_>) -> Result<(), Refusal> {
    match message.controls.iter().find(|control| control.critical) {
        Some(control) => Err(Refusal::CriticalControl { oid: String::from_utf8_lossy(control.oid).into_owned() }),
        None => Ok(()),
    }
}

/// Refuses a request, whichever it is; writes nothing for those that have no response.
pub(crate) fn refuse(out: &mut Vec<u8>, message: i32, operation: &Operation<'_>, refusal: Refusal) -> Answer {
    refuse_with(out, message, operation, refusal.into())
}

/// The same with a result.
pub(crate) fn refuse_with(out: &mut Vec<u8>, message: i32, operation: &Operation<'_>, result: LdapResult) -> Answer {
    if let Some(response) = operation.response_tag() {
        encode::result(out, message, response, &result, &[]);
    }
    result.into()
}

/// The same with a control, if there is one.
pub(crate) fn refuse_with_control(
    out: &mut Vec<u8>,
    message: i32,
    operation: &Operation<'_>,
    result: LdapResult,
    control: Option<ControlBuf>,
) -> Answer {
    let controls: Vec<ControlBuf> = control.into_iter().collect();
    if let Some(response) = operation.response_tag() {
        encode::result(out, message, response, &result, &controls);
    }
    let response_controls = controls.iter().map(|control| control.oid.as_str()).collect();
    Answer { response_controls, ..result.into() }
}

/// What is known of a message that could not be decoded, if it is enough to answer it: its id, the tag of the response,
/// and the kind of operation.
pub(crate) fn answerable(error: &MessageError) -> Option<(i32, Tag, OperationKind)> {
    let (response, kind) = match error.op_tag? {
        request_tags::BIND => (encode::tags::BIND, OperationKind::Bind),
        request_tags::SEARCH => (encode::tags::SEARCH_DONE, OperationKind::Search),
        request_tags::MODIFY => (encode::tags::MODIFY, OperationKind::Modify),
        request_tags::ADD => (encode::tags::ADD, OperationKind::Add),
        request_tags::DELETE => (encode::tags::DELETE, OperationKind::Delete),
        request_tags::MODIFY_DN => (encode::tags::MODIFY_DN, OperationKind::ModifyDn),
        request_tags::COMPARE => (encode::tags::COMPARE, OperationKind::Compare),
        request_tags::EXTENDED => (encode::tags::EXTENDED, OperationKind::Extended),
        _ => return None,
    };
    Some((error.id?, response, kind))
}
