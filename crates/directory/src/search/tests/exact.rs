//! Filters that the indexes answer exactly are not tried on entries: which they are, and what becomes of it when
//! entries change.

use config::{IndexConfig, IndexKind};

use super::fixture::{Asked, Collector, Fixture, decode};
use super::limits::modify;
use ldap::ModifyOperation;
use query::plan::Candidates;

const BASE: &str = "dc=example,dc=com";

/// Thirty entries; `description` is one of two, `cn` ends in a number.
fn fixture() -> Fixture {
    let mut ldif = format!("dn: {BASE}\nobjectClass: domain\n\n");
    for at in 0..30 {
        let description = ["even", "odd"][at % 2];
        ldif.push_str(&format!(
            "dn: uid=u{at},{BASE}\nobjectClass: inetOrgPerson\ncn: name {at:02}\nsn: x\ndescription: {description}\n\n"
        ));
    }
    use IndexKind::{Equality, Presence, Substring};
    let hidden = IndexConfig { is_confidential: true, ..IndexConfig::new("sn", &[Equality]) };
    let indexes = vec![
        IndexConfig::new("description", &[Equality, Presence]),
        IndexConfig::new("cn", &[Equality, Substring]),
        hidden,
    ];
    Fixture::with(&[BASE], indexes, &ldif, |config| config.backends[0].index_entry_limit = 5)
}

#[test]
fn only_what_the_indexes_say_whole_is_exact() {
    let mut it = fixture();
    for (filter, exact) in [
        ("(description=even)", true),
        ("(description=*)", true),
        ("(objectClass=*)", true),
        ("(&)", true),
        ("(|(description=even)(description=odd))", true),
        ("(&(objectClass=*)(|(description=even)(cn=*ame 1*)))", true),
        ("(cn=*ame*)", true),
        ("(cn=*name 0*)", true),
        ("(cn=name*)", true),
        ("(cn=name 1*)", false),
        ("(cn=*name 00*)", false),
        ("(cn=*ame *)", false),
        ("(cn=*nam*1)", false),
        ("(cn>=name 01)", true),
        ("(sn=x)", false),
        ("(description;lang-fr=even)", false),
        ("(&(description=even)(l=x))", false),
        ("(&(description=even)(!(l=x)))", false),
        ("(l=x)", false),
    ] {
        let plan = it.plan(&Asked::new(BASE, filter));
        assert_eq!(plan.parts[0].is_exact, exact, "{filter}");
    }
}

#[test]
fn a_change_between_plan_and_run_is_seen() {
    let mut it = fixture();
    for filter in ["(|(description=even)(description=odd))", "(description=even)"] {
        for changes in [false, true] {
            let mut plan = it.plan(&Asked::new(BASE, filter));
            assert!(plan.parts[0].is_exact);
            let is_set = matches!(plan.parts[0].candidates, Candidates::Set(_));
            assert_eq!(is_set, filter.starts_with("(|"));
            if changes {
                modify(&it, &format!("uid=u4,{BASE}"), ModifyOperation::Replace, "description", "neither");
            }
            plan.release_snapshots();
            let mut output = Collector::default();
            let done = plan.run(&mut it.worker, &mut output);
            let (entries, _) = decode(&output.bytes);
            let found = entries.iter().any(|(dn, _)| *dn == format!("uid=u4,{BASE}"));
            assert_eq!(found, !changes, "{filter}");
            assert_eq!(done.entries_sent, entries.len() as u64);
        }
        modify(&it, &format!("uid=u4,{BASE}"), ModifyOperation::Replace, "description", "even");
    }
}
