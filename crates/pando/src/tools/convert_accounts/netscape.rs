//! 389 Directory Server (and Red Hat's, Sun's, Oracle's of its line): the state of accounts, and the policies of
//! subtrees and users.

use std::collections::HashMap;
use std::time::Duration;

use accounts::{HistoryValue, Moment};

use super::entry::{Entry, folded, quoted};
use super::report::{Fate, Report};
use super::settings::{self, Meaning, Settings};
use super::times::{moment, text};

/// Failures and grace logins that are made of a count, at most.
const COUNT_MAX: u64 = 1_000;

/// 389's time for "never": the end of 32 bits.
const NEVER: &str = "20380119031407Z";

/// What of the state has no counterpart, and what does instead.
const LEFT: [(&str, &str); 7] = [
    ("lastLoginHistory", "the last login alone is kept"),
    ("acctPolicySubentry", "idle-lockout-interval or pwdMaxIdle of the policy says it"),
    ("accountInactivityLimit", "idle-lockout-interval or pwdMaxIdle of the policy says it"),
    ("pwdTPRReset", "max-password-reset-age ends a reset password by time"),
    ("pwdTPRUseCount", "max-password-reset-age ends a reset password by time"),
    ("pwdTPRExpireAt", "max-password-reset-age ends a reset password by time"),
    ("pwdTPRValidFrom", "max-password-reset-age ends a reset password by time"),
];

/// What was found out before entries are converted.
#[derive(Debug, Default)]
pub struct Policies {
    global: Settings,
    /// By the folded name of the policy's entry.
    own: HashMap<String, Settings>,
    /// The policy of a subtree, both folded.
    subtrees: Vec<(String, String)>,
}

impl Policies {
    /// What policies there are, in the data and in `dse.ldif`.
    pub fn read(data: &[Entry], configuration: &[Entry], report: &mut Report) -> Policies {
        let mut found = Policies::default();
        if let Some(global) = configuration.iter().find(|entry| folded(&entry.dn) == "cn=config") {
            found.global = settings::settings(global, &Settings::default());
            commands_of_default(global, report);
        }
        for entry in data {
            if is_policy(entry) {
                found.own.insert(folded(&entry.dn), settings::settings(entry, &found.global));
            } else if entry.has_class("cosTemplate")
                && let Some(policy) = entry.first("pwdpolicysubentry")
                && let Some((_, subtree)) = folded(&entry.dn).split_once("cn=nspwpolicycontainer,")
            {
                found.subtrees.push((subtree.to_owned(), folded(&policy)));
            }
        }
        found
    }

    fn of(&self, entry: &Entry) -> &Settings {
        let dn = folded(&entry.dn);
        let is_below = |subtree: &str| dn == subtree || dn.ends_with(&format!(",{subtree}"));
        let nearest = || {
            let holding = self.subtrees.iter().filter(|(subtree, _)| is_below(subtree));
            holding.max_by_key(|(subtree, _)| subtree.len()).map(|(_, policy)| policy.clone())
        };
        let policy = entry.first("pwdpolicysubentry").map(|policy| folded(&policy)).or_else(nearest);
        policy.and_then(|policy| self.own.get(&policy)).unwrap_or(&self.global)
    }
}

/// Whether an entry of the data is worth reading before the others.
pub fn is_about_policies(entry: &Entry) -> bool {
    is_policy(entry) || (entry.has_class("cosTemplate") && entry.has("pwdpolicysubentry"))
}

fn is_policy(entry: &Entry) -> bool {
    entry.has_class("passwordPolicy")
}

/// Converts an entry.
pub fn convert(entry: &mut Entry, policies: &Policies, report: &mut Report) {
    if is_policy(entry) {
        return policy(entry, report);
    }
    if entry.dn.to_ascii_lowercase().starts_with("cn=nspwpolicycontainer,") {
        entry.change_class("nsContainer", "applicationProcess");
    }
    for (name, value) in &mut entry.attributes {
        let given = String::from_utf8_lossy(value).to_lowercase();
        if name.eq_ignore_ascii_case("cosAttribute") && given.starts_with("pwdpolicysubentry") {
            *value = b"ds-pwp-password-policy-dn operational-default".to_vec();
            report.note(Fate::Converted, "cosAttribute", "it gives ds-pwp-password-policy-dn", entry.line);
        }
    }
    if entry.has_class("cosTemplate") {
        // Two structural classes are one too many here.
        entry.drop_class("ldapSubentry");
    }
    let numbers = policies.of(entry).clone();
    if let Some(policy) = entry.take_first("pwdpolicysubentry") {
        report.note(Fate::Converted, "pwdpolicysubentry", "ds-pwp-password-policy-dn", entry.line);
        entry.put("ds-pwp-password-policy-dn", policy);
    }
    state(entry, &numbers, report);
}

