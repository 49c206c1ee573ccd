//! What 389 Directory Server says of passwords, in `cn=config` or in the policy of a subtree or a user.

use super::entry::Entry;

/// The numbers by which times of accounts are converted; 389's defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    pub max_age: u64,
    pub min_age: u64,
    pub warning: u64,
    pub lockout_duration: u64,
    pub count_interval: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { max_age: 8_640_000, min_age: 0, warning: 86_400, lockout_duration: 3_600, count_interval: 600 }
    }
}

/// What a policy of 389 means, as an attribute of a policy entry and as a property of the configuration.
#[derive(Debug, PartialEq, Eq)]
pub struct Meaning {
    pub attribute: &'static str,
    pub property: &'static str,
    pub value: String,
}

/// What of it a validator of type `quality` checks.
const QUALITY: [(&str, &str); 11] = [
    ("passwordMinDigits", "min-digits"),
    ("passwordMinAlphas", "min-letters"),
    ("passwordMinUppers", "min-upper"),
    ("passwordMinLowers", "min-lower"),
    ("passwordMinSpecials", "min-specials"),
    ("passwordMin8bit", "min-beyond-ascii"),
    ("passwordMinCategories", "min-classes"),
    ("passwordMaxRepeats", "max-repeats"),
    ("passwordMaxClassChars", "max-class-run"),
    ("passwordMaxSequence", "max-sequence"),
    ("passwordMaxSeqSets", "max-repeated-part"),
];

/// What has no counterpart, and what does instead.
pub const LEFT: [(&str, &str); 17] = [
    ("passwordStorageScheme", "default-password-storage-scheme of the configuration says it"),
    ("passwordMinTokenLength", "validators of the types attribute-value and dictionary check instead"),
    ("passwordDictCheck", "a validator of the type dictionary checks instead"),
    ("passwordDictPath", "a validator of the type dictionary checks instead"),
    ("passwordBadWords", "a validator of the type dictionary checks instead"),
    ("passwordUserAttributes", "a validator of the type attribute-value checks instead"),
    ("passwordSendExpiringTime", "who asks by the control is always told"),
    ("passwordTrackUpdateTime", "pwdChangedTime is always kept"),
    ("passwordIsGlobalPolicy", "the state of accounts is part of their entries"),
    ("passwordLegacyPolicy", "the account is locked at the number of failures, not at one more"),
    ("passwordAdminDN", "the privilege password-reset and skip-validation-for-administrators say it"),
    ("passwordAdminSkipInfoUpdate", "each change of a password updates the state"),
    ("passwordTPRMaxUse", "max-password-reset-age ends a reset password by time"),
    ("passwordTPRDelayExpireAt", "max-password-reset-age ends a reset password by time"),
    ("passwordTPRDelayValidFrom", "max-password-reset-age ends a reset password by time"),
    ("passwordHistoryDuration", "password-history-duration of the configuration says it"),
    ("nsslapd-pwpolicy-inherit-global", "what a policy does not say comes from the default policy"),
];

fn is_on(entry: &Entry, name: &str) -> Option<bool> {
    entry.first(name).map(|value| ["on", "true", "1", "yes"].contains(&value.to_lowercase().as_str()))
}

