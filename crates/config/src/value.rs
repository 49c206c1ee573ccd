//! Values: from the text of a setting to a checked value, and back to text.
//!
//! Knows the syntaxes of [`crate::declare`]. Does not know which property a value belongs to, nor where it stood.

use std::{net::IpAddr, path::PathBuf};

use crate::{
    declare::{Syntax, Unit},
    mask::AddressMask,
};

/// A checked value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text, a DN, an attribute type, a password, a reference.
    Text(String),
    /// A whole number, permission bits.
    Integer(i64),
    /// Bytes.
    Size(u64),
    /// Milliseconds.
    Duration(u64),
    /// Yes or no.
    Boolean(bool),
    /// A word of the declaration, in its spelling.
    Choice(&'static str),
    /// An address.
    Address(IpAddr),
    /// Some addresses.
    Mask(AddressMask),
    /// A path as written.
    Path(PathBuf),
    /// (hour, minute)
    TimeOfDay(u8, u8),
}

/// Reads `text` as a value of `syntax`; `None` says only that it is none: [`Syntax::allowed`] says what would be.
pub(crate) fn parse(syntax: Syntax, text: &str) -> Option<Value> {
    let trimmed = text.trim();
    match syntax {
        Syntax::Text | Syntax::Password => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
        Syntax::Pattern => (!text.is_empty() && is_pattern(text)).then(|| Value::Text(text.to_owned())),
        Syntax::Reference(_) => (!trimmed.is_empty()).then(|| Value::Text(trimmed.to_owned())),
        Syntax::Dn => crate::dn::is_dn(trimmed).then(|| Value::Text(trimmed.to_owned())),
        Syntax::AttributeType => is_attribute_type(trimmed).then(|| Value::Text(trimmed.to_owned())),
        Syntax::Integer { min, max } => {
            trimmed.parse().ok().filter(|number| (min..=max).contains(number)).map(Value::Integer)
        }
        Syntax::Size { min, max } => parse_size(trimmed).filter(|bytes| (min..=max).contains(bytes)).map(Value::Size),
        Syntax::Duration { unit, min_ms, max_ms } => {
            parse_duration(trimmed, unit).filter(|ms| (min_ms..=max_ms).contains(ms)).map(Value::Duration)
        }
        Syntax::Boolean => match trimmed.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(Value::Boolean(true)),
            "false" | "no" | "off" => Some(Value::Boolean(false)),
            _ => None,
        },
        Syntax::Choice(words) => {
            words.iter().find(|word| word.eq_ignore_ascii_case(trimmed)).map(|word| Value::Choice(word))
        }
        Syntax::Address => trimmed.parse().ok().map(Value::Address),
        Syntax::AddressMask => AddressMask::parse(trimmed).map(Value::Mask),
        Syntax::Path => (!trimmed.is_empty() && !trimmed.contains('\0')).then(|| Value::Path(PathBuf::from(trimmed))),
        Syntax::Mode => (matches!(trimmed.len(), 3 | 4) && trimmed.bytes().all(|b| (b'0'..=b'7').contains(&b)))
            .then(|| i64::from_str_radix(trimmed, 8).ok().map(Value::Integer))
            .flatten(),
        Syntax::TimeOfDay => parse_time_of_day(trimmed),
        Syntax::SeverityOverride => is_severity_override(trimmed).then(|| Value::Text(trimmed.to_owned())),
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Size(bytes) => f.write_str(&size_text(*bytes)),
            Value::Duration(ms) => f.write_str(&duration_text(*ms)),
            Value::Boolean(yes) => write!(f, "{yes}"),
            Value::Choice(word) => f.write_str(word),
            Value::Address(address) => write!(f, "{address}"),
            Value::Mask(mask) => write!(f, "{mask}"),
            Value::Path(path) => write!(f, "{}", path.display()),
            Value::TimeOfDay(hour, minute) => write!(f, "{hour:02}{minute:02}"),
        }
    }
}

/// Bytes that one compiled regular expression may take.
pub const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Units of size: short and long name, bytes. Greatest first, so that the first that divides is the best to print.
const SIZE_UNITS: [(&str, &str, u64); 9] = [
    ("tib", "tebibytes", 1 << 40),
    ("tb", "terabytes", 1_000_000_000_000),
    ("gib", "gibibytes", 1 << 30),
    ("gb", "gigabytes", 1_000_000_000),
    ("mib", "mebibytes", 1 << 20),
    ("mb", "megabytes", 1_000_000),
    ("kib", "kibibytes", 1 << 10),
    ("kb", "kilobytes", 1000),
    ("b", "bytes", 1),
];

