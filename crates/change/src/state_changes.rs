//! Changes of the state of accounts, as a proposal carries them: those of many binds together.
//!
//! ```text
//! account…   entry id · entryUUID 16 bytes · changes · change…
//! change     1 · time · count · duration · expiration · shortest delay · longest delay      a wrong password
//!            11 · the same · failures that are kept                                         of which so many are kept
//!            2 · time                                                                       a right one
//!            3 · time                                                                       a grace login
//!            4 · time                                                                       a warning
//!            5 · time · attribute · value                                                   the last login
//!            6 · attribute · old value · values · value…                                    another form of a password
//!            7 · token 12 bytes · next                                                      a code was shown
//!            8 · value                                                                      a token is added
//!            9 · token 12 bytes                                                             a token is removed
//!            10                                                                             all tokens are removed
//!            13 · time · value                                                              a password to keep
//!            14 · time                                                                      which goes again
//! ```
//! Kinds are bytes, numbers varints, times and durations in milliseconds; texts and values have their length before
//! them. What the policy says of wrong passwords goes with each, because a replay does not know the policy of then.

use std::time::Duration;

use accounts::second_factor::TokenKey;
use accounts::{LockRules, Moment, StateChange};
use store::varint::{put_counted, take_counted};
use store::{EntryId, varint};

/// Accounts in one proposal at most: some milliseconds of work.
pub const ACCOUNTS_MAX: usize = 512;

/// What changes in the state of one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChanges {
    /// The account's entry.
    pub entry: EntryId,
    /// Its `entryUUID`: the state of another entry is never changed instead.
    pub entry_uuid: [u8; 16],
    /// The changes, in their order.
    pub changes: Vec<StateChange>,
}

/// The operation bytes of a proposal with these changes.
#[must_use]
pub fn encode<'a>(accounts: impl IntoIterator<Item = &'a AccountChanges>) -> Vec<u8> {
    let mut out = Vec::new();
    for account in accounts {
        varint::put(&mut out, account.entry.0);
        out.extend_from_slice(&account.entry_uuid);
        varint::put(&mut out, account.changes.len() as u64);
        account.changes.iter().for_each(|change| put_change(&mut out, change));
    }
    out
}

/// Reads [`encode`]; `None` when it is not that.
#[must_use]
pub fn decode(mut bytes: &[u8]) -> Option<Vec<AccountChanges>> {
    let rest = &mut bytes;
    let mut accounts = Vec::new();
    while !rest.is_empty() {
        let entry = EntryId(varint::take(rest)?);
        let entry_uuid = *varint::take_bytes(rest, 16)?.first_chunk()?;
        let mut changes = Vec::new();
        for _ in 0..varint::take(rest)? {
            changes.push(take_change(rest)?);
        }
        accounts.push(AccountChanges { entry, entry_uuid, changes });
    }
    (accounts.len() <= ACCOUNTS_MAX).then_some(accounts)
}

