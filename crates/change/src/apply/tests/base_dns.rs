//! Names that other base DNs hold: no entry takes one, whatever order the updates come in.

use ldap::ResultCode;

use super::bed::{Bed, With, add_op, rename_op};
use crate::apply::{TransactionReport, base_dns_bytes};
use crate::parts::join;
use crate::proposal::Kind;

const EVERYONE: &str = "cn=Everyone,ou=teams,dc=example,dc=com";
const TEAMS: &str = "ou=teams,dc=example,dc=com";
const GROUPS: &str = "ou=groups,dc=example,dc=com";
const UNIT: &str = "objectClass: organizationalUnit";
const DEVICE: &str = "objectClass: device";
const REFUSED: ResultCode = ResultCode::AFFECTS_MULTIPLE_DSAS;

/// `cn=Everyone,ou=teams` is a base DN of another backend.
fn bed() -> Bed {
    let mut bed = Bed::new();
    bed.propose(Kind::BaseDns, &base_dns_bytes([EVERYONE]), With::default()).ok();
    bed
}

#[test]
fn a_rename_to_a_base_dn_is_refused() {
    let mut bed = bed();
    bed.add(TEAMS, UNIT).ok();
    bed.add("cn=all,ou=groups,dc=example,dc=com", DEVICE).ok();
    bed.rename("cn=all,ou=groups,dc=example,dc=com", "CN=everyone", false, Some(TEAMS)).refused(REFUSED, "base DN");
    bed.rename("cn=all,ou=groups,dc=example,dc=com", "cn=all", false, Some(TEAMS)).ok();
    bed.rename("cn=all,ou=teams,dc=example,dc=com", "cn=Everyone", true, None).refused(REFUSED, "no entry can be");
    bed.rename("cn=all,ou=teams,dc=example,dc=com", "cn=everybody", true, None).ok();
    bed.verify();
}

#[test]
fn an_entry_above_a_base_dn_keeps_its_name() {
    let mut bed = bed();
    bed.add(TEAMS, UNIT).ok();
    bed.rename(TEAMS, "ou=old", true, None).refused(REFUSED, "lies below the entry");
    bed.rename(TEAMS, "ou=teams", true, Some(GROUPS)).refused(REFUSED, "lies below the entry");
    // Another spelling is the same name.
    bed.rename(TEAMS, "OU=Teams", true, None).ok();
}

#[test]
fn a_base_dn_does_not_come_to_lie_below_another_entry() {
    let mut bed = bed();
    bed.rename(GROUPS, "ou=teams", true, None).refused(REFUSED, "would lie below");
    bed.add("cn=Everyone,ou=groups,dc=example,dc=com", DEVICE).ok();
    bed.rename(GROUPS, "ou=teams", true, None).refused(REFUSED, "would lie below");
}

#[test]
fn names_at_and_below_a_base_dn_are_held_elsewhere() {
    let mut bed = bed();
    bed.add(TEAMS, UNIT).ok();
    bed.add(EVERYONE, DEVICE).refused(REFUSED, "repeat the request");
    bed.add(&format!("cn=below,{EVERYONE}"), DEVICE).refused(REFUSED, "repeat the request");
    bed.modify(EVERYONE, "add description: x").refused(REFUSED, "repeat the request");
    bed.add("cn=Everyone,ou=groups,dc=example,dc=com", DEVICE).ok();
    // Once it is no base DN any more, the name is free; a replay judges in the same order.
    bed.propose(Kind::BaseDns, b"", With::default()).ok();
    bed.add(EVERYONE, DEVICE).ok();
    assert_eq!(bed.replayed().picture(), bed.picture());
    bed.reopen().verify();
}

#[test]
fn a_rename_and_an_add_of_one_transaction_do_not_slip_past() {
    let mut bed = bed();
    let rename = bed.encoded(Kind::ModifyDn, &rename_op(GROUPS, "ou=teams", true, None), With::default());
    let add = bed.encoded(Kind::Add, &add_op("cn=Everyone,ou=groups,dc=example,dc=com", DEVICE), With::default());
    for parts in [[add.clone(), rename.clone()], [rename, add]] {
        let transaction = bed.encoded(Kind::Transaction, &join(parts), With::default());
        let outcome = bed.backend.submit_and_wait(transaction).unwrap();
        let report = TransactionReport::decode(&outcome.response).unwrap();
        assert_eq!(report.refusal().unwrap().code, REFUSED);
    }
    assert_eq!(bed.stored_dn("cn=Everyone,ou=groups,dc=example,dc=com"), None);
}

#[test]
fn updates_of_one_batch_do_not_slip_past_each_other() {
    let mut bed = bed();
    let rename = (Kind::ModifyDn, rename_op(GROUPS, "ou=teams", true, None));
    let add = (Kind::Add, add_op("cn=Everyone,ou=groups,dc=example,dc=com", DEVICE));
    assert_eq!(bed.propose_together(&[rename.clone(), add]), [REFUSED.as_i32(), 0]);
    // The name becomes a base DN in the same batch.
    let other = "cn=Other,ou=people,dc=example,dc=com";
    let bases = (Kind::BaseDns, base_dns_bytes([EVERYONE, other]));
    let add = (Kind::Add, add_op(other, DEVICE));
    assert_eq!(bed.propose_together(&[bases, add, rename]), [0, REFUSED.as_i32(), REFUSED.as_i32()]);
    bed.verify();
}

#[test]
fn a_damaged_list_is_refused() {
    let mut bed = bed();
    bed.propose(Kind::BaseDns, b"x", With::default()).refused(ResultCode::OTHER, "damaged");
    bed.propose(Kind::BaseDns, &base_dns_bytes(["no name"]), With::default()).refused(ResultCode::OTHER, "damaged");
}
