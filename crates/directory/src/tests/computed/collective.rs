//! Collective attributes and templates: which entries a subtree specification covers, against its definition word by
//! word; and that whoever shows a value is found by it.

use ldap::{ModifyOperation, Scope};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::tests::groups::modify;

const GIVEN: &str = "cn=given,dc=example,dc=com";

/// RDNs from the suffix down, and whether the entry is a device; two names that begin alike, and one in another
/// spelling.
const TREE: [(&[&str], bool); 9] = [
    (&[], false),
    (&["ou=a"], false),
    (&["ou=a", "ou=b"], false),
    (&["ou=a", "ou=b", "cn=c"], true),
    (&["ou=a", "ou=bb"], false),
    (&["ou=a", "ou=bb", "cn=c+l=x"], true),
    (&["ou=ab"], false),
    (&["ou=ab", "ou=b"], false),
    (&["ou=ab", "cn=c"], true),
];

fn dn(rdns: &[&str]) -> String {
    rdns.iter().rev().copied().chain([BASE]).collect::<Vec<_>>().join(",")
}

fn tree() -> Fixture {
    let mut ldif = String::new();
    for (rdns, is_device) in TREE {
        let class = match (rdns.is_empty(), is_device) {
            (true, _) => "domain\ndc: example",
            (_, true) => "device\nobjectClass: extensibleObject",
            _ => "organizationalUnit",
        };
        let named = rdns.last().map(|rdn| rdn.replace('=', ": ").replace('+', "\n")).unwrap_or_default();
        ldif.push_str(&format!("dn: {}\nobjectClass: {class}\n{named}\n\n", dn(rdns)).replace("\n\n\n", "\n\n"));
    }
    ldif.push_str(&format!(
        "dn: {GIVEN}\nobjectClass: subentry\nobjectClass: collectiveAttributeSubentry\ncn: given\nc-l: there\n\
         subtreeSpecification: {{}}\n"
    ));
    Fixture::new(&[BASE], default_indexes(), &ldif)
}

/// What a specification says, as one would write it down.
#[derive(Debug, Clone)]
struct Specification {
    base: Vec<&'static str>,
    cuts: Vec<(Vec<&'static str>, bool)>,
    minimum: usize,
    maximum: Option<usize>,
    classes: Classes,
}

#[derive(Debug, Clone)]
enum Classes {
    Item(&'static str),
    And(Vec<Classes>),
    Or(Vec<Classes>),
    Not(Box<Classes>),
    /// An LDAP filter instead, `(cn=NAME)`.
    Called(&'static str),
    Any,
}

impl Classes {
    fn text(&self) -> String {
        let list = |list: &[Classes]| list.iter().map(Classes::text).collect::<Vec<_>>().join(", ");
        match self {
            Classes::Item(class) => format!("item:{class}"),
            Classes::And(all) => format!("and:{{{}}}", list(all)),
            Classes::Or(all) => format!("or:{{{}}}", list(all)),
            Classes::Not(one) => format!("not:{}", one.text()),
            Classes::Called(name) => format!("\"(cn={name})\""),
            Classes::Any => String::new(),
        }
    }

    fn have(&self, rdns: &[&str], is_device: bool) -> bool {
        match self {
            Classes::Item("device" | "2.5.6.14") => is_device,
            Classes::Item("organizationalUnit") => !is_device && !rdns.is_empty(),
            Classes::Item(_) | Classes::Any => true,
            Classes::And(all) => all.iter().all(|one| one.have(rdns, is_device)),
            Classes::Or(all) => all.iter().any(|one| one.have(rdns, is_device)),
            Classes::Not(one) => !one.have(rdns, is_device),
            Classes::Called(name) => rdns.last().is_some_and(|rdn| rdn.starts_with(&format!("cn={name}"))),
        }
    }
}

impl Specification {
    fn text(&self) -> String {
        let name = |rdns: &[&str]| rdns.iter().rev().copied().collect::<Vec<_>>().join(",");
        let cut = |(rdns, keeps): &(Vec<&str>, bool)| {
            format!("{}:\"{}\"", if *keeps { "chopAfter" } else { "chopBefore" }, name(rdns))
        };
        let cuts: Vec<String> = self.cuts.iter().map(cut).collect();
        let mut text = format!(
            "{{ base \"{}\", specificExclusions {{ {} }}, minimum {}",
            name(&self.base),
            cuts.join(", "),
            self.minimum
        );
        if let Some(maximum) = self.maximum {
            text.push_str(&format!(", maximum {maximum}"));
        }
        match self.classes.text() {
            none if none.is_empty() => {}
            classes => text.push_str(&format!(", specificationFilter {classes}")),
        }
        text + " }"
    }

    /// RFC 3672 §2.1.
    fn has(&self, rdns: &[&str], is_device: bool) -> bool {
        let Some(below) = rdns.strip_prefix(self.base.as_slice()) else { return false };
        let depth = below.len();
        let is_cut = |(cut, keeps): &(Vec<&str>, bool)| below.starts_with(cut) && (below.len() > cut.len() || !keeps);
        depth >= self.minimum
            && self.maximum.is_none_or(|maximum| depth <= maximum)
            && !self.cuts.iter().any(is_cut)
            && self.classes.have(rdns, is_device)
    }
}

fn rdns(most: usize) -> impl Strategy<Value = Vec<&'static str>> {
    vec(prop::sample::select(vec!["ou=a", "ou=ab", "ou=b", "ou=bb", "cn=c"]), 0..=most)
}

fn classes() -> impl Strategy<Value = Classes> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["device", "2.5.6.14", "organizationalUnit", "top"]).prop_map(Classes::Item),
    ];
    let refinement = leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Classes::And),
            vec(inner.clone(), 0..3).prop_map(Classes::Or),
            inner.prop_map(|one| Classes::Not(Box::new(one))),
        ]
    });
    prop_oneof![3 => Just(Classes::Any), 3 => refinement, 1 => prop::sample::select(vec!["c", "d"])
        .prop_map(Classes::Called)]
}

