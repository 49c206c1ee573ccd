//! A stretch of changes, and the entries that they are about as they were before and after each.
//!
//! The history keeps what changed, not whole entries. An entry as of a change is the entry of the present snapshot with
//! the later changes taken back; so a stretch is told exactly when it reaches up to the snapshot. A client that is so
//! far behind that it does not is told entries as they are now, in the order of the changes.

use std::collections::HashMap;
use std::sync::Arc;

use schema::NormalizedDn;
use store::{EntryId, RecordView, Snapshot, StoreError};

use super::state::EntryState;
use crate::search::RequestTime;
use change::history::{Cause, Change, ChangeKind, Edit, HistoryError, HistoryReader};
use query::backend::BackendIndex;
use query::encode::EntryChange;
use query::facts::Facts;
use query::locate::locate;
use query::read_moment::{ReadContext, ReadMoment};

/// Changes of one stretch.
const CHANGES_MAX: usize = 4_096;
/// Bytes of the values in one stretch, except that one change is always taken.
const BYTES_MAX: usize = 16 << 20;

/// One change, owned.
#[derive(Debug)]
pub(super) struct Event {
    pub number: u64,
    pub backend: BackendIndex,
    pub sequence: u64,
    pub kind: ChangeKind,
    pub entry: EntryId,
    /// Its name before.
    pub dn: String,
    pub normalized: NormalizedDn,
    /// Its name after, when that is another one.
    pub new_name: Option<(String, NormalizedDn)>,
    pub edits: Vec<Edit>,
    /// Binds changed the state of an account.
    pub is_account_state: bool,
}

impl Event {
    fn of(facts: &Facts, change: &Change<'_>) -> Option<Event> {
        let normalized = |dn: &str| NormalizedDn::parse(&facts.schema, dn.as_bytes()).ok();
        let new_name = match &change.rename {
            Some(rename) => Some((rename.new_dn.clone(), normalized(&rename.new_dn)?)),
            None => None,
        };
        Some(Event {
            number: change.number,
            backend: change.backend,
            sequence: change.sequence,
            kind: change.kind,
            entry: change.entry,
            dn: change.dn.to_owned(),
            normalized: normalized(change.dn)?,
            new_name,
            edits: change.attributes().map(|attribute| attribute.to_edit()).collect(),
            is_account_state: change.cause == Cause::AccountState,
        })
    }

    fn bytes(&self) -> usize {
        let values = |list: &[Vec<u8>]| list.iter().map(|value| value.len() + 24).sum::<usize>();
        let of = |edit: &Edit| edit.description.len() + values(&edit.removed) + values(&edit.added);
        self.dn.len() + self.edits.iter().map(of).sum::<usize>()
    }

    /// The bit of the draft's `changeTypes`, which is the `changeType` of the notification.
    pub fn change_type(&self) -> u8 {
        match self.kind {
            ChangeKind::Add => 1,
            ChangeKind::Delete => 2,
            ChangeKind::Modify => 4,
            ChangeKind::ModifyDn => 8,
        }
    }

    /// Its names: before, and after when that is another one.
    pub fn names(&self) -> impl Iterator<Item = &NormalizedDn> + Clone {
        std::iter::once(&self.normalized).chain(self.new_name.as_ref().map(|(_, normalized)| normalized))
    }

    /// Whether the entry was there before and is after.
    pub fn is_of_stored(&self) -> bool {
        matches!(self.kind, ChangeKind::Modify | ChangeKind::ModifyDn)
    }

    /// The name that is shown: after the change, or the last one.
    fn shown(&self) -> (&str, &NormalizedDn) {
        self.new_name.as_ref().map_or((&self.dn, &self.normalized), |(dn, normalized)| (dn, normalized))
    }

    /// What is told of it beside the entry.
    pub fn as_told(&self) -> EntryChange<'_> {
        let number = i64::try_from(self.number).ok();
        EntryChange { number, ..self.as_told_without_number() }
    }

    /// The same to whom the number would tell of changes of entries that do not show.
    pub fn as_told_without_number(&self) -> EntryChange<'_> {
        EntryChange {
            change_type: self.change_type(),
            previous_dn: (self.kind == ChangeKind::ModifyDn).then_some(self.dn.as_str()),
            number: None,
        }
    }
}

/// Changes that follow each other, read from the history.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    pub events: std::collections::VecDeque<Event>,
    bytes: usize,
    /// All changes up to this number are in it or lie before it.
    pub upto: u64,
    /// There is more for now than fitted.
    pub is_cut: bool,
}

