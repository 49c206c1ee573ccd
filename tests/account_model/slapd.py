"""The model in the dialect of OpenLDAP's slapd with its ppolicy overlay, which follows the draft more than OpenDJ does,
and the server itself.

Knows what differs and why; what it does not override is the same in both dialects.
"""

from dataclasses import replace
from random import Random

from pando_server import BASE
from settable_clock import SettableClock
from slapd_server import ADMIN_DN, ADMIN_PW

from account_model.account import Account, Judgement, Password
from account_model.control import Error
from account_model.model import (
    COMPARE_TRUE,
    CONSTRAINT,
    HELPER,
    INVALID_CREDENTIALS,
    NO_ACCESS,
    NO_SUCH_ATTRIBUTE,
    NO_SUCH_OBJECT,
    SUCCESS,
    UNWILLING,
    Model,
    Reply,
    Session,
)
from account_model.policy import Policy
from account_model.random_history import USERS, Maker
from account_model.scene import dn, entry
from account_model.server import REPLACED, Server, milliseconds
from account_model.steps import ROOT, Add, Bind, Change, Edit, Extended, Write

STRONGER_AUTH = 8

# What slapd does otherwise than Pando, and why Pando does not follow it.
DIFFERENCES = {
    "locks first": "slapd refuses a locked account before it compares the password, so that a stranger learns of the "
    "lock from the control; here the state is told only to who knows the password",
    "no control for strangers": "slapd answers an unknown name and an account without a password without the control: "
    "an oracle for names; here all failed binds have the same octets",
    "grace is a warning": "slapd tells a grace login by the warning alone and then allows everything; here the error "
    "says that the password has expired and the session must change it, as OpenDJ does",
    "restricted is 50": "slapd answers 50 to a session that must change its password, as the draft says; here 19 as "
    "OpenDJ",
    "administrators are exempt": "who may manage passwords skips validators, history and ages; here the policy's "
    "property says so",
    "codes of changes": "slapd answers the draft's codes: 50 for users who may not change, 19 for too young; here 53 "
    "as OpenDJ",
    "deletion keeps nothing": "who deletes an own password leaves the rest of the state as it is",
    "administrators cannot delete a value": "slapd compares an administrator's clear value with the stored octets: 16",
    "one guess after a lock is free": "slapd keeps the failures of a lock that has run out, but the guess that "
    "finds it so does not lock again",
    "refused but bound": "slapd 2.5.13 answers 49 to the right but expired password, and leaves the session "
    "authenticated: its fault, and a grave one",
    "sessions outlive their accounts": "slapd ends no session when its account goes",
    "absent means never": "an account without pwdChangedTime never expires; here the entry's creation counts",
    "no warned time": "a password expires at its time whether or not anybody was warned",
}

CONFIGURATION = f"""
lastbind on
overlay ppolicy
ppolicy_default "cn=default,{BASE}"
ppolicy_hash_cleartext
ppolicy_use_lockout
access to dn.base="{BASE}" by * read
access to attrs=userPassword
    by dn.base="uid=helen,{BASE}" manage
    by dn.base="uid=ivan,{BASE}" write
    by self write by anonymous auth by users read
access to attrs=description
    by dn.base="uid=helen,{BASE}" write by dn.base="uid=ivan,{BASE}" write by self write by users read
access to * by users read
"""
SERVER_LINES = "password-hash {SSHA}"
MODULES = "moduleload ppolicy"
# The properties that have a counterpart.
ATTRIBUTES = {
    "min_password_age": "pwdMinAge",
    "max_password_age": "pwdMaxAge",
    "password_expiration_warning_interval": "pwdExpireWarning",
    "grace_login_count": "pwdGraceAuthNLimit",
    "lockout_failure_count": "pwdMaxFailure",
    "lockout_duration": "pwdLockoutDuration",
    "lockout_failure_expiration_interval": "pwdFailureCountInterval",
    "force_change_on_reset": "pwdMustChange",
    "allow_user_password_changes": "pwdAllowUserChange",
    "password_change_requires_current_password": "pwdSafeModify",
    "password_history_count": "pwdInHistory",
    "min_password_length": "pwdMinLength",
    "idle_lockout_interval": "pwdMaxIdle",
}
TIMES = ("pwdChangedTime", "pwdAccountLockedTime")
MANY_TIMES = ("pwdFailureTime", "pwdGraceUseTime")
SHOWN = (*TIMES, *MANY_TIMES, "pwdReset", "pwdHistory", "userPassword")


