//! One persistent search after its first part: which changes it is told, and in which form.
//!
//! As in OpenDJ: an added or deleted entry is told when it is in scope and matches the filter; a modified one when it
//! matched before or matches now; a renamed one when its old or its new name is in scope and it matches now. Entries
//! below a renamed one have no changes of their own. What may be read, and which attributes are sent, is decided as for
//! every search.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ldap::{LdapResult, ResultCode, Scope, SearchRequest};
use store::{EntryId, Snapshot, StoreError};

use super::event::{Event, Image, Images, Present};
use super::output::{WatchOutput, WatchWaker};
use super::permit::WatchCounts;
use super::watched::Watched;
use crate::search::{Persistent, SearchDone, SearchPlan};
use change::history::ChangeKind;
use query::backend::BackendIndex;
use query::encode::{EncodeError, EntryChange, Layout, ShownEntry};
use query::entry::{DnParts, EntrySource, EntryView, plain};
use query::error;
use query::read_moment::{ReadAt, ReadMoment};
use query::rights::{Answer, Reader};

/// The bit of the draft's `changeTypes` for entries that are added.
const ADDED: u8 = 1;

/// Characters of a filter in `cn=monitor`.
const FILTER_CHARS_SHOWN: usize = 200;

/// See the module.
pub(super) struct Watch {
    pub id: u64,
    plan: Box<SearchPlan>,
    persistent: Box<Persistent>,
    output: Box<dyn WatchOutput>,
    waker: WatchWaker,
    done: SearchDone,
    /// The last change that it was told, or did not want to be told.
    pub position: u64,
    /// It was told something that may not be sent yet.
    is_gathering: bool,
    /// The client has taken too little: nothing more is told for now.
    is_full: bool,
    /// The backend whose numbers the selection goes by.
    selected_in: Option<BackendIndex>,
}

/// Why a watch is told no more.
pub(super) enum Stop {
    /// It has ended with this.
    Ended(LdapResult),
    /// The client must take something first. The change was not told.
    Full,
}

impl From<EncodeError> for Stop {
    fn from(error: EncodeError) -> Stop {
        match error {
            EncodeError::Store(problem) => problem.into(),
            EncodeError::Stopped => Stop::Full,
        }
    }
}

impl From<StoreError> for Stop {
    fn from(problem: StoreError) -> Stop {
        Stop::Ended(error::store_failure(&problem))
    }
}

/// What all watches need to be told a change.
pub(super) struct Telling<'t, 's> {
    pub event: &'t Event,
    pub images: &'t mut Images<'s>,
    pub present: &'s Present,
    /// By backend.
    pub moments: &'t mut BTreeMap<BackendIndex, ReadMoment>,
    pub scratch: &'t mut Scratch,
    /// What binds change in accounts is told, too.
    pub tells_account_state: bool,
}

/// Buffers.
#[derive(Default)]
pub(super) struct Scratch {
    filter: query::filter::FilterScratch,
    values: Vec<u8>,
}

impl Watch {
    /// Begins after the first part, which ended with `done`.
    pub fn new(
        id: u64,
        plan: Box<SearchPlan>,
        persistent: Box<Persistent>,
        done: SearchDone,
        output: Box<dyn WatchOutput>,
        waker: WatchWaker,
    ) -> Watch {
        Watch {
            id,
            position: persistent.after,
            plan,
            persistent,
            output,
            waker,
            done,
            is_gathering: false,
            is_full: false,
            selected_in: None,
        }
    }

    /// Nobody wants the rest.
    pub fn is_cancelled(&self) -> bool {
        self.output.is_cancelled()
    }

    /// Whether it may be told something now. If not, it says so when it may.
    pub fn has_room(&mut self) -> bool {
        if self.is_full {
            // First said, then looked: the client may take something in between.
            self.waker.wait();
            self.is_full = !self.output.has_room();
        }
        !self.is_full
    }

    /// Prepares filter and selection anew when the schema is another one, or the rights of who asks are.
    pub fn prepare(&mut self, directory: &dyn Watched, present: &Present) -> Result<(), LdapResult> {
        let rights = directory.rights_at(present, &self.persistent.session);
        let rights = rights.map_err(|problem| error::store_failure(&problem))?;
        if !self.plan.is_under(&present.facts) || !Arc::ptr_eq(&rights, &self.persistent.rights) {
            self.plan = directory.plan_again(&self.persistent, &rights)?;
            self.persistent.rights = rights;
            self.selected_in = None;
        }
        Ok(())
    }

    /// Tells it one change, unless it is none of its own.
    pub fn tell(&mut self, telling: &mut Telling<'_, '_>, counts: &WatchCounts) -> Result<(), Stop> {
        let event = telling.event;
        let is_shown = telling.tells_account_state || !event.is_account_state;
        if is_shown && self.concerns(event) {
            self.tell_entry(telling, counts)?;
        }
        self.position = event.number;
        Ok(())
    }

