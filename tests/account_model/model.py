"""What a server with password policies answers to each step, and what it keeps.

Plain on purpose: one account after the other, nothing remembered but the state that is shown. Knows no server.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from account_model import control
from account_model.account import Account, Judgement, Password
from account_model.control import Error, policy_answer
from account_model.policy import Policy, Quirk
from account_model.scene import FIRST_PASSWORDS, PEOPLE, POLICIES
from account_model.state_operation import Operation, told_state
from account_model.steps import (
    ROOT,
    Add,
    Assign,
    Bind,
    Change,
    Code,
    Compare,
    Delete,
    Describe,
    Edit,
    Extended,
    Search,
    State,
    Step,
    Usability,
    Wait,
    WhoAmI,
    Write,
)

SUCCESS, PROTOCOL, COMPARE_TRUE, CONFIDENTIALITY = 0, 2, 6, 13
NO_SUCH_ATTRIBUTE, CONSTRAINT, VALUE_EXISTS, NO_SUCH_OBJECT, INVALID_CREDENTIALS = 16, 19, 20, 32, 49
NO_ACCESS, UNWILLING, ALREADY_EXISTS = 50, 53, 68
# What stands for a code where the server ended the connection instead.
ENDED = -1
# By the rights and privileges the driver gives them.
FIRST_SCHEME = Policy().default_password_storage_scheme
# Of values that are given in the form of a storage scheme.
GIVEN_SCHEME = "SSHA"
HELPER, NO_PRIVILEGE = "helen", "ivan"


@dataclass(frozen=True)
class Reply:
    """The result code, the value of the password policy control, Netscape's two controls, and what else came."""

    code: int
    policy: bytes | None = None
    netscape: tuple[tuple[str, bytes], ...] = ()
    more: str | None = None


@dataclass
class Session:
    name: str | None = None
    must_change: bool = False
    # Grace logins too must change the password.
    after_grace: bool = False
    ended: bool = False


