//! Sorted and unsorted pages and list views of random data: put together they are what sorting a list gives.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use config::{IndexConfig, IndexKind};
use ldap::client::controls::{VlvResponse, decode_sort_response, sort_request, vlv_request};
use ldap::controls::{PagedResults, SortKey, VlvRequest, VlvTarget};
use ldap::oids::control;
use ldap::{ControlBuf, ResultCode};
use proptest::prelude::*;

use super::fixture::{Asked, Fixture, Found};
use super::random::{Entry, dn, entry, indexes, ldif};

const BASE: &str = "dc=example,dc=com";

/// Attributes to sort by, and what of the model's are they or below them.
const SORTED: [(&str, &[&str]); 4] = [
    ("cn", &["cn", "cn;lang-fr"]),
    ("SN", &["sn"]),
    ("name", &["cn", "cn;lang-fr", "sn"]),
    ("uidNumber", &["uidNumber"]),
];

pub(super) fn page(size: u32, cookie: &[u8]) -> ControlBuf {
    ControlBuf::new(control::PAGED_RESULTS, Some(PagedResults { size, cookie }.encode())).critical()
}

pub(super) fn value_of<'f>(found: &'f Found, oid: &str) -> Option<&'f [u8]> {
    found.done.controls.iter().find(|control| control.oid == oid).and_then(|control| control.value.as_deref())
}

/// Size and cookie of the response.
pub(super) fn next_page(found: &Found) -> (u32, Vec<u8>) {
    let response = PagedResults::decode(value_of(found, control::PAGED_RESULTS)).unwrap();
    (response.size, response.cookie.to_vec())
}

pub(super) fn names(found: &Found) -> Vec<String> {
    found.entries.iter().map(|(dn, _)| dn.clone()).collect()
}

/// All pages of a search, each as it came.
fn all_pages(fixture: &mut Fixture, filter: &str, size: u32, more: &[ControlBuf]) -> Vec<Vec<String>> {
    let (mut pages, mut cookie) = (Vec::new(), Vec::new());
    loop {
        let mut controls = more.to_vec();
        controls.push(page(size, &cookie));
        let asked = Asked { controls: &controls, attributes: &["1.1"], ..Asked::new(BASE, filter) };
        let found = fixture.search(&asked).unwrap();
        assert_eq!(found.done.result.code, ResultCode::SUCCESS);
        pages.push(names(&found));
        cookie = next_page(&found).1;
        if cookie.is_empty() {
            return pages;
        }
        assert!(pages.len() < 1000, "the pages do not end");
    }
}

fn least(entry: &Entry, attributes: &[&str]) -> Option<(u32, String)> {
    let values = attributes.iter().filter_map(|attribute| entry.values.get(attribute)).flatten();
    values.map(|value| (value.parse().unwrap_or(0), value.to_lowercase())).min()
}

