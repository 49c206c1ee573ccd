//! Searches of what is in no backend: the server's own entries, sent one by one.

use query::encode::{Layout, Selection, ShownEntry};
use query::entry::EntryView;
use query::filter::Truth;
use query::rights::Reader;

use super::effective_rights::{EffectiveRights, RightsPlace};
use super::entry_writer::EntryWriter;
use super::paged::{PageProgress, Position};
use super::run::{check_page, check_size};
use super::search_done::SearchDone;
use super::search_plan::SearchPlan;
use super::stop::Stop;
use super::worker::WorkerFor;

impl SearchPlan {
    pub(super) fn run_synthetic(
        &mut self,
        worker: &mut WorkerFor<'_>,
        output: &mut impl EntryWriter,
        done: &mut SearchDone,
        mut page: Option<&mut PageProgress>,
    ) -> Result<(), Stop> {
        for at in 0..self.synthetic.len() {
            let position = Position::synthetic(at);
            if page.as_deref().is_some_and(|page| page.is_before(&position)) {
                continue;
            }
            if !self.shows_synthetic(at, worker)? {
                continue;
            }
            done.candidates += 1;
            if self.is_synthetic_match(at, worker)? {
                check_page(page.as_deref_mut(), position)?;
                self.send_synthetic(at, worker, output, done)?;
            }
        }
        Ok(())
    }

    /// Whether the server's own entry at `at` shows.
    pub(super) fn shows_synthetic(&self, at: usize, worker: &WorkerFor<'_>) -> Result<bool, Stop> {
        let (Some(facts), Some(entry)) = (&self.facts, self.synthetic.get(at)) else { return Ok(false) };
        Ok(Reader { facts, rights: &*worker.rights }.shows(&entry.view()?)?)
    }

    /// Whether the server's own entry at `at` matches the filter.
    pub(super) fn is_synthetic_match(&self, at: usize, worker: &mut WorkerFor<'_>) -> Result<bool, Stop> {
        let (Some(facts), Some(entry)) = (&self.facts, self.synthetic.get(at)) else { return Ok(false) };
        let asker = self.asker(&*worker.rights);
        Ok(self.matcher.matches(facts, &entry.view()?, asker, &mut worker.worker.filter)? == Truth::True)
    }

    /// Writes the server's own entry at `at`.
    pub(super) fn send_synthetic(
        &mut self,
        at: usize,
        worker: &mut WorkerFor<'_>,
        output: &mut impl EntryWriter,
        done: &mut SearchDone,
    ) -> Result<(), Stop> {
        let (Some(facts), Some(entry)) = (&self.facts, self.synthetic.get(at)) else { return Ok(()) };
        check_size(self.limits.size, done)?;
        let view = entry.view()?;
        self.selection.meet_tables();
        let reader = Reader { facts, rights: &*worker.rights };
        let effective_rights = self.effective_rights.as_deref();
        send_entry(reader, &view, (&mut self.selection, effective_rights), &mut worker.worker.values, output, done)
    }
}

/// Writes an entry that needs nothing but itself.
pub(super) fn send_entry(
    reader: Reader<'_>,
    view: &EntryView<'_>,
    (selection, effective_rights): (&mut Selection, Option<&EffectiveRights>),
    values: &mut Vec<u8>,
    output: &mut impl EntryWriter,
    done: &mut SearchDone,
) -> Result<(), Stop> {
    let made;
    let mut layout = Layout::new(reader, view, selection, values, &mut || output.long_entry())?;
    if let Some(effective_rights) = effective_rights {
        let look = &mut || if output.cancelled() { Err(Stop::Cancelled) } else { Ok(()) };
        made = effective_rights.of_entry(reader, RightsPlace::Own, view, &layout, look)?;
        layout.add(view, &made, values);
    }
    let flow = output.entry(&ShownEntry::new(&layout, view, values))?;
    done.entries_sent += 1;
    if flow.is_break() { Err(Stop::Cancelled) } else { Ok(()) }
}
