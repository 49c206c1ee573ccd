//! Searches that the less common kinds of index answer, and those that they cannot. Who may not search unindexed asks,
//! so that an answer proves the index.

use config::{IndexConfig, IndexKind};
use ldap::ResultCode;
use proptest::prelude::*;

use super::fixture::{Asked, Fixture, root, user};

const BASE: &str = "dc=example,dc=com";

fn extensible(attribute: &str, rules: &[&str]) -> IndexConfig {
    let extensible_rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
    IndexConfig { extensible_rules, substring_length: 3, ..IndexConfig::new(attribute, &[IndexKind::Extensible]) }
}

fn ldif() -> String {
    let mut ldif = format!("dn: {BASE}\nobjectClass: domain\n\n");
    let people = [
        ("ann", "Fran\u{e7}ois", "20240115120000Z", 4),
        ("bob", "FRANCOIS", "20231224180000Z", 6),
        ("cyd", "Gro\u{df}straße", "20240701000000Z", 1),
        ("dee", "Zo\u{eb}", "20991231235959Z", 12),
    ];
    for (uid, cn, time, number) in people {
        ldif.push_str(&format!(
            "dn: uid={uid},{BASE}\nobjectClass: account\nobjectClass: extensibleObject\ncn: {cn}\n\
             createTimestamp: {time}\nuidNumber: {number}\nmail: {uid}@example.com\n\n"
        ));
    }
    ldif
}

/// So few entries as there are would be searched through by anybody, if the limit were not smaller still.
fn fixture(indexes: Vec<IndexConfig>) -> Fixture {
    Fixture::with(&[BASE], indexes, &ldif(), |config| config.backends[0].index_entry_limit = 2)
}

fn uids(it: &mut Fixture, filter: &str) -> Result<String, ResultCode> {
    let found = |it: &mut Fixture, identity| {
        let found = it.search(&Asked { identity, ..Asked::new(BASE, filter) }).map_err(|refused| refused.code)?;
        let mut uids: Vec<&str> = found.entries.iter().filter_map(|(dn, _)| dn.get(4..7)).collect();
        uids.sort_unstable();
        Ok(uids.join(" "))
    };
    let indexed = found(it, user());
    if let Ok(indexed) = &indexed {
        assert_eq!(Ok(indexed), found(it, root()).as_ref(), "{filter}");
    }
    indexed
}

#[test]
fn extensible_indexes_answer_their_rules() {
    let indexes = vec![
        extensible("cn", &["caseExactMatch", "fr", "1.3.6.1.4.1.42.2.27.9.4.28.1.6"]),
        extensible("createTimestamp", &["relativeTimeGTOrderingMatch", "partialDateAndTimeMatchingRule"]),
        extensible("uidNumber", &["integerBitAndMatch"]),
    ];
    let mut it = fixture(indexes);
    let names: Vec<String> =
        it.directory.backends()[0].store.indexes().set().iter().map(|index| index.name.clone()).collect();
    assert_eq!(
        names,
        [
            "cn.caseExactMatch",
            "cn.fr.eq",
            "cn.de.sub:3",
            "createTimestamp.generalizedTimeMatch",
            "uidNumber.integerMatch"
        ]
    );
    for (filter, expected) in [
        ("(cn:caseExactMatch:=FRANCOIS)", "bob"),
        ("(cn:2.5.13.6:=G)", "ann bob"),
        ("(cn:2.5.13.6:=Fa)", "bob"),
        ("(cn:fr:=fran\u{e7}ois)", "ann bob"),
        ("(cn:fr.3:=francois)", "ann bob"),
        ("(cn:fr.lt:=g)", "ann bob"),
        ("(cn:fr-FR.gte:=grossstrasse)", "cyd dee"),
        ("(cn:1.3.6.1.4.1.42.2.27.9.4.76.1.5:=h)", "dee"),
        ("(cn:de.sub:=*STRASSE)", "cyd"),
        ("(cn:de-DE.6:=f*c*s)", "ann bob"),
        ("(createTimestamp:partialDateAndTimeMatchingRule:=2024Y)", "ann cyd"),
        ("(createTimestamp:1.3.6.1.4.1.26027.1.4.7:=12M24D)", "bob"),
        ("(createTimestamp:relativeTimeGTOrderingMatch:=1w)", "dee"),
        ("(createTimestamp:relativeTimeLTOrderingMatch:=-1d)", "ann bob cyd"),
        ("(uidNumber:1.2.840.113556.1.4.803:=4)", "ann bob dee"),
        ("(uidNumber:integerBitOrMatch:=3)", "bob cyd"),
        ("(&(cn:fr:=francois)(uidNumber:integerBitAndMatch:=2))", "bob"),
    ] {
        assert_eq!(uids(&mut it, filter), Ok(expected.to_owned()), "{filter}");
    }
    for filter in ["(cn=FRANCOIS)", "(cn:es:=francois)", "(cn:fr.sub:=*ran*)", "(cn:dn:fr:=francois)", "(uidNumber=*)"]
    {
        assert_eq!(uids(&mut it, filter), Err(ResultCode::INSUFFICIENT_ACCESS_RIGHTS), "{filter}");
    }
}

