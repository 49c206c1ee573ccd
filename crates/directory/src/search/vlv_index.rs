//! A window of a list that a VLV index keeps in order.
//!
//! Counts are those of the index's keys; only the window's entries are read. Answers a search with the index's base,
//! scope, filter and order; where some entries are referrals, aliases or subentries, whether they count is in the
//! entries, and the list is sorted anew.
//!
//! An entry whose values for the filter are not in its record (hundreds of values, or over 1.5 KiB) counts as one that
//! matches.

use std::ops::{Bound, ControlFlow, Range};

use ldap::Scope;
use smallvec::SmallVec;
use store::index::{SortOrder, VlvIndex};
use store::posting::key::KEY_PREFIX_BYTES;
use store::{EntryId, IndexId, Postings, StoreError, View};

use super::entry_writer::EntryWriter;
use super::list_view::ListView;
use super::paged::Position;
use super::run::Run;
use super::sort::{Collector, Sorting, too_much};
use super::stop::Stop;
use query::backend::Backend;
use query::id_set::IdSet;
use query::locate::locate;

/// Entries outside the base that are remembered to tell those inside.
const OUTSIDE_MAX: u64 = 10_000;

/// Keys between two looks at the clock.
const KEYS_PER_LOOK: usize = 4_096;

/// What an index says of a request.
pub(super) struct Listed {
    /// The window, and the target's place from 1; none when the offset is out of range.
    pub(super) window: Option<(Vec<Position>, usize)>,
    /// Entries in the list.
    pub(super) count: usize,
}

/// Looks for an index that is the list asked for; none when there is none.
pub(super) fn look<O: EntryWriter>(
    run: &Run<'_, O>,
    view: &View<'_>,
    sorting: &Sorting,
    asked: &ListView,
) -> Result<Option<Listed>, Stop> {
    let Some(index) = index_for(run, view, sorting)? else { return Ok(None) };
    let Some(members) = Members::of(run, view)? else { return Ok(None) };
    let list = List { view, index, order: &sorting.order, members };
    let (count, before) = list.count(run, asked.target_key())?;
    let Some((range, place)) = asked.range(count, |_| before) else {
        return Ok(Some(Listed { window: None, count }));
    };
    let window = list.window(run, &range)?;
    Ok(Some(Listed { window: Some((window, place)), count }))
}

/// The index that is the list to be sorted.
pub(super) fn index_for<O: EntryWriter>(
    run: &Run<'_, O>,
    view: &View<'_>,
    sorting: &Sorting,
) -> Result<Option<IndexId>, StoreError> {
    // Its keys are made of what is stored, and it counts entries whether they show or not.
    if run.part.program.is_some() || run.asks() || !run.items().is_all() || !sorting.asks.is_empty() {
        return Ok(None);
    }
    let is_asked = |index: &&VlvIndex| {
        index.scope == run.part.scope
            && index.filter.text() == sorting.filter
            && index.order.is_same_order(&sorting.order)
            && view.indexes().is_trusted(index.id)
    };
    for index in view.indexes().set().vlv_indexes().iter().filter(is_asked) {
        let base = index.base.as_bytes();
        let Some(suffix) = run.backend.suffix_of(base) else { continue };
        if locate(view, &suffix.normalized, base)?.found() == Some(run.part.base) {
            return Ok(Some(index.id));
        }
    }
    Ok(None)
}

/// Which entries of the index are in scope: it holds those of the whole backend.
enum Members<'v> {
    All,
    These(Postings<'v>),
    AllBut(IdSet),
}

impl<'v> Members<'v> {
    fn of<O: EntryWriter>(run: &Run<'_, O>, view: &View<'v>) -> Result<Option<Members<'v>>, StoreError> {
        let part = run.part;
        Ok(match part.scope {
            _ if !run.all_are_plain() => None,
            _ if part.is_everything => Some(Members::All),
            Scope::BaseObject => None,
            Scope::SingleLevel => Some(Members::These(view.children(part.base)?)),
            Scope::WholeSubtree => outside(run.backend, view, part.base)?.map(Members::AllBut),
            Scope::SubordinateSubtree => outside(run.backend, view, part.base)?.map(|mut outside| {
                outside.insert(part.base);
                Members::AllBut(outside)
            }),
        })
    }

    fn has(&self, id: EntryId) -> Result<bool, StoreError> {
        match self {
            Members::All => Ok(true),
            Members::These(these) => these.contains(id),
            Members::AllBut(outside) => Ok(!outside.contains(id)),
        }
    }
}

/// All entries that are neither `base` nor below it; none when they are too many.
fn outside(backend: &Backend, view: &View<'_>, base: EntryId) -> Result<Option<IdSet>, StoreError> {
    let (mut all, mut open) = (IdSet::default(), Vec::new());
    for suffix in &backend.suffixes {
        if let Some(id) = suffix.top(view)?.filter(|id| *id != base) {
            if id != EntryId::ROOT {
                all.insert(id);
            }
            open.push(id);
        }
    }
    while let Some(id) = open.pop() {
        let children = view.children(id)?;
        if all.len() + children.count() > OUTSIDE_MAX {
            return Ok(None);
        }
        for child in children.iter().filter(|child| *child != base) {
            all.insert(child);
            open.push(child);
        }
    }
    Ok(Some(all))
}

