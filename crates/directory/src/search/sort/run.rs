//! Running a sorted search: find the places of the matching entries, then send the entries in order.

use store::{EntryId, Snapshot};

use super::note_sorted;
use super::readable::put_key;
use super::too_much;
use super::walk::{self, Ended, Walk};
use super::{Collector, Sorting};
use crate::search::entry_writer::{CANDIDATES_PER_LOOK, EntryWriter};
use crate::search::paged::{Page, Position};
use crate::search::run::{Run, next_candidates};
use crate::search::search_done::SearchDone;
use crate::search::search_plan::SearchPlan;
use crate::search::stop::Stop;
use crate::search::worker::WorkerFor;
use query::entry::{DnParts, EntryView, StoredAt};
use query::rights::Reader;

/// Runs a sorted search, or one page of it.
pub(in crate::search) fn run(
    plan: &mut SearchPlan,
    sorting: &Sorting,
    page: Option<&Page>,
    worker: &mut WorkerFor<'_>,
    output: &mut impl EntryWriter,
    done: &mut SearchDone,
) -> Result<(), Stop> {
    if page.is_some_and(|page| page.is_empty) {
        done.controls.extend(page.map(|page| page.response(None, plan.estimate(), 0)));
        return Ok(());
    }
    let (after, room) = (page.and_then(|page| page.start.clone()), page.map(|page| page.size));
    let mut progress = Progress { after, room, is_walked: false };
    let ended = match run_walked(plan, sorting, page, worker, output, done, &mut progress) {
        Ok(true) => Ok(()),
        Ok(false) => run_collected(plan, sorting, &mut progress, worker, output, done),
        Err(stop) => Err(stop),
    };
    let ended = match page {
        Some(page) => page.checked(ended),
        None => ended,
    };
    let is_whole = matches!(ended, Ok(()) | Err(Stop::PageFull));
    if is_whole || ended.as_ref().is_err_and(Stop::is_size_limit) {
        note_sorted(done);
    }
    let next = progress.after.as_ref().filter(|_| matches!(ended, Err(Stop::PageFull)));
    done.controls.extend(page.map(|page| page.response(next, plan.estimate(), done.entries_sent)));
    ended
}

/// How far a sorted search has come.
struct Progress {
    /// Everything up to here was sent.
    after: Option<Position>,
    /// What room is left on the page.
    room: Option<u64>,
    /// An index was walked up to there.
    is_walked: bool,
}

/// Walks an index; `false` when none pays, or it was dropped on the way.
fn run_walked(
    plan: &mut SearchPlan,
    sorting: &Sorting,
    page: Option<&Page>,
    worker: &mut WorkerFor<'_>,
    output: &mut impl EntryWriter,
    done: &mut SearchDone,
    progress: &mut Progress,
) -> Result<bool, Stop> {
    // Several bases have several indexes, which only a sort brings together.
    if plan.parts.len() != 1 {
        return Ok(false);
    }
    let wanted = [progress.room, plan.limits.size].into_iter().flatten().min();
    let mut is_walked = false;
    plan.one_part(0, None, worker, output, done, |run, snapshot, ids| {
        let index = walk::index_for(run, &snapshot.view(), sorting, wanted)?;
        let Some(mut walk) = index.and_then(|index| Walk::new(run, sorting, index, page)) else {
            return Ok(Some(snapshot));
        };
        let ended = walk.run(snapshot, ids);
        (progress.after, progress.room) = walk.progress();
        progress.is_walked = true;
        is_walked = matches!(ended, Ok(Ended::Complete));
        ended.map(|_| None)
    })?;
    Ok(is_walked)
}

fn run_collected(
    plan: &mut SearchPlan,
    sorting: &Sorting,
    progress: &mut Progress,
    worker: &mut WorkerFor<'_>,
    output: &mut impl EntryWriter,
    done: &mut SearchDone,
) -> Result<(), Stop> {
    let left = plan.limits.size.map(|size| size.saturating_sub(done.entries_sent));
    // One more than is sent, to know whether there is more.
    let keep = [progress.room, left].into_iter().flatten().min().map(|least| least.saturating_add(1));
    let keep = keep.map(|keep| usize::try_from(keep).unwrap_or(usize::MAX));
    let collector = match progress.is_walked {
        true => Collector::of_the_rest(keep, progress.after.clone()),
        false => Collector::new(keep, progress.after.clone()),
    };
    let (mut positions, _reserved) = collect(plan, sorting, collector, worker, output, done)?.into_sorted();
    let room = progress.room.map_or(usize::MAX, |room| usize::try_from(room).unwrap_or(usize::MAX));
    let has_more = positions.len() > room;
    positions.truncate(room);
    send_positions(plan, &positions, worker, output, done)?;
    progress.after = positions.pop().or_else(|| progress.after.take());
    if has_more { Err(Stop::PageFull) } else { send_references(plan, worker, output, done) }
}

