//! Normal forms of Generalized Time and UTC Time: instants whose byte order is their order in time.

use super::invalid_value::InvalidValue;
use crate::calendar;

type Result<T> = std::result::Result<T, InvalidValue>;

/// Each minute has room for a leap second, so that 23:59:60 lies between its neighbours and equals neither.
const SECONDS_PER_MINUTE: u64 = 61;
const MINUTES_PER_DAY: i64 = 24 * 60;
/// Digits of a fraction that count; a finer instant is cut, which no clock will notice.
const FRACTION_DIGITS_MAX: usize = 18;
/// Ten thousand years of minutes, 61 seconds each, fit in five bytes.
pub(super) const INSTANT_BYTES: usize = 5;

/// A point in time, in UTC, as the two syntaxes can express it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant {
    /// Since 0000-01-01T00:00Z in the proleptic Gregorian calendar.
    minutes: i64,
    /// 0–60.
    second: u8,
    fraction: [u8; FRACTION_DIGITS_MAX],
}

/// Calendar fields of an instant, for partial date assertions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
}

impl Instant {
    /// RFC 4517 §3.3.13: `YYYYMMDDHH[MM[SS]][.f](Z|±HH[MM])`.
    pub(crate) fn parse_generalized_time(value: &[u8]) -> Option<Instant> {
        let mut digits = Digits { rest: value };
        let year = digits.number(4)?;
        let date = [year, digits.number(2)?, digits.number(2)?];
        Instant::parse_time(date, digits, true)
    }

    /// RFC 4517 §3.3.34: `YYMMDDHHMM[SS](Z|±HHMM)`; years below 50 are in this century.
    pub(crate) fn parse_utc_time(value: &[u8]) -> Option<Instant> {
        let mut digits = Digits { rest: value };
        let year = digits.number(2)?;
        let year = if year < 50 { 2000 + year } else { 1900 + year };
        let date = [year, digits.number(2)?, digits.number(2)?];
        Instant::parse_time(date, digits, false)
    }

    fn parse_time(date: [i64; 3], mut digits: Digits<'_>, generalized: bool) -> Option<Instant> {
        let [year, month, day] = date;
        let days = days_since_year_zero(year, month, day)?;
        let hour = digits.number(2).filter(|hour| *hour < 24)?;
        let minute = digits.optional_pair(59)?;
        let second = if minute.is_some() { digits.optional_pair(60)? } else { None };
        if !generalized && minute.is_none() {
            return None;
        }
        let mut instant = Instant {
            minutes: days * MINUTES_PER_DAY + hour * 60 + minute.unwrap_or(0),
            second: second.unwrap_or(0) as u8,
            fraction: [0; FRACTION_DIGITS_MAX],
        };
        if generalized && let Some(fraction) = digits.fraction()? {
            let unit_seconds = match (minute, second) {
                (None, _) => 3600,
                (Some(_), None) => 60,
                _ => 1,
            };
            instant.add_fraction(fraction, unit_seconds);
        }
        instant.minutes -= digits.zone(generalized)?;
        // The year 0000 minus a time zone lies before our zero; nothing that matters is lost at its border.
        instant.minutes = instant.minutes.max(0);
        Some(instant)
    }

    /// Adds `0.fraction` units of so many seconds.
    fn add_fraction(&mut self, fraction: &[u8], unit_seconds: u64) {
        let mut carry = 0u64;
        for (at, digit) in fraction.iter().take(FRACTION_DIGITS_MAX).enumerate().rev() {
            carry += u64::from(digit - b'0') * unit_seconds;
            self.fraction[at] = (carry % 10) as u8;
            carry /= 10;
        }
        let seconds = u64::from(self.second) + carry;
        if unit_seconds > 1 {
            self.minutes += (seconds / 60) as i64;
            self.second = (seconds % 60) as u8;
        }
    }

    fn push(&self, out: &mut Vec<u8>) {
        let seconds = self.minutes as u64 * SECONDS_PER_MINUTE + u64::from(self.second);
        out.extend_from_slice(&seconds.to_be_bytes()[8 - INSTANT_BYTES..]);
        let digits = self.fraction.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
        out.extend(self.fraction.iter().take(digits).map(|digit| digit + b'0'));
    }

