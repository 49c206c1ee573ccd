//! What operations do.

use super::bed::{Bed, SUFFIX, With, add_op, modify_op};
use crate::proposal::{Flags, Kind};

const ANN: &str = "uid=ann,ou=people,dc=example,dc=com";

fn with_ann() -> Bed {
    let mut bed = Bed::new();
    bed.person("ann");
    bed
}

#[test]
fn an_added_entry_has_its_operational_attributes() {
    let bed = with_ann();
    let entry = bed.entry(ANN).unwrap();
    assert_eq!(entry["entryUUID"], ["00000000-0000-0000-0000-000000000004"]);
    assert_eq!(entry["createTimestamp"], ["20261121101500Z"]);
    assert_eq!(entry["creatorsName"], ["cn=Directory Manager"]);
    assert_eq!(entry["modifyTimestamp"], ["20261121101500Z"]);
    assert_eq!(entry["modifiersName"], ["cn=Directory Manager"]);
    assert_eq!(entry["entryCSN"], ["20261121101500.004000Z#000000#000#000000"]);
    // The superior classes that the client left out are there.
    assert_eq!(entry["objectClass"], ["inetOrgPerson", "top", "person", "organizationalPerson"]);
}

#[test]
fn values_of_the_rdn_are_added() {
    let mut bed = Bed::new();
    let dn = "cn=Ben\\, B.+uid=ben,ou=people,dc=example,dc=com";
    bed.add(dn, "objectClass: inetOrgPerson\nsn: Example").ok();
    assert_eq!(bed.values(dn, "cn"), ["Ben, B."]);
    assert_eq!(bed.values(dn, "uid"), ["ben"]);
    assert_eq!(bed.stored_dn("UID=Ben + CN=ben\\2c  b.,ou=people,dc=example,dc=com").as_deref(), Some(dn));
}

#[test]
fn modifications_are_made_in_order_and_stamped() {
    let mut bed = with_ann();
    bed.modify(ANN, "add mail: a@example.com | b@example.com\ndelete mail: A@example.com\nadd mail: c@example.com")
        .ok();
    assert_eq!(bed.values(ANN, "mail"), ["b@example.com", "c@example.com"]);
    bed.modify(ANN, "replace mail: d@example.com\nadd description;lang-DE: hallo\nadd COMMONNAME: Annie").ok();
    let entry = bed.entry(ANN).unwrap();
    assert_eq!(entry["mail"], ["d@example.com"]);
    assert_eq!(entry["description;lang-de"], ["hallo"]);
    assert_eq!(entry["cn"], ["ann Example", "Annie"]);
    assert_eq!(entry["entryCSN"], ["20261121101500.006000Z#000000#000#000000"]);
    assert_eq!(entry["entryUUID"], ["00000000-0000-0000-0000-000000000004"]);
    bed.modify(ANN, "delete mail\nreplace description\nreplace title").ok();
    let entry = bed.entry(ANN).unwrap();
    assert!(!entry.contains_key("mail") && entry.contains_key("description;lang-de"));
    bed.verify();
}

#[test]
fn only_the_final_state_is_judged() {
    let mut bed = with_ann();
    // sn is required, employeeNumber has one value, uid is the name: all are broken on the way.
    let changes = "delete sn\nadd employeeNumber: 1\nadd employeeNumber: 2\ndelete uid\n\
                   add sn: New\ndelete employeeNumber: 1\nadd uid: ANN";
    bed.modify(ANN, changes).ok();
    let entry = bed.entry(ANN).unwrap();
    assert_eq!((&entry["sn"][..], &entry["uid"][..]), (&["New".to_owned()][..], &["ANN".to_owned()][..]));
    // A class and the attributes it asks for come together.
    let changes = "add uidNumber: 7\nadd gidNumber: 8\nadd homeDirectory: /home/ann\nadd objectClass: posixAccount";
    bed.modify(ANN, changes).ok();
    let changes = "delete objectClass: posixAccount\ndelete uidNumber\ndelete gidNumber\ndelete homeDirectory";
    bed.modify(ANN, changes).ok();
    assert!(!bed.entry(ANN).unwrap().contains_key("uidNumber"));
}

#[test]
fn increments_add_to_every_value() {
    let mut bed = with_ann();
    let changes = "add objectClass: posixAccount\nadd uidNumber: 41\nadd gidNumber: -3\nadd homeDirectory: /";
    bed.modify(ANN, changes).ok();
    bed.modify(ANN, "increment uidNumber: 1\nincrement gidNumber: -4\nincrement uidNumber: 100000000000").ok();
    let entry = bed.entry(ANN).unwrap();
    assert_eq!((&entry["uidNumber"][0][..], &entry["gidNumber"][0][..]), ("100000000042", "-7"));
}