class SlapdServer(Server):
    """slapd keeps its policies as entries, and its administrator is not one of OpenDJ's."""

    root_dn, root_password = ADMIN_DN, ADMIN_PW

    def __init__(self, port: int, clock: SettableClock):
        super().__init__(port, clock)

    def policy_dn(self, name: str) -> str:
        return f"cn={name},{BASE}"

    def set_policy(self, name: str, before: Policy | None, after: Policy) -> int:
        if before is None:
            attributes = {"objectClass": ["top", "device", "pwdPolicy"], "cn": [name], "pwdLockout": ["TRUE"]}
            attributes |= {"pwdAttribute": ["userPassword"], "pwdCheckQuality": ["1"]}
            self.done(self.root.add(self.policy_dn(name), attributes))
            before = replace(Policy(), allow_user_password_changes=False)
        changes = []
        for one in after.differs_from(before):
            value = getattr(after, one)
            written = str(value).upper() if isinstance(value, bool) else str(value)
            changes.append((REPLACED, ATTRIBUTES[one], [written]))
        if changes:
            self.done(self.root.modify(self.policy_dn(name), changes))
        self.policies[name] = after
        return SUCCESS

    def entry(self, name: str) -> dict[str, list]:
        attributes = entry(name)
        attributes.pop("ds-privilege-name", None)
        return attributes

    def run_assign(self, step) -> Reply:
        values = [self.policy_dn(step.policy)] if step.policy else []
        return Reply(self.root.modify(dn(step.target, ADMIN_DN), [(REPLACED, "pwdPolicySubentry", values)]).code)

    def in_form(self, held: dict[str, list[str]]) -> dict:
        """Whole seconds: fractions are the server's choice."""
        state = {}
        for kind in TIMES:
            values = held.get(kind.lower(), [])
            state[kind] = seconds(values[0]) if values else None
        for kind in MANY_TIMES:
            state[kind] = sorted(map(seconds, held.get(kind.lower(), [])))
        state["pwdReset"] = held.get("pwdreset") == ["TRUE"]
        state["pwdHistory"] = sorted(self.stored(value)[1] for value in self.history(held))
        state["userPassword"] = sorted(self.stored(value)[1] for value in held.get("userpassword", []))
        return state

    @staticmethod
    def history(held: dict[str, list[str]]) -> list[str]:
        return [value[value.index("{") :] for value in held.get("pwdhistory", [])]


def seconds(value: str) -> int:
    return milliseconds(value) // 1000 * 1000


