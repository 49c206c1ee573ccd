//! Random definitions, templates and entries: what a filter finds through the planner is what looking at every entry's
//! shown values finds, after every update.

use std::collections::BTreeSet;

use ldap::ModifyOperation;
use proptest::prelude::*;

use super::*;
use crate::tests::groups::modify;

const PEOPLE: [&str; 5] = ["p0", "p1", "p2", "p3", "p4"];
const VALUES: [&str; 3] = ["x", "y", "z"];
const QUALIFIERS: [&str; 4] = ["default", "override", "merge-schemes", "merge-schemes override"];

/// One step: which of the things that can be changed, and to what.
#[derive(Clone, Debug)]
enum Change {
    /// A person's `title`, none beyond the values.
    Title(usize, usize),
    /// A person's `employeeType`: names a template.
    Kind(usize, usize),
    /// A person's manager.
    Manager(usize, usize),
    /// A template's `title`.
    Template(usize, usize),
    /// How a definition gives `title`.
    Qualifier(usize, usize),
    /// A template's priority.
    Priority(usize, usize),
}

const DEFINITIONS: [&str; 3] = ["pointer", "indirect", "classic"];
const TEMPLATES: [&str; 4] = ["one", "x", "y", "employeeType-default"];

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (0..5usize, 0..4usize).prop_map(|(at, value)| Change::Title(at, value)),
        (0..5usize, 0..4usize).prop_map(|(at, value)| Change::Kind(at, value)),
        (0..5usize, 0..5usize).prop_map(|(at, value)| Change::Manager(at, value)),
        (0..4usize, 0..4usize).prop_map(|(at, value)| Change::Template(at, value)),
        (0..3usize, 0..4usize).prop_map(|(at, value)| Change::Qualifier(at, value)),
        (0..4usize, 0..4usize).prop_map(|(at, value)| Change::Priority(at, value)),
    ]
}

fn dn(uid: &str) -> String {
    format!("uid={uid},{BASE}")
}

fn ldif() -> String {
    let mut text = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n\n");
    for uid in PEOPLE {
        text.push_str(&format!("dn: {}\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid}\nsn: {uid}\n\n", dn(uid)));
    }
    for name in TEMPLATES {
        text.push_str(&format!(
            "dn: cn={name},{BASE}\nobjectClass: cosTemplate\nobjectClass: extensibleObject\ncn: {name}\n\n"
        ));
    }
    for (name, class, line) in [
        ("pointer", "cosPointerDefinition", format!("cosTemplateDn: cn=one,{BASE}")),
        ("indirect", "cosIndirectDefinition", "cosIndirectSpecifier: manager".to_owned()),
        ("classic", "cosClassicDefinition", format!("cosSpecifier: employeeType\ncosTemplateDn: {BASE}")),
    ] {
        text.push_str(&format!(
            "dn: cn={name},{BASE}\nobjectClass: {class}\ncn: {name}\n{line}\ncosAttribute: title\n\n"
        ));
    }
    text
}

/// Gives an attribute one value, or none; with the relax control's right it may be one that nobody sees.
fn put(it: &Fixture, dn: &str, attribute: &str, value: Option<&str>) {
    let mut bytes = Vec::new();
    let relax = [ldap::ControlBuf { critical: true, ..ldap::ControlBuf::new(ldap::oids::control::RELAX, None) }];
    let values: Vec<&[u8]> = value.iter().map(|value| value.as_bytes()).collect();
    ldap::client::modify(&mut bytes, 1, dn, [(ModifyOperation::Replace, attribute.as_bytes(), values)], &relax);
    it.update(&ldap::Message::decode(&bytes).unwrap());
}

fn apply(it: &Fixture, change: &Change) {
    match *change {
        Change::Title(at, value) => put(it, &dn(PEOPLE[at]), "title", VALUES.get(value).copied()),
        Change::Kind(at, value) => put(it, &dn(PEOPLE[at]), "employeeType", VALUES.get(value).copied()),
        Change::Manager(at, value) => put(it, &dn(PEOPLE[at]), "manager", Some(&dn(PEOPLE[value]))),
        Change::Template(at, value) => {
            put(it, &format!("cn={},{BASE}", TEMPLATES[at]), "title", VALUES.get(value).copied())
        }
        Change::Priority(at, value) => {
            let number = value.to_string();
            put(it, &format!("cn={},{BASE}", TEMPLATES[at]), "cosPriority", (value > 0).then_some(number.as_str()));
        }
        Change::Qualifier(at, value) => {
            let text = format!("title {}", QUALIFIERS[value]);
            modify(it, &format!("cn={},{BASE}", DEFINITIONS[at]), ModifyOperation::Replace, "cosAttribute", &text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    // S2-42
    #[test]
    fn filters_find_what_entries_show(
        changes in proptest::collection::vec(change(), 1..30),
        indexed in proptest::collection::vec(any::<bool>(), 3),
    ) {
        let mut indexes = default_indexes();
        for (name, is_indexed) in ["title", "employeeType", "manager"].into_iter().zip(&indexed) {
            if *is_indexed {
                let like = indexes.iter().find(|index| index.attribute == "sn").cloned().unwrap();
                indexes.push(config::IndexConfig { attribute: name.to_owned(),
                    kinds: vec![config::IndexKind::Equality], ..like });
            }
        }
        let mut it = Fixture::new(&[BASE], indexes, &ldif());
        for (at, change) in changes.iter().enumerate() {
            apply(&it, change);
            if at % 5 != 4 && at + 1 != changes.len() {
                continue;
            }
            let titles = shown(&mut it, "(objectClass=*)", "title");
            for value in VALUES {
                let expected: BTreeSet<String> = titles
                    .iter()
                    .filter(|(_, titles)| titles.iter().any(|title| title == value))
                    .map(|(name, _)| name.clone())
                    .collect();
                for filter in [format!("(title={value})"), format!("(&(objectClass=*)(title={value}*))"),
                    format!("(|(title={value})(uid=none))")] {
                    let found: BTreeSet<String> = matching(&mut it, &filter).into_iter().collect();
                    prop_assert_eq!(&found, &expected, "{} after {:?}", filter, &changes[..=at]);
                }
                let others: BTreeSet<String> = titles.keys().filter(|name| !expected.contains(*name)).cloned()
                    .collect();
                let found: BTreeSet<String> = matching(&mut it, &format!("(!(title={value}))")).into_iter().collect();
                prop_assert_eq!(&found, &others);
            }
            for name in PEOPLE {
                let is_z = it.compare(user(), &dn(name), "title", b"Z") == ldap::ResultCode::COMPARE_TRUE;
                prop_assert_eq!(is_z, titles[name].iter().any(|title| title == "z"));
            }
            let any: BTreeSet<String> = titles.iter().filter(|(_, titles)| !titles.is_empty())
                .map(|(name, _)| name.clone()).collect();
            prop_assert_eq!(matching(&mut it, "(title=*)").into_iter().collect::<BTreeSet<_>>(), any);
        }
    }
}
