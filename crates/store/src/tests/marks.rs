//! Readers that keep what they worked out, by marks and counters: what they keep is never stale.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::harness::{ACCESS, GROUP, Op, Store, inline_values};
use crate::{Backend, EntryId, Snapshot};

const ENTRIES: u64 = 12;
const ROUNDS: u64 = 1_500;

/// The values of one attribute in all entries that have it.
type Values = BTreeMap<u64, Vec<String>>;

fn of_entry(snapshot: &Snapshot, id: EntryId, attribute: &str) -> Vec<String> {
    let Some(entry) = snapshot.entry(id).unwrap() else { return Vec::new() };
    let values = inline_values(&entry.view().unwrap());
    values.into_iter().filter(|(name, _)| name == attribute).map(|(_, value)| value).collect()
}

fn of_all(snapshot: &Snapshot, attribute: &str) -> Values {
    let each = (1..=ENTRIES).map(|id| (id, of_entry(snapshot, EntryId(id), attribute)));
    each.filter(|(_, values)| !values.is_empty()).collect()
}

fn modify(id: u64, attribute: &str, value: u64) -> Op {
    Op::Modify { id, values: vec![(attribute.to_owned(), value.to_string())] }
}

/// What one reader keeps.
#[derive(Default)]
struct Kept {
    access: Option<(u64, Values)>,
    membership: Option<(u64, Values)>,
    /// By entry: its counter, and the number that it had.
    entries: BTreeMap<u64, (u32, u64)>,
    /// How often something kept was used.
    uses: u64,
}

impl Kept {
    /// Reads once, and compares what is used with what is there.
    fn read(&mut self, backend: &Backend, answered: &[AtomicU64]) {
        let known: Vec<u64> = answered.iter().map(|number| number.load(Ordering::Acquire)).collect();
        let before: Vec<u32> = (1..=ENTRIES).map(|id| backend.entry_counter(EntryId(id))).collect();
        let snapshot = backend.snapshot().unwrap();
        let marks = snapshot.marks();
        let holders = match self.access.take() {
            Some((mark, mut values)) if marks.holders_since(mark).is_some() => {
                self.uses += 1;
                for id in marks.holders_since(mark).unwrap() {
                    let now = of_entry(&snapshot, id, ACCESS);
                    values.remove(&id.0);
                    if !now.is_empty() {
                        values.insert(id.0, now);
                    }
                }
                values
            }
            _ => of_all(&snapshot, ACCESS),
        };
        assert_eq!(holders, of_all(&snapshot, ACCESS));
        self.access = Some((marks.access, holders));
        let groups = match self.membership.take() {
            Some((mark, values)) if mark == marks.membership => values,
            _ => of_all(&snapshot, GROUP),
        };
        assert_eq!(groups, of_all(&snapshot, GROUP));
        self.membership = Some((marks.membership, groups));
        for ((id, known), before) in (1..=ENTRIES).zip(known).zip(before) {
            let now = backend.entry_counter(EntryId(id));
            match self.entries.get(&id) {
                Some((counter, number)) if *counter == now => {
                    self.uses += 1;
                    assert!(*number >= known, "entry {id}: {number} is kept, {known} was answered");
                }
                _ => {
                    let number = ["cn", ACCESS, GROUP].iter().flat_map(|name| of_entry(&snapshot, EntryId(id), name));
                    let number = number.map(|value| value.parse::<u64>().unwrap()).max().unwrap_or(0);
                    self.entries.insert(id, (before, number));
                }
            }
        }
    }
}

#[test]
fn what_readers_keep_by_marks_and_counters_is_never_stale() {
    let mut store = Store::new();
    for id in 1..=ENTRIES {
        let values = vec![("cn".to_owned(), "0".to_owned())];
        assert!(store.submit(&Op::Add { parent: 0, name: format!("e{id}"), values }).unwrap().accepted);
    }
    let answered: Vec<AtomicU64> = (1..=ENTRIES).map(|_| AtomicU64::new(0)).collect();
    let is_over = AtomicBool::new(false);
    let backend = store.backend.take().unwrap();
    let uses: u64 = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut kept = Kept::default();
                    while !is_over.load(Ordering::Acquire) {
                        kept.read(&backend, &answered);
                    }
                    kept.read(&backend, &answered);
                    kept.uses
                })
            })
            .collect();
        for number in 1..=ROUNDS {
            let id = number * 7 % ENTRIES + 1;
            let attribute = ["cn", "cn", "cn", ACCESS, GROUP][number as usize * 3 % 5];
            let op = modify(id, attribute, number);
            let is_refused = number % 11 == 0;
            let op = if is_refused { Op::Refuse(Box::new(op)) } else { op };
            let accepted = backend.submit_and_wait(store.proposal(&op)).unwrap().accepted;
            assert_eq!(accepted, !is_refused);
            if accepted {
                answered[id as usize - 1].store(number, Ordering::Release);
            }
            if number % 400 == 0 {
                backend.fold_soon();
            }
        }
        is_over.store(true, Ordering::Release);
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    });
    assert!(uses > 0, "nothing kept was ever used");
    store.backend = Some(backend);
}

#[test]
fn what_concerns_no_rights_moves_no_mark() {
    let mut store = Store::new();
    let add = |name: &str| Op::Add { parent: 0, name: name.to_owned(), values: vec![] };
    store.submit(&add("a")).unwrap();
    store.submit(&add("b")).unwrap();
    let numbers = |store: &Store| (store.backend().marks(), store.backend().snapshot().unwrap().marks().clone());
    let before = numbers(&store);
    let counters = |store: &Store| [1, 2].map(|id| store.backend().entry_counter(EntryId(id)));
    let [own, other] = counters(&store);
    store.submit(&modify(1, "cn", 1)).unwrap();
    assert_eq!(numbers(&store), before);
    assert_eq!(counters(&store), [own + 1, other]);
    store.submit(&modify(2, ACCESS, 2)).unwrap();
    let (published, marks) = numbers(&store);
    assert_eq!((published.access, published.membership), (before.0.access + 1, before.0.membership));
    assert_eq!(marks.holders_since(before.0.access).unwrap().collect::<Vec<_>>(), [EntryId(2)]);
    assert_eq!(counters(&store), [own + 1, other + 1]);
    // A refusal changes no entry.
    store.submit(&Op::Refuse(Box::new(modify(1, "cn", 3)))).unwrap();
    assert_eq!(counters(&store), [own + 1, other + 1]);
    // Another opening has other marks.
    store.close();
    store.open().unwrap();
    assert_eq!(store.backend().snapshot().unwrap().marks().holders_since(marks.access).map(Iterator::count), None);
}