#[test]
fn confidential_indexes_answer_whole_values_and_long_pieces() {
    let mail =
        IndexConfig { is_confidential: true, ..IndexConfig::new("mail", &[IndexKind::Equality, IndexKind::Substring]) };
    let mut it = fixture(vec![mail]);
    for (filter, expected) in [
        ("(mail=BOB@example.com)", "bob"),
        ("(mail=bo*example*)", "bob"),
        ("(mail=*cyd@example.com)", "cyd"),
        ("(mail=dee@ex*)", "dee"),
    ] {
        assert_eq!(uids(&mut it, filter), Ok(expected.to_owned()), "{filter}");
    }
    for filter in ["(mail>=b)", "(mail<=b)", "(mail=bob*)", "(mail=*.com)", "(mail=*)"] {
        assert_eq!(uids(&mut it, filter), Err(ResultCode::INSUFFICIENT_ACCESS_RIGHTS), "{filter}");
    }
}

#[test]
fn lists_are_configured_and_kept() {
    let text = ldif();
    let mut it = Fixture::with(&[BASE], vec![IndexConfig::new("uid", &[IndexKind::Equality])], &text, |config| {
        config.backends[0].vlv_indexes = vec![config::VlvIndexConfig {
            name: "people".to_owned(),
            base_dn: BASE.to_owned(),
            scope: ldap::Scope::SingleLevel,
            filter: "(&(objectClass=account)(!(uidNumber=6)))".to_owned(),
            sort_order: "-mail".to_owned(),
        }];
    });
    let backend = &it.directory.backends()[0].store;
    let (indexes, snapshot) = (backend.indexes(), backend.snapshot().unwrap());
    let [people] = indexes.set().vlv_indexes() else { panic!("one list") };
    assert!(indexes.is_trusted(people.id));
    let mut scan = snapshot.view().scan(people.id, std::ops::Bound::Unbounded, std::ops::Bound::Unbounded).unwrap();
    let mut names = Vec::new();
    while let Some((_, postings)) = scan.next().unwrap() {
        names.extend(postings.iter().map(|id| snapshot.view().dn_of(id).unwrap().unwrap()[4..7].to_owned()));
    }
    assert_eq!(names, ["dee", "cyd", "ann"]);
    drop(scan);
    drop(snapshot);
    assert_eq!(uids(&mut it, "(uid=nobody)"), Ok(String::new()));
}

/// No two are equal to `caseIgnoreMatch`, so that an entry may have them all.
const WORDS: [&str; 8] =
    ["Stra\u{df}e", "strasse 7", "\u{e9}t\u{e9}", "ETE", "\u{d6}l", "oil", "zebra 7", "\u{418}\u{432}\u{430}\u{43d}"];

