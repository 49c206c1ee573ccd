//! A model of the directory in maps, and its comparison with the store.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::harness::{MEMBER, NAMES, Op, inline_values, keys_of, normal};
use crate::index::{Build, BuildPoint};
use crate::posting::IndexKey;
use crate::record::Content;
use crate::version::Snapshot;
use crate::{EntryId, IndexId};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub parent: u64,
    pub name: String,
    pub values: BTreeSet<(String, String)>,
    pub members: BTreeMap<Vec<u8>, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub entries: BTreeMap<u64, Entry>,
    pub meta: BTreeMap<String, String>,
    pub next: u64,
    /// Names of the indexes.
    pub indexes: BTreeSet<String>,
}

impl Model {
    pub fn new() -> Model {
        Model { next: 1, indexes: NAMES.map(|(_, name)| name.to_owned()).into(), ..Model::default() }
    }

    fn child(&self, parent: u64, name: &str) -> Option<u64> {
        let same = |entry: &Entry| entry.parent == parent && normal(entry.name.as_bytes()) == normal(name.as_bytes());
        self.entries.iter().find(|(_, entry)| same(entry)).map(|(id, _)| *id)
    }

    fn has_children(&self, id: u64) -> bool {
        self.entries.values().any(|entry| entry.parent == id)
    }

    /// Whether the store accepts `op`; if so it is done here too.
    pub fn apply(&mut self, op: &Op) -> bool {
        match op {
            Op::Add { parent, name, values } => {
                if self.child(*parent, name).is_some() {
                    return false;
                }
                let values = values.iter().cloned().collect();
                let entry = Entry { parent: *parent, name: name.clone(), values, members: BTreeMap::new() };
                self.entries.insert(self.next, entry);
                self.next += 1;
            }
            Op::Modify { id, values } => match self.entries.get_mut(id) {
                Some(entry) => entry.values = values.iter().cloned().collect(),
                None => return false,
            },
            Op::Delete { id } => {
                if self.has_children(*id) || self.entries.remove(id).is_none() {
                    return false;
                }
            }
            Op::Move { id, parent, name } => {
                let taken = self.child(*parent, name).is_some_and(|other| other != *id);
                match self.entries.get_mut(id) {
                    Some(entry) if !taken => {
                        entry.parent = *parent;
                        entry.name = name.clone();
                    }
                    _ => return false,
                }
            }
            Op::AddMember { id, member } => {
                let Some(entry) = self.entries.get_mut(id) else { return false };
                if entry.members.contains_key(&normal(member.as_bytes())) {
                    return false;
                }
                entry.members.insert(normal(member.as_bytes()), member.clone());
            }
            Op::RemoveMember { id, member } => {
                let Some(entry) = self.entries.get_mut(id) else { return false };
                return entry.members.remove(&normal(member.as_bytes())).is_some();
            }
            Op::SetMeta { key, value } => match value {
                Some(value) => drop(self.meta.insert(key.clone(), value.clone())),
                None => drop(self.meta.remove(key)),
            },
            Op::SetIndexes { names, .. } => self.indexes = names.iter().cloned().collect(),
            Op::Build { .. } | Op::Forget { .. } => {}
            Op::Refuse(_) | Op::Panic(_) | Op::Unreadable(_) => return false,
        }
        true
    }

    /// Every posting list as it must be. An index that is being built has the entries up to its point; of the one that
    /// it is within, some keys.
    fn postings(&self, snapshot: &Snapshot) -> BTreeMap<IndexKey, BTreeSet<u64>> {
        let mut all: BTreeMap<IndexKey, BTreeSet<u64>> = BTreeMap::new();
        let mut numbers: BTreeMap<IndexId, (IndexId, u64, u64)> = BTreeMap::new();
        let states = snapshot.indexes().states();
        assert!(states.iter().map(|(name, _)| name).eq(self.indexes.iter()));
        for (name, state) in states.iter() {
            let (through, within) = match &state.build {
                Build::Complete => (u64::MAX, 0),
                Build::UpTo(BuildPoint { through, within, .. }) => {
                    (through.0, within.as_ref().map_or(0, |(entry, _)| entry.0))
                }
                Build::Unknown => panic!("{name}"),
            };
            let first = NAMES.iter().find(|(_, own)| *own == name).unwrap().0;
            numbers.insert(first, (state.id, through, within));
        }
        for (id, entry) in &self.entries {
            let values = entry.values.iter().map(|(_, value)| value).chain(entry.members.values());
            let mut keys = Vec::new();
            for (first, key) in values.flat_map(|value| keys_of(value.as_bytes())) {
                let Some((number, through, within)) = numbers.get(&first) else { continue };
                let key = IndexKey::new(*number, &key);
                // Of an entry that is only partly built, only keys that are there are compared.
                let is_there = within == id && snapshot.postings(&key).unwrap().contains(EntryId(*id)).unwrap();
                if id <= through || is_there {
                    keys.push(key);
                }
            }
            keys.push(IndexKey::all());
            keys.push(IndexKey::children(EntryId(entry.parent)));
            keys.push(IndexKey::dn(EntryId(entry.parent), &normal(entry.name.as_bytes())));
            for key in keys {
                all.entry(key).or_default().insert(*id);
            }
        }
        all
    }

