//! Sorting by walking an index in its order: a VLV index that is the sorted list, or the index of the first sort key.
//!
//! Each key's entries that are among the candidates are fetched and sent, so that a page costs what it holds. A key
//! says where an entry *may* stand: the entry decides, by its sort key. One with several values stands at its least
//! only; keys that are cut short are taken together and sorted in memory, and so are the entries of one key when there
//! are further sort keys.
//!
//! Entries without a value are in no key of an attribute's index. They come last, or first when the order is reversed,
//! and are found by looking at all candidates: in ascending order that is only paid when everything else was sent.

use std::collections::VecDeque;
use std::ops::Bound;

use store::index::{Index, SortKey, SortOrder};
use store::posting::key::KEY_PREFIX_BYTES;
use store::{EntryId, IndexId, PostingScan, PostingScanBack, Postings, Snapshot, StoreError, View};

use super::too_much;
use super::{Collector, Reserved, Sorting, forced};
use crate::search::entry_writer::{CANDIDATES_PER_LOOK, EntryWriter};
use crate::search::paged::{Page, Position};
use crate::search::refusal::SearchRefusal;
use crate::search::run::{Run, is_gone, next_candidates};
use crate::search::stop::Stop;
use crate::search::vlv_index;
use query::plan::{Candidates, successor};

/// Fewer candidates are sorted faster than an index is walked.
const CANDIDATES_MIN: u64 = 500;

/// Ids of the index between two looks at the clock; most are passed by without a fetch.
const IDS_PER_LOOK: usize = 4_096;

/// Ids looked at behind a full page for its cookie's sake.
const IDS_BEYOND_MAX: usize = 1_024;

/// An index that is in the order asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ordered {
    id: IndexId,
    /// Its keys are whole sort keys (a VLV index), not values of the first sort attribute.
    is_whole: bool,
}

/// The index to walk, if it pays. To find `wanted` of the part's entries, the walk of an attribute's index passes by
/// those of other entries; a sort looks at all candidates twice.
pub(super) fn index_for<O: EntryWriter>(
    run: &Run<'_, O>,
    view: &View<'_>,
    sorting: &Sorting,
    wanted: Option<u64>,
) -> Result<Option<Ordered>, StoreError> {
    // An index tells of values and entries that the asker may not know.
    if run.asks() || !sorting.asks.is_empty() || (run.has_new_rights() && !sorting.is_open(run.reader())) {
        return Ok(None);
    }
    let all = view.entry_count()?;
    let candidates = run.part.candidates.count().unwrap_or(all);
    let is_many = candidates >= CANDIDATES_MIN;
    if let Some(id) = vlv_index::index_for(run, view, sorting)? {
        return Ok(forced().unwrap_or(is_many).then_some(Ordered { id, is_whole: true }));
    }
    let Some(index) = index_of(view, &sorting.order) else { return Ok(None) };
    let passed = u128::from(wanted.unwrap_or(candidates)) * u128::from(all);
    let pays = is_many && passed <= 4 * u128::from(candidates) * u128::from(candidates);
    Ok(forced().unwrap_or(pays).then_some(Ordered { id: index.id, is_whole: false }))
}

fn index_of<'v>(view: &View<'v>, order: &SortOrder) -> Option<&'v Index> {
    let first = order.keys().first()?;
    let indexes = view.indexes();
    let index = indexes.set().equality(first.attribute, first.rule);
    index.filter(|index| index.is_ordered() && indexes.is_trusted(index.id))
}

/// One walk.
pub(super) struct Walk<'w, 'r, O> {
    run: &'w mut Run<'r, O>,
    sorting: &'w Sorting,
    order: &'w SortOrder,
    first: &'w SortKey,
    index: Ordered,
    /// Everything up to here was sent on earlier pages.
    start: Option<&'w Position>,
    /// Entries that the page still has room for.
    room: Option<u64>,
    /// No page may follow.
    is_last_allowed: bool,
    /// The last entry sent.
    last: Option<Position>,
    /// Ids seen since the page was full.
    beyond: usize,
    /// The entries of the keys that are taken together, not yet in order.
    group: Option<Group>,
    /// Entries in order, to be sent next.
    queue: VecDeque<Position>,
    /// What the queue takes of the memory for sorting.
    queue_memory: Option<Reserved>,
    /// Scratch for sort keys.
    key: Vec<u8>,
}

