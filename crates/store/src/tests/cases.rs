//! Single cases.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::harness::{EQUALITY, Op, Store, TestRules, WINDOWS};
use super::model::Model;
use crate::log::sim::{Faults, SimDisk};
use crate::posting::{IndexKey, List};
use crate::view::DEPTH_MAX;
use crate::{Backend, BackendOptions, EntryId, IndexId, LogRepair, ReadOnlyBackend, StopCause, StoreError, repair_log};

fn add(name: &str, values: &[&str]) -> Op {
    let values = values.iter().map(|value| ("cn".to_owned(), (*value).to_owned())).collect();
    Op::Add { parent: 0, name: name.to_owned(), values }
}

fn run(store: &mut Store, model: &mut Model, ops: &[Op]) {
    for (op, result) in ops.iter().zip(store.submit_all(ops)) {
        assert_eq!(result.unwrap().accepted, model.apply(op));
    }
    model.compare(&store.backend().snapshot().unwrap());
}

fn many(count: u64) -> Vec<Op> {
    (0..count).map(|i| add(&format!("user.{i}"), &["common", &format!("value {}", i * 7919 % 1000)])).collect()
}

#[test]
fn lists_are_promoted_to_chunks_and_demoted_again() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(700));
    store.fold();
    model.compare(&store.backend().snapshot().unwrap());
    let common = IndexKey::new(EQUALITY, b"common");
    let form = |store: &Store| {
        let snapshot = store.backend().snapshot().unwrap();
        let postings = snapshot.postings(&common).unwrap();
        match postings.base() {
            Some(List::Long { count, .. }) => ("long", count),
            Some(List::Inline(ids)) => ("inline", ids.count()),
            None => ("none", 0),
        }
    };
    assert_eq!(form(&store), ("long", 700));
    run(&mut store, &mut model, &(1..=650).map(|id| Op::Delete { id }).collect::<Vec<_>>());
    store.fold();
    model.compare(&store.backend().snapshot().unwrap());
    assert_eq!(form(&store), ("inline", 50));
    run(&mut store, &mut model, &(651..=700).map(|id| Op::Delete { id }).collect::<Vec<_>>());
    store.fold();
    assert_eq!(form(&store), ("none", 0));
    let snapshot = store.backend().snapshot().unwrap();
    let (dbs, txn) = snapshot.base();
    assert_eq!(
        (dbs.chunks.len(txn).unwrap(), dbs.postings.len(txn).unwrap(), dbs.entries.len(txn).unwrap()),
        (0, 0, 0)
    );
}

#[test]
fn blocks_split_and_stay_within_a_quarter_page() {
    let (mut store, mut model) = (Store::new(), Model::new());
    for part in many(900).chunks(150) {
        run(&mut store, &mut model, part);
        store.fold();
    }
    model.compare(&store.backend().snapshot().unwrap());
    let snapshot = store.backend().snapshot().unwrap();
    let (dbs, txn) = snapshot.base();
    let mut rows = 0;
    for row in dbs.postings.iter(txn).unwrap() {
        let (key, data) = row.unwrap();
        assert!(key.len() + data.len() <= crate::posting::ROW_BYTES_MAX);
        rows += 1;
    }
    assert!(rows > 20, "{rows} rows");
}

#[test]
fn what_is_made_and_unmade_in_one_overlay_is_not_folded() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(20));
    run(&mut store, &mut model, &(1..=20).map(|id| Op::Delete { id }).collect::<Vec<_>>());
    let bytes = store.backend().stats().overlay_bytes;
    assert!(bytes < 2_000, "only the tables are left, not {bytes} bytes");
    store.fold();
    model.compare(&store.backend().snapshot().unwrap());
}

#[test]
fn a_refused_or_panicking_proposal_leaves_nothing() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(3));
    let before = store.backend().stats();
    let op = Op::Add { parent: 0, name: "new".to_owned(), values: vec![("description".to_owned(), "x".to_owned())] };
    assert!(!store.submit(&Op::Refuse(Box::new(op.clone()))).unwrap().accepted);
    assert_eq!(store.submit(&Op::Panic(Box::new(op))), Err(StoreError::Panicked));
    let after = store.backend().stats();
    assert_eq!(
        (after.overlay_bytes, after.seq, after.overlay_ops),
        (before.overlay_bytes, before.seq, before.overlay_ops)
    );
    let snapshot = store.backend().snapshot().unwrap();
    assert_eq!(snapshot.tables().description_id("description"), None);
    model.compare(&snapshot);
}

