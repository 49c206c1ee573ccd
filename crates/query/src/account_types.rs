//! The attributes in which an entry keeps the state of its account, and those that choose its password policy, looked
//! up once per schema.
//!
//! Knows names; what values mean is for those who read accounts.

use schema::{Schema, TypeIndex};

/// Where a password is kept that another directory said is right, as OpenDJ names it.
pub const CACHED_PASSWORD: &str = "ds-pta-cached-password";
/// When it said so.
pub const CACHED_PASSWORD_TIME: &str = "ds-pta-cached-password-time";

/// What an attribute says of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountAttribute {
    /// `pwdChangedTime`
    PasswordChanged,
    /// `ds-pwp-reset-time`
    PasswordReset,
    /// `ds-pwp-account-disabled`, `nsAccountLock`
    Disabled,
    /// `ds-pwp-account-disabled-time`
    LastDisabled,
    /// `pwdStartTime`
    Start,
    /// `ds-pwp-account-expiration-time`, `pwdEndTime`
    End,
    /// `pwdAccountLockedTime`
    Locked,
    /// `pwdFailureTime`
    Failure,
    /// `pwdAccountTmpLockoutEnd`
    DelayedUntil,
    /// `pwdReset`
    MustChange,
    /// `pwdGraceUseTime`
    GraceUse,
    /// `ds-pwp-warned-time`
    Warned,
    /// `ds-pwp-password-changed-by-required-time`
    MetDeadline,
    /// `ds-pwp-one-time-password-token`
    Token,
}

impl AccountAttribute {
    /// Whether binds write it, and not only administrators and changes of passwords.
    #[must_use]
    pub fn is_written_by_binds(self) -> bool {
        match self {
            Self::Locked | Self::Failure | Self::DelayedUntil | Self::GraceUse | Self::Warned | Self::Token => true,
            Self::PasswordChanged
            | Self::PasswordReset
            | Self::Disabled
            | Self::LastDisabled
            | Self::Start
            | Self::End
            | Self::MustChange
            | Self::MetDeadline => false,
        }
    }
}

const NAMES: [(&[u8], AccountAttribute); 16] = [
    (b"pwdChangedTime", AccountAttribute::PasswordChanged),
    (b"ds-pwp-reset-time", AccountAttribute::PasswordReset),
    (b"ds-pwp-account-disabled", AccountAttribute::Disabled),
    (b"nsAccountLock", AccountAttribute::Disabled),
    (b"ds-pwp-account-disabled-time", AccountAttribute::LastDisabled),
    (b"pwdStartTime", AccountAttribute::Start),
    (b"ds-pwp-account-expiration-time", AccountAttribute::End),
    (b"pwdEndTime", AccountAttribute::End),
    (b"pwdAccountLockedTime", AccountAttribute::Locked),
    (b"pwdFailureTime", AccountAttribute::Failure),
    (b"pwdAccountTmpLockoutEnd", AccountAttribute::DelayedUntil),
    (b"pwdReset", AccountAttribute::MustChange),
    (b"pwdGraceUseTime", AccountAttribute::GraceUse),
    (b"ds-pwp-warned-time", AccountAttribute::Warned),
    (b"ds-pwp-password-changed-by-required-time", AccountAttribute::MetDeadline),
    (b"ds-pwp-one-time-password-token", AccountAttribute::Token),
];

/// The attribute types of one schema.
#[derive(Clone, Debug, Default)]
pub struct AccountTypes {
    /// By number of the type.
    meanings: Box<[Option<AccountAttribute>]>,
    /// `ds-pwp-password-policy-dn`: the policy of the entry.
    pub policy_dn: Option<TypeIndex>,
    /// `pwdPolicySubentry`: the policy in force, which the server computes.
    pub policy_in_force: Option<TypeIndex>,
}

impl AccountTypes {
    /// Looks them up.
    #[must_use]
    pub fn of(schema: &Schema) -> AccountTypes {
        let type_of = |name: &[u8]| schema.attribute_type(name).map(|it| it.index);
        let count = schema.attribute_types().iter().map(|it| it.index.0 as usize + 1).max().unwrap_or(0);
        let mut meanings: Box<[Option<AccountAttribute>]> = vec![None; count].into();
        for (name, meaning) in NAMES {
            if let Some(slot) = type_of(name).and_then(|index| meanings.get_mut(index.0 as usize)) {
                *slot = Some(meaning);
            }
        }
        AccountTypes {
            meanings,
            policy_dn: type_of(b"ds-pwp-password-policy-dn"),
            policy_in_force: type_of(b"pwdPolicySubentry"),
        }
    }

    /// What the attribute type of that number says of an account, if something.
    #[inline]
    #[must_use]
    pub fn meaning(&self, type_index: u32) -> Option<AccountAttribute> {
        self.meanings.get(type_index as usize).copied().flatten()
    }
}
