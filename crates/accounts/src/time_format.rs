//! How the time of the last login is written: patterns of Java's `SimpleDateFormat`, as OpenDJ has them.
//!
//! Takes the letters that make a time which can be read back: numbers of fixed width in UTC. What is not written counts
//! from the beginning of what is.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::moment::Moment;

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeFormatError {
    /// A letter that is not known, or not that often.
    #[error("\"{letters}\" is not supported: write yyyy, MM, dd, HH, mm, ss, SSS, 'Z' and text in quotes")]
    Letters {
        /// The run of letters.
        letters: String,
    },
    /// A part that is there twice.
    #[error("\"{letters}\" is there twice")]
    Twice {
        /// The letters.
        letters: &'static str,
    },
    /// A finer part without the coarser one.
    #[error("there is \"{finer}\" without \"{coarser}\", so the time could not be read back")]
    Incomplete {
        /// What is there.
        finer: &'static str,
        /// What is not.
        coarser: &'static str,
    },
    /// A quote that does not end.
    #[error("a quote is not closed")]
    OpenQuote,
    /// Nothing but text.
    #[error("there is no year (yyyy)")]
    NoYear,
}

/// A part of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
}

/// From the coarsest to the finest.
const PARTS: [(Part, &str); 7] = [
    (Part::Year, "yyyy"),
    (Part::Month, "MM"),
    (Part::Day, "dd"),
    (Part::Hour, "HH"),
    (Part::Minute, "mm"),
    (Part::Second, "ss"),
    (Part::Millisecond, "SSS"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Text(String),
    /// With so many digits.
    Part(Part, usize),
}

/// A pattern that was understood. Prints as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeFormat {
    pattern: String,
    items: Vec<Item>,
}

impl std::fmt::Display for TimeFormat {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.pattern)
    }
}

impl TimeFormat {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When a time that is written by it could not be read back.
    pub fn parse(pattern: &str) -> Result<TimeFormat, TimeFormatError> {
        let mut items = Vec::new();
        let mut text = String::new();
        let mut letters = pattern.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter == '\'' {
                quoted(&mut letters, &mut text)?;
                continue;
            }
            if !letter.is_ascii_alphabetic() {
                text.push(letter);
                continue;
            }
            let mut run = String::from(letter);
            while letters.next_if_eq(&letter).is_some() {
                run.push(letter);
            }
            let known = PARTS.iter().find(|(_, spelling)| *spelling == run);
            let Some((part, spelling)) = known else { return Err(TimeFormatError::Letters { letters: run }) };
            if !text.is_empty() {
                items.push(Item::Text(std::mem::take(&mut text)));
            }
            items.push(Item::Part(*part, spelling.len()));
        }
        if !text.is_empty() {
            items.push(Item::Text(text));
        }
        check_parts(&items)?;
        Ok(TimeFormat { pattern: pattern.to_owned(), items })
    }

    /// A GeneralizedTime with milliseconds (`20261122094913.380Z`), as state attributes are written.
    #[must_use]
    pub fn generalized() -> TimeFormat {
        let date = [Part::Year, Part::Month, Part::Day, Part::Hour, Part::Minute, Part::Second];
        let part = |part: Part| Item::Part(part, PARTS.get(part as usize).map_or(0, |(_, spelling)| spelling.len()));
        let end = [Item::Text(".".to_owned()), part(Part::Millisecond), Item::Text("Z".to_owned())];
        TimeFormat {
            pattern: "yyyyMMddHHmmss.SSS'Z'".to_owned(),
            items: date.into_iter().map(part).chain(end).collect(),
        }
    }

    /// Appends a time.
    pub fn write(&self, time: Moment, out: &mut Vec<u8>) {
        let zoned = utc(time);
        for item in &self.items {
            match item {
                Item::Text(text) => out.extend_from_slice(text.as_bytes()),
                Item::Part(part, width) => {
                    let number = value(&zoned, *part);
                    out.extend((0..*width).rev().map(|at| b'0' + (number / 10u32.pow(at as u32) % 10) as u8));
                }
            }
        }
    }

    /// The time that a text says, 1970 if it lies before; none when it was not written by this pattern.
    #[must_use]
    pub fn read(&self, mut text: &[u8]) -> Option<Moment> {
        let mut parts = [1970, 1, 1, 0, 0, 0, 0];
        for item in &self.items {
            match item {
                Item::Text(expected) => text = text.strip_prefix(expected.as_bytes())?,
                Item::Part(part, width) => {
                    let (digits, rest) = text.split_at_checked(*width)?;
                    let number =
                        std::str::from_utf8(digits).ok().filter(|it| it.bytes().all(|b| b.is_ascii_digit()))?;
                    *parts.get_mut(*part as usize)? = number.parse::<i16>().ok()?;
                    text = rest;
                }
            }
        }
        if !text.is_empty() {
            return None;
        }
        let [year, month, day, hour, minute, second, millisecond] = parts;
        let small = |number: i16| i8::try_from(number).ok();
        let nanoseconds = i32::from(millisecond) * 1_000_000;
        let civil =
            DateTime::new(year, small(month)?, small(day)?, small(hour)?, small(minute)?, small(second)?, nanoseconds);
        let zoned = civil.ok()?.to_zoned(TimeZone::UTC).ok()?;
        Some(Moment(u64::try_from(zoned.timestamp().as_millisecond()).unwrap_or(0)))
    }
}

