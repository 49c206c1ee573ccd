//! Times as people give them on a command line.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

/// µs since 1970 of a time: with a zone, without one (local), as LDAP writes it, or as what has passed since ("2h", "1d
/// 30m").
pub fn parse(text: &str) -> Result<u64, String> {
    parse_at(text, &Zoned::now())
}

fn parse_at(text: &str, now: &Zoned) -> Result<u64, String> {
    let text = text.trim();
    let time = zoned(text)
        .or_else(|| local(text, now.time_zone()))
        .or_else(|| text.parse::<Span>().ok().and_then(|span| Some(now.checked_sub(span.abs()).ok()?.timestamp())));
    let time = time.ok_or("write it as \"2026-11-21 10:00\", 2026-11-21T10:00:00Z, or \"2h\" for two hours ago")?;
    u64::try_from(time.as_microsecond()).map_err(|_| "it is before 1970".to_owned())
}

fn local(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let civil: DateTime = text.parse().ok()?;
    Some(civil.to_zoned(zone.clone()).ok()?.timestamp())
}

/// A time with a zone, or a generalized time: `20261121100000Z`.
pub fn zoned(text: &str) -> Option<Timestamp> {
    if let Ok(time) = text.parse() {
        return Some(time);
    }
    let (digits, rest) = text.split_at_checked(14)?;
    let is_ldap = digits.bytes().all(|byte| byte.is_ascii_digit()) && rest.ends_with('Z');
    let (date, time) = digits.split_at_checked(8)?;
    if is_ldap { format!("{date}T{time}{rest}").parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_write_them() {
        let now: Zoned = "2026-11-21T12:00:00+01:00[Europe/Paris]".parse().unwrap();
        let at = |text: &str| parse_at(text, &now).map(|us| us / 1_000_000);
        let ten = Ok(1_795_255_200 - 3600);
        for text in [
            "2026-11-21T09:00:00Z",
            "2026-11-21 10:00",
            "2026-11-21T10:00:00",
            "20261121090000Z",
            "2h",
            "1h 60m",
            "2h ago",
        ] {
            assert_eq!(at(text), ten, "{text}");
        }
        assert_eq!(at("2026-11-21"), Ok(1_795_255_200 - 3600 - 10 * 3600));
        assert!(at("yesterday").is_err());
        assert!(at("1960-01-01T00:00:00Z").is_err());
    }
}