    /// Whether the change is of a wanted kind, in scope, and not known already.
    fn concerns(&mut self, event: &Event) -> bool {
        let persistent = &mut *self.persistent;
        // A change may bring an entry into sight: to who asks, it is added.
        let types = event.change_type() | if self.plan.asks() && event.is_of_stored() { ADDED } else { 0 };
        if persistent.asked.change_types & types == 0 {
            return false;
        }
        if !event.names().any(|dn| persistent.covers(dn)) {
            return false;
        }
        match persistent.from.iter().find(|(backend, _)| *backend == event.backend) {
            Some((_, first)) if event.sequence > *first => {}
            _ => return false,
        }
        if !persistent.trails.is_empty() {
            persistent.forget_until(event.backend, event.sequence);
        }
        !persistent.knows(event.backend, event.entry, event.sequence, event.names())
    }

    fn tell_entry(&mut self, telling: &mut Telling<'_, '_>, counts: &WatchCounts) -> Result<(), Stop> {
        let event = telling.event;
        let present = telling.present;
        let Some(snapshot) = present.snapshots.get(event.backend.0) else { return Ok(()) };
        if self.selected_in.replace(event.backend) != Some(event.backend) {
            self.plan.selection().meet_tables();
        }
        // Telling members is limited, for each search by itself; all else is the same for all.
        let answers = self.plan.answers()?;
        let most = self.plan.tells_members();
        let is_own = most.is_some() || self.plan.asks() || self.plan.asks_for_groups();
        let own = is_own.then(|| present.moment().for_asker(&answers).within(most.flatten()));
        let moment = match &own {
            Some(moment) => moment,
            None => telling.moments.entry(event.backend).or_insert_with(|| present.moment()),
        };
        let source = moment.at(event.backend, snapshot.view());
        let reader = Reader { facts: &present.facts, rights: &*answers };
        let mut seen = Seen { reader, snapshot, event, source, own: own.as_ref(), is_brought_into_sight: false };
        if self.plan.asks() && !self.is_still_wanted(&mut seen, telling.images)? {
            return Ok(());
        }
        let is_told = match event.kind {
            ChangeKind::Delete => match telling.images.before()? {
                Some(image) => self.put(&seen, image, None, telling.scratch)?,
                None => false,
            },
            ChangeKind::Add | ChangeKind::ModifyDn => match telling.images.after()? {
                Some(image) => self.put(&seen, image, None, telling.scratch)?,
                None => false,
            },
            ChangeKind::Modify => self.put_modified(&seen, telling.images, telling.scratch)?,
        };
        if !is_told {
            return Ok(());
        }
        self.done.entries_sent += 1;
        counts.told.fetch_add(1, Ordering::Relaxed);
        self.is_gathering = true;
        self.look_for_room();
        Ok(())
    }

    /// Whether a change is still wanted when it is known whether it brings an entry into sight.
    fn is_still_wanted(&self, seen: &mut Seen<'_>, images: &mut Images<'_>) -> Result<bool, Stop> {
        let (event, asked) = (seen.event, self.persistent.asked.change_types);
        if !event.is_of_stored() {
            return Ok(true);
        }
        let showed = match images.before()? {
            Some(before) => seen.shows(before, true)?,
            None => false,
        };
        seen.is_brought_into_sight = !showed;
        Ok(match showed {
            true => asked & event.change_type() != 0,
            false => asked & ADDED != 0 && event.names().last().is_some_and(|dn| self.persistent.covers(dn)),
        })
    }

    /// A modified entry is told when it matches, and when it does not any more.
    fn put_modified(&mut self, seen: &Seen<'_>, images: &mut Images<'_>, scratch: &mut Scratch) -> Result<bool, Stop> {
        let Some(after) = images.after()? else { return Ok(false) };
        if self.put(seen, after, None, scratch)? {
            return Ok(true);
        }
        match images.both()? {
            (Some(after), Some(before)) if !seen.is_brought_into_sight => self.put(seen, after, Some(before), scratch),
            _ => Ok(false),
        }
    }

