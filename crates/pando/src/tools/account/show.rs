//! An account's state in words.

use jiff::{Span, Timestamp, Zoned};
use ldap::password_policy_state::StateItem;

use super::state::State;
use crate::tools::time::zoned;

/// What is said of an account.
pub struct Described {
    /// Whether it can be used.
    pub is_usable: bool,
    /// For the terminal.
    pub lines: Vec<String>,
}

/// Describes an account at a moment, in the zone of that moment.
pub fn describe(dn: &str, state: &State, now: &Zoned) -> Described {
    let words = Words { state, now };
    let mut blocks: Vec<String> = Vec::new();
    let command = |verb: &str| format!("  pando account {verb} {}", quoted(dn));
    if state.is_true(StateItem::GetDisabled) {
        blocks.extend(["An administrator has disabled it. To let it be used again:".to_owned(), command("enable")]);
    }
    if let Some(ended) = words.past(StateItem::GetAccountExpiration) {
        blocks.push(format!("It ended {ended}. To let it be used without an end:"));
        blocks.push(format!("  pando manage-account clear-account-expiration-time --targetDN {}", quoted(dn)));
    }
    if let Some(lock) = words.lock() {
        blocks.extend([format!("{lock} To unlock it now:"), command("unlock")]);
    }
    if state.number(StateItem::GetSecondsUntilIdleLock).is_some_and(|left| left <= 0) {
        blocks.push("It is locked because nobody used it for too long: set a new password.".to_owned());
    }
    if state.number(StateItem::GetSecondsUntilResetLock).is_some_and(|left| left <= 0) {
        blocks.push("It is locked because its password was reset and not changed in time: set a new one.".to_owned());
    }
    let expired = words.expired();
    let has_grace = state.number(StateItem::GetGraceLeft).is_some_and(|left| left > 0);
    if let Some(expired) = &expired
        && !has_grace
    {
        blocks.push(format!("{expired} No grace login is left: set a new password."));
    }
    let is_usable = blocks.is_empty();
    let mut lines = vec![dn.to_owned(), String::new()];
    lines.push(if is_usable { "The account can be used." } else { "The account cannot be used:" }.to_owned());
    lines.extend(blocks);
    if let Some(expired) = expired
        && has_grace
    {
        let left = state.number(StateItem::GetGraceLeft).unwrap_or_default();
        lines.push(format!("{expired} {} left.", counted(left, "grace login is", "grace logins are")));
    }
    lines.push(String::new());
    lines.extend(words.facts());
    Described { is_usable, lines }
}

/// A line of what is known.
pub fn fact(name: &str, value: &str) -> String {
    format!("{:<19}{value}", format!("{name}:"))
}

struct Words<'s> {
    state: &'s State,
    now: &'s Zoned,
}

