//! Transactions (RFC 5805) as requests.

use ldap::oids::{control, extended};
use ldap::transaction::EndTransaction;
use ldap::{ControlBuf, ModifyOperation, ResultCode, client};

use super::bed::{ANN, BEN, Bed, Done, none};

const ROOM: &str = "ou=room,dc=example,dc=com";

fn start(bed: &Bed) -> Vec<u8> {
    bed.directory.start_transaction(&bed.session, &none()).unwrap()
}

fn part_of(identifier: &[u8]) -> ControlBuf {
    ControlBuf::new(control::TRANSACTION_SPECIFICATION, Some(identifier.to_vec())).critical()
}

fn end(bed: &Bed, identifier: &[u8], commit: bool) -> Done {
    let mut bytes = Vec::new();
    let value = EndTransaction { commit, identifier }.encode();
    client::extended(&mut bytes, 99, extended::END_TRANSACTION, Some(&value), &[]);
    bed.send(&bytes)
}

fn add(bed: &Bed, id: i32, dn: &str, attributes: &[(&str, &str)], controls: &[ControlBuf]) -> Done {
    let mut bytes = Vec::new();
    let attributes = attributes.iter().map(|(name, value)| (name.as_bytes(), [value.as_bytes()]));
    client::add(&mut bytes, id, dn, attributes, controls);
    bed.send(&bytes)
}

fn add_room(bed: &Bed, id: i32, controls: &[ControlBuf]) -> Done {
    add(bed, id, ROOM, &[("objectClass", "organizationalUnit"), ("ou", "room")], controls)
}

fn replace(bed: &Bed, id: i32, dn: &str, attribute: &str, value: &str, controls: &[ControlBuf]) -> Done {
    let mut bytes = Vec::new();
    let change = (ModifyOperation::Replace, attribute.as_bytes(), [value.as_bytes()]);
    client::modify(&mut bytes, id, dn, [change], controls);
    bed.send(&bytes)
}

fn entries(bed: &Bed) -> u64 {
    bed.directory.backends[0].store.snapshot().unwrap().entry_count().unwrap()
}

/// Taken, but nothing is done yet.
#[track_caller]
fn waits(done: Done) {
    assert!(done.0.result.is_success(), "{}", done.0.result);
    assert!(done.0.csn.is_none());
}

#[test]
fn all_is_done_at_the_end_and_each_sees_those_before() {
    let bed = Bed::new();
    let before = entries(&bed);
    let id = start(&bed);
    let part = [part_of(&id)];
    let with_read = [part_of(&id), ControlBuf::new(control::POST_READ, Some(b"\x30\x0d\x04\x0bdescription".to_vec()))];
    waits(add_room(&bed, 11, &part));
    waits(replace(&bed, 12, ROOM, "description", "new", &with_read));
    waits(replace(&bed, 13, ANN, "sn", "together", &part));
    assert_eq!((entries(&bed), bed.values(ANN, "sn").contains(&"together".to_owned())), (before, false));
    let done = end(&bed, &id, true).ok();
    assert_eq!(entries(&bed), before + 1);
    assert_eq!(bed.values(ROOM, "description"), ["new"]);
    assert_eq!(bed.values(ANN, "sn"), ["together"]);
    // The response says which update the control is of.
    let value = done.response_value.unwrap();
    assert!(value.windows(3).any(|window| window == [2, 1, 12]), "{value:?}");
    assert!(value.windows(3).any(|window| window == b"new"));
    end(&bed, &id, true).refused(ResultCode::UNWILLING_TO_PERFORM, "no open transaction");
}

