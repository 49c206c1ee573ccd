//! Updates of root users that do not have every privilege: they are judged like others.

use std::sync::mpsc;

use ldap::oids::control;
use ldap::transaction::EndTransaction;
use ldap::{ControlBuf, MadeUpdate, Message, ModifyOperation, ResultCode, client, oids};

use super::bed::{ANN, BEN, Bed, Done, asked, modify_message, none};
use crate::update::controls::OwnedControls;
use crate::update::review::Review;
use crate::update::rights::{Judge, Matter, TreePart};
use crate::update::{Submitted, UpdateDone};
use crate::{Identity, Session};
use change::proposal::{Flags, Kind};
use query::backend::BackendIndex;

const DENIED: ResultCode = ResultCode::INSUFFICIENT_ACCESS_RIGHTS;
/// A name that the configuration gives no privileges of its own.
const LESSER: &str = "cn=lesser";

/// The directory manager has every privilege of root users, other root users have bypass-acl alone.
fn bed() -> Bed {
    Bed::with(&["dc=example,dc=com"], |config| {
        let all = std::mem::replace(&mut config.root_defaults.default_privileges, vec!["bypass-acl".to_owned()]);
        config.root_users[0].privileges = all;
    })
}

fn become_lesser(bed: &mut Bed) {
    bed.session = Session::of(Identity::Root { dn: LESSER.into() }, 8);
}

/// The assertion `(sn=x)`.
fn sn_is_x() -> ControlBuf {
    ControlBuf::new(control::ASSERTION, Some(b"\xa3\x07\x04\x02sn\x04\x01x".to_vec())).critical()
}

// As observed of OpenDJ with bypass-acl alone.
#[test]
fn bypass_acl_alone_does_not_write_everything() {
    let mut bed = bed();
    let aci = "(targetattr=\"cn\")(version 3.0; acl \"x\"; allow (read) userdn=\"ldap:///all\";)";
    become_lesser(&mut bed);
    bed.replace(ANN, "sn", "Gale").ok();
    bed.replace(ANN, "aci", aci).refused(DENIED, "modify-acl");
    bed.replace(ANN, "userPassword", "other").refused(DENIED, "password-reset");
    bed.password_modify(Some(ANN), None, Some("other")).refused(DENIED, "password-reset");
    bed.replace(ANN, "ds-privilege-name", "bypass-acl").refused(DENIED, "privilege-change");
    let subentry = [("objectClass", "top"), ("objectClass", "ldapSubentry"), ("cn", "x")];
    bed.add("cn=x,dc=example,dc=com", &subentry).refused(DENIED, "subentry-write");
    let definition = "( 1.1.2.3 NAME 'mine' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )";
    bed.modify("cn=schema", &[(ModifyOperation::Add, "attributeTypes", definition)]).refused(DENIED, "update-schema");
    // First whether the entry is there.
    bed.replace("uid=no,dc=example,dc=com", "aci", aci).refused(ResultCode::NO_SUCH_OBJECT, "dc=example,dc=com");
    bed.delete(BEN, &[]).ok();
    // Whoever has the privileges may.
    bed.session = Session::of(super::bed::root(), 7);
    bed.replace(ANN, "aci", aci).ok();
    bed.replace(ANN, "userPassword", "other").ok();
    bed.replace(ANN, "ds-privilege-name", "-bypass-acl").ok();
    bed.add("cn=x,dc=example,dc=com", &subentry).ok();
    bed.modify("cn=schema", &[(ModifyOperation::Add, "attributeTypes", definition)]).ok();
}

#[test]
fn a_missing_new_superior_is_told_to_whoever_everything_shows_to() {
    let mut bed = bed();
    bed.add("ou=a,dc=example,dc=com", &[("objectClass", "organizationalUnit")]).ok();
    let referral = [("objectClass", "referral"), ("objectClass", "extensibleObject"), ("ref", "ldap://x.example/ou=r")];
    bed.add("ou=r,dc=example,dc=com", &referral).ok();
    let moved = |bed: &Bed, superior: &str| {
        let mut bytes = Vec::new();
        client::modify_dn(&mut bytes, 1, ANN, "uid=ann", true, Some(superior), &[]);
        bed.send(&bytes).0.result
    };
    let superiors = ["ou=none,ou=a,dc=example,dc=com", "dc=elsewhere", "ou=x,ou=r,dc=example,dc=com"];
    let as_root = superiors.map(|superior| moved(&bed, superior));
    assert_eq!(
        as_root.each_ref().map(|result| result.code),
        [ResultCode::NO_SUCH_OBJECT, ResultCode::NO_SUCH_OBJECT, ResultCode::REFERRAL]
    );
    assert_eq!(as_root[0].matched_dn, "ou=a,dc=example,dc=com");
    become_lesser(&mut bed);
    assert_eq!(superiors.map(|superior| moved(&bed, superior)), as_root);
}

