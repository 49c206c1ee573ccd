//! Responses as complete messages, appended to a buffer (RFC 4511 §4.1.9 and the operations' sections).

use ber::{ENUMERATED, INTEGER, OCTET_STRING, SEQUENCE, SET, Tag, Writer};

use crate::controls::{ControlBuf, put_controls};
use crate::{LdapResult, ResultCode};

/// Tags of the responses.
pub mod tags {
    #![allow(missing_docs)]
    use ber::Tag;

    pub const BIND: Tag = 0x61;
    pub const SEARCH_ENTRY: Tag = 0x64;
    pub const SEARCH_DONE: Tag = 0x65;
    pub const SEARCH_REFERENCE: Tag = 0x73;
    pub const MODIFY: Tag = 0x67;
    pub const ADD: Tag = 0x69;
    pub const DELETE: Tag = 0x6b;
    pub const MODIFY_DN: Tag = 0x6d;
    pub const COMPARE: Tag = 0x6f;
    pub const EXTENDED: Tag = 0x78;
    pub const INTERMEDIATE: Tag = 0x79;
}

pub(crate) const REFERRAL: Tag = 0xa3;
pub(crate) const SERVER_SASL_CREDENTIALS: Tag = 0x87;
pub(crate) const RESPONSE_NAME: Tag = 0x8a;
pub(crate) const RESPONSE_VALUE: Tag = 0x8b;
pub(crate) const INTERMEDIATE_NAME: Tag = 0x80;
pub(crate) const INTERMEDIATE_VALUE: Tag = 0x81;

/// A whole LDAPMessage around what `op` writes.
pub fn message(out: &mut Vec<u8>, id: i32, controls: &[ControlBuf], op: impl FnOnce(&mut Writer<'_>)) {
    let mut w = Writer::new(out);
    let envelope = w.begin(SEQUENCE);
    w.integer(INTEGER, i64::from(id));
    op(&mut w);
    put_controls(&mut w, controls);
    w.end(envelope);
}

/// COMPONENTS OF LDAPResult.
pub fn put_result(w: &mut Writer<'_>, result: &LdapResult) {
    w.integer(ENUMERATED, i64::from(result.code.as_i32()));
    w.octets(OCTET_STRING, result.matched_dn.as_bytes());
    w.octets(OCTET_STRING, result.message.as_bytes());
    if !result.referrals.is_empty() {
        let list = w.begin(REFERRAL);
        result.referrals.iter().for_each(|url| w.octets(OCTET_STRING, url.as_bytes()));
        w.end(list);
    }
}

/// Any response that is a plain LDAPResult; `op_tag` says which.
pub fn result(out: &mut Vec<u8>, id: i32, op_tag: Tag, result: &LdapResult, controls: &[ControlBuf]) {
    message(out, id, controls, |w| {
        let op = w.begin(op_tag);
        put_result(w, result);
        w.end(op);
    });
}

/// Success without anything to say, which most operations end with.
#[inline]
pub fn success(out: &mut Vec<u8>, id: i32, op_tag: Tag) {
    let mut w = Writer::new(out);
    let envelope = w.begin(SEQUENCE);
    w.integer(INTEGER, i64::from(id));
    w.raw(&[op_tag, 7, ENUMERATED, 1, 0, OCTET_STRING, 0, OCTET_STRING, 0]);
    w.end(envelope);
}

/// A bind response; `credentials` go on with a SASL exchange.
pub fn bind_response(
    out: &mut Vec<u8>,
    id: i32,
    result: &LdapResult,
    credentials: Option<&[u8]>,
    controls: &[ControlBuf],
) {
    message(out, id, controls, |w| {
        let op = w.begin(tags::BIND);
        put_result(w, result);
        if let Some(credentials) = credentials {
            w.octets(SERVER_SASL_CREDENTIALS, credentials);
        }
        w.end(op);
    });
}

/// An extended response.
pub fn extended_response(
    out: &mut Vec<u8>,
    id: i32,
    result: &LdapResult,
    name: Option<&str>,
    value: Option<&[u8]>,
    controls: &[ControlBuf],
) {
    message(out, id, controls, |w| {
        let op = w.begin(tags::EXTENDED);
        put_result(w, result);
        if let Some(name) = name {
            w.octets(RESPONSE_NAME, name.as_bytes());
        }
        if let Some(value) = value {
            w.octets(RESPONSE_VALUE, value);
        }
        w.end(op);
    });
}

/// An intermediate response (RFC 4511 §4.13).
pub fn intermediate(out: &mut Vec<u8>, id: i32, name: Option<&str>, value: Option<&[u8]>, controls: &[ControlBuf]) {
    message(out, id, controls, |w| {
        let op = w.begin(tags::INTERMEDIATE);
        if let Some(name) = name {
            w.octets(INTERMEDIATE_NAME, name.as_bytes());
        }
        if let Some(value) = value {
            w.octets(INTERMEDIATE_VALUE, value);
        }
        w.end(op);
    });
}

/// A continuation reference.
pub fn search_reference<'u>(
    out: &mut Vec<u8>,
    id: i32,
    urls: impl IntoIterator<Item = &'u str>,
    controls: &[ControlBuf],
) {
    message(out, id, controls, |w| {
        let op = w.begin(tags::SEARCH_REFERENCE);
        urls.into_iter().for_each(|url| w.octets(OCTET_STRING, url.as_bytes()));
        w.end(op);
    });
}

/// The unsolicited notification that the server is about to close the connection (RFC 4511 §4.4.1).
pub fn notice_of_disconnection(out: &mut Vec<u8>, code: ResultCode, reason: &str) {
    extended_response(
        out,
        0,
        &LdapResult::new(code, reason),
        Some(crate::oids::extended::NOTICE_OF_DISCONNECTION),
        None,
        &[],
    );
}

/// One entry of a search that is not on the hot path (root DSE, schema, monitor): description, values.
pub fn search_entry<'e, V>(
    out: &mut Vec<u8>,
    id: i32,
    dn: &str,
    attributes: impl IntoIterator<Item = (&'e [u8], V)>,
    controls: &[ControlBuf],
) where
    V: IntoIterator<Item = &'e [u8]>,
{
    message(out, id, controls, |w| {
        let op = w.begin(tags::SEARCH_ENTRY);
        put_entry(w, dn.as_bytes(), attributes);
        w.end(op);
    });
}

/// Name and attributes as a SearchResultEntry and the pre-read and post-read controls hold them.
pub fn put_entry<'e, V>(w: &mut Writer<'_>, dn: &[u8], attributes: impl IntoIterator<Item = (&'e [u8], V)>)
where
    V: IntoIterator<Item = &'e [u8]>,
{
    w.octets(OCTET_STRING, dn);
    let list = w.begin(SEQUENCE);
    for (description, values) in attributes {
        let attribute = w.begin(SEQUENCE);
        w.octets(OCTET_STRING, description);
        let set = w.begin(SET);
        values.into_iter().for_each(|value| w.octets(OCTET_STRING, value));
        w.end(set);
        w.end(attribute);
    }
    w.end(list);
}
