//! The instructions of one backend at one moment, prepared: by the entry that holds them, and by whom they may concern.
//!
//! A change makes another set, which shares everything that did not change: it costs the same however many there are.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::sync::Arc;

use aci::Reading;
use imbl::{OrdMap, OrdSet};
use query::backend::BackendIndex;
use query::entry::{DnParts, EntryView};
use query::facts::Facts;
use schema::TypeIndex;
use store::{EntryId, StoreError, View};

use super::key::{Key, Needs, add_keys};
use super::proposed::ProposedInstructions;
use crate::compiled::Instruction;
use crate::holders::{Scan, each_holder};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct AciSet {
    pub facts: Arc<Facts>,
    /// [`store::Marks::access`] of the moment.
    pub mark: u64,
    holders: OrdMap<EntryId, Arc<Holder>>,
    by_key: OrdMap<Key, Places>,
    problems: OrdMap<EntryId, Arc<str>>,
    counts: Counts,
    /// Why all entries were looked at when it was loaded, if they were.
    pub scan: Option<Scan>,
}

/// The instructions of one entry.
#[derive(Debug)]
pub(crate) struct Holder {
    pub instructions: Box<[Arc<Instruction>]>,
    /// What is wrong with the first that is not valid.
    problem: Option<Arc<str>>,
}

/// Entries that have a key: mostly one.
#[derive(Clone, Debug)]
enum Places {
    One(EntryId),
    Many(OrdSet<EntryId>),
}

/// How many holders have something.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    groups: usize,
    roles: usize,
    time: usize,
    host: usize,
    oids: usize,
    group_keys: usize,
}

/// What is the same while a set is loaded.
#[derive(Clone, Copy)]
pub(crate) struct Loading<'l> {
    pub facts: &'l Arc<Facts>,
    /// Instructions that one entry may hold.
    pub most: usize,
    /// What is proposed for entries of the backend, where that is tried.
    pub proposed: Option<(&'l ProposedInstructions, BackendIndex)>,
}

impl Holder {
    /// From the values of an entry. What it held before and still holds goes on counting.
    pub fn of<'v>(
        loading: Loading<'_>,
        values: impl IntoIterator<Item = &'v [u8]>,
        earlier: &[Arc<Instruction>],
    ) -> Option<Holder> {
        let earlier: HashMap<u64, &Arc<Instruction>> = earlier.iter().map(|it| (it.text_hash(), it)).collect();
        let mut instructions = Vec::new();
        let mut problem: Option<Arc<str>> = None;
        for (position, value) in values.into_iter().enumerate() {
            let number = u32::try_from(position).unwrap_or(u32::MAX);
            if position >= loading.most {
                problem = Some(format!("it holds more than {} instructions", loading.most).into());
                instructions = vec![Arc::new(Instruction::closing(0))];
                break;
            }
            let text = String::from_utf8_lossy(value);
            let instruction = match aci::parse_as(&text, Reading::Import) {
                Ok(parsed) => Instruction::of(loading.facts, &parsed.aci, number),
                Err(error) => {
                    problem.get_or_insert_with(|| format!("value {}: {error}", position + 1).into());
                    Instruction::closing(number)
                }
            };
            let hash = hash_of(value);
            let same = earlier.get(&hash).map(|it| &***it);
            instructions.push(Arc::new(instruction.counting_on(hash, same)));
        }
        (!instructions.is_empty()).then(|| Holder { instructions: instructions.into(), problem })
    }

    fn keys(&self) -> BTreeSet<Key> {
        let mut keys = BTreeSet::new();
        for permission in self.instructions.iter().flat_map(|it| &it.permissions) {
            add_keys(permission, &mut keys);
        }
        keys
    }

    pub fn needs(&self) -> Needs {
        let permissions = self.instructions.iter().flat_map(|it| &it.permissions);
        permissions.fold(Needs::default(), |needs, it| needs.with(Needs::of(&it.rule)))
    }

    fn has_oids(&self) -> bool {
        self.instructions.iter().any(|it| it.oids.is_some())
    }
}

impl AciSet {
    /// Reads all of a backend: by the presence index of `aci`, or where there is none by a scan. What an earlier set
    /// has of it goes on counting.
    pub fn load(loading: Loading<'_>, view: &View<'_>, earlier: Option<&AciSet>) -> Result<AciSet, StoreError> {
        let mut set = AciSet {
            facts: Arc::clone(loading.facts),
            mark: view.marks().access,
            holders: OrdMap::new(),
            by_key: OrdMap::new(),
            problems: OrdMap::new(),
            counts: Counts::default(),
            scan: None,
        };
        let Some(aci) = loading.facts.aci else { return Ok(set) };
        for id in loading.proposed.into_iter().flat_map(|(proposed, backend)| proposed.entries(backend)) {
            set.read(loading, view, (aci, id), earlier)?;
        }
        set.scan = each_holder(view, aci, |id| set.read(loading, view, (aci, id), earlier))?;
        Ok(set)
    }

    /// The set at a later moment, of which the changed entries are known.
    pub fn updated(
        &self,
        loading: Loading<'_>,
        view: &View<'_>,
        changed: impl Iterator<Item = EntryId>,
    ) -> Result<AciSet, StoreError> {
        let mut set = AciSet { mark: view.marks().access, scan: None, ..self.clone() };
        let Some(aci) = loading.facts.aci else { return Ok(set) };
        for id in changed {
            set.read(loading, view, (aci, id), Some(self))?;
        }
        Ok(set)
    }

