//! Times as task entries write them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const LOCAL: &str = "%Y%m%d%H%M%S";
const UTC: &str = "%Y%m%d%H%M%SZ";

/// Reads `ds-task-scheduled-start-time`: `YYYYMMDDhhmmss` is local time, with `Z` at its end it is UTC; `0` is at once.
#[must_use]
pub fn parse_start(text: &str, zone: &TimeZone) -> Option<Option<Timestamp>> {
    if text == "0" {
        return Some(None);
    }
    let (digits, zone) = match text.strip_suffix('Z') {
        // Fractions of a second are allowed in a generalized time, and mean nothing here.
        Some(utc) => (utc.split_once('.').map_or(utc, |(whole, _)| whole), &TimeZone::UTC),
        None => (text, zone),
    };
    if digits.len() != 14 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let civil = DateTime::strptime(LOCAL, digits).ok()?;
    let time = zone.to_zoned(civil).ok()?.timestamp();
    (time >= Timestamp::UNIX_EPOCH).then_some(Some(time))
}

/// A time as a generalized time in UTC.
#[must_use]
pub fn generalized(time: Timestamp) -> String {
    time.to_zoned(TimeZone::UTC).strftime(UTC).to_string()
}

/// The same in local time, without a zone.
pub(crate) fn compact_local(time: Timestamp, zone: &TimeZone) -> String {
    time.to_zoned(zone.clone()).strftime(LOCAL).to_string()
}