#[test]
fn a_read_error_in_apply_stops_updates_and_is_not_a_refusal() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(3));
    let ops = [add("before", &["x"]), Op::Unreadable(Box::new(add("unreadable", &["y"]))), add("after", &["z"])];
    let results = store.submit_all(&ops);
    let reason = StoreError::Damaged("asked for".to_owned());
    let stopped = StoreError::UpdatesStopped { cause: StopCause::Apply, reason: Box::new(reason) };
    assert!(results[0].as_ref().unwrap().accepted);
    assert_eq!(results[1..], [Err(stopped.clone()), Err(stopped.clone())]);
    assert_eq!(store.submit(&add("later", &[])), Err(stopped.clone()));
    assert_eq!(store.backend().updates_stopped(), Some(&stopped));
    assert_eq!(store.backend().stats().updates_stopped, Some(stopped));
    // Reads and folds go on, with exactly what was acknowledged; after another start updates go on too.
    assert!(model.apply(&ops[0]));
    model.compare(&store.backend().snapshot().unwrap());
    store.fold();
    model.compare(&store.backend().snapshot().unwrap());
    store.close();
    store.open().unwrap();
    assert_eq!(store.backend().updates_stopped(), None);
    run(&mut store, &mut model, &[add("later", &["x"])]);
}

#[test]
fn a_read_error_in_a_replay_refuses_to_open() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(3));
    store.crash(&mut |_| 0);
    store.make_unreadable();
    assert_eq!(store.open(), Err(StoreError::Damaged("asked for".to_owned())));
}