/// One index at one moment, as the list of one search.
struct List<'l, 'v> {
    view: &'l View<'v>,
    index: IndexId,
    order: &'l SortOrder,
    members: Members<'v>,
}

/// Entries of one sort key, or of all that are the same as far as index keys go in clear.
struct Group<'v> {
    stem: Vec<u8>,
    keys: SmallVec<[Postings<'v>; 1]>,
}

impl Group<'_> {
    /// Whether keys that are cut make up the group: what follows the stem is in the entries.
    fn is_cut(&self) -> bool {
        self.stem.len() >= KEY_PREFIX_BYTES
    }
}

impl<'v> List<'_, 'v> {
    /// The list's length, and how many of its entries come before `target`.
    fn count<O: EntryWriter>(&self, run: &Run<'_, O>, target: Option<&[u8]>) -> Result<(usize, usize), Stop> {
        let (mut count, mut before) = (0, 0);
        self.each_group(run, |group| {
            let own = self.count_of(group)?;
            count += own;
            if let Some(target) = target {
                before += self.count_before(run, group, own, target)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((count, before))
    }

    /// How many of a group's `count` entries come before `target`.
    fn count_before<O: EntryWriter>(
        &self,
        run: &Run<'_, O>,
        group: &Group<'v>,
        count: usize,
        target: &[u8],
    ) -> Result<usize, Stop> {
        if group.is_cut() && target.starts_with(&group.stem) {
            return Ok(self.sorted(run, group)?.iter().filter(|position| position.key[..] < *target).count());
        }
        Ok(if group.stem[..] < *target { count } else { 0 })
    }

    /// The places at `range`.
    fn window<O: EntryWriter>(&self, run: &Run<'_, O>, range: &Range<usize>) -> Result<Vec<Position>, Stop> {
        let (mut passed, mut window) = (0, Vec::new());
        if range.is_empty() {
            return Ok(window);
        }
        self.each_group(run, |group| {
            let count = self.count_of(group)?;
            if passed + count > range.start {
                let skipped = range.start.saturating_sub(passed);
                let wanted = range.end - passed.max(range.start);
                if group.is_cut() {
                    window.extend(self.sorted(run, group)?.into_iter().skip(skipped).take(wanted));
                } else {
                    let mut at = 0;
                    for id in group.keys.iter().flat_map(Postings::iter) {
                        if at >= skipped + wanted {
                            break;
                        }
                        if self.members.has(id)? {
                            if at >= skipped {
                                window.push(Position::of(run.part, id));
                            }
                            at += 1;
                        }
                    }
                }
            }
            passed += count;
            Ok(if passed >= range.end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(window)
    }

    fn count_of(&self, group: &Group<'v>) -> Result<usize, StoreError> {
        let mut count = 0;
        for key in &group.keys {
            if matches!(self.members, Members::All) {
                count += usize::try_from(key.count()).unwrap_or(usize::MAX);
                continue;
            }
            for id in key.iter() {
                count += usize::from(self.members.has(id)?);
            }
        }
        Ok(count)
    }

    /// The entries of a group whose keys are cut, by their whole sort keys.
    fn sorted<O: EntryWriter>(&self, run: &Run<'_, O>, group: &Group<'v>) -> Result<Vec<Position>, Stop> {
        let mut collector = Collector::new(None, None);
        let mut key = Vec::new();
        for id in group.keys.iter().flat_map(Postings::iter) {
            if self.members.has(id)?
                && let Some(record) = self.view.entry(id)?
            {
                key.clear();
                self.order.put_key(&run.facts.schema, &record.view()?, &mut key);
                collector.offer(&key, Position::of(run.part, id)).map_err(too_much)?;
            }
        }
        Ok(collector.into_sorted().0)
    }

    fn each_group<O: EntryWriter>(
        &self,
        run: &Run<'_, O>,
        mut each: impl FnMut(&Group<'v>) -> Result<ControlFlow<()>, Stop>,
    ) -> Result<(), Stop> {
        let mut scan = self.view.scan(self.index, Bound::Unbounded, Bound::Unbounded)?;
        let mut group: Option<Group<'v>> = None;
        let mut keys = 0_usize;
        while let Some((key, postings)) = scan.next()? {
            let stem = key.get(..KEY_PREFIX_BYTES).unwrap_or(key);
            match &mut group {
                Some(group) if group.stem == stem => group.keys.push(postings),
                Some(full) => {
                    if each(full)?.is_break() {
                        return Ok(());
                    }
                    full.stem.clear();
                    full.stem.extend_from_slice(stem);
                    full.keys.clear();
                    full.keys.push(postings);
                }
                None => group = Some(Group { stem: stem.to_vec(), keys: SmallVec::from_elem(postings, 1) }),
            }
            keys += 1;
            if keys.is_multiple_of(KEYS_PER_LOOK) {
                run.look_at_clock()?;
            }
        }
        if let Some(last) = &group {
            // The end comes anyway.
            let _ = each(last)?;
        }
        Ok(())
    }
}
