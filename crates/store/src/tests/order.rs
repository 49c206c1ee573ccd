//! The writer obeys whatever order it is given, everybody gets an answer, and an order that fails stops updates, not
//! reads.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossbeam_channel::{Receiver, unbounded};

use super::harness::{Op, Store, TestBinder};
use crate::log::sim::Faults;
use crate::order::{Order, OrderHealth, Ordered, Position};
use crate::proposed::{Proposed, Ticket};
use crate::tables::NoTypes;
use crate::{Outcome, StopCause, StoreError, Submitter, Waker};

/// The state of a [`ManualOrder`], which the test changes and reads.
#[derive(Default)]
struct Inner {
    offered: VecDeque<Proposed>,
    given: VecDeque<Ordered>,
    last: u64,
    fails: Option<StoreError>,
    is_unavailable: bool,
    /// The most that was offered and not given back.
    most: usize,
    applied: Vec<Position>,
}

/// An order that gives nothing before the test says so.
#[derive(Clone, Default)]
struct ManualOrder(Arc<Mutex<Inner>>);

/// How much a [`ManualOrder`] takes.
const ROOM: usize = 4;

impl Order for ManualOrder {
    const IS_BINDING: bool = true;

    fn offer(&mut self, proposed: Proposed) {
        let mut inner = self.0.lock().unwrap();
        inner.offered.push_back(proposed);
        inner.most = inner.most.max(inner.offered.len() + inner.given.len());
    }

    fn next(&mut self) -> Result<Option<Ordered>, StoreError> {
        let mut inner = self.0.lock().unwrap();
        match &inner.fails {
            Some(error) => Err(error.clone()),
            None => Ok(inner.given.pop_front()),
        }
    }

    fn applied(&mut self, position: Position) {
        self.0.lock().unwrap().applied.push(position);
    }

    fn health(&self) -> OrderHealth {
        let inner = self.0.lock().unwrap();
        match inner.offered.len() + inner.given.len() {
            _ if inner.is_unavailable => OrderHealth::Unavailable(StoreError::Busy),
            count if count >= ROOM => OrderHealth::Full,
            _ => OrderHealth::Ready,
        }
    }
}

/// Controls the order of a store.
struct OrderControl {
    order: ManualOrder,
    waker: Waker,
}

impl OrderControl {
    /// Opens the store anew with such an order.
    fn on(store: &mut Store) -> OrderControl {
        store.close();
        let (order, mut woken) = (ManualOrder::default(), None);
        let own = order.clone();
        store
            .open_in_order(|waker| {
                woken = Some(waker);
                own
            })
            .unwrap();
        OrderControl { order, waker: woken.unwrap() }
    }

    fn inner<T>(&self, look: impl FnOnce(&mut Inner) -> T) -> T {
        look(&mut self.order.0.lock().unwrap())
    }

