//! Times as logs write them, and back. Lines of one second are many: the last one is kept.
//!
//! Knows `dd/Mon/yyyy:hh:mm:ss zone`, RFC 3339, syslog's time without year and zone, and slapd's hexadecimal seconds.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::record::Moment;

const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// `dd/Mon/yyyy:hh:mm:ss`
const DATE_BYTES: usize = 20;

const DAY_SECONDS: i64 = 86_400;

/// The year 2200.
const SECONDS_MAX: i64 = 230 * 366 * DAY_SECONDS;

/// Reads times.
#[derive(Debug)]
pub struct Clock {
    /// The last date with its zone, and what it came to.
    date: [u8; DATE_BYTES],
    zone: [u8; 5],
    last: (i64, i32),
    /// For times without a zone.
    local: TimeZone,
    /// For times without a year: now.
    now: Timestamp,
    /// The last hour without a zone, and how far it is ahead of UTC.
    hour: (i64, i32),
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(TimeZone::system(), Timestamp::now())
    }
}

impl Clock {
    /// For times without year and zone: these are in the zone `local`, and not after `now`.
    #[must_use]
    pub fn new(local: TimeZone, now: Timestamp) -> Self {
        Self { date: [0; DATE_BYTES], zone: [0; 5], last: (0, 0), local, now, hour: (i64::MIN, 0) }
    }

    /// What stands in brackets: `26/Mar/2008:17:29:44.123456 +0100`, or RFC 3339.
    pub(crate) fn bracketed(&mut self, text: &[u8]) -> Option<Moment> {
        let Some((date, rest)) = text.split_first_chunk::<DATE_BYTES>().filter(|(date, _)| date[2] == b'/') else {
            return self.rfc3339(text);
        };
        let (fraction, zone) = match rest.split_first() {
            None => return None,
            Some((b'.', rest)) => {
                let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
                (fraction(rest.get(..digits)?)?, rest.get(digits..)?)
            }
            Some(_) => (0, rest),
        };
        let zone: &[u8; 5] = match zone.strip_prefix(b" ")? {
            b"Z" => b"+0000",
            zone => zone.first_chunk()?,
        };
        if *date != self.date || *zone != self.zone {
            self.last = (date_seconds(date)?, zone_seconds(zone)?);
            (self.date, self.zone) = (*date, *zone);
        }
        let (seconds, offset) = self.last;
        moment(seconds - i64::from(offset), fraction, offset)
    }

    /// `2026-11-23T09:35:51.123456+00:00`
    pub(crate) fn rfc3339(&mut self, text: &[u8]) -> Option<Moment> {
        if text.len() > 40 || text.len() < 20 || text.get(4) != Some(&b'-') {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        let time: Timestamp = text.parse().ok()?;
        let zone = text.get(19..)?.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
        let digits: Vec<u8> = zone.bytes().filter(|byte| *byte != b':').collect();
        let offset = digits.first_chunk().and_then(zone_seconds).unwrap_or(0);
        let whole = time.as_second();
        moment(whole, i64::from(time.subsec_nanosecond()), offset)
    }

    /// `Nov 23 09:35:51`: of the year that makes it the last such time before tomorrow.
    pub(crate) fn syslog(&mut self, text: &[u8; 15]) -> Option<Moment> {
        let month = month(text.first_chunk()?)?;
        let day = match text[4] {
            b' ' => number(&text[5..6])?,
            _ => number(&text[4..6])?,
        };
        let time = time_seconds(text.last_chunk()?)?;
        if !(1..=31).contains(&day) || text[3] != b' ' || text[6] != b' ' {
            return None;
        }
        let now = self.now.as_second();
        let year = i64::from(self.now.to_zoned(TimeZone::UTC).year());
        let of = |year: i64| days(year, month, day) * DAY_SECONDS + time;
        let civil = if of(year) > now + DAY_SECONDS { of(year - 1) } else { of(year) };
        let hour = civil.div_euclid(3600);
        if self.hour.0 != hour {
            self.hour = (hour, self.local_offset(civil));
        }
        moment(civil - i64::from(self.hour.1), 0, self.hour.1)
    }

    /// `6923d0a7.1b2c3d4e`: seconds, then nanoseconds (eight digits) or microseconds (five), in hexadecimal digits.
    pub(crate) fn hexadecimal(&self, text: &[u8]) -> Option<Moment> {
        let digits = |text: &[u8]| i64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok();
        let (seconds, rest) = text.split_at_checked(8)?;
        let fraction = match rest.split_first() {
            None => 0,
            Some((b'.', rest)) if rest.len() == 8 => digits(rest)?,
            Some((b'.', rest)) if rest.len() == 5 => digits(rest)? * 1000,
            Some(_) => return None,
        };
        let seconds = digits(seconds)?;
        moment(seconds, fraction, self.local_offset(seconds))
    }

    fn local_offset(&self, seconds: i64) -> i32 {
        Timestamp::from_second(seconds).map_or(0, |time| self.local.to_offset(time).seconds())
    }
}

/// From 1970 to 2200, so that nobody who subtracts times can overflow.
fn moment(seconds: i64, fraction: i64, offset_seconds: i32) -> Option<Moment> {
    if !(0..SECONDS_MAX).contains(&seconds) {
        return None;
    }
    Some(Moment { unix_ns: seconds.checked_mul(1_000_000_000)?.checked_add(fraction)?, offset_seconds })
}

/// Digits behind the point as nanoseconds.
fn fraction(digits: &[u8]) -> Option<i64> {
    let known = digits.get(..digits.len().min(9))?;
    (known.len()..9).try_fold(number(known)?, |value, _| Some(value * 10))
}

/// Decimal digits only; at most 18.
fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |value, digit| Some(value * 10 + i64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?)))
}

