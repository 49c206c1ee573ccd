//! Which changes a search of the changelog looks at.

use std::sync::Arc;

use ldap::ResultCode;
use ldap::filter::{Assertion, Filter, FilterNode};
use store::record::Timestamp;

use super::stop::Stop;
use change::history::{History, HistoryReader};
use query::facts::Facts;

/// Which changes a search looks at.
pub(super) struct ChangeScan {
    pub(super) history: Arc<History>,
    /// The first number.
    pub(super) first: u64,
    /// The last one.
    pub(super) last: u64,
    /// Earlier ones are not asked for, in µs since 1970.
    pub(super) since_us: u64,
}

impl ChangeScan {
    /// Takes what all entries that match must have.
    pub(super) fn narrow(&mut self, facts: &Facts, filter: &Filter<'_>) {
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

    pub(super) fn bound(&mut self, facts: &Facts, asserted: &Assertion<'_>, is_lower: bool, is_upper: bool) {
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
    pub(super) fn reader(&self, after: Option<u64>) -> Result<HistoryReader, Stop> {
        let first = after.map_or(self.first, |after| self.first.max(after.saturating_add(1)));
        self.without_gap(first, self.history.since_number(first, self.since_us))
    }

    /// The reader, unless changes from `first` on have left the changelog since the search began: it must not end as if it had seen them.
    pub(super) fn without_gap(&self, first: u64, reader: HistoryReader) -> Result<HistoryReader, Stop> {
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
pub(super) fn left_changelog() -> Stop {
    let message = "Changes that were not read yet have left the changelog while it was searched: search again";
    Stop::Limit(ResultCode::ADMIN_LIMIT_EXCEEDED, message.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use config::ChangelogConfig;

    use super::*;
    use change::history::{Bounds, ChangeNumbers};

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
