"""What the password policy state operation tells of an account.

Knows the numbers of its operations; knows no requests.
"""

from enum import IntEnum

from account_model.account import Judgement
from account_model.policy import Quirk


class Operation(IntEnum):
    GET_POLICY = 0
    GET_DISABLED = 1
    SET_DISABLED = 2
    CLEAR_DISABLED = 3
    GET_EXPIRATION = 4
    SET_EXPIRATION = 5
    CLEAR_EXPIRATION = 6
    SECONDS_UNTIL_EXPIRATION = 7
    GET_CHANGED = 8
    SET_CHANGED = 9
    GET_WARNED = 11
    SET_WARNED = 12
    CLEAR_WARNED = 13
    SECONDS_UNTIL_PASSWORD_EXPIRES = 14
    SECONDS_UNTIL_WARNING = 15
    GET_FAILURES = 16
    ADD_FAILURE = 17
    SET_FAILURES = 18
    CLEAR_FAILURES = 19
    SECONDS_UNTIL_UNLOCK = 20
    FAILURES_LEFT = 21
    GET_LAST_LOGIN = 22
    SET_LAST_LOGIN = 23
    CLEAR_LAST_LOGIN = 24
    SECONDS_UNTIL_IDLE = 25
    GET_RESET = 26
    SET_RESET = 27
    CLEAR_RESET = 28
    SECONDS_UNTIL_RESET_LOCK = 29
    GET_GRACE_USES = 30
    ADD_GRACE_USE = 31
    SET_GRACE_USES = 32
    CLEAR_GRACE_USES = 33
    GRACE_LEFT = 34
    GET_REQUIRED_CHANGE = 35
    SECONDS_UNTIL_REQUIRED_CHANGE = 38
    GET_HISTORY = 39
    CLEAR_HISTORY = 40


TIMES_TOLD = (
    Operation.GET_EXPIRATION,
    Operation.GET_CHANGED,
    Operation.GET_WARNED,
    Operation.GET_FAILURES,
    Operation.GET_LAST_LOGIN,
    Operation.GET_GRACE_USES,
    Operation.GET_REQUIRED_CHANGE,
)


def written_state(values: dict[int, list]) -> str:
    """A form to compare, with the operations in ascending order."""
    return "; ".join(f"{int(number)}: {values[number]}" for number in sorted(values))


def told_state(judged: Judgement, quirks: frozenset[Quirk]) -> str:
    account, policy, now = judged.account, judged.policy, judged.now
    told = judged.settled()
    failures = judged.recent_failures() if Quirk.FAILURES_OF_PAST_LOCKS in quirks else told.account.failures
    failures_left = max(0, policy.lockout_failure_count - len(told.account.failures))
    if told.is_locked() and Quirk.FAILURES_LEFT_UNDER_A_LOCK not in quirks:
        failures_left = 0

    def seconds_until(time: int | None) -> list[str]:
        return [] if time is None else [str(max(0, time - now + 500) // 1000)]

    expiry = judged.expiry()
    warns_at = None
    if expiry.at is not None and (expiry.may_grace or Quirk.WARNING_OF_RESET_AGE in quirks):
        warns_at = expiry.at - 1000 * policy.password_expiration_warning_interval
    unlock_in = told.unlocked_in()
    idle_at = judged.idle_at()
    if Quirk.IDLE_SECONDS_BY_LOGIN in quirks and idle_at is not None:
        login = account.last_login if policy.last_login_precision else None
        idle_at = (login or 0) + 1000 * policy.idle_lockout_interval
    values = {
        Operation.GET_DISABLED: [str(account.disabled).lower()],
        Operation.GET_EXPIRATION: some(account.expires),
        Operation.SECONDS_UNTIL_EXPIRATION: seconds_until(account.expires if judged.is_valid() else None),
        Operation.GET_CHANGED: [judged.changed()],
        Operation.GET_WARNED: some(account.warned),
        Operation.SECONDS_UNTIL_PASSWORD_EXPIRES: seconds_until(expiry.at),
        Operation.SECONDS_UNTIL_WARNING: seconds_until(warns_at),
        Operation.GET_FAILURES: sorted(failures),
        Operation.SECONDS_UNTIL_UNLOCK: [] if unlock_in in (None, -1) else [str(unlock_in)],
        Operation.FAILURES_LEFT: [str(failures_left)] if policy.lockout_failure_count else [],
        Operation.GET_LAST_LOGIN: some(account.last_login if policy.last_login_precision else None),
        Operation.SECONDS_UNTIL_IDLE: seconds_until(idle_at),
        Operation.GET_RESET: [str(judged.must_change()).lower()],
        Operation.SECONDS_UNTIL_RESET_LOCK: seconds_until(judged.reset_locks_at()),
        Operation.GET_GRACE_USES: sorted(account.grace_uses),
        Operation.GRACE_LEFT: [str(judged.grace_left())],
        Operation.GET_REQUIRED_CHANGE: some(account.required_change),
        Operation.SECONDS_UNTIL_REQUIRED_CHANGE: seconds_until(judged.required_change_at()),
        Operation.GET_HISTORY: sorted((time // 1000, stored.clear) for time, stored in account.history),
    }
    return written_state(values)


def some(time: int | None) -> list[int]:
    return [] if time is None else [time]
