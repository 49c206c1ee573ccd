//! What happens to accounts and people want to be told of (OpenDJ's account status notifications).

use crate::moment::Moment;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccountEventKind {
    /// Too many wrong passwords; the lock ends by itself.
    TemporarilyLocked,
    /// Too many wrong passwords; an administrator has to end the lock.
    PermanentlyLocked,
    /// An administrator ended a lock.
    Unlocked,
    /// A bind found the account unused for too long.
    IdleLocked,
    /// A bind found that a password that was reset was not changed in time.
    ResetLocked,
    /// Taken out of use.
    Disabled,
    /// Taken into use again.
    Enabled,
    /// A bind found the account's end passed.
    Expired,
    /// A bind found the password expired.
    PasswordExpired,
    /// The password will expire; told once.
    PasswordExpiring,
    /// Somebody else set the password.
    PasswordReset,
    /// The user changed the password.
    PasswordChanged,
}

/// Something that happened to an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountEvent {
    /// What.
    pub kind: AccountEventKind,
    /// The name of the account's entry.
    pub dn: String,
    /// When.
    pub at: Moment,
    /// A sentence for people, without the account's name.
    pub message: String,
    /// More about it, each with a name: `time-until-unlock`, `password-expiration-time`.
    pub properties: Vec<(&'static str, String)>,
    /// Who is to be told: names of the policy's `account-status-notification-handler`.
    pub handlers: Vec<String>,
}

/// Each with the name that configurations and messages use.
const NAMES: [(AccountEventKind, &str); 12] = [
    (AccountEventKind::TemporarilyLocked, "account-temporarily-locked"),
    (AccountEventKind::PermanentlyLocked, "account-permanently-locked"),
    (AccountEventKind::Unlocked, "account-unlocked"),
    (AccountEventKind::IdleLocked, "account-idle-locked"),
    (AccountEventKind::ResetLocked, "account-reset-locked"),
    (AccountEventKind::Disabled, "account-disabled"),
    (AccountEventKind::Enabled, "account-enabled"),
    (AccountEventKind::Expired, "account-expired"),
    (AccountEventKind::PasswordExpired, "password-expired"),
    (AccountEventKind::PasswordExpiring, "password-expiring"),
    (AccountEventKind::PasswordReset, "password-reset"),
    (AccountEventKind::PasswordChanged, "password-changed"),
];

impl AccountEventKind {
    /// All names, in the order in which configurations list them.
    pub const ALL_NAMES: [&'static str; 12] = {
        let mut names = [""; 12];
        let mut at = 0;
        while at < names.len() {
            names[at] = NAMES[at].1;
            at += 1;
        }
        names
    };

    /// The name of OpenDJ's notification type.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<AccountEventKind> {
        NAMES.iter().find(|(_, own)| own.eq_ignore_ascii_case(name)).map(|(kind, _)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        for (kind, name) in NAMES {
            assert_eq!((kind.name(), AccountEventKind::from_name(name)), (name, Some(kind)));
        }
        assert_eq!(AccountEventKind::ALL_NAMES[11], "password-changed");
        assert_eq!(AccountEventKind::from_name("account-gone"), None);
    }
}
