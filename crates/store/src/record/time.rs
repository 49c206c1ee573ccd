//! GeneralizedTime in the two forms servers write: `YYYYMMDDhhmmssZ` and `YYYYMMDDhhmmss.mmmZ`. Other forms are not
//! handled here.

use schema::calendar::{DAYS_TO_1970, date_of, days_in_month, days_of};

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
    /// Reads the text; `None` when it could not be restored exactly.
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
        Timestamp::of_ms(ms, has_ms)
    }

    /// That moment; `None` after the year 9999.
    pub(super) fn of_ms(ms: u64, has_ms: bool) -> Option<Timestamp> {
        (ms < MS_MAX).then_some(Timestamp { ms, has_ms })
    }
}

/// Seconds since 1970 of `YYYYMMDDhhmmss`; `None` for dates that do not exist or are before 1970.
pub fn seconds_of(text: &[u8]) -> Option<u64> {
    let part = |from: usize, len: usize| number(text.get(from..from + len)?);
    let (year, month, day) = (part(0, 4)?, part(4, 2)?, part(6, 2)?);
    let (hour, minute, second) = (part(8, 2)?, part(10, 2)?, part(12, 2)?);
    if year < 1970 || !(1..=12).contains(&month) || day == 0 || day > days_in_month(year, month) {
        return None;
    }
    // A leap second (60) would be restored as the next minute.
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some((((days_of(year, month, day) - DAYS_TO_1970) * 24 + hour) * 60 + minute) * 60 + second)
}

/// Appends `YYYYMMDDhhmmss` of seconds since 1970; the year has its last four digits.
pub fn write_seconds(seconds: u64, out: &mut Vec<u8>) {
    let (year, month, day) = date_of(seconds / 86_400 + DAYS_TO_1970);
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
