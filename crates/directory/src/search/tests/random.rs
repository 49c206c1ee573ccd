//! Random data, indexes, filters, bases and scopes: what a search finds is what an evaluator says that knows no index, no normal
//! form and no record: lists of lower-case strings, looked through one by one.

use std::collections::BTreeMap;
use std::fmt::Write;

use config::{IndexConfig, IndexKind};
use ldap::Scope;
use proptest::prelude::*;

use super::fixture::{Asked, Fixture};

/// One entry of the model: where its parent is in the list, and its values.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) parent: Option<usize>,
    pub(super) values: BTreeMap<&'static str, Vec<String>>,
}

#[derive(Clone, Debug)]
enum Filter {
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Not(Box<Filter>),
    Equal(&'static str, String),
    Substring(&'static str, String, Vec<String>, String),
    AtLeast(&'static str, u32),
    AtMost(&'static str, u32),
    Present(&'static str),
}

const TEXTS: [&str; 4] = ["cn", "cn;lang-fr", "sn", "description"];
const ASKED: [&str; 6] = ["cn", "cn;lang-fr", "sn", "name", "description", "nosuchattribute"];
const NUMBER: &str = "uidNumber";

fn text() -> impl Strategy<Value = String> {
    "[abAB]{1,9}"
}

pub(super) fn entry() -> impl Strategy<Value = (prop::sample::Index, BTreeMap<&'static str, Vec<String>>)> {
    let texts = proptest::collection::btree_map(prop::sample::select(&TEXTS[..]), values(), 0..3);
    let number = proptest::option::of(0u32..40);
    (any::<prop::sample::Index>(), texts, number).prop_map(|(parent, mut values, number)| {
        if let Some(number) = number {
            values.insert(NUMBER, vec![number.to_string()]);
        }
        (parent, values)
    })
}

fn values() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(text(), 1..3).prop_map(|mut values| {
        values.sort_by_key(|value| value.to_lowercase());
        values.dedup_by_key(|value| value.to_lowercase());
        values
    })
}

fn filter() -> impl Strategy<Value = Filter> {
    let asked = || prop::sample::select(&ASKED[..]);
    let piece = || prop_oneof![Just(String::new()), "[abAB]{1,7}"];
    let leaf = prop_oneof![
        4 => (asked(), text()).prop_map(|(attribute, value)| Filter::Equal(attribute, value)),
        4 => (asked(), piece(), proptest::collection::vec("[abAB]{1,4}", 0..2), piece())
            .prop_filter("no piece", |(_, first, any, last)| !(first.is_empty() && any.is_empty() && last.is_empty()))
            .prop_map(|(attribute, first, any, last)| Filter::Substring(attribute, first, any, last)),
        1 => (0u32..40).prop_map(|number| Filter::AtLeast(NUMBER, number)),
        1 => (0u32..40).prop_map(|number| Filter::AtMost(NUMBER, number)),
        1 => asked().prop_map(Filter::Present),
        1 => Just(Filter::Present("objectClass")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Filter::And),
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Filter::Or),
            inner.prop_map(|inner| Filter::Not(Box::new(inner))),
        ]
    })
}

pub(super) fn indexes() -> impl Strategy<Value = Vec<IndexConfig>> {
    let kinds = |all: &'static [IndexKind]| proptest::sample::subsequence(all, 0..=all.len());
    let texts: &'static [IndexKind] = &[IndexKind::Equality, IndexKind::Presence, IndexKind::Substring];
    let numbers: &'static [IndexKind] = &[IndexKind::Equality, IndexKind::Presence, IndexKind::Ordering];
    let limit = || prop_oneof![Just(0u64), Just(4000), 1u64..6];
    (kinds(texts), kinds(texts), kinds(texts), kinds(numbers), limit(), 3usize..7, any::<bool>()).prop_map(
        |(cn, sn, name, number, entry_limit, substring_length, is_confidential)| {
            let of = |attribute: &str, kinds: Vec<IndexKind>| IndexConfig {
                entry_limit,
                substring_length,
                ..IndexConfig::new(attribute, &kinds)
            };
            let hidden = IndexConfig { is_confidential, ..of("cn", cn) };
            let all = [hidden, of("sn", sn), of("name", name), of(NUMBER, number)];
            all.into_iter().filter(|index| !index.kinds.is_empty()).collect()
        },
    )
}

pub(super) fn dn(entries: &[Entry], at: usize) -> String {
    match entries[at].parent {
        None => "dc=example,dc=com".to_owned(),
        Some(parent) => format!("uid=e{at},{}", dn(entries, parent)),
    }
}

pub(super) fn ldif(entries: &[Entry]) -> String {
    let mut text = String::new();
    for (at, entry) in entries.iter().enumerate() {
        let _ = writeln!(text, "dn: {}\nobjectClass: top\nobjectClass: extensibleObject", dn(entries, at));
        for (attribute, values) in &entry.values {
            for value in values {
                let _ = writeln!(text, "{attribute}: {value}");
            }
        }
        text.push('\n');
    }
    text
}

fn filter_text(filter: &Filter) -> String {
    let all = |inner: &[Filter]| inner.iter().map(filter_text).collect::<String>();
    match filter {
        Filter::And(inner) => format!("(&{})", all(inner)),
        Filter::Or(inner) => format!("(|{})", all(inner)),
        Filter::Not(inner) => format!("(!{})", filter_text(inner)),
        Filter::Equal(attribute, value) => format!("({attribute}={value})"),
        Filter::Substring(attribute, first, any, last) => {
            let any: String = any.iter().map(|piece| format!("{piece}*")).collect();
            format!("({attribute}={first}*{any}{last})")
        }
        Filter::AtLeast(attribute, number) => format!("({attribute}>={number})"),
        Filter::AtMost(attribute, number) => format!("({attribute}<={number})"),
        Filter::Present(attribute) => format!("({attribute}=*)"),
    }
}

/// `None` is Undefined.
fn truth(filter: &Filter, entry: &Entry) -> Option<bool> {
    match filter {
        Filter::And(inner) => {
            let all: Vec<_> = inner.iter().map(|it| truth(it, entry)).collect();
            if all.contains(&Some(false)) { Some(false) } else { (!all.contains(&None)).then_some(true) }
        }
        Filter::Or(inner) => {
            let all: Vec<_> = inner.iter().map(|it| truth(it, entry)).collect();
            if all.contains(&Some(true)) { Some(true) } else { (!all.contains(&None)).then_some(false) }
        }
        Filter::Not(inner) => truth(inner, entry).map(|it| !it),
        Filter::Equal(attribute, value) => any_value(entry, attribute, |own| own == value.to_lowercase()),
        Filter::Substring(attribute, first, pieces, last) => {
            any_value(entry, attribute, |own| has_pieces(own, &first.to_lowercase(), pieces, &last.to_lowercase()))
        }
        Filter::AtLeast(attribute, number) => any_value(entry, attribute, |own| own.parse::<u32>().unwrap() >= *number),
        Filter::AtMost(attribute, number) => any_value(entry, attribute, |own| own.parse::<u32>().unwrap() <= *number),
        Filter::Present(attribute) => any_value(entry, attribute, |_| true),
    }
}

fn any_value(entry: &Entry, asked: &str, test: impl Fn(&str) -> bool) -> Option<bool> {
    let stored: &[&str] = match asked {
        "cn" => &["cn", "cn;lang-fr"],
        "cn;lang-fr" => &["cn;lang-fr"],
        "sn" => &["sn"],
        "name" => &["cn", "cn;lang-fr", "sn"],
        "description" => &["description"],
        "objectClass" => return Some(true),
        NUMBER => &[NUMBER],
        _ => return None,
    };
    let values = stored.iter().filter_map(|attribute| entry.values.get(attribute)).flatten();
    Some(values.into_iter().any(|value| test(&value.to_lowercase())))
}

fn has_pieces(value: &str, first: &str, pieces: &[String], last: &str) -> bool {
    let Some(rest) = value.strip_prefix(first) else { return false };
    let Some(mut rest) = rest.strip_suffix(last) else { return false };
    for piece in pieces {
        let Some(at) = rest.find(&piece.to_lowercase()) else { return false };
        rest = &rest[at + piece.len()..];
    }
    true
}

fn in_scope(entries: &[Entry], at: usize, base: usize, scope: Scope) -> bool {
    let parent = entries[at].parent;
    let below = || std::iter::successors(parent, |up| entries[*up].parent).any(|up| up == base);
    match scope {
        Scope::BaseObject => at == base,
        Scope::SingleLevel => parent == Some(base),
        Scope::WholeSubtree => at == base || below(),
        Scope::SubordinateSubtree => below(),
    }
}

fn scope() -> impl Strategy<Value = Scope> {
    use Scope::{BaseObject, SingleLevel, SubordinateSubtree, WholeSubtree};
    prop::sample::select(vec![BaseObject, SingleLevel, WholeSubtree, WholeSubtree, SubordinateSubtree])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn a_search_finds_what_looking_at_everything_finds(
        made in proptest::collection::vec(entry(), 0..40),
        indexes in indexes(),
        searches in proptest::collection::vec((filter(), any::<prop::sample::Index>(), scope()), 30),
    ) {
        let mut entries = vec![Entry { parent: None, values: BTreeMap::new() }];
        for (parent, values) in made {
            let parent = parent.index(entries.len());
            entries.push(Entry { parent: Some(parent), values });
        }
        let mut fixture = Fixture::new(&["dc=example,dc=com"], indexes, &ldif(&entries));
        for (filter, base, scope) in &searches {
            let base = base.index(entries.len());
            let mut expected: Vec<String> = (0..entries.len())
                .filter(|at| in_scope(&entries, *at, base, *scope) && truth(filter, &entries[*at]) == Some(true))
                .map(|at| dn(&entries, at))
                .collect();
            expected.sort();
            let text = filter_text(filter);
            let base = dn(&entries, base);
            let asked = Asked { scope: *scope, attributes: &["1.1"], ..Asked::new(&base, &text) };
            prop_assert_eq!(fixture.dns(&asked), expected, "{} {:?} {}", base, scope, text);
        }
    }
}
