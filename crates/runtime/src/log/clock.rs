//! Timestamps of log lines: a Java-style pattern, rendered at most once a second.
//!
//! Knows the calendar and the local time zone. Does not read the clock itself: the caller passes the time, so that a
//! whole turn of an event loop shares one reading.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use thiserror::Error;

/// The pattern OpenDJ uses unless told otherwise (`log-record-time-format`).
pub const DEFAULT_TIME_FORMAT: &str = "dd/MMM/yyyy:HH:mm:ss Z";

/// Why a `log-record-time-format` was refused.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TimeFormatError {
    /// A letter that stands for nothing we can print.
    #[error(
        "time format letter '{letter}' is not supported; allowed are y, M, d, H, h, m, s, S, a, E, Z, X, z and quoted \
            text"
    )]
    UnknownLetter {
        /// The offending letter.
        letter: char,
    },
    /// A quote that never ends.
    #[error("time format has a quote that is not closed")]
    OpenQuote,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Literal(String),
    Year {
        short: bool,
    },
    MonthName {
        full: bool,
    },
    Month(usize),
    Day(usize),
    WeekdayName {
        full: bool,
    },
    Hour24(usize),
    Hour12(usize),
    HalfDay,
    Minute(usize),
    Second(usize),
    Millisecond(usize),
    /// `+0200`
    OffsetPlain,
    /// `+02:00`, or `Z` at UTC
    OffsetIso,
}

/// A parsed time pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeFormat {
    items: Vec<Item>,
    has_subseconds: bool,
}

impl TimeFormat {
    /// Reads the pattern letters of Java's `SimpleDateFormat` that make sense in a log.
    pub fn parse(pattern: &str) -> Result<Self, TimeFormatError> {
        let mut items = Vec::new();
        let mut literal = String::new();
        let mut letters = pattern.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter == '\'' {
                read_quoted(&mut letters, &mut literal)?;
                continue;
            }
            if !letter.is_ascii_alphabetic() {
                literal.push(letter);
                continue;
            }
            let mut run = 1;
            while letters.next_if_eq(&letter).is_some() {
                run += 1;
            }
            if !literal.is_empty() {
                items.push(Item::Literal(std::mem::take(&mut literal)));
            }
            items.push(item_of(letter, run)?);
        }
        if !literal.is_empty() {
            items.push(Item::Literal(literal));
        }
        let has_subseconds = items.iter().any(|item| matches!(item, Item::Millisecond(_)));
        Ok(Self { items, has_subseconds })
    }

    fn render(&self, time: Timestamp, zone: &TimeZone, out: &mut Vec<u8>) {
        let zoned = time.to_zoned(zone.clone());
        for item in &self.items {
            match item {
                Item::Literal(text) => out.extend_from_slice(text.as_bytes()),
                Item::Year { short: true } => padded(out, u64::from(zoned.year().unsigned_abs() % 100), 2),
                Item::Year { short: false } => padded(out, u64::from(zoned.year().unsigned_abs()), 4),
                Item::MonthName { full } => name(out, &zoned, if *full { "%B" } else { "%b" }),
                Item::Month(width) => padded(out, zoned.month() as u64, *width),
                Item::Day(width) => padded(out, zoned.day() as u64, *width),
                Item::WeekdayName { full } => name(out, &zoned, if *full { "%A" } else { "%a" }),
                Item::Hour24(width) => padded(out, zoned.hour() as u64, *width),
                Item::Hour12(width) => padded(out, (zoned.hour() as u64 + 11) % 12 + 1, *width),
                Item::HalfDay => out.extend_from_slice(if zoned.hour() < 12 { b"AM" } else { b"PM" }),
                Item::Minute(width) => padded(out, zoned.minute() as u64, *width),
                Item::Second(width) => padded(out, zoned.second() as u64, *width),
                Item::Millisecond(width) => padded(out, zoned.millisecond() as u64, *width),
                Item::OffsetPlain => offset(out, zoned.offset().seconds(), false),
                Item::OffsetIso if zoned.offset().seconds() == 0 => out.push(b'Z'),
                Item::OffsetIso => offset(out, zoned.offset().seconds(), true),
            }
        }
    }
}

impl Default for TimeFormat {
    fn default() -> Self {
        // Invariant: the default pattern has only supported letters; a test renders it.
        Self::parse(DEFAULT_TIME_FORMAT).unwrap_or(Self { items: Vec::new(), has_subseconds: false })
    }
}

/// Renders `[timestamp] ` and keeps the text for the rest of the second.
#[derive(Debug, Clone)]
pub struct LogClock {
    format: TimeFormat,
    zone: TimeZone,
    second: i64,
    text: Vec<u8>,
}

impl LogClock {
    /// A clock in the zone of the machine.
    pub fn new(format: TimeFormat) -> Self {
        Self::with_zone(format, TimeZone::system())
    }

    /// A clock in a given zone.
    pub fn with_zone(format: TimeFormat, zone: TimeZone) -> Self {
        Self { format, zone, second: i64::MIN, text: Vec::with_capacity(40) }
    }