impl Words<'_> {
    /// Why and until when it is locked after wrong passwords.
    fn lock(&self) -> Option<String> {
        let until = self.state.number(StateItem::GetSecondsUntilUnlock);
        let left = self.state.number(StateItem::GetFailuresLeft);
        if until.is_none() && left != Some(0) {
            return None;
        }
        let failures = self.state.values(StateItem::GetFailures).len() as i64;
        let after = match failures {
            0 => "It is locked".to_owned(),
            _ => {
                let sources = self.sources();
                format!("It is locked after {}{sources}", counted(failures, "wrong password", "wrong passwords"))
            }
        };
        Some(match until.filter(|seconds| *seconds > 0) {
            Some(seconds) => format!("{after}, until {}.", self.later(seconds)),
            None => format!("{after}, until an administrator unlocks it."),
        })
    }

    /// Where wrong passwords came from, if the server still knows.
    fn sources(&self) -> String {
        let sources = self.state.values(StateItem::GetFailureSources);
        match sources.split_last() {
            None => String::new(),
            Some((only, [])) => format!(" from {only}"),
            Some((last, others)) => format!(" from {} and {last}", others.join(", ")),
        }
    }

    fn expired(&self) -> Option<String> {
        let left = self.state.number(StateItem::GetSecondsUntilPasswordExpiration)?;
        (left <= 0).then(|| "Its password has expired.".to_owned())
    }

    /// What is known beside whether it can be used.
    fn facts(&self) -> Vec<String> {
        let state = self.state;
        let mut facts = Vec::new();
        let mut fact = |name: &str, value: Option<String>| {
            facts.extend(value.map(|value| fact(name, &value)));
        };
        fact("Password policy", state.value(StateItem::GetPolicyDn));
        fact("Password changed", self.time(StateItem::GetPasswordChanged));
        let expires = state.number(StateItem::GetSecondsUntilPasswordExpiration).filter(|left| *left > 0);
        fact("Password expires", expires.map(|left| self.later(left)));
        if state.is_true(StateItem::GetReset) {
            let left = state.number(StateItem::GetSecondsUntilResetLock).filter(|left| *left > 0);
            let until = left.map(|left| format!(", until {}", self.later(left))).unwrap_or_default();
            fact("Must change it", Some(format!("yes, it was set by somebody else{until}")));
        }
        let failures = state.values(StateItem::GetFailures);
        if !failures.is_empty() {
            let last = failures.last().and_then(|time| self.moment(time));
            let last = last.map(|time| format!(", the last {time}")).unwrap_or_default();
            let left = state.number(StateItem::GetFailuresLeft).filter(|left| *left > 0);
            let left = left.map(|left| format!("; {left} more lock it")).unwrap_or_default();
            fact("Wrong passwords", Some(format!("{}{}{last}{left}", failures.len(), self.sources())));
        }
        fact("Last login", self.time(StateItem::GetLastLogin));
        let idle = state.number(StateItem::GetSecondsUntilIdleLock).filter(|left| *left > 0);
        fact("Locked if unused", idle.map(|left| format!("until {}", self.later(left))));
        let ends = state.number(StateItem::GetSecondsUntilAccountExpiration).filter(|left| *left > 0);
        fact("Account ends", ends.map(|left| self.later(left)));
        facts
    }

    fn time(&self, item: StateItem) -> Option<String> {
        self.moment(&self.state.value(item)?)
    }

    /// A time of the past; none when it lies ahead.
    fn past(&self, item: StateItem) -> Option<String> {
        let text = self.state.value(item)?;
        let time = zoned(&text)?;
        if time <= self.now.timestamp() { self.moment(&text) } else { None }
    }

    /// A generalized time for people: a text that is none stays as it is.
    fn moment(&self, text: &str) -> Option<String> {
        let Some(time) = zoned(text) else { return Some(text.to_owned()) };
        let ago = self.now.timestamp().duration_since(time).as_secs();
        let zoned = self.zoned(time);
        Some(if ago >= 0 { format!("{zoned} ({} ago)", length(ago)) } else { format!("{zoned} (in {})", length(-ago)) })
    }

    /// The time so many seconds from now.
    fn later(&self, seconds: i64) -> String {
        let time = self.now.timestamp().checked_add(Span::new().try_seconds(seconds).unwrap_or_default());
        match time {
            Ok(time) => format!("{} (in {})", self.zoned(time), length(seconds)),
            Err(_) => format!("in {}", length(seconds)),
        }
    }

    /// Today's times without the date.
    fn zoned(&self, time: Timestamp) -> String {
        let zoned = time.to_zoned(self.now.time_zone().clone());
        let format = if zoned.date() == self.now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
        zoned.strftime(format).to_string()
    }
}

fn counted(count: i64, one: &str, several: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {several}") }
}

/// A length of time in its largest unit that fits, rounded.
fn length(seconds: i64) -> String {
    for (size, name) in [(86_400, "day"), (3_600, "hour"), (60, "minute")] {
        if seconds >= 2 * size || (seconds >= size && name == "day") {
            let count = (seconds + size / 2) / size;
            return counted(count, name, &format!("{name}s"));
        }
    }
    counted(seconds, "second", "seconds")
}