fn state(entry: &mut Entry, numbers: &Settings, report: &mut Report) {
    let line = entry.line;
    if entry.has("nsAccountLock") {
        report.note(Fate::Kept, "nsAccountLock", "the same", line);
    }
    for (name, what) in LEFT {
        if !entry.take(name).is_empty() {
            report.note(Fate::LeftOut, name, what, line);
        }
    }
    times_of_password(entry, numbers, report);
    failures(entry, numbers, report);
    if let Some(value) = entry.take_first("accountUnlockTime") {
        match moment(&value) {
            Some(Moment(0)) => {
                report.note(Fate::Converted, "accountUnlockTime", "pwdAccountLockedTime, until unlocked", line);
                entry.put("pwdAccountLockedTime", "000001010000Z");
            }
            Some(end) => {
                report.note(Fate::Converted, "accountUnlockTime", "pwdAccountLockedTime", line);
                entry.put("pwdAccountLockedTime", text(end.before(Duration::from_secs(numbers.lockout_duration))));
            }
            None => report.note(Fate::LeftOut, "accountUnlockTime", "it is no time", line),
        }
    }
    for value in entry.take("passwordHistory") {
        let former = value.split_at_checked(15).and_then(|(time, stored)| {
            let since = moment(std::str::from_utf8(time).ok()?)?;
            Some(HistoryValue { since, stored: stored.to_vec() })
        });
        match former {
            Some(former) => {
                report.note(Fate::Converted, "passwordHistory", "pwdHistory", line);
                entry.put("pwdHistory", former.encode());
            }
            None => report.note(Fate::LeftOut, "passwordHistory", "it is no time with a password", line),
        }
    }
    if let Some(value) = entry.take_first("lastLoginTime") {
        match moment(&value) {
            Some(at) => {
                report.note(Fate::Converted, "lastLoginTime", "pwdLastSuccess", line);
                entry.put("pwdLastSuccess", text(at));
            }
            None => report.note(Fate::LeftOut, "lastLoginTime", "it is no time", line),
        }
    }
}

/// When the password was set, must be changed, and was warned of.
fn times_of_password(entry: &mut Entry, numbers: &Settings, report: &mut Report) {
    let line = entry.line;
    let mut taken = |entry: &mut Entry, name: &str| {
        let value = entry.take_first(name)?;
        let at = moment(&value);
        if at.is_none() {
            report.note(Fate::LeftOut, name, "it is no time", line);
        }
        Some((at?, value))
    };
    let updated = taken(entry, "pwdUpdateTime");
    let expires = taken(entry, "passwordExpirationTime");
    let changeable = taken(entry, "passwordAllowChangeTime");
    let seconds = Duration::from_secs;
    let mut changed = updated.map(|(at, _)| at);
    if changed.is_some() {
        report.note(Fate::Converted, "pwdUpdateTime", "pwdChangedTime", line);
    }
    match &expires {
        Some((Moment(0), _)) => {
            report.note(Fate::Converted, "passwordExpirationTime", "pwdReset: it must be changed", line);
            entry.put("pwdReset", "TRUE");
        }
        Some((_, value)) if value == NEVER => {
            report.note(Fate::Converted, "passwordExpirationTime", "never: the policy says it", line);
        }
        Some((at, _)) => {
            report.note(Fate::Converted, "passwordExpirationTime", "pwdChangedTime, by the policy's age", line);
            changed.get_or_insert(at.before(seconds(numbers.max_age)));
        }
        None => {}
    }
    if let Some((at, _)) = changeable {
        report.note(Fate::Converted, "passwordAllowChangeTime", "pwdChangedTime, by the policy's age", line);
        changed.get_or_insert(at.before(seconds(numbers.min_age)));
    }
    if let Some(changed) = changed
        && !entry.has("pwdChangedTime")
    {
        entry.put("pwdChangedTime", text(changed));
    }
    let base = expires.filter(|(at, value)| *at != Moment(0) && value != NEVER).map(|(at, _)| at);
    match (entry.take_first("passwordExpWarned"), base) {
        (Some(warned), Some(at)) if warned == "1" => {
            report.note(Fate::Converted, "passwordExpWarned", "ds-pwp-warned-time", line);
            entry.put("ds-pwp-warned-time", text(at.before(seconds(numbers.warning))));
        }
        (Some(warned), None) if warned == "1" => {
            report.note(Fate::LeftOut, "passwordExpWarned", "nothing says when the password expires", line);
        }
        (Some(_), _) => report.note(Fate::Converted, "passwordExpWarned", "no ds-pwp-warned-time", line),
        (None, _) => {}
    }
    if let Some(uses) = entry.take_first("passwordGraceUserTime") {
        report.note(Fate::Converted, "passwordGraceUserTime", "so many of pwdGraceUseTime", line);
        put_times(entry, "pwdGraceUseTime", &uses, base.unwrap_or_default());
    }
}

