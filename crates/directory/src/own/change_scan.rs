//! Which changes a search of the changelog reads: what its filter says about change numbers and times is where reading
//! begins and ends.
//!
//! Knows no entries: the whole filter is checked on each of them by the search.

use std::sync::Arc;

use ldap::filter::{Assertion, Filter, FilterNode};
use store::StoreError;
use store::record::Timestamp;

use change::history::entry::entry_of;
use change::history::{Bounds, Cause, Change, History, HistoryReader};
use query::facts::Facts;
use query::synthetic::SyntheticEntry;

/// Which changes a search looks at.
pub(crate) struct ChangeScan {
    history: Arc<History>,
    /// The first number.
    first: u64,
    /// The last one.
    last: u64,
    /// Earlier ones are not asked for, in µs since 1970.
    since_us: u64,
}

impl ChangeScan {
    /// All that there are at this moment, but for what the filter leaves out.
    pub(super) fn new(history: Arc<History>, facts: &Facts, filter: &Filter<'_>) -> Self {
        let Bounds { first, last } = history.bounds();
        let mut scan = Self { history, first, last, since_us: 0 };
        scan.narrow(facts, filter);
        scan
    }

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

    /// Reads on after a number, or from the beginning; nothing when changes in between have left the changelog since
    /// the search began: it must not end as if it had seen them.
    pub(crate) fn reader(&self, after: Option<u64>) -> Option<HistoryReader> {
        let first = after.map_or(self.first, |after| self.first.max(after.saturating_add(1)));
        self.without_gap(first, self.history.since_number(first, self.since_us))
    }

    /// The same from a number on.
    pub(crate) fn reader_from(&self, number: u64) -> Option<HistoryReader> {
        self.without_gap(number, self.history.from(number))
    }

    fn without_gap(&self, first: u64, reader: HistoryReader) -> Option<HistoryReader> {
        (reader.position() <= first || first > self.last).then_some(reader)
    }

    /// Whether the changelog shows a change.
    pub(crate) fn shows(&self, change: &Change<'_>) -> bool {
        self.history.shows(change.cause)
    }

    /// A change as an entry.
    pub(crate) fn entry_of(&self, facts: &Facts, change: &Change<'_>) -> Result<SyntheticEntry, StoreError> {
        entry_of(facts, change, self.history.shows(Cause::AccountState))
    }

    /// About how many there are.
    pub(crate) fn count(&self) -> u64 {
        (self.last + 1).saturating_sub(self.first)
    }

    /// The number of the last one.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use config::ChangelogConfig;

    use super::*;
    use change::history::ChangeNumbers;

    #[test]
    fn changes_that_left_the_changelog_are_not_skipped() {
        let numbers = ChangeNumbers::new(0);
        numbers.begin_with(10);
        let (max_age, max_bytes) = (Duration::MAX, u64::MAX);
        let config = ChangelogConfig { enabled: true, max_age, max_bytes, account_state: false };
        let history = Arc::new(History::open(numbers, Vec::new(), config, None).unwrap());
        assert_eq!(history.bounds(), Bounds { first: 1, last: 9 });
        let scan = ChangeScan { history: Arc::clone(&history), first: 3, last: 9, since_us: 0 };
        assert_eq!(scan.reader(None).unwrap().position(), 3);
        // Everything goes while the search waits: what it has not read is missing, unless it has read all.
        history.set(ChangelogConfig { enabled: false, ..config }).unwrap();
        assert_eq!(history.bounds().first, 10);
        for after in [None, Some(3), Some(8)] {
            assert!(scan.reader(after).is_none());
        }
        assert!(scan.reader(Some(9)).is_some());
    }
}