/// What the store says when changes of the log are missing.
fn missing(store: &mut Store) -> String {
    match store.open() {
        Err(StoreError::ChangesMissing(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_log_that_is_missing_or_older_is_refused_unless_all_was_folded() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(3));
    let early = store.disk.copy();
    run(&mut store, &mut model, &[add("later", &["x"])]);
    store.fold();
    run(&mut store, &mut model, &[add("latest", &["x"])]);
    store.crash(&mut |_| 0);
    let whole = store.disk.copy();
    // 4 changes are folded. The database cannot know of the fifth, but that the files may have had more.
    store.disk.restore(&SimDisk::default());
    assert!(missing(&mut store).contains("changes after 4 may have been"));
    store.disk.restore(&whole);
    store.open().unwrap();
    model.compare(&store.backend().snapshot().unwrap());
    run(&mut store, &mut model, &[Op::Delete { id: 1 }]);
    store.close();
    store.disk.restore(&early);
    store.open().unwrap();
    model.compare(&store.backend().snapshot().unwrap());
    store.close();
    // All that the log had is in the database of a closed backend.
    store.disk.restore(&SimDisk::default());
    store.open().unwrap();
    model.compare(&store.backend().snapshot().unwrap());
    run(&mut store, &mut model, &[add("last", &["x"])]);
}

#[test]
fn a_new_backend_without_changes_knows_that_its_log_is_gone() {
    let mut store = Store::new();
    store.backend.take().unwrap().crash();
    store.open().unwrap();
    store.submit(&add("first", &[])).unwrap();
    store.crash(&mut |_| 0);
    store.disk.restore(&SimDisk::default());
    assert!(missing(&mut store).contains("changes after 0 may have been"));
}

#[test]
fn what_the_log_lost_can_be_given_up() {
    let (mut store, mut model) = (Store::new(), Model::new());
    store.close();
    let options = |store: &Store| BackendOptions { log_disk: None, ..Store::options(store.folder.path(), &store.disk) };
    let repair = |store: &Store, accepts| repair_log(options(store), store.rules(), accepts).unwrap();
    let open = |store: &mut Store| {
        store.backend = Some(Backend::open(options(store), store.rules())?);
        Ok::<_, StoreError>(())
    };
    open(&mut store).unwrap();
    run(&mut store, &mut model, &many(3));
    let uuid = store.backend().data_uuid();
    let after_three = model.clone();
    run(&mut store, &mut model, &[add("fourth", &["x"])]);
    run(&mut store, &mut model, &[add("fifth", &["x"])]);
    store.backend.take().unwrap().crash();
    assert_eq!(repair(&store, true), LogRepair { last: 5, missing: None, put_aside: None }, "nothing is missing");
    // The fourth change is damaged, in the frame before the last.
    let log = crate::log_path(store.folder.path());
    let damaged = std::fs::read_dir(&log).unwrap().map(|it| it.unwrap().path()).find_map(|path| {
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(6).position(|bytes| bytes == b"fourth")?;
        bytes[at] ^= 1;
        std::fs::write(&path, bytes).ok()
    });
    damaged.unwrap();
    let refused = open(&mut store).unwrap_err();
    assert!(matches!(&refused, StoreError::ChangesMissing(reason) if reason.contains("change 4 ")), "{refused}");
    assert!(refused.to_string().contains("pando repair-log"), "{refused}");
    let looked = repair(&store, false);
    assert!(looked.last == 3 && looked.put_aside.is_none() && looked.missing.unwrap().contains("change 4 "));
    assert!(open(&mut store).is_err(), "nothing was changed");
    let aside = repair(&store, true).put_aside.unwrap();
    assert!(aside.is_dir() && !log.exists());
    open(&mut store).unwrap();
    let mut model = after_three;
    model.compare(&store.backend().snapshot().unwrap());
    assert_ne!(store.backend().data_uuid(), uuid);
    run(&mut store, &mut model, &[add("fourth again", &["x"])]);
    store.backend.take().unwrap().crash();
    open(&mut store).unwrap();
    model.compare(&store.backend().snapshot().unwrap());
}

#[test]
fn writes_fail_clearly_on_a_full_disk_and_resume() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(5));
    store.disk.set_faults(Faults { no_room: true, failing_writes: 1, ..Faults::default() });
    let refused = store.submit(&add("late", &[]));
    assert!(matches!(refused, Err(StoreError::DiskFull { .. })), "{refused:?}");
    assert!(matches!(store.submit(&add("late", &[])), Err(StoreError::DiskFull { .. })));
    model.compare(&store.backend().snapshot().unwrap());
    store.disk.set_faults(Faults::default());
    run(&mut store, &mut model, &[add("late", &["x"])]);
    store.crash(&mut |_| 0);
    store.open().unwrap();
    model.compare(&store.backend().snapshot().unwrap());
}

#[test]
fn an_old_snapshot_keeps_what_it_saw() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(30));
    let (old, old_model) = (store.backend().snapshot().unwrap(), model.clone());
    run(&mut store, &mut model, &[Op::Delete { id: 3 }, add("other", &["common"])]);
    let (mid, mid_model) = (store.backend().snapshot().unwrap(), model.clone());
    store.fold();
    run(&mut store, &mut model, &[Op::Delete { id: 4 }]);
    store.fold();
    old_model.compare(&old);
    mid_model.compare(&mid);
    model.compare(&store.backend().snapshot().unwrap());
    assert!(old.age() > Duration::ZERO);
    assert_eq!(store.backend().stats().readers, 2);
    // A snapshot may end on another thread than it began.
    std::thread::spawn(move || drop(old)).join().unwrap();
    assert_eq!(store.backend().stats().readers, 1);
}