/// Keys that are taken together: one key, or all that are the same as far as keys go in clear.
struct Group {
    stem: Vec<u8>,
    /// What the sort keys of its entries begin with.
    component: Vec<u8>,
    /// Its entries come in order by themselves.
    is_direct: bool,
    collector: Collector,
}

/// Where the walk is: at keys within the bound, in the first of them behind an entry.
struct WalkPosition {
    keys: Bound<Vec<u8>>,
    after: EntryId,
}

/// How a walk ended, when not by an error.
pub(super) enum Ended {
    /// Everything was sent.
    Complete,
    /// The index was dropped meanwhile, or may not be used any more: the rest is to be found otherwise.
    IndexGone,
}

impl<'w, 'r, O: EntryWriter> Walk<'w, 'r, O> {
    /// Over the entries of `run`'s part, behind what earlier pages had.
    pub(super) fn new(
        run: &'w mut Run<'r, O>,
        sorting: &'w Sorting,
        index: Ordered,
        page: Option<&'w Page>,
    ) -> Option<Self> {
        let order = &sorting.order;
        Some(Walk {
            run,
            sorting,
            order,
            first: order.keys().first()?,
            index,
            start: page.and_then(|page| page.start.as_ref()),
            room: page.map(|page| page.size),
            is_last_allowed: page.is_some_and(|page| page.is_last_allowed),
            last: None,
            beyond: 0,
            group: None,
            queue: VecDeque::new(),
            queue_memory: None,
            key: Vec::new(),
        })
    }

    /// The last entry sent, and what room is left on the page.
    pub(super) fn progress(self) -> (Option<Position>, Option<u64>) {
        (self.last.or_else(|| self.start.cloned()), self.room)
    }

    /// Sends everything in order, or a page of it.
    pub(super) fn run(&mut self, mut snapshot: Snapshot, ids: &mut Vec<EntryId>) -> Result<Ended, Stop> {
        let mut missing = Vec::new();
        self.first.put_component(None, &mut missing);
        let begins_missing = self.start.is_some_and(|start| start.key.starts_with(&missing));
        // Whether there are entries with a value, and entries without, that come at or behind the page's start.
        let (has_keys, has_missing) = match self.first.descending {
            _ if self.index.is_whole => (true, false),
            false => (!begins_missing, true),
            true => (true, self.start.is_none() || begins_missing),
        };
        if has_missing && self.first.descending {
            snapshot = self.missing(snapshot, ids, &missing)?;
        }
        if has_keys {
            let mut place = self.begin();
            while let Some(next) = self.piece(&snapshot.view(), place)? {
                place = next;
                snapshot = self.run.breathe(snapshot)?;
                if !snapshot.view().indexes().is_trusted(self.index.id) || !self.may_walk()? {
                    return Ok(Ended::IndexGone);
                }
            }
        }
        if has_missing && !self.first.descending {
            snapshot = self.missing(snapshot, ids, &missing)?;
        }
        self.run.referrals(&snapshot.view())?;
        Ok(Ended::Complete)
    }

    /// Whether the index may still be walked for who asks. No order is told by values that may not be searched.
    fn may_walk(&self) -> Result<bool, Stop> {
        if !self.run.has_new_rights() {
            return Ok(true);
        }
        if self.sorting.is_closed(self.run.reader()) {
            return Err(SearchRefusal::SortNotAllowedNow.into());
        }
        Ok(self.sorting.is_open(self.run.reader()) && !self.run.asks())
    }

    /// Whether the index is walked from its end.
    fn is_backwards(&self) -> bool {
        self.first.descending && !self.index.is_whole
    }

    /// The keys at which the page begins.
    fn begin(&self) -> WalkPosition {
        let form = self.start.and_then(|start| match self.index.is_whole {
            true => Some(start.key.clone()),
            false => self.order.first_form(&start.key),
        });
        let keys = match form {
            None => Bound::Unbounded,
            Some(form) if self.is_backwards() && form.len() >= KEY_PREFIX_BYTES => {
                successor(stem_of(&form)).map(|end| end.to_vec())
            }
            Some(form) => Bound::Included(stem_of(&form).to_vec()),
        };
        WalkPosition { keys, after: EntryId::ROOT }
    }