fn failures(entry: &mut Entry, numbers: &Settings, report: &mut Report) {
    let line = entry.line;
    let (count, reset) = (entry.take_first("passwordRetryCount"), entry.take_first("retryCountResetTime"));
    if reset.is_some() {
        report.note(Fate::Converted, "retryCountResetTime", "the times of pwdFailureTime", line);
    }
    let Some(count) = count else { return };
    match reset.as_deref().and_then(moment) {
        _ if count == "0" => report.note(Fate::Converted, "passwordRetryCount", "no pwdFailureTime", line),
        Some(end) => {
            report.note(Fate::Converted, "passwordRetryCount", "so many of pwdFailureTime", line);
            let since = end.before(Duration::from_secs(numbers.count_interval));
            put_times(entry, "pwdFailureTime", &count, since);
        }
        None => report.note(Fate::LeftOut, "passwordRetryCount", "nothing says when the failures were", line),
    }
}

/// So many times, a millisecond apart.
fn put_times(entry: &mut Entry, name: &str, count: &str, since: Moment) {
    let count = count.parse::<u64>().unwrap_or_default().min(COUNT_MAX);
    for at in 0..count {
        entry.put(name, text(since.after(Duration::from_millis(at))));
    }
}

/// A policy becomes one of the draft's, named by whom it is for, as before.
fn policy(entry: &mut Entry, report: &mut Report) {
    let line = entry.line;
    report.note(Fate::Converted, "passwordPolicy", "an entry of the class pwdPolicy", line);
    let meanings = settings::meanings(entry);
    let (length, quality) = settings::validators(entry);
    left_out(entry, report);
    entry.change_class("passwordPolicy", "pwdPolicy");
    entry.change_class("ldapSubentry", "applicationProcess");
    entry.attributes.retain(|(name, _)| !settings::is_read(name));
    entry.put("pwdAttribute", "userPassword");
    for Meaning { attribute, value, .. } in meanings {
        entry.put(attribute, value);
    }
    entry.put("pwdCheckQuality", if length.is_some() { "1" } else { "0" });
    if let Some(length) = length {
        entry.put("pwdMinLength", length.to_string());
    }
    if !quality.is_empty() {
        let name = format!("389 {}", quality.join(" ").replace([':', ',', '='], " "));
        create_validator(&name, "quality", &quality, report);
        entry.put("objectClass", "pwdValidatorPolicy");
        entry.put("ds-cfg-password-validator", format!("cn={name},cn=Password Validators,cn=config"));
    }
}

fn left_out(entry: &mut Entry, report: &mut Report) {
    for (name, what) in settings::LEFT {
        // What is off is not missed.
        let values = entry.take(name);
        if values.iter().any(|value| !matches!(&*value.to_ascii_lowercase(), b"off" | b"0" | b"" | b"-1")) {
            report.note(Fate::LeftOut, name, what, entry.line);
        }
    }
}

/// What `cn=config` says becomes the default policy.
fn commands_of_default(global: &Entry, report: &mut Report) {
    let mut own = Entry { dn: global.dn.clone(), line: global.line, attributes: global.attributes.clone() };
    left_out(&mut own, report);
    let mut set: Vec<String> = settings::meanings(&own).iter().map(property).collect();
    let (length, quality) = settings::validators(&own);
    if let Some(length) = length {
        create_validator("389 length", "length-based", &[format!("min-password-length:{length}")], report);
        set.push("password-validator:389 length".to_owned());
    }
    if !quality.is_empty() {
        create_validator("389 quality", "quality", &quality, report);
        set.push("password-validator:389 quality".to_owned());
    }
    if set.is_empty() {
        return;
    }
    report.note(Fate::Converted, "cn=config", "the default policy, by the commands below", global.line);
    let command = "pando dsconfig set-password-policy-prop --policy-name 'Default Password Policy'";
    let settings: String = set.iter().map(|set| format!(" --set {}", quoted(set))).collect();
    report.command(format!("{command}{settings} --no-prompt"));
}

fn create_validator(name: &str, kind: &str, set: &[String], report: &mut Report) {
    let settings: String = set.iter().map(|set| format!(" --set {}", quoted(set))).collect();
    report.command(format!(
        "pando dsconfig create-password-validator --validator-name {} --type {kind}{settings} --no-prompt",
        quoted(name)
    ));
}

fn property(meaning: &Meaning) -> String {
    let Meaning { property, value, .. } = meaning;
    let is_time = ["-age", "-interval", "-duration"].iter().any(|end| property.ends_with(end));
    match value.as_str() {
        "TRUE" | "FALSE" => format!("{property}:{}", value.to_lowercase()),
        _ if is_time => format!("{property}:{value} s"),
        _ => format!("{property}:{value}"),
    }
}