    /// Waits until so many are offered.
    fn wait_offered(&self, count: usize) {
        while self.inner(|inner| inner.offered.len()) < count {
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Gives the next position to a proposal.
    fn give(inner: &mut Inner, proposal: Vec<u8>, ticket: Option<Ticket>) {
        inner.last += 1;
        inner.given.push_back(Ordered { position: Position(inner.last), proposal, ticket });
    }

    /// Gives back what was offered, the newest first, each behind what another server proposes.
    fn give_all_reversed(&self, others: Vec<Vec<u8>>) {
        self.inner(|inner| {
            let mut others = others.into_iter();
            while let Some(Proposed { proposal, ticket }) = inner.offered.pop_back() {
                if let Some(other) = others.next() {
                    OrderControl::give(inner, other, None);
                }
                OrderControl::give(inner, proposal, Some(ticket));
            }
        });
        self.waker.wake();
    }
}

type Answers = Receiver<(usize, Result<Outcome, StoreError>)>;

fn put(key: &str, value: &str) -> Op {
    Op::SetMeta { key: key.to_owned(), value: Some(value.to_owned()) }
}

/// Submits without waiting, all as one submitter.
fn submit(store: &mut Store, ops: &[Op]) -> Answers {
    let (sender, answers) = unbounded();
    for (at, op) in ops.iter().enumerate() {
        let (proposal, sender) = (store.proposal(op), sender.clone());
        let done = Box::new(move |result| drop(sender.send((at, result))));
        store.backend().submit(Submitter(1), proposal, done);
    }
    answers
}

fn value(store: &Store, key: &str) -> Option<String> {
    let snapshot = store.backend().snapshot().unwrap();
    let found = snapshot.view().meta(key.as_bytes()).unwrap();
    found.map(|value| String::from_utf8(value.into_owned()).unwrap())
}

#[test]
fn proposals_are_applied_in_the_order_given_and_everybody_is_answered() {
    let mut store = Store::new();
    let control = OrderControl::on(&mut store);
    let answers = submit(&mut store, &[put("key", "first"), put("key", "second"), put("key", "third")]);
    control.wait_offered(3);
    assert!(answers.is_empty() && store.backend().stats().seq == 0, "nothing has its position yet");
    let other = store.proposal(&put("other", "of another server"));
    control.give_all_reversed(vec![other]);
    let answered: Vec<usize> = answers
        .iter()
        .take(3)
        .map(|(at, answer)| {
            assert!(answer.unwrap().accepted);
            at
        })
        .collect();
    assert_eq!(answered, [2, 1, 0]);
    assert_eq!(value(&store, "key").as_deref(), Some("first"));
    assert_eq!(value(&store, "other").as_deref(), Some("of another server"));
    assert_eq!(store.backend().stats().seq, 4);
    assert_eq!(control.inner(|inner| inner.applied.last().copied()), Some(Position(4)));
    // The log has them in that order: a start with the local order has the same state.
    store.crash(&mut |_| 0);
    store.open().unwrap();
    assert_eq!(value(&store, "key").as_deref(), Some("first"));
    assert_eq!(store.backend().stats().seq, 4);
}

#[test]
fn what_only_others_propose_is_applied_too() {
    let mut store = Store::new();
    let control = OrderControl::on(&mut store);
    let other = store.proposal(&put("other", "x"));
    control.inner(|inner| OrderControl::give(inner, other, None));
    control.waker.wake();
    while value(&store, "other").is_none() {
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn no_more_is_offered_than_the_order_takes() {
    let mut store = Store::new();
    let control = OrderControl::on(&mut store);
    let ops: Vec<Op> = (0..50).map(|at| put("key", &at.to_string())).collect();
    let answers = submit(&mut store, &ops);
    let mut answered = Vec::new();
    while answered.len() < ops.len() {
        let count = ROOM.min(ops.len() - answered.len());
        control.wait_offered(count);
        control.give_all_reversed(Vec::new());
        for (at, answer) in answers.iter().take(count) {
            assert!(answer.unwrap().accepted);
            answered.push(at);
        }
    }
    assert_eq!(control.inner(|inner| inner.most), ROOM);
    answered.sort_unstable();
    assert_eq!(answered, (0..50).collect::<Vec<_>>());
}

#[test]
fn a_schema_change_waits_for_what_was_proposed_before_it() {
    let mut store = Store::new();
    let control = OrderControl::on(&mut store);
    let before = submit(&mut store, &[put("key", "before")]);
    control.wait_offered(1);
    let bound = store.backend().rebind(Arc::new(NoTypes), Arc::new(TestBinder));
    let waiting = std::thread::spawn(move || bound.wait());
    let after = submit(&mut store, &[put("key", "after")]);
    std::thread::sleep(Duration::from_millis(20));
    assert!(!waiting.is_finished(), "what was sent before it has no position yet");
    assert_eq!(control.inner(|inner| inner.offered.len()), 1, "what was sent behind it is not looked at");
    control.give_all_reversed(Vec::new());
    assert!(before.recv().unwrap().1.unwrap().accepted);
    waiting.join().unwrap();
    control.wait_offered(1);
    control.give_all_reversed(Vec::new());
    assert!(after.recv().unwrap().1.unwrap().accepted);
}

#[test]
fn nobody_waits_behind_a_fold_that_the_order_keeps_waiting() {
    let (mut store, control) = served();
    let kept = submit(&mut store, &[put("key", "kept")]);
    control.wait_offered(1);
    control.inner(|inner| inner.is_unavailable = true);
    store.backend().fold_soon();
    let refused = submit(&mut store, &[put("key", "refused")]);
    let (_, answer) = refused.recv_timeout(Duration::from_secs(10)).expect("nobody answers");
    assert_eq!(answer, Err(StoreError::Busy));
    while store.backend().stats().overlay_ops + store.backend().stats().frozen_ops > 0 {
        std::thread::sleep(Duration::from_micros(100));
    }
    assert_eq!(value(&store, "key").as_deref(), Some("good"), "what was there is folded");
    control.inner(|inner| inner.is_unavailable = false);
    control.give_all_reversed(Vec::new());
    assert!(kept.recv().unwrap().1.unwrap().accepted);
    assert_eq!(value(&store, "key").as_deref(), Some("kept"));
}

#[test]
fn behind_a_schema_that_waits_proposals_are_refused_while_the_order_takes_none() {
    let (mut store, control) = served();
    let kept = submit(&mut store, &[put("key", "kept")]);
    control.wait_offered(1);
    let bound = store.backend().rebind(Arc::new(NoTypes), Arc::new(TestBinder));
    let waiting = std::thread::spawn(move || bound.wait());
    let behind = submit(&mut store, &[put("key", "behind")]);
    std::thread::sleep(Duration::from_millis(20));
    assert!(behind.is_empty(), "it waits for its turn while there is hope");
    // It becomes so while the proposal is held, and is so when the next one comes.
    control.inner(|inner| inner.is_unavailable = true);
    control.waker.wake();
    let answer = |answers: &Answers| answers.recv_timeout(Duration::from_secs(10)).expect("nobody answers").1;
    assert_eq!(answer(&behind), Err(StoreError::Busy));
    let behind = submit(&mut store, &[put("key", "behind")]);
    assert_eq!(answer(&behind), Err(StoreError::Busy));
    // Of a schema with its proposal, the proposal is refused; the schema waits as before.
    let (sender, answers) = unbounded();
    let proposal = store.proposal(&put("key", "with a schema"));
    let done = Box::new(move |result| drop(sender.send((0, result))));
    let second = store.backend().submit_and_rebind(proposal, done, Arc::new(NoTypes), Arc::new(TestBinder));
    assert_eq!(answer(&answers), Err(StoreError::Busy));
    assert!(!waiting.is_finished());
    control.inner(|inner| inner.is_unavailable = false);
    control.give_all_reversed(Vec::new());
    assert!(kept.recv().unwrap().1.unwrap().accepted);
    waiting.join().unwrap();
    second.wait();
    assert_eq!((value(&store, "key").as_deref(), store.backend().stats().queue_length), (Some("kept"), 0));
}

/// Reads and folds go on, updates do not, and a new start with the local order takes them again.
fn assert_stopped(store: &mut Store, cause: StopCause, reason: StoreError) {
    let stopped = StoreError::UpdatesStopped { cause, reason: Box::new(reason) };
    assert_eq!(store.submit(&put("key", "later")), Err(stopped.clone()));
    assert_eq!(store.backend().updates_stopped(), Some(&stopped));
    assert_eq!(value(store, "key").as_deref(), Some("good"));
    store.fold();
    assert_eq!(value(store, "key").as_deref(), Some("good"));
    store.close();
    store.open().unwrap();
    assert_eq!(value(store, "key").as_deref(), Some("good"));
    assert!(store.submit(&put("key", "later")).unwrap().accepted);
}

/// A store in such an order with one good update.
fn served() -> (Store, OrderControl) {
    let mut store = Store::new();
    let control = OrderControl::on(&mut store);
    let answers = submit(&mut store, &[put("key", "good")]);
    control.wait_offered(1);
    control.give_all_reversed(Vec::new());
    assert!(answers.recv().unwrap().1.unwrap().accepted);
    (store, control)
}

#[test]
fn an_order_that_fails_stops_updates_and_not_reads() {
    let (mut store, control) = served();
    let answers = submit(&mut store, &[put("key", "on its way")]);
    control.wait_offered(1);
    let reason = StoreError::Io { what: "order", detail: "asked for".to_owned() };
    control.inner(|inner| inner.fails = Some(reason.clone()));
    control.waker.wake();
    while store.backend().updates_stopped().is_none() {
        std::thread::sleep(Duration::from_micros(100));
    }
    // The test shares the order, so the writer alone does not drop the ticket.
    control.inner(|inner| inner.offered.clear());
    assert_eq!(answers.recv().unwrap().1, Err(StoreError::OutcomeUnknown));
    assert_stopped(&mut store, StopCause::Order, reason);
}

#[test]
fn a_gap_in_the_order_stops_updates() {
    let (mut store, control) = served();
    let answers = submit(&mut store, &[put("key", "behind a gap")]);
    control.wait_offered(1);
    control.inner(|inner| inner.last += 1);
    control.give_all_reversed(Vec::new());
    assert_eq!(answers.recv().unwrap().1, Err(StoreError::OutcomeUnknown));
    assert_stopped(&mut store, StopCause::Order, StoreError::OutOfOrder { last: 1, next: 3 });
}

#[test]
fn a_log_that_refuses_what_has_its_position_stops_updates() {
    let (mut store, control) = served();
    store.disk.set_faults(Faults { failing_syncs: 1, ..Faults::default() });
    let answers = submit(&mut store, &[put("key", "not logged")]);
    control.wait_offered(1);
    control.give_all_reversed(Vec::new());
    let Err(StoreError::UpdatesStopped { cause, reason }) = answers.recv().unwrap().1 else { panic!("it was taken") };
    assert_eq!(control.inner(|inner| inner.applied.last().copied()), Some(Position(1)));
    assert_stopped(&mut store, cause, *reason);
}

#[test]
fn an_order_that_takes_nothing_refuses_until_it_does() {
    let (mut store, control) = served();
    control.inner(|inner| inner.is_unavailable = true);
    assert_eq!(store.submit(&put("key", "refused")), Err(StoreError::Busy));
    assert_eq!(store.backend().stats().order_trouble, Some(StoreError::Busy));
    control.inner(|inner| inner.is_unavailable = false);
    let answers = submit(&mut store, &[put("key", "taken")]);
    control.wait_offered(1);
    control.give_all_reversed(Vec::new());
    assert!(answers.recv().unwrap().1.unwrap().accepted);
    assert_eq!((store.backend().stats().order_trouble, value(&store, "key").as_deref()), (None, Some("taken")));
}

#[test]
fn closing_does_not_wait_for_what_the_order_keeps() {
    let (mut store, control) = served();
    let answers = submit(&mut store, &[put("key", "kept")]);
    control.wait_offered(1);
    store.close();
    control.inner(|inner| inner.offered.clear());
    assert_eq!(answers.recv().unwrap().1, Err(StoreError::OutcomeUnknown));
    store.open().unwrap();
    assert_eq!(value(&store, "key").as_deref(), Some("good"));
}