#[test]
fn readers_beside_folds_always_see_true_counts() {
    let mut store = Store::new();
    let mut model = Model::new();
    run(&mut store, &mut model, &many(50));
    let backend = Arc::new(store.backend.take().unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let reader = {
        let (backend, stop) = (backend.clone(), stop.clone());
        std::thread::spawn(move || {
            let mut looks = 0;
            while !stop.load(Ordering::Relaxed) {
                let snapshot = backend.snapshot().unwrap();
                let count = snapshot.entry_count().unwrap();
                assert_eq!(snapshot.entries(EntryId(0)).unwrap().count() as u64, count);
                let common = snapshot.postings(&IndexKey::new(EQUALITY, b"common")).unwrap();
                assert_eq!((common.count(), common.iter().count() as u64), (50, 50));
                looks += 1;
            }
            looks
        })
    };
    for i in 0..60 {
        let proposal = store.proposal(&add(&format!("more.{i}"), &["extra"]));
        assert!(backend.submit_and_wait(proposal).unwrap().accepted);
        backend.fold_soon();
    }
    stop.store(true, Ordering::Relaxed);
    assert!(reader.join().unwrap() > 0);
    assert!(backend.stats().folds > 0);
}

#[test]
fn a_second_writer_is_refused_and_a_reader_is_welcome() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(10));
    let again = Backend::open(Store::options(store.folder.path(), &SimDisk::default()), Box::new(TestRules::default()));
    match again {
        Err(StoreError::InUse { holder, .. }) => assert_eq!(holder, std::process::id().to_string()),
        other => panic!("{:?}", other.err()),
    }
    store.fold();
    run(&mut store, &mut model, &[Op::Delete { id: 2 }]);
    drop(store.backend.take());
    store.open().unwrap();
}

#[test]
fn a_read_only_backend_sees_what_is_folded_and_what_is_not() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(10));
    store.fold();
    run(&mut store, &mut model, &[Op::Delete { id: 2 }, add("later", &["new"])]);
    // Two environments of one folder cannot be open in one process, so the writer is gone, unfolded, as after kill -9.
    store.crash(&mut |_| 0);
    let mut reader = ReadOnlyBackend::open(Store::options(store.folder.path(), &store.disk), store.rules()).unwrap();
    model.compare(&reader.snapshot().unwrap());
    assert_eq!(reader.snapshot().unwrap().seq(), 12);
}

#[test]
fn backends_without_a_writer_show_the_files_and_what_is_tried() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(10));
    // Nothing but what is tried is beside the database.
    store.fold();
    let tried = vec![store.proposal(&Op::Delete { id: 3 })];
    store.crash(&mut |_| 0);
    let reader = ReadOnlyBackend::open(Store::options(store.folder.path(), &store.disk), store.rules()).unwrap();
    let [plain, changed] = reader.into_backends([vec![], tried.clone()]).unwrap();
    model.compare(&plain.snapshot().unwrap());
    let (before, after) = (plain.snapshot().unwrap(), changed.snapshot().unwrap());
    assert!(before.entry(EntryId(3)).unwrap().is_some());
    assert!(after.entry(EntryId(3)).unwrap().is_none());
    assert_eq!(changed.submit_and_wait(tried[0].clone()).err(), Some(StoreError::Closed));
}

#[test]
fn a_replay_that_comes_out_otherwise_stops() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(2));
    store.crash(&mut |_| 0);
    // The rules refuse the same bytes now.
    let rules = store.rules();
    for op in rules.known.lock().unwrap().values_mut() {
        *op = Op::Refuse(Box::new(op.clone()));
    }
    let opened = Backend::open(Store::options(store.folder.path(), &store.disk), rules);
    assert_eq!(opened.err(), Some(StoreError::ReplayMismatch { seq: 1, then: 0, now: 53 }));
}

#[test]
fn records_and_values_of_many_pieces_come_back() {
    let (mut store, mut model) = (Store::new(), Model::new());
    let long = |len: usize| "m".repeat(len);
    let values: Vec<(String, String)> = (0..6).map(|i| (format!("text{i}"), format!("{i}{}", long(1_500)))).collect();
    let big = Op::Add { parent: 0, name: "big".to_owned(), values: values.clone() };
    run(&mut store, &mut model, &[big, Op::AddMember { id: 1, member: long(20_000) }]);
    store.fold();
    model.compare(&store.backend().snapshot().unwrap());
    // Fewer pieces than before: the rest must go.
    run(&mut store, &mut model, &[Op::Modify { id: 1, values: values[..1].to_vec() }]);
    run(&mut store, &mut model, &[Op::RemoveMember { id: 1, member: long(20_000) }]);
    store.fold();
    model.compare(&store.backend().snapshot().unwrap());
    let snapshot = store.backend().snapshot().unwrap();
    let (dbs, txn) = snapshot.base();
    assert_eq!((dbs.entries.len(txn).unwrap(), dbs.values.len(txn).unwrap()), (1, 0));
}

