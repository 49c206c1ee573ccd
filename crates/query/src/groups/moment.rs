//! One moment of all backends as seen from an entry of one of them, and what was found out about groups, and about what
//! entries are given, at that moment.
//!
//! Only the backend of the entry is read through the operation's own snapshot; snapshots of others are taken when they
//! are first needed. What was found out is forgotten with the moment.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use schema::{NormalizedDn, TypeIndex};
use store::{DescId, EntryId, RecordView, Snapshot, StoreError, View};

use super::dynamic::MemberUrl;
use super::service::GroupService;
use crate::answers::Answers;
use crate::backend::{Backend, BackendIndex, Suffix, holder};
use crate::class_flags::ClassFlags;
use crate::entry::{DnParts, EachRow, EntrySource, EntryView, Membership, StoredAt};
use crate::entry_place::EntryPlace;
use crate::facts::{ClassFlagTable, Facts};
use crate::filter::FilterScratch;
use crate::locate::locate;
use crate::parent_names::ParentNames;
use crate::rights::{Answer, ReadRight, Reader};

/// Groups whose groups are remembered within one moment; beyond it everything is forgotten and found out again.
const REMEMBERED_MAX: usize = 100_000;

/// Children of one entry of which it is asked whether they show, to count them.
const CHILDREN_LOOKED_AT_MAX: usize = 10_000;

/// What one operation knows about groups, for as long as it keeps its snapshot.
pub struct GroupsMoment {
    pub(super) service: Arc<GroupService>,
    pub(super) facts: Arc<Facts>,
    pub(super) backends: Arc<[Backend]>,
    pub(super) now_unix_seconds: i64,
    others: Box<[OnceCell<Snapshot>]>,
    /// Entries that may still be looked at to tell the members of groups.
    pub(super) budget: Cell<u64>,
    /// Whose view of groups it is: groups that do not show are none, and of entries counts what may be searched. None
    /// for the server itself.
    asker: Option<Answers>,
    /// Which image of an entry is looked at, see [`GroupsAt::look_at`].
    image: Cell<Option<ImageNumber>>,
    pub(super) state: RefCell<State>,
}

/// The same, seen from one backend at its own snapshot.
#[derive(Clone, Copy)]
pub struct GroupsAt<'g> {
    pub(super) groups: &'g GroupsMoment,
    pub(super) own: BackendIndex,
    view: View<'g>,
}

/// The change that an entry is looked at beside, and whether as it was before it.
pub type ImageNumber = (u64, bool);

/// An attribute and the normalized name that a chain of its values leads to.
pub(super) type ChainStart = (TypeIndex, Box<[u8]>);

/// What was found out so far.
#[derive(Default)]
pub(super) struct State {
    names: Vec<ParentNames>,
    classes: Vec<ClassFlagTable>,
    /// Normalized names of parents.
    forms: HashMap<EntryPlace, Box<[u8]>>,
    parsed: NormalizedDn,
    pub above: HashMap<EntryPlace, Rc<[EntryPlace]>>,
    pub reaching: HashMap<(EntryPlace, EntryPlace), bool>,
    pub targets: HashMap<Box<[u8]>, Option<EntryPlace>>,
    pub chains: HashMap<ChainStart, Rc<HashSet<EntryPlace>>>,
    pub computed: Option<Rc<Computed>>,
    pub scratch: FilterScratch,
    /// Who was asked about last, and the values sent: `+` asks for them under two names.
    pub last: Option<(EntryPlace, Box<[u8]>)>,
    /// A chain has more entries than are followed.
    pub overflowed: bool,
}

/// The groups of all backends that do not list their members.
#[derive(Default)]
pub(super) struct Computed {
    pub dynamic: Vec<(EntryPlace, Vec<Arc<MemberUrl>>)>,
    /// With their targets.
    pub virtual_static: Vec<(EntryPlace, EntryPlace)>,
}

