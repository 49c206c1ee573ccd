//! Decisions, one rule a test. Times are seconds after a moment that is "long ago" for every interval here.

use std::time::Duration;

use ldap::controls::{PolicyError, PolicyWarning};
use proptest::prelude::*;

use super::*;

const START: u64 = 1_700_000_000_000;
const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

fn at(seconds: u64) -> Moment {
    Moment(START + seconds * 1000)
}

fn span(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// An account whose password was set at second 0.
fn state() -> AccountState {
    AccountState { password_changed: Some(at(0)), ..AccountState::default() }
}

fn account<'a>(policy: &'a PasswordPolicy, state: &'a AccountState, seconds: u64) -> Account<'a> {
    Account { policy, state, now: at(seconds) }
}

fn bind(policy: &PasswordPolicy, state: &AccountState, seconds: u64) -> Verdict {
    account(policy, state, seconds).after_right_password(Credential::Password)
}

fn refusal(policy: &PasswordPolicy, state: &AccountState, seconds: u64) -> Option<BindRefusal> {
    bind(policy, state, seconds).refusal
}

/// A wrong password at that second, applied.
fn wrong(policy: &PasswordPolicy, state: &mut AccountState, seconds: u64) {
    if let Some(change) = account(policy, state, seconds).after_wrong_password() {
        apply_change(state, &change);
    }
}

fn lockout() -> PasswordPolicy {
    PasswordPolicy { lockout_failure_count: 3, lockout_duration: span(60), ..PasswordPolicy::default() }
}

#[test]
fn a_bind_under_the_default_policy_changes_nothing() {
    let (policy, state) = (PasswordPolicy::default(), state());
    assert_eq!(bind(&policy, &state, DAY), Verdict::default());
    assert_eq!(bind(&policy, &AccountState::default(), DAY), Verdict::default());
    assert_eq!(account(&policy, &state, DAY).after_wrong_password(), None);
    assert_eq!(account(&policy, &state, DAY).may_guess(1_000_000), MayGuess::Uncounted);
}

/// Failure times differ, so that the second of a millisecond lies in the next one: a right password within the first
/// forgets both.
#[test]
fn a_right_password_forgets_the_wrong_ones_of_the_same_millisecond() {
    let (policy, mut state) = (lockout(), state());
    wrong(&policy, &mut state, 10);
    wrong(&policy, &mut state, 10);
    for change in bind(&policy, &state, 10).changes {
        apply_change(&mut state, &change);
    }
    assert!(state.failures.is_empty(), "{:?}", state.failures);
}

#[test]
fn the_account_is_locked_by_the_nth_wrong_password_and_not_before() {
    let (policy, mut state) = (lockout(), state());
    wrong(&policy, &mut state, 10);
    wrong(&policy, &mut state, 10);
    assert_eq!(state.failures, [at(10), Moment(at(10).0 + 1)], "failure times differ");
    assert_eq!(account(&policy, &state, 10).failures_left(), Some(1));
    assert_eq!(account(&policy, &state, 10).may_guess(0), MayGuess::Counted);
    assert_eq!(account(&policy, &state, 10).may_guess(1), MayGuess::NotNow);
    wrong(&policy, &mut state, 11);
    assert_eq!(state.lock, Some(Lock::Since(at(11))));
    assert_eq!(refusal(&policy, &state, 12), Some(BindRefusal::Locked(LockEnd::At(at(71)))));
    assert_eq!(bind(&policy, &state, 12).told.error, Some(PolicyError::AccountLocked));
    // Wrong passwords meanwhile neither count nor prolong the lock.
    let before = state.clone();
    wrong(&policy, &mut state, 70);
    assert_eq!(state, before);
    let lock = UnderLock { mark: at(11), until: Some(at(71)), most: 3 };
    assert_eq!(account(&policy, &state, 70).may_guess(99), MayGuess::UnderLock(lock));
    assert_eq!(account(&policy, &state, 71).may_guess(0), MayGuess::Counted);
    // It ends by itself, and all failures with it.
    assert_eq!(refusal(&policy, &state, 71), None);
    assert_eq!(account(&policy, &state, 71).failures_left(), Some(3));
    let changes = bind(&policy, &state, 71).changes;
    assert_eq!(changes, [StateChange::ClearFailures { at: at(71) }]);
    let mut cleared = state.clone();
    assert!(apply_change(&mut cleared, &changes[0]));
    assert_eq!((cleared.failures.len(), cleared.lock), (0, None));
    wrong(&policy, &mut state, 80);
    assert_eq!((state.failures, state.lock), (vec![at(80)], None));
}

#[test]
fn failures_are_forgotten_after_their_interval() {
    let policy = PasswordPolicy { lockout_failure_expiration_interval: span(30), ..lockout() };
    let mut state = state();
    for seconds in [0, 31, 62, 63] {
        wrong(&policy, &mut state, seconds);
    }
    assert_eq!((state.failures.as_slice(), state.lock), (&[at(62), at(63)][..], None));
    // A failure exactly as old as the interval still counts.
    wrong(&policy, &mut state, 92);
    assert_eq!(state.lock, Some(Lock::Since(at(92))));
}

#[test]
fn a_lock_without_duration_or_by_an_administrator_stays() {
    let policy = PasswordPolicy { lockout_duration: Duration::ZERO, ..lockout() };
    let locked = AccountState { lock: Some(Lock::Since(at(0))), ..state() };
    assert_eq!(refusal(&policy, &locked, 900 * DAY), Some(BindRefusal::Locked(LockEnd::ByAdministrator)));
    assert_eq!(refusal(&PasswordPolicy::default(), &locked, DAY), None, "nothing locks under this policy");
    let forever = AccountState { lock: Some(Lock::UntilUnlocked), ..state() };
    assert_eq!(refusal(&PasswordPolicy::default(), &forever, DAY), Some(BindRefusal::Locked(LockEnd::ByAdministrator)));
}

#[test]
fn failures_that_came_without_a_lock_lock() {
    let state = AccountState { failures: vec![at(1), at(2), at(3)], ..state() };
    assert_eq!(refusal(&lockout(), &state, 4), Some(BindRefusal::Locked(LockEnd::At(at(63)))));
    assert_eq!(refusal(&lockout(), &state, 63), None);
    assert_eq!(account(&lockout(), &state, 63).failures_left(), Some(3));
}

#[test]
fn delays_double_up_to_their_maximum() {
    let policy = PasswordPolicy { min_delay: span(2), max_delay: span(6), ..PasswordPolicy::default() };
    let mut state = state();
    assert_eq!(
        account(&policy, &state, 0).may_guess(1),
        MayGuess::NotNow,
        "the first guess may be followed by a delay"
    );
    for (seconds, end) in [(10, 12), (12, 16), (16, 22), (22, 28)] {
        wrong(&policy, &mut state, seconds);
        assert_eq!(state.delayed_until, Some(at(end)));
        assert_eq!(refusal(&policy, &state, end - 1), Some(BindRefusal::Delayed(at(end))));
        let before = state.clone();
        wrong(&policy, &mut state, end - 1);
        assert_eq!(state, before, "refused without being counted");
        assert_eq!(refusal(&policy, &state, end), None);
    }
    assert!(apply_change(&mut state, &StateChange::ClearFailures { at: at(28) }));
    assert_eq!((state.failures.len(), state.delayed_until), (0, None));
}

#[test]
fn the_first_of_several_reasons_is_told() {
    let policy = PasswordPolicy {
        max_password_age: span(DAY),
        expire_passwords_without_warning: true,
        force_change_on_reset: true,
        max_password_reset_age: span(HOUR),
        idle_lockout_interval: span(DAY),
        last_login: Some(last_login()),
        ..lockout()
    };
    let mut state = AccountState {
        is_disabled: true,
        start: Some(at(90 * DAY)),
        end: Some(at(3)),
        lock: Some(Lock::Since(at(30 * DAY))),
        must_change: true,
        ..state()
    };
    let now = 30 * DAY + 1;
    let expect = |state: &AccountState, usability, error| {
        assert_eq!(account(&policy, state, now).usability(), usability);
        assert_eq!(bind(&policy, state, now).told.error, error, "{usability:?}");
    };
    let locked = Some(PolicyError::AccountLocked);
    expect(&state, Usability::Disabled, None);
    state.is_disabled = false;
    expect(&state, Usability::NotStarted(at(90 * DAY)), None);
    state.start = Some(at(0));
    expect(&state, Usability::Ended(at(3)), None);
    state.end = None;
    expect(&state, Usability::Locked(LockEnd::At(at(30 * DAY + 60))), locked);
    state.lock = None;
    expect(&state, Usability::Idle, locked);
    state.last_login = Some(at(30 * DAY));
    expect(&state, Usability::ResetTooOld, locked);
    state.must_change = false;
    expect(&state, Usability::Expired { grace_left: 0 }, Some(PolicyError::PasswordExpired));
    (state.must_change, state.password_changed) = (true, Some(at(30 * DAY)));
    expect(&state, Usability::MustChange, Some(PolicyError::ChangeAfterReset));
    state.must_change = false;
    let left = Some(DAY - 1);
    expect(&state, Usability::Usable { seconds_until_expiry: left }, None);
}

#[test]
fn a_reset_password_must_be_changed_where_the_policy_says_so() {
    let reset = AccountState { must_change: true, ..state() };
    let policy = PasswordPolicy { force_change_on_reset: true, ..PasswordPolicy::default() };
    let verdict = bind(&policy, &reset, DAY);
    assert_eq!((verdict.refusal, verdict.must_change), (None, true));
    assert_eq!(verdict.told.error, Some(PolicyError::ChangeAfterReset));
    assert!(!account(&policy, &reset, DAY).after_right_password(Credential::Other).must_change);
    assert!(!bind(&PasswordPolicy::default(), &reset, DAY).must_change);
    let forbidden = PasswordPolicy { allow_user_password_changes: false, ..policy.clone() };
    assert!(!bind(&forbidden, &reset, DAY).must_change);
    let hurried = PasswordPolicy { max_password_reset_age: span(HOUR), ..policy };
    assert_eq!(refusal(&hurried, &reset, HOUR), Some(BindRefusal::Expired));
    assert_eq!(refusal(&hurried, &reset, HOUR + 1), Some(BindRefusal::ResetTooOld));
}

#[test]
fn users_are_warned_before_a_password_expires() {
    let policy = PasswordPolicy {
        max_password_age: span(10 * DAY),
        expire_passwords_without_warning: true,
        ..PasswordPolicy::default()
    };
    let mut state = state();
    assert_eq!(bind(&policy, &state, 5 * DAY - 1), Verdict::default());
    let warned = bind(&policy, &state, 6 * DAY);
    assert_eq!(warned.told.warning, Some(PolicyWarning::SecondsBeforeExpiration(345_600)));
    assert_eq!(warned.changes, [StateChange::Warned { at: at(6 * DAY) }]);
    assert!(apply_change(&mut state, &warned.changes[0]));
    let again = bind(&policy, &state, 7 * DAY);
    assert_eq!(again.told.warning, Some(PolicyWarning::SecondsBeforeExpiration(259_200)));
    assert_eq!(again.changes, []);
    assert_eq!(refusal(&policy, &state, 10 * DAY - 1), None);
    assert_eq!(refusal(&policy, &state, 10 * DAY), Some(BindRefusal::Expired));
    let other = account(&policy, &state, 10 * DAY).after_right_password(Credential::Other);
    assert_eq!(other, Verdict::default(), "age is about passwords");
}

#[test]
fn a_password_lives_one_warning_interval_after_the_first_warning() {
    let policy = PasswordPolicy { max_password_age: span(10 * DAY), ..PasswordPolicy::default() };
    let mut state = state();
    let late = bind(&policy, &state, 100 * DAY);
    assert_eq!((late.refusal, late.told.warning), (None, Some(PolicyWarning::SecondsBeforeExpiration(432_000))));
    assert!(apply_change(&mut state, &late.changes[0]));
    assert_eq!(state.warned, Some(at(100 * DAY)));
    let next = bind(&policy, &state, 104 * DAY);
    assert_eq!(next.told.warning, Some(PolicyWarning::SecondsBeforeExpiration(86_400)));
    assert_eq!(refusal(&policy, &state, 105 * DAY), Some(BindRefusal::Expired));
}

#[test]
fn grace_logins_are_counted_and_end() {
    let policy = PasswordPolicy {
        max_password_age: span(DAY),
        expire_passwords_without_warning: true,
        grace_login_count: 2,
        ..PasswordPolicy::default()
    };
    let mut state = state();
    for left in [1, 0] {
        let verdict = bind(&policy, &state, 2 * DAY);
        assert_eq!((verdict.refusal, verdict.must_change), (None, true));
        assert_eq!(verdict.told.warning, Some(PolicyWarning::GraceLeft(left)));
        assert_eq!(verdict.told.error, Some(PolicyError::PasswordExpired));
        verdict.changes.iter().for_each(|change| assert!(apply_change(&mut state, change)));
    }
    assert_eq!(state.grace_uses, [at(2 * DAY), Moment(at(2 * DAY).0 + 1)]);
    assert_eq!(refusal(&policy, &state, 2 * DAY), Some(BindRefusal::Expired));
    let short = PasswordPolicy { grace_login_count: 9, grace_login_interval: span(HOUR), ..policy };
    assert_eq!(refusal(&short, &state, DAY + HOUR - 1), None);
    assert_eq!(refusal(&short, &state, DAY + HOUR), Some(BindRefusal::Expired));
}

#[test]
fn a_deadline_expires_passwords_that_were_not_changed_for_it() {
    let policy = PasswordPolicy {
        require_change_by_time: Some(at(DAY)),
        expire_passwords_without_warning: true,
        ..PasswordPolicy::default()
    };
    assert_eq!(refusal(&policy, &state(), DAY), Some(BindRefusal::Expired));
    let met = AccountState { met_deadline: Some(at(DAY)), ..state() };
    assert_eq!(bind(&policy, &met, DAY), Verdict::default());
}

#[test]
fn the_usability_control_tells_everything_that_stands_against_an_account() {
    use ldap::controls::{AccountUsability, NotAvailable, UnlockedWhen};

    let policy = PasswordPolicy {
        max_password_age: span(DAY),
        expire_passwords_without_warning: true,
        grace_login_count: 2,
        force_change_on_reset: true,
        ..lockout()
    };
    let told = |state: &AccountState, seconds| account(&policy, state, seconds).usability_control();
    let usable = AccountUsability::Available { seconds_before_expiration: Some(86_390) };
    assert_eq!(told(&state(), 10), usable);
    let all = AccountState { is_disabled: true, must_change: true, lock: Some(Lock::Since(at(DAY))), ..state() };
    assert_eq!(
        told(&all, DAY + 50),
        AccountUsability::NotAvailable(NotAvailable {
            is_inactive: true,
            is_reset: true,
            is_expired: true,
            grace_left: Some(2),
            lock: Some(UnlockedWhen::InSeconds(10)),
        })
    );
    let forever = AccountState { lock: Some(Lock::UntilUnlocked), ..state() };
    let lock = Some(UnlockedWhen::ByAdministrator);
    assert_eq!(told(&forever, 10), AccountUsability::NotAvailable(NotAvailable { lock, ..NotAvailable::default() }));
    // A lock that ends by itself leaves that of an idle account, which does not.
    let idle = PasswordPolicy { idle_lockout_interval: span(DAY), last_login: Some(last_login()), ..lockout() };
    let both = AccountState { lock: Some(Lock::Since(at(DAY))), ..state() };
    assert_eq!(
        account(&idle, &both, DAY + 50).usability_control(),
        AccountUsability::NotAvailable(NotAvailable { lock, ..NotAvailable::default() })
    );
}

fn last_login() -> LastLogin {
    LastLogin {
        attribute: "ds-pwp-last-login-time".to_owned(),
        format: None,
        previous_formats: Vec::new(),
        precision: span(DAY),
    }
}

#[test]
fn the_last_login_is_written_once_in_its_precision() {
    let policy = PasswordPolicy { last_login: Some(last_login()), ..PasswordPolicy::default() };
    let mut state = state();
    let first = bind(&policy, &state, 0).changes;
    let value = b"20231114221320.000Z".to_vec();
    let attribute = "ds-pwp-last-login-time".to_owned();
    assert_eq!(first, [StateChange::LastLogin { at: at(0), attribute, value }]);
    assert!(apply_change(&mut state, &first[0]));
    assert_eq!(bind(&policy, &state, DAY - 1).changes, []);
    assert_eq!(bind(&policy, &state, DAY).changes.len(), 1);
    let idle = PasswordPolicy { idle_lockout_interval: span(DAY), ..policy.clone() };
    assert_eq!(bind(&idle, &state, DAY / 10).changes.len(), 1, "idle accounts are told from used ones");
    assert_eq!(refusal(&idle, &state, DAY), Some(BindRefusal::Idle));
    // A coarse format is not written again with the same text, whatever the precision.
    let by_day = LastLogin { format: TimeFormat::parse("yyyyMMdd").ok(), precision: span(0), ..last_login() };
    let coarse = PasswordPolicy { last_login: Some(by_day), ..PasswordPolicy::default() };
    assert_eq!(bind(&coarse, &state, HOUR).changes, []);
    assert_eq!(bind(&coarse, &state, 2 * HOUR).changes.len(), 1, "another day");
}

/// `pwdMaxRecordedFailure`: failures that no longer count are kept, and failures that lock nobody.
#[test]
fn as_many_failures_are_kept_as_the_policy_says() {
    let kept = |policy: &PasswordPolicy, seconds: &[u64]| {
        let mut state = state();
        for second in seconds {
            apply_change(&mut state, &StateChange::CountFailure { at: at(*second), rules: policy.lock_rules() });
        }
        (state.failures, state.lock.is_some())
    };
    let ats = |seconds: &[u64]| seconds.iter().map(|second| at(*second)).collect::<Vec<_>>();
    let short = PasswordPolicy { lockout_failure_expiration_interval: span(10), ..lockout() };
    let recording = PasswordPolicy { recorded_failures: 4, ..short.clone() };
    assert_eq!(kept(&short, &[1, 20, 40, 60, 80]), (ats(&[80]), false));
    assert_eq!(kept(&recording, &[1, 20, 40, 60, 80]), (ats(&[20, 40, 60, 80]), false), "four, of which one counts");
    assert_eq!(kept(&recording, &[1, 20, 41, 42, 43]), (ats(&[20, 41, 42, 43]), true));
    let only_recording = PasswordPolicy { lockout_failure_count: 0, ..recording };
    assert_eq!(kept(&only_recording, &[1, 2, 3, 4, 5]), (ats(&[2, 3, 4, 5]), false));
    assert_eq!(kept(&PasswordPolicy { lockout_failure_count: 0, ..short }, &[1, 2]), (vec![], false));
}

/// A lowered limit makes past failures enough for a lock; when that has ended, they count no more.
#[test]
fn failures_that_a_lowered_limit_makes_enough_go_with_the_lock() {
    let mut state = state();
    let mut count = |seconds: u64, policy: &PasswordPolicy| {
        let has_changed =
            apply_change(&mut state, &StateChange::CountFailure { at: at(seconds), rules: policy.lock_rules() });
        (has_changed, state.failures.clone(), state.lock)
    };
    let lowered = PasswordPolicy { lockout_failure_count: 2, lockout_duration: span(60), ..lockout() };
    count(1, &lockout());
    assert_eq!(count(2, &lockout()), (true, vec![at(1), at(2)], None));
    assert_eq!(count(61, &lowered), (false, vec![at(1), at(2)], None), "locked since the second");
    assert_eq!(count(62, &lowered), (true, vec![at(62)], None));
    assert_eq!(count(63, &lowered), (true, vec![at(62), at(63)], Some(Lock::Since(at(63)))));
}

proptest! {
    /// However failures and right passwords of parallel binds are mixed, an account has at most as many failures as
    /// lock it, all different and in order, and it is locked if and only if they are as many.
    #[test]
    fn merged_failures_stay_in_bounds(events in prop::collection::vec((0_u64..50, prop::bool::weighted(0.8)), 0..60)) {
        let policy = PasswordPolicy { lockout_failure_expiration_interval: span(20), ..lockout() };
        let mut state = state();
        for (seconds, is_wrong) in events {
            let change = if is_wrong {
                StateChange::CountFailure { at: at(seconds), rules: policy.lock_rules() }
            } else {
                StateChange::ClearFailures { at: at(seconds) }
            };
            apply_change(&mut state, &change);
            prop_assert!(state.failures.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(state.failures.len() <= 3);
            prop_assert!(state.failures.len() < 3 || state.lock.is_some());
        }
    }
}
