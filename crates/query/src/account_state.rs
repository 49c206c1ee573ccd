//! What an entry keeps of the state of its account, read out of its record.
//!
//! Knows attributes and the forms of their values; what follows from a state is for [`accounts`].

use std::ops::ControlFlow;

use accounts::{AccountState, LastLogin, Lock, Moment, PasswordPolicy};
use schema::rule::generalized_time_ms;
use store::StoreError;
use store::record::{Attribute, Timestamp};

use crate::account_types::AccountAttribute;
pub use crate::account_types::{CACHED_PASSWORD, CACHED_PASSWORD_TIME};
use crate::entry::EntryView;
use crate::facts::Facts;

/// The state of an entry's account under its policy: what is stored with it. A look at each of its attributes; nothing
/// is allocated unless there are failures or grace logins.
///
/// Values that are not valid say nothing.
///
/// # Errors
/// When something cannot be read.
pub fn read(facts: &Facts, entry: &EntryView<'_>, policy: &PasswordPolicy) -> Result<AccountState, StoreError> {
    let mut state =
        AccountState { created: entry.record.header().created.map(|it| Moment(it.ms)), ..Default::default() };
    let login = policy.last_login.as_ref();
    let login_type = login.and_then(|login| facts.schema.attribute_type(login.attribute.as_bytes()));
    let login_type = login_type.map(|it| it.index.0);
    let tables = entry.record.tables();
    for stored in entry.record.attributes() {
        let Some(type_index) = tables.type_of(stored.desc) else { continue };
        if let Some(meaning) = facts.account.meaning(type_index) {
            take(&mut state, entry, stored, meaning)?;
        }
        if login_type == Some(type_index)
            && let Some(login) = login
        {
            each(entry, stored, |value| state.last_login = login_time(login, value).or(state.last_login))?;
        }
    }
    for times in [&mut state.failures, &mut state.grace_uses] {
        times.sort_unstable();
        times.dedup();
    }
    Ok(state)
}

fn take(
    state: &mut AccountState,
    entry: &EntryView<'_>,
    stored: Attribute<'_>,
    meaning: AccountAttribute,
) -> Result<(), StoreError> {
    match meaning {
        AccountAttribute::PasswordChanged => time(entry, stored, &mut state.password_changed),
        AccountAttribute::PasswordReset => time(entry, stored, &mut state.password_reset),
        AccountAttribute::Disabled => each(entry, stored, |value| state.is_disabled |= is_true(value)),
        AccountAttribute::LastDisabled => time(entry, stored, &mut state.last_disabled),
        AccountAttribute::Start => time(entry, stored, &mut state.start),
        AccountAttribute::End => each(entry, stored, |value| {
            let end = moment(value);
            state.end = if state.end.is_some_and(|known| end.is_none_or(|end| known < end)) { state.end } else { end };
        }),
        AccountAttribute::Locked => each(entry, stored, |value| state.lock = lock(value).or(state.lock)),
        AccountAttribute::Failure => each(entry, stored, |value| state.failures.extend(moment(value))),
        AccountAttribute::DelayedUntil => time(entry, stored, &mut state.delayed_until),
        AccountAttribute::MustChange => each(entry, stored, |value| state.must_change |= is_true(value)),
        AccountAttribute::GraceUse => each(entry, stored, |value| state.grace_uses.extend(moment(value))),
        AccountAttribute::Warned => time(entry, stored, &mut state.warned),
        AccountAttribute::MetDeadline => time(entry, stored, &mut state.met_deadline),
        AccountAttribute::Token => each(entry, stored, |value| state.tokens.add_value(value)),
    }
}

fn time(entry: &EntryView<'_>, stored: Attribute<'_>, to: &mut Option<Moment>) -> Result<(), StoreError> {
    each(entry, stored, |value| *to = moment(value).or(*to))
}

fn each(entry: &EntryView<'_>, stored: Attribute<'_>, mut each: impl FnMut(&[u8])) -> Result<(), StoreError> {
    entry.each_value(std::iter::once(stored), &mut |value| {
        each(value);
        ControlFlow::Continue(())
    })
}

fn is_true(value: &[u8]) -> bool {
    value.eq_ignore_ascii_case(b"true")
}

/// A time in one of the forms that servers write, else in any that the syntax has; before 1970 it is 1970.
#[must_use]
pub fn moment(value: &[u8]) -> Option<Moment> {
    if let Some(time) = Timestamp::parse(value) {
        return Some(Moment(time.ms));
    }
    generalized_time_ms(value).map(|ms| Moment(u64::try_from(ms).unwrap_or(0)))
}

/// A lock of the year 0 (`000001010000Z`) is one that ends by an administrator only.
#[must_use]
pub fn lock(value: &[u8]) -> Option<Lock> {
    let since = moment(value)?;
    Some(if value.starts_with(b"0000") { Lock::UntilUnlocked } else { Lock::Since(since) })
}

/// The time of the last login, in the form that the policy says, or in one that it said before.
fn login_time(login: &LastLogin, value: &[u8]) -> Option<Moment> {
    login
        .format
        .as_ref()
        .and_then(|format| format.read(value))
        .or_else(|| moment(value))
        .or_else(|| login.previous_formats.iter().find_map(|format| format.read(value)))
}