/// Seconds; 389 takes `8d`, too.
fn seconds(entry: &Entry, name: &str) -> Option<u64> {
    let text = entry.first(name)?.to_lowercase();
    let digits = text.trim_end_matches(|it: char| it.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)? {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// The numbers of a policy, over those that hold without it.
pub fn settings(entry: &Entry, over: &Settings) -> Settings {
    let number = |name: &str, over: u64| seconds(entry, name).unwrap_or(over);
    Settings {
        max_age: number("passwordMaxAge", over.max_age),
        min_age: number("passwordMinAge", over.min_age),
        warning: number("passwordWarning", over.warning),
        lockout_duration: number("passwordLockoutDuration", over.lockout_duration),
        count_interval: number("passwordResetFailureCount", over.count_interval),
    }
}

/// What a policy says, where it says something.
pub fn meanings(entry: &Entry) -> Vec<Meaning> {
    let mut all = Vec::new();
    let mut say = |attribute, property, value: Option<String>| {
        all.extend(value.map(|value| Meaning { attribute, property, value }));
    };
    let text = |number: u64| Some(number.to_string());
    // What is switched by another setting: off is 0.
    let switched = |switch: &str, value: Option<u64>| match is_on(entry, switch) {
        Some(false) => Some(0),
        Some(true) => value,
        None => None,
    };
    say(
        "pwdMaxAge",
        "max-password-age",
        switched("passwordExp", Some(settings(entry, &Settings::default()).max_age)).and_then(text),
    );
    say("pwdMinAge", "min-password-age", seconds(entry, "passwordMinAge").and_then(text));
    say("pwdExpireWarning", "password-expiration-warning-interval", seconds(entry, "passwordWarning").and_then(text));
    say("pwdGraceAuthNLimit", "grace-login-count", seconds(entry, "passwordGraceLimit").and_then(text));
    let failures = seconds(entry, "passwordMaxFailure").unwrap_or(3);
    say("pwdMaxFailure", "lockout-failure-count", switched("passwordLockout", Some(failures)).and_then(text));
    let is_unlocked = is_on(entry, "passwordUnlock").unwrap_or(true);
    let duration = if is_unlocked { seconds(entry, "passwordLockoutDuration") } else { Some(0) };
    say("pwdLockoutDuration", "lockout-duration", duration.and_then(text));
    let interval = seconds(entry, "passwordResetFailureCount");
    say("pwdFailureCountInterval", "lockout-failure-expiration-interval", interval.and_then(text));
    let history = seconds(entry, "passwordInHistory").unwrap_or(6);
    say("pwdInHistory", "password-history-count", switched("passwordHistory", Some(history)).and_then(text));
    let boolean = |name: &str, yes: &str, no: &str| is_on(entry, name).map(|on| if on { yes } else { no }.to_owned());
    for (name, attribute, property) in [
        ("passwordMustChange", "pwdMustChange", "force-change-on-reset"),
        ("passwordChange", "pwdAllowUserChange", "allow-user-password-changes"),
    ] {
        say(attribute, property, boolean(name, "TRUE", "FALSE"));
    }
    all
}

/// The properties of the validators that a policy wants: the shortest length, and those of type `quality`.
pub fn validators(entry: &Entry) -> (Option<u64>, Vec<String>) {
    if is_on(entry, "passwordCheckSyntax") != Some(true) {
        return (None, Vec::new());
    }
    let wanted = |(name, property): &(&str, &str)| {
        seconds(entry, name).filter(|number| *number > 0).map(|number| format!("{property}:{number}"))
    };
    let mut quality: Vec<String> = QUALITY.iter().filter_map(wanted).collect();
    if is_on(entry, "passwordPalindrome") == Some(true) {
        quality.push("no-palindrome:true".to_owned());
    }
    (Some(seconds(entry, "passwordMinLength").unwrap_or(8)), quality)
}

/// The attributes that these functions read.
pub fn is_read(name: &str) -> bool {
    let own = [
        "passwordExp",
        "passwordMaxAge",
        "passwordMinAge",
        "passwordWarning",
        "passwordGraceLimit",
        "passwordLockout",
        "passwordMaxFailure",
        "passwordUnlock",
        "passwordLockoutDuration",
        "passwordResetFailureCount",
        "passwordHistory",
        "passwordInHistory",
        "passwordMustChange",
        "passwordChange",
        "passwordCheckSyntax",
        "passwordMinLength",
        "passwordPalindrome",
    ];
    own.into_iter().chain(QUALITY.iter().map(|row| row.0)).any(|known| known.eq_ignore_ascii_case(name))
}