fn specification() -> impl Strategy<Value = Specification> {
    let cuts = vec((rdns(2), any::<bool>()), 0..3);
    (rdns(1), cuts, 0usize..3, prop::option::of(0usize..4), classes())
        .prop_map(|(base, cuts, minimum, maximum, classes)| Specification { base, cuts, minimum, maximum, classes })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]
    #[test]
    fn a_subtree_specification_covers_what_its_definition_says(all in vec(specification(), 30)) {
        let mut it = tree();
        for specification in all {
            let text = specification.text();
            modify(&it, GIVEN, ModifyOperation::Replace, "subtreeSpecification", &text);
            let mut expected: Vec<String> = TREE
                .iter()
                .filter(|(rdns, is_device)| specification.has(rdns, *is_device))
                .map(|(rdns, _)| dn(rdns))
                .collect();
            expected.sort();
            let found = |it: &mut Fixture, filter: &str| {
                let mut found = it.dns(&Asked::new(BASE, filter));
                found.sort();
                found
            };
            prop_assert_eq!(&found(&mut it, "(c-l=there)"), &expected, "found: {}", text);
            prop_assert_eq!(&found(&mut it, "(l=there)"), &expected, "found by the supertype: {}", text);
            let subentries = format!("(collectiveAttributeSubentries={GIVEN})");
            prop_assert_eq!(&found(&mut it, &subentries), &expected, "say so: {}", text);
            // What is shown does not come by the planner.
            let asked = Asked { attributes: &["c-l"], ..Asked::new(BASE, "(objectClass=*)") };
            let entries = it.search(&asked).unwrap().entries;
            let mut shown: Vec<String> =
                entries.into_iter().filter(|(_, values)| !values.is_empty()).map(|(dn, _)| dn).collect();
            shown.sort();
            prop_assert_eq!(&shown, &expected, "shown: {}", text);
        }
    }
}

const NAMES: [&str; 4] = ["ann", "ben", "cal", "dee"];