/// Values of one entry: two of the words are one value by the attribute's own rule.
fn words() -> impl Strategy<Value = std::collections::BTreeSet<&'static str>> {
    prop::collection::btree_set(prop::sample::select(&WORDS[..]), 1..3).prop_map(|mut words| {
        if words.contains(WORDS[0]) {
            words.remove(WORDS[1]);
        }
        words
    })
}

fn extensible_filter() -> impl Strategy<Value = String> {
    let text_rule =
        prop::sample::select(&["caseExactMatch", "2.5.13.6", "fr.lt", "fr.lte", "fr", "fr.gte", "fr.gt", "sv.eq"][..]);
    let piece = "(st|s|\u{e9}|t|E|\u{d6}|o|\u{438}|\u{432}|7){0,3}";
    let span = prop::sample::select(&["-400d", "-1d", "+2w", "0"][..]);
    prop_oneof![
        4 => (text_rule, prop::sample::select(&WORDS[..])).prop_map(|(rule, word)| format!("(cn:{rule}:={word})")),
        4 => (piece, piece, piece).prop_map(|(first, any, last)| format!("(cn:de.sub:={first}*{any}*{last})")),
        1 => (any::<bool>(), span).prop_map(|(later, span)| {
            format!("(createTimestamp:relativeTime{}OrderingMatch:={span})", if later { "GT" } else { "LT" })
        }),
        1 => (prop::option::of(2023i64..2026), prop::option::of(1i64..13))
            .prop_filter("nothing", |it| it != &(None, None))
            .prop_map(|(year, month)| {
                let text = |number: Option<i64>, unit| number.map(|it| format!("{it}{unit}")).unwrap_or_default();
                format!("(createTimestamp:partialDateAndTimeMatchingRule:={}{})", text(year, 'Y'), text(month, 'M'))
            }),
        1 => (any::<bool>(), 0i64..16).prop_map(|(all, bits)| {
            format!("(uidNumber:integerBit{}Match:={bits})", if all { "And" } else { "Or" })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// With and without the indexes the same entries are found.
    #[test]
    fn extensible_indexes_find_what_a_scan_finds(
        entries in prop::collection::vec((words(), 0i64..16, 2022i64..2027, 1i64..13), 1..30),
        filters in prop::collection::vec(extensible_filter(), 60),
    ) {
        let mut ldif = format!("dn: {BASE}\nobjectClass: domain\n\n");
        for (at, (words, number, year, month)) in entries.iter().enumerate() {
            ldif.push_str(&format!(
                "dn: uid={at:03},{BASE}\nobjectClass: account\nobjectClass: extensibleObject\nuidNumber: {number}\n\
                 createTimestamp: {year}{month:02}15120000Z\n"
            ));
            // Both spellings are one value under cn's own rule.
            let is_double = |word: &str| word == "strasse" && words.contains("Stra\u{df}e");
            let words = words.iter().filter(|word| !is_double(word));
            words.for_each(|word| ldif.push_str(&format!("cn: {word}\n")));
            ldif.push('\n');
        }
        let indexes = vec![
            extensible("cn", &["caseExactMatch", "fr", "sv", "de.sub"]),
            extensible("createTimestamp", &["relativeTimeGTOrderingMatch"]),
            extensible("uidNumber", &["integerBitAndMatch"]),
        ];
        let mut indexed = Fixture::new(&[BASE], indexes, &ldif);
        let mut scanned = Fixture::new(&[BASE], Vec::new(), &ldif);
        for filter in &filters {
            let found = uids(&mut indexed, filter);
            prop_assert!(found.is_ok(), "{}", filter);
            prop_assert_eq!(found, uids(&mut scanned, filter), "{}", filter);
        }
    }
}