/// Units of time: short name, long name, milliseconds. Greatest first.
const TIME_UNITS: [(&str, &str, u64); 6] = [
    ("w", "weeks", 7 * 86_400_000),
    ("d", "days", 86_400_000),
    ("h", "hours", 3_600_000),
    ("m", "minutes", 60_000),
    ("s", "seconds", 1000),
    ("ms", "milliseconds", 1),
];

fn unit_of(units: &[(&str, &str, u64)], name: &str) -> Option<u64> {
    let name = name.to_ascii_lowercase();
    let found =
        units.iter().find(|(short, long, _)| name == *short || name == *long || long.strip_suffix('s') == Some(&name));
    found.map(|unit| unit.2)
}

/// Splits `12.5 mb` into number and unit name.
fn number_and_unit(text: &str) -> Option<(&str, &str, &str)> {
    let number_end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, rest) = text.split_at(number_end);
    let rest = rest.trim_start();
    let unit_end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(unit_end);
    (!number.is_empty()).then(|| (number, unit, rest.trim_start()))
}

/// `number` times `unit`, exact; the number may have decimals if the product is whole.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().ok()?;
    let base = whole.checked_mul(unit)?;
    if decimals.is_empty() {
        return (!number.ends_with('.')).then_some(base);
    }
    let places = u32::try_from(decimals.len()).ok().filter(|places| *places <= 9)?;
    let part = u128::from(decimals.parse::<u64>().ok()?) * u128::from(unit) / u128::from(10u64.pow(places));
    base.checked_add(u64::try_from(part).ok()?)
}

/// Reads a size; a bare number counts bytes.
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    let (number, unit, rest) = number_and_unit(text)?;
    let unit = if unit.is_empty() { 1 } else { unit_of(&SIZE_UNITS, unit)? };
    rest.is_empty().then(|| scaled(number, unit)).flatten()
}

/// Reads a duration, also of several parts (`1 d 12 h`), in milliseconds.
#[must_use]
pub fn parse_duration(text: &str, bare: Unit) -> Option<u64> {
    let mut total: u64 = 0;
    let mut left = text;
    loop {
        let (number, unit, rest) = number_and_unit(left)?;
        let unit = match (unit, bare) {
            ("", Unit::Milliseconds) if left == text && rest.is_empty() => 1,
            ("", Unit::Seconds) if left == text && rest.is_empty() => 1000,
            _ => unit_of(&TIME_UNITS, unit)?,
        };
        total = total.checked_add(scaled(number, unit)?)?;
        if rest.is_empty() {
            return Some(total);
        }
        left = rest;
    }
}

