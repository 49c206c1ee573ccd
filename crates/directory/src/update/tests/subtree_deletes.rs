//! Subtree deletes that take more than one slice.

use std::sync::mpsc;

use ldap::oids::control;
use ldap::{ControlBuf, Message, ResultCode, client};

use super::bed::{ANN, Bed, asked};
use crate::update::{Submitted, UpdateDone};
use change::judged_tree::SLICE_ENTRIES;

/// `ou=big` with three times as many entries as a slice has, two levels deep.
fn with_big_tree(bed: &mut Bed) {
    let unit = |name: &str| [("objectClass", "organizationalUnit".to_owned()), ("ou", name.to_owned())];
    let mut add = |dn: &str, name: &str| {
        let attributes = unit(name);
        let attributes: Vec<_> = attributes.iter().map(|(name, value)| (*name, value.as_str())).collect();
        bed.add(dn, &attributes).ok();
    };
    add("ou=big,dc=example,dc=com", "big");
    for half in ["left", "right"] {
        add(&format!("ou={half},ou=big,dc=example,dc=com"), half);
        for at in 0..SLICE_ENTRIES * 3 / 2 {
            add(&format!("ou={at},ou={half},ou=big,dc=example,dc=com"), &at.to_string());
        }
    }
}

fn tree_delete(dn: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    client::delete(&mut bytes, 1, dn, &[ControlBuf::new(control::SUBTREE_DELETE, None).critical()]);
    bytes
}

#[test]
fn a_large_subtree_goes_in_slices_and_others_get_their_turn() {
    let mut bed = Bed::new();
    with_big_tree(&mut bed);
    let entries = |bed: &Bed| bed.directory.backends[0].store.snapshot().unwrap().entry_count().unwrap();
    let before = entries(&bed);
    // The store is held until both requests are in its queue.
    let (release, held) = mpsc::channel::<()>();
    let bytes = super::bed::modify_message(ANN, &[(ldap::ModifyOperation::Replace, "sn", "first")], &[]);
    let message = Message::decode(&bytes).unwrap();
    let done = Box::new(move |_: UpdateDone| held.recv().unwrap());
    assert!(matches!(bed.directory.submit(&bed.session, asked(&message), done), Submitted::Queued));
    let bytes = tree_delete("ou=big,dc=example,dc=com");
    let message = Message::decode(&bytes).unwrap();
    let (sender, order) = mpsc::channel();
    let told = sender.clone();
    let done = Box::new(move |done: UpdateDone| told.send(("tree", done)).unwrap());
    assert!(matches!(bed.directory.submit(&bed.session, asked(&message), done), Submitted::Queued));
    // Waits behind one slice, not behind all of them.
    let bytes = super::bed::modify_message(ANN, &[(ldap::ModifyOperation::Replace, "sn", "between")], &[]);
    let message = Message::decode(&bytes).unwrap();
    let done = Box::new(move |done: UpdateDone| sender.send(("modify", done)).unwrap());
    assert!(matches!(bed.directory.submit(&bed.session, asked(&message), done), Submitted::Queued));
    release.send(()).unwrap();
    let (first, second) = (order.recv().unwrap(), order.recv().unwrap());
    assert_eq!((first.0, second.0), ("modify", "tree"));
    assert!(first.1.result.is_success() && second.1.result.is_success(), "{}", second.1.result);
    assert!(second.1.csn > first.1.csn);
    assert_eq!(entries(&bed), before - (SLICE_ENTRIES as u64 * 3 + 3));
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_gone() {
    let mut bed = Bed::new();
    with_big_tree(&mut bed);
    let entries = |bed: &Bed| bed.directory.backends[0].store.snapshot().unwrap().entry_count().unwrap();
    let before = entries(&bed);
    let no_op =
        [ControlBuf::new(control::SUBTREE_DELETE, None).critical(), ControlBuf::new(control::NO_OP, None).critical()];
    bed.delete("ou=big,dc=example,dc=com", &no_op).refused(ResultCode::NO_OPERATION, "no-op");
    bed.send(&tree_delete("ou=nothing,dc=example,dc=com")).refused(ResultCode::NO_SUCH_OBJECT, "");
    assert_eq!(entries(&bed), before);
    bed.send(&tree_delete("ou=big,dc=example,dc=com")).ok();
    bed.send(&tree_delete("dc=example,dc=com")).ok();
    assert_eq!(entries(&bed), 0);
}
