//! What a user changes is what was judged: anything else changes nothing, and asks for another judgement.

use ldap::ResultCode;

use super::bed::{Bed, Outcome, SUFFIX, With, add_op, delete_op, modify_op, rename_op};
use crate::apply::TransactionReport;
use crate::judged::{Judged, JudgedEntry};
use crate::judged_tree::{JudgedTree, SLICE_ENTRIES};
use crate::parts::join;
use crate::proposal::{Authority, Flags, Kind};
use store::EntryId;

const ANN: &str = "uid=ann,ou=people,dc=example,dc=com";
const BEN: &str = "uid=ben,ou=people,dc=example,dc=com";
const PEOPLE: &str = "ou=people,dc=example,dc=com";
const GROUPS: &str = "ou=groups,dc=example,dc=com";
/// Who asks: somebody of another backend.
const USER: &str = "uid=help,dc=elsewhere";

fn people() -> Bed {
    let mut bed = Bed::new();
    bed.person("ann");
    bed.person("ben");
    bed
}

fn by(judged: Judged) -> With<'static> {
    With { authority: Some(Authority::User { dn: USER, entry: 0, judged }), ..With::default() }
}

/// The same of an anonymous client.
fn by_nobody(judged: Judged) -> With<'static> {
    With { authority: Some(Authority::Anonymous { judged }), ..With::default() }
}

fn text(uid: &str) -> String {
    format!("objectClass: inetOrgPerson\ncn: {uid}\nsn: Example\nuid: {uid}")
}

/// Each operation of a user on [`ANN`], or below [`PEOPLE`].
fn operations() -> [(Kind, Vec<u8>); 6] {
    [
        (Kind::Modify, modify_op(ANN, "replace sn: Other")),
        (Kind::PasswordModify, modify_op(ANN, "replace userPassword: {SSHA512}x")),
        (Kind::Delete, delete_op(ANN)),
        (Kind::ModifyDn, rename_op(ANN, "uid=anna", true, None)),
        (Kind::ModifyDn, rename_op(ANN, "uid=ann", true, Some(GROUPS))),
        (Kind::Add, add_op("uid=cid,ou=people,dc=example,dc=com", &text("cid"))),
    ]
}

/// What whoever judges says of each of these.
fn judgements(bed: &Bed, looks: bool) -> [Judged; 6] {
    let entry = bed.judged(ANN, looks);
    let (parent, superior) = (bed.judged(PEOPLE, looks), bed.judged(GROUPS, looks));
    let plain = Judged::Entry(entry);
    [plain, plain, plain, plain, Judged::Move { entry, superior }, Judged::New { parent }]
}

#[track_caller]
fn judged_else(outcome: Outcome) {
    let report = outcome.refused(ResultCode::BUSY, "send it again");
    assert!(report.is_judged_else && report.result.matched_dn.is_empty());
}