impl GroupsMoment {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(
        service: &Arc<GroupService>,
        backends: &Arc<[Backend]>,
        facts: &Arc<Facts>,
        now_unix_seconds: i64,
    ) -> GroupsMoment {
        let mut state = State::default();
        state.names.resize_with(backends.len(), ParentNames::default);
        state.classes.resize_with(backends.len(), ClassFlagTable::default);
        GroupsMoment {
            service: Arc::clone(service),
            facts: Arc::clone(facts),
            backends: Arc::clone(backends),
            now_unix_seconds,
            budget: Cell::new(u64::MAX),
            asker: None,
            image: Cell::new(None),
            others: (0..backends.len()).map(|_| OnceCell::new()).collect(),
            state: RefCell::new(state),
        }
    }

    /// The same with a limit of entries to look at where members are told.
    #[must_use]
    pub fn within(self, budget: Option<u64>) -> GroupsMoment {
        self.budget.set(budget.unwrap_or(u64::MAX));
        self
    }

    /// The same at another moment.
    #[must_use]
    pub fn renewed(&self) -> GroupsMoment {
        let renewed = GroupsMoment::new(&self.service, &self.backends, &self.facts, self.now_unix_seconds);
        renewed.budget.set(self.budget.get());
        GroupsMoment { asker: self.asker.clone(), ..renewed }
    }

    /// As an asker sees groups.
    #[must_use]
    pub fn for_asker(&self, answers: &Answers) -> GroupsMoment {
        GroupsMoment { asker: Some(answers.clone()), ..self.renewed() }
    }

    /// Whether telling members came to the limit, so that they are incomplete.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.budget.get() == 0
    }

    /// How many backends there are.
    #[must_use]
    pub fn backend_count(&self) -> usize {
        self.backends.len()
    }

    /// Seen from the backend `own` at the moment of `view`. All views of one `GroupsMoment` must be of one moment.
    #[must_use]
    pub fn at<'g>(&'g self, own: BackendIndex, view: View<'g>) -> GroupsAt<'g> {
        GroupsAt { groups: self, own, view }
    }

    /// Whether a chain had more entries than are followed, so that answers since are incomplete.
    #[must_use]
    pub fn overflowed(&self) -> bool {
        self.state.borrow().overflowed
    }
}

impl<'g> GroupsAt<'g> {
    /// An entry is looked at as a change left it, or found it: what was found out of another image of it is forgotten.
    pub fn look_at(&self, image: ImageNumber) -> bool {
        if self.groups.image.replace(Some(image)) != Some(image) {
            self.groups.state.borrow_mut().last = None;
            return true;
        }
        false
    }

