//! What the operations of OpenDJ's password policy state request read and write of one account.
//!
//! Knows the account and its attributes; nothing of requests. Writes change the state that later reads see, and are
//! remembered as values of attributes.

use std::net::IpAddr;
use std::time::Duration;

use access::guess_sources::GuessSources;
use access::guesses::Guessed;
use accounts::{Account, AccountState, HistoryValue, Lock, LockEnd, Moment, TimeFormat};
use ldap::LdapResult;
use ldap::password_policy_state::StateItem;
use query::error::shown;
use schema::rule::generalized_time_ms;

use super::password_case::PasswordCase;
use crate::refusal::Refusal;

/// An account, and the attributes that are written.
pub(super) struct Items {
    case: PasswordCase,
    /// Where wrong passwords came from.
    sources: Vec<Vec<u8>>,
    changes: Vec<(String, Vec<Vec<u8>>)>,
}

const DISABLED: &str = "ds-pwp-account-disabled";
const EXPIRATION: &str = "ds-pwp-account-expiration-time";
const END: &str = "pwdEndTime";
const CHANGED: &str = "pwdChangedTime";
const WARNED: &str = "ds-pwp-warned-time";
const FAILURES: &str = "pwdFailureTime";
const LOCK: &str = "pwdAccountLockedTime";
const DELAY: &str = "pwdAccountTmpLockoutEnd";
const LAST_LOGIN: &str = "ds-pwp-last-login-time";
const RESET: &str = "pwdReset";
const GRACE: &str = "pwdGraceUseTime";
const MET_DEADLINE: &str = "ds-pwp-password-changed-by-required-time";
const HISTORY: &str = "pwdHistory";

/// What shows the outcome of an operation: itself, if it only reads.
pub(super) fn read_by(item: StateItem) -> StateItem {
    use StateItem::*;
    match item {
        SetDisabled | ClearDisabled => GetDisabled,
        SetAccountExpiration | ClearAccountExpiration => GetAccountExpiration,
        SetPasswordChanged | ClearPasswordChanged => GetPasswordChanged,
        SetWarned | ClearWarned => GetWarned,
        AddFailure | SetFailures | ClearFailures => GetFailures,
        SetLastLogin | ClearLastLogin => GetLastLogin,
        SetReset | ClearReset => GetReset,
        AddGraceUse | SetGraceUses | ClearGraceUses => GetGraceUses,
        SetMetDeadline | ClearMetDeadline => GetMetDeadline,
        ClearHistory => GetHistory,
        reads => reads,
    }
}

impl Items {
    pub(super) fn of(case: PasswordCase, sources: &GuessSources, whose: Guessed) -> Items {
        // Of failures at one time all but the first are noted later than they were.
        let oldest = case.state.failures.first().map(|oldest| oldest.before(Duration::from_secs(1)));
        let found = oldest.map(|oldest| sources.since(whose, oldest)).unwrap_or_default();
        let told = |address: &Option<IpAddr>| match address {
            Some(address) => address.to_string(),
            None => "a local socket".to_owned(),
        };
        let mut sources: Vec<String> = found.addresses.iter().map(told).collect();
        sources.extend(found.has_more.then(|| "others".to_owned()));
        Items { case, sources: sources.into_iter().map(String::into_bytes).collect(), changes: Vec::new() }
    }

    /// The attributes with the values that they are to have.
    pub(super) fn into_changes(self) -> Vec<(String, Vec<Vec<u8>>)> {
        self.changes
    }

    /// The state as it is to be.
    pub(super) fn into_state(self) -> AccountState {
        self.case.state
    }