class SlapdModel(Model):
    def shown(self, account: Account) -> dict:
        whole = account.shown()
        state = {kind: whole[kind] for kind in (*TIMES, *MANY_TIMES, "pwdReset")}
        for kind in MANY_TIMES:
            state[kind] = [time // 1000 * 1000 for time in state[kind]]
        state["pwdHistory"] = sorted(stored.clear for _, stored in account.history)
        state["userPassword"] = sorted(stored.clear for stored in account.passwords)
        return state

    def first_account(self, name: str) -> Account:
        """The time of a first password is kept where its policy has an age, which the default has not."""
        return replace(super().first_account(name), changed=None)

    def run_add(self, step: Add) -> Reply:
        reply = super().run_add(step)
        if reply.code == SUCCESS:
            self.accounts[step.target].changed = None
        return reply

    def settled(self, name: str, state: dict) -> dict:
        return state

    def end_sessions(self, name: str, but: int | None = None) -> None:
        """They go on."""

    def run_search(self, step) -> Reply:
        return Reply(NO_ACCESS if self.begun(step).must_change else SUCCESS)

    def run_compare(self, step) -> Reply:
        return Reply(NO_ACCESS if self.begun(step).must_change else COMPARE_TRUE)

    def run_whoami(self, step) -> Reply:
        """Allowed to everybody."""
        return Reply(SUCCESS)

    # ------------------------------------------------------------------------------------------------------- binds

    def run_bind(self, step: Bind) -> Reply:
        session = self.begun(step)
        if isinstance(session, Reply):
            return session
        session = self.sessions[step.connection] = Session()
        if not step.password:
            return Reply(UNWILLING)
        if step.name == ROOT:
            session.name = ROOT
            return Reply(SUCCESS)
        account = self.accounts.get(step.name)
        if account is None:
            return Reply(INVALID_CREDENTIALS)
        judged = self.judge(account)
        if self.is_locked(judged) or judged.is_idle():
            return self.reply(step, INVALID_CREDENTIALS, Error.LOCKED)
        if not account.has(step.password):
            self.count_failure(judged)
            return self.reply(step, INVALID_CREDENTIALS)
        account.failures, account.locked = [], None
        account.last_login = self.now
        return self.after_password(step, session, judged)

    @staticmethod
    def is_locked(judged: Judgement) -> bool:
        """Only the time of the lock locks, never the number of failures."""
        since, duration = judged.account.locked, 1000 * judged.policy.lockout_duration
        return since is not None and (not duration or judged.now < since + duration)

    def count_failure(self, judged: Judgement, even_locked: bool = False) -> None:
        account, limit = judged.account, judged.policy.lockout_failure_count
        if not limit and account.locked is not None:
            # A lock of another policy, which has run out.
            account.failures, account.locked = [], None
        if not limit or not account.passwords:
            return
        failures = account.failures[max(0, len(account.failures) + 1 - limit) :]
        # Two failures in one moment of the clock would be one value: slapd's write fails, and nothing changes.
        if self.now in failures:
            return
        account.failures = [*failures, self.now]
        # The first guess after a lock only ends it.
        locks = len(judged.recent_failures()) >= limit and account.locked is None
        account.locked = self.now if locks else None

    def after_password(self, step: Bind, session: Session, judged: Judgement) -> Reply:
        account, policy = judged.account, judged.policy
        if self.must_change(judged):
            session.name, session.must_change = step.name, True
        age = None if account.changed is None else self.now - account.changed
        if session.must_change:
            left = None if age is None or not policy.max_password_age else 1000 * policy.max_password_age - age
            warns = left is not None and left < 1000 * policy.password_expiration_warning_interval
            expires_in = max(0, left // 1000) if warns else None
            return self.reply(step, SUCCESS, Error.CHANGE_AFTER_RESET, expires_in)
        if age is not None and policy.max_password_age:
            left = 1000 * policy.max_password_age - age
            if left < 0:
                grace = judged.grace_left()
                if not grace:
                    session.name = step.name
                    return self.reply(step, INVALID_CREDENTIALS, Error.EXPIRED)
                account.grace_uses = [*{*account.grace_uses, self.now}]
                session.name = step.name
                return self.reply(step, SUCCESS, grace_left=grace - 1)
            session.name = step.name
            if left < 1000 * policy.password_expiration_warning_interval:
                return self.reply(step, SUCCESS, expires_in=left // 1000)
        session.name = step.name
        return self.reply(step, SUCCESS)

    @staticmethod
    def must_change(judged: Judgement) -> bool:
        return judged.account.reset and judged.policy.force_change_on_reset

    def limited(self, step, session: Session) -> Reply | None:
        if session.must_change:
            return self.reply(step, NO_ACCESS, Error.CHANGE_AFTER_RESET)
        return None

    def run_describe(self, step) -> Reply:
        session = self.begun(step)
        if isinstance(session, Reply):
            return session
        if limited := self.limited(step, session):
            return limited
        if session.name is None:
            return Reply(STRONGER_AUTH)
        if step.target not in self.accounts:
            return Reply(NO_SUCH_OBJECT)
        return Reply(SUCCESS if self.may_write(session, step.target) else NO_ACCESS)

    # ----------------------------------------------------------------------------------------------------- changes

    def run_change(self, step: Change) -> Reply:
        session = self.begun(step)
        if isinstance(session, Reply):
            return session
        if session.name is None:
            return Reply(STRONGER_AUTH)
        account = self.accounts.get(step.target)
        if account is None:
            return Reply(NO_SUCH_OBJECT)
        judged = self.judge(account)
        manages, by_self = session.name in (ROOT, HELPER), session.name == step.target
        code, error = self.refusal(judged, step.old, step.new, step.form, manages, by_self)
        if code != SUCCESS:
            return self.reply(step, code, error)
        if not self.may_write(session, step.target):
            return Reply(NO_ACCESS)
        if step.form.startswith("delete") and (
            not account.passwords or step.form == "delete" or (manages and step.form != "delete-all")
        ):
            return Reply(NO_SUCH_ATTRIBUTE)
        kept = [stored.clear for stored in account.passwords] if step.form == "add" else []
        given = [] if step.form == "delete-all" else [*kept, step.new]
        self.store_password(judged, given, manages)
        if session.name == step.target:
            session.must_change = False
        return self.reply(step, SUCCESS)

    def refusal(
        self,
        judged: Judgement,
        old: str | None,
        new: str | None,
        form: str,
        manages: bool,
        by_self: bool,
    ) -> tuple[int, Error | None]:
        account, policy = judged.account, judged.policy
        gives_old = form in ("delete-add", "delete", "delete-all")
        if form == "replace-two":
            return CONSTRAINT, None
        if not manages:
            if by_self and not policy.allow_user_password_changes:
                return NO_ACCESS, Error.MODIFICATION_NOT_ALLOWED
            if policy.password_change_requires_current_password and not gives_old:
                return NO_ACCESS, Error.MUST_SUPPLY_OLD
            # Who only deletes is asked nothing more.
            if form in ("delete", "delete-all"):
                return SUCCESS, None
            age = None if account.changed is None else self.now - account.changed
            if age is not None and age < 1000 * policy.min_password_age and not account.reset:
                return CONSTRAINT, Error.TOO_YOUNG
        if form == "delete-add" and not manages and account.passwords and not account.has(old):
            return UNWILLING, Error.MUST_SUPPLY_OLD
        if form in ("delete", "delete-all"):
            return SUCCESS, None
        if manages:
            return SUCCESS, None
        if len(new) < policy.min_password_length:
            return CONSTRAINT, Error.TOO_SHORT
        known = account.has(new) or any(stored.clear == new for _, stored in account.history)
        # An account without a password may take any from its history.
        if policy.password_history_count and account.passwords and known:
            return CONSTRAINT, Error.IN_HISTORY
        return SUCCESS, None

    def store_password(self, judged: Judgement, given: list[str], manages: bool) -> None:
        account, policy = judged.account, judged.policy
        if not given and not manages:
            account.passwords = []
            return
        if not given:
            if policy.password_history_count:
                account.history = [*account.history, *((self.now, stored) for stored in account.passwords)]
            account.reset = policy.force_change_on_reset
            account.changed, account.passwords = None, []
            account.failures, account.locked, account.grace_uses = [], None, []
            return
        if policy.password_history_count:
            # Room for one more is made also where there is none to come.
            kept = account.history[max(0, len(account.history) + 1 - policy.password_history_count) :]
            account.history = [*kept, *((self.now, stored) for stored in account.passwords)]
        else:
            account.history = []
        account.passwords = [Password(clear, "SSHA") for clear in given]
        account.changed = self.now
        account.reset = manages and policy.force_change_on_reset
        account.failures, account.locked, account.grace_uses = [], None, []

    def run_extended(self, step: Extended) -> Reply:
        session = self.begun(step)
        if isinstance(session, Reply):
            return session
        if session.name is None:
            return Reply(STRONGER_AUTH)
        if step.new == "":
            return Reply(UNWILLING)
        target = session.name if step.form == "none" else step.target
        account = self.accounts.get(target)
        if account is None:
            return Reply(NO_SUCH_OBJECT if step.old is None else UNWILLING)
        judged = self.judge(account)
        if step.old is not None and not account.has(step.old):
            return Reply(UNWILLING)
        manages = session.name in (ROOT, HELPER)
        new = step.made if step.new is None else step.new
        form = "replace" if step.old is None else "delete-add"
        code, error = self.refusal(judged, step.old, new, form, manages, session.name == target)
        if code != SUCCESS:
            return self.reply(step, code, error)
        if not self.may_write(session, target):
            return Reply(NO_ACCESS)
        self.store_password(judged, [new], manages)
        if session.name == target:
            session.must_change = False
        return self.reply(step, SUCCESS, more="made" if step.new is None else None)

    def run_write(self, step) -> Reply:
        account = self.accounts.get(step.target)
        if account is None:
            return Reply(NO_SUCH_OBJECT)
        account.reset = bool(step.value)
        return Reply(SUCCESS)


class SlapdMaker(Maker):
    """Asks for what slapd knows."""

    properties = frozenset(ATTRIBUTES)

    @staticmethod
    def shared(random: Random) -> dict[str, int]:
        """One limit all through: what slapd drops of old failures under a new limit is its own affair."""
        return {"lockout_failure_count": random.choice((0, 1, 2, 3))}

    def kinds(self):
        kinds = super().kinds()
        return {make: weight for make, weight in kinds.items() if make not in (self.usability, self.state)}

    def write(self):
        return Write(self.random.choice(USERS), "pwdReset", self.random.choice([True, False, None]))

    def extended(self):
        step = super().extended()
        return replace(step, form="dn" if step.form != "none" else "none")

    def change(self):
        """One value at a time; slapd lets two be added one after the other."""
        step = super().change()
        return replace(step, form="replace") if isinstance(step, Change) and step.form == "add" else step

    def edit(self):
        step = super().edit()
        if not isinstance(step, Edit):
            return step
        changes = tuple(change for change in step.changes if change[0] != "lockout_failure_count")
        return Edit(step.policy, changes) if changes else self.wait()

    def add(self):
        return replace(super().add(), encoded=False)
