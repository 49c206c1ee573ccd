"""What stands at one account, and what follows from it and a policy at a given time.

Knows no requests and no connections. Times are milliseconds since 1970.
"""

from dataclasses import dataclass, field, replace

from account_model.policy import Policy


@dataclass(frozen=True)
class Password:
    """A stored value: the clear text stands for the hash of it."""

    clear: str
    scheme: str


@dataclass
class Token:
    """What shows one-time codes. `next` is the first counter whose code is good; until its user has shown a code of it,
    it is not in use."""

    name: str
    kind: str
    digits: int
    period: int
    next: int = 0
    active: bool = False


@dataclass
class Account:
    created: int
    passwords: list[Password] = field(default_factory=list)
    policy: str = "default"
    changed: int | None = None
    locked: int | None = None
    failures: list[int] = field(default_factory=list)
    grace_uses: list[int] = field(default_factory=list)
    reset: bool = False
    history: list[tuple[int, Password]] = field(default_factory=list)
    disabled: bool = False
    expires: int | None = None
    starts: int | None = None
    ends: int | None = None
    last_login: int | None = None
    warned: int | None = None
    required_change: int | None = None
    # The lock under which passwords were guessed, and how many wrong ones were compared.
    guessed_since: int | None = None
    guesses: int = 0
    tokens: list[Token] = field(default_factory=list)
    # Wrong codes with the right password, since one was right.
    wrong_codes: int = 0
    # An attribute that has nothing to do with passwords.
    description: str | None = None

    def copy(self) -> "Account":
        return replace(
            self,
            passwords=list(self.passwords),
            failures=list(self.failures),
            grace_uses=list(self.grace_uses),
            history=list(self.history),
        )

    def token(self, name: str) -> Token | None:
        return next((token for token in self.tokens if token.name == name), None)

    def has(self, clear: str) -> bool:
        return any(stored.clear == clear for stored in self.passwords)

    def shown(self) -> dict:
        """What a search shows of the state."""
        return {
            "pwdChangedTime": self.changed,
            "pwdAccountLockedTime": self.locked,
            "pwdFailureTime": sorted(self.failures),
            "pwdGraceUseTime": sorted(self.grace_uses),
            "pwdReset": self.reset,
            "pwdHistory": sorted((time // 1000, stored.clear) for time, stored in self.history),
            "ds-pwp-account-disabled": self.disabled,
            "ds-pwp-account-expiration-time": self.expires,
            "ds-pwp-last-login-time": self.last_login,
            "ds-pwp-warned-time": self.warned,
            "ds-pwp-password-changed-by-required-time": self.required_change,
            "userPassword": sorted((stored.scheme, stored.clear) for stored in self.passwords),
        }


@dataclass
class Judgement:
    """An account under a policy at a time. Reading it changes nothing; `settle` does what time alone has done."""

    account: Account
    policy: Policy
    now: int
    locks_when_noticed: bool = False

    def changed(self) -> int:
        """When the password was set; without a record, when the entry was made."""
        return self.account.created if self.account.changed is None else self.account.changed

    def is_valid(self) -> bool:
        """The account, whatever its password: it has not expired."""
        return self.account.expires is None or self.account.expires > self.now

    def settle(self) -> None:
        """Drops failures that are too old, and a lock that has run out together with its failures."""
        account, policy = self.account, self.policy
        account.failures = self.recent_failures()
        if not policy.lockout_failure_count:
            return
        since = self.locked_since()
        if since is not None and policy.lockout_duration and since + 1000 * policy.lockout_duration <= self.now:
            account.failures, account.locked = [], None

    def recent_failures(self) -> list[int]:
        interval = 1000 * self.policy.lockout_failure_expiration_interval
        return [time for time in self.account.failures if not interval or time >= self.now - interval]

    def settled(self) -> "Judgement":
        """A copy that is settled, so that nothing changes."""
        copy = replace(self, account=self.account.copy())
        copy.settle()
        return copy

    def locked_since(self) -> int | None:
        """Enough failures lock, also without a time of the lock."""
        account = self.account
        if not self.policy.lockout_failure_count:
            return None
        if account.locked is not None:
            return account.locked
        if len(account.failures) >= self.policy.lockout_failure_count:
            return self.now if self.locks_when_noticed else max(account.failures)
        return None

    def unlocked_in(self) -> int | None:
        """Seconds until a lock ends by itself, or none without a lock; -1 means never."""
        since = self.locked_since()
        if since is None:
            return None
        if not self.policy.lockout_duration:
            return -1
        left = since + 1000 * self.policy.lockout_duration - self.now
        return (left + 500) // 1000 if left > 0 else None

    def is_locked(self) -> bool:
        return self.unlocked_in() is not None

    def idle_at(self) -> int | None:
        """When the account locks if nobody uses it."""
        if not self.policy.idle_lockout_interval:
            return None
        return max(self.account.last_login or 0, self.changed()) + 1000 * self.policy.idle_lockout_interval

    def is_idle(self) -> bool:
        at = self.idle_at()
        return at is not None and at <= self.now

    def must_change(self) -> bool:
        """After a reset, as long as the policy wants it, unless users may not change passwords at all."""
        return self.account.reset and self.wants_change_after_reset() and self.policy.allow_user_password_changes

    def wants_change_after_reset(self) -> bool:
        return self.policy.force_change_on_add or self.policy.force_change_on_reset

    def reset_locks_at(self) -> int | None:
        if not self.policy.max_password_reset_age or not self.must_change():
            return None
        return self.changed() + 1000 * self.policy.max_password_reset_age

    def reset_too_old(self) -> bool:
        at = self.reset_locks_at()
        return at is not None and at < self.now

    def required_change_at(self) -> int | None:
        """The time by which everybody must have a new password, unless this account has one."""
        required = 1000 * self.policy.require_change_by_time
        return required if required and self.account.required_change != required else None

    def too_young(self) -> bool:
        age = self.policy.min_password_age
        return bool(age) and not self.must_change() and self.changed() + 1000 * age >= self.now

    def expiry(self) -> "Expiry":
        account, policy, now = self.account, self.policy, self.now
        expires, by_age = None, True
        if policy.max_password_age:
            expires = self.changed() + 1000 * policy.max_password_age
        by_reset, required = self.reset_locks_at(), self.required_change_at()
        if by_reset is not None and (expires is None or by_reset < expires):
            expires, by_age = by_reset, False
        if required is not None and (expires is None or required < expires):
            expires, by_age = required, True
        if expires is None:
            return Expiry(None)
        if not by_age:
            return Expiry(expires, is_expired=expires < now, may_grace=False)
        warning = 1000 * policy.password_expiration_warning_interval
        if expires - warning > now:
            return Expiry(expires)
        if policy.expire_passwords_without_warning:
            return Expiry(expires, is_expired=expires <= now, warns=bool(warning) and expires > now)
        # Nobody's password expires without a whole interval of warnings.
        expires = max(expires, (now if account.warned is None else account.warned) + warning)
        return Expiry(expires, is_expired=expires <= now, warns=expires > now)

    def grace_left(self) -> int:
        return max(0, self.policy.grace_login_count - len(self.account.grace_uses))

    def in_history(self, clear: str) -> bool:
        """The current password counts as soon as a history is kept."""
        policy = self.policy
        if not policy.password_history_count and not policy.password_history_duration:
            return False
        return self.account.has(clear) or any(stored.clear == clear for _, stored in self.kept_history())

    def kept_history(self) -> list[tuple[int, Password]]:
        policy = self.policy
        kept = sorted(self.account.history, key=lambda one: one[0])
        if policy.password_history_duration:
            kept = [one for one in kept if one[0] >= self.now - 1000 * policy.password_history_duration]
        if policy.password_history_count:
            kept = kept[-policy.password_history_count :]
        return kept


@dataclass(frozen=True)
class Expiry:
    """When the password expires, if it does; whether it has; whether a bind is warned; whether grace is possible."""

    at: int | None
    is_expired: bool = False
    warns: bool = False
    may_grace: bool = True