fn put_change(out: &mut Vec<u8>, change: &StateChange) {
    let mut head = |kind: u8, at: &Moment| {
        out.push(kind);
        varint::put(out, at.0);
    };
    match change {
        StateChange::CountFailure { at, rules } => {
            head(if rules.recorded == 0 { 1 } else { 11 }, at);
            varint::put(out, u64::from(rules.count));
            for span in [rules.duration, rules.expiration, rules.min_delay, rules.max_delay] {
                varint::put(out, u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
            }
            if rules.recorded > 0 {
                varint::put(out, u64::from(rules.recorded));
            }
        }
        StateChange::ClearFailures { at } => head(2, at),
        StateChange::UseGrace { at } => head(3, at),
        StateChange::Warned { at } => head(4, at),
        StateChange::LastLogin { at, attribute, value } => {
            head(5, at);
            put_counted(out, attribute.as_bytes());
            put_counted(out, value);
        }
        StateChange::SpendCode { token, next } => {
            out.push(7);
            out.extend_from_slice(&token.0);
            varint::put(out, *next);
        }
        StateChange::PutToken { value } => {
            out.push(8);
            put_counted(out, value);
        }
        StateChange::RemoveToken { token: Some(token) } => {
            out.push(9);
            out.extend_from_slice(&token.0);
        }
        StateChange::RemoveToken { token: None } => out.push(10),
        StateChange::CachePassword { at, value } => {
            head(13, at);
            put_counted(out, value);
        }
        StateChange::ForgetCachedPassword { at } => head(14, at),
        StateChange::Reencode { attribute, old, new } => {
            out.push(6);
            put_counted(out, attribute.as_bytes());
            put_counted(out, old);
            varint::put(out, new.len() as u64);
            new.iter().for_each(|value| put_counted(out, value));
        }
    }
}

fn take_change(rest: &mut &[u8]) -> Option<StateChange> {
    let kind = *varint::take_bytes(rest, 1)?.first()?;
    match kind {
        1..=5 | 11 | 13 | 14 => take_timed(kind, rest),
        6 => {
            let (attribute, old) = (take_text(rest)?, take_counted(rest)?.to_vec());
            let mut new = Vec::new();
            for _ in 0..varint::take(rest)? {
                new.push(take_counted(rest)?.to_vec());
            }
            Some(StateChange::Reencode { attribute, old, new })
        }
        7 => {
            let token = take_key(rest)?;
            Some(StateChange::SpendCode { token, next: varint::take(rest)? })
        }
        8 => Some(StateChange::PutToken { value: take_counted(rest)?.to_vec() }),
        9 => Some(StateChange::RemoveToken { token: Some(take_key(rest)?) }),
        10 => Some(StateChange::RemoveToken { token: None }),
        _ => None,
    }
}

fn take_timed(kind: u8, rest: &mut &[u8]) -> Option<StateChange> {
    let at = Moment(varint::take(rest)?);
    Some(match kind {
        1 | 11 => {
            let count = u32::try_from(varint::take(rest)?).ok()?;
            let mut span = || varint::take(rest).map(Duration::from_millis);
            let (duration, expiration, min_delay, max_delay) = (span()?, span()?, span()?, span()?);
            let recorded = if kind == 11 { u32::try_from(varint::take(rest)?).ok()? } else { 0 };
            let rules = LockRules { count, duration, expiration, min_delay, max_delay, recorded };
            StateChange::CountFailure { at, rules }
        }
        2 => StateChange::ClearFailures { at },
        3 => StateChange::UseGrace { at },
        4 => StateChange::Warned { at },
        5 => StateChange::LastLogin { at, attribute: take_text(rest)?, value: take_counted(rest)?.to_vec() },
        13 => StateChange::CachePassword { at, value: take_counted(rest)?.to_vec() },
        14 => StateChange::ForgetCachedPassword { at },
        _ => return None,
    })
}

fn take_key(rest: &mut &[u8]) -> Option<TokenKey> {
    varint::take_bytes(rest, TokenKey::BYTES)?.first_chunk().copied().map(TokenKey)
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(take_counted(rest)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn change() -> impl Strategy<Value = StateChange> {
        let at = || any::<u64>().prop_map(Moment);
        let span = || any::<u64>().prop_map(Duration::from_millis);
        let rules = (any::<u32>(), span(), span(), span(), span(), 0..3_u32).prop_map(
            |(count, duration, expiration, min_delay, max_delay, recorded)| LockRules {
                count,
                duration,
                expiration,
                min_delay,
                max_delay,
                recorded,
            },
        );
        let bytes = || vec(any::<u8>(), 0..40);
        prop_oneof![
            (at(), rules).prop_map(|(at, rules)| StateChange::CountFailure { at, rules }),
            at().prop_map(|at| StateChange::ClearFailures { at }),
            at().prop_map(|at| StateChange::UseGrace { at }),
            at().prop_map(|at| StateChange::Warned { at }),
            (at(), "\\PC{0,9}", bytes()).prop_map(|(at, attribute, value)| StateChange::LastLogin {
                at,
                attribute,
                value
            }),
            (any::<[u8; TokenKey::BYTES]>(), any::<u64>())
                .prop_map(|(token, next)| StateChange::SpendCode { token: TokenKey(token), next }),
            bytes().prop_map(|value| StateChange::PutToken { value }),
            any::<Option<[u8; TokenKey::BYTES]>>()
                .prop_map(|token| StateChange::RemoveToken { token: token.map(TokenKey) }),
            ("\\PC{0,9}", bytes(), vec(bytes(), 0..3)).prop_map(|(attribute, old, new)| StateChange::Reencode {
                attribute,
                old,
                new
            }),
            (at(), bytes()).prop_map(|(at, value)| StateChange::CachePassword { at, value }),
            at().prop_map(|at| StateChange::ForgetCachedPassword { at }),
        ]
    }

    fn account() -> impl Strategy<Value = AccountChanges> {
        (any::<u64>(), any::<[u8; 16]>(), vec(change(), 0..4)).prop_map(|(id, entry_uuid, changes)| AccountChanges {
            entry: EntryId(id),
            entry_uuid,
            changes,
        })
    }

    proptest! {
        #[test]
        fn changes_come_back_as_they_were(accounts in vec(account(), 0..4)) {
            prop_assert_eq!(decode(&encode(&accounts)), Some(accounts));
        }

        #[test]
        fn damaged_bytes_are_refused_or_read(bytes in vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn too_many_accounts_are_refused() {
        let account = AccountChanges { entry: EntryId(1), entry_uuid: [7; 16], changes: Vec::new() };
        let many = vec![account; ACCOUNTS_MAX + 1];
        assert_eq!(decode(&encode(&many)), None);
        assert_eq!(decode(&encode(&many[1..])).map(|all| all.len()), Some(ACCOUNTS_MAX));
    }
}
