//! What a change of an entry says of its account: locked, unlocked, disabled, a new password. Whatever made the change
//! (a bind, an administrator, an import of another server's state), it is found the same way.

use accounts::{AccountEventKind, PasswordPolicy};
use change::history::{Cause, Change, ChangeKind};
use config::duration_text;

/// Something that a change says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) kind: AccountEventKind,
    pub(super) message: String,
    pub(super) properties: Vec<(&'static str, String)>,
}

/// Whether a change may be about an account: cheap, for each change of the directory.
pub(super) fn is_about_account(change: &Change<'_>) -> bool {
    change.kind == ChangeKind::Modify
        && change
            .attributes()
            .any(|attribute| ATTRIBUTES.iter().any(|own| own.eq_ignore_ascii_case(attribute.description)))
}

const LOCKED: &str = "pwdAccountLockedTime";
const DISABLED: [&str; 2] = ["ds-pwp-account-disabled", "nsAccountLock"];
const CHANGED: &str = "pwdChangedTime";
const RESET: &str = "pwdReset";
const WARNED: &str = "ds-pwp-warned-time";
const ATTRIBUTES: [&str; 5] = [LOCKED, DISABLED[0], DISABLED[1], CHANGED, WARNED];

/// What a change says, under the policy that is in force for the entry.
pub(super) fn said(change: &Change<'_>, policy: &PasswordPolicy) -> Vec<Said> {
    let mut all = Vec::new();
    let mut say = |kind, message: &str, properties: Vec<(&'static str, String)>| {
        all.push(Said { kind, message: message.to_owned(), properties });
    };
    let is_of_bind = matches!(change.cause, Cause::AccountState);
    let became = |name: &str| change.attribute(name).map(|it| it.added().next().map(<[u8]>::to_vec));
    let is_true = |value: &Option<Vec<u8>>| value.as_deref().is_some_and(|value| value.eq_ignore_ascii_case(b"true"));
    let is_new_password = became(CHANGED).is_some_and(|time| time.is_some());
    match became(LOCKED) {
        Some(Some(_)) if policy.lockout_duration.is_zero() => say(
            AccountEventKind::PermanentlyLocked,
            "The account is locked after too many wrong passwords, until an administrator unlocks it",
            Vec::new(),
        ),
        Some(Some(_)) => {
            let length = u64::try_from(policy.lockout_duration.as_millis()).unwrap_or(u64::MAX);
            say(
                AccountEventKind::TemporarilyLocked,
                "The account is locked for a time after too many wrong passwords",
                vec![("time-until-unlock", duration_text(length))],
            );
        }
        // A lock that had ended goes with the next right password: nobody unlocked anything.
        Some(None) if !is_of_bind => say(AccountEventKind::Unlocked, "The account was unlocked", Vec::new()),
        Some(None) | None => {}
    }
    for name in DISABLED {
        match became(name) {
            Some(value) if is_true(&value) => say(AccountEventKind::Disabled, "The account was disabled", Vec::new()),
            Some(_) => say(AccountEventKind::Enabled, "The account was enabled", Vec::new()),
            None => {}
        }
    }
    if is_new_password && !is_of_bind {
        let is_reset = became(RESET).is_some_and(|value| is_true(&value));
        match is_reset || !change.initiator().eq_ignore_ascii_case(change.dn) {
            true => say(AccountEventKind::PasswordReset, "Somebody else set the account's password", Vec::new()),
            false => say(AccountEventKind::PasswordChanged, "The user changed the account's password", Vec::new()),
        }
    }
    if became(WARNED).is_some_and(|time| time.is_some()) && !is_new_password {
        say(AccountEventKind::PasswordExpiring, "The account's password will expire", Vec::new());
    }
    all
}