fn quoted(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, text: &mut String) -> Result<(), TimeFormatError> {
    // Two quotes are one.
    if letters.next_if_eq(&'\'').is_some() {
        text.push('\'');
        return Ok(());
    }
    loop {
        match letters.next() {
            Some('\'') if letters.next_if_eq(&'\'').is_some() => text.push('\''),
            Some('\'') => return Ok(()),
            Some(other) => text.push(other),
            None => return Err(TimeFormatError::OpenQuote),
        }
    }
}

fn check_parts(items: &[Item]) -> Result<(), TimeFormatError> {
    let count = |part: Part| items.iter().filter(|item| matches!(item, Item::Part(it, _) if *it == part)).count();
    if count(Part::Year) == 0 {
        return Err(TimeFormatError::NoYear);
    }
    for pair in PARTS.windows(2) {
        let [(coarse, coarser), (fine, finer)] = pair else { continue };
        if count(*fine) > 0 && count(*coarse) == 0 {
            return Err(TimeFormatError::Incomplete { finer, coarser });
        }
    }
    match PARTS.iter().find(|(part, _)| count(*part) > 1) {
        Some((_, letters)) => Err(TimeFormatError::Twice { letters }),
        None => Ok(()),
    }
}

/// Times beyond what a calendar has are its last.
fn utc(time: Moment) -> Zoned {
    let time = i64::try_from(time.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.unwrap_or(Timestamp::MAX).to_zoned(TimeZone::UTC)
}

fn value(zoned: &Zoned, part: Part) -> u32 {
    let number = match part {
        Part::Year => i32::from(zoned.year()),
        Part::Month => i32::from(zoned.month()),
        Part::Day => i32::from(zoned.day()),
        Part::Hour => i32::from(zoned.hour()),
        Part::Minute => i32::from(zoned.minute()),
        Part::Second => i32::from(zoned.second()),
        Part::Millisecond => i32::from(zoned.millisecond()),
    };
    number.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read_back_as_far_as_the_pattern_goes() {
        let now = Moment(1_709_208_123_456);
        for (pattern, text, ms) in [
            ("yyyyMMdd", "20240229", 1_709_164_800_000),
            ("yyyyMMddHHmmss'Z'", "20240229120203Z", 1_709_208_123_000),
            ("yyyyMMddHHmmss.SSS'Z'", "20240229120203.456Z", 1_709_208_123_456),
            ("yyyy-MM-dd'T'HH:mm", "2024-02-29T12:02", 1_709_208_120_000),
            ("dd/MM/yyyy 'o''clock'", "29/02/2024 o'clock", 1_709_164_800_000),
            ("yyyy", "2024", 1_704_067_200_000),
        ] {
            let format = TimeFormat::parse(pattern).unwrap();
            let mut written = Vec::new();
            format.write(now, &mut written);
            assert_eq!(String::from_utf8_lossy(&written), text, "{pattern}");
            assert_eq!(format.read(&written), Some(Moment(ms)), "{pattern}");
            assert_eq!(format.to_string(), pattern);
        }
    }

    #[test]
    fn a_generalized_time_is_one_of_the_patterns() {
        let format = TimeFormat::generalized();
        assert_eq!(TimeFormat::parse(&format.to_string()), Ok(format));
    }

    #[test]
    fn what_was_not_written_so_is_no_time() {
        let format = TimeFormat::parse("yyyyMMdd").unwrap();
        for text in ["2024022", "202402290", "20240230", "2024-2-9", "+0240229", ""] {
            assert_eq!(format.read(text.as_bytes()), None, "{text}");
        }
        assert_eq!(format.read(b"19600101"), Some(Moment(0)), "before 1970 it is 1970");
    }

    #[test]
    fn patterns_that_could_not_be_read_back_are_refused() {
        for (pattern, told) in [
            ("EEE yyyy", "\"EEE\" is not supported: write yyyy, MM, dd, HH, mm, ss, SSS, 'Z' and text in quotes"),
            ("yyMMdd", "\"yy\" is not supported: write yyyy, MM, dd, HH, mm, ss, SSS, 'Z' and text in quotes"),
            ("yyyydd", "there is \"dd\" without \"MM\", so the time could not be read back"),
            ("MMdd", "there is no year (yyyy)"),
            ("yyyyMMyyyy", "\"yyyy\" is there twice"),
            ("yyyy'", "a quote is not closed"),
            ("", "there is no year (yyyy)"),
        ] {
            assert_eq!(TimeFormat::parse(pattern).unwrap_err().to_string(), told, "{pattern}");
        }
    }
}
