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

/// What a test does to its order, and what it saw.
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
struct HandOrder(Arc<Mutex<Inner>>);

/// How much a [`HandOrder`] takes.
const ROOM: usize = 4;

impl Order for HandOrder {
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

/// A test's hands on the order of a store.
struct Hands {
    order: HandOrder,
    waker: Waker,
}

impl Hands {
    /// Opens the store anew with such an order.
    fn on(store: &mut Store) -> Hands {
        store.close();
        let (order, mut woken) = (HandOrder::default(), None);
        let own = order.clone();
        store
            .open_in_order(|waker| {
                woken = Some(waker);
                own
            })
            .unwrap();
        Hands { order, waker: woken.unwrap() }
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
                    Hands::give(inner, other, None);
                }
                Hands::give(inner, proposal, Some(ticket));
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
    let hands = Hands::on(&mut store);
    let answers = submit(&mut store, &[put("key", "first"), put("key", "second"), put("key", "third")]);
    hands.wait_offered(3);
    assert!(answers.is_empty() && store.backend().stats().seq == 0, "nothing has its position yet");
    let other = store.proposal(&put("other", "of another server"));
    hands.give_all_reversed(vec![other]);
    let mut answered: Vec<usize> = answers
        .iter()
        .take(3)
        .map(|(at, answer)| {
            assert!(answer.unwrap().accepted);
            at
        })
        .collect();
    assert_eq!(answered, [2, 1, 0]);
    answered.clear();
    assert_eq!(value(&store, "key").as_deref(), Some("first"));
    assert_eq!(value(&store, "other").as_deref(), Some("of another server"));
    assert_eq!(store.backend().stats().seq, 4);
    assert_eq!(hands.inner(|inner| inner.applied.last().copied()), Some(Position(4)));
    // The log has them in that order: a start without this order comes to the same.
    store.crash(&mut |_| 0);
    store.open().unwrap();
    assert_eq!(value(&store, "key").as_deref(), Some("first"));
    assert_eq!(store.backend().stats().seq, 4);
}

#[test]
fn what_only_others_propose_is_applied_too() {
    let mut store = Store::new();
    let hands = Hands::on(&mut store);
    let other = store.proposal(&put("other", "x"));
    hands.inner(|inner| Hands::give(inner, other, None));
    hands.waker.wake();
    while value(&store, "other").is_none() {
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn no_more_is_offered_than_the_order_takes() {
    let mut store = Store::new();
    let hands = Hands::on(&mut store);
    let ops: Vec<Op> = (0..50).map(|at| put("key", &at.to_string())).collect();
    let answers = submit(&mut store, &ops);
    let mut answered = Vec::new();
    while answered.len() < ops.len() {
        hands.wait_offered(ROOM.min(ops.len() - answered.len()));
        hands.give_all_reversed(Vec::new());
        while let Ok((at, answer)) = answers.recv_timeout(Duration::from_millis(1)) {
            assert!(answer.unwrap().accepted);
            answered.push(at);
        }
    }
    assert_eq!(hands.inner(|inner| inner.most), ROOM);
    answered.sort_unstable();
    assert_eq!(answered, (0..50).collect::<Vec<_>>());
}

#[test]
fn a_schema_change_waits_for_what_was_proposed_before_it() {
    let mut store = Store::new();
    let hands = Hands::on(&mut store);
    let before = submit(&mut store, &[put("key", "before")]);
    hands.wait_offered(1);
    let bound = store.backend().rebind(Arc::new(NoTypes), Arc::new(TestBinder));
    let waiting = std::thread::spawn(move || bound.wait());
    let after = submit(&mut store, &[put("key", "after")]);
    std::thread::sleep(Duration::from_millis(20));
    assert!(!waiting.is_finished(), "what was sent before it has no position yet");
    assert_eq!(hands.inner(|inner| inner.offered.len()), 1, "what was sent behind it is not looked at");
    hands.give_all_reversed(Vec::new());
    assert!(before.recv().unwrap().1.unwrap().accepted);
    waiting.join().unwrap();
    hands.wait_offered(1);
    hands.give_all_reversed(Vec::new());
    assert!(after.recv().unwrap().1.unwrap().accepted);
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
fn served() -> (Store, Hands) {
    let mut store = Store::new();
    let hands = Hands::on(&mut store);
    let answers = submit(&mut store, &[put("key", "good")]);
    hands.wait_offered(1);
    hands.give_all_reversed(Vec::new());
    assert!(answers.recv().unwrap().1.unwrap().accepted);
    (store, hands)
}

#[test]
fn an_order_that_fails_stops_updates_and_not_reads() {
    let (mut store, hands) = served();
    let answers = submit(&mut store, &[put("key", "on its way")]);
    hands.wait_offered(1);
    let reason = StoreError::Io { what: "order", detail: "asked for".to_owned() };
    hands.inner(|inner| inner.fails = Some(reason.clone()));
    hands.waker.wake();
    while store.backend().updates_stopped().is_none() {
        std::thread::sleep(Duration::from_micros(100));
    }
    // The test has a hand on the order too, so it must let go of the ticket.
    hands.inner(|inner| inner.offered.clear());
    assert_eq!(answers.recv().unwrap().1, Err(StoreError::OutcomeUnknown));
    assert_stopped(&mut store, StopCause::Order, reason);
}

#[test]
fn a_gap_in_the_order_stops_updates() {
    let (mut store, hands) = served();
    let answers = submit(&mut store, &[put("key", "behind a gap")]);
    hands.wait_offered(1);
    hands.inner(|inner| inner.last += 1);
    hands.give_all_reversed(Vec::new());
    assert_eq!(answers.recv().unwrap().1, Err(StoreError::OutcomeUnknown));
    assert_stopped(&mut store, StopCause::Order, StoreError::OutOfOrder { last: 1, next: 3 });
}

#[test]
fn a_log_that_refuses_what_has_its_position_stops_updates() {
    let (mut store, hands) = served();
    store.disk.set_faults(Faults { failing_syncs: 1, ..Faults::default() });
    let answers = submit(&mut store, &[put("key", "not logged")]);
    hands.wait_offered(1);
    hands.give_all_reversed(Vec::new());
    let Err(StoreError::UpdatesStopped { cause, reason }) = answers.recv().unwrap().1 else { panic!("it was taken") };
    assert_eq!(hands.inner(|inner| inner.applied.last().copied()), Some(Position(1)));
    assert_stopped(&mut store, cause, *reason);
}

#[test]
fn an_order_that_takes_nothing_refuses_until_it_does() {
    let (mut store, hands) = served();
    hands.inner(|inner| inner.is_unavailable = true);
    assert_eq!(store.submit(&put("key", "refused")), Err(StoreError::Busy));
    assert_eq!(store.backend().stats().order_trouble, Some(StoreError::Busy));
    hands.inner(|inner| inner.is_unavailable = false);
    let answers = submit(&mut store, &[put("key", "taken")]);
    hands.wait_offered(1);
    hands.give_all_reversed(Vec::new());
    assert!(answers.recv().unwrap().1.unwrap().accepted);
    assert_eq!((store.backend().stats().order_trouble, value(&store, "key").as_deref()), (None, Some("taken")));
}

#[test]
fn closing_does_not_wait_for_what_the_order_keeps() {
    let (mut store, hands) = served();
    let answers = submit(&mut store, &[put("key", "kept")]);
    hands.wait_offered(1);
    store.close();
    hands.inner(|inner| inner.offered.clear());
    assert_eq!(answers.recv().unwrap().1, Err(StoreError::OutcomeUnknown));
    store.open().unwrap();
    assert_eq!(value(&store, "key").as_deref(), Some("good"));
}
