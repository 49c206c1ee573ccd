//! Access control instructions that come are ones, and are about what is at or below the entry that gets them.

use ldap::ResultCode;

use super::bed::{Bed, SUFFIX, With};
use crate::proposal::Flags;

const BAD: ResultCode = ResultCode::INVALID_ATTRIBUTE_SYNTAX;

fn people() -> String {
    format!("ou=people,{SUFFIX}")
}

/// An instruction about that target.
fn about(dn: &str) -> String {
    let target = format!("(target=\"ldap:///{dn}\")(targetattr=\"cn\")");
    format!("{target}(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///all\";)")
}

#[test]
fn a_target_is_at_or_below_the_entry_that_gets_it() {
    let mut bed = Bed::new();
    let people = people();
    let inside = [people.clone(), format!("uid=ann, OU=People,{SUFFIX}"), format!("uid=*,{SUFFIX}")];
    for (at, dn) in inside.iter().enumerate() {
        bed.modify(&people, &format!("add aci: {}", about(dn))).ok();
        assert_eq!(bed.values(&people, "aci").len(), at + 1);
    }
    let before = bed.picture();
    for dn in [SUFFIX.to_owned(), format!("ou=groups,{SUFFIX}"), "dc=elsewhere".to_owned()] {
        let refused = bed.modify(&people, &format!("add aci: {}", about(&dn))).refused(BAD, "not at or below");
        assert!(refused.result.message.contains(&dn), "{}", refused.result.message);
        bed.modify(&people, &format!("replace aci: {}", about(&dn))).refused(BAD, "not at or below");
        let lines = format!("objectClass: organizationalUnit\nou: x\naci: {}", about(&dn));
        bed.add(&format!("ou=x,{people}"), &lines).refused(BAD, "not at or below");
    }
    assert_eq!(bed.picture(), before);
    bed.add(
        &format!("ou=x,{people}"),
        &format!("objectClass: organizationalUnit\nou: x\naci: {}", about(&format!("ou=x,{people}"))),
    )
    .ok();
    assert_eq!(bed.replayed().picture(), bed.picture());
}

#[test]
fn what_cannot_be_read_is_refused() {
    let mut bed = Bed::new();
    for text in ["nonsense", "(targetattr=\"cn\")(version 3.0; acl \"a\"; allow (reed) userdn=\"ldap:///all\";)"] {
        let before = bed.picture();
        bed.modify(SUFFIX, &format!("add aci: {text}")).refused(BAD, "aci");
        assert_eq!(bed.picture(), before);
    }
}

#[test]
fn a_rename_takes_instructions_along_and_what_was_there_stays() {
    let mut bed = Bed::new();
    let (people, folk) = (people(), format!("ou=folk,{SUFFIX}"));
    bed.modify(&people, &format!("add aci: {}", about(&people))).ok();
    bed.rename(&people, "ou=folk", true, None).ok();
    assert_eq!(bed.values(&folk, "aci"), [about(&people)]);
    // It is in nobody's way.
    bed.modify(&folk, "add description: x").ok();
    bed.modify(&folk, &format!("add aci: {}", about(&folk))).ok();
    bed.modify(&folk, &format!("delete aci: {}", about(&people))).ok();
    bed.modify(&folk, &format!("add aci: {}", about(&people))).refused(BAD, "not at or below");
    // Root brings it back with the relax control, as undoing does.
    let mut flags = Flags::default();
    flags.set(Flags::RELAX);
    bed.modify_with(&folk, &format!("add aci: {}", about(&people)), With { flags, ..With::default() }).ok();
}