    /// Goes on for a while from `place`; gives the place to go on from, none at the end.
    fn piece(&mut self, view: &View<'_>, place: WalkPosition) -> Result<Option<WalkPosition>, Stop> {
        if self.send_queue(view)? {
            return Ok(Some(place));
        }
        let bound = as_slice(&place.keys);
        let mut scan = Scan::new(view, self.index.id, bound, self.is_backwards())?;
        let part = self.run.part;
        let members = Members::new(&part.candidates, view)?;
        let (mut looked, mut fetched) = (0, 0);
        while let Some((key, postings)) = scan.next()? {
            let stem = stem_of(key);
            if self.group.as_ref().is_none_or(|group| group.stem != stem) {
                if self.finish_group() {
                    return Ok(Some(WalkPosition { keys: Bound::Included(key.to_vec()), after: EntryId::ROOT }));
                }
                self.group = Some(self.group_of(stem));
            }
            let is_resumed = matches!(&place.keys, Bound::Included(resumed) if resumed == key);
            let after = self.first_of_page(if is_resumed { place.after } else { EntryId::ROOT });
            for id in postings.iter_from(EntryId(after.0.saturating_add(1))) {
                looked += 1;
                self.look_beyond()?;
                if members.has(id)? {
                    fetched += 1;
                    self.member(view, id)?;
                }
                if looked >= IDS_PER_LOOK || fetched >= CANDIDATES_PER_LOOK {
                    return Ok(Some(WalkPosition { keys: Bound::Included(key.to_vec()), after: id }));
                }
            }
            looked += 1;
            if looked >= IDS_PER_LOOK {
                return Ok(Some(WalkPosition { keys: Bound::Excluded(key.to_vec()), after: EntryId::ROOT }));
            }
        }
        // An empty range has no more keys: what is left is to be sent.
        let is_left = self.finish_group();
        Ok(is_left.then(|| WalkPosition { keys: self.end(), after: EntryId::ROOT }))
    }

    /// A bound that no key is within.
    fn end(&self) -> Bound<Vec<u8>> {
        if self.is_backwards() { Bound::Excluded(Vec::new()) } else { Bound::Excluded(vec![u8::MAX; 255]) }
    }

    fn group_of(&self, stem: &[u8]) -> Group {
        let is_cut = stem.len() >= KEY_PREFIX_BYTES;
        let mut component = Vec::new();
        if self.index.is_whole {
            component.extend_from_slice(stem);
        } else {
            self.first.put_component(Some(stem), &mut component);
            if is_cut {
                // What follows the stem is not known: the component is open at its end.
                component.pop();
            }
        }
        let is_direct = !is_cut && (self.index.is_whole || self.order.keys().len() == 1);
        Group { stem: stem.to_vec(), component, is_direct, collector: self.collector() }
    }

    fn collector(&self) -> Collector {
        let keep = self.room.map(|room| usize::try_from(room).unwrap_or(usize::MAX).saturating_add(1));
        Collector::new(keep, self.start.cloned())
    }

    /// The entry of a direct group behind which the page begins.
    fn first_of_page(&self, after: EntryId) -> EntryId {
        match (&self.group, self.start) {
            (Some(group), Some(start)) if group.is_direct && group.component == start.key => after.max(start.id),
            _ => after,
        }
    }

    /// Puts the group's entries in order into the queue; `false` if there are none.
    fn finish_group(&mut self) -> bool {
        if let Some(group) = self.group.take() {
            let (sorted, reserved) = group.collector.into_sorted();
            self.queue.extend(sorted);
            self.queue_memory = Some(reserved);
        }
        !self.queue.is_empty()
    }

    /// An entry of the group's keys.
    fn member(&mut self, view: &View<'_>, id: EntryId) -> Result<(), Stop> {
        let Some(record) = view.entry(id)? else { return Ok(()) };
        let record = record.view()?;
        self.key.clear();
        self.order.put_key(&self.run.facts.schema, &record, &mut self.key);
        let Some(group) = &mut self.group else { return Ok(()) };
        if !self.key.starts_with(&group.component) {
            return Ok(());
        }
        self.run.count_candidate()?;
        if !self.run.is_match(view, id, record)? {
            return Ok(());
        }
        let position = Position::of(self.run.part, id);
        if !group.is_direct {
            return group.collector.offer(&self.key, position).map_err(too_much);
        }
        self.take_room(Position { key: self.key.clone(), ..position })?;
        self.run.send(view, id, record)
    }

