//! What rights depend on is marked when it changes, whatever the operation, and not otherwise.

use super::bed::{Bed, SUFFIX, With};
use crate::apply::{ExpirySlice, TransactionReport};
use crate::parts::join;
use crate::proposal::{Flags, Kind};
use store::EntryId;

const ACI: &str = "(targetattr=\"cn\")(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///all\";)";

/// What was marked since it was asked last.
struct Watch {
    access: u64,
    membership: u64,
}

impl Watch {
    fn new(bed: &Bed) -> Watch {
        let marks = bed.backend.marks();
        Watch { access: marks.access, membership: marks.membership }
    }

    /// The holders that are marked, and whether membership is.
    fn look(&mut self, bed: &Bed) -> (Vec<u64>, bool) {
        let snapshot = bed.backend.snapshot().unwrap();
        let marks = snapshot.marks();
        let mut holders: Vec<u64> = marks.holders_since(self.access).unwrap().map(|id| id.0).collect();
        holders.sort_unstable();
        holders.dedup();
        let is_marked = marks.membership != self.membership;
        let published = bed.backend.marks();
        assert_eq!((published.access, published.membership), (marks.access, marks.membership));
        *self = Watch::new(bed);
        (holders, is_marked)
    }
}

fn dn(uid: &str) -> String {
    format!("uid={uid},ou=people,{SUFFIX}")
}

#[test]
fn instructions_are_marked_by_each_operation_that_changes_them() {
    let mut bed = Bed::new();
    bed.person("ann");
    let people = format!("ou=people,{SUFFIX}");
    let (ann, top) = (bed.id_of(&dn("ann")), bed.id_of(&people));
    let mut watch = Watch::new(&bed);
    bed.modify(&dn("ann"), "replace sn: Other").ok();
    assert_eq!(watch.look(&bed), (vec![], false));
    bed.modify(&dn("ann"), &format!("add aci: {ACI}")).ok();
    assert_eq!(watch.look(&bed), (vec![ann], false));
    bed.modify(&dn("ann"), "replace sn: Third").ok();
    assert_eq!(watch.look(&bed), (vec![], false));
    // Renamed and moved: the entry itself, not what is above it.
    bed.rename(&dn("ann"), "uid=anna", true, None).ok();
    assert_eq!(watch.look(&bed), (vec![ann], false));
    bed.rename(&dn("anna"), "uid=anna", true, Some(&format!("ou=groups,{SUFFIX}"))).ok();
    assert_eq!(watch.look(&bed), (vec![ann], false));
    let tree = bed.backend.marks().tree_generation;
    bed.rename(&format!("ou=groups,{SUFFIX}"), "ou=teams", true, None).ok();
    assert_eq!(watch.look(&bed), (vec![], false));
    assert_ne!(bed.backend.marks().tree_generation, tree);
    let moved = format!("uid=anna,ou=teams,{SUFFIX}");
    bed.modify(&moved, "delete aci").ok();
    assert_eq!(watch.look(&bed), (vec![ann], false));
    // A new entry with instructions, and a refused one.
    let text = format!("objectClass: inetOrgPerson\ncn: b\nsn: b\nuid: ben\naci: {ACI}");
    bed.add(&dn("ben"), &text).ok();
    let ben = bed.id_of(&dn("ben"));
    assert_eq!(watch.look(&bed), (vec![ben], false));
    bed.modify(&people, &format!("add aci: {ACI}")).ok();
    assert_eq!(watch.look(&bed), (vec![top], false));
    // A subtree that goes.
    let mut flags = Flags::default();
    flags.set(Flags::SUBTREE_DELETE);
    bed.delete_with(&people, With { flags, ..With::default() }).ok();
    assert_eq!(watch.look(&bed), (vec![top, ben], false));
}

#[test]
fn groups_and_definitions_are_marked_before_and_after() {
    let mut bed = Bed::new();
    bed.person("ann");
    let group = format!("cn=staff,ou=groups,{SUFFIX}");
    let mut watch = Watch::new(&bed);
    bed.add(&group, &format!("objectClass: groupOfNames\ncn: staff\nmember: {}", dn("ann"))).ok();
    assert_eq!(watch.look(&bed), (vec![], true));
    bed.modify(&group, &format!("add member: {}", dn("ben"))).ok();
    assert_eq!(watch.look(&bed), (vec![], true));
    bed.rename(&group, "cn=all", true, None).ok();
    assert_eq!(watch.look(&bed), (vec![], true));
    bed.delete(&format!("cn=all,ou=groups,{SUFFIX}")).ok();
    assert_eq!(watch.look(&bed), (vec![], true));
    bed.modify(&dn("ann"), "replace sn: Other").ok();
    assert_eq!(watch.look(&bed), (vec![], false));
    let role = "objectClass: nsManagedRoleDefinition\nobjectClass: nsSimpleRoleDefinition\n\
                objectClass: nsRoleDefinition\nobjectClass: ldapSubentry\ncn: role";
    bed.add(&format!("cn=role,{SUFFIX}"), role).ok();
    assert_eq!(watch.look(&bed), (vec![], true));
    // An entry becomes a group, and is none any more.
    let mut flags = Flags::default();
    flags.set(Flags::RELAX);
    for classes in ["groupOfURLs | extensibleObject", "inetOrgPerson"] {
        let with = With { flags, ..With::default() };
        bed.modify_with(&dn("ann"), &format!("replace objectClass: {classes}"), with).ok();
        assert_eq!(watch.look(&bed), (vec![], true));
    }
}

#[test]
fn cleaned_references_expired_entries_and_transactions_mark_too() {
    let tables = "[plugin.references]\ntype = \"referential-integrity\"\n\
                  [plugin.dynamic]\ntype = \"dynamic-entries\"\ndefault-ttl = \"1 h\"\n";
    let mut bed = Bed::with_plugins(tables);
    bed.person("ann");
    let group = format!("cn=staff,ou=groups,{SUFFIX}");
    bed.add(&group, &format!("objectClass: groupOfNames\ncn: staff\nmember: {}", dn("ann"))).ok();
    let text = format!("objectClass: inetOrgPerson\nobjectClass: dynamicObject\ncn: g\nsn: g\nuid: guest\naci: {ACI}");
    bed.add(&dn("guest"), &text).ok();
    let guest = bed.id_of(&dn("guest"));
    let mut watch = Watch::new(&bed);
    bed.delete(&dn("ann")).ok();
    assert!(bed.values(&group, "member").is_empty());
    assert_eq!(watch.look(&bed), (vec![], true));
    let slice = ExpirySlice { deadline_us: u64::MAX, entries: vec![EntryId(guest)] };
    bed.propose(Kind::ExpireEntries, &slice.encode(), With::default()).ok();
    assert!(bed.entry(&dn("guest")).is_none());
    assert_eq!(watch.look(&bed), (vec![guest], false));
    let parts = [format!("add aci: {ACI}"), "replace description: x".to_owned()]
        .map(|changes| bed.encoded(Kind::Modify, &super::bed::modify_op(SUFFIX, &changes), With::default()));
    let transaction = bed.encoded(Kind::Transaction, &join(parts), With::default());
    let outcome = bed.backend.submit_and_wait(transaction).unwrap();
    assert!(TransactionReport::decode(&outcome.response).unwrap().refusal().is_none());
    assert_eq!(watch.look(&bed), (vec![bed.id_of(SUFFIX)], false));
}
