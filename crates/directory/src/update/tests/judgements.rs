//! What changes between a judgement and its turn: each time another update comes before the one that was judged.

use std::sync::mpsc::{Receiver, channel};

use ldap::oids::control;
use ldap::{ControlBuf, Message, ModifyOperation, ResultCode, client};

use super::bed::{ANN, BEN, Bed, asked, modify_message, root};
use crate::update::{Submitted, UpdateDone};
use crate::{Identity, Session};
use query::backend::BackendIndex;

const DENIED: ResultCode = ResultCode::INSUFFICIENT_ACCESS_RIGHTS;
const TOP: &str = "ou=top,dc=example,dc=com";
const MIDDLE: &str = "ou=middle,ou=top,dc=example,dc=com";
const LEAF: &str = "cn=leaf,ou=middle,ou=top,dc=example,dc=com";

/// What became of an update, and on which thread that was told.
type Outcome = Receiver<(UpdateDone, String)>;

/// Everybody may read everything; `aci` comes with it.
fn bed(aci: &str) -> Bed {
    let open = "(targetattr=\"*\")(version 3.0; acl \"open\"; allow (read,search) userdn=\"ldap:///all\";)";
    let mut bed = Bed::with(&["dc=example,dc=com"], |config| {
        config.access_control.global_acis = vec![open.to_owned(), aci.to_owned()];
    });
    let unit = [("objectClass", "organizationalUnit"), ("objectClass", "extensibleObject")];
    bed.add(TOP, &[&unit[..], &[("description", "mine"), ("manager", ANN)]].concat()).ok();
    bed.add(MIDDLE, &[&unit[..], &[("description", "mine"), ("manager", ANN)]].concat()).ok();
    bed.add(LEAF, &[("objectClass", "device"), ("cn", "leaf"), ("description", "mine")]).ok();
    bed
}

fn submit(bed: &Bed, session: &Session, bytes: &[u8]) -> Outcome {
    let (sender, receiver) = channel();
    let done = Box::new(move |done: UpdateDone| {
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        sender.send((done, thread)).unwrap();
    });
    let message = Message::decode(bytes).unwrap();
    if let Submitted::Slow(update) = bed.directory.submit(session, asked(&message), done) {
        update.run(&bed.directory);
    }
    receiver
}

/// Ann's request is judged, and comes to its turn behind an update of root that was not done when it was judged; or
/// before it, in the same batch.
fn race(bed: &Bed, of_root: &[u8], of_ann: &[u8], is_root_first: bool) -> (UpdateDone, String) {
    let ann = Identity::User { dn: ANN.into(), backend: BackendIndex(0), entry: store::EntryId(2) };
    let ann = Session::of(ann, 8);
    // The store is held until both are in its queue.
    let (release, held) = channel::<()>();
    let first = modify_message(BEN, &[(ModifyOperation::Replace, "sn", "first")], &[]);
    let message = Message::decode(&first).unwrap();
    let done = Box::new(move |_: UpdateDone| held.recv().unwrap());
    assert!(matches!(bed.directory.submit(&bed.session, asked(&message), done), Submitted::Queued));
    let other = Session::of(root(), 9);
    let (done, of_root) = if is_root_first {
        let of_root = submit(bed, &other, of_root);
        (submit(bed, &ann, of_ann), of_root)
    } else {
        let done = submit(bed, &ann, of_ann);
        (done, submit(bed, &other, of_root))
    };
    release.send(()).unwrap();
    let (root_done, _) = of_root.recv().unwrap();
    assert!(root_done.result.is_success(), "{}", root_done.result);
    done.recv().unwrap()
}

fn tree_delete(dn: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    client::delete(&mut bytes, 1, dn, &[ControlBuf::new(control::SUBTREE_DELETE, None).critical()]);
    bytes
}

fn add(dn: &str, description: &str) -> Vec<u8> {
    let attributes = [("objectClass", "device"), ("description", description)];
    let attributes = attributes.iter().map(|(name, value)| (name.as_bytes(), [value.as_bytes()]));
    let mut bytes = Vec::new();
    client::add(&mut bytes, 1, dn, attributes, &[]);
    bytes
}

fn entries(bed: &Bed) -> u64 {
    bed.directory.backends[0].store.snapshot().unwrap().entry_count().unwrap()
}

