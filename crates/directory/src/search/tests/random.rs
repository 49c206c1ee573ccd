//! Random data, indexes, filters, bases and scopes: what a search finds is what an evaluator says that knows no index,
//! no normal form and no record: lists of lower-case strings, looked through one by one.

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
    /// `(attribute:caseIgnoreMatch:=value)`, with `:dn` or without.
    Rule(&'static str, bool, String),
    EntryDn(prop::sample::Index),
    /// One of [`UNDEFINED`].
    Undefined(&'static str),
}

/// Filters that are true of no entry, and neither are their opposites.
const UNDEFINED: [&str; 8] = [
    "(objectClass=nosuchclass)",
    "(cn=)",
    "(mail=ü)",
    "(mail=*ü)",
    "(telephoneNumber=)",
    "(uidNumber=007)",
    "(uidNumber>=-0)",
    "(cn;binary=*)",
];

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
        2 => (0u32..40, 0u32..20).prop_map(|(low, width)| {
            Filter::And(vec![Filter::AtLeast(NUMBER, low), Filter::AtMost(NUMBER, low + width)])
        }),
        1 => (asked(), any::<bool>(), text()).prop_map(|(attribute, dn, value)| Filter::Rule(attribute, dn, value)),
        1 => any::<prop::sample::Index>().prop_map(Filter::EntryDn),
        2 => prop::sample::select(&UNDEFINED[..]).prop_map(Filter::Undefined),
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

/// Indexes, each with kinds and a limit of its own.
pub(super) fn indexes() -> impl Strategy<Value = Vec<IndexConfig>> {
    partly_built().prop_map(|indexes| indexes.into_iter().map(|(index, _)| index).collect())
}

/// The same, and whether each is built.
fn partly_built() -> impl Strategy<Value = Vec<(IndexConfig, bool)>> {
    let kinds = |all: &'static [IndexKind]| proptest::sample::subsequence(all, 0..=all.len());
    let texts: &'static [IndexKind] = &[IndexKind::Equality, IndexKind::Presence, IndexKind::Substring];
    let numbers: &'static [IndexKind] = &[IndexKind::Equality, IndexKind::Presence, IndexKind::Ordering];
    let classes: &'static [IndexKind] = &[IndexKind::Equality];
    let limit = || prop_oneof![Just(0u64), Just(4000), 1u64..60];
    let index = move |attribute: &'static str, all: &'static [IndexKind], may_hide: bool| {
        let is_confidential = any::<bool>().prop_map(move |hides| hides && may_hide);
        (kinds(all), limit(), 3usize..7, prop::bool::weighted(0.85), is_confidential).prop_map(
            move |(kinds, entry_limit, substring_length, is_built, is_confidential)| {
                let own = IndexConfig::new(attribute, &kinds);
                (IndexConfig { entry_limit, substring_length, is_confidential, ..own }, is_built)
            },
        )
    };
    let all = (
        index("cn", texts, true),
        index("sn", texts, false),
        index("name", texts, false),
        index(NUMBER, numbers, false),
        index("objectClass", classes, false),
    );
    all.prop_map(|(cn, sn, name, number, class)| {
        [cn, sn, name, number, class].into_iter().filter(|(index, _)| !index.kinds.is_empty()).collect()
    })
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

fn filter_text(entries: &[Entry], filter: &Filter) -> String {
    let filter_text = |it: &Filter| filter_text(entries, it);
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
        Filter::Rule(attribute, with_dn, value) => {
            format!("({attribute}{}:caseIgnoreMatch:={value})", if *with_dn { ":dn" } else { "" })
        }
        Filter::EntryDn(at) => format!("(entryDN={})", dn(entries, at.index(entries.len()))),
        Filter::Undefined(text) => (*text).to_owned(),
    }
}

/// `None` is Undefined.
fn truth(filter: &Filter, entries: &[Entry], at: usize) -> Option<bool> {
    let entry = &entries[at];
    match filter {
        Filter::And(inner) => {
            let all: Vec<_> = inner.iter().map(|it| truth(it, entries, at)).collect();
            if all.contains(&Some(false)) { Some(false) } else { (!all.contains(&None)).then_some(true) }
        }
        Filter::Or(inner) => {
            let all: Vec<_> = inner.iter().map(|it| truth(it, entries, at)).collect();
            if all.contains(&Some(true)) { Some(true) } else { (!all.contains(&None)).then_some(false) }
        }
        Filter::Not(inner) => truth(inner, entries, at).map(|it| !it),
        Filter::Equal(attribute, value) => any_value(entry, attribute, |own| own == value.to_lowercase()),
        Filter::Substring(attribute, first, pieces, last) => {
            any_value(entry, attribute, |own| has_pieces(own, &first.to_lowercase(), pieces, &last.to_lowercase()))
        }
        Filter::AtLeast(attribute, number) => any_value(entry, attribute, |own| own.parse::<u32>().unwrap() >= *number),
        Filter::AtMost(attribute, number) => any_value(entry, attribute, |own| own.parse::<u32>().unwrap() <= *number),
        Filter::Present(attribute) => any_value(entry, attribute, |_| true),
        // Names are made of `uid` and `dc`, which are not asked for.
        Filter::Rule(attribute, _, value) => any_value(entry, attribute, |own| own == value.to_lowercase()),
        Filter::EntryDn(other) => Some(other.index(entries.len()) == at),
        Filter::Undefined(_) => None,
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

// S0-03, S0-07
proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_search_finds_what_looking_at_everything_finds(
        made in prop_oneof![proptest::collection::vec(entry(), 0..40), proptest::collection::vec(entry(), 60..200)],
        indexes in partly_built(),
        scope_limit in prop_oneof![Just(0u64), Just(4000), 1u64..100],
        searches in proptest::collection::vec((filter(), any::<prop::sample::Index>(), scope()), 40),
    ) {
        let mut entries = vec![Entry { parent: None, values: BTreeMap::new() }];
        for (parent, values) in made {
            let parent = parent.index(entries.len());
            entries.push(Entry { parent: Some(parent), values });
        }
        let unbuilt: Vec<String> =
            indexes.iter().filter(|(_, is_built)| !is_built).map(|(index, _)| index.attribute.clone()).collect();
        let configs = indexes.into_iter().map(|(index, _)| index).collect();
        let mut fixture = Fixture::partly_built(
            &["dc=example,dc=com"],
            configs,
            &ldif(&entries),
            |config| config.backends[0].index_entry_limit = scope_limit,
            |index| !unbuilt.contains(&index.attribute),
        );
        for (filter, base, scope) in &searches {
            let base = base.index(entries.len());
            let matching = |at: &usize| truth(filter, &entries, *at) == Some(true);
            let mut expected: Vec<String> = (0..entries.len())
                .filter(|at| in_scope(&entries, *at, base, *scope) && matching(at))
                .map(|at| dn(&entries, at))
                .collect();
            expected.sort();
            let text = filter_text(&entries, filter);
            let base = dn(&entries, base);
            let asked = Asked { scope: *scope, attributes: &["1.1"], ..Asked::new(&base, &text) };
            let found = fixture.search(&asked).unwrap();
            prop_assert_eq!(found.dns(), expected, "{} {:?} {}", base, scope, text);
            if *scope != Scope::BaseObject {
                // What is explained is what is done.
                let asked = Asked { attributes: &["debugsearchindex"], ..asked };
                let told = fixture.search(&asked).unwrap().entries[0].1["debugsearchindex"].join("");
                let last = format!("\"final\":{},", found.done.candidates);
                let is_unindexed = found.done.unindexed && told.contains("\"final\":\"[NOT-INDEXED]\"");
                prop_assert!(told.contains(&last) || is_unindexed, "{} {:?} {} {}", base, scope, text, told);
            }
        }
    }
}