/// Puts the places of all matching entries into `collector`.
pub(in crate::search) fn collect(
    plan: &mut SearchPlan,
    sorting: &Sorting,
    mut collector: Collector,
    worker: &mut WorkerFor<'_>,
    output: &mut impl EntryWriter,
    done: &mut SearchDone,
) -> Result<Collector, Stop> {
    let mut key = Vec::new();
    for at in 0..plan.synthetic.len() {
        if !plan.shows_synthetic(at, worker)? {
            continue;
        }
        done.candidates += 1;
        if plan.is_synthetic_match(at, worker)?
            && let (Some(facts), Some(entry)) = (&plan.facts, plan.synthetic.get(at))
        {
            key.clear();
            let reader = Reader { facts, rights: &*worker.rights };
            put_key(sorting, reader, false, &entry.view()?, &mut key)?;
            collector.offer(&key, Position::synthetic(at)).map_err(too_much)?;
        }
    }
    plan.each_part(worker, output, done, |run, snapshot, ids| {
        collect_part(run, sorting, &mut collector, &mut key, snapshot, ids)
    })?;
    Ok(collector)
}

fn collect_part<O: EntryWriter>(
    run: &mut Run<'_, O>,
    sorting: &Sorting,
    collector: &mut Collector,
    key: &mut Vec<u8>,
    mut snapshot: Snapshot,
    ids: &mut Vec<EntryId>,
) -> Result<Option<Snapshot>, Stop> {
    let mut after = EntryId::ROOT;
    loop {
        ids.clear();
        let view = snapshot.view();
        next_candidates(run.part, &view, after, ids)?;
        let Some(last) = ids.last().copied() else { return Ok(Some(snapshot)) };
        for id in ids.iter().copied() {
            let Some(record) = view.entry(id)? else { continue };
            let record = record.view()?;
            // One that matches counts, whether or not all of it may be tested.
            let is_counted = run.counts(&view, id, record)?;
            if run.is_match(&view, id, record)? {
                if !is_counted {
                    run.count_candidate()?;
                }
                key.clear();
                if let Some(walked) = collector.walked() {
                    sorting.order.put_key(&run.facts.schema, &record, key);
                    let was_sent = (&*key, run.part.backend, run.part.base, id)
                        <= (&walked.key, walked.backend, walked.base, walked.id);
                    if was_sent {
                        continue;
                    }
                    key.clear();
                }
                let source = StoredAt::new(run.part.backend, view);
                let entry = EntryView { id, record, dn: DnParts::default(), source: &source };
                put_key(sorting, run.reader(), run.has_new_rights(), &entry, key)?;
                collector.offer(key, Position::of(run.part, id)).map_err(too_much)?;
            }
        }
        if ids.len() < CANDIDATES_PER_LOOK {
            return Ok(Some(snapshot));
        }
        after = last;
        snapshot = run.breathe(snapshot)?;
    }
}

/// Sends the entries at `positions`, in that order. One that no longer matches, or is gone, is left out.
pub(in crate::search) fn send_positions(
    plan: &mut SearchPlan,
    positions: &[Position],
    worker: &mut WorkerFor<'_>,
    output: &mut impl EntryWriter,
    done: &mut SearchDone,
) -> Result<(), Stop> {
    if plan.parts.is_empty() {
        return positions.iter().try_for_each(|position| {
            position.as_synthetic().map_or(Ok(()), |at| plan.send_synthetic(at, worker, output, done))
        });
    }
    for run_of_one in positions.chunk_by(|a, b| (a.backend, a.base) == (b.backend, b.base)) {
        let Some(first) = run_of_one.first() else { continue };
        let Some(at) = plan.parts.iter().position(|part| (part.backend, part.base) == (first.backend, first.base))
        else {
            continue;
        };
        plan.one_part(at, None, worker, output, done, |run, mut snapshot, _| {
            for piece in run_of_one.chunks(CANDIDATES_PER_LOOK) {
                let view = snapshot.view();
                for position in piece {
                    if let Some(record) = view.entry(position.id)? {
                        let record = record.view()?;
                        if run.is_match(&view, position.id, record)? {
                            run.send(&view, position.id, record)?;
                        }
                    }
                }
                if run_of_one.len() > CANDIDATES_PER_LOOK {
                    snapshot = run.breathe(snapshot)?;
                }
            }
            Ok(Some(snapshot))
        })?;
    }
    Ok(())
}

/// Continuation references come when all entries were sent: they have no place in an order.
pub(super) fn send_references(
    plan: &mut SearchPlan,
    worker: &mut WorkerFor<'_>,
    output: &mut impl EntryWriter,
    done: &mut SearchDone,
) -> Result<(), Stop> {
    if plan.parts.iter().all(|part| part.referrals.is_empty()) {
        return Ok(());
    }
    plan.each_part(worker, output, done, |run, snapshot, _| {
        run.referrals(&snapshot.view())?;
        Ok(Some(snapshot))
    })
}