impl Stretch {
    /// Reads on, as far as there is room.
    pub fn extend(&mut self, facts: &Facts, reader: &mut HistoryReader) -> Result<(), HistoryError> {
        self.is_cut = false;
        loop {
            if self.events.len() >= CHANGES_MAX || self.bytes >= BYTES_MAX {
                self.is_cut = true;
                return Ok(());
            }
            let Some(change) = reader.next_change()? else { break };
            let number = change.number;
            // A name that is none, or an entry that is in no backend: nothing that a search could find.
            if change.entry != EntryId::ROOT
                && let Some(event) = Event::of(facts, &change)
            {
                self.bytes += event.bytes();
                self.events.push_back(event);
            }
            self.upto = number;
        }
        Ok(())
    }

    /// Forgets the changes up to `number`.
    pub fn forget(&mut self, number: u64) {
        while self.events.front().is_some_and(|event| event.number <= number) {
            if let Some(event) = self.events.pop_front() {
                self.bytes = self.bytes.saturating_sub(event.bytes());
            }
        }
    }
}

/// The backends at one moment.
pub(crate) struct Present {
    pub facts: Arc<Facts>,
    pub snapshots: Vec<Snapshot>,
    context: ReadContext,
    unix_seconds: i64,
}

impl Present {
    /// Now, under the schema of `facts`.
    pub fn now(context: &ReadContext, facts: Arc<Facts>) -> Result<Present, StoreError> {
        let context = context.clone();
        let snapshots = context.backends.iter().map(|backend| backend.store.snapshot()).collect::<Result<_, _>>()?;
        let unix_seconds = RequestTime::now().unix_seconds;
        Ok(Present { facts, snapshots, context, unix_seconds })
    }

    /// Groups and computed attributes; to be asked about entries of one backend only, because the others are looked at
    /// somewhat later.
    pub fn moment(&self) -> ReadMoment {
        self.context.moment(&self.facts, self.unix_seconds)
    }

    /// The entry above a name, if there is one, and the name from there on.
    fn place_of(
        &self,
        backend: BackendIndex,
        dn: &str,
        normalized: &NormalizedDn,
    ) -> Result<(EntryId, String), StoreError> {
        let nowhere = (EntryId::ROOT, dn.to_owned());
        let (Some(own), Some(snapshot)) = (self.context.backends.get(backend.0), self.snapshots.get(backend.0)) else {
            return Ok(nowhere);
        };
        let (Some(suffix), Some(above)) = (own.suffix_of(normalized.as_bytes()), normalized.parent()) else {
            return Ok(nowhere);
        };
        let parent = locate(&snapshot.view(), &suffix.normalized, above.as_bytes())?.found();
        let parsed = ldap::Dn::parse(dn).ok();
        let rdn = parsed.as_ref().and_then(|parsed| parsed.rdn()).map(ToString::to_string);
        Ok(parent.zip(rdn).unwrap_or(nowhere))
    }

    /// Whether the change is in it.
    pub(super) fn has(&self, event: &Event) -> bool {
        self.snapshots.get(event.backend.0).is_some_and(|snapshot| event.sequence <= snapshot.seq())
    }
}

/// An entry at one side of a change.
#[derive(Debug)]
pub(super) struct Image {
    pub dn: String,
    record: Vec<u8>,
}

impl Image {
    pub fn record<'a>(&'a self, snapshot: &'a Snapshot) -> Result<RecordView<'a>, StoreError> {
        Ok(RecordView::parse(&self.record, snapshot.tables())?)
    }
}

/// Makes the images of the changes of a stretch, in order, each when somebody wants it.
pub(super) struct Images<'s> {
    moment: &'s Present,
    stretch: &'s Stretch,
    /// Entries as of the last change that was asked for: its place in the stretch.
    states: HashMap<(BackendIndex, EntryId), (usize, EntryState)>,
    /// Those of the change at hand: before and after, when made.
    at: usize,
    before: Option<Option<Image>>,
    after: Option<Option<Image>>,
}