/// Who has what: attributes of four people, some of which lead to others of them or to places.
#[derive(Debug, Clone)]
enum Change {
    Manager(usize, usize),
    Place(usize, &'static str),
    Street(&'static str, &'static str),
    Title(usize, &'static str),
    Given(usize, &'static str),
}

fn change() -> impl Strategy<Value = Change> {
    let who = || 0..NAMES.len();
    let word = || prop::sample::select(vec!["One", "two", "Two  x", "x@y"]);
    prop_oneof![
        (who(), who()).prop_map(|(who, by)| Change::Manager(who, by)),
        (who(), prop::sample::select(vec!["Rome", "OSLO", "nowhere"]))
            .prop_map(|(who, place)| Change::Place(who, place)),
        (prop::sample::select(vec!["Rome", "Oslo"]), word()).prop_map(|(place, street)| Change::Street(place, street)),
        (who(), word()).prop_map(|(who, title)| Change::Title(who, title)),
        (who(), word()).prop_map(|(who, name)| Change::Given(who, name)),
    ]
}

fn people() -> Fixture {
    let mut ldif = format!(
        "dn: {BASE}\nobjectClass: domain\ndc: example\n\ndn: ou=places,{BASE}\nobjectClass: organizationalUnit\nou: \
         places\n\n"
    );
    for place in ["Rome", "Oslo"] {
        ldif.push_str(&format!(
            "dn: l={place},ou=places,{BASE}\nobjectClass: locality\nobjectClass: extensibleObject\n\
            l: {place}\nstreet: none\n\n"
        ));
    }
    for name in NAMES {
        ldif.push_str(&format!(
            "dn: uid={name},{BASE}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: {name}\nsn: {name}\ntitle: none\n\
             givenName: none\n\n"
        ));
    }
    let subentry = |name: &str, kind: &str, lines: &str| {
        format!(
            "dn: cn={name},{BASE}\nobjectClass: subentry\nobjectClass: inheritedCollectiveAttributeSubentry\n\
             objectClass: inheritedFrom{kind}CollectiveAttributeSubentry\ncn: {name}\nsubtreeSpecification: {{ \
             specificationFilter item:person }}\n{lines}\n\n"
        )
    };
    ldif += &subentry("by manager", "DN", "inheritFromDNAttribute: manager\ninheritAttribute: title:description");
    let lines =
        "inheritFromBaseRDN: ou=places\ninheritFromRDNAttribute: l\ninheritFromRDNType: l\ninheritAttribute: street";
    ldif += &subentry("by place", "RDN", lines);
    let template = VirtualAttributeKind::UserTemplate {
        template: config::Template::parse("{givenName|nobody}@{l} of {sn}").unwrap(),
        given: Box::new(GivenTo {
            base_dns: Vec::new(),
            scope: Scope::WholeSubtree,
            group_dns: Vec::new(),
            filter: "(objectClass=person)".to_owned(),
            conflict: ConflictBehavior::RealOverridesVirtual,
        }),
    };
    let attribute = "displayName".to_owned();
    let table = VirtualAttributeConfig {
        name: attribute.clone(),
        line: 1,
        column: 1,
        attribute,
        enabled: true,
        kind: template,
    };
    Fixture::with(&[BASE], default_indexes(), &ldif, |config| config.virtual_attributes.push(table))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]
    #[test]
    fn whoever_shows_a_value_is_found_by_it(changes in vec(change(), 25)) {
        let mut it = people();
        for change in &changes {
            let person = |who: usize| format!("uid={},{BASE}", NAMES[who]);
            let (dn, attribute, value) = match change {
                Change::Manager(who, by) => (person(*who), "manager", person(*by).to_uppercase()),
                Change::Place(who, place) => (person(*who), "l", (*place).to_owned()),
                Change::Street(place, street) =>
                    (format!("l={place},ou=places,{BASE}"), "street", (*street).to_owned()),
                Change::Title(who, title) => (person(*who), "title", (*title).to_owned()),
                Change::Given(who, name) => (person(*who), "givenName", (*name).to_owned()),
            };
            modify(&it, &dn, ModifyOperation::Replace, attribute, &value);
        }
        for attribute in ["description", "street", "displayName"] {
            let all = shown(&mut it, "(objectClass=person)", attribute);
            // What is shown comes from whom it should: computed again from the changes.
            let last = |pick: &dyn Fn(&Change) -> Option<String>| changes.iter().rev().find_map(pick);
            for (at, name) in NAMES.iter().enumerate() {
                let place = last(&|it| match it { Change::Place(who, place) if *who == at => Some((*place).to_owned()),
                    _ => None });
                let expected = match attribute {
                    "description" => last(&|it| match it { Change::Manager(who, by) if *who == at =>
                        Some(by.to_string()), _ => None })
                        .map(|by| last(&|it| match it { Change::Title(who, title) if who.to_string() == by =>
                            Some((*title).to_owned()), _ => None }).unwrap_or("none".to_owned())),
                    "street" => place.filter(|place| place != "nowhere").map(|place| {
                        last(&|it| match it { Change::Street(of, street) if of.eq_ignore_ascii_case(&place) =>
                            Some((*street).to_owned()), _ => None }).unwrap_or("none".to_owned())
                    }),
                    _ => place.map(|place| {
                        let given = last(&|it| match it { Change::Given(who, given) if *who == at =>
                            Some((*given).to_owned()), _ => None });
                        format!("{}@{place} of {name}", given.unwrap_or("none".to_owned()))
                    }),
                };
                prop_assert_eq!(all.get(*name).cloned().unwrap_or_default(), Vec::from_iter(expected), "{} of {}",
                    attribute, name);
            }
            let values: std::collections::BTreeSet<String> = all.values().flatten().cloned().collect();
            for value in values {
                let who = |test: &dyn Fn(&str) -> bool| -> Vec<String> {
                    let has = |values: &Vec<String>| values.iter().any(|own| test(&own.to_lowercase()));
                    all.iter().filter(|(_, values)| has(values)).map(|(name, _)| name.clone()).collect()
                };
                let people = |filter: String| format!("(&(objectClass=person){filter})");
                let found = matching(&mut it, &people(format!("({attribute}={})", value.to_uppercase())));
                prop_assert_eq!(found, who(&|own| own == value.to_lowercase()), "{}={}", attribute, value);
                for length in [1, 3, value.len() / 2 + 1, value.len()] {
                    let start: String = value.chars().take(length).collect::<String>().trim_end().to_owned();
                    let found = matching(&mut it, &people(format!("({attribute}={start}*)")));
                    prop_assert_eq!(found, who(&|own| own.starts_with(&start.to_lowercase())), "{}={}*", attribute,
                        start);
                }
            }
        }
    }
}
