//! GeneralizedTime in the two forms servers write: `YYYYMMDDhhmmssZ` and `YYYYMMDDhhmmss.mmmZ`. Everything else is not ours.

/// A time since 1970 that prints as the text it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Milliseconds since 1970-01-01 UTC.
    pub ms: u64,
    /// Whether the text has three decimals.
    pub has_ms: bool,
}

/// 10000-01-01: years have four digits.
const MS_MAX: u64 = 253_402_300_800_000;

impl Timestamp {
    /// Reads the text; `None` when it would not come back exactly.
    pub fn parse(text: &[u8]) -> Option<Timestamp> {
        let (seconds, fraction) = match text.len() {
            15 => (seconds_of(text.get(..14)?)?, 0),
            19 if text[14] == b'.' => (seconds_of(text.get(..14)?)?, number(text.get(15..18)?)?),
            _ => return None,
        };
        if text.last() != Some(&b'Z') {
            return None;
        }
        Some(Timestamp { ms: seconds * 1000 + fraction, has_ms: text.len() == 19 })
    }

    /// Appends the text.
    pub fn write(&self, out: &mut Vec<u8>) {
        write_seconds(self.ms / 1000, out);
        if self.has_ms {
            out.push(b'.');
            digits(self.ms % 1000, 3, out);
        }
        out.push(b'Z');
    }

    /// One number for the record: seconds × 2, or milliseconds × 2 + 1.
    pub(super) fn pack(&self) -> u64 {
        if self.has_ms { (self.ms << 1) | 1 } else { (self.ms / 1000) << 1 }
    }

    pub(super) fn unpack(packed: u64) -> Option<Timestamp> {
        let has_ms = packed & 1 == 1;
        let ms = if has_ms { packed >> 1 } else { (packed >> 1).checked_mul(1000)? };
        (ms < MS_MAX).then_some(Timestamp { ms, has_ms })
    }
}

/// Seconds since 1970 of `YYYYMMDDhhmmss`; `None` for dates that do not exist or are before 1970.
pub fn seconds_of(text: &[u8]) -> Option<u64> {
    let part = |from: usize, len: usize| number(text.get(from..from + len)?);
    let (year, month, day) = (part(0, 4)?, part(4, 2)?, part(6, 2)?);
    let (hour, minute, second) = (part(8, 2)?, part(10, 2)?, part(12, 2)?);
    if year < 1970 || !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
        return None;
    }
    // A leap second (60) would come back as the next minute.
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(((days_from_civil(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

/// Appends `YYYYMMDDhhmmss` of seconds since 1970; the year has its last four digits.
pub fn write_seconds(seconds: u64, out: &mut Vec<u8>) {
    let (year, month, day) = civil_from_days(seconds / 86_400);
    digits(year, 4, out);
    for part in [month, day, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60] {
        digits(part, 2, out);
    }
}

pub(super) fn number(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |value, &byte| byte.is_ascii_digit().then(|| value * 10 + u64::from(byte - b'0')))
}

pub(super) fn digits(value: u64, count: u32, out: &mut Vec<u8>) {
    for place in (0..count).rev() {
        out.push(b'0' + (value / 10u64.pow(place) % 10) as u8);
    }
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970. The year is taken to begin in March, so that the leap day is its last.
fn days_from_civil(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn times_come_back(ms in 0u64..MS_MAX, has_ms: bool) {
            let time = Timestamp { ms: if has_ms { ms } else { ms / 1000 * 1000 }, has_ms };
            let mut text = Vec::new();
            time.write(&mut text);
            prop_assert_eq!(Timestamp::parse(&text), Some(time));
            prop_assert_eq!(Timestamp::unpack(time.pack()), Some(time));
        }
    }

    #[test]
    fn only_exact_texts_are_taken() {
        let check =
            |text: &str, ms: Option<u64>| assert_eq!(Timestamp::parse(text.as_bytes()).map(|t| t.ms), ms, "{text}");
        check("19700101000000Z", Some(0));
        check("20240229120000Z", Some(1_709_208_000_000));
        check("20000229235959.250Z", Some(951_868_799_250));
        for text in [
            "20230229120000Z",
            "19691231235959Z",
            "20240101000060Z",
            "202401010000Z",
            "20240101000000.1Z",
            "20240101000000+0100",
            "2024010100000aZ",
            "20240101000000z",
            "20241301000000Z",
            "",
        ] {
            check(text, None);
        }
    }
}