#[test]
fn nothing_is_done_when_one_is_refused() {
    let bed = Bed::new();
    let before = entries(&bed);
    let id = start(&bed);
    let part = [part_of(&id)];
    // A set of classes that no entry had: its number must not outlive the refusal.
    let device = [("objectClass", "device"), ("objectClass", "uidObject"), ("cn", "d"), ("uid", "d")];
    waits(add(&bed, 21, "cn=d,dc=example,dc=com", &device, &part));
    waits(replace(&bed, 22, ANN, "sn", "never", &part));
    waits(replace(&bed, 23, "uid=nobody,dc=example,dc=com", "sn", "x", &part));
    waits(replace(&bed, 24, BEN, "sn", "never", &part));
    let done = end(&bed, &id, true).refused(ResultCode::NO_SUCH_OBJECT, "");
    assert_eq!(done.response_value.as_deref(), Some(&[0x30, 3, 2, 1, 23][..]));
    assert_eq!(entries(&bed), before);
    assert!(!bed.values(ANN, "sn").contains(&"never".to_owned()));
    add_room(&bed, 1, &[]).ok();
    add(&bed, 2, "cn=d,dc=example,dc=com", &device, &[]).ok();
    assert_eq!(bed.values(ROOM, "ou"), ["room"]);
    assert_eq!(bed.values("cn=d,dc=example,dc=com", "uid"), ["d"]);
}

#[test]
fn aborted_and_forgotten_ones_leave_nothing() {
    let mut bed = Bed::new();
    let before = entries(&bed);
    let id = start(&bed);
    waits(add_room(&bed, 31, &[part_of(&id)]));
    assert!(end(&bed, &id, false).0.result.is_success());
    let id = start(&bed);
    assert!(end(&bed, &id, true).0.result.is_success(), "an empty one does nothing");
    let id = start(&bed);
    waits(add_room(&bed, 32, &[part_of(&id)]));
    // A bind ends it without notice (RFC 5805 §3.5).
    let bound = bed.directory.nobody();
    bed.session.take(bound, std::time::Instant::now());
    bed.session.identity = super::bed::root();
    end(&bed, &id, true).refused(ResultCode::UNWILLING_TO_PERFORM, "no open transaction");
    add_room(&bed, 33, &[part_of(&id)]).refused(ResultCode::UNWILLING_TO_PERFORM, "no open transaction");
    assert_eq!(entries(&bed), before);
}

#[test]
fn what_a_transaction_does_not_take() {
    let bed = Bed::new();
    let id = start(&bed);
    let nested = bed.directory.start_transaction(&bed.session, &none()).unwrap_err();
    assert_eq!(nested.code, ResultCode::UNWILLING_TO_PERFORM);
    waits(add_room(&bed, 41, &[part_of(&id)]));
    replace(&bed, 41, ANN, "sn", "x", &[part_of(&id)]).refused(ResultCode::PROTOCOL_ERROR, "message id");
    replace(&bed, 42, ANN, "sn", "x", &[part_of(b"other")]).refused(ResultCode::UNWILLING_TO_PERFORM, "other");
    replace(&bed, 43, "cn=schema", "attributeTypes", "x", &[part_of(&id)])
        .refused(ResultCode::UNWILLING_TO_PERFORM, "");
    let empty = [ControlBuf::new(control::TRANSACTION_SPECIFICATION, None).critical()];
    replace(&bed, 44, ANN, "sn", "x", &empty).refused(ResultCode::PROTOCOL_ERROR, "identifier");
    // What its controls hold counts: a present filter of 5 MiB.
    let mut filter = vec![0x87, 0x83, 0x50, 0, 0];
    filter.resize(filter.len() + 0x50_0000, b'a');
    let long = [part_of(&id), ControlBuf::new(control::ASSERTION, Some(filter)).critical()];
    replace(&bed, 46, ANN, "sn", "x", &long).refused(ResultCode::ADMIN_LIMIT_EXCEEDED, "4 MiB");
    for more in 0..999 {
        waits(replace(&bed, 100 + more, ANN, "description", "x", &[part_of(&id)]));
    }
    replace(&bed, 45, ANN, "sn", "x", &[part_of(&id)]).refused(ResultCode::ADMIN_LIMIT_EXCEEDED, "1000 updates");
    end(&bed, &id, true).ok();
}