    /// Entries without a value of the first sort key.
    fn missing(&mut self, mut snapshot: Snapshot, ids: &mut Vec<EntryId>, component: &[u8]) -> Result<Snapshot, Stop> {
        let is_direct = self.order.keys().len() == 1;
        let resumed = self.start.filter(|start| is_direct && start.key == component);
        let mut after = resumed.map_or(EntryId::ROOT, |start| start.id);
        self.group =
            Some(Group { stem: Vec::new(), component: component.to_vec(), is_direct, collector: self.collector() });
        loop {
            ids.clear();
            let view = snapshot.view();
            next_candidates(self.run.part, &view, after, ids)?;
            for id in ids.iter() {
                self.look_beyond()?;
                self.member(&view, *id)?;
            }
            let Some(last) = ids.last().copied().filter(|_| ids.len() >= CANDIDATES_PER_LOOK) else { break };
            after = last;
            snapshot = self.run.breathe(snapshot)?;
        }
        self.finish_group();
        while self.send_queue(&snapshot.view())? {
            snapshot = self.run.breathe(snapshot)?;
        }
        Ok(snapshot)
    }

    /// Sends some of the queue; `false` when it was empty.
    fn send_queue(&mut self, view: &View<'_>) -> Result<bool, Stop> {
        let had_some = !self.queue.is_empty();
        for position in self.queue.drain(..CANDIDATES_PER_LOOK.min(self.queue.len())).collect::<Vec<_>>() {
            let id = position.id;
            if let Some(record) = view.entry(id)? {
                let record = record.view()?;
                if self.run.is_match(view, id, record)? {
                    self.take_room(position)?;
                    self.run.send(view, id, record)?;
                }
            }
        }
        Ok(had_some)
    }

    fn take_room(&mut self, position: Position) -> Result<(), Stop> {
        match &mut self.room {
            Some(0) => return Err(Stop::PageFull),
            Some(room) => *room -= 1,
            None => {}
        }
        self.last = Some(position);
        Ok(())
    }

    /// A full page is left to the next when what follows is far.
    fn look_beyond(&mut self) -> Result<(), Stop> {
        if self.room == Some(0) && !self.is_last_allowed {
            self.beyond += 1;
            if self.beyond > IDS_BEYOND_MAX {
                return Err(Stop::PageFull);
            }
        }
        Ok(())
    }
}

/// What a key says in clear.
fn stem_of(key: &[u8]) -> &[u8] {
    key.get(..KEY_PREFIX_BYTES).unwrap_or(key)
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// Keys in either direction.
enum Scan<'s> {
    Forward(PostingScan<'s>),
    Back(PostingScanBack<'s>),
}

impl<'s> Scan<'s> {
    fn new(view: &View<'s>, index: IndexId, from: Bound<&[u8]>, descending: bool) -> Result<Scan<'s>, StoreError> {
        Ok(match descending {
            false => Scan::Forward(view.scan(index, from, Bound::Unbounded)?),
            true => Scan::Back(view.scan_back(index, Bound::Unbounded, from)?),
        })
    }

    fn next(&mut self) -> Result<Option<(&[u8], Postings<'s>)>, StoreError> {
        match self {
            Scan::Forward(scan) => scan.next(),
            Scan::Back(scan) => scan.next(),
        }
    }
}

/// Tells candidates from other entries without a fetch.
enum Members<'m> {
    Every,
    Set(&'m query::id_set::IdSet),
    List(Postings<'m>),
}

impl<'m> Members<'m> {
    fn new(candidates: &'m Candidates, view: &View<'m>) -> Result<Members<'m>, StoreError> {
        Ok(match candidates {
            Candidates::Unindexed { .. } => Members::Every,
            Candidates::List { key, .. } if is_gone(view, key) => Members::Every,
            Candidates::List { key, .. } => Members::List(view.postings(key)?),
            Candidates::Set(set) => Members::Set(set),
        })
    }

    fn has(&self, id: EntryId) -> Result<bool, StoreError> {
        match self {
            Members::Every => Ok(true),
            Members::Set(set) => Ok(set.contains(id)),
            Members::List(list) => list.contains(id),
        }
    }
}
