//! Decides for one asker, entry by entry: finds the place of an entry, and what applies there.
//!
//! What was found out about places is in a [`Memo`], which belongs to one operation.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use aci::{Effect, Right};
use query::asker_rights::Which;
use query::backend::BackendIndex;
use query::entry::{EntryView, StoredAt};
use query::facts::Facts;
use query::filter::FilterScratch;
use query::read_moment::{ReadAt, ReadMoment};
use query::rights::{Answer, ReadRight};
use schema::{NormalizedDn, TypeIndex};
use store::{EntryId, StoreError};

use crate::decide::{About, Applying, BackendConcerns, Concern, FindChild, Making, Place, Table, depth, name_test};
use crate::entry_conditions::{Applies, Conditions, Looked};
use crate::rights::Rights;
use crate::set::Loading;

/// Places that one operation remembers.
const PLACES_MAX: usize = 10_000;

/// Slots for the places that were asked for last.
const RECENT: usize = 16;

/// What was found out in one operation.
#[derive(Default)]
pub(crate) struct Memo {
    places: RefCell<BTreeMap<PlaceKey, Rc<Place>>>,
    /// Those that were asked for last, each in the slot of its parent's number: consecutive entries mostly have the
    /// same few parents.
    recent: RefCell<[Option<KnownPlace>; RECENT]>,
    /// The place of the entry of the server's own that was looked at last, by its name.
    own: RefCell<Option<(Vec<u8>, Rc<Place>)>>,
    last: RefCell<Option<Last>>,
    moment: OnceCell<ReadMoment>,
    /// Buffers of the filters of instructions.
    scratch: RefCell<FilterScratch>,
    /// What concerns the asker at a moment that is not that of its rights.
    concerns: RefCell<HashMap<(BackendIndex, u64), Rc<BackendConcerns>>>,
    pub looked: Cell<Looked>,
}

/// The children of an entry, or one entry that is special: a base entry, or one that holds instructions.
type PlaceKey = (BackendIndex, u64, EntryId, Option<EntryId>);

/// A place with what it was found by.
type KnownPlace = (PlaceKey, Rc<Place>);

/// An entry as it lies in memory: where its record is tells it from those of the same number in other backends.
type Image = (EntryId, *const u8);

/// The table of the entry that was asked about last.
struct Last {
    image: Image,
    table: Rc<Table>,
}

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Decider<'d> {
    pub rights: &'d Rights,
    pub memo: &'d Memo,
    pub which: Which,
}

impl Memo {
    /// Forgets the entry that was asked about last: it comes again in another image.
    pub fn forget_entry(&self) {
        *self.last.borrow_mut() = None;
    }
}