/// The shortest exact text of a size.
#[must_use]
pub fn size_text(bytes: u64) -> String {
    let best = SIZE_UNITS.iter().find(|(_, _, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    best.map_or_else(|| format!("{bytes} b"), |(short, _, unit)| format!("{} {short}", bytes / unit))
}

/// The text of a duration: the greatest unit that is exact, with its name.
#[must_use]
pub fn duration_text(ms: u64) -> String {
    if ms == 0 {
        return "0 seconds".into();
    }
    let best = TIME_UNITS.iter().find(|(_, _, unit)| ms.is_multiple_of(*unit));
    best.map_or_else(
        || format!("{ms} milliseconds"),
        |(_, long, unit)| match ms / unit {
            1 => format!("1 {}", long.trim_end_matches('s')),
            count => format!("{count} {long}"),
        },
    )
}

fn parse_time_of_day(text: &str) -> Option<Value> {
    let digits: String = text.chars().filter(|c| *c != ':').collect();
    if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (hour, minute) = digits.split_at(2);
    let (hour, minute) = (hour.parse().ok()?, minute.parse().ok()?);
    (hour < 24 && minute < 60).then_some(Value::TimeOfDay(hour, minute))
}

/// Whether it is a regular expression of reasonable size.
fn is_pattern(text: &str) -> bool {
    regex::RegexBuilder::new(text).case_insensitive(true).size_limit(PATTERN_BYTES_MAX).build().is_ok()
}

fn is_attribute_type(text: &str) -> bool {
    let mut bytes = text.bytes();
    match bytes.next() {
        Some(first) if first.is_ascii_alphabetic() => {
            bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        }
        Some(first) if first.is_ascii_digit() => {
            text.split('.').all(|arc| !arc.is_empty() && arc.bytes().all(|b| b.is_ascii_digit()))
        }
        _ => false,
    }
}

/// Severities of the error log.
pub const SEVERITIES: [&str; 7] = ["all", "none", "error", "info", "warning", "notice", "debug"];

fn is_severity_override(text: &str) -> bool {
    text.split_once('=').is_some_and(|(category, severities)| {
        !category.trim().is_empty()
            && severities.split(',').all(|word| SEVERITIES.iter().any(|known| known.eq_ignore_ascii_case(word.trim())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_both_kinds() {
        let table: [(&str, Option<u64>); 14] = [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("4096 b", Some(4096)),
            ("64kb", Some(64_000)),
            ("64 KB", Some(64_000)),
            ("64 kib", Some(65_536)),
            ("5 megabytes", Some(5_000_000)),
            ("1 megabyte", Some(1_000_000)),
            ("1.5 gib", Some(1_610_612_736)),
            ("2 tib", Some(2 << 40)),
            ("99999999 tib", None),
            ("5 parsecs", None),
            ("5 mb 3 kb", None),
            ("-5", None),
        ];
        for (text, bytes) in table {
            assert_eq!(parse_size(text), bytes, "{text}");
        }
    }

    #[test]
    fn durations_add_up() {
        let table: [(&str, Unit, Option<u64>); 12] = [
            ("60 seconds", Unit::Seconds, Some(60_000)),
            ("60", Unit::Seconds, Some(60_000)),
            ("60", Unit::Milliseconds, Some(60)),
            ("1 d 12 h", Unit::Seconds, Some(129_600_000)),
            ("1d12h", Unit::Seconds, Some(129_600_000)),
            ("2 weeks", Unit::Seconds, Some(1_209_600_000)),
            ("1 week", Unit::Seconds, Some(604_800_000)),
            ("1.5 h", Unit::Seconds, Some(5_400_000)),
            ("250 ms", Unit::Seconds, Some(250)),
            ("1 d 12", Unit::Seconds, None),
            ("1 fortnight", Unit::Seconds, None),
            ("", Unit::Seconds, None),
        ];
        for (text, unit, ms) in table {
            assert_eq!(parse_duration(text, unit), ms, "{text}");
        }
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for ms in [0, 1, 999, 1000, 60_000, 61_000, 86_400_000, 90_000_000] {
            assert_eq!(parse_duration(&duration_text(ms), Unit::Milliseconds), Some(ms), "{}", duration_text(ms));
        }
        for bytes in [0, 1, 999, 1000, 1024, 5 << 20, 5_000_000, 1 << 40] {
            assert_eq!(parse_size(&size_text(bytes)), Some(bytes), "{}", size_text(bytes));
        }
        assert_eq!(duration_text(60_000), "1 minute");
        assert_eq!(size_text(5 << 20), "5 mib");
    }

    #[test]
    fn the_small_syntaxes_say_no() {
        for (syntax, good, bad) in [
            (Syntax::Mode, "640", "688"),
            (Syntax::TimeOfDay, "02:30", "2460"),
            (Syntax::AttributeType, "2.5.4.3", "2..3"),
            (Syntax::AttributeType, "cn", "c n"),
            (Syntax::SeverityOverride, "TLS=debug,info", "TLS=loud"),
            (Syntax::Address, "::1", "localhost"),
            (Syntax::Boolean, "TRUE", "1"),
            (Syntax::Pattern, "^uid=[^,]+,ou=people,", "uid=("),
            (Syntax::Pattern, "a{2}", "(a{1000}){1000}"),
            (Syntax::Integer { min: 1, max: 65_535 }, "65535", "65536"),
            (Syntax::Choice(&["combined", "multi-line"]), "Combined", "single"),
        ] {
            assert!(parse(syntax, good).is_some(), "{good}");
            assert_eq!(parse(syntax, bad), None, "{bad}");
        }
    }
}