/// LMDB writes pages before the commit when a transaction has changed more of them than it keeps in memory (decision
/// 004).
#[test]
fn folds_larger_than_what_lmdb_keeps_in_memory_are_whole() {
    const PAGES_IN_MEMORY: u64 = 4_095;
    let (mut store, mut model) = (Store::new(), Model::new());
    let member = |i: u64, round: u64| format!("{i}.{round}.{}", "m".repeat(60_000));
    let values = |i: u64, round: u64| (0..4).map(|n| (format!("text{n}"), format!("{i}.{round}"))).collect::<Vec<_>>();
    let adds = (1..=300).map(|i| Op::Add { parent: 0, name: format!("user.{i}"), values: values(i, 0) });
    let members = (1..=300).map(|id| Op::AddMember { id, member: member(id, 0) });
    run(&mut store, &mut model, &adds.chain(members).collect::<Vec<_>>());
    store.fold();
    let (old, old_model) = (store.backend().snapshot().unwrap(), model.clone());
    let (dbs, txn) = old.base();
    let pages: u64 = dbs.sizes(txn).unwrap().iter().map(|size| size.leaf_pages).sum();
    assert!(pages > PAGES_IN_MEMORY, "{pages} pages");
    for round in 1..4 {
        let of = |third: u64| (1..=300).filter(move |i| (i + round) % 3 != third);
        let shorter = of(0).map(|id| Op::Modify { id, values: values(id, round)[..(id % 4) as usize].to_vec() });
        let removed = of(1).map(|id| Op::RemoveMember { id, member: member(id, round - 1) });
        let added = of(2).map(|id| Op::AddMember { id, member: member(id, round) });
        run(&mut store, &mut model, &shorter.chain(removed).chain(added).collect::<Vec<_>>());
        store.fold();
        model.compare(&store.backend().snapshot().unwrap());
    }
    old_model.compare(&old);
    drop(old);
    run(&mut store, &mut model, &(1..=290).map(|id| Op::Delete { id }).collect::<Vec<_>>());
    store.crash(&mut |_| 0);
    store.open().unwrap();
    store.fold();
    model.compare(&store.backend().snapshot().unwrap());
}

#[test]
fn scans_respect_their_bounds_over_all_layers() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(100));
    store.fold();
    run(&mut store, &mut model, &[add("x", &["value 5x"]), Op::Delete { id: 1 }]);
    let snapshot = store.backend().snapshot().unwrap();
    let keys = |from: Bound<&[u8]>, to: Bound<&[u8]>| {
        let mut scan = snapshot.scan(EQUALITY, from, to).unwrap();
        let mut keys = Vec::new();
        while let Some((key, _)) = scan.next().unwrap() {
            keys.push(String::from_utf8(key.to_vec()).unwrap());
        }
        let mut scan = snapshot.view().scan_back(EQUALITY, from, to).unwrap();
        for key in keys.iter().rev() {
            assert_eq!(scan.next().unwrap().unwrap().0, key.as_bytes());
        }
        assert!(scan.next().unwrap().is_none());
        keys
    };
    let all = keys(Bound::Unbounded, Bound::Unbounded);
    assert!(all.is_sorted());
    let middle = all[all.len() / 2].clone();
    let upper: Vec<_> = all.iter().filter(|key| **key >= middle).cloned().collect();
    assert_eq!(keys(Bound::Included(middle.as_bytes()), Bound::Unbounded), upper);
    assert_eq!(keys(Bound::Excluded(middle.as_bytes()), Bound::Unbounded), upper[1..]);
    assert_eq!(keys(Bound::Unbounded, Bound::Excluded(middle.as_bytes())).len() + upper.len(), all.len());
    assert_eq!(keys(Bound::Included(b"value 5x"), Bound::Included(b"value 5x")), ["value 5x"]);
    assert_eq!(keys(Bound::Included(b"z"), Bound::Included(b"a")), Vec::<String>::new());
    let first = snapshot.scan(WINDOWS, Bound::Unbounded, Bound::Unbounded).unwrap().next().unwrap().is_some();
    assert!(first);
}

