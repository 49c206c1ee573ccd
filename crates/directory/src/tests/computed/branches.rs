//! How many entries of branches are looked at to plan one filter, and what becomes of a filter for which that is too
//! few.

use ldap::Scope;
use schema::MatchContext;
use store::EntryId;

use super::*;
use query::backend::BackendIndex;
use query::computed::Program;
use query::filter::{Matcher, Node};
use query::id_set::IdSet;
use query::plan::{Branch, scoped_candidates};

/// Three teams of three; who is in one shows its telephone number, and the mail address that only the first has.
fn teams() -> Fixture {
    let mut ldif = format!(
        "dn: {BASE}\nobjectClass: domain\ndc: example\n\n\
         dn: cn=from above,{BASE}\nobjectClass: subentry\nobjectClass: inheritedCollectiveAttributeSubentry\n\
         objectClass: inheritedFromDNCollectiveAttributeSubentry\ncn: from above\n\
         subtreeSpecification: {{ minimum 2 }}\ninheritFromDNAttribute: entryDN\ninheritFromDNParent: 1\n\
         inheritAttribute: telephoneNumber\ninheritAttribute: mail\n\n"
    );
    for team in ["a", "b", "c"] {
        let mail = if team == "a" { "mail: a@example.com\n" } else { "" };
        ldif.push_str(&format!(
            "dn: ou={team},{BASE}\nobjectClass: organizationalUnit\nobjectClass: extensibleObject\nou: {team}\n\
             telephoneNumber: +1 2\n{mail}\n"
        ));
        for at in 1..=3 {
            ldif.push_str(&format!(
                "dn: uid={team}{at},ou={team},{BASE}\nobjectClass: inetOrgPerson\nuid: {team}{at}\ncn: x\nsn: x\n\n"
            ));
        }
    }
    Fixture::with(&[BASE], default_indexes(), &ldif, |config| config.backends[0].index_entry_limit = 3)
}

/// The candidates that a filter is led back to, none when no index answers it, and how many entries of branches are
/// among them.
fn planned(it: &Fixture, filter: &str, branches_max: u64) -> (Option<u64>, u64) {
    let (directory, facts) = (&it.directory, it.directory.facts());
    let snapshot = directory.backends[0].store.snapshot().unwrap();
    let moment = directory.reading.moment(&facts, 0);
    let seen = moment.at(BackendIndex(0), snapshot.view());
    let mut matcher = Matcher::default();
    let parsed = ldap::filter::parse(filter).unwrap();
    matcher.compile(&facts, &parsed.filter(), MatchContext::default());
    let computed = seen.given_values().unwrap().unwrap();
    let program = Program::of(&computed, &matcher, 4_000, branches_max).unwrap().matcher;
    let sets = program.nodes().iter().filter_map(|node| match node {
        Node::Set(at) => program.set(*at),
        _ => None,
    });
    let branch = Branch { base: EntryId::ROOT, scope: Scope::WholeSubtree, is_everything: true };
    let backend = &directory.backends[0];
    let found = scoped_candidates(&program, &facts, backend, &snapshot.view(), branch, None).unwrap().found;
    (found.candidates.count(), sets.map(IdSet::len).sum())
}

/// When no more may be looked at, a filter is what it is where one branch alone is too large: one that no index
/// answers.
// S2-42
#[test]
fn all_branches_of_a_filter_together_are_bounded() {
    let it = teams();
    let (phone, mail) = ("(telephoneNumber=+1 2)", "(mail=a@example.com)");
    let both = format!("(|{phone}{mail})");
    assert_eq!(planned(&it, phone, 12), (Some(12), 12));
    assert_eq!(planned(&it, mail, 4), (Some(4), 4));
    assert_eq!(planned(&it, mail, 3), (None, 0), "one branch alone");
    assert_eq!(planned(&it, phone, 11), (None, 8), "of three branches two");
    assert_eq!(planned(&it, &both, 16), (Some(12), 16));
    assert_eq!(planned(&it, &both, 15), (None, 12), "of two attributes one");
    // What the other components say narrows as before.
    assert_eq!(planned(&it, &format!("(&(uid=b1){both})"), 0), (Some(1), 0));
}

#[test]
fn whoever_is_given_a_value_is_found_by_it() {
    let mut it = teams();
    assert_eq!(matching(&mut it, "(&(uid=*)(telephoneNumber=+12))").len(), 9);
    assert_eq!(matching(&mut it, "(mail=A@example.com)"), ["a", "a1", "a2", "a3"]);
}
