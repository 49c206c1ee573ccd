//! The longest times: of the values as they are written, with how often each came, and of single operations.

use std::collections::BTreeMap;

use crate::record::{Etime, Ids, Kind, Moment, Outcome, Phases};

/// A text of an operation is cut.
const TEXT_BYTES_MAX: usize = 512;

/// `etime=34.587640 csn=…` or `etime=621.012380 notes=U,F`, as often as it came.
#[derive(Debug, Default)]
pub struct LongestValues {
    values: BTreeMap<(u64, Box<str>), u64>,
    rows_max: usize,
}

/// `34.587640`: with as many digits as the log has.
#[must_use]
pub fn etime_text(etime: Etime) -> String {
    let (seconds, ns) = (etime.ns / 1_000_000_000, etime.ns % 1_000_000_000);
    let digits = format!("{ns:09}");
    match digits.get(..usize::from(etime.digits)) {
        Some("") | None => seconds.to_string(),
        Some(fraction) => format!("{seconds}.{fraction}"),
    }
}

impl LongestValues {
    /// With at most so many values.
    #[must_use]
    pub fn new(rows_max: usize) -> Self {
        Self { values: BTreeMap::new(), rows_max: rows_max.max(1) }
    }

    /// Counts an etime.
    #[inline]
    pub fn add(&mut self, etime: Etime, outcome: &Outcome<'_>) {
        if self.values.len() >= self.rows_max && self.values.first_key_value().is_some_and(|(low, _)| etime.ns < low.0)
        {
            return;
        }
        let mut text = format!("etime={}", etime_text(etime));
        if outcome.notes.0 != 0 {
            let letters: Vec<String> = outcome.notes.letters().rev().map(String::from).collect();
            text.push_str(&format!(" notes={}", letters.join(",")));
        }
        if !outcome.csn.is_empty() {
            text.push_str(" csn=");
            text.push_str(&String::from_utf8_lossy(&outcome.csn));
        }
        *self.values.entry((etime.ns, text.into())).or_default() += 1;
        if self.values.len() > self.rows_max {
            self.values.pop_first();
        }
    }

    /// Texts and counts, the longest first.
    pub fn rows(&self) -> impl Iterator<Item = (&str, u64)> {
        self.values.iter().rev().map(|((_, text), count)| (&**text, *count))
    }
}

/// An operation that took long.
#[derive(Debug, Clone)]
pub struct SlowOperation {
    /// Its time.
    pub etime: Etime,
    /// When it was answered.
    pub answered: Option<Moment>,
    /// Which one.
    pub ids: Ids,
    /// What it did.
    pub kind: Kind,
    /// Where.
    pub dn: Box<[u8]>,
    /// Of a search.
    pub filter: Box<[u8]>,
    /// The client's address.
    pub client: Box<[u8]>,
    /// Entries returned.
    pub entries: Option<u64>,
    /// No index answered it.
    pub is_unindexed: bool,
    /// Where its time went, as far as it was logged.
    pub phases: Phases,
    /// Result code.
    pub code: i64,
}

/// A text of an operation, cut.
#[must_use]
pub fn kept(text: &[u8]) -> Box<[u8]> {
    text.get(..TEXT_BYTES_MAX).unwrap_or(text).into()
}

/// The longest operations.
#[derive(Debug, Default)]
pub struct LongestOperations {
    /// By time; of two that took the same, the one that came first is the longer.
    operations: BTreeMap<(u64, u64), SlowOperation>,
    rows_max: usize,
    seen: u64,
}

impl LongestOperations {
    /// With at most so many.
    #[must_use]
    pub fn new(rows_max: usize) -> Self {
        Self { operations: BTreeMap::new(), rows_max: rows_max.max(1), seen: 0 }
    }

    /// Whether one that took so long is among them.
    #[inline]
    #[must_use]
    pub fn wants(&self, ns: u64) -> bool {
        self.operations.len() < self.rows_max || self.operations.first_key_value().is_some_and(|(low, _)| ns > low.0)
    }

    /// Takes it.
    pub fn add(&mut self, operation: SlowOperation) {
        self.seen += 1;
        self.operations.insert((operation.etime.ns, u64::MAX - self.seen), operation);
        if self.operations.len() > self.rows_max {
            self.operations.pop_first();
        }
    }

    /// The longest first.
    pub fn rows(&self) -> impl Iterator<Item = &SlowOperation> {
        self.operations.values().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Notes;

    // S3-05
    #[test]
    fn values_are_written_as_the_log_has_them() {
        let mut longest = LongestValues::new(3);
        let etime = |ns, digits| Etime { ns, digits };
        let plain = Outcome::of(None);
        let flagged = Outcome { notes: Notes::parse(b"U,F"), ..Outcome::of(None) };
        let changed = Outcome { csn: b"47f23c12000000290000".as_slice().into(), ..Outcome::of(None) };
        longest.add(etime(621_012_380_000, 6), &flagged);
        longest.add(etime(34_587_640_000, 6), &changed);
        longest.add(etime(1_000_000, 3), &plain);
        longest.add(etime(512_000_000_000, 0), &plain);
        longest.add(etime(512_000_000_000, 0), &plain);
        let rows: Vec<(&str, u64)> = longest.rows().collect();
        assert_eq!(
            rows,
            [("etime=621.012380 notes=U,F", 1), ("etime=512", 2), ("etime=34.587640 csn=47f23c12000000290000", 1)]
        );
    }
}