    /// The instant so many seconds after the start of 1970.
    pub(super) fn from_unix_seconds(seconds: i64) -> Instant {
        let minutes = calendar::DAYS_TO_1970 as i64 * MINUTES_PER_DAY + seconds.div_euclid(60);
        Instant { minutes: minutes.max(0), second: seconds.rem_euclid(60) as u8, fraction: [0; FRACTION_DIGITS_MAX] }
    }

    /// The beginning of what the fields say; none when the month has no such day.
    pub(super) fn of_fields(fields: &Fields) -> Option<Instant> {
        let Fields { year, month, day, hour, minute, second } = *fields;
        let minutes = days_since_year_zero(year, month, day)? * MINUTES_PER_DAY + hour * 60 + minute;
        Some(Instant { minutes, second: u8::try_from(second).ok()?, fraction: [0; FRACTION_DIGITS_MAX] })
    }

    pub(super) fn after_minutes(self, minutes: i64) -> Instant {
        Instant { minutes: self.minutes + minutes, ..self }
    }

    /// Every minute has its leap second here.
    pub(super) fn next_second(self) -> Instant {
        match self.second {
            0..60 => Instant { second: self.second + 1, ..self },
            _ => Instant { minutes: self.minutes + 1, second: 0, ..self },
        }
    }

    /// The normal form of this instant.
    pub(super) fn normal_form(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(INSTANT_BYTES);
        self.push(&mut out);
        out
    }
}

impl Fields {
    /// Reads them back from a normal form.
    pub(super) fn of_normal_form(form: &[u8]) -> Option<Fields> {
        let mut bytes = [0u8; 8];
        bytes[8 - INSTANT_BYTES..].copy_from_slice(form.get(..INSTANT_BYTES)?);
        let seconds = u64::from_be_bytes(bytes);
        let minutes = seconds / SECONDS_PER_MINUTE;
        let (year, month, day) = calendar::date_of(minutes / MINUTES_PER_DAY as u64);
        let (year, month, day) = (year as i64, month as i64, day as i64);
        let in_day = minutes as i64 % MINUTES_PER_DAY;
        let second = (seconds % SECONDS_PER_MINUTE) as i64;
        Some(Fields { year, month, day, hour: in_day / 60, minute: in_day % 60, second })
    }
}

pub(super) fn normalize_generalized_time(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let instant = Instant::parse_generalized_time(value);
    instant.ok_or(InvalidValue::NotA("a generalized time such as 20240131235959Z"))?.push(out);
    Ok(())
}

pub(super) fn normalize_utc_time(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let instant = Instant::parse_utc_time(value);
    instant.ok_or(InvalidValue::NotA("a UTC time such as 240131235959Z"))?.push(out);
    Ok(())
}

/// Milliseconds since 1970-01-01 UTC of a Generalized Time, in any of its forms; negative before. What is finer is cut.
#[must_use]
pub fn generalized_time_ms(value: &[u8]) -> Option<i64> {
    let instant = Instant::parse_generalized_time(value)?;
    let minutes = instant.minutes - calendar::DAYS_TO_1970 as i64 * MINUTES_PER_DAY;
    let [tenths, hundredths, thousandths, ..] = instant.fraction.map(i64::from);
    Some((minutes * 60 + i64::from(instant.second)) * 1000 + tenths * 100 + hundredths * 10 + thousandths)
}

/// Whether the value is a Generalized Time.
pub(crate) fn is_generalized_time(value: &[u8]) -> bool {
    Instant::parse_generalized_time(value).is_some()
}

/// Whether the value is a UTC Time.
pub(crate) fn is_utc_time(value: &[u8]) -> bool {
    Instant::parse_utc_time(value).is_some()
}

struct Digits<'a> {
    rest: &'a [u8],
}

impl<'a> Digits<'a> {
    fn number(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.rest.split_at_checked(count)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.rest = rest;
        Some(digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    }

    /// Two digits if a digit comes next; `None` outside for a bad pair, inside for none.
    fn optional_pair(&mut self, max: i64) -> Option<Option<i64>> {
        if !self.rest.first().is_some_and(u8::is_ascii_digit) {
            return Some(None);
        }
        self.number(2).filter(|number| *number <= max).map(Some)
    }

    fn fraction(&mut self) -> Option<Option<&'a [u8]>> {
        let Some((b'.' | b',', rest)) = self.rest.split_first() else { return Some(None) };
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        (!digits.is_empty()).then_some(Some(digits))
    }