#[test]
fn what_was_judged_is_done_by_every_operation() {
    let askers: [fn(Judged) -> With<'static>; 2] = [by, by_nobody];
    for (looks, asker) in [false, true].into_iter().flat_map(|looks| askers.map(|asker| (looks, asker))) {
        for at in 0..operations().len() {
            let mut bed = people();
            let (kind, operation) = &operations()[at];
            let judged = judgements(&bed, looks)[at];
            bed.propose(*kind, operation, asker(judged)).ok();
            assert_eq!(bed.replayed().picture(), bed.picture());
            bed.verify();
        }
    }
}

#[test]
fn nothing_is_done_that_nobody_judged() {
    let mut bed = people();
    let before = bed.picture();
    for (at, (kind, operation)) in operations().iter().enumerate() {
        bed.propose(*kind, operation, by(Judged::Missing)).refused(ResultCode::OTHER, "Nobody decided");
        // What was judged is for another operation.
        let others = judgements(&bed, false);
        for judged in others.iter().filter(|judged| **judged != others[at]) {
            bed.propose(*kind, operation, by(*judged)).refused(ResultCode::OTHER, "Nobody decided");
        }
        bed.propose(*kind, operation, by_nobody(Judged::Missing)).refused(ResultCode::OTHER, "Nobody decided");
    }
    assert_eq!(bed.picture(), before);
}

#[test]
fn another_entry_of_the_name_is_judged_again() {
    // Where a judgement names the entry that was there; then others take the names.
    for (at, (kind, operation)) in operations().iter().enumerate() {
        let mut bed = people();
        let judged = judgements(&bed, false)[at];
        bed.delete(ANN).ok();
        match at {
            0..=4 => {
                judged_else(bed.propose(*kind, operation, by(judged)));
                bed.rename(BEN, "uid=ann", true, None).ok();
            }
            _ => bed.add("uid=cid,ou=people,dc=example,dc=com", &text("cid")).ok().result.message.clear(),
        }
        let before = bed.picture();
        judged_else(bed.propose(*kind, operation, by(judged)));
        assert_eq!(bed.picture(), before);
        assert_eq!(bed.replayed().picture(), bed.picture());
    }
}

#[test]
fn content_counts_where_it_was_looked_at() {
    for (at, (kind, operation)) in operations().iter().enumerate() {
        let mut bed = people();
        let (looked, named) = (judgements(&bed, true)[at], judgements(&bed, false)[at]);
        let changed = if matches!(looked, Judged::New { .. }) { PEOPLE } else { ANN };
        bed.modify(changed, "add description: other").ok();
        judged_else(bed.propose(*kind, operation, by(looked)));
        bed.propose(*kind, operation, by(named)).ok();
    }
    // The new superior, too.
    let mut bed = people();
    let judged = Judged::Move { entry: bed.judged(ANN, true), superior: bed.judged(GROUPS, true) };
    bed.modify(GROUPS, "add description: other").ok();
    judged_else(bed.propose(Kind::ModifyDn, &rename_op(ANN, "uid=ann", true, Some(GROUPS)), by(judged)));
    let judged = Judged::Move { entry: bed.judged(ANN, true), superior: bed.judged(PEOPLE, false) };
    judged_else(bed.propose(Kind::ModifyDn, &rename_op(ANN, "uid=ann", true, Some(GROUPS)), by(judged)));
}

#[test]
fn whoever_judges_sees_first_whether_a_name_is_free() {
    let mut bed = people();
    let judged = Judged::Entry(bed.judged(ANN, false));
    let rename = rename_op(ANN, "uid=ben", true, None);
    judged_else(bed.propose(Kind::ModifyDn, &rename, by(judged)));
    // Whoever may know all is told who has it.
    let report = bed.propose(Kind::ModifyDn, &rename, by(Judged::Unneeded));
    report.refused(ResultCode::ENTRY_ALREADY_EXISTS, "uid=ben");
    // The same name in another spelling is free.
    bed.propose(Kind::ModifyDn, &rename_op(ANN, "UID=Ann", true, None), by(judged)).ok();
}

#[test]
fn a_parent_that_is_gone_is_judged_again() {
    let mut bed = people();
    let parent = bed.judged(ANN, false);
    let below = add_op(&format!("cn=x,{ANN}"), "objectClass: device\ncn: x");
    bed.delete(ANN).ok();
    judged_else(bed.propose(Kind::Add, &below, by(Judged::New { parent })));
    let mut bed = Bed::empty();
    let base = add_op(SUFFIX, "objectClass: domain\ndc: example");
    let nowhere = Judged::New { parent: JudgedEntry::whatever_it_contains(EntryId(7)) };
    judged_else(bed.propose(Kind::Add, &base, by(nowhere)));
    bed.propose(Kind::Add, &base, by(Judged::New { parent: JudgedEntry::NONE })).ok();
    judged_else(bed.propose(Kind::Add, &base, by(Judged::New { parent: JudgedEntry::NONE })));
}

#[test]
fn a_subtree_goes_slice_by_slice_after_one_judgement() {
    let mut bed = people();
    (0..200).for_each(|number| bed.person(&format!("p{number}")));
    let judged = Judged::Entry(bed.judged(PEOPLE, true));
    let mut flags = Flags::default();
    flags.set(Flags::SUBTREE_DELETE);
    let with = With { flags, ..by(judged) };
    assert!(bed.delete_with(PEOPLE, with).ok().has_more);
    assert!(!bed.delete_with(PEOPLE, with).ok().has_more);
    assert!(bed.entry(PEOPLE).is_none());
    bed.verify();
}

#[test]
fn what_comes_below_a_judged_subtree_is_judged_again() {
    let mut bed = people();
    let tree = |bed: &Bed| {
        let snapshot = bed.backend.snapshot().unwrap();
        let tree = JudgedTree::new(&snapshot.view(), EntryId(bed.id_of(PEOPLE)), SLICE_ENTRIES, 0).unwrap();
        Judged::Tree { entry: bed.judged(PEOPLE, false), tree }
    };
    let mut flags = Flags::default();
    flags.set(Flags::SUBTREE_DELETE);
    let changes: [fn(&mut Bed); 4] = [
        |bed| bed.person("cid"),
        |bed| drop(bed.modify(ANN, "add description: other").ok()),
        |bed| drop(bed.rename(ANN, "uid=ann", true, Some(GROUPS)).ok()),
        |bed| drop(bed.delete(BEN).ok()),
    ];
    for change in changes {
        let judged = tree(&bed);
        change(&mut bed);
        let before = bed.picture();
        judged_else(bed.delete_with(PEOPLE, With { flags, ..by(judged) }));
        assert_eq!(bed.picture(), before);
    }
    let judged = tree(&bed);
    bed.delete_with(PEOPLE, With { flags, ..by(judged) }).ok();
    assert_eq!(bed.replayed().picture(), bed.picture());
}

#[test]
fn how_many_children_there_are_is_told_to_whoever_may_know_all() {
    let mut bed = people();
    let delete = delete_op(PEOPLE);
    let judged = Judged::Entry(bed.judged(PEOPLE, false));
    let told = bed.propose(Kind::Delete, &delete, by(judged));
    told.refused(ResultCode::NOT_ALLOWED_ON_NON_LEAF, "has entries below it");
    bed.propose(Kind::Delete, &delete, by(Judged::Unneeded)).refused(ResultCode::NOT_ALLOWED_ON_NON_LEAF, "2 entries");
}

#[test]
fn a_part_that_was_judged_on_something_else_ends_its_transaction() {
    let mut bed = people();
    let (ann, ben) = (Judged::Entry(bed.judged(ANN, false)), Judged::Entry(bed.judged(BEN, true)));
    bed.modify(BEN, "add description: other").ok();
    let before = bed.picture();
    let parts = [(ANN, ann), (BEN, ben)]
        .map(|(dn, judged)| bed.encoded(Kind::Modify, &modify_op(dn, "replace sn: Other"), by(judged)));
    let whole = bed.encoded(Kind::Transaction, &join(parts), by(Judged::Missing));
    let outcome = bed.backend.submit_and_wait(whole).unwrap();
    assert!(!outcome.accepted);
    let report = TransactionReport::decode(&outcome.response).unwrap();
    assert_eq!(report.0.iter().map(|part| part.is_judged_else).collect::<Vec<_>>(), [false, true]);
    assert_eq!(bed.picture(), before);
}

#[test]
fn users_do_nothing_that_the_server_does() {
    let mut bed = people();
    let kinds = [
        Kind::Indexes,
        Kind::ConfigurePlugins,
        Kind::BaseDns,
        Kind::CleanReferences,
        Kind::ExpireEntries,
        Kind::AccountState,
    ];
    for kind in kinds {
        let outcome = bed.propose(kind, b"", by(Judged::Unneeded));
        outcome.refused(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "only the server");
    }
    let judged = Judged::Entry(bed.judged(ANN, false));
    bed.propose(Kind::ModifySchema, b"", by(judged)).refused(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "schema");
}
