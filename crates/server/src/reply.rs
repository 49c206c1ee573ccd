//! Responses that the server itself words, and the little it must know of requests to do so.
//!
//! Results of the directory are encoded where they are made.

use ber::Tag;
use ldap::{
    LdapResult, MessageError, Request, ResultCode, encode, message::tags as request_tags, oids::extended as oids,
};

use crate::{client::Client, metrics::OperationKind};

/// What a client reads when an operation panicked.
pub(crate) const DEFECT: &str = "the operation failed by a defect of the server; the error log has the details";

/// Whether an extended request concerns the connection and not the directory.
pub(crate) fn is_for_connection(name: &[u8]) -> bool {
    [oids::CANCEL, oids::START_TLS, oids::GET_CONNECTION_ID].iter().any(|oid| oid.as_bytes() == name)
}

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

/// Refuses a request, whichever it is; nothing for those that have no response.
pub(crate) fn failure(out: &mut Vec<u8>, message: i32, request: &Request<'_>, code: ResultCode, text: &str) {
    if let Some(response) = request.response_tag() {
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

/// The message id in the value of a cancel request (RFC 3909 §2.1).
pub(crate) fn cancel_target(value: &[u8]) -> Option<i32> {
    let mut outer = ber::Reader::new(value);
    let mut inner = outer.sequence().ok()?;
    let target = i32::try_from(inner.integer().ok()?).ok()?;
    inner.finish().and_then(|()| outer.finish()).ok().map(|()| target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancel_values() {
        assert_eq!(cancel_target(b"\x30\x03\x02\x01\x07"), Some(7));
        for bad in [b"".as_slice(), b"\x30\x00", b"\x30\x03\x02\x01\x07\x00", b"\x30\x04\x02\x01\x07\x00", b"\x04\x01a"]
        {
            assert_eq!(cancel_target(bad), None);
        }
    }
}
