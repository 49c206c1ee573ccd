//! Change sequence numbers and generalized times: their text, and the clock that hands them out.
//!
//! The text of a CSN is OpenLDAP's (`entryCSN`, and the syntax of RFC drafts on LDAP content synchronisation):
//! `20261121101500.123456Z#000000#000#000000`. Only [`CsnClock`] reads a clock; nothing below `submit` may use it.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// Number of the server in its topology until there is one: a lone server is 0.
const REPLICA_LONE: u16 = 0;
/// One more than the largest counter that the text has room for.
const COUNT_END: u32 = 1 << 24;

/// When a change was made, made unique by a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Csn {
    /// Microseconds since 1970.
    pub time_us: u64,
    /// Tells changes of the same microsecond apart (24 bits).
    pub count: u32,
    /// Which server made the change (12 bits).
    pub replica: u16,
}

impl Csn {
    /// Appends the text.
    pub fn write(self, out: &mut Vec<u8>) {
        write_date_and_time(out, self.time_us / 1_000_000);
        out.push(b'.');
        write_decimal(out, self.time_us % 1_000_000, 6);
        out.extend_from_slice(b"Z#");
        write_hex(out, self.count, 6);
        out.push(b'#');
        write_hex(out, u32::from(self.replica), 3);
        out.extend_from_slice(b"#000000");
    }

    /// The time as a generalized time of whole seconds, as `createTimestamp` has it: `20261121101500Z`.
    pub fn write_timestamp(self, out: &mut Vec<u8>) {
        write_date_and_time(out, self.time_us / 1_000_000);
        out.push(b'Z');
    }

    /// The time as a generalized time with milliseconds, as `pwdChangedTime` has it: `20261121101500.123Z`.
    pub fn write_timestamp_ms(self, out: &mut Vec<u8>) {
        write_date_and_time(out, self.time_us / 1_000_000);
        out.push(b'.');
        write_decimal(out, self.time_us / 1000 % 1000, 3);
        out.push(b'Z');
    }
}

impl Csn {
    /// The time in ISO 8601 with milliseconds, for people: `2026-11-21T10:15:00.123Z`.
    pub fn write_iso(self, out: &mut Vec<u8>) {
        let mut compact = Vec::with_capacity(19);
        self.write_timestamp_ms(&mut compact);
        for (at, byte) in compact.iter().enumerate() {
            match at {
                4 | 6 => out.push(b'-'),
                8 => out.push(b'T'),
                10 | 12 => out.push(b':'),
                _ => {}
            }
            out.push(*byte);
        }
    }
}

/// Hands out CSNs that only grow, also when the machine's clock is set back.
#[derive(Debug, Default)]
pub struct CsnClock {
    last: Mutex<Csn>,
}

impl CsnClock {
    /// The next CSN, now.
    pub fn next(&self) -> Csn {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.next_at(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX))
    }

    fn next_at(&self, now_us: u64) -> Csn {
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let next = if now_us > last.time_us {
            Csn { time_us: now_us, count: 0, replica: REPLICA_LONE }
        } else if last.count + 1 < COUNT_END {
            Csn { count: last.count + 1, ..*last }
        } else {
            Csn { time_us: last.time_us + 1, count: 0, replica: REPLICA_LONE }
        };
        *last = next;
        next
    }
}

/// `YYYYMMDDhhmmss` in UTC; times after the year 9999 print as its last second.
fn write_date_and_time(out: &mut Vec<u8>, seconds: u64) {
    const LAST_SECOND_OF_9999: u64 = 253_402_300_799;
    store::record::write_seconds(seconds.min(LAST_SECOND_OF_9999), out);
}

fn write_decimal(out: &mut Vec<u8>, mut number: u64, digits: usize) {
    let start = out.len();
    out.resize(start + digits, b'0');
    for byte in out.iter_mut().skip(start).rev() {
        *byte = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

fn write_hex(out: &mut Vec<u8>, number: u32, digits: u32) {
    for place in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(number >> (4 * place) & 15) as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn texts_are_those_of_openldap_and_opendj() {
        // date -u -d @1795256100 → 2026-11-21 10:15:00
        let csn = Csn { time_us: 1_795_256_100_123_456, count: 0xab, replica: 0x1f };
        assert_eq!(text(|out| csn.write(out)), "20261121101500.123456Z#0000ab#01f#000000");
        assert_eq!(text(|out| csn.write_timestamp(out)), "20261121101500Z");
        assert_eq!(text(|out| csn.write_timestamp_ms(out)), "20261121101500.123Z");
    }

    #[test]
    fn dates_across_leap_years() {
        for (seconds, expected) in [
            (0, "19700101000000"),
            (951_782_400, "20000229000000"),
            (951_868_800, "20000301000000"),
            (4_107_542_399, "21000228235959"),
            (4_107_542_400, "21000301000000"),
            (253_402_300_799, "99991231235959"),
            (u64::MAX, "99991231235959"),
        ] {
            assert_eq!(text(|out| write_date_and_time(out, seconds)), expected);
        }
    }

    #[test]
    fn the_clock_never_goes_back() {
        let clock = CsnClock::default();
        let first = clock.next_at(1000);
        let second = clock.next_at(1000);
        let third = clock.next_at(10);
        let fourth = clock.next_at(1001);
        assert!(first < second && second < third && third < fourth);
        assert_eq!((third.time_us, third.count), (1000, 2));
        assert_eq!((fourth.time_us, fourth.count), (1001, 0));
    }
}
