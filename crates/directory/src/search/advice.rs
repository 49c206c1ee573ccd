//! Index advice: which searches an index would help. The server keeps the *shapes* of searches that were unindexed or
//! looked at far more entries than they returned, per backend and in bounded memory, and shows them in `cn=monitor`.
//!
//! A shape is the filter with `?` for every value, and the scope. Nothing is recorded of a search that is neither, and
//! nobody ever waits for the table: a sample that comes while another thread has it is counted as missed.
//!
//! # What programs read
//! One entry `cn=BACKEND Index Advice,cn=monitor` per backend with the attributes
//! * `ds-backend-id`: the backend;
//! * `shapes`, `shapes-max`, `shapes-evicted`, `samples-missed`: how full the table is, and what it could not keep;
//! * `index-advice`: one value per shape, what cost most first: one JSON object in one line with the members, in this
//!   order, `shape` (`(&(objectClass=?)(mail=*?*))`), `scope` (`base`, `one`, `sub`, `subordinates`), `count`
//!   (searches), `unindexed` (those of them that no index answered, refused ones included), `refused` (those that ended
//!   with result 50 for lack of the privilege), `examined` and `returned` (entries, all together), `totalMicroseconds`
//!   and `worstMicroseconds` (from the request's arrival to the end), `last` (GeneralizedTime), `base` and `example`
//!   (base DN and filter of the worst one; a filter on passwords shows no values), and `advice`: what would help, a
//!   list (empty when nothing would) of objects with `attribute`, one of `indexType` (`equality`, …; with
//!   `matchingRule` for `extensible`), `indexEntryLimit` (a number) and `rebuild` (`true`), and `command`: the command
//!   line that does it.
//!
//! An advice that was followed is not shown any more, nor is a shape all of whose advice was.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use ldap::{Scope, SearchRequest};
use store::record::Timestamp;

use super::request_time::RequestTime;
use query::backend::BackendIndex;
use query::json::JsonWriter;
use query::monitor_entry::MonitorEntry;
use query::plan::remedy::Remedy;

/// Shapes kept per backend.
pub const SHAPES_MAX: usize = 256;

/// Candidates from which on a search may be worth advice.
pub const EXAMINED_MIN: u64 = 100;

/// How many times more entries than it returned a search looked at, to be worth advice.
pub const EXAMINED_FACTOR: u64 = 10;

/// Bytes kept of a shape, of an example and of a base DN.
pub const TEXT_BYTES_MAX: usize = 1024;

/// After this time advice is worked out anew when the shape is seen again: indexes and data change.
const ADVICE_SECONDS: i64 = 60;

/// What came of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Went {
    /// No index answered it.
    pub is_unindexed: bool,
    /// It was refused for that.
    pub is_refused: bool,
    /// Entries looked at.
    pub examined: u64,
    /// Entries returned.
    pub returned: u64,
}

impl Went {
    /// Whether an index might have helped.
    #[inline]
    #[must_use]
    pub fn is_worth_advice(&self) -> bool {
        self.is_unindexed || (self.examined > EXAMINED_MIN && self.examined / EXAMINED_FACTOR > self.returned)
    }
}

/// What there is to say about one search.
pub struct Sample<'s> {
    /// Its filter's shape, at most [`TEXT_BYTES_MAX`].
    pub shape: &'s str,
    /// Its scope.
    pub scope: Scope,
    /// What came of it.
    pub went: Went,
    /// From the request's arrival to the end.
    pub elapsed: Duration,
    /// When it ended, in seconds since 1970.
    pub unix_seconds: i64,
}

/// What is kept of a search that may be worth advice, while it runs.
#[derive(Debug)]
pub(super) struct Costly {
    shape: String,
    filter: String,
    base: String,
    time: RequestTime,
    /// Where it is noted, by backend.
    tables: Arc<[ShapeTable]>,
}

impl Costly {
    /// Of a request; `is_secret` says which attributes' values nobody may see.
    pub(super) fn new(
        request: &SearchRequest<'_>,
        time: RequestTime,
        tables: &Arc<[ShapeTable]>,
        is_secret: impl Fn(&[u8]) -> bool,
    ) -> Costly {
        let shape = request.filter.shape(TEXT_BYTES_MAX);
        let has_secrets = request.filter.nodes().iter().any(|node| node.attribute().is_some_and(&is_secret));
        let filter = if has_secrets { shape.clone() } else { shortened(request.filter.to_string()) };
        let base = shortened(String::from_utf8_lossy(request.base).into_owned());
        Costly { shape, filter, base, time, tables: Arc::clone(tables) }
    }

    /// Records how it went on the backend at `at`.
    pub(super) fn record(self, at: BackendIndex, scope: Scope, went: Went, remedies: impl FnOnce() -> Vec<Remedy>) {
        let tables = Arc::clone(&self.tables);
        let Some(table) = tables.get(at.0) else { return };
        let elapsed = self.time.started.elapsed();
        let seconds = i64::try_from(elapsed.as_secs()).unwrap_or(0);
        let sample = Sample {
            shape: &self.shape,
            scope,
            went,
            elapsed,
            unix_seconds: self.time.unix_seconds.saturating_add(seconds),
        };
        table.record(&sample, || Example { base: self.base, filter: self.filter, remedies: remedies() });
    }
}