    /// The schema.
    #[must_use]
    pub fn facts(&self) -> &'g Facts {
        &self.groups.facts
    }

    /// The asker whose view it is; none for the server itself.
    pub(super) fn asker(&self) -> Option<Reader<'g>> {
        self.groups.asker.as_ref().map(|answers| Reader { facts: &self.groups.facts, rights: &**answers })
    }

    /// Whether an entry of a backend shows.
    pub(super) fn shows(&self, place: EntryPlace, record: &RecordView<'_>) -> Result<bool, StoreError> {
        let Some(reader) = self.asker() else { return Ok(true) };
        let source = StoredAt::new(place.backend, self.view_of(place.backend)?);
        reader.shows(&EntryView { id: place.id, record: *record, dn: DnParts::default(), source: &source })
    }

    /// Whether the asker has a right to an attribute of an entry.
    pub(crate) fn may(
        &self,
        right: ReadRight,
        place: EntryPlace,
        record: &RecordView<'_>,
        attribute: TypeIndex,
    ) -> Result<bool, StoreError> {
        let Some(reader) = self.asker() else { return Ok(true) };
        let source = StoredAt::new(place.backend, self.view_of(place.backend)?);
        let entry = EntryView { id: place.id, record: *record, dn: DnParts::default(), source: &source };
        reader.may(right, &entry, attribute)
    }

    /// Whether the asker may read an attribute of an entry.
    pub(crate) fn may_read(&self, entry: &EntryView<'_>, attribute: TypeIndex) -> Result<bool, StoreError> {
        self.asker().map_or(Ok(true), |reader| reader.may(ReadRight::Read, entry, attribute))
    }

    /// How many of an entry's children show, as far as they are looked at, up to `most`.
    pub(crate) fn shown_children(&self, id: EntryId, most: u64) -> Result<u64, StoreError> {
        let shows = self.asker().map_or(Answer::Yes, |reader| reader.rights.shows_entries());
        match shows {
            Answer::Yes => return self.view.children_count(id),
            Answer::No => return Ok(0),
            Answer::Ask => {}
        }
        let mut count = 0;
        for child in self.view.children(id)?.iter().take(CHILDREN_LOOKED_AT_MAX) {
            let Some(record) = self.view.entry(child)? else { continue };
            count += u64::from(self.shows(EntryPlace { backend: self.own, id: child }, &record.view()?)?);
            if count >= most {
                break;
            }
        }
        Ok(count)
    }

    /// The schema, to be kept.
    #[must_use]
    pub fn facts_shared(&self) -> &'g Arc<Facts> {
        &self.groups.facts
    }

    /// The backend that it is seen from.
    pub fn own(&self) -> BackendIndex {
        self.own
    }

    /// The moment of that backend.
    pub fn view(&self) -> View<'g> {
        self.view
    }

    /// The backends in service.
    pub fn backends(&self) -> &'g [Backend] {
        &self.groups.backends
    }

    /// The suffixes of the own backend.
    pub fn suffixes(&self) -> &'g [Suffix] {
        self.backends().get(self.own.0).map(|backend| backend.suffixes.as_slice()).unwrap_or_default()
    }

    /// How many RDNs an entry of the own backend is below another one; none when it is not.
    pub fn depth_below(&self, id: EntryId, top: EntryId) -> Result<Option<usize>, StoreError> {
        let mut state = self.groups.state.borrow_mut();
        let Some(names) = state.names.get_mut(self.own.0) else { return Ok(None) };
        let depth = Cell::new(0);
        let is_top = |above: EntryId| {
            depth.set(depth.get() + 1);
            above == top
        };
        let is_below = names.any_above(&self.view, id, is_top)?;
        Ok(is_below.then(|| depth.get() - 1))
    }

    /// The same as seen from another backend.
    pub(super) fn from(&self, backend: BackendIndex) -> Result<GroupsAt<'g>, StoreError> {
        Ok(GroupsAt { groups: self.groups, own: backend, view: self.view_of(backend)? })
    }

    /// The moment of a backend.
    pub fn view_of(&self, backend: BackendIndex) -> Result<View<'g>, StoreError> {
        if backend == self.own {
            return Ok(self.view);
        }
        let (Some(cell), Some(at)) = (self.groups.others.get(backend.0), self.groups.backends.get(backend.0)) else {
            return Err(StoreError::Misuse("no such backend"));
        };
        if cell.get().is_none() {
            // Nobody else sets it: a `GroupsMoment` belongs to one thread.
            let _ = cell.set(at.store.snapshot()?);
        }
        cell.get().map(Snapshot::view).ok_or(StoreError::Misuse("a snapshot vanished"))
    }

    /// Which kinds of groups a backend may have: no look at an index.
    pub(super) fn may_have(&self, backend: BackendIndex, kinds: ClassFlags) -> Result<bool, StoreError> {
        let view = self.view_of(backend)?;
        let mut state = self.groups.state.borrow_mut();
        let Some(table) = state.classes.get_mut(backend.0) else { return Ok(false) };
        table.refresh(self.facts(), view.tables());
        Ok(table.any(kinds))
    }

    /// What the classes of an entry of a backend mean.
    #[must_use]
    pub fn class_flags(&self, backend: BackendIndex, record: &RecordView<'_>) -> ClassFlags {
        let state = self.groups.state.borrow();
        match state.classes.get(backend.0) {
            Some(table) => table.of(self.facts(), record),
            None => self.facts().class_flags(record.object_classes()),
        }
    }

    /// Appends the normalized name of an entry; `false` when its name cannot be told.
    pub fn put_form(
        &self,
        backend: BackendIndex,
        record: &RecordView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        let view = self.view_of(backend)?;
        let state = &mut *self.groups.state.borrow_mut();
        let schema = &self.facts().schema;
        if record.parent() != EntryId::ROOT {
            let parent = EntryPlace { backend, id: record.parent() };
            if !state.forms.contains_key(&parent) {
                let Some(names) = state.names.get_mut(backend.0) else { return Ok(false) };
                let Some(dn) = names.dn(&view, parent.id)? else { return Ok(false) };
                if state.parsed.parse_into(schema, dn).is_err() {
                    return Ok(false);
                }
                if state.forms.len() >= REMEMBERED_MAX {
                    state.forms.clear();
                }
                state.forms.insert(parent, state.parsed.as_bytes().into());
            }
            out.extend_from_slice(state.forms.get(&parent).map(|form| &**form).unwrap_or_default());
        }
        if state.parsed.parse_into(schema, record.rdn()).is_err() {
            return Ok(false);
        }
        out.extend_from_slice(state.parsed.as_bytes());
        Ok(true)
    }

    /// Appends the name of an entry as it is shown; `false` when there is no such entry.
    pub fn put_dn(&self, place: EntryPlace, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        let view = self.view_of(place.backend)?;
        let Some(record) = view.entry(place.id)? else { return Ok(false) };
        let record = record.view()?;
        out.extend_from_slice(record.rdn());
        let state = &mut *self.groups.state.borrow_mut();
        let Some(names) = state.names.get_mut(place.backend.0) else { return Ok(false) };
        match names.dn(&view, record.parent())? {
            Some(b"") => {}
            Some(parent) => {
                out.push(b',');
                out.extend_from_slice(parent);
            }
            None => return Ok(false),
        }
        Ok(true)
    }

    /// The entry with a normalized name, in whichever backend it is.
    pub fn locate(&self, form: &[u8]) -> Result<Option<EntryPlace>, StoreError> {
        let Some((backend, suffix)) = holder(&self.groups.backends, form) else { return Ok(None) };
        let id = locate(&self.view_of(backend)?, &suffix.normalized, form)?.found();
        Ok(id.map(|id| EntryPlace { backend, id }))
    }

    /// Remembers the groups above a group.
    pub(super) fn remember_above(&self, place: EntryPlace, above: &Rc<[EntryPlace]>) {
        let mut state = self.groups.state.borrow_mut();
        if state.above.len() + state.reaching.len() >= REMEMBERED_MAX {
            state.above.clear();
            state.reaching.clear();
        }
        state.above.insert(place, Rc::clone(above));
    }
}

impl EntrySource for GroupsAt<'_> {
    fn children_count(&self, id: EntryId) -> Result<u64, StoreError> {
        self.view.children_count(id)
    }

    fn large_rows(&self, id: EntryId, desc: DescId, behind: &[u8], each: EachRow<'_>) -> Result<(), StoreError> {
        self.view.large_rows(id, desc, behind, each)
    }

    fn large_contains(&self, id: EntryId, desc: DescId, normal_form: &[u8]) -> Result<bool, StoreError> {
        self.view.large_contains(id, desc, normal_form)
    }

    fn stored(&self) -> Option<StoredAt<'_>> {
        Some(StoredAt::new(self.own, self.view))
    }

    fn unix_seconds(&self) -> Option<i64> {
        Some(self.groups.now_unix_seconds)
    }

    fn groups(&self) -> Option<&dyn Membership> {
        Some(self)
    }
}