    fn account(&self) -> Account<'_> {
        self.case.account()
    }

    /// What an operation shows; nothing where there is nothing, or the policy does not have it.
    pub(super) fn values(&self, item: StateItem) -> Vec<Vec<u8>> {
        let (account, state, policy, now) = (self.account(), &self.case.state, &self.case.policy, self.case.now);
        let until = |at: Option<Moment>| number(at.map(|at| at.since(now).as_secs()));
        match read_by(item) {
            StateItem::GetPolicyDn => vec![policy.dn.clone().into_bytes()],
            StateItem::GetDisabled => boolean(state.is_disabled),
            StateItem::GetAccountExpiration => time(state.end),
            StateItem::GetSecondsUntilAccountExpiration => until(state.end.filter(|end| *end > now)),
            StateItem::GetPasswordChanged => time(state.password_changed.or(state.created)),
            StateItem::GetWarned => time(state.warned),
            StateItem::GetSecondsUntilPasswordExpiration => until(account.expiry().at),
            StateItem::GetSecondsUntilWarning => until(account.expiry().warns_from),
            StateItem::GetFailures => times(account.counted_failures()),
            StateItem::GetSecondsUntilUnlock => match account.lock() {
                Some(LockEnd::At(end)) => number(Some(end.since(now).as_secs()).filter(|seconds| *seconds > 0)),
                _ => Vec::new(),
            },
            // None while the account is locked, also by an administrator, or after failures that are too old to count.
            StateItem::GetFailuresLeft => match account.lock() {
                Some(_) => number(Some(0)),
                None => number(account.failures_left().map(u64::from)),
            },
            StateItem::GetLastLogin => time(state.last_login),
            StateItem::GetSecondsUntilIdleLock => until(account.idle_lock_at()),
            StateItem::GetReset => boolean(account.must_change()),
            StateItem::GetSecondsUntilResetLock => until(account.reset_lock_at()),
            StateItem::GetGraceUses => times(&state.grace_uses),
            StateItem::GetGraceLeft => number(Some(u64::from(account.grace_left()))),
            StateItem::GetMetDeadline => time(state.met_deadline),
            StateItem::GetSecondsUntilDeadline => {
                until(policy.require_change_by_time.filter(|deadline| state.met_deadline != Some(*deadline)))
            }
            StateItem::GetFailureSources => self.sources.clone(),
            StateItem::GetHistory => self.case.history.iter().map(HistoryValue::encode).collect(),
            _ => Vec::new(),
        }
    }

    /// Makes what an operation writes; nothing if it only reads.
    pub(super) fn write(&mut self, item: StateItem, values: &[Vec<u8>]) -> Result<(), LdapResult> {
        let now = self.case.now;
        let one = || one_time(item, values, now);
        match item {
            StateItem::SetDisabled => {
                let is_disabled = one_boolean(item, values)?;
                self.case.state.is_disabled = is_disabled;
                self.set(DISABLED, if is_disabled { vec![b"TRUE".to_vec()] } else { Vec::new() });
            }
            StateItem::ClearDisabled => {
                self.case.state.is_disabled = false;
                self.set(DISABLED, Vec::new());
            }
            StateItem::SetAccountExpiration => {
                self.case.state.end = Some(one()?);
                self.set_time(EXPIRATION, self.case.state.end);
                self.set(END, Vec::new());
            }
            StateItem::ClearAccountExpiration => {
                self.case.state.end = None;
                self.set(EXPIRATION, Vec::new());
                self.set(END, Vec::new());
            }
            StateItem::SetPasswordChanged => {
                self.case.state.password_changed = Some(one()?);
                self.set_time(CHANGED, self.case.state.password_changed);
            }
            StateItem::ClearPasswordChanged => {
                self.case.state.password_changed = None;
                self.set(CHANGED, Vec::new());
            }
            StateItem::SetWarned => {
                self.case.state.warned = Some(one()?);
                self.set_time(WARNED, self.case.state.warned);
            }
            StateItem::ClearWarned => {
                self.case.state.warned = None;
                self.set(WARNED, Vec::new());
            }
            StateItem::AddFailure => {
                let added = one()?;
                let failures = std::mem::take(&mut self.case.state.failures);
                self.set_failures(with(failures, [added]));
            }
            StateItem::SetFailures => {
                let all = all_times(item, values, now)?;
                self.set_failures(with(Vec::new(), all));
            }
            StateItem::ClearFailures => self.clear_failures(),
            StateItem::SetLastLogin => {
                let at = one()?;
                self.case.state.last_login = Some(at);
                let (attribute, value) = self.last_login(at);
                self.set(&attribute, vec![value]);
            }
            StateItem::ClearLastLogin => {
                self.case.state.last_login = None;
                let (attribute, _) = self.last_login(now);
                self.set(&attribute, Vec::new());
            }
            StateItem::SetReset => {
                let must_change = one_boolean(item, values)?;
                self.case.state.must_change = must_change;
                self.set(RESET, if must_change { vec![b"TRUE".to_vec()] } else { Vec::new() });
            }
            StateItem::ClearReset => {
                self.case.state.must_change = false;
                self.set(RESET, Vec::new());
            }
            StateItem::AddGraceUse => {
                let added = one()?;
                let uses = std::mem::take(&mut self.case.state.grace_uses);
                self.set_grace_uses(with(uses, [added]));
            }
            StateItem::SetGraceUses => {
                let all = all_times(item, values, now)?;
                self.set_grace_uses(with(Vec::new(), all));
            }
            StateItem::ClearGraceUses => self.set_grace_uses(Vec::new()),
            StateItem::SetMetDeadline => {
                self.case.state.met_deadline = Some(match values {
                    [] => self.case.policy.require_change_by_time.unwrap_or(now),
                    _ => one()?,
                });
                self.set_time(MET_DEADLINE, self.case.state.met_deadline);
            }
            StateItem::ClearMetDeadline => {
                self.case.state.met_deadline = None;
                self.set(MET_DEADLINE, Vec::new());
            }
            StateItem::ClearHistory => {
                self.case.history.clear();
                self.set(HISTORY, Vec::new());
            }
            _ => {}
        }
        Ok(())
    }

    /// As many as lock the account lock it: since the last of them.
    fn set_failures(&mut self, failures: Vec<Moment>) {
        let count = self.case.policy.lockout_failure_count;
        let locks = count > 0 && u32::try_from(failures.len()).is_ok_and(|failures| failures >= count);
        self.case.state.lock = failures.last().filter(|_| locks).map(|last| Lock::Since(*last));
        let lock = failures.last().filter(|_| locks).copied();
        self.set(FAILURES, times(&failures));
        self.set_time(LOCK, lock);
        self.case.state.failures = failures;
    }

    /// Forgets wrong passwords, and unlocks.
    fn clear_failures(&mut self) {
        let state = &mut self.case.state;
        state.failures.clear();
        (state.lock, state.delayed_until) = (None, None);
        [FAILURES, LOCK, DELAY].into_iter().for_each(|attribute| self.set(attribute, Vec::new()));
    }

    fn set_grace_uses(&mut self, uses: Vec<Moment>) {
        self.set(GRACE, times(&uses));
        self.case.state.grace_uses = uses;
    }

    /// The attribute of the last login, and a time as it has it.
    fn last_login(&self, at: Moment) -> (String, Vec<u8>) {
        match &self.case.policy.last_login {
            Some(login) => (login.attribute.clone(), login.write(at)),
            None => (LAST_LOGIN.to_owned(), text(at)),
        }
    }

    fn set_time(&mut self, attribute: &str, at: Option<Moment>) {
        self.set(attribute, time(at));
    }

    fn set(&mut self, attribute: &str, values: Vec<Vec<u8>>) {
        self.changes.retain(|(known, _)| known != attribute);
        self.changes.push((attribute.to_owned(), values));
    }
}

