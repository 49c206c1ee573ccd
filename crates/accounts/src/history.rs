//! Former passwords (`pwdHistory`): which of them may not be used again, and which are kept.

use std::time::Duration;

use crate::moment::Moment;
use crate::policy::PasswordPolicy;
use crate::time_format::TimeFormat;

/// A former password. Histories are read for a change of the password only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryValue {
    /// When it became history.
    pub since: Moment,
    /// The password as it was stored.
    pub stored: Vec<u8>,
}

/// The syntax of passwords, as values of `pwdHistory` name it.
const SYNTAX: &str = "1.3.6.1.4.1.1466.115.121.1.40";

impl HistoryValue {
    /// From a value of `pwdHistory`: OpenDJ's `TIME#SYNTAX#DATA`, or slapd's `TIME#SYNTAX#LENGTH#DATA`.
    #[must_use]
    pub fn decode(value: &[u8]) -> Option<HistoryValue> {
        let mut parts = value.splitn(3, |byte| *byte == b'#');
        let since = time(parts.next()?)?;
        parts.next()?;
        let data = parts.next()?;
        let after_length = data.iter().position(|byte| *byte == b'#').and_then(|end| {
            let length: usize = std::str::from_utf8(&data[..end]).ok()?.parse().ok()?;
            data.get(end + 1..).filter(|rest| rest.len() == length)
        });
        Some(HistoryValue { since, stored: after_length.unwrap_or(data).to_vec() })
    }

    /// As OpenDJ writes it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.stored.len());
        TimeFormat::generalized().write(self.since, &mut out);
        out.extend_from_slice(format!("#{SYNTAX}#").as_bytes());
        out.extend_from_slice(&self.stored);
        out
    }
}

/// `20261122095530Z`, with any number of decimals.
fn time(text: &[u8]) -> Option<Moment> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, ""));
    if !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let milliseconds: String = decimals.chars().chain("000".chars()).take(3).collect();
    TimeFormat::generalized().read(format!("{seconds}.{milliseconds}Z").as_bytes())
}

/// Which former passwords a policy keeps: both 0, none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HistoryRules {
    /// `password-history-count`: so many; 0: any number.
    pub count: u32,
    /// `password-history-duration`: those of so much time; nothing: of any time.
    pub duration: Duration,
}

impl HistoryRules {
    /// Whether former passwords are kept, and the current one may not be set again.
    #[must_use]
    pub fn keep_any(&self) -> bool {
        self.count > 0 || !self.duration.is_zero()
    }
}

impl PasswordPolicy {
    /// What is said of former passwords.
    #[must_use]
    pub fn history_rules(&self) -> HistoryRules {
        HistoryRules { count: self.password_history_count, duration: self.password_history_duration }
    }
}

/// The former passwords that may not be used again, the newest first.
#[must_use]
pub fn history_that_counts(rules: HistoryRules, history: &[HistoryValue], now: Moment) -> Vec<&HistoryValue> {
    if !rules.keep_any() {
        return Vec::new();
    }
    let HistoryRules { count, duration } = rules;
    let count = if count == 0 { usize::MAX } else { usize::try_from(count).unwrap_or(usize::MAX) };
    let from = if duration.is_zero() { Moment(0) } else { now.before(duration) };
    let mut newest: Vec<_> = history.iter().collect();
    newest.sort_by_key(|value| std::cmp::Reverse(value.since));
    newest.into_iter().take(count).filter(|value| value.since >= from).collect()
}

/// The history after passwords were replaced, in ascending order. Where none is kept, it stays as it is.
#[must_use]
pub fn history_after(
    rules: HistoryRules,
    history: Vec<HistoryValue>,
    replaced: Vec<Vec<u8>>,
    now: Moment,
) -> Vec<HistoryValue> {
    if !rules.keep_any() {
        return history;
    }
    let mut all = history;
    let mut since = now;
    for stored in replaced {
        if all.iter().any(|value| value.stored == stored) {
            continue;
        }
        while all.iter().any(|value| value.since == since) {
            since = since.after(Duration::from_millis(1));
        }
        all.push(HistoryValue { since, stored });
    }
    let mut kept: Vec<HistoryValue> = history_that_counts(rules, &all, now).into_iter().cloned().collect();
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn former(seconds: u64, stored: &str) -> HistoryValue {
        HistoryValue { since: Moment(seconds * 1000), stored: stored.as_bytes().to_vec() }
    }

    #[test]
    fn values_of_both_servers_are_read() {
        let value = HistoryValue { since: Moment(1_795_340_953_380), stored: b"{SSHA}a#b".to_vec() };
        let encoded = b"20261122094913.380Z#1.3.6.1.4.1.1466.115.121.1.40#{SSHA}a#b";
        assert_eq!(value.encode(), encoded);
        assert_eq!(HistoryValue::decode(encoded), Some(value));
        for (text, stored) in [
            ("20261122094913Z#1.3.6.1.4.1.1466.115.121.1.40#9#{SSHA}a#b", "{SSHA}a#b"),
            ("20261122094913.000000Z#1.3.6.1.4.1.1466.115.121.1.40#8#{SSHA}a#b", "8#{SSHA}a#b"),
        ] {
            assert_eq!(HistoryValue::decode(text.as_bytes()), Some(former(1_795_340_953, stored)), "{text}");
        }
        for text in ["", "20261122094913Z#1.2", "soon#1.2#{SSHA}a", "20261122094913.x5Z#1.2#a"] {
            assert_eq!(HistoryValue::decode(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_newest_count_and_the_old_do_not() {
        let history = [former(10, "a"), former(30, "c"), former(20, "b")];
        let texts = |rules: &HistoryRules, now: u64| -> Vec<u8> {
            history_that_counts(*rules, &history, Moment(now * 1000)).iter().flat_map(|it| it.stored.clone()).collect()
        };
        let mut rules = HistoryRules::default();
        assert_eq!(texts(&rules, 40), b"");
        rules.count = 2;
        assert_eq!(texts(&rules, 40), b"cb");
        rules.duration = Duration::from_secs(10);
        assert_eq!(texts(&rules, 40), b"c");
        rules.count = 0;
        assert_eq!(texts(&rules, 30), b"cb");
    }

    #[test]
    fn what_is_replaced_becomes_history() {
        let rules = HistoryRules { count: 2, ..HistoryRules::default() };
        let after = |rules: HistoryRules, replaced: &[&str]| {
            let replaced = replaced.iter().map(|stored| stored.as_bytes().to_vec()).collect();
            history_after(rules, vec![former(10, "a"), former(20, "b")], replaced, Moment(20_000))
        };
        let c = HistoryValue { since: Moment(20_001), stored: b"c".to_vec() };
        assert_eq!(after(rules, &["c"]), [former(20, "b"), c]);
        assert_eq!(after(rules, &["b"]), [former(10, "a"), former(20, "b")], "it is history already");
        assert_eq!(after(HistoryRules::default(), &["c"]), [former(10, "a"), former(20, "b")]);
    }
}