impl<'s> Images<'s> {
    pub fn new(moment: &'s Present, stretch: &'s Stretch) -> Images<'s> {
        Images { moment, stretch, states: HashMap::new(), at: usize::MAX, before: None, after: None }
    }

    /// Goes on to the change at `at`.
    pub fn go_to(&mut self, at: usize) {
        (self.at, self.before, self.after) = (at, None, None);
    }

    /// The entry after the change; none for a deleted one, or one that is gone since and cannot be told any more.
    pub fn after(&mut self) -> Result<Option<&Image>, StoreError> {
        if self.after.is_none() {
            self.after = Some(self.make(false)?);
        }
        Ok(self.after.as_ref().and_then(Option::as_ref))
    }

    /// The entry before the change; none for an added one.
    pub fn before(&mut self) -> Result<Option<&Image>, StoreError> {
        if self.before.is_none() {
            self.before = Some(self.make(true)?);
        }
        Ok(self.before.as_ref().and_then(Option::as_ref))
    }

    /// After and before.
    pub fn both(&mut self) -> Result<(Option<&Image>, Option<&Image>), StoreError> {
        self.after()?;
        self.before()?;
        Ok((self.after.as_ref().and_then(Option::as_ref), self.before.as_ref().and_then(Option::as_ref)))
    }

    fn make(&mut self, is_before: bool) -> Result<Option<Image>, StoreError> {
        let (moment, stretch, at) = (self.moment, self.stretch, self.at);
        let Some(event) = stretch.events.get(at) else { return Ok(None) };
        let Some(snapshot) = moment.snapshots.get(event.backend.0) else { return Ok(None) };
        let tables = snapshot.tables();
        let changed;
        let state = match (event.kind, is_before) {
            (ChangeKind::Add, true) | (ChangeKind::Delete, false) => return Ok(None),
            (ChangeKind::Add, false) => {
                changed = EntryState::added(&event.edits, tables);
                self.states.insert((event.backend, event.entry), (at, changed.clone()));
                &changed
            }
            (ChangeKind::Delete, true) => {
                changed = EntryState::deleted(&event.edits, tables);
                &changed
            }
            (ChangeKind::Modify | ChangeKind::ModifyDn, is_before) => {
                let Some(state) = self.state_after(event, at)? else { return Ok(None) };
                if is_before {
                    let mut before = state.clone();
                    before.take_back(&event.edits, tables);
                    changed = before;
                    &changed
                } else {
                    state
                }
            }
        };
        let (dn, normalized) = if is_before { (event.dn.as_str(), &event.normalized) } else { event.shown() };
        let stored = snapshot.entry(event.entry)?;
        let stored = stored.as_ref().map(|stored| stored.view()).transpose()?;
        // The name as it is stored, if that is still the same: a request may spell it otherwise.
        let own = snapshot.dn_of(event.entry)?.filter(|own| {
            NormalizedDn::parse(&moment.facts.schema, own.as_bytes()).is_ok_and(|own| own == *normalized)
        });
        let record = match (&own, stored) {
            (Some(_), Some(stored)) => state.record(stored.parent(), stored.rdn(), tables)?,
            _ => {
                let (parent, rdn) = moment.place_of(event.backend, dn, normalized)?;
                state.record(parent, rdn.as_bytes(), tables)?
            }
        };
        Ok(Some(Image { dn: own.unwrap_or_else(|| dn.to_owned()), record }))
    }

    /// The entry as of the change at `at`, which is not the one that deleted it.
    fn state_after(&mut self, event: &Event, at: usize) -> Result<Option<&EntryState>, StoreError> {
        let (moment, stretch) = (self.moment, self.stretch);
        let Some(snapshot) = moment.snapshots.get(event.backend.0) else { return Ok(None) };
        let tables = snapshot.tables();
        let of_entry = |other: &&Event| other.entry == event.entry && other.backend == event.backend;
        let key = (event.backend, event.entry);
        if let Some((from, state)) = self.states.get_mut(&key) {
            let between = stretch.events.iter().take(at + 1).skip(*from + 1);
            between.filter(of_entry).for_each(|change| state.repeat(&change.edits, tables));
            *from = at;
        } else {
            let later = stretch.events.iter().skip(at + 1).filter(of_entry).filter(|other| moment.has(other));
            let later: Vec<&Event> = later.collect();
            let stored = snapshot.entry(event.entry)?;
            let mut later = later.into_iter().rev().peekable();
            let mut state = match (stored, later.peek()) {
                (Some(stored), _) => EntryState::stored(stored.view()?),
                (None, Some(last)) if last.kind == ChangeKind::Delete => {
                    let deleted = EntryState::deleted(&last.edits, tables);
                    later.next();
                    deleted
                }
                (None, _) => return Ok(None),
            };
            later.for_each(|change| state.take_back(&change.edits, tables));
            self.states.insert(key, (at, state));
        }
        Ok(self.states.get(&key).map(|(_, state)| state))
    }
}
