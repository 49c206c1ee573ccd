//! Index ids as OpenDJ names them, and the keys of entries and changes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use schema::{Schema, TypeIndex};

use super::*;
use crate::extract::KeyExtractor;
use crate::record::put_value;
use crate::tables::{Interner, Tables};
use crate::{DescId, IndexId};

fn set_of(configs: &[IndexConfig]) -> Result<(IndexSet, IndexStates), IndexError> {
    let mut states = IndexStates::default();
    Ok((IndexSet::new(&Schema::standard(), &configs.to_vec().into(), &mut states)?, states))
}

fn names(configs: &[IndexConfig]) -> Vec<String> {
    let (set, _) = set_of(configs).unwrap();
    let mut names: Vec<String> = set.iter().map(|index| index.name.clone()).collect();
    names.sort();
    names
}

#[test]
fn default_indexes_have_the_names_of_opendj() {
    assert_eq!(
        names(&default_indexes()),
        [
            "aci.presence",
            "cn.caseIgnoreMatch",
            "cn.caseIgnoreSubstringsMatch:6",
            "ds-sync-conflict.distinguishedNameMatch",
            "ds-sync-hist.changeSequenceNumberOrderingMatch",
            "entryUUID.uuidMatch",
            "givenName.caseIgnoreMatch",
            "givenName.caseIgnoreSubstringsMatch:6",
            "mail.caseIgnoreIA5Match",
            "mail.caseIgnoreIA5SubstringsMatch:6",
            "member.distinguishedNameMatch",
            "objectClass.objectIdentifierMatch",
            "sn.caseIgnoreMatch",
            "sn.caseIgnoreSubstringsMatch:6",
            "telephoneNumber.telephoneNumberMatch",
            "telephoneNumber.telephoneNumberSubstringsMatch:6",
            "uid.caseIgnoreMatch",
            "uniqueMember.uniqueMemberMatch",
        ]
    );
}

#[test]
fn every_kind_has_its_name_and_ordering_shares_the_equality_index() {
    use IndexKind::{Approximate, Equality, Ordering, Presence, Substring};
    let mut sn = IndexConfig::new("SURNAME", &[Presence, Approximate, Substring, Ordering, Equality]);
    sn.substring_length = 4;
    let expected =
        ["sn.caseIgnoreMatch", "sn.caseIgnoreSubstringsMatch:4", "sn.ds-mr-double-metaphone-approx", "sn.presence"];
    assert_eq!(names(&[sn]), expected);
    assert_eq!(names(&[IndexConfig::new("createTimestamp", &[Ordering])]), ["createTimestamp.generalizedTimeMatch"]);
}

#[test]
fn indexes_that_are_not_valid_are_reported() {
    let refused = |attribute: &str, kind| set_of(&[IndexConfig::new(attribute, &[kind])]).unwrap_err().to_string();
    assert!(refused("blueness", IndexKind::Equality).contains("\"blueness\""));
    assert!(refused("uidNumber", IndexKind::Substring).contains("substring"));
    let mut short = IndexConfig::new("cn", &[IndexKind::Substring]);
    short.substring_length = 2;
    assert!(set_of(&[short]).unwrap_err().to_string().contains("at least 3"));
}

#[test]
fn windows_are_those_of_opendj() {
    let windows = |text: &str| {
        let mut out = Vec::new();
        substring_keys(text.as_bytes(), 6, |key| out.push(String::from_utf8(key.to_vec()).unwrap()));
        out
    };
    assert_eq!(windows("jensens"), ["jensen", "ensens", "nsens", "sens", "ens", "ns", "s"]);
    assert_eq!(windows("ab"), ["ab", "b"]);
    assert!(windows("").is_empty());
}

