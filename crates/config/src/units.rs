//! Sizes and durations as people write them, in numbers and units: `64 kb`, `1 d 12 h`.
//!
//! Knows the units only; which bounds a value has is declared elsewhere.

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// 1 ms
    Milliseconds,
    /// 1000 ms
    Seconds,
}

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

/// The units of sizes: short and long name, bytes; the greatest first.
#[must_use]
pub fn size_units() -> &'static [(&'static str, &'static str, u64)] {
    &SIZE_UNITS
}

/// The units of durations: short and long name, milliseconds; the greatest first.
#[must_use]
pub fn time_units() -> &'static [(&'static str, &'static str, u64)] {
    &TIME_UNITS
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
}