/// What is described as mine may be deleted.
fn delete_mine() -> String {
    format!("(targetfilter=\"(description=mine)\")(version 3.0; acl \"d\"; allow (delete) userdn=\"ldap:///{ANN}\";)")
}

#[test]
fn entries_that_come_below_a_deleted_one_are_judged() {
    let other = "ou=other,dc=example,dc=com";
    let mut moved = Vec::new();
    client::modify_dn(&mut moved, 1, other, "ou=other", true, Some(MIDDLE), &[]);
    let changed = modify_message(LEAF, &[(ModifyOperation::Replace, "description", "others")], &[]);
    for of_root in [add(&format!("cn=new,{MIDDLE}"), "others"), moved, changed] {
        let mut bed = bed(&delete_mine());
        bed.add(other, &[("objectClass", "organizationalUnit"), ("description", "mine")]).ok();
        bed.add(&format!("cn=x,{other}"), &[("objectClass", "device"), ("description", "others")]).ok();
        let before = entries(&bed);
        let (done, thread) = race(&bed, &of_root, &tree_delete(TOP), true);
        assert_eq!((done.result.code, &*thread), (DENIED, "judging"), "{}", done.result);
        assert!(entries(&bed) >= before, "nothing is deleted");
    }
    // What may be deleted goes with the others.
    let bed = bed(&delete_mine());
    let before = entries(&bed);
    let (done, _) = race(&bed, &add(&format!("cn=new,{MIDDLE}"), "mine"), &tree_delete(TOP), true);
    assert_eq!((done.result.code, entries(&bed)), (ResultCode::SUCCESS, before - 3));
}

#[test]
fn entries_that_come_between_two_slices_are_judged() {
    let mut bed = bed(&delete_mine());
    for at in 0..200 {
        bed.send(&add(&format!("cn={at},{MIDDLE}"), "mine")).ok();
    }
    let before = entries(&bed);
    let (done, _) = race(&bed, &add(&format!("cn=new,{MIDDLE}"), "others"), &tree_delete(TOP), false);
    assert_eq!(done.result.code, DENIED);
    assert!(done.result.message.contains("(128 entries were deleted"), "{}", done.result.message);
    assert_eq!(entries(&bed), before + 1 - 128);
    bed.modify(&format!("cn=new,{MIDDLE}"), &[(ModifyOperation::Replace, "description", "mine")]).ok();
    bed.session.identity = Identity::User { dn: ANN.into(), backend: BackendIndex(0), entry: store::EntryId(2) };
    bed.send(&tree_delete(TOP)).ok();
    assert_eq!(entries(&bed), 3);
}

// S0-06: `userattr` with levels reads entries above.
#[test]
fn what_entries_above_contain_is_what_was_judged() {
    let write = modify_message(LEAF, &[(ModifyOperation::Replace, "description", "new")], &[]);
    let added = add(&format!("cn=new,{MIDDLE}"), "x");
    let deleted = {
        let mut bytes = Vec::new();
        client::delete(&mut bytes, 1, LEAF, &[]);
        bytes
    };
    for (level, above) in [(1, MIDDLE), (2, TOP)] {
        for request in [&write, &added, &deleted] {
            let aci = format!(
                "(targetattr=\"*\")(version 3.0; acl \"u\"; allow (write,add,delete) \
                 userattr=\"parent[{level}].manager#USERDN\";)"
            );
            let bed = bed(&aci);
            let of_root = modify_message(above, &[(ModifyOperation::Replace, "manager", BEN)], &[]);
            let (done, thread) = race(&bed, &of_root, request, true);
            assert_eq!((done.result.code, &*thread), (DENIED, "judging"), "{level} {}", done.result);
        }
    }
}

#[test]
fn what_did_not_count_may_change() {
    let aci = "(targetattr=\"*\")(version 3.0; acl \"u\"; allow (write) userattr=\"parent[1].manager#USERDN\";)";
    let bed = bed(aci);
    let of_root = modify_message(TOP, &[(ModifyOperation::Replace, "manager", BEN)], &[]);
    let of_ann = modify_message(LEAF, &[(ModifyOperation::Replace, "description", "new")], &[]);
    let (done, thread) = race(&bed, &of_root, &of_ann, true);
    assert!(done.result.is_success() && thread != "judging", "{}", done.result);
}
