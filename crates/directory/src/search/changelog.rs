//! Searches of `cn=changelog`: changes come one after the other from the history, never all at once.
//!
//! What the filter says about change numbers and times is where reading begins and ends; the whole filter is then checked on each entry.

use std::ops::ControlFlow;
use std::sync::Arc;

use ldap::{Dn, LdapResult, ResultCode, Scope, SearchRequest};
use store::StoreError;

use super::change_scan::{ChangeScan, left_changelog};
use super::output::{CANDIDATES_PER_LOOK, SearchDone, SearchOutput};
use super::paged::{PageProgress, Position};
use super::run::{check_page, check_size};
use super::search_plan::SearchPlan;
use super::stop::Stop;
use super::worker::Worker;
use crate::directory::Directory;
use change::history::entry::{CHANGELOG_DN, container, entry_of};
use change::history::{Bounds, HistoryError};
use query::encode::search_entry;
use query::error::{no_such_object, refuse, store_failure};
use query::facts::Facts;
use query::filter::Truth;
use query::rights::Reader;
use query::synthetic::SyntheticEntry;

impl Directory {
    /// Plans a search whose base is the changelog or a change; gives the base's entry.
    pub(super) fn plan_changelog(
        &self,
        plan: &mut SearchPlan,
        worker: &Worker,
        facts: &Facts,
        request: &SearchRequest<'_>,
    ) -> Result<Arc<SyntheticEntry>, LdapResult> {
        plan.access.check_changelog()?;
        if plan.arrangement.as_ref().is_some_and(|arrangement| arrangement.is_ordered()) {
            let message = "The changelog comes in the order of change numbers: search it without the sort and virtual list view controls";
            return Err(refuse(ResultCode::UNWILLING_TO_PERFORM, message));
        }
        let failure = |problem: StoreError| store_failure(&problem);
        let Bounds { first, last } = self.history().bounds();
        if worker.base.len() == 1 {
            let own = container(facts, (last + 1).saturating_sub(first)).map_err(failure)?;
            let own = Arc::new(own);
            if matches!(request.scope, Scope::BaseObject | Scope::WholeSubtree) {
                plan.synthetic.push(Arc::clone(&own));
            }
            if request.scope != Scope::BaseObject {
                let history = Arc::clone(self.history());
                let mut scan = ChangeScan { history, first, last, since_us: 0 };
                scan.narrow(facts, &request.filter);
                plan.changes = Some(Box::new(scan));
            }
            return Ok(own);
        }
        let missing = || no_such_object(&String::from_utf8_lossy(request.base), CHANGELOG_DN);
        let number = change_number(request.base).filter(|_| worker.base.len() == 2).ok_or_else(missing)?;
        let mut reader = self.history().from(number);
        let found = reader.next_change().map_err(|error| failure(error.into()))?;
        let change = found.filter(|change| change.number == number).ok_or_else(missing)?;
        let own = Arc::new(entry_of(facts, &change).map_err(failure)?);
        if matches!(request.scope, Scope::BaseObject | Scope::WholeSubtree) {
            plan.synthetic.push(Arc::clone(&own));
        }
        Ok(own)
    }
}

/// The number in a name like `changeNumber=7,cn=changelog`.
fn change_number(dn: &[u8]) -> Option<u64> {
    let dn = Dn::parse(std::str::from_utf8(dn).ok()?).ok()?;
    let ava = dn.rdn()?.avas().first()?;
    let is_number = ava.attribute.eq_ignore_ascii_case("changeNumber");
    std::str::from_utf8(&ava.value).ok()?.trim().parse().ok().filter(|_| is_number)
}

impl SearchPlan {
    /// Looks at the changes asked for.
    pub(super) fn run_changes(
        &mut self,
        worker: &mut Worker,
        output: &mut impl SearchOutput,
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
        worker: &mut Worker,
        output: &mut impl SearchOutput,
        done: &mut SearchDone,
        mut page: Option<&mut PageProgress>,
    ) -> Result<(), Stop> {
        let Some(facts) = self.facts.clone() else { return Ok(()) };
        let start = page.as_deref().and_then(PageProgress::start_of_synthetic);
        let mut reader = scan.reader(start.map(|at| at as u64))?;
        let mut stuck_at = None;
        let mut looked = 0;
        loop {
            let change = match reader.next_change() {
                Ok(Some(change)) if change.number <= scan.last => change,
                Ok(_) => return Ok(()),
                // A file of the log went while the search was waiting. There may have been nothing in it that is still to be read.
                Err(HistoryError::Purged { purged: next }) if stuck_at.replace(next) != Some(next) => {
                    reader = scan.without_gap(next, scan.history.from(next))?;
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
            done.candidates += 1;
            let position = Position::synthetic(usize::try_from(change.number).unwrap_or(usize::MAX));
            let entry = entry_of(&facts, &change)?;
            let view = entry.view()?;
            if self.matcher.matches(&facts, &view, self.asker(), &mut worker.filter)? != Truth::True {
                continue;
            }
            check_page(page.as_deref_mut(), position)?;
            check_size(self.limits.size, done)?;
            // Every change has tables of its own.
            self.selection.meet_tables();
            let reader = Reader { facts: &facts, rights: &self.access };
            search_entry(reader, &view, &mut self.selection, self.message_id, &[], &mut worker.values, output)?;
            done.entries_sent += 1;
            if let ControlFlow::Break(()) = output.entry_written() {
                return Err(Stop::Cancelled);
            }
        }
    }
}
