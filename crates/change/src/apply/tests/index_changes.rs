//! Indexes that change between updates: whatever is complete agrees with the entries, at every moment and after every
//! restart.

use proptest::collection::vec;
use proptest::prelude::*;
use schema::Schema;
use store::index::{ConfiguredIndexes, IndexConfig, IndexKind, default_indexes};

use super::bed::{Bed, SUFFIX, With};
use super::model::Op;
use super::random::{any_op, run};
use crate::index_proposal::IndexProposal;
use crate::judged::Judged;
use crate::proposal::{Authority, Kind};

/// Indexes as they may be configured; each case takes some.
fn some_indexes() -> Vec<IndexConfig> {
    use IndexKind::{Approximate, Equality, Presence, Substring};
    let short = IndexConfig { substring_length: 3, ..IndexConfig::new("cn", &[Substring]) };
    vec![
        IndexConfig::new("cn", &[Equality, Substring]),
        short,
        IndexConfig::new("sn", &[Equality, Approximate]),
        IndexConfig::new("name", &[Equality, Presence]),
        IndexConfig::new("objectClass", &[Equality]),
        IndexConfig::new("description", &[Presence, Substring]),
        IndexConfig::new("member", &[Equality]),
    ]
}

fn set(indexes: Vec<IndexConfig>, anew: &[&str]) -> IndexProposal {
    let configured = ConfiguredIndexes::new(&Schema::standard(), indexes).unwrap();
    IndexProposal::Set { configured, anew: anew.iter().map(|name| (*name).to_owned()).collect() }
}

fn propose(bed: &mut Bed, change: &IndexProposal) {
    bed.propose(Kind::Indexes, &change.encode(), With::default()).ok();
}

fn finish(bed: &mut Bed, work: u64) {
    for _ in 0..10_000 {
        if bed.backend.indexes().untrusted().is_empty() {
            return;
        }
        propose(bed, &IndexProposal::Build { work });
    }
    panic!("a builder that does not come to its end");
}

#[derive(Clone, Debug)]
enum Step {
    Update(Op),
    Indexes(Vec<IndexConfig>, bool),
    Build(u64),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let indexes = proptest::sample::subsequence(some_indexes(), 0..=some_indexes().len());
    prop_oneof![
        12 => any_op().prop_map(Step::Update),
        2 => (indexes, any::<bool>()).prop_map(|(indexes, anew)| Step::Indexes(indexes, anew)),
        6 => (1u64..20).prop_map(Step::Build),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn complete_indexes_agree_with_the_entries(steps in vec(step(), 1..60)) {
        let mut bed = Bed::empty();
        bed.add(SUFFIX, "objectClass: domain\ndc: example").ok();
        for step in steps {
            match step {
                Step::Update(op) => drop(run(&mut bed, &op)),
                Step::Indexes(indexes, anew) => {
                    let both: &[&str] = &["cn.caseIgnoreMatch", "objectClass.objectIdentifierMatch"];
                    let anew = if anew { both } else { &[] };
                    propose(&mut bed, &set(indexes, anew));
                }
                Step::Build(work) => propose(&mut bed, &IndexProposal::Build { work }),
                Step::Reopen => bed = bed.reopen(),
            }
            bed.verify();
        }
        finish(&mut bed, 10);
        bed.verify();
        bed.reopen().verify();
    }
}

#[test]
fn a_large_group_is_indexed_in_parts_while_members_come_and_go() {
    let mut bed = Bed::new();
    let name = |number: usize| format!("uid=u{number},ou=people,dc=example,dc=com");
    let group = "cn=all,ou=groups,dc=example,dc=com";
    let members: String = (0..1_500).map(|number| format!("member: {}\n", name(number))).collect();
    bed.add(group, &format!("objectClass: groupOfNames\ncn: all\n{members}")).ok();
    bed.add("cn=few,ou=groups,dc=example,dc=com", &format!("objectClass: groupOfNames\ncn: few\nmember: {}", name(3)))
        .ok();
    let mut without = default_indexes();
    without.retain(|index| index.attribute != "member");
    propose(&mut bed, &set(without, &[]));
    propose(&mut bed, &set(default_indexes(), &[]));
    let mut number = 0;
    while !bed.backend.indexes().untrusted().is_empty() {
        propose(&mut bed, &IndexProposal::Build { work: 100 });
        // Some that the builder has passed, some that it has not come to.
        bed.modify(
            group,
            &format!("delete member: {}\nadd member: {}", name(number * 61 % 1_500), name(5_000 + number * 13)),
        )
        .ok();
        number += 1;
        bed.verify();
    }
    assert!(number > 10, "{number} slices");
    let index = bed.backend.indexes().set().by_name("member.distinguishedNameMatch").unwrap().id;
    bed.verify();
    let bed = bed.reopen();
    bed.verify();
    let snapshot = bed.backend.snapshot().unwrap();
    assert!(snapshot.indexes().is_trusted(index));
}

#[test]
fn only_the_server_changes_indexes() {
    let mut bed = Bed::new();
    let change = set(default_indexes(), &[]).encode();
    let authority =
        Some(Authority::User { dn: "uid=ann,ou=people,dc=example,dc=com", entry: 2, judged: Judged::Unneeded });
    let refused = bed.propose(Kind::Indexes, &change, With { authority, ..With::default() });
    refused.refused(ldap::ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "Changing indexes");
    bed.propose(Kind::Indexes, b"nonsense", With::default()).refused(ldap::ResultCode::OTHER, "damaged");
    bed.verify();
}
