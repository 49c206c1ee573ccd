//! Random operations, folds, crashes, failures of the disk and reopenings: store and model must always agree.

use proptest::prelude::*;

use super::harness::{NAMES, Op, Store};
use super::model::Model;
use crate::log::sim::Faults;
use crate::{Outcome, StoreError};

#[derive(Clone, Debug)]
enum Step {
    Batch(Vec<Op>),
    Fold,
    /// Freeze and go on while the fold runs.
    FoldBeside(Vec<Op>),
    Crash,
    Reopen,
    FailSync(Vec<Op>),
    /// Say which former indexes have no rows any more.
    Forget,
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-cA-C]{1,6}",
        1 => "[xyz]{250,300}",
        1 => Just("z".repeat(700)),
    ]
}

/// Some with several times, which the database keeps in another form.
fn values() -> impl Strategy<Value = Vec<(String, String)>> {
    let word = (prop_oneof![Just("cn".to_owned()), Just("sn;lang-en".to_owned())], value());
    let time = (0u32..1_000).prop_map(|ms| ("failed".to_owned(), format!("20260101000000.{ms:03}Z")));
    let one = prop_oneof![2 => word, 1 => time];
    proptest::collection::btree_set(one, 0..6).prop_map(|set| set.into_iter().collect())
}

fn op() -> impl Strategy<Value = Op> {
    let id = || 1u64..40;
    let plain = prop_oneof![
        8 => (prop_oneof![2 => Just(0u64), 1 => id()], "[a-d]{1,2}", values())
            .prop_map(|(parent, name, values)| Op::Add { parent, name, values }),
        4 => (id(), values()).prop_map(|(id, values)| Op::Modify { id, values }),
        3 => id().prop_map(|id| Op::Delete { id }),
        2 => (id(), Just(0u64), "[a-d]{1,3}").prop_map(|(id, parent, name)| Op::Move { id, parent, name }),
        4 => (id(), member()).prop_map(|(id, member)| Op::AddMember { id, member }),
        2 => (id(), member()).prop_map(|(id, member)| Op::RemoveMember { id, member }),
        2 => (names(), names()).prop_map(|(names, anew)| Op::SetIndexes { names, anew }),
        6 => (1u64..30).prop_map(|work| Op::Build { work }),
        1 => ("[a-c]", proptest::option::of("[a-z]{0,3}")).prop_map(|(key, value)| Op::SetMeta { key, value }),
    ];
    (plain, 0u8..12).prop_map(|(op, kind)| match kind {
        0 => Op::Refuse(Box::new(op)),
        1 => Op::Panic(Box::new(op)),
        _ => op,
    })
}

fn names() -> impl Strategy<Value = Vec<String>> {
    proptest::sample::subsequence(NAMES.map(|(_, name)| name.to_owned()).to_vec(), 0..=NAMES.len())
}

fn member() -> impl Strategy<Value = String> {
    prop_oneof![6 => "[a-f]{1,2}", 1 => Just("q".repeat(4_000)), 1 => "[rs]{300,310}"]
}

fn step() -> impl Strategy<Value = Step> {
    let batch = || proptest::collection::vec(op(), 1..12);
    prop_oneof![
        6 => batch().prop_map(Step::Batch),
        2 => Just(Step::Fold),
        2 => batch().prop_map(Step::FoldBeside),
        1 => Just(Step::Crash),
        1 => Just(Step::Reopen),
        1 => batch().prop_map(Step::FailSync),
        1 => Just(Step::Forget),
    ]
}

/// Takes a few seconds; `PROPTEST_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(40)
}

/// The parents named by random adds may not exist; the model takes any, as the store does.
fn check(model: &mut Model, ops: &[Op], results: Vec<Result<Outcome, StoreError>>) {
    for (op, result) in ops.iter().zip(results) {
        let accepted = match (op, result) {
            (Op::Panic(_), result) => {
                assert_eq!(result, Err(StoreError::Panicked));
                false
            }
            (_, result) => result.unwrap().accepted,
        };
        assert_eq!(model.apply(op), accepted, "{op:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 400, ..ProptestConfig::default() })]
    #[test]
    fn store_and_model_agree(steps in proptest::collection::vec(step(), 1..25), seed: u64) {
        let mut state = seed | 1;
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below.max(1)
        };
        let mut store = Store::new();
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Batch(ops) => {
                    let results = store.submit_all(&ops);
                    check(&mut model, &ops, results);
                }
                Step::Fold => store.fold(),
                Step::FoldBeside(ops) => {
                    store.backend().fold_soon();
                    let results = store.submit_all(&ops);
                    check(&mut model, &ops, results);
                }
                Step::Crash => {
                    store.crash(&mut random);
                    store.open().unwrap();
                }
                Step::Reopen => {
                    store.close();
                    store.open().unwrap();
                    prop_assert_eq!(store.backend().stats().replayed, 0);
                }
                Step::FailSync(ops) => {
                    store.disk.set_faults(Faults { failing_syncs: 1, ..Faults::default() });
                    fail_some(&mut store, &mut model, &ops);
                    store.disk.set_faults(Faults::default());
                }
                Step::Forget => {
                    let snapshot = store.backend().snapshot().unwrap();
                    let retired = snapshot.indexes().states().retired();
                    let numbers = retired.filter(|id| snapshot.view().is_blank(*id).unwrap()).map(|id| id.0).collect();
                    assert!(store.submit(&Op::Forget { numbers }).unwrap().accepted);
                }
            }
            model.compare(&store.backend().snapshot().unwrap());
        }
        finish_indexes(&mut store);
        model.compare(&store.backend().snapshot().unwrap());
        store.close();
        store.open().unwrap();
        model.compare(&store.backend().snapshot().unwrap());
    }
}

/// Builds all indexes and removes former ones: building always ends, and no row of a former index is left.
fn finish_indexes(store: &mut Store) {
    for _ in 0..10_000 {
        let indexes = store.backend().indexes();
        if indexes.states().iter().all(|(_, state)| state.is_trusted()) {
            store.fold();
            let snapshot = store.backend().snapshot().unwrap();
            for id in indexes.states().retired() {
                assert!(snapshot.view().is_blank(id).unwrap());
            }
            return;
        }
        assert!(store.submit(&Op::Build { work: 7 }).unwrap().accepted);
    }
    panic!("a builder that does not come to its end");
}

/// Exactly the proposals that were answered without error took place.
fn fail_some(store: &mut Store, model: &mut Model, ops: &[Op]) {
    for op in ops {
        match store.submit(op) {
            Ok(outcome) => assert_eq!(model.apply(op), outcome.accepted, "{op:?}"),
            Err(StoreError::Io { .. } | StoreError::Panicked) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