fn shortened(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        let end = (0..=TEXT_BYTES_MAX).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    text
}

/// What makes a sample an example: worked out only for the worst.
pub struct Example {
    /// The base DN.
    pub base: String,
    /// The filter.
    pub filter: String,
    /// What would have helped.
    pub remedies: Vec<Remedy>,
}

#[derive(Debug, Default)]
struct Totals {
    count: u64,
    unindexed: u64,
    refused: u64,
    examined: u64,
    returned: u64,
    total: Duration,
    worst: Duration,
    last: i64,
    base: String,
    example: String,
    remedies: Vec<Remedy>,
    /// When `remedies` were worked out.
    advised: i64,
}

impl Totals {
    fn add(&mut self, sample: &Sample<'_>) {
        self.count += 1;
        self.unindexed += u64::from(sample.went.is_unindexed);
        self.refused += u64::from(sample.went.is_refused);
        self.examined = self.examined.saturating_add(sample.went.examined);
        self.returned = self.returned.saturating_add(sample.went.returned);
        self.total = self.total.saturating_add(sample.elapsed);
        self.worst = self.worst.max(sample.elapsed);
        self.last = self.last.max(sample.unix_seconds);
    }

    /// What it is worth to keep: the time spent on it, less the longer ago it was.
    fn worth(&self, now: i64) -> u128 {
        let hours = u128::try_from(now.saturating_sub(self.last).max(0)).unwrap_or(0) / 3600;
        self.total.as_nanos() / (1 + hours)
    }
}

type Shape = (Box<str>, u8);

/// The shapes of one backend.
#[derive(Debug, Default)]
pub struct ShapeTable {
    shapes: Mutex<HashMap<Shape, Totals>>,
    evicted: AtomicU64,
    missed: AtomicU64,
}

impl ShapeTable {
    /// Takes in one search. `example` is called when it is the worst of its shape, or advice is old; it may take its
    /// time.
    pub fn record(&self, sample: &Sample<'_>, example: impl FnOnce() -> Example) {
        let key = (Box::from(sample.shape), scope_number(sample.scope));
        let now = sample.unix_seconds;
        let Some(mut shapes) = self.try_lock() else { return };
        if !shapes.contains_key(&key) && shapes.len() >= SHAPES_MAX {
            let least = shapes.iter().min_by_key(|(_, totals)| totals.worth(now)).map(|(key, _)| key.clone());
            if let Some(least) = least {
                shapes.remove(&least);
                self.evicted.fetch_add(1, Ordering::Relaxed);
            }
        }
        let totals = shapes.entry(key.clone()).or_default();
        let is_worst = totals.count == 0 || sample.elapsed > totals.worst;
        let is_old = now.saturating_sub(totals.advised) >= ADVICE_SECONDS;
        totals.add(sample);
        drop(shapes);
        if !is_worst && !is_old {
            return;
        }
        let example = example();
        let Some(mut shapes) = self.try_lock() else { return };
        let Some(totals) = shapes.get_mut(&key) else { return };
        (totals.remedies, totals.advised) = (example.remedies, now);
        if is_worst {
            (totals.base, totals.example) = (example.base, example.filter);
        }
    }

