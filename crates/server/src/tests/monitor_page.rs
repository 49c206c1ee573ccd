//! The page about `cn=monitor` against what the server shows: every attribute is there, and nothing that is not.

use std::collections::{BTreeMap, BTreeSet};

use super::over_directory::Real;
use super::*;
use crate::metrics::OperationKind;

const PAGE: &str = include_str!("../../../../docs/monitoring.md");

/// What entries have as entries.
const OF_EVERY_ENTRY: [&str; 7] = [
    "objectClass",
    "cn",
    "entryDN",
    "hasSubordinates",
    "numSubordinates",
    "subschemaSubentry",
    "structuralObjectClass",
];

/// What an entry of the monitor is about that is there only where tokens are taken.
const TOKENS: &str = "[sasl-mechanism-handler.OAUTHBEARER]\ntype = \"oauthbearer\"\ntoken-issuer = \"i\"\n\
                      token-audience = \"a\"\nuser-name-claim = \"sub\"\nkey-set-file = \"issuer.jwks\"\n";
const KEY_SET: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

type Shown = BTreeMap<String, BTreeSet<String>>;

/// The page's tables: entry, attributes; without those that are there only at times.
fn page() -> (Shown, BTreeSet<String>) {
    let (mut shown, mut at_times, mut entry) = (Shown::new(), BTreeSet::new(), None);
    for line in PAGE.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            entry = heading.strip_prefix("cn=").map(str::to_owned);
        }
        let (Some(entry), Some(cell)) = (&entry, line.strip_prefix("| `")) else { continue };
        let (cell, meaning) = cell.split_once(" | ").expect("two columns");
        for name in cell.split(", ").map(|name| name.trim_matches('`').to_owned()) {
            if meaning.contains("(only ") {
                at_times.insert(name.clone());
            }
            assert!(shown.entry(entry.clone()).or_default().insert(name.clone()), "{entry}: {name} stands there twice");
        }
    }
    (shown, at_times)
}

/// Names as the page has them, for whatever backend, listener and kind of operation.
fn general(entry: &str, attribute: &str) -> (String, String) {
    let entry = match entry {
        "" => "monitor".to_owned(),
        name if name.starts_with("Log Publisher ") => "Log Publisher NAME".to_owned(),
        name if name.contains(" Connection Handler ") => "PROTOCOL Connection Handler ADDRESS".to_owned(),
        name => name.replace("userRoot ", "ID "),
    };
    for kind in OperationKind::ALL.map(OperationKind::monitor_name) {
        for (before, after) in [
            ("ds-mon-", "-operations-"),
            ("ds-mon-resident-time-", "-operations-"),
            ("", "Requests"),
            ("", "Responses"),
        ] {
            let rest = attribute.strip_prefix(before).and_then(|rest| rest.strip_prefix(kind));
            if let Some(rest) = rest.filter(|rest| rest.starts_with(after)) {
                return (entry, format!("{before}KIND{rest}"));
            }
        }
    }
    (entry, attribute.to_owned())
}

#[test]
fn the_page_lists_every_attribute_of_the_monitor_and_no_other() {
    let real = Real::configured(TOKENS, &[("issuer.jwks", KEY_SET)]);
    let mut client = real.filled();
    client.send(&search_for(9, "cn=monitor", &["*", "+"]));
    let mut served = Shown::new();
    loop {
        let response = client.expect();
        if response.tag != encode::tags::SEARCH_ENTRY {
            assert_eq!(response.code, 0);
            break;
        }
        let (dn, lines) = (String::from_utf8_lossy(&response.rest[0]).into_owned(), entry_lines(&response));
        let name = dn.strip_suffix("cn=monitor").unwrap().trim_end_matches(',').trim_start_matches("cn=").to_owned();
        let names = lines.iter().filter_map(|line| Some(line.split_once(": ")?.0));
        for attribute in names.filter(|name| !OF_EVERY_ENTRY.contains(name)) {
            let (entry, attribute) = general(&name, attribute);
            served.entry(entry).or_default().insert(attribute);
        }
    }
    let (page, at_times) = page();
    for (entry, attributes) in &served {
        let described = page.get(entry).unwrap_or_else(|| panic!("docs/monitoring.md has no table for cn={entry}"));
        let missing: Vec<_> = attributes.difference(described).collect();
        assert!(missing.is_empty(), "docs/monitoring.md does not tell of {missing:?} in cn={entry}");
    }
    for (entry, described) in &page {
        let own = served.get(entry).unwrap_or_else(|| panic!("there is no cn={entry} in the monitor"));
        let gone: Vec<_> = described.difference(own).filter(|name| !at_times.contains(*name)).collect();
        assert!(gone.is_empty(), "docs/monitoring.md tells of {gone:?} in cn={entry}, which has only {own:?}");
    }
}
