//! Records with several times: small in the database, the same when they are read.

use std::borrow::Cow;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::EntryId;
use crate::tables::{Interner, NoTypes, Tables};

const PERSON: [(&str, &str); 4] = [
    ("createTimestamp", "20240102030405Z"),
    ("cn", "Maria Meier"),
    ("userPassword", "{SSHA}AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
    ("pwdChangedTime", "20250102030405.678Z"),
];

fn record(tables: &mut Tables, attributes: &[(&str, Vec<Vec<u8>>)]) -> Vec<u8> {
    let mut builder = RecordBuilder::new(EntryId(70_000), b"uid=user.1");
    for (name, values) in attributes {
        let desc = Interner::description(tables, name).unwrap();
        builder.push(desc, values.iter().map(|value| &value[..]), tables).unwrap();
    }
    builder.finish().unwrap()
}

fn texts(values: &[&str]) -> Vec<Vec<u8>> {
    values.iter().map(|value| value.as_bytes().to_vec()).collect()
}

/// What the state of an account takes in the database beside the rest of its entry.
fn bytes_of_state(tables: &mut Tables, state: &[(&str, &[&str])]) -> usize {
    let mut attributes: Vec<(&str, Vec<Vec<u8>>)> = PERSON.map(|(name, value)| (name, texts(&[value]))).to_vec();
    let without = packed(&record(tables, &attributes)).len();
    attributes.extend(state.iter().map(|(name, values)| (*name, texts(values))));
    let bytes = record(tables, &attributes);
    let stored = packed(&bytes);
    assert_eq!(unpacked(stored.clone()), bytes);
    stored.len().saturating_sub(without)
}

#[test]
fn a_locked_account_takes_32_bytes_at_most() {
    let mut tables = Tables::new(Arc::new(NoTypes));
    // Numbers of two bytes, as in a directory of many attributes.
    for n in 0..200 {
        Interner::description(&mut tables, &format!("x-{n}")).unwrap();
    }
    let mut check = |days_and_times: [&str; 5], lock: usize, is_lock_first: bool| {
        let times = days_and_times.map(|at| format!("2026{at}Z"));
        let times = times.each_ref().map(String::as_str);
        let failed = ("pwdFailureTime", &times[..]);
        let locked = ("pwdAccountLockedTime", &times[lock..=lock]);
        let state = if is_lock_first { [locked, failed] } else { [failed, locked] };
        let bytes = bytes_of_state(&mut tables, &state);
        assert!(bytes <= 32, "{bytes} bytes of {state:?}");
    };
    for (lock, is_lock_first) in [(4, false), (4, true), (0, false), (0, true)] {
        check(
            ["0101000000.100", "0101000000.201", "0101000000.311", "0101000000.425", "0101000000.999"],
            lock,
            is_lock_first,
        );
        // In a quarter of an hour.
        check(
            ["1231234000.000", "1231234345.001", "1231234730.002", "1231235115.003", "1231235459.999"],
            lock,
            is_lock_first,
        );
    }
    // In a day, each some hours after the one before.
    check(["0101000000.100", "0101055000.201", "0101114000.311", "0101173000.425", "0101235959.999"], 4, false);
}

#[test]
fn single_times_and_what_cannot_be_restored_stay_as_they_are() {
    let mut tables = Tables::new(Arc::new(NoTypes));
    let mut is_plain = |name: &str, values: &[&str]| {
        let mut attributes: Vec<(&str, Vec<Vec<u8>>)> = PERSON.map(|(name, value)| (name, texts(&[value]))).to_vec();
        attributes.push((name, texts(values)));
        matches!(packed(&record(&mut tables, &attributes)), Cow::Borrowed(_))
    };
    assert!(is_plain("pwdAccountLockedTime", &["20260101000000.100Z"]));
    assert!(is_plain("pwdAccountLockedTime", &["000001010000Z"]));
    assert!(is_plain("pwdFailureTime", &["20260101000000.100Z", "20260101000000Z"]));
    assert!(is_plain("pwdFailureTime", &["20260101000000,100Z", "20260101000001,100Z"]));
    assert!(is_plain("pwdFailureTime", &["20260101000060Z", "20260101000061Z"]));
    assert!(is_plain("pwdFailureTime", &["00000101000000Z", "00000101000001Z"]));
    assert!(!is_plain("pwdFailureTime", &["20260101000000.100Z", "20260101000000.100Z"]));
    assert!(!is_plain("pwdGraceUseTime", &["20260101000000Z", "19700101000000Z"]));
}

#[test]
fn the_lock_that_does_not_end_stays_text_beside_packed_failures() {
    let mut tables = Tables::new(Arc::new(NoTypes));
    let failures = texts(&["20260101000000.100Z", "20260101000001.100Z", "20260101000002.100Z"]);
    let attributes = [("pwdAccountLockedTime", texts(&["000001010000Z"])), ("pwdFailureTime", failures)];
    let bytes = record(&mut tables, &attributes);
    let stored = packed(&bytes);
    assert!(stored.len() + 45 < bytes.len(), "{} and {} bytes", stored.len(), bytes.len());
    assert!(stored.windows(13).any(|window| window == b"000001010000Z"));
    assert_eq!(unpacked(stored.clone()), bytes);
}

fn time() -> impl Strategy<Value = Vec<u8>> {
    let text = |ms: u64, has_ms: bool| {
        let mut text = Vec::new();
        Timestamp::of_ms(ms, has_ms).unwrap().write(&mut text);
        text
    };
    prop_oneof![
        12 => (1_760_000_000_000u64..1_790_000_000_000).prop_map(move |ms| text(ms, true)),
        6 => (1_760_000_000u64..1_790_000_000).prop_map(move |seconds| text(seconds * 1_000, false)),
        1 => (0u64..253_402_300_800_000).prop_map(move |ms| text(ms, true)),
        1 => Just(b"000001010000Z".to_vec()),
        1 => Just(b"20260101000060Z".to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 15),
        1 => proptest::collection::vec(any::<u8>(), 0..200),
    ]
}

fn random_record() -> impl Strategy<Value = Vec<u8>> {
    let values = prop_oneof![
        // Mostly all of one form, so that they are packed.
        3 => proptest::collection::vec(1_760_000_000_000u64..1_790_000_000_000, 1..12).prop_map(|all| {
            let text = |ms| {
                let mut text = Vec::new();
                Timestamp { ms, has_ms: true }.write(&mut text);
                text
            };
            all.into_iter().map(text).collect()
        }),
        2 => proptest::collection::vec(time(), 0..4),
    ];
    let names = prop_oneof![3 => "[a-z]{1,8}", 1 => Just("modifyTimestamp".to_owned())];
    let large = proptest::option::of((1u64..9, 0u64..3));
    (proptest::collection::btree_map(names, values, 0..8), large).prop_map(|(map, large)| {
        let mut tables = Tables::new(Arc::new(NoTypes));
        let mut builder = RecordBuilder::new(EntryId(7), b"uid=user.7");
        for (name, values) in &map {
            let desc = Interner::description(&mut tables, name).unwrap();
            builder.push(desc, values.iter().map(|value: &Vec<u8>| &value[..]), &mut tables).unwrap();
        }
        // Its sum of bytes may be as small as the mark of packed times.
        if let Some((count, bytes)) = large {
            let desc = Interner::description(&mut tables, "member;x-large").unwrap();
            builder.push_large(desc, LargeStub { count, bytes }).unwrap();
        }
        builder.finish().unwrap()
    })
}

/// Reads all of it.
fn read_damaged(bytes: &[u8], tables: &Tables) -> bool {
    let restored = unpacked(Cow::Borrowed(bytes));
    let Ok(view) = RecordView::parse(&restored, tables) else { return false };
    view.for_each(&mut Vec::new(), |attribute| {
        if let Content::Inline(values) = attribute.content {
            let _ = values.iter().count();
        }
    });
    view.check().is_ok()
}

proptest! {
    #[test]
    fn invariants_1_and_2_packed_records_come_back(bytes in random_record()) {
        let stored = packed(&bytes);
        prop_assert!(stored.len() <= bytes.len());
        prop_assert_eq!(unpacked(stored).into_owned(), bytes);
    }

    #[test]
    fn damage_of_packed_records_never_panics(bytes in random_record(), at: prop::sample::Index, to: u8) {
        let tables = Tables::new(Arc::new(NoTypes));
        let mut stored = packed(&bytes).into_owned();
        let at = at.index(stored.len());
        stored[at] = to;
        read_damaged(&stored, &tables);
    }

    #[test]
    fn any_bytes_are_no_reason_to_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        bytes.splice(0..0, [2]);
        read_damaged(&bytes, &Tables::new(Arc::new(NoTypes)));
    }
}

#[test]
fn damage_is_found() {
    let mut tables = Tables::new(Arc::new(NoTypes));
    let times: Vec<String> = (0..5).map(|n| format!("2026010100000{n}.100Z")).collect();
    let values = times.iter().map(|time| time.as_bytes().to_vec()).collect();
    let attributes = [("cn", texts(&["Maria"])), ("pwdFailureTime", values)];
    let bytes = record(&mut tables, &attributes);
    let stored = packed(&bytes).into_owned();
    assert!(read_damaged(&stored, &tables));
    let flipped = |at: usize, to: u8| {
        let mut stored = stored.clone();
        stored[at] = to;
        read_damaged(&stored, &tables)
    };
    // Where the form of the times is; before it their number.
    let form = stored.iter().rposition(|byte| *byte == 1).unwrap();
    assert_eq!(stored[form - 1], 5);
    assert!(!flipped(0, 3) && !flipped(0, 1));
    assert!(!flipped(form - 1, 4) && !flipped(form - 1, 6) && !flipped(form - 1, 255));
    assert!(!flipped(form, 7) && !flipped(form, 255));
    for cut in form - 1..stored.len() {
        assert!(!read_damaged(&stored[..cut], &tables), "nothing says that {cut} bytes are too few");
    }
}
