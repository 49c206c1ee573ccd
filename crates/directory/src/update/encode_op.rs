//! A decoded request back to its protocolOp, for the log of proposals.
//!
//! Knows the wire form of updates and of extended requests; changes nothing in them.

use ber::{BOOLEAN, ENUMERATED, OCTET_STRING, SEQUENCE, SET, Tag, Writer};
use ldap::message::tags;
use ldap::{Attribute, Request};

/// The protocolOp of an update; empty for any other request.
pub(super) fn encode(request: &Request<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    let w = &mut Writer::new(&mut out);
    match request {
        Request::Add(request) => {
            let op = w.begin(tags::ADD);
            w.octets(OCTET_STRING, request.entry);
            let list = w.begin(SEQUENCE);
            request.attributes.iter().for_each(|attribute| put_attribute(w, &attribute));
            w.end(list);
            w.end(op);
        }
        Request::Modify(request) => {
            let op = w.begin(tags::MODIFY);
            w.octets(OCTET_STRING, request.object);
            let list = w.begin(SEQUENCE);
            for change in request.changes.iter() {
                let item = w.begin(SEQUENCE);
                w.integer(ENUMERATED, change.operation.as_wire());
                put_attribute(w, &change.attribute);
                w.end(item);
            }
            w.end(list);
            w.end(op);
        }
        Request::Delete(dn) => w.octets(tags::DELETE, dn),
        Request::ModifyDn(request) => {
            const NEW_SUPERIOR: Tag = 0x80;
            let op = w.begin(tags::MODIFY_DN);
            w.octets(OCTET_STRING, request.entry);
            w.octets(OCTET_STRING, request.new_rdn);
            w.boolean(BOOLEAN, request.delete_old_rdn);
            if let Some(superior) = request.new_superior {
                w.octets(NEW_SUPERIOR, superior);
            }
            w.end(op);
        }
        Request::Extended(request) => {
            const NAME: Tag = 0x80;
            const VALUE: Tag = 0x81;
            let op = w.begin(tags::EXTENDED);
            w.octets(NAME, request.name);
            if let Some(value) = request.value {
                w.octets(VALUE, value);
            }
            w.end(op);
        }
        _ => {}
    }
    out
}

/// An attribute as it was sent.
pub(super) fn put_attribute(w: &mut Writer<'_>, attribute: &Attribute<'_>) {
    let item = w.begin(SEQUENCE);
    w.octets(OCTET_STRING, attribute.description);
    let set = w.begin(SET);
    w.raw(attribute.values.encoded());
    w.end(set);
    w.end(item);
}

/// An attribute with other values.
pub(super) fn put_attribute_with(w: &mut Writer<'_>, description: &[u8], values: &[Vec<u8>]) {
    let item = w.begin(SEQUENCE);
    w.octets(OCTET_STRING, description);
    let set = w.begin(SET);
    values.iter().for_each(|value| w.octets(OCTET_STRING, value));
    w.end(set);
    w.end(item);
}
