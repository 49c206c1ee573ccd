//! What was compared, what differs, and examples of it: bounded, and shared by all threads.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use query::monitor_entry::MonitorEntry;

use super::observed::{Observed, Request};
use crate::search::RequestTime;
use crate::search::advice::generalized_time;

/// Examples that are kept, the newest ones.
const EXAMPLES_MAX: usize = 100;

/// See the module.
pub(crate) struct Tally {
    /// Seconds since 1970.
    since: i64,
    compared: AtomicU64,
    differing: AtomicU64,
    left_out: [AtomicU64; LEFT_OUT.len()],
    found: Mutex<Found>,
}

/// Why a request was not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// Others waited to be compared.
    Busy,
    /// It is very long, or finds more entries than are compared.
    TooLarge,
    /// It took longer than is waited for.
    TookLong,
    /// Something could not be read, or a defect.
    Failed,
}

/// With the attribute that counts it.
const LEFT_OUT: [(LeftOut, &str); 4] = [
    (LeftOut::Busy, "left-out-busy"),
    (LeftOut::TooLarge, "left-out-too-large"),
    (LeftOut::TookLong, "left-out-took-long"),
    (LeftOut::Failed, "left-out-failed"),
];

#[derive(Default)]
struct Found {
    /// By whether it is lost, the kind of request and the right.
    counts: BTreeMap<(bool, Request, &'static str), u64>,
    /// The newest at the end.
    examples: VecDeque<Example>,
}

struct Example {
    observed: Observed,
    last: i64,
    times: u64,
}

impl Tally {
    pub(crate) fn begun_now() -> Self {
        Self {
            since: RequestTime::now().unix_seconds,
            compared: AtomicU64::new(0),
            differing: AtomicU64::new(0),
            left_out: Default::default(),
            found: Mutex::default(),
        }
    }

    /// A request was compared, with what differs.
    pub(crate) fn compared(&self, differences: Vec<Observed>) {
        self.compared.fetch_add(1, Ordering::Relaxed);
        if differences.is_empty() {
            return;
        }
        self.differing.fetch_add(1, Ordering::Relaxed);
        let now = RequestTime::now().unix_seconds;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for observed in differences {
            found.take(observed, now);
        }
    }

    /// A request was not compared.
    pub(crate) fn left_out(&self, why: LeftOut) {
        if let Some(at) = LEFT_OUT.iter().position(|(known, _)| *known == why)
            && let Some(count) = self.left_out.get(at)
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Adds what it says to an entry of the monitor.
    pub(crate) fn put(&self, entry: MonitorEntry) -> MonitorEntry {
        let mut entry = entry
            .with("compared-since", generalized_time(self.since))
            .with("compared-requests", self.compared.load(Ordering::Relaxed))
            .with("differing-requests", self.differing.load(Ordering::Relaxed));
        for ((_, name), count) in LEFT_OUT.iter().zip(&self.left_out) {
            entry = entry.with(name, count.load(Ordering::Relaxed));
        }
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = found.counts.iter().map(|((is_lost, request, right), count)| {
            let verb = if *is_lost { "loses" } else { "gains" };
            format!("{verb} {} {right}: {count}", request.name())
        });
        let newest_first = found.examples.iter().rev();
        let examples = newest_first.map(|it| it.observed.to_json(&generalized_time(it.last), it.times));
        for (attribute, values) in
            [("difference-count", counts.collect()), ("difference-example", examples.collect::<Vec<String>>())]
        {
            if !values.is_empty() {
                entry.attributes.push((attribute.to_owned(), values));
            }
        }
        entry
    }
}

impl Found {
    fn take(&mut self, observed: Observed, now: i64) {
        *self.counts.entry((observed.is_lost, observed.request, observed.right)).or_default() += 1;
        let known = self.examples.iter().position(|it| it.observed.is_like(&observed));
        let known = known.and_then(|at| self.examples.remove(at));
        let times = known.map_or(0, |known| known.times) + 1;
        if self.examples.len() >= EXAMPLES_MAX {
            self.examples.pop_front();
        }
        self.examples.push_back(Example { observed, last: now, times });
    }
}

#[cfg(test)]
mod tests {
    use access::{Right, Session};

    use super::*;

    fn observed(attribute: usize, entry: &str) -> Observed {
        let of = Observed::of(&Session::anonymous(1), Request::Search, (Right::Read, entry));
        Observed { attribute: Some(format!("a{attribute}")), is_lost: true, ..of }
    }

    fn values(tally: &Tally, name: &str) -> Vec<String> {
        let entry = tally.put(MonitorEntry::new("x"));
        entry.attributes.into_iter().find(|(own, _)| own == name).map(|(_, values)| values).unwrap_or_default()
    }

    #[test]
    fn what_is_like_is_one_example_with_the_newest_entry() {
        let tally = Tally::begun_now();
        tally.compared(Vec::new());
        tally.compared(vec![observed(1, "o=first"), observed(2, "o=first")]);
        tally.compared(vec![observed(1, "o=second")]);
        assert_eq!(values(&tally, "compared-requests"), ["3"]);
        assert_eq!(values(&tally, "differing-requests"), ["2"]);
        assert_eq!(values(&tally, "difference-count"), ["loses search read: 3"]);
        let examples = values(&tally, "difference-example");
        assert_eq!(examples.len(), 2);
        assert!(examples[0].contains(r#""times":2"#) && examples[0].contains(r#""dn":"o=second""#), "{examples:?}");
    }

    #[test]
    fn the_newest_examples_are_kept_and_long_names_are_cut() {
        let tally = Tally::begun_now();
        let long = "x".repeat(100_000);
        tally.compared((0..=EXAMPLES_MAX).map(|attribute| observed(attribute, &long)).collect());
        let examples = values(&tally, "difference-example");
        assert_eq!(examples.len(), EXAMPLES_MAX);
        assert!(examples[0].contains(&format!(r#""attribute":"a{EXAMPLES_MAX}""#)), "the newest is first");
        assert!(!examples.iter().any(|it| it.contains(r#""attribute":"a0""#)), "the oldest is gone");
        assert!(examples.iter().all(|it| it.len() < 2_000));
        assert_eq!(values(&tally, "difference-count"), [format!("loses search read: {}", EXAMPLES_MAX + 1)]);
    }
}