    /// The table, unless another thread has it.
    fn try_lock(&self) -> Option<MutexGuard<'_, HashMap<Shape, Totals>>> {
        match self.shapes.try_lock() {
            Ok(shapes) => Some(shapes),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                self.missed.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// The monitor's entry. `is_followed` tells of an advice that nothing is left to do.
    pub fn monitor_entry(&self, backend: &str, is_followed: impl Fn(&Remedy) -> bool) -> MonitorEntry {
        // A monitor may wait: it holds nobody up, as searches only try.
        let shapes = self.shapes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shown: Vec<(Duration, String)> = Vec::with_capacity(shapes.len());
        for ((shape, scope), totals) in shapes.iter() {
            let open: Vec<&Remedy> = totals.remedies.iter().filter(|remedy| !is_followed(remedy)).collect();
            if open.is_empty() && !totals.remedies.is_empty() {
                continue;
            }
            shown.push((totals.total, value(shape, *scope, totals, &open)));
        }
        drop(shapes);
        shown.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut entry = MonitorEntry::new(&format!("{backend} Index Advice"))
            .with("ds-backend-id", backend)
            .with("shapes", shown.len())
            .with("shapes-max", SHAPES_MAX)
            .with("shapes-evicted", self.evicted.load(Ordering::Relaxed))
            .with("samples-missed", self.missed.load(Ordering::Relaxed));
        if !shown.is_empty() {
            let values = shown.into_iter().map(|(_, value)| value).collect();
            entry.attributes.push(("index-advice".to_owned(), values));
        }
        entry
    }
}

fn value(shape: &str, scope: u8, totals: &Totals, remedies: &[&Remedy]) -> String {
    let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    JsonWriter::object_text(|json| {
        json.key("shape").text(shape);
        json.key("scope").text(SCOPE_NAMES.get(usize::from(scope)).copied().unwrap_or_default());
        json.key("count").number(totals.count);
        json.key("unindexed").number(totals.unindexed);
        json.key("refused").number(totals.refused);
        json.key("examined").number(totals.examined);
        json.key("returned").number(totals.returned);
        json.key("totalMicroseconds").number(us(totals.total));
        json.key("worstMicroseconds").number(us(totals.worst));
        json.key("last").text(&generalized_time(totals.last));
        json.key("base").text(&totals.base);
        json.key("example").text(&totals.example);
        json.key("advice").list(|json| remedies.iter().for_each(|remedy| remedy.write(json)));
    })
}

/// As attributes of the monitor say a time.
pub(crate) fn generalized_time(unix_seconds: i64) -> String {
    let ms = u64::try_from(unix_seconds).unwrap_or(0).saturating_mul(1000);
    let mut text = Vec::with_capacity(15);
    Timestamp { ms, has_ms: false }.write(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Scopes by [`scope_number`], in OpenDJ's words.
const SCOPE_NAMES: [&str; 4] = ["base", "one", "sub", "subordinates"];

fn scope_number(scope: Scope) -> u8 {
    match scope {
        Scope::BaseObject => 0,
        Scope::SingleLevel => 1,
        Scope::WholeSubtree => 2,
        Scope::SubordinateSubtree => 3,
    }
}

/// A scope in OpenDJ's word.
#[must_use]
pub fn scope_name(scope: Scope) -> &'static str {
    SCOPE_NAMES.get(usize::from(scope_number(scope))).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use query::plan::remedy::{Remedy, Step};

    fn sample(shape: &str, ms: u64, unix_seconds: i64) -> Sample<'_> {
        Sample {
            shape,
            scope: Scope::WholeSubtree,
            went: Went { is_unindexed: true, is_refused: false, examined: 1000, returned: 2 },
            elapsed: Duration::from_millis(ms),
            unix_seconds,
        }
    }

    fn example(filter: &str) -> Example {
        let remedy = Remedy { backend: "userRoot".into(), attribute: "mail".into(), step: Step::EntryLimit(6000) };
        Example { base: "dc=example,dc=com".to_owned(), filter: filter.to_owned(), remedies: vec![remedy] }
    }

    fn values(table: &ShapeTable) -> Vec<String> {
        let entry = table.monitor_entry("userRoot", |_| false);
        entry.attributes.into_iter().find(|(name, _)| name == "index-advice").map(|it| it.1).unwrap_or_default()
    }

    #[test]
    fn only_what_looked_at_far_too_much_is_worth_advice() {
        let is_worth = |is_unindexed, examined, returned| {
            Went { is_unindexed, is_refused: false, examined, returned }.is_worth_advice()
        };
        assert!(is_worth(true, 0, 0));
        assert!(is_worth(false, 1000, 99));
        assert!(!is_worth(false, 1000, 100));
        assert!(!is_worth(false, 100, 0));
        assert!(is_worth(false, 101, 0));
    }

    #[test]
    fn searches_of_one_shape_are_one_value_with_the_worst_as_example() {
        let table = ShapeTable::default();
        table.record(&sample("(mail=*?*)", 5, 1_000_000_000), || example("(mail=*a*)"));
        table.record(&sample("(mail=*?*)", 9, 1_000_000_100), || example("(mail=*b*)"));
        table.record(&sample("(mail=*?*)", 7, 1_000_000_200), || example("(mail=*c*)"));
        assert_eq!(
            values(&table),
            [r#"{"shape":"(mail=*?*)","scope":"sub","count":3,"unindexed":3,"refused":0,"examined":3000,"returned":6,"#
                .to_owned()
                + r#""totalMicroseconds":21000,"worstMicroseconds":9000,"last":"20010909015000Z","#
                + r#""base":"dc=example,dc=com","example":"(mail=*b*)","#
                + r#""advice":[{"attribute":"mail","indexEntryLimit":6000,"command":"dsconfig set-backend-index-prop "#
                + r#"--backend-name userRoot --index-name mail --set index-entry-limit:6000"}]}"#]
        );
        // What was followed is not shown.
        let entry = table.monitor_entry("userRoot", |_| true);
        assert!(entry.attributes.iter().all(|(name, _)| name != "index-advice"));
    }

    #[test]
    fn memory_is_bounded_and_what_cost_most_stays() {
        let table = ShapeTable::default();
        table.record(&sample("(costly=?)", 60_000, 1_000_000_000), || example("(costly=1)"));
        for number in 0..2 * SHAPES_MAX {
            table.record(&sample(&format!("(a{number}=?)"), 1, 1_000_000_000), || example("(a=1)"));
        }
        let values = values(&table);
        assert_eq!(values.len(), SHAPES_MAX);
        assert!(values[0].contains("(costly=?)"));
        assert_eq!(table.evicted.load(Ordering::Relaxed), SHAPES_MAX as u64 + 1);
    }
}