    /// The time alone.
    pub fn plain(&mut self, now: SystemTime) -> &[u8] {
        let stamp = self.stamp(now);
        stamp.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"] ")).unwrap_or(stamp)
    }

    /// The line head for `now`, with brackets and the blank that follows them.
    pub fn stamp(&mut self, now: SystemTime) -> &[u8] {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let second = i64::try_from(since.as_secs()).unwrap_or(0);
        if second != self.second || self.format.has_subseconds {
            let time = Timestamp::new(second, since.subsec_nanos().cast_signed()).unwrap_or(Timestamp::UNIX_EPOCH);
            self.second = second;
            self.text.clear();
            self.text.push(b'[');
            self.format.render(time, &self.zone, &mut self.text);
            self.text.extend_from_slice(b"] ");
        }
        &self.text
    }
}

/// Width beyond which padding is pointless; keeps a hostile pattern small.
const PAD_WIDTH_MAX: usize = 9;

fn read_quoted(
    letters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    literal: &mut String,
) -> Result<(), TimeFormatError> {
    if letters.next_if_eq(&'\'').is_some() {
        literal.push('\'');
        return Ok(());
    }
    loop {
        match letters.next() {
            Some('\'') if letters.next_if_eq(&'\'').is_some() => literal.push('\''),
            Some('\'') => return Ok(()),
            Some(other) => literal.push(other),
            None => return Err(TimeFormatError::OpenQuote),
        }
    }
}

fn item_of(letter: char, run: usize) -> Result<Item, TimeFormatError> {
    let width = run.min(PAD_WIDTH_MAX);
    Ok(match letter {
        'y' => Item::Year { short: run == 2 },
        'M' if run >= 3 => Item::MonthName { full: run > 3 },
        'M' => Item::Month(width),
        'd' => Item::Day(width),
        'E' => Item::WeekdayName { full: run > 3 },
        'H' => Item::Hour24(width),
        'h' => Item::Hour12(width),
        'a' => Item::HalfDay,
        'm' => Item::Minute(width),
        's' => Item::Second(width),
        'S' => Item::Millisecond(width),
        'Z' | 'z' => Item::OffsetPlain,
        'X' => Item::OffsetIso,
        _ => return Err(TimeFormatError::UnknownLetter { letter }),
    })
}

fn name(out: &mut Vec<u8>, time: &Zoned, format: &str) {
    // A vector takes every byte, and the format is one of four that jiff knows.
    let _ = write!(out, "{}", time.strftime(format));
}

fn offset(out: &mut Vec<u8>, seconds: i32, colon: bool) {
    out.push(if seconds < 0 { b'-' } else { b'+' });
    let minutes = u64::from(seconds.unsigned_abs()) / 60;
    padded(out, minutes / 60, 2);
    if colon {
        out.push(b':');
    }
    padded(out, minutes % 60, 2);
}

fn padded(out: &mut Vec<u8>, number: u64, width: usize) {
    let start = out.len();
    super::text::decimal(out, number);
    let digits = out.len() - start;
    for _ in digits..width {
        out.insert(start, b'0');
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::tz::Offset;

    use super::*;

    fn render(pattern: &str, seconds: u64, millis: u32, offset_hours: i8) -> String {
        let zone = TimeZone::fixed(Offset::constant(offset_hours));
        let mut clock = LogClock::with_zone(TimeFormat::parse(pattern).unwrap(), zone);
        let time = UNIX_EPOCH + Duration::new(seconds, millis * 1_000_000);
        String::from_utf8(clock.stamp(time).to_vec()).unwrap()
    }

    #[test]
    fn default_pattern_is_the_one_of_the_seed() {
        // S0-44: `[12/Sep/2016:14:25:31 +0200]`
        assert_eq!(render(DEFAULT_TIME_FORMAT, 1_473_683_131, 0, 2), "[12/Sep/2016:14:25:31 +0200] ");
        assert_eq!(render(DEFAULT_TIME_FORMAT, 1_473_683_131, 0, -3), "[12/Sep/2016:09:25:31 -0300] ");
        assert_eq!(LogClock::new(TimeFormat::default()).stamp(UNIX_EPOCH).len(), 29);
    }

    #[test]
    fn other_letters() {
        assert_eq!(render("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", 1_473_683_131, 7, 0), "[2016-09-12T12:25:31.007Z] ");
        assert_eq!(render("EEE d MMMM yy h a '' ''", 1_473_683_131, 0, 0), "[Mon 12 September 16 12 PM ' '] ");
        assert_eq!(TimeFormat::parse("QQ"), Err(TimeFormatError::UnknownLetter { letter: 'Q' }));
        assert_eq!(TimeFormat::parse("yy'x"), Err(TimeFormatError::OpenQuote));
    }

    #[test]
    fn text_changes_with_the_second_and_with_milliseconds_when_asked() {
        let zone = TimeZone::UTC;
        let mut clock = LogClock::with_zone(TimeFormat::default(), zone.clone());
        let first = clock.stamp(UNIX_EPOCH + Duration::from_millis(10)).to_vec();
        assert_eq!(clock.stamp(UNIX_EPOCH + Duration::from_millis(900)), first);
        assert_ne!(clock.stamp(UNIX_EPOCH + Duration::from_millis(1001)), first);
        let mut fine = LogClock::with_zone(TimeFormat::parse("ss.SSS").unwrap(), zone);
        assert_eq!(fine.stamp(UNIX_EPOCH + Duration::from_millis(10)), b"[00.010] ");
        assert_eq!(fine.stamp(UNIX_EPOCH + Duration::from_millis(11)), b"[00.011] ");
    }
}