    /// Compares everything that a snapshot shows.
    pub fn compare(&self, snapshot: &Snapshot) {
        let mut seen = Vec::new();
        for found in snapshot.entries(EntryId(0)).unwrap() {
            let (id, record) = found.unwrap();
            seen.push(id.0);
            let expected = &self.entries[&id.0];
            let view = record.view().unwrap();
            view.check().unwrap();
            assert_eq!((view.parent().0, view.rdn()), (expected.parent, expected.name.as_bytes()));
            assert_eq!(inline_values(&view).into_iter().collect::<BTreeSet<_>>(), expected.values);
            assert_eq!(snapshot.entry(id).unwrap().unwrap().bytes(), record.bytes());
            let stub = view.attributes().find_map(|own| match own.content {
                Content::Large(stub) => Some((own.desc, stub.count)),
                Content::Inline(_) => None,
            });
            assert_eq!(stub.map_or(0, |(_, count)| count), expected.members.len() as u64);
            let desc = snapshot.tables().description_id(MEMBER).unwrap();
            let members: BTreeSet<String> = snapshot
                .large_values(id, desc)
                .unwrap()
                .map(|found| String::from_utf8(found.unwrap().1.into_owned()).unwrap())
                .collect();
            assert_eq!(members, expected.members.values().cloned().collect());
            for (normalized, value) in &expected.members {
                let found = snapshot.view().large_value(id, desc, normalized).unwrap().unwrap();
                assert_eq!(&*found, value.as_bytes());
            }
        }
        assert!(seen.iter().eq(self.entries.keys()), "{seen:?}");
        assert_eq!(snapshot.entry_count().unwrap(), self.entries.len() as u64);
        assert_eq!(snapshot.next_entry().0, self.next);
        self.compare_postings(snapshot);
        for (key, value) in &self.meta {
            assert_eq!(snapshot.view().meta(key.as_bytes()).unwrap().as_deref(), Some(value.as_bytes()));
        }
    }

    fn compare_postings(&self, snapshot: &Snapshot) {
        let expected = self.postings(snapshot);
        let mut seen = BTreeMap::new();
        let states = snapshot.indexes().states();
        let configured = states.iter().map(|(_, state)| state.id);
        for index in [IndexId::DN, IndexId::CHILDREN, IndexId::ALL].into_iter().chain(configured) {
            let mut scan = snapshot.scan(index, Bound::Unbounded, Bound::Unbounded).unwrap();
            while let Some((key, postings)) = scan.next().unwrap() {
                let ids: BTreeSet<u64> = postings.iter().map(|id| id.0).collect();
                assert_eq!(postings.count(), ids.len() as u64);
                assert!(postings.to_set().unwrap().iter().eq(ids.iter().copied()));
                // A stored key may be a cut one; `from_bytes` takes it as it is.
                let stored = [&index.0.to_be_bytes()[..], key].concat();
                seen.insert(IndexKey::from_bytes(&stored), ids);
            }
            let mut back = snapshot.view().scan_back(index, Bound::Unbounded, Bound::Unbounded).unwrap();
            let of_index = seen.iter().rev().filter(|(key, _)| key.index() == index);
            for (key, ids) in of_index {
                let (found, postings) = back.next().unwrap().unwrap();
                assert_eq!((found, postings.count()), (key.key(), ids.len() as u64));
                assert!(postings.iter().map(|id| id.0).eq(ids.iter().copied()));
            }
            assert!(back.next().unwrap().is_none());
        }
        assert_eq!(seen, expected);
        for (key, ids) in expected.iter().step_by(3) {
            let postings = snapshot.postings(key).unwrap();
            assert_eq!(postings.count(), ids.len() as u64);
            assert!(postings.iter().map(|id| id.0).eq(ids.iter().copied()));
            let middle = ids.iter().copied().nth(ids.len() / 2).unwrap();
            let from: Vec<u64> = postings.iter_from(EntryId(middle)).map(|id| id.0).collect();
            assert!(from.iter().eq(ids.range(middle..)));
            for step in [1, 7] {
                let mut common = Vec::new();
                postings.common((1..self.next).step_by(step).map(EntryId), |id| common.push(id.0)).unwrap();
                let asked: BTreeSet<u64> = (1..self.next).step_by(step).collect();
                assert!(common.iter().eq(asked.intersection(ids)));
            }
            for id in (1..self.next).step_by(5) {
                assert_eq!(postings.contains(EntryId(id)).unwrap(), ids.contains(&id));
            }
        }
    }
}