/// An entry as a list of attributes with their values.
type Attributes = Vec<(&'static str, Vec<String>)>;

struct Plain(Attributes);

impl IndexedEntry for Plain {
    fn each_attribute<'s>(
        &'s self,
        wanted: &dyn Fn(TypeIndex) -> bool,
        visit: &mut dyn FnMut(TypeIndex, Cow<'s, [u8]>),
    ) {
        for (name, values) in &self.0 {
            let of_type = Schema::standard().attribute_type(name.as_bytes()).unwrap().index;
            if wanted(of_type) {
                let mut body = Vec::new();
                values.iter().for_each(|value| put_value(&mut body, value.as_bytes()));
                visit(of_type, Cow::Owned(body));
            }
        }
    }

    fn each_large(&self, _visit: &mut dyn FnMut(TypeIndex)) {}
}

fn indexer() -> Indexer {
    let mut configs = default_indexes();
    configs.push(IndexConfig::new("name", &[IndexKind::Equality]));
    configs.push(IndexConfig::new("description", &[IndexKind::Presence]));
    Indexer::new(Schema::standard(), Arc::new(set_of(&configs).unwrap().0))
}

fn all_keys(indexer: &Indexer, entry: &Plain) -> BTreeSet<(IndexId, Vec<u8>)> {
    let mut keys = BTreeSet::new();
    indexer.keys(entry, &mut |index: IndexId, key: &[u8]| {
        keys.insert((index, key.to_vec()));
    });
    keys
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let values = || prop::collection::vec("[aB]{1,8}", 1..4);
    let attribute = prop_oneof![Just("cn"), Just("sn"), Just("uid"), Just("description"), Just("title")];
    prop::collection::vec((attribute, values()), 0..6)
}

proptest! {
    #[test]
    fn changes_are_the_difference_of_all_keys(old in attributes(), new in attributes()) {
        let (indexer, old, new) = (indexer(), Plain(old), Plain(new));
        let (before, after) = (all_keys(&indexer, &old), all_keys(&indexer, &new));
        let changes = indexer.changes(Some(&old), Some(&new));
        prop_assert!(changes.removed.iter().eq(before.difference(&after)));
        prop_assert!(changes.added.iter().eq(after.difference(&before)));
        let all = indexer.changes(None, Some(&new));
        prop_assert!(all.removed.is_empty() && all.added.iter().eq(&after));
    }
}

#[test]
fn an_index_of_a_supertype_has_the_values_of_its_subtypes() {
    let indexer = indexer();
    let keys = all_keys(&indexer, &Plain(vec![("cn", vec!["Ann".to_owned()]), ("sn", vec!["Bo".to_owned()])]));
    let name = indexer.indexes().by_name("name.caseIgnoreMatch").unwrap().id;
    let own: Vec<&[u8]> = keys.iter().filter(|(index, _)| *index == name).map(|(_, key)| key.as_slice()).collect();
    assert_eq!(own, [b"ann", &b"bo"[..]]);
}

#[test]
fn only_keys_that_no_other_value_makes_are_unique() {
    let indexer = indexer();
    let mut tables = Tables::new(SchemaTypes::shared(&Schema::standard()));
    let cn = Interner::description(&mut tables, "cn;lang-de").unwrap();
    let mut found = Vec::new();
    indexer.value_keys(&tables, cn, b"Ann", &mut |index, key, unique| {
        let name = indexer.indexes().get(index).unwrap().name.clone();
        found.push((name, String::from_utf8(key.to_vec()).unwrap(), unique));
    });
    let expected = [
        ("cn.caseIgnoreMatch", "ann", true),
        ("cn.caseIgnoreSubstringsMatch:6", "ann", false),
        ("cn.caseIgnoreSubstringsMatch:6", "n", false),
        ("cn.caseIgnoreSubstringsMatch:6", "nn", false),
        ("name.caseIgnoreMatch", "ann", true),
    ];
    found.sort();
    assert_eq!(found, expected.map(|(name, key, unique)| (name.to_owned(), key.to_owned(), unique)));
    let index = |name: &str| indexer.indexes().by_name(name).unwrap().id;
    assert!(indexer.feeds(&tables, cn, index("name.caseIgnoreMatch")));
    assert!(!indexer.feeds(&tables, DescId::ENTRY_UUID, index("name.caseIgnoreMatch")));
}

#[test]
fn names_have_the_normal_form_of_the_tree() {
    let indexer = indexer();
    let normal = |text: &str, whole| {
        let mut out = Vec::new();
        indexer.normalize_rdn(text.as_bytes(), whole, &mut out).then_some(out)
    };
    assert_eq!(normal("OU=People", false), normal("ou= people", false));
    assert!(normal("ou=a,dc=b", false).is_none() && normal("nonsense", false).is_none());
    assert!(normal("dc=Example,dc=COM", true).is_some_and(|dn| Some(dn) == normal("DC=example, dc=com", true)));
}