#[test]
fn names_are_found_both_ways() {
    let (mut store, mut model) = (Store::new(), Model::new());
    let child = Op::Add { parent: 1, name: "cn=Ada".to_owned(), values: vec![] };
    run(&mut store, &mut model, &[add("dc=example,dc=com", &[]), child.clone()]);
    assert!(!store.submit(&child).unwrap().accepted, "the name is taken");
    assert!(!store.submit(&Op::Delete { id: 1 }).unwrap().accepted, "it has a child");
    let snapshot = store.backend().snapshot().unwrap();
    assert_eq!(snapshot.child(EntryId(1), b"cn=ada").unwrap(), Some(EntryId(2)));
    assert_eq!(snapshot.dn_of(EntryId(2)).unwrap().as_deref(), Some("cn=Ada,dc=example,dc=com"));
    assert_eq!(snapshot.dn_of(EntryId(9)).unwrap(), None);
    assert_eq!(snapshot.children(EntryId(1)).unwrap().count(), 1);
    assert_eq!(snapshot.child(EntryId::ROOT, b"dc=example,dc=com").unwrap(), Some(EntryId(1)));
    assert_eq!(snapshot.postings(&IndexKey::new(IndexId(99), b"")).unwrap().count(), 0);
}

#[test]
fn folds_start_by_themselves_when_it_is_quiet_or_full() {
    let mut store = Store::new();
    store.close();
    let mut options = Store::options(store.folder.path(), &store.disk);
    options.fold.idle = Duration::from_millis(5);
    options.fold.ops = 10;
    store.backend = Some(Backend::open(options, store.rules()).unwrap());
    let mut model = Model::new();
    run(&mut store, &mut model, &many(25));
    let end = Instant::now() + Duration::from_secs(20);
    while store.backend().stats().folded_ops < 25 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(store.backend().stats().folded_ops, 25);
    model.compare(&store.backend().snapshot().unwrap());
}

#[test]
fn an_untrusted_index_is_left_alone() {
    let (mut store, mut model) = (Store::new(), Model::new());
    run(&mut store, &mut model, &many(5));
    store.close();
    let mut options = Store::options(store.folder.path(), &store.disk);
    options.path = store.folder.path().to_owned();
    let env = crate::env::Env::open(&crate::database_path(&options.path), [0; 16]).unwrap();
    let mut txn = env.write().unwrap();
    let mut states = crate::env::read_index_states(env.dbs(), &txn).unwrap();
    states.set_trusted(WINDOWS, false);
    crate::env::write_index_states(env.dbs(), &mut txn, &states).unwrap();
    txn.commit().unwrap();
    env.close();
    store.backend = Some(Backend::open(options, store.rules()).unwrap());
    assert!(store.submit(&Op::Delete { id: 1 }).unwrap().accepted);
    store.fold();
    let snapshot = store.backend().snapshot().unwrap();
    assert!(!snapshot.indexes().states().is_trusted(WINDOWS));
    assert_eq!(snapshot.postings(&IndexKey::new(EQUALITY, b"common")).unwrap().count(), 4);
    assert_eq!(snapshot.postings(&IndexKey::new(WINDOWS, b"com")).unwrap().count(), 5);
}

#[test]
fn a_name_that_is_too_deep_is_a_limit_and_no_damage() {
    let mut store = Store::new();
    let depth = DEPTH_MAX as u64 + 1;
    let ops: Vec<Op> = (0..depth).map(|parent| Op::Add { parent, name: "a".to_owned(), values: Vec::new() }).collect();
    assert!(store.submit_all(&ops).into_iter().all(|outcome| outcome.unwrap().accepted));
    let snapshot = store.backend().snapshot().unwrap();
    assert_eq!(snapshot.dn_of(EntryId(depth - 1)).unwrap().unwrap().len(), 2 * DEPTH_MAX - 1);
    let error = snapshot.dn_of(EntryId(depth)).unwrap_err();
    assert!(matches!(error, StoreError::TooDeep { .. }) && error.is_limit(), "{error}");
}