#[test]
fn values_that_name_no_privilege_are_refused() {
    let mut bed = bed();
    let bad = ResultCode::CONSTRAINT_VIOLATION;
    bed.replace(ANN, "ds-privilege-name", "bypass-acls").refused(bad, "did you mean bypass-acl");
    let lines = [("objectClass", "inetOrgPerson"), ("cn", "x"), ("sn", "x"), ("ds-privilege-name", "root")];
    bed.add("cn=x,dc=example,dc=com", &lines).refused(bad, "root");
    bed.modify(ANN, &[(ModifyOperation::Delete, "ds-privilege-name", "root")])
        .refused(ResultCode::NO_SUCH_ATTRIBUTE, "ds-privilege-name");
    bed.replace(ANN, "ds-privilege-name", "Config-Read").ok();
}

#[test]
fn an_entry_that_was_replaced_meanwhile_is_judged_again() {
    let bed = bed();
    // The store is held until all requests are in its queue.
    let (release, held) = mpsc::channel::<()>();
    let submit = |session: &Session, bytes: &[u8], done: Box<dyn FnOnce(UpdateDone) + Send>| {
        let message = Message::decode(bytes).unwrap();
        assert!(matches!(bed.directory.submit(session, asked(&message), done), Submitted::Queued));
    };
    let first = modify_message(BEN, &[(ModifyOperation::Replace, "sn", "first")], &[]);
    submit(&bed.session, &first, Box::new(move |_| held.recv().unwrap()));
    let mut delete = Vec::new();
    client::delete(&mut delete, 2, ANN, &[]);
    submit(&bed.session, &delete, Box::new(|done| assert!(done.result.is_success())));
    let lines = [("objectClass", "inetOrgPerson"), ("cn", "new"), ("sn", "new")];
    let mut add = Vec::new();
    let lines = lines.iter().map(|(name, value)| (name.as_bytes(), [value.as_bytes()]));
    client::add(&mut add, 3, ANN, lines, &[]);
    submit(&bed.session, &add, Box::new(|done| assert!(done.result.is_success())));
    // Of the same connection, so that it comes last.
    let lesser = Session::of(Identity::Root { dn: LESSER.into() }, bed.session.connection);
    let (sender, receiver) = mpsc::channel();
    let last = modify_message(ANN, &[(ModifyOperation::Replace, "sn", "last")], &[]);
    submit(&lesser, &last, Box::new(move |done| sender.send(done).unwrap()));
    release.send(()).unwrap();
    Done(receiver.recv().unwrap()).ok();
    assert_eq!(bed.values(ANN, "sn"), ["last"]);
}

#[test]
fn an_assertion_holds_for_what_was_judged() {
    let mut bed = bed();
    become_lesser(&mut bed);
    let modify = |value: &str| bed.send(&modify_message(ANN, &[(ModifyOperation::Replace, "sn", value)], &[sn_is_x()]));
    modify("y").ok();
    modify("z").refused(ResultCode::ASSERTION_FAILED, "does not match");
    assert_eq!(bed.values(ANN, "sn"), ["y"]);
}

#[test]
fn pre_read_and_post_read_show_what_may_be_read() {
    let mut bed = bed();
    let wanted = |oid: &str| ControlBuf::new(oid, Some(b"\x30\x0b\x04\x02sn\x04\x05title".to_vec())).critical();
    let controls = [wanted(control::PRE_READ), wanted(control::POST_READ)];
    let values = |bed: &Bed, value: &str| {
        let change = [(ModifyOperation::Replace, "sn", value)];
        let done = bed.send(&modify_message(ANN, &change, &controls)).ok();
        done.response_controls.into_iter().map(|it| it.value.unwrap()).collect::<Vec<_>>()
    };
    let by_root = values(&bed, "one");
    bed.replace(ANN, "sn", "x").ok();
    become_lesser(&mut bed);
    assert_eq!(values(&bed, "one"), by_root);
}