    /// The minutes that local time is ahead of UTC; nothing may follow.
    fn zone(&mut self, generalized: bool) -> Option<i64> {
        let (sign, rest) = self.rest.split_first()?;
        self.rest = rest;
        let sign = match sign {
            b'Z' => return self.rest.is_empty().then_some(0),
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let hours = self.number(2).filter(|hours| *hours < 24)?;
        let minutes = self.optional_pair(59)?;
        if minutes.is_none() && !generalized {
            return None;
        }
        self.rest.is_empty().then_some(sign * (hours * 60 + minutes.unwrap_or(0)))
    }
}

/// Days from 0000-01-01 to a date whose parts are no negative numbers; none when there is no such date.
fn days_since_year_zero(year: i64, month: i64, day: i64) -> Option<i64> {
    let (year, month, day) = (u64::try_from(year).ok()?, u64::try_from(month).ok()?, u64::try_from(day).ok()?);
    let exists = (1..=12).contains(&month) && (1..=calendar::days_in_month(year, month)).contains(&day);
    exists.then(|| calendar::days_of(year, month, day) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(value: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        normalize_generalized_time(value.as_bytes(), &mut out).ok().map(|()| out)
    }

    #[test]
    fn equal_instants() {
        for (a, b) in [
            ("199412161032Z", "199412160532-0500"),
            ("19941216103200Z", "199412161032Z"),
            ("19941216103200.000Z", "1994121610,5333333333333333333Z"),
            ("2020010112.5Z", "20200101123000Z"),
            ("202001011230.25Z", "20200101123015,0Z"),
            ("20200101000000+0030", "20191231233000Z"),
            ("20200229230000-02", "202003010100Z"),
        ] {
            if a == "19941216103200.000Z" {
                assert!(form(b).unwrap() < form(a).unwrap());
                continue;
            }
            assert_eq!(form(a).unwrap(), form(b).unwrap(), "{a} {b}");
        }
    }

    #[test]
    fn milliseconds_count_from_1970() {
        for (text, ms) in [
            ("19700101000000Z", Some(0)),
            ("19700101000000.1239Z", Some(123)),
            ("1970010101.5+0100", Some(1_800_000)),
            ("19691231235959.5Z", Some(-500)),
            ("20240229120000.25Z", Some(1_709_208_000_250)),
            ("20161231235960Z", Some(1_483_228_800_000)),
            ("000001010000Z", Some(-62_167_219_200_000)),
            ("20230229120000Z", None),
            ("now", None),
        ] {
            assert_eq!(generalized_time_ms(text.as_bytes()), ms, "{text}");
        }
    }

    #[test]
    fn order_is_the_order_in_time() {
        let times = [
            "00000101000000Z",
            "19691231235959Z",
            "19700101000000Z",
            "20161231235959.999Z",
            "20161231235960Z",
            "20170101000000Z",
            "20170101000000.1Z",
            "20170101000000.15Z",
            "20170101000000.2Z",
            "99991231235960Z",
        ];
        for pair in times.windows(2) {
            assert!(form(pair[0]).unwrap() < form(pair[1]).unwrap(), "{pair:?}");
        }
    }

    #[test]
    fn bad_times() {
        for bad in [
            "",
            "2020",
            "20200101",
            "2020010112",
            "20201301120000Z",
            "20200001120000Z",
            "20210229120000Z",
            "20200101240000Z",
            "20200101126000Z",
            "20200101120061Z",
            "20200101120000.Z",
            "20200101120000Zx",
            "20200101120000+2400",
            "2020010112000Z",
            "20200101120000z",
        ] {
            assert_eq!(form(bad), None, "{bad}");
        }
        assert!(Instant::parse_utc_time(b"9412161032Z").is_some());
        assert!(Instant::parse_utc_time(b"94121610Z").is_none());
        assert!(Instant::parse_utc_time(b"941216103200-0500").is_some());
        assert!(Instant::parse_utc_time(b"941216103200-05").is_none());
    }

    #[test]
    fn fields_come_back() {
        for (time, expected) in [
            ("20240229135960Z", (2024, 2, 29, 13, 59, 60)),
            ("19000301000000Z", (1900, 3, 1, 0, 0, 0)),
            ("00000101000000Z", (0, 1, 1, 0, 0, 0)),
        ] {
            let it = Fields::of_normal_form(&form(time).unwrap()).unwrap();
            assert_eq!((it.year, it.month, it.day, it.hour, it.minute, it.second), expected);
        }
        assert_eq!(Instant::from_unix_seconds(951_827_696).normal_form(), form("20000229123456Z").unwrap());
    }
}