/// An argument as a shell takes it.
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '=' | ',' | '.' | '-' | '_' | '@' | '/' | ':');
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DN: &str = "uid=ann,dc=example,dc=com";

    fn described(values: &[(StateItem, &str)]) -> (bool, String) {
        let now: Zoned = "2026-11-21T13:58:00+00:00[UTC]".parse().unwrap();
        let described = describe(DN, &State::of(values), &now);
        (described.is_usable, described.lines.join("\n"))
    }

    #[test]
    fn a_lock_says_until_when_and_how_to_end_it() {
        let (is_usable, text) = described(&[
            (StateItem::GetFailures, "20261121135500Z"),
            (StateItem::GetFailures, "20261121135700.250Z"),
            (StateItem::GetSecondsUntilUnlock, "240"),
            (StateItem::GetFailuresLeft, "0"),
        ]);
        assert!(!is_usable);
        assert_eq!(
            text,
            "uid=ann,dc=example,dc=com\n\nThe account cannot be used:\n\
             It is locked after 2 wrong passwords, until 14:02 (in 4 minutes). To unlock it now:\n  \
             pando account unlock uid=ann,dc=example,dc=com\n\n\
             Wrong passwords:   2, the last 13:57 (59 seconds ago)"
        );
        let (_, text) = described(&[
            (StateItem::GetFailures, "20261121135700Z"),
            (StateItem::GetSecondsUntilUnlock, "240"),
            (StateItem::GetFailureSources, "10.0.0.7"),
            (StateItem::GetFailureSources, "10.0.0.9"),
            (StateItem::GetFailureSources, "others"),
        ]);
        assert!(
            text.contains("It is locked after 1 wrong password from 10.0.0.7, 10.0.0.9 and others, until"),
            "{text}"
        );
        let (is_usable, text) = described(&[(StateItem::GetFailuresLeft, "0")]);
        assert!(!is_usable && text.contains("It is locked, until an administrator unlocks it."), "{text}");
    }

    #[test]
    fn an_account_that_can_be_used_shows_what_comes() {
        let (is_usable, text) = described(&[
            (StateItem::GetPolicyDn, "cn=Default Password Policy,cn=Password Policies,cn=config"),
            (StateItem::GetDisabled, "false"),
            (StateItem::GetPasswordChanged, "20261101120000.000Z"),
            (StateItem::GetSecondsUntilPasswordExpiration, "864000"),
            (StateItem::GetFailures, "20261120135800Z"),
            (StateItem::GetFailuresLeft, "2"),
            (StateItem::GetReset, "true"),
            (StateItem::GetSecondsUntilResetLock, "5400"),
        ]);
        assert!(is_usable);
        assert_eq!(
            text,
            "uid=ann,dc=example,dc=com\n\nThe account can be used.\n\n\
             Password policy:   cn=Default Password Policy,cn=Password Policies,cn=config\n\
             Password changed:  2026-11-01 12:00 (20 days ago)\n\
             Password expires:  2026-12-01 13:58 (in 10 days)\n\
             Must change it:    yes, it was set by somebody else, until 15:28 (in 90 minutes)\n\
             Wrong passwords:   1, the last 2026-11-20 13:58 (1 day ago); 2 more lock it"
        );
    }

    #[test]
    fn every_reason_is_told() {
        let (is_usable, text) = described(&[
            (StateItem::GetDisabled, "true"),
            (StateItem::GetAccountExpiration, "20261121000000Z"),
            (StateItem::GetSecondsUntilIdleLock, "0"),
            (StateItem::GetSecondsUntilPasswordExpiration, "0"),
            (StateItem::GetGraceLeft, "0"),
        ]);
        assert!(!is_usable);
        for part in
            ["pando account enable uid=ann", "It ended 00:00 (14 hours ago)", "nobody used it", "No grace login"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let (is_usable, text) =
            described(&[(StateItem::GetSecondsUntilPasswordExpiration, "0"), (StateItem::GetGraceLeft, "1")]);
        assert!(is_usable && text.contains("Its password has expired. 1 grace login is left."), "{text}");
        assert_eq!(quoted("cn=O'Neil, x"), "'cn=O'\\''Neil, x'");
    }

    /// Also one of before 1970, as other servers may have it.
    #[test]
    fn an_account_that_ended_is_shown_with_the_command_that_mends_it() {
        let (is_usable, text) = described(&[(StateItem::GetAccountExpiration, "19600101000000.000Z")]);
        assert!(!is_usable);
        assert_eq!(
            text,
            "uid=ann,dc=example,dc=com\n\nThe account cannot be used:\n\
             It ended 1960-01-01 00:00 (24432 days ago). To let it be used without an end:\n  \
             pando manage-account clear-account-expiration-time --targetDN uid=ann,dc=example,dc=com\n"
        );
    }
}