class Model:
    def __init__(self, quirks: frozenset[Quirk], now: int, connections: int = 3):
        self.quirks = quirks
        self.now = 1000 * now
        self.policies = {name: Policy() for name in ("default", *POLICIES)}
        self.accounts = {name: self.first_account(name) for name in PEOPLE}
        self.sessions = [Session() for _ in range(connections)]

    def first_account(self, name: str) -> Account:
        clear = FIRST_PASSWORDS.get(name)
        if clear is None:
            return Account(created=self.now)
        return Account(created=self.now, changed=self.now, passwords=[Password(clear, FIRST_SCHEME)])

    @staticmethod
    def shown(account: Account) -> dict:
        """What a search shows of the state."""
        return account.shown()

    def settled(self, name: str, state: dict) -> dict:
        """The state without failures and locks that have run out, which a server may keep until its next write."""
        account = self.accounts.get(name)
        if account is None:
            return state
        judged = self.judge(account.copy())
        judged.account.failures, judged.account.locked = list(state["pwdFailureTime"]), state["pwdAccountLockedTime"]
        judged.settle()
        # Enough failures lock; when that is written down is the server's choice.
        locked = judged.locked_since() or judged.account.locked
        return {**state, "pwdFailureTime": sorted(judged.account.failures), "pwdAccountLockedTime": locked}

    def has(self, quirk: Quirk) -> bool:
        return quirk in self.quirks

    def judge(self, account: Account) -> Judgement:
        return Judgement(account, self.policies[account.policy], self.now, self.has(Quirk.LOCKS_WHEN_NOTICED))

    def run(self, step: Step) -> Reply:
        return getattr(self, "run_" + type(step).__name__.lower())(step)

    # ------------------------------------------------------------------------------------------ time and settings

    def run_wait(self, step: Wait) -> Reply:
        self.now += 1000 * step.seconds
        return Reply(SUCCESS)

    def run_edit(self, step: Edit) -> Reply:
        before = self.policies[step.policy]
        after = replace(before, **dict(step.changes))
        if not after.is_consistent():
            return Reply(UNWILLING)
        self.policies[step.policy] = after
        return Reply(SUCCESS)

    def run_assign(self, step: Assign) -> Reply:
        account = self.accounts.get(step.target)
        if account is None:
            return Reply(NO_SUCH_OBJECT)
        account.policy = step.policy or "default"
        return Reply(SUCCESS)

    def run_add(self, step: Add) -> Reply:
        if step.target in self.accounts:
            return self.reply(step, ALREADY_EXISTS)
        account = Account(created=self.now, changed=self.now if step.password else None)
        policy = self.policies["default"]
        if step.password:
            if step.encoded and not policy.allow_pre_encoded_passwords and self.has(Quirk.ROOT_GIVES_CLEAR):
                return self.reply(step, CONSTRAINT, Error.QUALITY)
            if not step.encoded and not self.is_valid(policy, step.password, by_self=False):
                return self.reply(step, CONSTRAINT, self.short())
            scheme = GIVEN_SCHEME if step.encoded else policy.default_password_storage_scheme
            account.passwords = [Password(step.password, scheme)]
            account.reset = policy.force_change_on_add
        self.accounts[step.target] = account
        return self.reply(step, SUCCESS, Error.CHANGE_AFTER_RESET if account.reset else None)

    def run_delete(self, step: Delete) -> Reply:
        if self.accounts.pop(step.target, None) is None:
            return Reply(NO_SUCH_OBJECT)
        self.end_sessions(step.target)
        return Reply(SUCCESS)

    def end_sessions(self, name: str, but: int | None = None) -> None:
        for number, session in enumerate(self.sessions):
            if session.name == name and number != but:
                session.ended = True

    def run_write(self, step: Write) -> Reply:
        account = self.accounts.get(step.target)
        if account is None:
            return Reply(NO_SUCH_OBJECT)
        value = step.value
        time = None if value is None else 1000 * int(value)
        match step.attribute:
            case "ds-pwp-account-disabled":
                ends = bool(value) and not account.disabled
                account.disabled = bool(value)
                if ends and not self.has(Quirk.SESSIONS_OUTLIVE_RESETS):
                    self.end_sessions(step.target)
            case "pwdReset":
                account.reset = bool(value)
            case "ds-pwp-account-expiration-time":
                account.expires = time
            case "ds-pwp-warned-time":
                account.warned = time
            case "ds-pwp-last-login-time":
                account.last_login = time
            case other:
                raise ValueError(other)
        return Reply(SUCCESS)

    # ----------------------------------------------------------------------------------------------------- answers

    def reply(
        self,
        step,
        code: int,
        error: Error | None = None,
        expires_in: int | None = None,
        grace_left: int | None = None,
        more: str | None = None,
    ) -> Reply:
        if step.control:
            return Reply(code, policy_answer(error, expires_in, grace_left), more=more)
        return Reply(code, more=more)

    def begun(self, step) -> Session | Reply:
        """The session of a step; when the server ended it, the answer that shows this. It begins anew after that."""
        session = self.sessions[step.connection]
        if session.ended:
            self.sessions[step.connection] = Session()
            return Reply(ENDED)
        account = self.accounts.get(session.name or "")
        if session.after_grace and account is not None and not self.has(Quirk.GRACE_LIMIT_STAYS):
            session.must_change = self.judge(account).expiry().is_expired
        return session

    def limited(self, step, session: Session) -> Reply | None:
        """The answer to what a session may not do before it has changed its password."""
        return self.restricted(step) if session.must_change else None

    def restricted(self, step) -> Reply:
        return self.reply(step, CONSTRAINT if self.has(Quirk.RESTRICTED_IS_19) else NO_ACCESS, Error.CHANGE_AFTER_RESET)

    def run_search(self, step: Search) -> Reply:
        session = self.begun(step)
        if isinstance(session, Reply):
            return session
        return self.limited(step, session) or Reply(SUCCESS)

    def run_compare(self, step: Compare) -> Reply:
        session = self.begun(step)
        if isinstance(session, Reply):
            return session
        return self.limited(step, session) or Reply(COMPARE_TRUE if session.name else NO_SUCH_OBJECT)

    def run_whoami(self, step: WhoAmI) -> Reply:
        session = self.begun(step)
        if isinstance(session, Reply):
            return session
        limited = self.limited(step, session) if self.has(Quirk.WHO_AM_I_IS_RESTRICTED) else None
        return limited or Reply(SUCCESS)

    def run_describe(self, step: Describe) -> Reply:
        session = self.begun(step)
        if isinstance(session, Reply):
            return session
        if session.must_change and not (session.after_grace and self.has(Quirk.GRACE_MAY_MODIFY)):
            return self.restricted(step)
        if session.name is None or step.target not in self.accounts:
            return self.reply(step, NO_SUCH_OBJECT)
        if not self.may_write(session, step.target):
            return self.reply(step, NO_ACCESS)
        own = self.accounts.get(session.name or "")
        if own and self.has(Quirk.EARLIER_SESSIONS_MUST_CHANGE) and self.judge(own).must_change():
            return self.restricted(step)
        return self.reply(step, SUCCESS)

    @staticmethod
    def may_write(session: Session, target: str) -> bool:
        return session.name in (ROOT, HELPER, NO_PRIVILEGE) or (session.name is not None and session.name == target)

    # ------------------------------------------------------------------------------------------------------- binds

    def run_bind(self, step: Bind) -> Reply:
        session = self.begun(step)
        if isinstance(session, Reply):
            return session
        session = self.sessions[step.connection] = Session()
        if not step.password:
            return self.reply(step, UNWILLING)
        if step.name == ROOT:
            session.name = ROOT
            return self.reply(step, SUCCESS)
        account = self.accounts.get(step.name)
        if account is None or not account.passwords:
            return self.reply(step, INVALID_CREDENTIALS)
        judged = self.judge(account)
        is_insecure = judged.policy.require_secure_authentication
        if is_insecure and self.has(Quirk.INSECURE_IS_NO_GUESS):
            return self.reply(step, INVALID_CREDENTIALS)
        # What has run out is written away with the next write, not before.
        view = judged.settled()
        if self.has(Quirk.LOCKS_WHEN_NOTICED) and view.account.locked is None and view.is_locked():
            account.locked = self.now
        if not self.is_password(judged, step.password, lambda clear: self.proves(judged, clear, step.code)):
            self.count_failure(judged)
            return self.reply(step, INVALID_CREDENTIALS)
        if is_insecure or account.disabled or not judged.is_valid():
            return self.reply(step, INVALID_CREDENTIALS)
        if not self.has_begun_and_not_ended(account) or view.is_locked():
            return self.reply(step, INVALID_CREDENTIALS, Error.LOCKED)
        is_idle = judged.is_idle() or judged.reset_too_old()
        if not is_idle or self.has(Quirk.SETTLES_WHEN_IDLE):
            judged.settle()
        if is_idle:
            return self.reply(step, INVALID_CREDENTIALS, Error.LOCKED)
        return self.bind_with_password(step, session, judged)

    def has_begun_and_not_ended(self, account: Account) -> bool:
        return (account.starts is None or account.starts <= self.now) and (
            account.ends is None or self.now < account.ends
        )

    def bind_with_password(self, step: Bind, session: Session, judged: Judgement) -> Reply:
        """The password is right and the account may be used: what is left is the age of the password."""
        account, expiry = judged.account, judged.expiry()
        error, expires_in, grace_left = None, None, None
        if expiry.is_expired:
            left = judged.grace_left()
            if not expiry.may_grace or not left:
                reply = self.reply(step, INVALID_CREDENTIALS, Error.EXPIRED)
                return reply if step.control else replace(reply, netscape=((control.EXPIRED, b"0"),))
            error, grace_left = Error.EXPIRED, left - 1
            account.grace_uses.append(unique(self.now, account.grace_uses))
            session.must_change = session.after_grace = True
        elif expiry.warns:
            expires_in = (expiry.at - self.now + 500) // 1000
            if account.warned is None:
                account.warned = self.now
        if judged.must_change():
            session.must_change, session.after_grace = True, False
            error = Error.CHANGE_AFTER_RESET if error is None else error
        self.note_success(judged, step.password)
        session.name = step.name
        reply = self.reply(step, SUCCESS, error, expires_in, grace_left)
        if step.control:
            return reply
        if error is Error.EXPIRED or (error is Error.CHANGE_AFTER_RESET and not self.has(Quirk.WARNING_HIDES_RESET)):
            return replace(reply, netscape=((control.EXPIRED, b"0"),))
        if expires_in is not None:
            return replace(reply, netscape=((control.EXPIRING, str(expires_in).encode()),))
        if error is Error.CHANGE_AFTER_RESET:
            return replace(reply, netscape=((control.EXPIRED, b"0"),))
        return reply

    def proves(self, judged: Judgement, clear: str, code: Code | None) -> bool:
        """Whether a bind shows what it takes. Without a second factor, a code is only part of a wrong password."""
        return code is None and judged.account.has(clear)

    def is_password(self, judged: Judgement, clear: str, check: Callable[[str], bool] | None = None) -> bool:
        """Whether a guess is taken for the password: under a lock only so many wrong ones are compared. `check`: what
        is asked beside that the account has it."""
        account, view = judged.account, judged.settled()
        check = check or account.has
        if self.has(Quirk.GUESSES_UNDER_A_LOCK):
            return check(clear)
        since = view.locked_since() if view.is_locked() else None
        if account.guessed_since != since:
            account.guessed_since, account.guesses = since, 0
        if since is None:
            return check(clear)
        if account.guesses >= judged.policy.lockout_failure_count:
            return False
        is_right = check(clear)
        account.guesses += not is_right
        return is_right

    def count_failure(self, judged: Judgement, even_locked: bool = False) -> None:
        account, policy = judged.account, judged.policy
        if not policy.lockout_failure_count or (judged.settled().is_locked() and not even_locked):
            return
        judged.settle()
        account.failures.append(unique(self.now, account.failures))
        if len(account.failures) >= policy.lockout_failure_count:
            account.locked = max(account.failures)

    def note_success(self, judged: Judgement, clear: str) -> None:
        account, policy = judged.account, judged.policy
        account.failures, account.locked = [], None
        self.note_login(judged)
        deprecated = policy.deprecated_password_storage_scheme
        if deprecated:
            account.passwords = [
                Password(stored.clear, policy.default_password_storage_scheme)
                if stored.scheme == deprecated and stored.clear == clear
                else stored
                for stored in account.passwords
            ]

    def note_login(self, judged: Judgement) -> None:
        precision = judged.policy.last_login_precision
        if precision:
            judged.account.last_login = truncated(self.now, precision)

    # ----------------------------------------------------------------------------------------------- modifications

    @staticmethod
    def is_kept_out(judged: Judgement) -> bool:
        """A lock keeps the user from giving the old password."""
        return judged.settled().is_locked() or judged.is_idle() or judged.reset_too_old()

    def is_valid(self, policy: Policy, clear: str, by_self: bool) -> bool:
        if policy.skip_validation_for_administrators and not by_self:
            return True
        return len(clear) >= policy.min_password_length

    def short(self) -> Error:
        return Error.QUALITY if self.has(Quirk.LENGTH_IS_QUALITY) else Error.TOO_SHORT

    def insecure(self) -> Error | None:
        """What the extended operation tells of an insecure line."""
        return None if self.has(Quirk.INSECURE_WITHOUT_ERROR) else Error.MODIFICATION_NOT_ALLOWED

    def run_change(self, step: Change) -> Reply:
        session = self.begun(step)
        if isinstance(session, Reply):
            return session
        by_self = session.name == step.target
        free = session.after_grace and self.has(Quirk.GRACE_MAY_MODIFY)
        account = self.accounts.get(step.target)
        missing = account is None and self.has(Quirk.RESTRICTED_IS_19)
        if session.must_change and not by_self and not free and not missing:
            return self.restricted(step)
        # Strangers may not see the entry.
        if session.name is None or account is None:
            return self.reply(step, NO_SUCH_OBJECT)
        if not self.may_write(session, step.target):
            told = None if self.has(Quirk.NO_RIGHT_WITHOUT_ERROR) else Error.MODIFICATION_NOT_ALLOWED
            return self.reply(step, NO_ACCESS, told)
        if not by_self and session.name == NO_PRIVILEGE:
            return self.reply(step, NO_ACCESS, Error.MODIFICATION_NOT_ALLOWED)
        judged = self.judge(account)
        code, error = self.refusal_of_change(step, judged, by_self)
        if code != SUCCESS:
            return self.reply(step, code, error)
        given = {"delete": [], "delete-all": [], "replace-two": [step.new, step.old]}.get(step.form, [step.new])
        left = [] if step.form in ("replace", "replace-two", "delete-all") else account.passwords
        if step.form in ("delete", "delete-add"):
            left = [stored for stored in left if stored.clear != step.old]
        self.store(judged, left, given, by_self, by_modification=True)
        self.after_change(step, session, judged, by_self)
        policy = judged.policy
        asks = policy.allow_user_password_changes or self.has(Quirk.TELLS_AN_EMPTY_DEMAND)
        told = policy.force_change_on_reset and asks and not by_self
        return self.reply(step, SUCCESS, Error.CHANGE_AFTER_RESET if told else None)

    def refusal_of_change(self, step: Change, judged: Judgement, by_self: bool) -> tuple[int, Error | None]:
        account, policy = judged.account, judged.policy
        if by_self and not policy.allow_user_password_changes:
            return UNWILLING, Error.MODIFICATION_NOT_ALLOWED
        if policy.require_secure_password_changes:
            return CONFIDENTIALITY, Error.MODIFICATION_NOT_ALLOWED
        if by_self and judged.too_young():
            return UNWILLING, Error.TOO_YOUNG
        if step.form in ("delete-add", "delete"):
            guesses = bool(account.passwords) and not self.has(Quirk.DELETION_IS_NO_GUESS)
            if by_self and guesses and self.is_kept_out(judged):
                return UNWILLING, Error.LOCKED
            is_old = self.is_password(judged, step.old) if guesses else account.has(step.old)
            if not is_old:
                if guesses:
                    self.count_failure(judged)
                return NO_SUCH_ATTRIBUTE, None
        if step.form == "replace-two" and not policy.allow_multiple_password_values:
            return CONSTRAINT, Error.MODIFICATION_NOT_ALLOWED
        same_again = step.form == "delete-add" and self.has(Quirk.SAME_AGAIN_IS_THERE)
        if (step.form == "add" or same_again) and account.has(step.new):
            return VALUE_EXISTS, Error.IN_HISTORY
        gives_old = step.form in ("delete-add", "delete")
        has_old = account.passwords or self.has(Quirk.OLD_OF_NOTHING)
        if by_self and policy.password_change_requires_current_password and has_old and not gives_old:
            return UNWILLING, Error.MUST_SUPPLY_OLD
        if step.form == "add" and account.passwords and not policy.allow_multiple_password_values:
            return CONSTRAINT, Error.MODIFICATION_NOT_ALLOWED
        if step.form == "delete-all" and not account.passwords:
            return NO_SUCH_ATTRIBUTE, None
        if step.form in ("delete", "delete-all"):
            return SUCCESS, None
        if not self.is_valid(policy, step.new, by_self):
            return CONSTRAINT, self.short()
        skips = policy.skip_validation_for_administrators and not by_self
        if not skips and judged.in_history(step.new):
            return CONSTRAINT, Error.IN_HISTORY
        return SUCCESS, None

    def store(
        self, judged: Judgement, left: list[Password], new: list[str], by_self: bool, by_modification: bool
    ) -> None:
        """The new passwords and the state that a change leaves behind."""
        account, policy = judged.account, judged.policy
        known = any(judged.in_history(clear) for clear in new)
        still = known and not by_modification and self.has(Quirk.HISTORY_STANDS_STILL)
        keeps = policy.password_history_count or policy.password_history_duration
        remembers = keeps and not still and (new or not self.has(Quirk.DELETION_FORGETS))
        if remembers:
            for stored in account.passwords:
                kept = judged.kept_history()
                # Room for one more, before it gets a time of its own.
                excess = len(kept) + 1 - policy.password_history_count if policy.password_history_count else 0
                kept = kept[max(0, excess) :]
                account.history = [*kept, (unique(self.now, [time for time, _ in kept]), stored)]
        account.passwords = [*left, *(Password(clear, policy.default_password_storage_scheme) for clear in new)]
        keeps_time = account.passwords or self.has(Quirk.DELETION_FORGETS)
        is_told = account.changed is None and account.created == self.now and self.has(Quirk.CHANGED_WHEN_MADE)
        account.changed = self.now if keeps_time and not is_told else None
        if judged.wants_change_after_reset() or not self.has(Quirk.RESET_FLAG_STAYS):
            asks = policy.allow_user_password_changes or self.has(Quirk.TELLS_AN_EMPTY_DEMAND)
            account.reset = policy.force_change_on_reset and asks and not by_self
        account.failures, account.locked, account.grace_uses, account.warned = [], None, [], None
        if policy.require_change_by_time and (by_modification or not self.has(Quirk.REQUIRED_CHANGE_STAYS)):
            account.required_change = 1000 * policy.require_change_by_time

    def after_change(self, step, session: Session, judged: Judgement, by_self: bool) -> None:
        if by_self:
            session.must_change = session.after_grace = False
        elif not self.has(Quirk.SESSIONS_OUTLIVE_RESETS):
            self.end_sessions(step.target)

    # --------------------------------------------------------------------------------- the password modify operation

    def run_extended(self, step: Extended) -> Reply:
        session = self.begun(step)
        if isinstance(session, Reply):
            return session
        anonymous = session.name is None
        target = session.name if step.form == "none" else step.target
        if target is None:
            return self.reply(step, UNWILLING)
        account = self.accounts.get(target)
        by_self = target == session.name or (anonymous and step.old is not None)
        if session.must_change and account is None and not self.has(Quirk.RESTRICTED_IS_19):
            return self.restricted(step)
        if account is None or (anonymous and not account.passwords and not self.has(Quirk.CHANGE_TELLS_NAMES)):
            return self.unknown_identity(step, session)
        if session.must_change and not by_self and not self.has(Quirk.RESTRICTED_IS_19):
            return self.restricted(step)
        if not by_self and session.name not in (ROOT, HELPER):
            told = None if self.has(Quirk.NO_RIGHT_WITHOUT_ERROR) else Error.MODIFICATION_NOT_ALLOWED
            return self.reply(step, NO_ACCESS, told)
        judged = self.judge(account)
        as_bind = anonymous and not self.has(Quirk.CHANGE_TELLS_NAMES)
        if as_bind and not self.is_password(judged, step.old, lambda clear: self.proves(judged, clear, step.code)):
            self.count_failure(judged)
            return self.reply(step, INVALID_CREDENTIALS)
        expired = not judged.is_valid() and not self.has(Quirk.EXPIRED_ACCOUNT_MAY_CHANGE)
        if account.disabled or expired:
            return self.reply(step, UNWILLING, Error.LOCKED)
        if by_self and self.is_kept_out(judged):
            return self.reply(step, UNWILLING, Error.LOCKED)
        if by_self and judged.policy.password_change_requires_current_password and step.old is None:
            return self.reply(step, UNWILLING, Error.MUST_SUPPLY_OLD)
        if step.old is not None and judged.policy.require_secure_authentication:
            return self.reply(step, CONFIDENTIALITY, self.insecure())
        if step.old is not None and not as_bind and not self.is_password(judged, step.old):
            if account.passwords or self.has(Quirk.OLD_OF_NOTHING):
                self.count_failure(judged, even_locked=self.has(Quirk.FAILURES_WHILE_LOCKED))
            return self.reply(step, INVALID_CREDENTIALS)
        code, error = self.refusal_of_extended(step, judged, by_self)
        if code != SUCCESS:
            return self.reply(step, code, error)
        if step.old is not None and self.has(Quirk.CHANGE_IS_A_LOGIN):
            self.note_login(judged)
        left = [] if step.old is None else [stored for stored in account.passwords if stored.clear != step.old]
        given = [step.made if step.new is None else step.new]
        self.store(judged, left, given, by_self, by_modification=False)
        self.after_change(replace(step, target=target), session, judged, by_self)
        return self.reply(step, SUCCESS, more="made" if step.new is None else None)

    def unknown_identity(self, step: Extended, session: Session) -> Reply:
        if self.has(Quirk.CHANGE_TELLS_NAMES):
            return self.reply(step, PROTOCOL if step.form in ("dn", "id") else NO_SUCH_OBJECT)
        if session.name is None and step.old is not None:
            return self.reply(step, INVALID_CREDENTIALS)
        if session.name not in (ROOT, HELPER):
            return self.reply(step, NO_ACCESS, Error.MODIFICATION_NOT_ALLOWED)
        return self.reply(step, NO_SUCH_OBJECT)

    def refusal_of_extended(self, step: Extended, judged: Judgement, by_self: bool) -> tuple[int, Error | None]:
        policy = judged.policy
        if by_self and not policy.allow_user_password_changes:
            return UNWILLING, Error.MODIFICATION_NOT_ALLOWED
        if policy.require_secure_password_changes:
            return CONFIDENTIALITY, self.insecure()
        if by_self and judged.too_young():
            return UNWILLING, Error.TOO_YOUNG
        if by_self and judged.expiry().is_expired and not policy.allow_expired_password_changes:
            return UNWILLING, Error.EXPIRED
        if step.new is None:
            return SUCCESS, None
        if not step.new and not self.has(Quirk.EMPTY_NEW_PASSWORD):
            return UNWILLING, None
        if not self.is_valid(policy, step.new, by_self):
            return CONSTRAINT, self.short()
        skips = policy.skip_validation_for_administrators and not by_self
        if not skips and judged.in_history(step.new):
            return CONSTRAINT, None if self.has(Quirk.HISTORY_WITHOUT_ERROR) else Error.IN_HISTORY
        return SUCCESS, None

    # --------------------------------------------------------------------------------------------- what root asks

    def run_usability(self, step: Usability) -> Reply:
        account = self.accounts.get(step.target)
        if account is None:
            return Reply(NO_SUCH_OBJECT)
        judged = self.judge(account)
        expiry = judged.expiry()
        inactive = account.disabled or not judged.is_valid()
        inactive = inactive or not self.has_begun_and_not_ended(account)
        unlock_in = judged.settled().unlocked_in()
        if judged.is_idle() or judged.reset_too_old():
            unlock_in = -1
        reset = judged.must_change()
        if inactive or reset or expiry.is_expired or unlock_in is not None:
            uses = len(account.grace_uses)
            counts = expiry.is_expired and 0 < judged.policy.grace_login_count >= uses
            left = judged.policy.grace_login_count - uses if counts else None
            if counts and not expiry.may_grace and not self.has(Quirk.GRACE_OF_RESET_AGE):
                left = 0
            return Reply(SUCCESS, more=control.unusable(inactive, reset, expiry.is_expired, left, unlock_in).hex())
        seconds = -1 if expiry.at is None else (expiry.at - self.now + 500) // 1000
        return Reply(SUCCESS, more=control.usable(seconds).hex())

    def run_state(self, step: State) -> Reply:
        account = self.accounts.get(step.target)
        if account is None:
            return Reply(NO_SUCH_OBJECT)
        judged = self.judge(account)
        for number, value in step.operations:
            self.apply_operation(judged, number, value)
        if not self.has(Quirk.SESSIONS_OUTLIVE_RESETS) and ends_sessions(step):
            self.end_sessions(step.target)
        return Reply(SUCCESS, more=self.told_state(judged))

    def told_state(self, judged: Judgement) -> str:
        return told_state(judged, self.quirks)

    def apply_operation(self, judged: Judgement, number: int, value: str | None) -> None:
        """An operation that sets or clears; times are seconds since 1970, and no time is the present one."""
        account = judged.account
        time = self.now if value is None else 1000 * int(value) if value.isdigit() else None
        match number:
            case Operation.SET_DISABLED:
                account.disabled = value == "true"
            case Operation.CLEAR_DISABLED:
                account.disabled = False
            case Operation.SET_EXPIRATION:
                account.expires = time
            case Operation.CLEAR_EXPIRATION:
                account.expires = None
            case Operation.SET_CHANGED:
                account.changed = time
            case Operation.SET_WARNED:
                account.warned = time
            case Operation.CLEAR_WARNED:
                account.warned = None
            case Operation.ADD_FAILURE:
                account.failures.append(unique(time, account.failures))
            case Operation.SET_FAILURES:
                account.failures = [time]
            case Operation.CLEAR_FAILURES:
                account.failures, account.locked = [], None
            case Operation.SET_LAST_LOGIN:
                account.last_login = time
            case Operation.CLEAR_LAST_LOGIN:
                account.last_login = None
            case Operation.SET_RESET:
                account.reset = value == "true"
            case Operation.CLEAR_RESET:
                account.reset = False
            case Operation.ADD_GRACE_USE:
                account.grace_uses.append(unique(time, account.grace_uses))
            case Operation.SET_GRACE_USES:
                account.grace_uses = [time]
            case Operation.CLEAR_GRACE_USES:
                account.grace_uses = []
            case Operation.CLEAR_HISTORY:
                account.history = []
            case _:
                raise ValueError(number)


def ends_sessions(step: State) -> bool:
    return any((number, value) == (Operation.SET_DISABLED, "true") for number, value in step.operations)


def unique(time: int, taken: list[int]) -> int:
    """The time, or the next free millisecond."""
    while time in taken:
        time += 1
    return time


def truncated(time: int, characters: int) -> int:
    """The time with only its first characters as yyyyMMddHHmmssSSS, the others being zero."""
    unit = {17: 1, 14: 1000, 12: 60_000, 8: 86_400_000}[characters]
    return time - time % unit
