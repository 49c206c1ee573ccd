//! Criteria against their description: what an operation is, all at once, is asked of each property one by one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use config::{AccessLogFilter, AddressMask, FilteringPolicy, LogCriteria, LogRecordType};
use directory::Identity;
use proptest::prelude::*;
use schema::Schema;

use super::criteria::*;
use super::event::{EndPoint, Origin, ResultFields};
use super::matched::Matched;
use crate::metrics::OperationKind;

const NAMES: [&str; 4] =
    ["uid=ann,ou=people,dc=example,dc=com", "uid=ben,ou=people,dc=example,dc=com", "dc=example", ""];
const PATTERNS: [&str; 4] = ["uid=*,ou=people,dc=example,dc=com", "**,dc=com", "uid=ann,**", "dc=example"];
const GROUPS: [&str; 2] = ["cn=a,dc=example,dc=com", "cn=b,dc=example,dc=com"];
const ADDRESSES: [&str; 3] = ["192.0.2.1", "192.0.2.77", "2001:db8::1"];
const MASKS: [&str; 3] = ["192.0.2.0/24", "192.0.2.1", "2001:db8::/32"];
const KINDS: [OperationKind; 4] =
    [OperationKind::Search, OperationKind::Modify, OperationKind::Bind, OperationKind::Abandon];

const POLICIES: [FilteringPolicy; 3] =
    [FilteringPolicy::Inclusive, FilteringPolicy::Exclusive, FilteringPolicy::NoFiltering];

/// Ann is in the first group, Ben in both.
struct Members;

impl Groups for Members {
    fn is_in_group(&self, identity: &Identity, group: &str) -> bool {
        match identity.dn() {
            "uid=ann,ou=people,dc=example,dc=com" => group == GROUPS[0],
            "uid=ben,ou=people,dc=example,dc=com" => true,
            _ => false,
        }
    }
}

/// Which names a pattern matches, as the documentation of OpenDJ has it.
fn is_matched(pattern: &str, name: &str) -> bool {
    let is_person = name.starts_with("uid=");
    match pattern {
        "uid=*,ou=people,dc=example,dc=com" | "**,dc=com" => is_person,
        "uid=ann,**" => name.starts_with("uid=ann"),
        other => other == name,
    }
}

#[derive(Debug, Clone)]
struct Operation {
    kind: usize,
    address: usize,
    port: u16,
    user: usize,
    target: usize,
    code: i32,
    etime_ms: u64,
    entries: u64,
    is_unindexed: bool,
}

fn operations() -> impl Strategy<Value = Operation> {
    (0..4usize, 0..3usize, 1..3u16, 0..4usize, 0..4usize, (0..3i32, 0..4u64, 0..4u64, any::<bool>())).prop_map(
        |(kind, address, port, user, target, (code, etime_ms, entries, is_unindexed))| Operation {
            kind,
            address,
            port,
            user,
            target,
            code,
            etime_ms,
            entries,
            is_unindexed,
        },
    )
}

fn some(texts: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let few = proptest::sample::subsequence(texts, 0..=1);
    let none = Just(Vec::new());
    prop_oneof![3 => none, 1 => few].prop_map(|texts| texts.into_iter().map(str::to_owned).collect())
}

fn masks() -> impl Strategy<Value = Vec<AddressMask>> {
    some(&MASKS).prop_map(|texts| texts.iter().map(|text| AddressMask::parse(text).unwrap()).collect())
}

fn criteria() -> impl Strategy<Value = LogCriteria> {
    let words = ["search", "modify", "bind", "abandon"];
    let types = prop_oneof![2 => Just(Vec::new()), 1 => proptest::sample::subsequence(words.to_vec(), 1..=2)];
    let types = types
        .prop_map(|words| -> BTreeSet<_> { words.iter().filter_map(|word| LogRecordType::from_word(word)).collect() });
    let numbers = || proptest::option::weighted(0.2, 0..4u64);
    let codes = || prop_oneof![4 => Just(Vec::new()), 1 => proptest::collection::vec(0..3i32, 1..=2)];
    let ports = prop_oneof![3 => Just(Vec::new()), 1 => Just(vec![1u16])];
    let connection = (masks(), masks(), ports, some(&["ldap", "ldaps"]));
    let names = (some(&PATTERNS), some(&PATTERNS), some(&GROUPS), some(&GROUPS), some(&PATTERNS), some(&PATTERNS));
    let response =
        (codes(), codes(), numbers(), numbers(), numbers(), numbers(), proptest::option::weighted(0.2, any::<bool>()));
    (types, connection, names, response).prop_map(|(record_types, connection, names, response)| {
        let (client_addresses, other_client_addresses, ports, protocols) = connection;
        let (users, other_users, groups, other_groups, targets, other_targets) = names;
        let (
            result_codes,
            other_result_codes,
            etime_above_ms,
            etime_below_ms,
            entries_above,
            entries_below,
            is_indexed,
        ) = response;
        LogCriteria {
            name: "a".into(),
            record_types,
            client_addresses,
            other_client_addresses,
            protocols,
            ports,
            users,
            other_users,
            groups,
            other_groups,
            targets,
            other_targets,
            result_codes,
            other_result_codes,
            etime_above_ms,
            etime_below_ms,
            entries_above,
            entries_below,
            is_indexed,
        }
    })
}

