//! Searches of `cn=changelog`: changes come one after the other from the history, never all at once.

use super::entry_writer::{CANDIDATES_PER_LOOK, EntryWriter};
use super::paged::{PageProgress, Position};
use super::refusal::SearchRefusal;
use super::run::{check_page, check_size};
use super::run_own::send_entry;
use super::search_done::SearchDone;
use super::search_plan::SearchPlan;
use super::stop::Stop;
use super::worker::WorkerFor;
use crate::own::ChangeScan;
use change::history::HistoryError;
use query::filter::Truth;
use query::rights::Reader;

/// A search that has missed changes says so.
fn left_changelog() -> Stop {
    SearchRefusal::ChangesPurged.into()
}

impl SearchPlan {
    /// Looks at the changes asked for.
    pub(super) fn run_changes(
        &mut self,
        worker: &mut WorkerFor<'_>,
        output: &mut impl EntryWriter,
        done: &mut SearchDone,
        page: Option<&mut PageProgress>,
    ) -> Result<(), Stop> {
        let Some(scan) = self.changes.take() else { return Ok(()) };
        let ended = self.scan_changes(&scan, worker, output, done, page);
        // A plan may be run again.
        self.changes = Some(scan);
        ended
    }

    fn scan_changes(
        &mut self,
        scan: &ChangeScan,
        worker: &mut WorkerFor<'_>,
        output: &mut impl EntryWriter,
        done: &mut SearchDone,
        mut page: Option<&mut PageProgress>,
    ) -> Result<(), Stop> {
        let Some(facts) = self.facts.clone() else { return Ok(()) };
        let start = page.as_deref().and_then(PageProgress::start_of_synthetic);
        let mut reader = scan.reader(start.map(|at| at as u64)).ok_or_else(left_changelog)?;
        let mut stuck_at = None;
        let mut looked = 0;
        loop {
            let change = match reader.next_change() {
                Ok(Some(change)) if change.number <= scan.last() => change,
                Ok(_) => return Ok(()),
                // A file of the log went while the search was waiting. There may have been nothing in it that is still
                // to be read.
                Err(HistoryError::Purged { purged: next }) if stuck_at.replace(next) != Some(next) => {
                    reader = scan.reader_from(next).ok_or_else(left_changelog)?;
                    continue;
                }
                Err(HistoryError::Purged { .. }) => return Err(left_changelog()),
                Err(error) => return Err(Stop::Failed(error.into())),
            };
            looked += 1;
            if looked % CANDIDATES_PER_LOOK == 0 {
                if output.should_pause() {
                    output.pause();
                }
                self.look_at_clock(output)?;
            }
            if page.as_deref_mut().is_some_and(PageProgress::has_looked_enough) {
                return Err(Stop::PageFull);
            }
            if !scan.shows(&change) {
                continue;
            }
            let position = Position::synthetic(usize::try_from(change.number).unwrap_or(usize::MAX));
            let entry = scan.entry_of(&facts, &change)?;
            let view = entry.view()?;
            if !(Reader { facts: &facts, rights: &*worker.rights }).shows(&view)? {
                continue;
            }
            done.candidates += 1;
            let asker = self.asker(&*worker.rights);
            if self.matcher.matches(&facts, &view, asker, &mut worker.worker.filter)? != Truth::True {
                continue;
            }
            check_page(page.as_deref_mut(), position)?;
            check_size(self.limits.size, done)?;
            // Every change has tables of its own.
            self.selection.meet_tables();
            let reader = Reader { facts: &facts, rights: &*worker.rights };
            let wanted = (&mut self.selection, self.effective_rights.as_deref());
            send_entry(reader, &view, wanted, &mut worker.worker.values, output, done)?;
        }
    }
}