impl<'d> Decider<'d> {
    fn moment(&self) -> &'d ReadMoment {
        let rights = self.rights;
        self.memo.moment.get_or_init(|| rights.context.moment(&rights.facts, rights.asker.now_unix_seconds))
    }

    pub fn making(&self) -> Making<'d> {
        let rights = self.rights;
        Making {
            context: &rights.context,
            moment: self.moment(),
            sets: &rights.sets,
            loading: Loading { facts: &rights.facts, most: rights.settings.acis_per_entry_max, proposed: None },
            snapshots: &[],
        }
    }

    /// Calls `with` with what concerns the asker in a backend at the moment of a view.
    fn with_concerns<T>(
        &self,
        stored: &StoredAt<'_>,
        with: impl FnOnce(&BackendConcerns) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mark = stored.view.marks().access;
        if let Some(own) = self.rights.backends.get(stored.backend.0).filter(|own| own.mark == mark) {
            return with(own);
        }
        let key = (stored.backend, mark);
        let known = self.memo.concerns.borrow().get(&key).cloned();
        let concerns = match known {
            Some(known) => known,
            None => {
                let (made, _) = self.making().concerns(&self.rights.asker, stored.backend, &stored.view)?;
                let made = Rc::new(made);
                self.memo.concerns.borrow_mut().insert(key, Rc::clone(&made));
                made
            }
        };
        with(&concerns)
    }

    /// Where an entry of a backend is stored.
    pub fn stored<'e>(&self, entry: &'e EntryView<'_>) -> Option<StoredAt<'e>> {
        if self.which == Which::Stored { entry.source.stored() } else { None }
    }

    /// The moment at which an entry of a backend is looked at.
    pub fn seen<'e>(&self, entry: &'e EntryView<'_>) -> Option<ReadAt<'e>>
    where
        'd: 'e,
    {
        self.stored(entry).map(|stored| self.moment().at(stored.backend, stored.view))
    }

    /// The place of an entry.
    pub fn place(&self, facts: &Facts, entry: &EntryView<'_>) -> Result<Rc<Place>, StoreError> {
        match self.stored(entry) {
            Some(stored) => self.stored_place(facts, entry, &stored),
            None => self.own_place(facts, entry),
        }
    }

    fn stored_place(
        &self,
        facts: &Facts,
        entry: &EntryView<'_>,
        stored: &StoredAt<'_>,
    ) -> Result<Rc<Place>, StoreError> {
        self.with_concerns(stored, |concerns| {
            let parent = entry.record.parent();
            let is_special = parent == EntryId::ROOT || concerns.holders.get(entry.id).is_some();
            let key = (stored.backend, concerns.mark, parent, is_special.then_some(entry.id));
            // One that is to be added has no number yet.
            let may_keep = entry.id != EntryId::ROOT || !is_special;
            let slot = parent.0 as usize % RECENT;
            if may_keep
                && let Some(Some((last, place))) = self.memo.recent.borrow().get(slot)
                && *last == key
            {
                return Ok(Rc::clone(place));
            }
            let known = self.memo.places.borrow().get(&key).filter(|_| may_keep).cloned();
            let is_known = known.is_some();
            let place = match known {
                Some(known) => known,
                None => Rc::new(self.find_place(facts, entry, stored, concerns, is_special)?),
            };
            if may_keep {
                if !is_known {
                    let mut places = self.memo.places.borrow_mut();
                    if places.len() >= PLACES_MAX {
                        places.clear();
                    }
                    places.insert(key, Rc::clone(&place));
                }
                if let Some(recent) = self.memo.recent.borrow_mut().get_mut(slot) {
                    *recent = Some((key, Rc::clone(&place)));
                }
            }
            Ok(place)
        })
    }

    fn find_place(
        &self,
        facts: &Facts,
        entry: &EntryView<'_>,
        stored: &StoredAt<'_>,
        concerns: &BackendConcerns,
        is_special: bool,
    ) -> Result<Place, StoreError> {
        let mut name = Vec::new();
        let seen = self.moment().at(stored.backend, stored.view);
        let parent = entry.record.parent();
        match (is_special, stored.view.entry(parent)?) {
            (false, Some(record)) => {
                seen.groups().put_form(stored.backend, &record.view()?, &mut name)?;
            }
            _ => {
                seen.groups().put_form(stored.backend, &entry.record, &mut name)?;
            }
        }
        let about = if is_special { About::Entry(&name) } else { About::ChildrenOf(&name) };
        let mut found: Vec<(usize, &Concern)> = self.rights.global.iter().map(|it| (0, it)).collect();
        for (suffix, above) in &concerns.above {
            if name.starts_with(suffix) {
                found.extend(above.iter().map(|(depth, concern)| (*depth, concern)));
            }
        }
        // From the entry, or its parent, up to the base entry.
        let (mut at, mut own_depth) = (if is_special { entry.id } else { parent }, depth(&name));
        let mut above = if is_special { Some(parent) } else { None };
        while at != EntryId::ROOT || above.is_some() {
            if let Some(own) = concerns.holders.get(at) {
                found.extend(own.iter().map(|concern| (own_depth, concern)));
            }
            at = match above.take() {
                Some(above) => above,
                None => match stored.view.entry(at)? {
                    Some(record) => record.view()?.parent(),
                    None => EntryId::ROOT,
                },
            };
            own_depth = own_depth.saturating_sub(1);
        }
        self.resolve(facts, about, &found, &mut |rdn| match is_special {
            true => Ok(None),
            false => stored.view.child(parent, rdn),
        })
    }

    /// The place of one of the server's own entries: instructions of the configuration alone are about them.
    fn own_place(&self, facts: &Facts, entry: &EntryView<'_>) -> Result<Rc<Place>, StoreError> {
        let mut dn = Vec::new();
        entry.dn.put(&mut dn);
        if let Some((_, known)) = self.memo.own.borrow().as_ref().filter(|(known, _)| *known == dn) {
            return Ok(Rc::clone(known));
        }
        let name = NormalizedDn::parse(&facts.schema, &dn).unwrap_or_default();
        let place = Rc::new(self.named_place(facts, name.as_bytes(), &[])?);
        *self.memo.own.borrow_mut() = Some((dn, Rc::clone(&place)));
        Ok(place)
    }

    /// The place of one name: instructions of the configuration, and `others` with the depths of their holders.
    pub fn named_place(&self, facts: &Facts, name: &[u8], others: &[(usize, Concern)]) -> Result<Place, StoreError> {
        let mut found: Vec<(usize, &Concern)> = self.rights.global.iter().map(|it| (0, it)).collect();
        found.extend(others.iter().map(|(depth, concern)| (*depth, concern)));
        self.resolve(facts, About::Entry(name), &found, &mut |_| Ok(None))
    }

    fn resolve(
        &self,
        facts: &Facts,
        about: About<'_>,
        found: &[(usize, &Concern)],
        child: FindChild<'_>,
    ) -> Result<Place, StoreError> {
        let mut all = Vec::new();
        for (holder_depth, concern) in found.iter().filter(|(_, concern)| concern.instruction.oids.is_none()) {
            if let Some(name) = name_test(&facts.schema, &concern.instruction, *holder_depth, about, child)? {
                all.push(Applying { concern: (*concern).clone(), name });
            }
        }
        Ok(Place::new(all, &self.rights.kinds))
    }

    /// Whether the conditions of a permission hold for an entry.
    pub fn applies(&self, facts: &Facts, entry: &EntryView<'_>, applying: &Applying) -> Result<bool, StoreError> {
        if applying.is_fixed() {
            return Ok(true);
        }
        self.with_conditions(facts, entry, |them| self.applies_by(them, applying))
    }

    fn applies_by(&self, conditions: &Conditions<'_>, applying: &Applying) -> Result<bool, StoreError> {
        let Applies { applies, looked } = conditions.of(applying)?;
        if looked != Looked::default() {
            self.memo.looked.set(self.memo.looked.get().with(looked));
        }
        Ok(applies)
    }

    /// Calls `with` with what conditions of an entry are told by.
    pub fn with_conditions<T>(
        &self,
        facts: &Facts,
        entry: &EntryView<'_>,
        with: impl FnOnce(&Conditions<'_>) -> T,
    ) -> T {
        self.with_conditions_at(facts, entry, self.stored(entry), with)
    }

    fn with_conditions_at<T>(
        &self,
        facts: &Facts,
        entry: &EntryView<'_>,
        stored: Option<StoredAt<'_>>,
        with: impl FnOnce(&Conditions<'_>) -> T,
    ) -> T {
        with(&Conditions {
            facts,
            asker: &self.rights.asker,
            entry,
            stored,
            moment: self.moment(),
            scratch: &self.memo.scratch,
            with_asker: &|with| self.making().with_entry(self.rights.asker.place, |own| with(own)),
        })
    }

    /// The table of attribute types of an entry.
    pub fn table(&self, facts: &Facts, entry: &EntryView<'_>) -> Result<Rc<Table>, StoreError> {
        if let Some(known) = self.of_known_table(entry, Rc::clone) {
            return Ok(known);
        }
        let stored = self.stored(entry);
        let place = match &stored {
            Some(stored) => self.stored_place(facts, entry, stored)?,
            None => self.own_place(facts, entry)?,
        };
        let kinds = &self.rights.kinds;
        let table = match place.is_same_for_all() {
            true => place.table(kinds, |_| Ok(true))?,
            false => self.with_conditions_at(facts, entry, stored, |conditions| {
                place.table(kinds, |applying| self.applies_by(conditions, applying))
            })?,
        };
        if let Some(image) = self.image_of(entry).filter(|_| stored.is_some()) {
            *self.memo.last.borrow_mut() = Some(Last { image, table: Rc::clone(&table) });
        }
        Ok(table)
    }

    /// What the table of an entry says, if it is the one that was asked about last.
    #[inline]
    fn of_known_table<T>(&self, entry: &EntryView<'_>, what: impl FnOnce(&Rc<Table>) -> T) -> Option<T> {
        let image = self.image_of(entry)?;
        let last = self.memo.last.borrow();
        last.as_ref().filter(|last| last.image == image).map(|last| what(&last.table))
    }

    /// None of an entry whose table is not remembered.
    #[inline]
    fn image_of(&self, entry: &EntryView<'_>) -> Option<Image> {
        let is_kept = self.which == Which::Stored && entry.id != EntryId::ROOT;
        is_kept.then(|| (entry.id, entry.record.rdn().as_ptr()))
    }

    /// Whether an attribute of an entry may be searched, read or compared.
    pub fn reads(
        &self,
        facts: &Facts,
        right: ReadRight,
        entry: &EntryView<'_>,
        attribute: TypeIndex,
    ) -> Result<bool, StoreError> {
        if let Some(grants) = self.of_known_table(entry, |table| table.grants(right, attribute)) {
            return Ok(grants);
        }
        match self.rights.of_type(self.which, right, attribute) {
            Answer::Yes => Ok(true),
            Answer::No => Ok(false),
            Answer::Ask => Ok(self.table(facts, entry)?.grants(right, attribute)),
        }
    }

    /// Whether one of the instructions that apply grants a right, and none denies it. `is_about` says whether one with
    /// this effect is about what is asked.
    pub fn decide(
        &self,
        facts: &Facts,
        entry: &EntryView<'_>,
        right: Right,
        is_about: &mut dyn FnMut(&Concern) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        let place = self.place(facts, entry)?;
        self.decide_at(&place, right, is_about, &mut |applying| self.applies(facts, entry, applying))
    }

    /// The same at a place, where `applies` says whether the conditions of a permission hold.
    pub fn decide_at(
        &self,
        place: &Place,
        right: Right,
        is_about: &mut dyn FnMut(&Concern) -> Result<bool, StoreError>,
        applies: &mut dyn FnMut(&Applying) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        let mut is_allowed = false;
        for applying in &place.all {
            let concern = &applying.concern;
            let is_allow = concern.effect == Effect::Allow;
            if !concern.rights.contains(right) || (is_allow && is_allowed) || !is_about(concern)? {
                continue;
            }
            if applies(applying)? {
                concern.instruction.hit();
                if !is_allow {
                    return Ok(false);
                }
                is_allowed = true;
            }
        }
        Ok(is_allowed)
    }
}