/// Times in ascending order that all differ, by a millisecond at least.
fn with(times: Vec<Moment>, added: impl IntoIterator<Item = Moment>) -> Vec<Moment> {
    let mut all = times;
    for mut at in added {
        while all.contains(&at) {
            at = at.after(Duration::from_millis(1));
        }
        all.push(at);
    }
    all.sort_unstable();
    all
}

fn text(at: Moment) -> Vec<u8> {
    let mut text = Vec::with_capacity(19);
    TimeFormat::generalized().write(at, &mut text);
    text
}

fn time(at: Option<Moment>) -> Vec<Vec<u8>> {
    at.map(text).into_iter().collect()
}

fn times(all: &[Moment]) -> Vec<Vec<u8>> {
    all.iter().map(|at| text(*at)).collect()
}

fn boolean(value: bool) -> Vec<Vec<u8>> {
    vec![value.to_string().into_bytes()]
}

fn number(value: Option<u64>) -> Vec<Vec<u8>> {
    value.map(|value| value.to_string().into_bytes()).into_iter().collect()
}

fn one_boolean(item: StateItem, values: &[Vec<u8>]) -> Result<bool, LdapResult> {
    match values {
        [value] if value.eq_ignore_ascii_case(b"true") => Ok(true),
        [value] if value.eq_ignore_ascii_case(b"false") => Ok(false),
        _ => Err(Refusal::StateBoolean { number: item as i64 }.into()),
    }
}

/// Now, if there is no value.
fn one_time(item: StateItem, values: &[Vec<u8>], now: Moment) -> Result<Moment, LdapResult> {
    match values {
        [] => Ok(now),
        [value] => read_time(item, value),
        _ => Err(Refusal::StateValues { number: item as i64 }.into()),
    }
}

fn all_times(item: StateItem, values: &[Vec<u8>], now: Moment) -> Result<Vec<Moment>, LdapResult> {
    if values.is_empty() {
        return Ok(vec![now]);
    }
    if values.len() > TIMES_MAX {
        return Err(Refusal::StateValues { number: item as i64 }.into());
    }
    values.iter().map(|value| read_time(item, value)).collect()
}

/// Times of one attribute.
const TIMES_MAX: usize = 1_000;

fn read_time(item: StateItem, value: &[u8]) -> Result<Moment, LdapResult> {
    let time = generalized_time_ms(value).and_then(|ms| u64::try_from(ms).ok()).map(Moment);
    time.ok_or_else(|| Refusal::StateTime { number: item as i64, value: shown(value) }.into())
}
