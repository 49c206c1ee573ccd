//! Merges a change with the state that is there when it is applied. Nothing but the two decides what comes out.

use std::time::Duration;

use crate::change::{LockRules, StateChange};
use crate::moment::Moment;
use crate::second_factor::Token;
use crate::state::{AccountState, Lock};

/// Times that must differ are moved by this.
const STEP: Duration = Duration::from_millis(1);

/// Merges a change into a state; whether it is another one then. Changes of passwords are not about the state.
pub fn apply_change(state: &mut AccountState, change: &StateChange) -> bool {
    match change {
        StateChange::CountFailure { at, rules } => count_failure(state, *at, rules),
        StateChange::ClearFailures { at } => clear_failures(state, *at),
        StateChange::UseGrace { at } => {
            insert(&mut state.grace_uses, *at);
            true
        }
        StateChange::Warned { at } => {
            let is_first = state.warned.is_none();
            state.warned.get_or_insert(*at);
            is_first
        }
        StateChange::LastLogin { at, .. } => {
            let is_later = state.last_login.is_none_or(|last| last < *at);
            if is_later {
                state.last_login = Some(*at);
            }
            is_later
        }
        StateChange::SpendCode { token, next } => state.tokens.spend(*token, *next),
        StateChange::PutToken { value } => {
            let token = std::str::from_utf8(value).ok().and_then(|text| Token::parse(text).ok());
            token.is_some_and(|token| state.tokens.put(&token))
        }
        StateChange::RemoveToken { token: Some(token) } => state.tokens.remove(*token),
        StateChange::RemoveToken { token: None } => state.tokens.clear(),
        StateChange::Reencode { .. } | StateChange::CachePassword { .. } | StateChange::ForgetCachedPassword { .. } => {
            false
        }
    }
}

fn count_failure(state: &mut AccountState, at: Moment, rules: &LockRules) -> bool {
    if !rules.count_failures() {
        return false;
    }
    let from = rules.counts_from(at);
    let locked_since = match state.lock {
        Some(Lock::UntilUnlocked) => return false,
        Some(Lock::Since(since)) => Some(since),
        // Enough failures came together without a lock: from elsewhere, or before the policy changed.
        None => is_enough(state, from, rules).then(|| state.failures.last().copied()).flatten(),
    };
    if let Some(since) = locked_since.filter(|_| rules.count > 0) {
        if rules.duration.is_zero() || at < since.after(rules.duration) {
            return false;
        }
        // The lock has ended, and with it go the failures that led to it.
        state.lock = None;
        state.failures.retain(|failure| *failure > since);
    }
    if rules.recorded == 0 {
        state.failures.retain(|failure| *failure >= from);
    }
    insert(&mut state.failures, at);
    let surplus = state.failures.len().saturating_sub(rules.failures_kept());
    state.failures.drain(..surplus);
    if is_enough(state, from, rules) {
        state.lock = state.failures.last().map(|last| Lock::Since(*last));
    }
    if !rules.min_delay.is_zero() {
        let until = at.after(rules.delay_after(counted(state, from)));
        state.delayed_until = state.delayed_until.max(Some(until));
    }
    true
}

/// How many failures count.
fn counted(state: &AccountState, from: Moment) -> usize {
    state.failures.len() - state.failures.partition_point(|failure| *failure < from)
}

/// Whether they lock.
fn is_enough(state: &AccountState, from: Moment, rules: &LockRules) -> bool {
    rules.count > 0 && u32::try_from(counted(state, from)).is_ok_and(|counted| counted >= rules.count)
}

fn clear_failures(state: &mut AccountState, at: Moment) -> bool {
    let (failures, lock, delay) = (state.failures.len(), state.lock, state.delayed_until);
    state.failures.retain(|failure| *failure > at);
    state.lock = state.lock.filter(|lock| !matches!(lock, Lock::Since(since) if *since <= at));
    state.delayed_until = state.delayed_until.filter(|_| !state.failures.is_empty());
    (failures, lock, delay) != (state.failures.len(), state.lock, state.delayed_until)
}

/// Adds a time to a list in ascending order whose times all differ.
fn insert(times: &mut Vec<Moment>, at: Moment) {
    let mut at = at;
    let mut place = times.partition_point(|time| *time < at);
    while times.get(place) == Some(&at) {
        at = at.after(STEP);
        place += 1;
    }
    times.insert(place, at);
}
