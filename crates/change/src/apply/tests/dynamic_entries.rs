//! Dynamic entries (RFC 2589).

use ldap::{ResultCode, client};
use store::EntryId;

use super::bed::{Bed, Outcome, ROOT, SUFFIX, With};
use crate::apply::{ExpirySlice, expired};
use crate::judged::{Judged, JudgedEntry};
use crate::proposal::{Authority, Kind};
use query::locate::locate;

/// 2026-11-21 10:15:00, when the bed's proposals are made.
const NOW_S: u64 = 1_795_256_100;
const HOUR: &str = "[plugin.dynamic]\ntype = \"dynamic-entries\"\ndefault-ttl = \"1 h\"\n";

fn dn(uid: &str) -> String {
    format!("uid={uid},ou=people,{SUFFIX}")
}

fn text(uid: &str, classes: &str) -> String {
    format!("objectClass: inetOrgPerson{classes}\ncn: {uid}\nsn: Example\nuid: {uid}")
}

fn add(bed: &mut Bed, dn: &str, classes: &str) -> Outcome {
    let uid = dn.split(['=', ',']).nth(1).unwrap();
    bed.add(dn, &text(uid, classes))
}

fn add_dynamic(bed: &mut Bed, dn: &str) {
    add(bed, dn, "\nobjectClass: dynamicObject").ok();
}

fn refresh(bed: &mut Bed, dn: &str, until: &str, authority: Authority<'_>) -> Outcome {
    let mut bytes = Vec::new();
    let change = (ldap::ModifyOperation::Replace, &b"entryExpireTimestamp"[..], [until.as_bytes()]);
    client::modify_op(&mut ber::Writer::new(&mut bytes), dn.as_bytes(), [change]);
    bed.propose(Kind::Refresh, &bytes, With { authority: Some(authority), ..With::default() })
}

fn id_of(bed: &Bed, dn: &str) -> EntryId {
    let schema = schema::Schema::standard();
    let name = |text: &str| schema::NormalizedDn::parse(&schema, text.as_bytes()).unwrap();
    let snapshot = bed.backend.snapshot().unwrap();
    locate(&snapshot.view(), &name(SUFFIX), name(dn).as_bytes()).unwrap().found().unwrap()
}

/// Those that are over so many seconds after the first proposal.
fn over(bed: &Bed, after_s: u64) -> Vec<EntryId> {
    let snapshot = bed.backend.snapshot().unwrap();
    let deadline_us = (NOW_S + after_s) * 1_000_000;
    expired(&schema::Schema::standard(), &snapshot.view(), deadline_us, None).unwrap().0
}

fn expire(bed: &mut Bed, after_s: u64, entries: Vec<EntryId>) {
    let slice = ExpirySlice { deadline_us: (NOW_S + after_s) * 1_000_000, entries };
    bed.propose(Kind::ExpireEntries, &slice.encode(), With::default()).ok();
}

#[test]
fn an_entry_lives_from_its_proposal_on() {
    let mut bed = Bed::with_plugins(HOUR);
    add_dynamic(&mut bed, &dn("ann"));
    assert_eq!(bed.values(&dn("ann"), "entryExpireTimestamp"), ["20261121111500Z"]);
    bed.person("ben");
    assert_eq!(bed.values(&dn("ben"), "entryExpireTimestamp"), [""; 0]);
    refresh(&mut bed, &dn("ann"), "20261121101700Z", ROOT).ok();
    assert_eq!(bed.values(&dn("ann"), "entryExpireTimestamp"), ["20261121101700Z"]);
    // Only a refresh writes it.
    let refused = bed.modify(&dn("ann"), "replace entryExpireTimestamp: 20361121101700Z");
    refused.refused(ResultCode::CONSTRAINT_VIOLATION, "entryExpireTimestamp");
    refresh(&mut bed, &dn("ben"), "20261121101700Z", ROOT).refused(ResultCode::OBJECT_CLASS_VIOLATION, "dynamicObject");
    refresh(&mut bed, &dn("nobody"), "20261121101700Z", ROOT).refused(ResultCode::NO_SUCH_OBJECT, "nobody");
    let (ann, name) = (id_of(&bed, &dn("ann")).0, dn("ann"));
    // A user whose right was judged, of the same entry.
    let by = |judged| Authority::User { dn: &name, entry: ann, judged };
    let judged = Judged::Entry(JudgedEntry::whatever_it_contains(EntryId(ann)));
    refresh(&mut bed, &name, "20261121101800Z", by(judged)).ok();
    assert_eq!(bed.values(&name, "entryExpireTimestamp"), ["20261121101800Z"]);
    refresh(&mut bed, &name, "20261121101900Z", by(Judged::Missing)).refused(ResultCode::OTHER, "Nobody decided");
    assert_eq!(bed.replayed().picture(), bed.picture());
    bed.verify();
}