fn identity(user: usize) -> Identity {
    match NAMES[user] {
        "" => Identity::Anonymous,
        // That it has no entry makes no difference here.
        name => Identity::Root { dn: name.into() },
    }
}

/// Every property of the criteria, one sentence each. The request's part, then the answer's.
fn is_described(it: &LogCriteria, operation: &Operation) -> (bool, bool) {
    let (kind, user) = (KINDS[operation.kind], NAMES[operation.user]);
    let address = ADDRESSES[operation.address].parse().unwrap();
    let any_pattern = |patterns: &[String], name: &str| patterns.iter().any(|pattern| is_matched(pattern, name));
    let is_in = |groups: &[String]| groups.iter().any(|group| Members.is_in_group(&identity(operation.user), group));
    let has_user = !user.is_empty();
    let has_target = kind != OperationKind::Abandon;
    let target = NAMES[operation.target];
    let request = [
        it.record_types.is_empty() || it.record_types.contains(&record_of(kind)),
        it.client_addresses.is_empty() || it.client_addresses.iter().any(|mask| mask.contains(address)),
        !it.other_client_addresses.iter().any(|mask| mask.contains(address)),
        it.ports.is_empty() || it.ports.contains(&operation.port),
        it.protocols.is_empty() || it.protocols.iter().any(|word| word == "ldap"),
        it.users.is_empty() || (has_user && any_pattern(&it.users, user)),
        !(has_user && any_pattern(&it.other_users, user)),
        it.groups.is_empty() || is_in(&it.groups),
        !is_in(&it.other_groups),
        !has_target || it.targets.is_empty() || any_pattern(&it.targets, target),
        !has_target || !any_pattern(&it.other_targets, target),
    ];
    let is_search = kind == OperationKind::Search;
    let response = [
        it.result_codes.is_empty() || it.result_codes.contains(&operation.code),
        !it.other_result_codes.contains(&operation.code),
        it.etime_above_ms.is_none_or(|limit| operation.etime_ms > limit),
        it.etime_below_ms.is_none_or(|limit| operation.etime_ms < limit),
        !is_search || it.entries_above.is_none_or(|limit| operation.entries > limit),
        !is_search || it.entries_below.is_none_or(|limit| operation.entries < limit),
        !is_search || it.is_indexed.is_none_or(|is_indexed| operation.is_unindexed != is_indexed),
    ];
    (request.iter().all(|holds| *holds), response.iter().all(|holds| *holds))
}

proptest! {
    #[test]
    fn a_log_has_what_its_criteria_describe(
        criteria in proptest::collection::vec(criteria(), 0..4),
        policy in proptest::sample::select(POLICIES.to_vec()),
        operations in proptest::collection::vec(operations(), 1..20),
    ) {
        static SCHEMA: std::sync::LazyLock<Arc<Schema>> = std::sync::LazyLock::new(Schema::standard);
        let config = AccessLogFilter { policy, suppress_internal: false, criteria: criteria.clone() };
        let filter = Filter::new(&config, &SCHEMA);
        // Its criteria come after those of other logs.
        let first = 63;
        for operation in operations {
            let from = std::net::SocketAddr::new(ADDRESSES[operation.address].parse().unwrap(), 5000);
            let to = std::net::SocketAddr::new("192.0.2.200".parse().unwrap(), operation.port);
            let origin =
                Origin { connection: 1, from: EndPoint::Address(from), to: EndPoint::Address(to), protocol: "LDAP" };
            let (kind, user) = (KINDS[operation.kind], identity(operation.user));
            let has_target = kind != OperationKind::Abandon;
            let asked = Asked {
                record: record_of(kind),
                origin: &origin,
                user: Some(&user),
                target: has_target.then_some(NAMES[operation.target].as_bytes()),
                groups: &Members,
            };
            let mut matched = Matched::none_of(1, first + filter.count());
            let may_be_wanted = filter.judge(&asked, first, &mut matched);
            let result = ResultFields {
                code: operation.code,
                elapsed: Duration::from_millis(operation.etime_ms) + Duration::from_micros(999),
                entries: Some(operation.entries),
                is_unindexed: operation.is_unindexed,
                ..ResultFields::default()
            };
            let described: Vec<(bool, bool)> = criteria.iter().map(|it| is_described(it, &operation)).collect();
            let any_request = described.iter().any(|(request, _)| *request);
            let any = described.iter().any(|(request, response)| *request && *response);
            let [has_request, has_response] = match policy {
                FilteringPolicy::NoFiltering => [true, true],
                FilteringPolicy::Inclusive => [any_request, any],
                FilteringPolicy::Exclusive => [!any_request, !any],
            };
            prop_assert_eq!(filter.has_request(first, &matched), has_request);
            prop_assert_eq!(filter.has_response(kind, &result, first, &matched), has_response);
            // What is not kept is never wanted.
            prop_assert!(may_be_wanted || !(has_request || has_response));
        }
    }
}
