//! Updates of a backend with the empty base DN, which has no entry of its own: entries of one RDN are below none.

use ldap::ResultCode;

use super::bed::{Bed, With};
use crate::apply::base_dns_bytes;
use crate::proposal::Kind;

const DOMAIN: &str = "objectClass: domain";
const ORGANIZATION: &str = "objectClass: organization";
const UNIT: &str = "objectClass: organizationalUnit";

/// With two entries of one RDN and one entry below each.
fn bed() -> Bed {
    let mut bed = Bed::of_all_names();
    bed.add("dc=com", DOMAIN).ok();
    bed.add("dc=example,dc=com", DOMAIN).ok();
    bed.add("o=Top", ORGANIZATION).ok();
    bed.add("ou=in,o=Top", UNIT).ok();
    bed
}

#[test]
fn an_entry_of_one_rdn_needs_no_parent_and_any_other_does() {
    let mut bed = Bed::of_all_names();
    bed.add("dc=example,dc=com", DOMAIN).refused(ResultCode::NO_SUCH_OBJECT, "nor any above it");
    bed.add("dc=com", DOMAIN).ok();
    bed.add("dc=example,dc=com", DOMAIN).ok();
    bed.add("DC=Com", DOMAIN).refused(ResultCode::ENTRY_ALREADY_EXISTS, "DC=Com");
    let missing = bed.add("dc=a,dc=b,dc=com", DOMAIN).refused(ResultCode::NO_SUCH_OBJECT, "dc=com");
    assert_eq!(missing.result.matched_dn, "dc=com");
    bed.modify("dc=net", "add description: x").refused(ResultCode::NO_SUCH_OBJECT, "nor any above it");
    bed.delete("").refused(ResultCode::NO_SUCH_OBJECT, "");
    bed.delete("dc=com").refused(ResultCode::NOT_ALLOWED_ON_NON_LEAF, "");
    bed.delete("dc=example,dc=com").ok();
    bed.delete("dc=com").ok();
    bed.verify();
}

#[test]
fn an_entry_of_one_rdn_is_renamed_with_what_is_below_it() {
    let mut bed = bed();
    bed.rename("o=Top", "o=Peak", true, None).ok();
    assert_eq!(bed.stored_dn("ou=in,o=peak").as_deref(), Some("ou=in,o=Peak"));
    assert_eq!(bed.stored_dn("o=top"), None);
    assert_eq!(bed.values("o=peak", "o"), ["Peak"]);
    bed.rename("o=Peak", "dc=com", false, None).refused(ResultCode::ENTRY_ALREADY_EXISTS, "\"dc=com\"");
    bed.rename("o=Peak", "O=PEAK", true, None).ok();
    assert_eq!(bed.stored_dn("o=peak").as_deref(), Some("O=PEAK"));
    bed.verify();
}

#[test]
fn entries_move_between_the_first_level_and_others() {
    let mut bed = bed();
    bed.rename("o=Top", "o=Top", true, Some("ou=in,o=Top")).refused(ResultCode::UNWILLING_TO_PERFORM, "itself");
    bed.rename("o=Top", "o=Top", true, Some("dc=com")).ok();
    assert_eq!(bed.stored_dn("ou=in,o=Top,dc=com").as_deref(), Some("ou=in,o=Top,dc=com"));
    bed.rename("ou=in,o=Top,dc=com", "ou=up", true, Some("")).ok();
    assert_eq!(bed.stored_dn("ou=up").as_deref(), Some("ou=up"));
    bed.rename("dc=example,dc=com", "ou=up", false, Some("")).refused(ResultCode::ENTRY_ALREADY_EXISTS, "\"ou=up\"");
    bed.rename("ou=up", "ou=up", true, Some("")).ok();
    bed.add("ou=below,ou=up", UNIT).ok();
    bed.verify();
    assert!(bed.picture() == bed.replayed().picture());
    bed.reopen().verify();
}

#[test]
fn only_the_empty_base_dn_has_a_place_for_entries_below_none() {
    let mut bed = Bed::new();
    let refused = bed.rename("ou=people,dc=example,dc=com", "ou=people", true, Some(""));
    refused.refused(ResultCode::NO_SUCH_OBJECT, "no suffix of this server holds it");
    bed.rename("dc=example,dc=com", "dc=other", true, None).refused(ResultCode::UNWILLING_TO_PERFORM, "suffix");
}

#[test]
fn names_of_other_backends_are_refused() {
    let mut bed = bed();
    bed.propose(Kind::BaseDns, &base_dns_bytes(["dc=other,dc=org", "cn=monitor"]), With::default()).ok();
    let refused = ResultCode::AFFECTS_MULTIPLE_DSAS;
    bed.add("dc=org", DOMAIN).ok();
    bed.add("dc=other,dc=org", DOMAIN).refused(refused, "");
    bed.rename("o=Top", "dc=other", false, Some("dc=org")).refused(refused, "base DN");
    bed.rename("o=Top", "o=Top", true, Some("dc=other,dc=org")).refused(refused, "");
    bed.rename("o=Top", "cn=monitor", false, None).refused(refused, "base DN");
    bed.rename("dc=org", "dc=orgs", true, None).refused(refused, "lies below the entry");
    bed.verify();
}
