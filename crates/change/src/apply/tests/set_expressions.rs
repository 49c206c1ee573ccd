//! Constraints by set expression.

use ldap::ResultCode;

use super::bed::{Bed, SUFFIX, With};
use crate::judged::{Judged, JudgedEntry};
use crate::proposal::{Authority, Flags};

const REFUSED: ResultCode = ResultCode::CONSTRAINT_VIOLATION;

fn dn(uid: &str) -> String {
    format!("uid={uid},ou=people,{SUFFIX}")
}

fn with_set(attribute: &str, property: &str, expression: &str) -> Bed {
    let table =
        format!("[plugin.p]\ntype = \"constraint\"\nattribute-type = \"{attribute}\"\n{property} = '{expression}'\n");
    let mut bed = Bed::with_plugins(&table);
    bed.person("ann");
    bed.person("ben");
    bed
}

#[test]
fn the_entry_as_it_becomes_is_judged() {
    let mut bed = with_set("description", "set", "this/description & this/title");
    bed.modify(&dn("ann"), "add description: x").refused(REFUSED, "gives nothing for the entry");
    bed.modify(&dn("ann"), "add description: x\nadd title: X").ok();
    // Nothing new comes: what is there stays.
    bed.modify(&dn("ann"), "delete title").ok();
    bed.modify(&dn("ann"), "replace description: x").ok();
    let mut flags = Flags::default();
    flags.set(Flags::RELAX);
    bed.modify_with(&dn("ben"), "add description: y", With { flags, ..With::default() }).ok();
    bed.verify();
}

#[test]
fn a_forbidden_set_gives_nothing() {
    let mut bed = with_set("description", "forbidden-set", "this/description & this/cn");
    bed.modify(&dn("ann"), "add description: ANN example").refused(REFUSED, "gives something for the entry");
    bed.modify(&dn("ann"), "add description: other").ok();
}

#[test]
fn who_asks_is_the_user() {
    let mut bed = with_set("userPassword", "set", "user & this");
    let id = {
        let snapshot = bed.backend.snapshot().unwrap();
        snapshot.view().entries(store::EntryId(1)).unwrap().map(|entry| entry.unwrap().0).last().unwrap()
    };
    let ben = dn("ben");
    let own = With {
        authority: Some(Authority::User {
            dn: "UID=ben, ou=People,dc=example,dc=com",
            entry: id.0,
            judged: Judged::Entry(JudgedEntry::whatever_it_contains(id)),
        }),
        ..With::default()
    };
    bed.modify(&ben, "add userPassword: {CLEAR}x").refused(REFUSED, "userPassword");
    bed.modify_with(&ben, "add userPassword: {CLEAR}x", own).ok();
    assert_eq!(bed.replayed().records(), bed.records());
}

#[test]
fn literals_are_compared_as_the_values_are() {
    let mut bed = with_set("title", "set", "this/title & [The  Boss] | (this/labeledURI & [Exact])");
    bed.modify(&dn("ann"), "add title: the boss").ok();
    bed.modify(&dn("ben"), "add title: chief\nadd labeledURI: exact").refused(REFUSED, "title");
    bed.modify(&dn("ben"), "add title: chief\nadd labeledURI: Exact").ok();
}

#[test]
fn an_expression_that_meets_too_much_is_refused() {
    let mut bed = with_set("description", "set", "this/title + this/title + this/title + this/title");
    let titles: Vec<String> = (0..40).map(|number| format!("t{number}")).collect();
    let refused = bed.modify(&dn("ann"), &format!("add title: {}\nadd description: x", titles.join(" | ")));
    refused.refused(ResultCode::ADMIN_LIMIT_EXCEEDED, "set expression");
    bed.modify(&dn("ann"), "add title: t0 | t1\nadd description: x").ok();
    bed.verify();
}
