//! Responses that the server itself words, and the little it must know of requests to do so.
//!
//! Results of the directory are encoded where they are made.

use ber::Tag;
use ldap::{LdapResult, Message, MessageError, Operation, ResultCode, encode, message::tags as request_tags};

use crate::{answer::Answer, client::Client, metrics::OperationKind};

/// What a client reads when an operation panicked.
pub(crate) const DEFECT: &str = "the operation failed by a defect of the server; the error log has the details";

/// The response that an operation ends with, when there is nothing to say but a result.
pub(crate) fn result(out: &mut Vec<u8>, message: i32, response: Tag, code: ResultCode, text: &str) {
    if code == ResultCode::SUCCESS && text.is_empty() {
        encode::success(out, message, response);
    } else {
        encode::result(out, message, response, &LdapResult::new(code, text), &[]);
    }
}

/// An extended response without controls.
pub(crate) fn extended(
    client: &mut Client,
    message: i32,
    code: ResultCode,
    text: &str,
    name: Option<&str>,
    value: Option<&[u8]>,
) {
    encode::extended_response(&mut client.output, message, &LdapResult::new(code, text), name, value, &[]);
}

/// Writes the response to an extended request: its value, or why there is none.
pub(crate) fn respond(out: &mut Vec<u8>, id: i32, outcome: Result<Option<Vec<u8>>, LdapResult>) -> Answer {
    let (result, value) = match outcome {
        Ok(value) => (LdapResult::success(), value),
        Err(result) => (result, None),
    };
    encode::extended_response(out, id, &result, None, value.as_deref(), &[]);
    Answer::of(result.code, result.message)
}

/// Refuses a message with a critical control, for operations that take none.
pub(crate) fn refuse_critical(message: &Message<'_>) -> Result<(), LdapResult> {
    match message.controls.iter().find(|control| control.critical) {
        Some(control) => {
            let oid = String::from_utf8_lossy(control.oid);
            let text = format!("control {oid} is critical and not supported with this operation");
            Err(LdapResult::new(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, text))
        }
        None => Ok(()),
    }
}

/// Refuses a request, whichever it is; nothing for those that have no response.
pub(crate) fn failure(out: &mut Vec<u8>, message: i32, operation: &Operation<'_>, code: ResultCode, text: &str) {
    if let Some(response) = operation.response_tag() {
        result(out, message, response, code, text);
    }
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