fn month(name: &[u8; 3]) -> Option<i64> {
    let at = MONTHS.chunks_exact(3).position(|month| month == name)?;
    i64::try_from(at + 1).ok()
}

/// `hh:mm:ss`
fn time_seconds(text: &[u8; 8]) -> Option<i64> {
    let (hours, minutes, seconds) = (number(&text[..2])?, number(&text[3..5])?, number(&text[6..])?);
    let is_time = text[2] == b':' && text[5] == b':' && hours < 24 && minutes < 60 && seconds <= 60;
    is_time.then_some(hours * 3600 + minutes * 60 + seconds)
}

fn date_seconds(date: &[u8; DATE_BYTES]) -> Option<i64> {
    let month = month(date[3..6].first_chunk()?)?;
    let (day, year) = (number(&date[..2])?, number(&date[7..11])?);
    let is_date = date[6] == b'/' && date[11] == b':' && (1..=31).contains(&day) && (1970..=2200).contains(&year);
    is_date.then_some(days(year, month, day) * DAY_SECONDS + time_seconds(date.last_chunk()?)?)
}

/// `+0100`
fn zone_seconds(zone: &[u8; 5]) -> Option<i32> {
    let (hours, minutes) = (number(&zone[1..3])?, number(&zone[3..])?);
    let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
    match zone[0] {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The begin or the end of what is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A point in time, in nanoseconds since 1970.
    Instant(i64),
    /// What the log's own clock showed, in seconds.
    LogClock(i64),
}

impl Limit {
    /// `01/Apr/2008:14:50:11`, the same with a zone (` +0200`), or RFC 3339.
    #[must_use]
    pub fn parse(text: &str) -> Option<Limit> {
        let bytes = text.trim_matches(['[', ']']).as_bytes();
        if let Some(date) = bytes.first_chunk().filter(|date| bytes.len() == DATE_BYTES && date[2] == b'/') {
            return date_seconds(date).map(Limit::LogClock);
        }
        let moment = Clock::default().bracketed(bytes)?;
        Some(Limit::Instant(moment.unix_ns))
    }

    /// Whether a time is before it.
    #[must_use]
    pub fn is_after(self, moment: Moment) -> bool {
        match self {
            Limit::Instant(unix_ns) => moment.unix_ns < unix_ns,
            Limit::LogClock(seconds) => civil_seconds(moment) < seconds,
        }
    }

    /// Whether a time is after it; seconds end with their last nanosecond.
    #[must_use]
    pub fn is_before(self, moment: Moment) -> bool {
        match self {
            Limit::Instant(unix_ns) => moment.unix_ns > unix_ns,
            Limit::LogClock(seconds) => civil_seconds(moment) > seconds,
        }
    }
}

fn civil_seconds(moment: Moment) -> i64 {
    moment.unix_seconds() + i64::from(moment.offset_seconds)
}

/// `01/Apr/2008:14:50:11`, by the log's own clock.
#[must_use]
pub fn written(moment: Moment) -> String {
    let Ok(time) = Timestamp::from_second(civil_seconds(moment)) else { return "?".to_owned() };
    time.strftime("%d/%b/%Y:%H:%M:%S").to_string()
}

/// `2008-04-01T14:50:11.5+02:00`
#[must_use]
pub fn rfc3339(moment: Moment) -> String {
    let zone = jiff::tz::Offset::from_seconds(moment.offset_seconds).unwrap_or(jiff::tz::Offset::UTC);
    match Timestamp::from_nanosecond(moment.unix_ns.into()) {
        Ok(time) => time.display_with_offset(zone).to_string(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Clock {
        Clock::new(TimeZone::fixed(jiff::tz::offset(2)), "2026-11-23T10:00:00Z".parse().unwrap())
    }

    fn text(moment: Option<Moment>) -> String {
        let moment = moment.unwrap();
        format!("{} {}", moment.unix_ns, written(moment))
    }

    #[test]
    fn times_of_all_servers() {
        let mut clock = clock();
        let at = "1206548984000000000 26/Mar/2008:17:29:44";
        assert_eq!(text(clock.bracketed(b"26/Mar/2008:17:29:44 +0100")), at);
        assert_eq!(text(clock.bracketed(b"26/Mar/2008:17:29:44 +0100")), at);
        assert_eq!(
            text(clock.bracketed(b"26/Mar/2008:17:29:44.123456789 +0000")),
            "1206552584123456789 26/Mar/2008:17:29:44"
        );
        assert_eq!(text(clock.rfc3339(b"2008-03-26T17:29:44+01:00")), at);
        assert_eq!(text(clock.bracketed(b"2008-03-26T16:29:44.5Z")), "1206548984500000000 26/Mar/2008:16:29:44");
        assert_eq!(text(clock.syslog(b"Nov 23 11:59:00")), "1795427940000000000 23/Nov/2026:11:59:00");
        assert_eq!(text(clock.syslog(b"Dec  1 00:00:01")), "1764540001000000000 01/Dec/2025:00:00:01");
        assert_eq!(text(clock.hexadecimal(b"47ea7bb8.00000005")), "1206549432000000005 26/Mar/2008:18:37:12");
        assert_eq!(text(clock.hexadecimal(b"47ea7bb8.00005")), "1206549432000005000 26/Mar/2008:18:37:12");
    }

    #[test]
    fn times_are_written_for_people_and_programs() {
        let moment = clock().bracketed(b"26/Mar/2008:17:29:44.5 +0100").unwrap();
        assert_eq!((&*written(moment), &*rfc3339(moment)), ("26/Mar/2008:17:29:44", "2008-03-26T17:29:44.5+01:00"));
    }

    #[test]
    fn limits_are_points_in_time_or_what_the_clock_shows() {
        let mut clock = clock();
        let moment = clock.bracketed(b"26/Mar/2008:17:29:44.5 +0100").unwrap();
        for text in ["26/Mar/2008:17:29:44", "[26/Mar/2008:17:29:44 +0100]", "2008-03-26T16:29:44Z"] {
            assert!(!Limit::parse(text).unwrap().is_after(moment), "{text}");
        }
        assert!(!Limit::parse("26/Mar/2008:17:29:44").unwrap().is_before(moment));
        assert!(Limit::parse("26/Mar/2008:17:29:43").unwrap().is_before(moment));
        assert!(Limit::parse("26/Mar/2008:17:29:45").unwrap().is_after(moment));
        assert!(Limit::parse("2008-03-26T16:29:45Z").unwrap().is_after(moment));
        for text in ["", "17:29:44", "26/Foo/2008:17:29:44", "yesterday", "26/Mar/2008"] {
            assert_eq!(Limit::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        let mut clock = clock();
        for text in [
            "",
            "26/Mar/2008:17:29:44",
            "26/Mxr/2008:17:29:44 +0100",
            "26/Mar/2008:27:29:44 +0100",
            "26/Mar/2008:17:29:4/ +0100",
            "x",
        ] {
            assert_eq!(clock.bracketed(text.as_bytes()), None, "{text}");
        }
        assert_eq!(clock.syslog(b"Nov 99 11:59:00"), None);
        assert_eq!(clock.hexadecimal(b"zzzzzzzz"), None);
    }
}