/// RFC 2891: the least value counts, none is the largest, reverse turns everything round.
fn compare(a: &Entry, b: &Entry, keys: &[(usize, bool)]) -> Ordering {
    keys.iter().fold(Ordering::Equal, |so_far, (attribute, reverse)| {
        let (a, b) = (least(a, SORTED[*attribute].1), least(b, SORTED[*attribute].1));
        let order = a.is_none().cmp(&b.is_none()).then(a.cmp(&b));
        so_far.then(if *reverse { order.reverse() } else { order })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn pages_and_views_are_pieces_of_the_sorted_list(
        made in prop::collection::vec(entry(), 0..50),
        indexes in indexes(),
        keys in prop::collection::vec((0..SORTED.len(), any::<bool>()), 1..3),
        filter in prop::sample::select(vec!["(objectClass=*)", "(cn=*a*)", "(sn=*)", "(uidNumber>=10)"]),
        size in 1u32..12,
        windows in prop::collection::vec((0u32..8, 0u32..8, any::<prop::sample::Index>(), "[abAB]{1,3}"), 4),
        walks: bool,
        secret: bool,
        listed in prop::option::of(prop::sample::select(vec!["ou=none,dc=example,dc=com", BASE])),
    ) {
        let mut entries = vec![Entry { parent: None, values: BTreeMap::new() }];
        for (parent, values) in made {
            let parent = parent.index(entries.len());
            entries.push(Entry { parent: Some(parent), values });
        }
        let is_hashable = |kind: &IndexKind| matches!(kind, IndexKind::Equality | IndexKind::Substring);
        let is_confidential = |index: &IndexConfig| secret && index.kinds.iter().all(is_hashable);
        let indexes = indexes.into_iter()
            .map(|index| IndexConfig { is_confidential: is_confidential(&index), ..index })
            .collect();
        let order: Vec<String> = keys.iter()
            .map(|(at, reverse)| format!("{}{}", if *reverse { "-" } else { "+" }, SORTED[*at].0))
            .collect();
        let mut fixture = Fixture::with(&[BASE], indexes, &ldif(&entries), |config| {
            config.backends[0].vlv_indexes = listed.iter().map(|base| config::VlvIndexConfig {
                name: "list".to_owned(),
                base_dn: (*base).to_owned(),
                scope: ldap::Scope::WholeSubtree,
                filter: filter.to_owned(),
                sort_order: order.join(" "),
            }).collect();
        });
        crate::search::sort::force_walk(Some(walks));
        let matches = |entry: &Entry| match filter {
            "(cn=*a*)" => ["cn", "cn;lang-fr"].iter().filter_map(|it| entry.values.get(it)).flatten()
                .any(|value| value.to_lowercase().contains('a')),
            "(sn=*)" => entry.values.contains_key("sn"),
            "(uidNumber>=10)" => least(entry, &["uidNumber"]).is_some_and(|(number, _)| number >= 10),
            _ => true,
        };
        let mut expected: Vec<usize> = (0..entries.len()).filter(|at| matches(&entries[*at])).collect();
        let name = |at: &usize| dn(&entries, *at);
        let paged = all_pages(&mut fixture, filter, size, &[]);
        prop_assert_eq!(paged.concat(), expected.iter().map(name).collect::<Vec<_>>());
        expected.sort_by(|a, b| compare(&entries[*a], &entries[*b], &keys).then(a.cmp(b)));
        let expected: Vec<String> = expected.iter().map(name).collect();
        let asked: Vec<SortKey<'_>> = keys.iter()
            .map(|(attribute, reverse)| {
                SortKey { attribute: SORTED[*attribute].0.as_bytes(), ordering_rule: None, reverse: *reverse }
            })
            .collect();
        let sort = sort_request(&asked).critical();
        let controls = [sort.clone()];
        let all = fixture.search(&Asked { controls: &controls, ..Asked::new(BASE, filter) }).unwrap();
        prop_assert_eq!(&names(&all), &expected);
        let sorted = value_of(&all, control::SORT_RESPONSE);
        let sorted = sorted.map(|value| decode_sort_response(Some(value)).unwrap().0);
        prop_assert_eq!(sorted, (!expected.is_empty()).then_some(ResultCode::SUCCESS));
        let paged = all_pages(&mut fixture, filter, size, std::slice::from_ref(&sort));
        prop_assert_eq!(&paged.concat(), &expected);
        prop_assert!(paged.iter().rev().skip(1).all(|page| page.len() == size as usize));
        for (before, after, target, value) in windows {
            let by_value = keys[0].0 != 3 && target.index(2) == 1;
            let offset = target.index(expected.len().max(1)) + 1;
            let request = VlvRequest {
                before, after, context: None,
                target: if by_value { VlvTarget::Assertion(value.as_bytes()) }
                    else { VlvTarget::Offset { offset: offset as u32, content_count: 0 } },
            };
            let controls = [sort.clone(), vlv_request(&request).critical()];
            let found = fixture.search(&Asked { controls: &controls, ..Asked::new(BASE, filter) }).unwrap();
            prop_assert_eq!(found.done.result.code, ResultCode::SUCCESS);
            let place = if by_value {
                let values = [("cn", vec![value.clone()]), ("sn", vec![value.clone()])].into();
                let probe = Entry { parent: None, values };
                let named = entries.iter().enumerate().map(|(at, entry)| (dn(&entries, at), entry));
                let listed: BTreeMap<String, &Entry> = named.collect();
                let first = expected.iter().position(|dn| compare(listed[dn], &probe, &keys[..1]).is_ge());
                first.unwrap_or(expected.len()) + 1
            } else {
                offset
            };
            let at = (place - 1).min(expected.len());
            if listed == Some(BASE) {
                prop_assert!(found.done.candidates == 0, "the index was not used");
            }
            let window = &expected[at.saturating_sub(before as usize)..(at + after as usize + 1).min(expected.len())];
            prop_assert_eq!(names(&found), window, "{} {} {:?}", before, after, request.target);
            let response = VlvResponse::decode(value_of(&found, control::VLV_RESPONSE)).unwrap();
            prop_assert_eq!((response.position as usize, response.content_count as usize), (place, expected.len()));
        }
    }
}