#[test]
fn nothing_static_stands_below_a_dynamic_entry() {
    let mut bed = Bed::with_plugins(HOUR);
    add_dynamic(&mut bed, &dn("ann"));
    let below = format!("uid=below,{}", dn("ann"));
    add(&mut bed, &below, "").refused(ResultCode::CONSTRAINT_VIOLATION, "below a dynamic entry");
    add_dynamic(&mut bed, &below);
    bed.person("ben");
    let moved = bed.rename(&dn("ben"), "uid=ben", false, Some(&dn("ann")));
    moved.refused(ResultCode::CONSTRAINT_VIOLATION, "below a dynamic entry");
    bed.rename(&below, "uid=below", false, Some(&format!("ou=people,{SUFFIX}"))).ok();
    bed.rename(&dn("below"), "uid=below", false, Some(&dn("ann"))).ok();
    bed.verify();
}

#[test]
fn an_entry_is_dynamic_for_its_whole_life_or_never() {
    const REFUSED: ResultCode = ResultCode::OBJECT_CLASS_VIOLATION;
    let mut bed = Bed::with_plugins(HOUR);
    add_dynamic(&mut bed, &dn("ann"));
    bed.person("ben");
    bed.modify(&dn("ann"), "delete objectClass: dynamicObject").refused(REFUSED, "cannot be taken away");
    bed.modify(&dn("ann"), "replace objectClass: inetOrgPerson").refused(REFUSED, "cannot be taken away");
    bed.modify(&dn("ben"), "add objectClass: dynamicObject").refused(REFUSED, "does not become dynamic");
    bed.modify(
        &dn("ann"),
        "add objectClass: posixAccount | extensibleObject\nadd uidNumber: 1\nadd gidNumber: 1\nadd homeDirectory: /",
    )
    .ok();
    let lines = "objectClass: alias\nobjectClass: extensibleObject\nobjectClass: dynamicObject\nuid: al\n\
    aliasedObjectName: dc=example,dc=com";
    bed.add(&dn("al"), lines).refused(REFUSED, "Aliases and referrals");
    let lines =
        "objectClass: referral\nobjectClass: extensibleObject\nobjectClass: dynamicObject\nuid: ref\nref: ldap:///dc=x";
    bed.add(&dn("ref"), lines).refused(REFUSED, "Aliases and referrals");
}

#[test]
fn where_and_how_many_is_limited() {
    let more = format!("{HOUR}base-dn = \"ou=people,{SUFFIX}\"\nmax-dynamic-objects = 2\n");
    let mut bed = Bed::with_plugins(&more);
    let elsewhere = format!("uid=out,ou=groups,{SUFFIX}");
    add(&mut bed, &elsewhere, "\nobjectClass: dynamicObject")
        .refused(ResultCode::UNWILLING_TO_PERFORM, "dynamicSubtrees");
    add_dynamic(&mut bed, &dn("ann"));
    add_dynamic(&mut bed, &dn("ben"));
    add(&mut bed, &dn("cid"), "\nobjectClass: dynamicObject")
        .refused(ResultCode::UNWILLING_TO_PERFORM, "allows 2 dynamic entries");
    let moved = bed.rename(&dn("ben"), "uid=ben", false, Some(&format!("ou=groups,{SUFFIX}")));
    moved.refused(ResultCode::UNWILLING_TO_PERFORM, "dynamicSubtrees");
    bed.delete(&dn("ann")).ok();
    add_dynamic(&mut bed, &dn("cid"));
    assert_eq!(bed.replayed_with(Vec::new()).records(), bed.records(), "counted without an index");
}

