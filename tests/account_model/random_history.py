"""Random histories. A model runs along, so that many steps hit what is interesting: the right password, the policy in
force, the moment at which something ends.

Knows the model's state; knows no server.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from random import Random

from account_model.model import Model
from account_model.policy import Policy, Quirk
from account_model.scene import PEOPLE, POLICIES, UNKNOWN
from account_model.steps import (
    ROOT,
    Add,
    Assign,
    Bind,
    Change,
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

CONNECTIONS = 3
STEPS = 40
WORDS = ("short", "Secret-1", "Secret-2", "Secret-3", "Secret-4", "longer-than-twelve")
MADE = "made-"
WRONG = "not-the-password"
USERS = ("alice", "bob")
# All lengths of time are multiples of this, so that waits often end just at, before or after an event.
UNIT = 30
DURATIONS = {
    "min_password_age": (0, 0, 1, 2),
    "max_password_age": (0, 10, 20),
    "max_password_reset_age": (0, 0, 3),
    "password_expiration_warning_interval": (1, 3, 5),
    "lockout_duration": (0, 2, 4),
    "lockout_failure_expiration_interval": (0, 0, 3),
    "idle_lockout_interval": (0, 0, 15),
    "password_history_duration": (0, 0, 6),
}
COUNTS = {
    "grace_login_count": (0, 1, 2),
    "lockout_failure_count": (0, 1, 2, 3),
    "password_history_count": (0, 0, 1, 2),
    "min_password_length": (0, 0, 6, 10),
}
# The chance that a property differs from its default.
FLAGS = {
    "allow_user_password_changes": 0.1,
    "password_change_requires_current_password": 0.2,
    "force_change_on_add": 0.1,
    "force_change_on_reset": 0.4,
    "skip_validation_for_administrators": 0.3,
    "require_secure_authentication": 0.03,
    "require_secure_password_changes": 0.03,
    "allow_multiple_password_values": 0.1,
    "expire_passwords_without_warning": 0.5,
    "allow_expired_password_changes": 0.4,
}
SCHEMES = ("SSHA256", "SSHA512", "SSHA")


def random_history(
    random: Random, quirks: frozenset[Quirk], now: int, dialect: type[Model] = Model, maker: "type[Maker] | None" = None
) -> list[Step]:
    """A history for a server with these quirks."""
    model, make = dialect(quirks, now, CONNECTIONS), maker or Maker
    history: list[Step] = []

    def take(step: Step) -> None:
        if history and make.tick_seconds:
            model.run(Wait(make.tick_seconds))
        model.run(step)
        history.append(step)

    shared = make.shared(random)
    for policy in POLICIES:
        take(Edit(policy, random_policy(random, now, shared, make)))
    for name in USERS:
        take(Assign(name, random.choice(POLICIES)))
    while len(history) < STEPS:
        take(make(random, model, len(history), shared).step())
    return history


def random_policy(
    random: Random, now: int, shared: dict[str, int], make: "type[Maker]"
) -> tuple[tuple[str, int | bool | str], ...]:
    """Changes that lead from the default to a policy that the servers take."""
    while True:
        changes = {name: UNIT * random.choice(values) for name, values in DURATIONS.items()}
        changes |= {name: random.choice(values) for name, values in COUNTS.items()}
        changes |= {name: random.choice((0, value)) for name, value in shared.items()}
        for name, chance in FLAGS.items():
            if random.random() < chance:
                changes[name] = not getattr(Policy(), name)
        changes |= make.further(random)
        changes["default_password_storage_scheme"] = random.choice(SCHEMES)
        if random.random() < 0.3:
            changes["deprecated_password_storage_scheme"] = random.choice(SCHEMES)
        if random.random() < 0.1:
            changes["require_change_by_time"] = now + UNIT * random.randint(-5, 20)
        policy = replace(Policy(), **{name: value for name, value in changes.items() if name in make.properties})
        if is_sensible(policy, make):
            return tuple((name, getattr(policy, name)) for name in policy.differs_from(Policy()))


def is_sensible(policy: Policy, make: "type[Maker]") -> bool:
    """Whether the servers take it, and nobody has to guess what it means."""
    records = bool(policy.last_login_precision) or make.logins_are_kept or not policy.idle_lockout_interval
    deprecates = policy.default_password_storage_scheme != policy.deprecated_password_storage_scheme
    return policy.is_consistent() and records and deprecates


class Maker:
    """Makes one step from the state of the model."""

    # What a random policy may set.
    properties = frozenset(one.name for one in fields(Policy))
    # Whether logins are kept wherever a policy needs them.
    logins_are_kept = False
    tick_seconds = 0

    @staticmethod
    def shared(random: Random) -> dict[str, int]:
        """What all policies of a history have alike, or leave off. A server need not read a last login in a form that
        is no more its policy's."""
        return {"last_login_precision": random.choice((14, 12, 8))}

    @staticmethod
    def further(random: Random) -> dict[str, int | bool]:
        """Properties that only one kind of server has."""
        return {}

    def __init__(self, random: Random, model: Model, number: int, shared: dict[str, int]):
        self.random, self.model, self.number, self.shared_values = random, model, number, shared

    def kinds(self) -> dict[Callable[[], Step], int]:
        """How often each kind of step is made."""
        return {
            self.wait: 20,
            self.bind: 30,
            self.session_step: 12,
            self.change: 12,
            self.extended: 12,
            self.write: 5,
            self.edit: 3,
            self.assign: 2,
            self.usability: 10,
            self.state: 8,
            self.add: 2,
            self.delete: 2,
        }

    def step(self) -> Step:
        kinds = self.kinds()
        return self.random.choices(list(kinds), list(kinds.values()))[0]()

    def control(self) -> bool:
        return self.random.random() < 0.8

    def connection(self) -> int:
        return self.random.randrange(CONNECTIONS)

    def user(self) -> str:
        return self.random.choices(["alice", "bob", "carol", "helen", UNKNOWN], [50, 30, 6, 4, 6])[0]

    def right(self, name: str) -> str | None:
        account = self.model.accounts.get(name)
        return self.random.choice(account.passwords).clear if account and account.passwords else None

    def password(self, name: str, chance_of_right: float) -> str:
        right = self.right(name)
        if right is not None and self.random.random() < chance_of_right:
            return right
        return self.random.choice([WRONG, WRONG, *WORDS])

    def new(self, name: str) -> str:
        account = self.model.accounts.get(name)
        known = [stored.clear for _, stored in account.history] if account else []
        new = self.random.choice([*WORDS, *WORDS, *known, self.right(name) or WORDS[0]])
        # How long a made password is, is the server's choice, so no validator can be asked of it.
        return self.random.choice(WORDS) if new.startswith(MADE) else new

    def wait(self) -> Step:
        if self.random.random() < 0.3:
            return Wait(self.random.randint(1, 5))
        ends = [time for time in self.events() if time > self.model.now]
        if ends and self.random.random() < 0.6:
            return Wait(max(1, self.random.choice(ends) // 1000 - self.model.now // 1000 + self.random.randint(-1, 1)))
        return Wait(max(1, UNIT * self.random.choice([1, 1, 2, 3, 5, 10]) + self.random.randint(-1, 1)))

    def events(self) -> list[int]:
        """When something ends by itself."""
        times = []
        for name in USERS:
            account = self.model.accounts.get(name)
            if account is None:
                continue
            judged = self.model.judge(account)
            policy, changed = judged.policy, judged.changed()
            times += [changed + 1000 * age for age in (policy.min_password_age, policy.max_password_age) if age]
            times += [changed + 1000 * policy.max_password_reset_age] if account.reset else []
            times += [(account.last_login or 0) + 1000 * policy.idle_lockout_interval]
            times += [time + 1000 * policy.lockout_failure_expiration_interval for time in account.failures]
            times += [account.locked + 1000 * policy.lockout_duration] if account.locked else []
            times += [account.warned + 1000 * policy.password_expiration_warning_interval] if account.warned else []
            times += [account.expires] if account.expires else []
        return times

    def bind(self) -> Step:
        if self.random.random() < 0.12:
            name = self.random.choice([ROOT, "helen", "ivan"])
            return Bind(self.connection(), name, self.right(name) or WRONG, self.control())
        name = self.user()
        password = "" if self.random.random() < 0.03 else self.password(name, 0.65)
        return Bind(self.connection(), name, password, self.control())

    def session_step(self) -> Step:
        number, chance = self.connection(), self.random.random()
        if chance < 0.3:
            return Search(number, self.control())
        if chance < 0.45:
            return Compare(number, self.control())
        if chance < 0.6:
            return WhoAmI(number, self.control())
        target = self.model.sessions[number].name
        if target in (None, ROOT) or self.random.random() < 0.2:
            target = self.random.choice(USERS)
        return Describe(number, target, self.control())

    def chosen_change(self) -> tuple[int, str]:
        """Mostly one's own password, or that of a user by somebody who may."""
        number = self.connection()
        own = self.model.sessions[number].name
        if own in PEOPLE and own not in ("helen", "ivan") and self.random.random() < 0.8:
            return number, own
        return number, self.user()

    def change(self) -> Step:
        number, target = self.chosen_change()
        form = self.random.choices(
            ["replace", "delete-add", "add", "delete", "delete-all", "replace-two"], [40, 30, 8, 5, 4, 4]
        )[0]
        account = self.model.accounts.get(target)
        if self.model.sessions[number].name is None and account and not account.passwords:
            return self.bind()
        if self.history_is_undefined(target):
            return self.bind()
        if account and not account.passwords and form.startswith("delete"):
            form = "replace"
        old, new = self.password(target, 0.8), self.new(target)
        if form == "replace-two" and old == new:
            form = "replace"
        return Change(number, target, form, old, new, self.control())

    def extended(self) -> Step:
        number, target = self.chosen_change()
        form = self.random.choices(["dn:", "u:", "dn", "id", "none"], [30, 10, 15, 10, 20])[0]
        if self.history_is_undefined(target):
            return self.bind()
        if Quirk.STALE_OWN_ENTRY in self.model.quirks and form == "none":
            form = "dn:"
        if form == "none":
            target = self.model.sessions[number].name or target
            if target == ROOT:
                form, target = "dn:", "alice"
        old = None if self.random.random() < 0.4 else self.password(target, 0.75)
        chance = self.random.random()
        new = None if chance < 0.15 else "" if chance < 0.18 else self.new(target)
        return Extended(number, target, form, old, new, self.control(), f"{MADE}{self.number}" if new is None else "")

    def history_is_undefined(self, target: str) -> bool:
        """Several passwords would go into a history that has no room for all."""
        account = self.model.accounts.get(target)
        if Quirk.HISTORY_OF_SEVERAL not in self.model.quirks or account is None or len(account.passwords) < 2:
            return False
        judged = self.model.judge(account)
        count = judged.policy.password_history_count
        return bool(count) and len(judged.kept_history()) + len(account.passwords) > count

    def write(self) -> Step:
        name, now = self.random.choice(USERS), self.model.now // 1000
        attribute = self.random.choice(["ds-pwp-account-disabled", "pwdReset", "ds-pwp-account-expiration-time"])
        if attribute != "ds-pwp-account-expiration-time":
            return Write(name, attribute, self.random.choice([True, False, None]))
        return Write(name, attribute, self.random.choice([None, now - 1, now, now + UNIT]))

    def edit(self) -> Step:
        name = self.random.choice(POLICIES)
        other = dict(random_policy(self.random, self.model.now // 1000, self.shared_values, type(self)))
        if not other:
            return self.wait()
        chosen = self.random.sample(sorted(other), min(len(other), 2))
        changes = {one: other[one] for one in chosen}
        after = replace(self.model.policies[name], **changes)
        if not is_sensible(after, type(self)):
            return self.wait()
        return Edit(name, tuple(changes.items()))

    def assign(self) -> Step:
        return Assign(self.random.choice(USERS), self.random.choice([*POLICIES, None]))

    def usability(self) -> Step:
        return Usability(self.random.choice([*USERS, *USERS, "carol"]))

    def state(self) -> Step:
        return State(self.random.choice([*USERS, *USERS, "carol"]))

    def add(self) -> Step:
        missing = [name for name in USERS if name not in self.model.accounts]
        name = self.random.choice(missing or USERS)
        return Add(name, self.random.choice(WORDS), self.control(), self.random.random() < 0.1)

    def delete(self) -> Step:
        return Delete(self.random.choice(USERS))