#[test]
fn a_group_grows_beyond_the_record_and_shrinks_again() {
    let mut bed = Bed::new();
    let group = "cn=all,ou=groups,dc=example,dc=com";
    let member = |n: usize| format!("uid=u{n},ou=people,dc=example,dc=com");
    let list = |range: std::ops::Range<usize>| range.map(member).collect::<Vec<_>>().join(" | ");
    bed.add(group, &format!("objectClass: groupOfNames\nmember: {}", member(0))).ok();
    bed.modify(group, &format!("add member: {}", list(1..250))).ok();
    assert_eq!(bed.values(group, "member").len(), 250);
    bed.modify(group, &format!("add member: {}", list(250..600))).ok();
    assert_eq!(bed.values(group, "member").len(), 600);
    let again = bed.modify(group, &format!("add member: {}", member(300).to_uppercase()));
    again.refused(ldap::ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, "member");
    // Out and in again within one request, in another spelling.
    let both = format!("delete member: {}\nadd member: UID=U300,ou=people,dc=example,dc=com", member(300));
    bed.modify(group, &both).ok();
    assert!(bed.values(group, "member").contains(&"UID=U300,ou=people,dc=example,dc=com".to_owned()));
    bed.modify(group, &format!("delete member: {}", list(1..599))).ok();
    bed.modify(group, &format!("delete member: {}", member(1))).refused(ldap::ResultCode::NO_SUCH_ATTRIBUTE, "u1,");
    assert_eq!(bed.values(group, "member").len(), 2);
    bed.modify(group, &format!("replace member: {}", list(5..8))).ok();
    assert_eq!(bed.values(group, "member"), [member(5), member(6), member(7)]);
    bed.verify();
    bed.delete(group).ok();
    let bed = bed.reopen();
    assert_eq!(bed.entry(group), None);
    bed.verify();
}

#[test]
fn a_large_value_comes_and_goes() {
    let mut bed = with_ann();
    let long = "x".repeat(10_000);
    bed.modify(ANN, &format!("add description: {long}\nadd title: Boss")).ok();
    assert_eq!(bed.values(ANN, "description"), [long.as_str()]);
    bed.modify(ANN, "replace description: short").ok();
    assert_eq!(bed.values(ANN, "description"), ["short"]);
    assert_eq!(bed.values(ANN, "title"), ["Boss"]);
}

#[test]
fn deletes_and_subtree_deletes() {
    let mut bed = with_ann();
    bed.person("ben");
    bed.delete(ANN).ok();
    assert_eq!(bed.entry(ANN), None);
    let mut flags = Flags::default();
    flags.set(Flags::SUBTREE_DELETE);
    bed.delete_with("ou=people,dc=example,dc=com", With { flags, ..With::default() }).ok();
    assert_eq!(bed.entry("uid=ben,ou=people,dc=example,dc=com"), None);
    bed.delete_with(SUFFIX, With { flags, ..With::default() }).ok();
    assert_eq!(bed.entry(SUFFIX), None);
    bed.planted().verify();
}

#[test]
fn renames_and_moves_take_the_subtree_along() {
    let mut bed = with_ann();
    bed.rename(ANN, "uid=anna", true, None).ok();
    let anna = "uid=anna,ou=people,dc=example,dc=com";
    assert_eq!(bed.values(anna, "uid"), ["anna"]);
    bed.rename(anna, "cn=ann example", false, None).ok();
    let anna = "cn=ann example,ou=people,dc=example,dc=com";
    assert_eq!(bed.values(anna, "uid"), ["anna"]);
    // Only the spelling of the name changes; the attribute keeps its value.
    bed.rename(anna, "cn=ANN Example", true, None).ok();
    assert_eq!(bed.stored_dn(anna).as_deref(), Some("cn=ANN Example,ou=people,dc=example,dc=com"));
    assert_eq!(bed.values(anna, "cn"), ["ann Example"]);
    bed.rename("ou=people,dc=example,dc=com", "ou=staff", true, Some("ou=groups,dc=example,dc=com")).ok();
    let moved = "cn=ann example,ou=staff,ou=groups,dc=example,dc=com";
    assert_eq!(bed.stored_dn(moved).as_deref(), Some("cn=ANN Example,ou=staff,ou=groups,dc=example,dc=com"));
    assert_eq!(bed.entry(anna), None);
    bed.verify();
}

