//! Who waits behind whom in the writer, and what their answers say of it: on a disk whose sync does not return before
//! the test lets it.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Sender;

use super::harness::{Op, Store, TestBinder};
use crate::log::sim::Faults;
use crate::tables::NoTypes;
use crate::{Doing, Phases, Submitter, WaitReason};

/// Longer than a test's thread is away from the processor, mostly; only the order of magnitude counts.
const STUCK: Duration = Duration::from_millis(150);

type Answered = (&'static str, Phases);

fn op(store: &mut Store, name: &'static str) -> Vec<u8> {
    store.proposal(&Op::SetMeta { key: name.to_owned(), value: Some("x".to_owned()) })
}

/// Submits, and sends the name and the phases when it is answered.
fn submit(store: &mut Store, source: u64, name: &'static str, answered: &Sender<Answered>) {
    let (proposal, answered) = (op(store, name), answered.clone());
    let done =
        Box::new(move |outcome: Result<crate::Outcome, _>| answered.send((name, outcome.unwrap().phases)).unwrap());
    store.backend().submit(Submitter(source), proposal, done);
}

/// A store whose writer is stuck in the sync of `first`.
fn stuck(answered: &Sender<Answered>) -> Store {
    let mut store = Store::new();
    store.disk.set_faults(Faults { is_stuck: true, ..Faults::default() });
    submit(&mut store, 1, "first", answered);
    while store.backend().stats().doing != Doing::Sync {
        std::thread::yield_now();
    }
    store
}

#[test]
fn one_update_is_not_starved_by_a_hundred_of_another_connection() {
    let (answered, answers) = crossbeam_channel::unbounded();
    let mut store = stuck(&answered);
    for _ in 0..100 {
        submit(&mut store, 7, "many", &answered);
    }
    submit(&mut store, 8, "one", &answered);
    assert_eq!(store.backend().stats().queue_length, 101);
    store.disk.set_faults(Faults::default());
    let order: Vec<&str> = answers.iter().take(102).map(|(name, _)| name).collect();
    let at = order.iter().position(|name| *name == "one").unwrap();
    assert!(at <= 2, "it was answered as number {at}: {order:?}");
}

#[test]
fn a_schema_change_keeps_its_place_and_nothing_gets_between() {
    let (answered, answers) = crossbeam_channel::unbounded();
    let mut store = stuck(&answered);
    for _ in 0..3 {
        submit(&mut store, 7, "before", &answered);
    }
    let (proposal, own) = (op(&mut store, "schema"), answered.clone());
    let done =
        Box::new(move |outcome: Result<crate::Outcome, _>| own.send(("schema", outcome.unwrap().phases)).unwrap());
    let bound = store.backend().submit_and_rebind(proposal, done, Arc::new(NoTypes), Arc::new(TestBinder));
    submit(&mut store, 8, "after", &answered);
    store.disk.set_faults(Faults::default());
    bound.wait();
    let all: Vec<Answered> = answers.iter().take(6).collect();
    let order: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    assert_eq!(order, ["first", "before", "before", "before", "schema", "after"]);
    // A batch of its own, so that the new schema is there before the next proposal.
    assert_eq!(all[4].1.batch, 1);
}

/// S3-14, S3-16: the disk is given as the reason, for the update that waited for it and for the one behind.
#[test]
fn a_slow_disk_is_named_as_the_reason() {
    let (answered, answers) = crossbeam_channel::unbounded();
    let mut store = stuck(&answered);
    submit(&mut store, 8, "second", &answered);
    std::thread::sleep(STUCK);
    let stats = store.backend().stats();
    assert_eq!((stats.doing, stats.queue_length), (Doing::Sync, 1));
    assert!(stats.doing_for >= STUCK, "{:?}", stats.doing_for);
    store.disk.set_faults(Faults::default());
    let ((_, first), (_, second)) = (answers.recv().unwrap(), answers.recv().unwrap());
    let stuck_us = STUCK.as_micros() as u32;
    assert!(first.sync_us >= stuck_us && first.reason() == WaitReason::Sync, "{first:?}");
    assert!(second.queue_us >= stuck_us && second.behind.sync_us >= stuck_us, "{second:?}");
    assert_eq!((second.reason(), second.behind.apply_us + second.behind.fold_us < stuck_us), (WaitReason::Sync, true));
    store.submit(&Op::SetMeta { key: "third".to_owned(), value: None }).unwrap();
    let stats = store.backend().stats();
    assert_eq!((stats.wait_max_reason, stats.batches), (WaitReason::Sync, 3));
    assert!(stats.wait_max >= STUCK && stats.sync_max >= STUCK);
    // S3-50: the figures of the minute have it, even if another minute has begun.
    let proposals: u64 = stats.minutes.iter().map(|minute| minute.proposals).sum();
    let bytes: u64 = stats.minutes.iter().map(|minute| minute.logged_bytes).sum();
    assert_eq!((proposals, bytes), (3, stats.logged_bytes));
    assert!(stats.minutes.iter().any(|minute| minute.sync_max >= STUCK && minute.wait_max_reason == WaitReason::Sync));
}
