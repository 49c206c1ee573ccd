//! The sorter against a `BTreeMap`.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// The keys of one entry, by slot.
type Row = Vec<(usize, Vec<u8>)>;
type Model = Vec<BTreeMap<Vec<u8>, BTreeSet<u64>>>;

/// Batches of rows of (slot, key); few letters, so that keys repeat, share prefixes and hold zero bytes.
fn batches() -> impl Strategy<Value = Vec<Vec<Row>>> {
    let byte = prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(255)];
    let key = prop_oneof![
        4 => prop::collection::vec(byte.clone(), 0..8),
        2 => prop::collection::vec(byte, 6..20),
        1 => prop::collection::vec(Just(b'x'), 250..256),
    ];
    let row = prop::collection::vec((0usize..3, key), 0..6);
    prop::collection::vec(prop::collection::vec(row, 1..20), 0..12)
}

fn collect(sorted: &Sorted) -> Vec<Vec<(Vec<u8>, Vec<u64>)>> {
    (0..3)
        .map(|slot| {
            let mut merge = sorted.merge(Slot(slot)).unwrap();
            let mut out = Vec::new();
            while let Some(count) = merge.next().unwrap() {
                let key = merge.key().to_vec();
                let mut ids = Vec::new();
                merge
                    .ids::<SortError>(|id| {
                        ids.push(id);
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(ids.len() as u64, count);
                out.push((key, ids));
            }
            out
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn sorts_as_a_btreemap_does(
        batches in batches(),
        spills in prop::collection::vec(any::<bool>(), 12),
        threads in 1usize..4,
        gap in 0u64..5,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(directory.path(), 3, 0, threads).unwrap();
        let mut model: Model = vec![BTreeMap::new(); 3];
        let mut next_id = 1u64;
        for (batch, spill) in batches.iter().zip(spills) {
            let mut keys = KeyBatch::new(3);
            for (row, pushed) in batch.iter().enumerate() {
                for (slot, key) in pushed {
                    keys.push(Slot(*slot), key, row as u32).unwrap();
                    model[*slot].entry(key.clone()).or_default().insert(next_id + row as u64);
                }
            }
            sorter.append(&keys, next_id, batch.len() as u32).unwrap();
            next_id += batch.len() as u64 + gap;
            if spill {
                sorter.spill().unwrap();
            }
        }
        let sorted = sorter.finish().unwrap();
        let expected: Vec<Vec<(Vec<u8>, Vec<u64>)>> =
            model.into_iter().map(|slot| slot.into_iter().map(|(key, ids)| (key, ids.into_iter().collect())).collect())
                .collect();
        prop_assert_eq!(collect(&sorted), expected);
    }
}

#[test]
fn spills_when_the_budget_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::new(directory.path(), 1, 0, 2).unwrap();
    for first_id in (1..=40_000u64).step_by(1000) {
        let mut keys = KeyBatch::new(1);
        for row in 0..1000 {
            keys.push(Slot(0), &(first_id + u64::from(row)).to_be_bytes()[2..], row).unwrap();
        }
        sorter.append(&keys, first_id, 1000).unwrap();
        assert!(sorter.bytes_used() <= BUDGET_BYTES_MIN + 40_000);
    }
    let sorted = sorter.finish().unwrap();
    assert!(sorted.runs() > 10);
    let mut merge = sorted.merge(Slot(0)).unwrap();
    for id in 1..=40_000u64 {
        assert_eq!(merge.next().unwrap(), Some(1), "keys not read are skipped");
        assert_eq!(merge.key(), &id.to_be_bytes()[2..]);
    }
    assert_eq!(merge.next().unwrap(), None);
}

#[test]
fn refuses_what_would_break_the_order() {
    let directory = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::new(directory.path(), 1, 0, 1).unwrap();
    let mut keys = KeyBatch::new(1);
    keys.push(Slot(0), b"a", 0).unwrap();
    sorter.append(&keys, 5, 2).unwrap();
    assert!(matches!(sorter.append(&keys, 6, 1), Err(SortError::IdsDescend { first_id: 6, last_id: 6 })));
    assert!(matches!(keys.push(Slot(0), &[0; 256], 1), Err(SortError::KeyTooLong { length: 256 })));
    assert!(matches!(keys.push(Slot(1), b"", 1), Err(SortError::UnknownSlot { slot: Slot(1) })));
    assert!(matches!(sorter.finish().unwrap().merge(Slot(1)), Err(SortError::UnknownSlot { slot: Slot(1) })));
}
