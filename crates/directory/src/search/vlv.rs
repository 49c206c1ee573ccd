//! Virtual list views (draft-ietf-ldapext-ldapv3-vlv-09): a window of a sorted result around a target.
//!
//! The target's place and the size of the list are exact, counted anew for each request: in a VLV index when one is
//! this list, else by sorting it. The context id stands for the search that it was given for; no state belongs to it.

use ldap::ResultCode;

use super::entry_writer::EntryWriter;
use super::list_view::{ListView, response};
use super::refusal::SearchRefusal;
use super::search_done::SearchDone;
use super::search_plan::SearchPlan;
use super::sort::note_sorted;
use super::sort::{self, Collector, Sorting};
use super::stop::Stop;
use super::vlv_index::{self, Listed};
use super::worker::WorkerFor;

/// Runs the search and sends its window.
pub(super) fn run(
    plan: &mut SearchPlan,
    sorting: &Sorting,
    asked: &ListView,
    worker: &mut WorkerFor<'_>,
    output: &mut impl EntryWriter,
    done: &mut SearchDone,
) -> Result<(), Stop> {
    let listed = match look_in_index(plan, sorting, asked, worker, output, done)? {
        Some(listed) => listed,
        None => {
            let all = Collector::new(None, None);
            let (list, _reserved) = sort::collect(plan, sorting, all, worker, output, done)?.into_sorted();
            let range = asked.range(list.len(), |key| list.partition_point(|position| position.key[..] < *key));
            let window = range.map(|(range, place)| (list.get(range).unwrap_or_default().to_vec(), place));
            Listed { window, count: list.len() }
        }
    };
    let Some((window, place)) = listed.window else {
        done.result = SearchRefusal::ListViewOffset { entries: listed.count }.into();
        done.controls.push(response(0, listed.count, ResultCode::OFFSET_RANGE_ERROR, Some(&asked.context)));
        return Ok(());
    };
    sort::send_positions(plan, &window, worker, output, done)?;
    note_sorted(done);
    done.controls.push(response(place, listed.count, ResultCode::SUCCESS, Some(&asked.context)));
    Ok(())
}

/// The list as a VLV index has it; none when no index is this list.
fn look_in_index(
    plan: &mut SearchPlan,
    sorting: &Sorting,
    asked: &ListView,
    worker: &mut WorkerFor<'_>,
    output: &mut impl EntryWriter,
    done: &mut SearchDone,
) -> Result<Option<Listed>, Stop> {
    let mut listed = None;
    if plan.parts.len() == 1 {
        plan.one_part(0, None, worker, output, done, |run, snapshot, _| {
            listed = vlv_index::look(run, &snapshot.view(), sorting, asked)?;
            Ok(Some(snapshot))
        })?;
    }
    Ok(listed)
}