    /// Tells `image` if it, or the `matching` one in its stead, is visible and matches the filter.
    fn put(
        &mut self,
        seen: &Seen<'_>,
        image: &Image,
        matching: Option<&Image>,
        scratch: &mut Scratch,
    ) -> Result<bool, Stop> {
        if !seen.shows(image, false)? {
            return Ok(false);
        }
        let source: &dyn EntrySource = &seen.source;
        let tried = matching.unwrap_or(image);
        let record = tried.record(seen.snapshot)?;
        let is_base = self.persistent.scope == Scope::BaseObject;
        let is_base_entry = seen.event.names().any(|dn| *dn == self.persistent.base);
        if !self.plan.shows(record.object_classes(), is_base, is_base_entry) {
            return Ok(false);
        }
        let dn = DnParts::whole(tried.dn.as_bytes());
        seen.source.look_at((seen.event.number, matching.is_some()));
        let tried = EntryView { id: seen.event.entry, record, dn, source };
        if !self.plan.matches(&tried, seen.reader.rights, &mut scratch.filter)? {
            return Ok(false);
        }
        if self.plan.size_limit().is_some_and(|limit| self.done.entries_sent >= limit) {
            return Err(Stop::Ended(self.plan.size_exceeded()));
        }
        // Looked at only when there is something to send, so that changes of no concern do not make anybody wait.
        if !self.has_room() {
            return Err(Stop::Full);
        }
        let dn = DnParts::whole(image.dn.as_bytes());
        seen.source.look_at((seen.event.number, false));
        let shown = EntryView { id: seen.event.entry, record: image.record(seen.snapshot)?, dn, source };
        let asks = self.plan.asks();
        let takes_all = &mut || ControlFlow::Continue(());
        let layout = Layout::new(seen.reader, &shown, self.plan.selection(), &mut scratch.values, takes_all)?;
        if seen.own.is_some_and(ReadMoment::is_spent) {
            return Err(Stop::Ended(self.plan.lookthrough_exceeded()));
        }
        let mut shown = ShownEntry::new(&layout, &shown, &scratch.values);
        shown.change = self.persistent.asked.return_controls.then(|| seen.as_told(asks));
        self.output.entry(&shown)?;
        Ok(true)
    }

    /// Has sent what was told.
    pub fn flush(&mut self) {
        if std::mem::take(&mut self.is_gathering) {
            self.output.flush();
            self.look_for_room();
        }
    }

    /// Whether the client has taken so little that it must wait.
    fn look_for_room(&mut self) {
        if !self.output.has_room() {
            self.is_full = true;
            self.has_room();
        }
    }

    /// The end.
    pub fn end(mut self, result: LdapResult) {
        self.flush();
        let Watch { output, done, persistent, .. } = self;
        // Its place is free before the client knows.
        drop(persistent);
        let is_cancelled = result.code == ResultCode::CANCELED;
        output.finish(SearchDone { result, is_cancelled, ..done });
    }
}

/// Where a change is seen from.
struct Seen<'a> {
    reader: Reader<'a>,
    snapshot: &'a Snapshot,
    event: &'a Event,
    source: ReadAt<'a>,
    /// What the watch is shown members of groups by, where it asks for them.
    own: Option<&'a ReadMoment>,
    /// The entry did not show before the change.
    is_brought_into_sight: bool,
}

impl Seen<'_> {
    /// Whether an image of the entry shows. What cannot be judged any more does not: where the entry above is gone, or
    /// instructions that the entry had itself.
    fn shows(&self, image: &Image, is_before: bool) -> Result<bool, Stop> {
        let rights = self.reader.rights;
        match rights.shows_entries() {
            Answer::Yes => return Ok(true),
            Answer::No => return Ok(false),
            Answer::Ask => {}
        }
        let record = image.record(self.snapshot)?;
        let is_gone = self.snapshot.entry(self.event.entry)?.is_none();
        let is_top = record.parent() == EntryId::ROOT;
        let aci = self.reader.facts.schema.attribute_type(b"aci").map(|it| it.index);
        let had_instructions = aci.is_some_and(|aci| plain(&record, aci).next().is_some());
        if is_gone && (is_top || had_instructions) {
            return Ok(false);
        }
        self.source.look_at((self.event.number, is_before));
        let dn = DnParts::whole(image.dn.as_bytes());
        let entry = EntryView { id: self.event.entry, record, dn, source: &self.source };
        Ok(rights.shows(self.reader.facts, &entry)?)
    }

    /// What is told of the change to whom not everything may show (`asks`), or else.
    fn as_told(&self, asks: bool) -> EntryChange<'_> {
        match (asks, self.is_brought_into_sight) {
            (false, _) => self.event.as_told(),
            (true, false) => self.event.as_told_without_number(),
            (true, true) => EntryChange { change_type: ADDED, previous_dn: None, number: None },
        }
    }
}

/// For `cn=monitor`.
impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Persistent { session, operation, asked, .. } = &*self.persistent;
        let (connection, identity) = (session.connection, &session.identity);
        write!(f, "conn={connection} op={operation} authDN=\"{}\" changeTypes={}", identity.dn(), asked.change_types)?;
        if let Ok(request) = SearchRequest::decode(&self.persistent.request) {
            let base = String::from_utf8_lossy(request.base);
            let filter: String = request.filter.to_string().chars().take(FILTER_CHARS_SHOWN).collect();
            write!(f, " base=\"{base}\" scope={} filter=\"{filter}\"", request.scope.as_str())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("id", &self.id).field("position", &self.position).finish_non_exhaustive()
    }
}
