//! Finds out what concerns an asker: reads its entry, and goes through the instructions.

use std::sync::Arc;

use query::asker_rights::Snapshots;
use query::backend::{Backend, BackendIndex, Suffix, all_indices, numbered};
use query::entry_place::EntryPlace;
use query::facts::Facts;
use query::locate::locate;
use query::read_moment::{ReadContext, ReadMoment};
use schema::NormalizedDn;
use store::{EntryId, StoreError, View};

use super::certain::{Certain, Spread};
use super::concern::{BackendConcerns, ByHolder, Concern, concerns_of, holders_for};
use super::open_rule::Subject;
use super::place::depth;
use crate::asker::{Asker, AskerEntry};
use crate::compiled::Kinds;
use crate::set::{AciSet, LiveSets, Loading, Needs};

/// What it takes to find out about an asker.
#[derive(Clone, Copy)]
pub(crate) struct Making<'m> {
    pub context: &'m ReadContext,
    pub moment: &'m ReadMoment,
    pub sets: &'m LiveSets,
    pub loading: Loading<'m>,
    /// Instructions are taken from these snapshots, and of other backends from newer ones.
    pub snapshots: Snapshots<'m>,
}

/// Takes an entry: its backend, the moment of that, and how many RDNs its name has.
pub(crate) type EachAbove<'e> = &'e mut dyn FnMut(BackendIndex, &View<'_>, EntryId, usize) -> Result<(), StoreError>;

impl Making<'_> {
    fn facts(&self) -> &Facts {
        self.loading.facts
    }

    /// The instructions of a backend at the moment of `view`.
    fn set_at(&self, at: BackendIndex, view: &View<'_>) -> Result<Arc<AciSet>, StoreError> {
        let backend = self.context.backends.get(at.0).ok_or(StoreError::Closed)?;
        self.sets.at((at, backend), self.loading, view)
    }

    /// Calls `look` with the moment of a backend from which instructions are taken.
    pub fn with_view<T>(
        &self,
        at: BackendIndex,
        backend: &Backend,
        look: impl FnOnce(&View<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.snapshots.iter().find(|(of, _)| *of == at) {
            Some((_, snapshot)) => look(&snapshot.view()),
            None => look(&backend.store.snapshot()?.view()),
        }
    }

    /// Calls `with` with the entry of an asker, if it has one that is there.
    pub fn with_entry<T>(
        &self,
        place: Option<EntryPlace>,
        with: impl FnOnce(Option<&AskerEntry<'_>>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let backend = place.and_then(|place| Some((place, self.context.backends.get(place.backend.0)?)));
        let Some((place, backend)) = backend else { return with(None) };
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        let Some(record) = view.entry(place.id)? else { return with(None) };
        let at = self.moment.at(place.backend, view);
        let mut dn = Vec::new();
        at.groups().put_dn(place, &mut dn)?;
        with(Some(&AskerEntry { facts: self.facts(), at, place, record: record.view()?, dn: &dn }))
    }

    /// What rules and instructions need to know of askers at all.
    pub fn needs(&self, global: Needs) -> Result<Needs, StoreError> {
        let mut needs = global;
        for (at, backend) in numbered(&self.context.backends) {
            needs = needs.with(self.with_view(at, backend, |view| self.set_at(at, view))?.needs());
        }
        Ok(needs)
    }

    /// Takes name, groups, roles and privileges of the entry.
    pub fn fill(&self, asker: &mut Asker, needs: Needs) -> Result<(), StoreError> {
        let privileges = self.facts().schema.attribute_type(b"ds-privilege-name").map(|it| it.index);
        self.with_entry(asker.place, |entry| {
            let Some(entry) = entry else {
                // Root users have a name without an entry; of a user whose entry is gone nothing is left.
                if asker.place.take().is_some() {
                    asker.name = None;
                }
                return Ok(());
            };
            let name = NormalizedDn::parse(&self.facts().schema, entry.dn).unwrap_or_default();
            asker.name = Some(name.as_bytes().into());
            if needs.groups {
                asker.groups = entry.at.groups().all_above(&entry.view())?.into_iter().collect();
            }
            if needs.roles {
                asker.roles = entry.roles()?;
                asker.is_computed |= entry.at.given_values()?.is_some();
            }
            if let Some(privileges) = privileges {
                let (grants, is_computed) = entry.grants(privileges)?;
                asker.grants = grants;
                asker.is_computed |= is_computed;
            }
            Ok(())
        })
    }

    /// The instructions of a backend, and of entries above it, that concern an asker, at the moment of `view`.
    pub fn concerns(
        &self,
        asker: &Asker,
        backend: BackendIndex,
        view: &View<'_>,
    ) -> Result<(BackendConcerns, bool), StoreError> {
        self.with_entry(asker.place, |entry| {
            let subject = Subject { facts: self.facts(), asker, entry };
            let mut is_computed = false;
            let set = self.set_at(backend, view)?;
            let mut holders = Vec::new();
            for id in holders_for(&set, subject)? {
                let Some(holder) = set.holder(id) else { continue };
                let concerns = concerns_of(&holder.instructions, subject, &mut is_computed)?;
                if !concerns.is_empty() {
                    holders.push((id, concerns.into()));
                }
            }
            let mut concerns =
                BackendConcerns { mark: set.mark, holders: ByHolder::new(holders), ..BackendConcerns::default() };
            self.add_above(subject, backend, view, &mut concerns, &mut is_computed)?;
            Ok((concerns, is_computed))
        })
    }

    /// Adds those of entries above the base DNs of a backend, which other base DNs hold.
    fn add_above(
        &self,
        subject: Subject<'_>,
        backend: BackendIndex,
        view: &View<'_>,
        concerns: &mut BackendConcerns,
        is_computed: &mut bool,
    ) -> Result<(), StoreError> {
        let suffixes = self.context.backends.get(backend.0).map(|it| it.suffixes.as_slice()).unwrap_or_default();
        for suffix in suffixes {
            let mut above = Vec::new();
            self.each_above(backend, view, suffix, &mut |at, there, id, depth| {
                let set = self.set_at(at, there)?;
                if let Some(holder) = set.holder(id) {
                    let found = concerns_of(&holder.instructions, subject, is_computed)?;
                    above.extend(found.into_iter().map(|concern| (depth, concern)));
                }
                Ok(())
            })?;
            if !above.is_empty() {
                concerns.above.push((suffix.normalized.as_bytes().into(), above));
            }
        }
        Ok(())
    }

    /// Calls `each` with the entries above a base DN of a backend that other base DNs hold, and with how many RDNs
    /// their names have.
    pub fn each_above(
        &self,
        backend: BackendIndex,
        view: &View<'_>,
        suffix: &Suffix,
        each: EachAbove<'_>,
    ) -> Result<(), StoreError> {
        for (at, other) in numbered(&self.context.backends) {
            for holding in other.suffixes.iter().filter(|it| is_above(it, suffix)) {
                let snapshot = if at == backend { None } else { Some(other.store.snapshot()?) };
                let there = snapshot.as_ref().map_or(*view, |snapshot| snapshot.view());
                let path = locate(&there, &holding.normalized, suffix.normalized.as_bytes())?;
                for (steps, id) in path.entries.iter().enumerate() {
                    let depth = holding.base_depth() + steps;
                    if depth < suffix.base_depth() {
                        each(at, &there, *id, depth)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// What is certain of all entries of the backends.
    pub fn certain(
        &self,
        kinds: &Kinds,
        global: &[Concern],
        backends: &[BackendConcerns],
    ) -> Result<Certain, StoreError> {
        let mut certain = Certain::default();
        for (at, concerns) in all_indices(&self.context.backends).zip(backends) {
            let Some(backend) = self.context.backends.get(at.0) else { continue };
            let bases = self.bases(at, concerns)?;
            for (suffix, base) in backend.suffixes.iter().zip(bases) {
                certain.and(kinds, self.spread(kinds, global, concerns, suffix, base));
            }
        }
        Ok(certain)
    }

    /// The base entries of a backend, where they hold something.
    fn bases(&self, at: BackendIndex, concerns: &BackendConcerns) -> Result<Vec<Option<EntryId>>, StoreError> {
        let Some(backend) = self.context.backends.get(at.0) else { return Ok(Vec::new()) };
        if concerns.holders.is_empty() {
            return Ok(vec![None; backend.suffixes.len()]);
        }
        self.with_view(at, backend, |view| {
            let base = |suffix: &Suffix| match suffix.is_root() {
                true => Ok(None),
                false => suffix.top(view),
            };
            backend.suffixes.iter().map(base).collect()
        })
    }

    fn spread(
        &self,
        kinds: &Kinds,
        global: &[Concern],
        concerns: &BackendConcerns,
        suffix: &Suffix,
        base: Option<EntryId>,
    ) -> Spread {
        let schema = &self.facts().schema;
        let top = suffix.normalized.as_bytes();
        let mut spread = Spread::default();
        global.iter().for_each(|concern| spread.add(schema, kinds, concern, 0, top));
        for (name, above) in &concerns.above {
            if **name == *top {
                above.iter().for_each(|(own, concern)| spread.add(schema, kinds, concern, *own, top));
            }
        }
        for (id, own) in concerns.holders.iter() {
            for concern in own {
                match Some(id) == base {
                    true => spread.add(schema, kinds, concern, depth(top), top),
                    false => spread.add_below(kinds, concern),
                }
            }
        }
        spread
    }
}

/// Whether one suffix holds the names above another.
fn is_above(holding: &Suffix, suffix: &Suffix) -> bool {
    holding.normalized.is_ancestor_of(&suffix.normalized) && depth(suffix.normalized.as_bytes()) > 1
}

/// The certain answers about the server's own entries: only instructions of the configuration are about them, each
/// about those that it names.
pub(crate) fn certain_of_own(facts: &Facts, kinds: &Kinds, global: &[Concern]) -> Certain {
    let mut spread = Spread::default();
    global.iter().for_each(|concern| spread.add(&facts.schema, kinds, concern, 0, b""));
    let mut certain = Certain::default();
    certain.and(kinds, spread);
    certain
}