    /// Takes what an entry holds now.
    fn read(
        &mut self,
        loading: Loading<'_>,
        view: &View<'_>,
        (aci, id): (TypeIndex, EntryId),
        earlier: Option<&AciSet>,
    ) -> Result<(), StoreError> {
        let mut values: Vec<Vec<u8>> = Vec::new();
        if let Some(record) = view.entry(id)? {
            let entry = EntryView { id, record: record.view()?, dn: DnParts::default(), source: view };
            values = values_of(&entry, aci)?;
            if let Some((proposed, backend)) = loading.proposed {
                proposed.apply(backend, id, &mut values);
            }
        }
        let earlier = earlier.and_then(|set| set.holder(id)).map(|it| &*it.instructions).unwrap_or_default();
        self.put(id, Holder::of(loading, values.iter().map(Vec::as_slice), earlier));
        Ok(())
    }

    fn put(&mut self, id: EntryId, holder: Option<Holder>) {
        if let Some(old) = self.holders.remove(&id) {
            self.count(&old, |count, by| *count -= by);
            for key in old.keys() {
                self.forget(&key, id);
            }
            self.problems.remove(&id);
        }
        let Some(holder) = holder else { return };
        self.count(&holder, |count, by| *count += by);
        for key in holder.keys() {
            self.note(key, id);
        }
        if let Some(problem) = &holder.problem {
            self.problems.insert(id, Arc::clone(problem));
        }
        self.holders.insert(id, Arc::new(holder));
    }

    fn count(&mut self, holder: &Holder, change: impl Fn(&mut usize, usize)) {
        let needs = holder.needs();
        let counts = &mut self.counts;
        change(&mut counts.groups, needs.groups.into());
        change(&mut counts.roles, needs.roles.into());
        change(&mut counts.time, needs.time.into());
        change(&mut counts.host, needs.host.into());
        change(&mut counts.oids, holder.has_oids().into());
    }

    fn note(&mut self, key: Key, id: EntryId) {
        let is_group = matches!(key, Key::Group(_));
        match self.by_key.get_mut(&key) {
            Some(Places::Many(ids)) => {
                ids.insert(id);
            }
            Some(places) => {
                if let Places::One(first) = *places {
                    *places = Places::Many(OrdSet::from_iter([first, id]));
                }
            }
            None => {
                self.by_key.insert(key, Places::One(id));
                self.counts.group_keys += usize::from(is_group);
            }
        }
    }

    fn forget(&mut self, key: &Key, id: EntryId) {
        let is_gone = match self.by_key.get_mut(key) {
            Some(Places::Many(ids)) => {
                ids.remove(&id);
                ids.is_empty()
            }
            Some(Places::One(_)) => true,
            None => false,
        };
        if is_gone {
            self.by_key.remove(key);
            self.counts.group_keys -= usize::from(matches!(key, Key::Group(_)));
        }
    }

    /// The entries that hold instructions with a key.
    pub fn with_key(&self, key: &Key) -> impl Iterator<Item = EntryId> {
        let (one, many) = match self.by_key.get(key) {
            Some(Places::One(id)) => (Some(*id), None),
            Some(Places::Many(ids)) => (None, Some(ids)),
            None => (None, None),
        };
        one.into_iter().chain(many.into_iter().flat_map(|ids| ids.iter().copied()))
    }

    /// The groups that some rule asks for.
    pub fn group_keys(&self) -> impl Iterator<Item = (&Key, &[u8])> {
        let from = Key::Group(Box::default());
        self.by_key.range(from..).map_while(|(key, _)| match key {
            Key::Group(name) => Some((key, &**name)),
            _ => None,
        })
    }

    pub fn group_key_count(&self) -> usize {
        self.counts.group_keys
    }

    pub fn holder(&self, id: EntryId) -> Option<&Arc<Holder>> {
        self.holders.get(&id)
    }

    /// Every entry that holds instructions.
    pub fn holders(&self) -> impl Iterator<Item = (EntryId, &Arc<Holder>)> {
        self.holders.iter().map(|(id, holder)| (*id, holder))
    }

    /// Entries with instructions that are not valid, and what is wrong with them.
    pub fn problems(&self) -> impl Iterator<Item = (EntryId, &Arc<str>)> {
        self.problems.iter().map(|(id, problem)| (*id, problem))
    }

    pub fn needs(&self) -> Needs {
        let counts = &self.counts;
        Needs { groups: counts.groups > 0, roles: counts.roles > 0, time: counts.time > 0, host: counts.host > 0 }
    }

    /// Whether some instruction is about controls or extended operations.
    pub fn has_oids(&self) -> bool {
        self.counts.oids > 0
    }
}

/// By what a text is known again; the text itself is not kept.
fn hash_of(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The values of `aci` of an entry.
pub(crate) fn values_of(entry: &EntryView<'_>, aci: TypeIndex) -> Result<Vec<Vec<u8>>, StoreError> {
    let descs = entry.record.tables().by_type(aci.0);
    let mut values = Vec::new();
    entry.each_value(entry.record.attributes().filter(|it| descs.contains(&it.desc)), &mut |value| {
        values.push(value.to_vec());
        ControlFlow::Continue(())
    })?;
    Ok(values)
}