#[test]
fn parts_of_a_transaction_are_judged_when_they_come() {
    let mut bed = bed();
    become_lesser(&mut bed);
    let id = bed.directory.start_transaction(&bed.session, &none()).unwrap();
    let part = ControlBuf::new(control::TRANSACTION_SPECIFICATION, Some(id.clone())).critical();
    let send = |bed: &Bed, message_id: i32, dn: &str, name: &str, more: &[ControlBuf]| {
        let mut bytes = Vec::new();
        let change = (ModifyOperation::Replace, name.as_bytes(), [&b"y"[..]]);
        client::modify(&mut bytes, message_id, dn, [change], &[std::slice::from_ref(&part), more].concat());
        bed.send(&bytes)
    };
    assert!(send(&bed, 11, ANN, "sn", &[]).0.result.is_success());
    send(&bed, 12, ANN, "aci", &[]).refused(DENIED, "modify-acl");
    send(&bed, 13, "ou=new,dc=example,dc=com", "ou", &[]).refused(ResultCode::NO_SUCH_OBJECT, "when it comes");
    // The assertion would be about what the first part leaves.
    send(&bed, 14, ANN, "sn", &[sn_is_x()]).refused(ResultCode::UNWILLING_TO_PERFORM, "changed once");
    let mut bytes = Vec::new();
    let value = EndTransaction { commit: true, identifier: &id }.encode();
    client::extended(&mut bytes, 99, oids::extended::END_TRANSACTION, Some(&value), &[]);
    bed.send(&bytes).ok();
    assert_eq!(bed.values(ANN, "sn"), ["y"]);
}

#[test]
fn a_subtree_with_a_subentry_is_not_deleted_in_part() {
    let mut bed = bed();
    bed.add("ou=a,dc=example,dc=com", &[("objectClass", "organizationalUnit")]).ok();
    bed.add("cn=b,ou=a,dc=example,dc=com", &[("objectClass", "device")]).ok();
    bed.add("cn=c,ou=a,dc=example,dc=com", &[("objectClass", "ldapSubentry"), ("cn", "c")]).ok();
    become_lesser(&mut bed);
    let tree = [ControlBuf::new(control::SUBTREE_DELETE, None).critical()];
    let refused = bed.delete("ou=a,dc=example,dc=com", &tree).refused(DENIED, "below \"ou=a,dc=example,dc=com\"");
    assert_eq!(refused.log.reason, "MayNotDeleteBelow");
    // How many there are is not told.
    let refused = bed.delete("ou=a,dc=example,dc=com", &[]).refused(ResultCode::NOT_ALLOWED_ON_NON_LEAF, "below it");
    assert!(!refused.result.message.contains("2 entries"), "{}", refused.result.message);
    bed.session = Session::of(super::bed::root(), 7);
    bed.delete("ou=a,dc=example,dc=com", &tree).ok();
}

#[test]
fn many_entries_are_judged_on_a_pool() {
    let mut bed = bed();
    bed.add("ou=a,dc=example,dc=com", &[("objectClass", "organizationalUnit")]).ok();
    for at in 0..=change::judged_tree::SLICE_ENTRIES {
        bed.add(&format!("cn={at},ou=a,dc=example,dc=com"), &[("objectClass", "device")]).ok();
    }
    become_lesser(&mut bed);
    let mut bytes = Vec::new();
    let tree = [ControlBuf::new(control::SUBTREE_DELETE, None).critical()];
    client::delete(&mut bytes, 1, "ou=a,dc=example,dc=com", &tree);
    let (done, is_slow) = bed.send_and_tell(&bytes);
    done.ok();
    assert!(is_slow);
}

#[test]
fn what_changes_again_and_again_is_judged_eight_times() {
    let bed = bed();
    let (facts, reading) = (bed.directory.facts(), bed.directory.reading.clone());
    let lesser = Session::of(Identity::Root { dn: LESSER.into() }, 8);
    let rights = bed.directory.access_control.rights_of(&lesser, &facts, &reading, 0).unwrap();
    let judge = Judge { rights, identity: lesser.identity.clone(), facts, reading };
    let change = (ModifyOperation::Replace, &b"sn"[..], [&b"y"[..]]);
    let made = MadeUpdate::modify(ANN.as_bytes(), [change]);
    let (backend, kind, flags) = (BackendIndex(0), Kind::Modify, Flags::default());
    let update = made.update().unwrap();
    let request = update.request();
    let tree = TreePart::first(false);
    let matter = Matter { backend, kind, flags, request, assertion: &[], wants_pre_read: false, most_below: 0, tree };
    let verdict = judge.judge(matter).unwrap();
    let mut review = Review::new(judge, verdict, Vec::new(), tree);
    let mut again = || review.judge_again(backend, kind, &OwnedControls::default(), update.encoded());
    for _ in 1..8 {
        again().unwrap();
    }
    assert_eq!(again().unwrap_err().result.code, ResultCode::BUSY);
}