#[test]
fn a_dynamic_entry_stays_where_it_may_be_also_on_the_way_to_the_first_level() {
    let mut bed = Bed::of_all_names();
    bed.configure(&format!("{HOUR}base-dn = \"o=guests\"\n")).ok();
    bed.add("o=guests", "objectClass: organization").ok();
    add_dynamic(&mut bed, "uid=ann,o=guests");
    let moved = bed.rename("uid=ann,o=guests", "uid=ann", false, Some(""));
    moved.refused(ResultCode::UNWILLING_TO_PERFORM, "dynamicSubtrees");
    bed.rename("uid=ann,o=guests", "uid=anna", false, Some("o=guests")).ok();
    // What lives for ever goes where it likes.
    add(&mut bed, "uid=ben,o=guests", "").ok();
    bed.rename("uid=ben,o=guests", "uid=ben", false, Some("")).ok();
    assert_eq!(bed.replayed().picture(), bed.picture());
}

#[test]
fn what_is_over_goes_from_below_and_references_follow() {
    let integrity = "[plugin.refs]\ntype = \"referential-integrity\"\n";
    let mut bed = Bed::with_plugins(&format!("{HOUR}{integrity}"));
    let (ann, below) = (dn("ann"), format!("uid=below,{}", dn("ann")));
    add_dynamic(&mut bed, &ann);
    add_dynamic(&mut bed, &below);
    add_dynamic(&mut bed, &dn("cid"));
    bed.person("ben");
    let team = format!("cn=team,ou=groups,{SUFFIX}");
    bed.add(&team, &format!("objectClass: groupOfNames\ncn: team\nmember: {ann}\nmember: {}", dn("ben"))).ok();
    refresh(&mut bed, &dn("cid"), "20261121101600Z", ROOT).ok();
    assert_eq!(over(&bed, 59), []);
    assert_eq!(over(&bed, 60), [id_of(&bed, &dn("cid"))]);
    let all = over(&bed, 3600);
    assert_eq!(all.len(), 3);
    // Who was refreshed since somebody looked stays, and so does everybody else.
    let everybody: Vec<EntryId> = (1..20).map(EntryId).collect();
    expire(&mut bed, 60, everybody.clone());
    assert!(bed.entry(&dn("cid")).is_none() && bed.entry(&ann).is_some() && bed.entry(&dn("ben")).is_some());
    // Below an entry that is over stands one that is not.
    refresh(&mut bed, &below, "20261121141500Z", ROOT).ok();
    expire(&mut bed, 3600, all.clone());
    assert!(bed.entry(&ann).is_some() && bed.entry(&below).is_some());
    expire(&mut bed, 4 * 3600, all);
    assert!(bed.entry(&ann).is_none() && bed.entry(&below).is_none());
    assert_eq!(bed.values(&team, "member"), [dn("ben")]);
    expire(&mut bed, u64::from(u32::MAX), everybody);
    assert!(bed.entry(&dn("ben")).is_some());
    assert_eq!(bed.replayed().picture(), bed.picture());
    bed.verify();
}

#[test]
fn without_the_plugin_nothing_goes() {
    let mut bed = Bed::with_plugins(HOUR);
    add_dynamic(&mut bed, &dn("ann"));
    bed.configure("").ok();
    let all = vec![id_of(&bed, &dn("ann"))];
    expire(&mut bed, 10 * 3600, all);
    assert!(bed.entry(&dn("ann")).is_some());
    // As before there were dynamic entries.
    add_dynamic(&mut bed, &dn("ben"));
    assert_eq!(bed.values(&dn("ben"), "entryExpireTimestamp"), [""; 0]);
}

#[test]
fn pages_of_what_is_over_have_everything_once() {
    let mut bed = Bed::with_plugins(HOUR);
    let uids: Vec<String> = (0..300).map(|number| format!("p{number}")).collect();
    uids.iter().for_each(|uid| add_dynamic(&mut bed, &dn(uid)));
    let snapshot = bed.backend.snapshot().unwrap();
    let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let deadline_us = (NOW_S + 4000) * 1_000_000;
        let (ids, next) = expired(&schema::Schema::standard(), &snapshot.view(), deadline_us, after.as_ref()).unwrap();
        found.extend(ids);
        pages += 1;
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((found.len(), pages), (300, 3));
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 300);
}