#[test]
fn controls_look_before_and_after() {
    let mut bed = with_ann();
    let selection = |name: &str| {
        let mut out = Vec::new();
        let mut w = ber::Writer::new(&mut out);
        let list = w.begin(ber::SEQUENCE);
        w.octets(ber::OCTET_STRING, name.as_bytes());
        w.end(list);
        out
    };
    let sn = selection("sn");
    let with = With { pre_read: &sn, post_read: &sn, ..With::default() };
    let report = bed.modify_with(ANN, "replace sn: Changed", with).ok();
    let (before, after) = (report.pre_read.clone().unwrap(), report.post_read.clone().unwrap());
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has(&before, "Example") && !has(&before, "Changed"));
    assert!(has(&after, "Changed") && has(&after, ANN) && !has(&after, "mail"));
    assert_eq!(report.controls().len(), 2);

    let assertion = |text: &str| {
        let filter = ldap::filter::parse(text).unwrap();
        filter.as_ber().to_vec()
    };
    let (holds, fails) = (assertion("(sn=changed)"), assertion("(sn=other)"));
    bed.modify_with(ANN, "replace sn: Again", With { assertion: &fails, ..With::default() })
        .refused(ldap::ResultCode::ASSERTION_FAILED, "assertion");
    bed.delete_with(ANN, With { assertion: &fails, ..With::default() })
        .refused(ldap::ResultCode::ASSERTION_FAILED, "assertion");
    bed.modify_with(ANN, "replace sn: Again", With { assertion: &holds, ..With::default() }).ok();
    assert_eq!(bed.values(ANN, "sn"), ["Again"]);
}

#[test]
fn no_op_changes_nothing_and_relax_lets_root_write_what_the_server_writes() {
    let mut bed = with_ann();
    let before = bed.picture();
    let mut flags = Flags::default();
    flags.set(Flags::NO_OP);
    let with = With { flags, ..With::default() };
    let no_operation = ldap::ResultCode::NO_OPERATION;
    bed.modify_with(ANN, "replace sn: x", with).refused(no_operation, "no-op");
    bed.delete_with(ANN, with).refused(no_operation, "no-op");
    bed.add_with("ou=x,dc=example,dc=com", "objectClass: organizationalUnit\nou: x", with)
        .refused(no_operation, "no-op");
    assert_eq!(bed.picture(), before);

    let mut flags = Flags::default();
    flags.set(Flags::RELAX);
    let with = With { flags, ..With::default() };
    let text = "objectClass: organizationalUnit\nou: x\nentryUUID: 0b1b0c1e-9a1f-4c0e-8d6a-0123456789ab\n\
                createTimestamp: 19990101000000Z\ncreatorsName: cn=old";
    bed.add("ou=x,dc=example,dc=com", text).refused(ldap::ResultCode::CONSTRAINT_VIOLATION, "entryUUID");
    bed.add_with("ou=x,dc=example,dc=com", text, with).ok();
    let entry = bed.entry("ou=x,dc=example,dc=com").unwrap();
    assert_eq!(entry["entryUUID"], ["0b1b0c1e-9a1f-4c0e-8d6a-0123456789ab"]);
    assert_eq!((&entry["createTimestamp"][0][..], &entry["creatorsName"][0][..]), ("19990101000000Z", "cn=old"));
    assert_eq!(entry["modifiersName"], ["cn=Directory Manager"]);
    bed.modify_with(ANN, "replace objectClass: device", with).refused(ldap::ResultCode::OBJECT_CLASS_VIOLATION, "sn");
}

#[test]
fn permissive_modify_forgives() {
    let mut bed = with_ann();
    let mut flags = Flags::default();
    flags.set(Flags::PERMISSIVE_MODIFY);
    let with = With { flags, ..With::default() };
    bed.modify_with(ANN, "add sn: example\ndelete mail: none\ndelete title\nadd title: Boss", with).ok();
    assert_eq!(bed.values(ANN, "sn"), ["Example"]);
    assert_eq!(bed.values(ANN, "title"), ["Boss"]);
}

#[test]
fn the_same_proposals_make_the_same_bytes() {
    let run = || {
        let mut bed = with_ann();
        bed.person("ben");
        bed.modify(ANN, "add mail: a@example.com | b@example.com\nadd description: x").ok();
        bed.rename(ANN, "uid=anna", false, Some("ou=groups,dc=example,dc=com")).ok();
        bed.delete("uid=ben,ou=people,dc=example,dc=com").ok();
        bed.modify(ANN, "replace sn: gone").refused(ldap::ResultCode::NO_SUCH_OBJECT, "");
        bed.person("cid");
        bed
    };
    let (first, second) = (run(), run());
    assert_eq!(first.picture(), second.picture());
    let before = first.picture();
    assert_eq!(first.reopen().picture(), before);
}

#[test]
fn a_proposal_must_hold_what_it_says() {
    let mut bed = with_ann();
    let other = bed.propose(Kind::Delete, &modify_op(ANN, "replace sn: x"), With::default());
    other.refused(ldap::ResultCode::OTHER, "another operation");
    let cut = &add_op("ou=x,dc=example,dc=com", "ou: x")[..9];
    bed.propose(Kind::Add, cut, With::default()).refused(ldap::ResultCode::PROTOCOL_ERROR, "");
}
