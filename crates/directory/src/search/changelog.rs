//! Searches of `cn=changelog`: changes come one after the other from the history, never all at once.
//!
//! What the filter says about change numbers and times is where reading begins and ends; the whole filter is then checked on each entry.

use std::ops::ControlFlow;
use std::sync::Arc;

use ldap::filter::{Assertion, Filter, FilterNode};
use ldap::{Dn, LdapResult, ResultCode, Scope, SearchRequest};
use store::StoreError;
use store::record::Timestamp;

use super::paged::{PageProgress, Position};
use super::run::{Stop, check_page, check_size};
use super::{CANDIDATES_PER_LOOK, SearchDone, SearchOutput, SearchPlan, Worker};
use crate::directory::Directory;
use change::history::entry::{CHANGELOG_DN, container, entry_of};
use change::history::{Bounds, History, HistoryError, HistoryReader};
use query::encode::search_entry;
use query::error::{no_such_object, refuse, store_failure};
use query::facts::Facts;
use query::filter::Truth;
use query::rights::Reader;
use query::synthetic::SyntheticEntry;

/// Which changes a search looks at.
pub(super) struct ChangeScan {
    history: Arc<History>,
    /// The first number.
    first: u64,
    /// The last one.
    last: u64,
    /// Earlier ones are not asked for, in µs since 1970.
    since_us: u64,
}

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

impl ChangeScan {
    /// Takes what all entries that match must have.
    fn narrow(&mut self, facts: &Facts, filter: &Filter<'_>) {
        let nodes = filter.nodes();
        let mut at = match nodes.first() {
            Some(FilterNode::And { .. }) => 1,
            _ => 0,
        };
        let end = nodes.first().map_or(0, |node| node.end(0));
        while let Some(node) = nodes.get(at).filter(|_| at < end) {
            match node {
                FilterNode::Equality(it) => self.bound(facts, it, true, true),
                FilterNode::GreaterOrEqual(it) => self.bound(facts, it, true, false),
                FilterNode::LessOrEqual(it) => self.bound(facts, it, false, true),
                _ => {}
            }
            at = node.end(at);
        }
    }

    fn bound(&mut self, facts: &Facts, asserted: &Assertion<'_>, is_lower: bool, is_upper: bool) {
        let Some(attribute) = facts.schema.attribute_type(asserted.attribute) else { return };
        if attribute.name() == "changeNumber" {
            let number = std::str::from_utf8(asserted.value).ok().and_then(|text| text.trim().parse().ok());
            let Some(number) = number else { return };
            if is_lower {
                self.first = self.first.max(number);
            }
            if is_upper {
                self.last = self.last.min(number);
            }
        }
        if attribute.name() == "changeTime" && is_lower {
            // Another spelling of a time is left to the filter.
            let time_us = Timestamp::parse(asserted.value).map_or(0, |time| time.ms.saturating_mul(1000));
            self.since_us = self.since_us.max(time_us);
        }
    }

    /// Reads on after a number, or from the beginning.
    fn reader(&self, after: Option<u64>) -> Result<HistoryReader, Stop> {
        let first = after.map_or(self.first, |after| self.first.max(after.saturating_add(1)));
        self.without_gap(first, self.history.since_number(first, self.since_us))
    }

    /// The reader, unless changes from `first` on have left the changelog since the search began: it must not end as if it had seen them.
    fn without_gap(&self, first: u64, reader: HistoryReader) -> Result<HistoryReader, Stop> {
        if reader.position() > first && first <= self.last {
            return Err(left_changelog());
        }
        Ok(reader)
    }

    /// About how many there are.
    pub(super) fn count(&self) -> u64 {
        (self.last + 1).saturating_sub(self.first)
    }
}

/// A search that has missed changes says so.
fn left_changelog() -> Stop {
    let message = "Changes that were not read yet have left the changelog while it was searched: search again";
    Stop::Limit(ResultCode::ADMIN_LIMIT_EXCEEDED, message.to_owned())
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use config::ChangelogConfig;

    use super::*;
    use change::history::ChangeNumbers;

    #[test]
    fn a_search_whose_changes_left_the_changelog_says_so() {
        let numbers = ChangeNumbers::new(0);
        numbers.begin_with(10);
        let config = ChangelogConfig { enabled: true, max_age: Duration::MAX, max_bytes: u64::MAX };
        let history = Arc::new(History::open(numbers, Vec::new(), config, None).unwrap());
        assert_eq!(history.bounds(), Bounds { first: 1, last: 9 });
        let scan = ChangeScan { history: Arc::clone(&history), first: 3, last: 9, since_us: 0 };
        assert_eq!(scan.reader(None).ok().unwrap().position(), 3);
        // Everything goes while the search waits: what it has not read is missing, unless it has read all.
        history.set(ChangelogConfig { enabled: false, ..config }).unwrap();
        assert_eq!(history.bounds().first, 10);
        for after in [None, Some(3), Some(8)] {
            assert!(matches!(scan.reader(after), Err(Stop::Limit(ResultCode::ADMIN_LIMIT_EXCEEDED, _))));
        }
        assert!(scan.reader(Some(9)).is_ok());
    }
}
