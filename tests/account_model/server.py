"""Runs steps at a server with OpenDJ's configuration, so OpenDJ itself and Pando, and reads back what it keeps.

Knows the protocol and `cn=config`; knows nothing of what the answers should be.
"""

import base64
import hashlib
import time
from dataclasses import replace
from datetime import UTC, datetime

from ldap_wire import Ended, Wire, control, elements, integer, octets, sequence
from pando_server import ROOT_DN, ROOT_PW
from settable_clock import SettableClock, generalized_time

from account_model.control import (
    ACCOUNT_USABILITY,
    EXPIRED,
    EXPIRING,
    PASSWORD_MODIFY,
    PASSWORD_POLICY,
    STATE_OPERATION,
)
from account_model.model import ENDED, Reply
from account_model.policy import Policy
from account_model.scene import BASE, FIRST_PASSWORDS, PEOPLE, POLICIES, dn, entry
from account_model.state_operation import TIMES_TOLD, Operation, written_state
from account_model.steps import Change, Delete, Edit, Extended, Step, Write

ADDED, DELETED, REPLACED = 0, 1, 2
SUCCESS, NO_SUCH_OBJECT = 0, 32
WHO_AM_I = "1.3.6.1.4.1.4203.1.11.3"
POLICIES_DN = "cn=Password Policies,cn=config"
# Names of schemes in the configuration.
SCHEMES = {"SSHA256": "Salted SHA-256", "SSHA512": "Salted SHA-512", "SSHA": "Salted SHA-1"}
DIGESTS = {"SSHA": ("sha1", 20), "SSHA256": ("sha256", 32), "SSHA512": ("sha512", 64)}
DURATIONS = (
    "min_password_age",
    "max_password_age",
    "max_password_reset_age",
    "password_expiration_warning_interval",
    "lockout_duration",
    "lockout_failure_expiration_interval",
    "idle_lockout_interval",
    "password_history_duration",
)
LAST_LOGIN_FORMATS = {14: "yyyyMMddHHmmss'Z'", 12: "yyyyMMddHHmm'Z'", 8: "yyyyMMdd"}
TIMES = (
    "pwdChangedTime",
    "pwdAccountLockedTime",
    "ds-pwp-account-expiration-time",
    "ds-pwp-last-login-time",
    "ds-pwp-warned-time",
    "ds-pwp-password-changed-by-required-time",
)
MANY_TIMES = ("pwdFailureTime", "pwdGraceUseTime")
FLAGS = ("pwdReset", "ds-pwp-account-disabled")
SHOWN = (*TIMES, *MANY_TIMES, *FLAGS, "pwdHistory", "pwdLastSuccess", "userPassword")


class Server:
    """`settle_seconds`: how long the server may take to see that its clock was set, or that an account of its sessions
    was changed: OpenDJ tells its sessions after it has answered."""

    root_dn, root_password = ROOT_DN, ROOT_PW
    # For what the server writes after it has answered.
    patience_seconds = 0.0
    # What passes between two steps, for a server that tells changes apart by their times.
    tick_seconds = 0

    def __init__(self, port: int, clock: SettableClock, settle_seconds: float = 0.0):
        self.port, self.clock, self.settle_seconds = port, clock, settle_seconds
        self.root = Wire(port)
        self.done(self.root.bind(self.root_dn, self.root_password))
        self.wires: list[Wire | None] = []
        self.made: dict[str, str] = {}
        self.known: set[str] = set()
        # What a policy has at the server; a property that was never set is as the model has it.
        self.policies: dict[str, Policy] = {}

    @staticmethod
    def done(answer, *also: int) -> None:
        """The answer, or the code alone, says that it is done."""
        assert getattr(answer, "code", answer) in (SUCCESS, *also), answer

    def begin(self, connections: int) -> None:
        """The directory of every history: no lost state, no policy but the default."""
        for wire in self.wires:
            if wire:
                wire.close()
        self.wires = [None] * connections
        self.made, self.known = {}, set(FIRST_PASSWORDS.values())
        for name in PEOPLE:
            self.done(self.root.delete(dn(name, self.root_dn)), NO_SUCH_OBJECT)
        for name in ("default", *POLICIES):
            self.done(self.set_policy(name, self.policies.get(name), Policy()))
        for name in PEOPLE:
            self.done(self.root.add(dn(name, self.root_dn), self.entry(name)))

    def entry(self, name: str) -> dict[str, list]:
        return entry(name)

    def wait(self, seconds: int) -> None:
        self.clock.set(self.clock.seconds + seconds)
        time.sleep(self.settle_seconds)

    # ---------------------------------------------------------------------------------------------------- policies

    def policy_dn(self, name: str) -> str:
        return f"cn={'Default Password Policy' if name == 'default' else name},{POLICIES_DN}"

    def set_policy(self, name: str, before: Policy | None, after: Policy) -> int:
        """In one modification, so that no state in between has to be consistent."""
        if before is None:
            scheme = self.scheme_dn(after.default_password_storage_scheme)
            if name != "default":
                attributes = {
                    "objectClass": ["top", "ds-cfg-authentication-policy", "ds-cfg-password-policy"],
                    "cn": [name],
                    "ds-cfg-java-class": ["org.opends.server.core.PasswordPolicyFactory"],
                    "ds-cfg-password-attribute": ["userPassword"],
                    "ds-cfg-default-password-storage-scheme": [scheme],
                    "ds-cfg-password-generator": ["cn=Random Password Generator,cn=Password Generators,cn=config"],
                }
                self.done(self.root.delete(self.policy_dn(name)), NO_SUCH_OBJECT)
                self.done(self.root.add(self.policy_dn(name), attributes))
            else:
                self.done(
                    self.root.modify(
                        self.policy_dn(name), [(REPLACED, "ds-cfg-default-password-storage-scheme", [scheme])]
                    )
                )
            before = Policy()
        changes = []
        for name_of_property in after.differs_from(before):
            changes += self.property_changes(name_of_property, getattr(after, name_of_property))
        if changes:
            code = self.root.modify(self.policy_dn(name), changes).code
            if code != SUCCESS:
                return code
        self.policies[name] = after
        return SUCCESS

    @staticmethod
    def scheme_dn(scheme: str) -> str:
        return f"cn={SCHEMES[scheme]},cn=Password Storage Schemes,cn=config"

    def property_changes(self, name: str, value) -> list:
        attribute = "ds-cfg-" + name.replace("_", "-")
        if name == "last_login_precision":
            kept = "ds-pwp-last-login-time" if value else None
            written = LAST_LOGIN_FORMATS.get(value)
            return [
                (REPLACED, "ds-cfg-last-login-time-attribute", [kept] if kept else []),
                (REPLACED, "ds-cfg-last-login-time-format", [written] if written else []),
            ]
        if name == "min_password_length":
            return [(REPLACED, "ds-cfg-password-validator", [self.validator(value)] if value else [])]
        if name.endswith("storage_scheme"):
            return [(REPLACED, attribute, [self.scheme_dn(value)] if value else [])]
        if name == "require_change_by_time":
            return [(REPLACED, attribute, [generalized_time(value)] if value else [])]
        if name in DURATIONS:
            return [(REPLACED, attribute, [f"{value} seconds"])]
        return [(REPLACED, attribute, [str(value).lower()])]

    def validator(self, length: int) -> str:
        """Makes a validator of lengths when there is none for this length yet."""
        name = f"cn=length {length},cn=Password Validators,cn=config"
        attributes = {
            "objectClass": ["top", "ds-cfg-password-validator", "ds-cfg-length-based-password-validator"],
            "cn": [f"length {length}"],
            "ds-cfg-java-class": ["org.opends.server.extensions.LengthBasedPasswordValidator"],
            "ds-cfg-enabled": ["true"],
            "ds-cfg-min-password-length": [str(length)],
        }
        self.done(self.root.add(name, attributes), 68)
        return name

    # ------------------------------------------------------------------------------------------------------- steps

    def run(self, step: Step) -> Reply:
        number = getattr(step, "connection", None)
        if number is not None and self.wires[number] is None:
            self.wires[number] = Wire(self.port)
        try:
            reply = getattr(self, "run_" + type(step).__name__.lower())(step)
            if isinstance(step, (Change, Extended, Delete, Write)):
                time.sleep(self.settle_seconds / 4)
            return reply
        except Ended:
            self.wires[number].close()
            self.wires[number] = None
            return Reply(ENDED)

    @staticmethod
    def controls(step) -> list[bytes]:
        return [control(PASSWORD_POLICY)] if step.control else []

    @staticmethod
    def reply(answer, more: str | None = None) -> Reply:
        netscape = tuple((oid, answer.controls[oid]) for oid in (EXPIRED, EXPIRING) if oid in answer.controls)
        return Reply(answer.code, answer.controls.get(PASSWORD_POLICY), netscape, more)

    def clear(self, password: str) -> str:
        """The password, which the server may have made."""
        found = self.made.get(password, password)
        self.known.add(found)
        return found

    def run_wait(self, step) -> Reply:
        self.wait(step.seconds)
        return Reply(SUCCESS)

    def run_edit(self, step: Edit) -> Reply:
        before = self.policies[step.policy]
        return Reply(self.set_policy(step.policy, before, replace(before, **dict(step.changes))))

    def run_assign(self, step) -> Reply:
        values = [self.policy_dn(step.policy)] if step.policy else []
        return Reply(
            self.root.modify(dn(step.target, self.root_dn), [(REPLACED, "ds-pwp-password-policy-dn", values)]).code
        )

    def run_bind(self, step) -> Reply:
        if step.name == "root":
            answer = self.wires[step.connection].bind(self.root_dn, self.root_password, *self.controls(step))
        else:
            name = dn(step.name, self.root_dn)
            answer = self.wires[step.connection].bind(name, self.clear(step.password), *self.controls(step))
        return self.reply(answer)

    def run_search(self, step) -> Reply:
        answer = self.wires[step.connection].search(BASE, *self.controls(step), attributes=["1.1"])
        return self.reply(answer)

    def run_compare(self, step) -> Reply:
        return self.reply(self.wires[step.connection].compare(BASE, "dc", "example", *self.controls(step)))

    def run_whoami(self, step) -> Reply:
        return self.reply(self.wires[step.connection].extended(WHO_AM_I, None, *self.controls(step)))

    def run_describe(self, step) -> Reply:
        changes = [(REPLACED, "description", [f"at {self.clock.seconds}"])]
        return self.reply(
            self.wires[step.connection].modify(dn(step.target, self.root_dn), changes, *self.controls(step))
        )

    def run_change(self, step: Change) -> Reply:
        old, new = self.clear(step.old), self.clear(step.new)
        changes = {
            "replace": [(REPLACED, [new])],
            "replace-two": [(REPLACED, [new, old])],
            "delete-add": [(DELETED, [old]), (ADDED, [new])],
            "add": [(ADDED, [new])],
            "delete": [(DELETED, [old])],
            "delete-all": [(DELETED, [])],
        }[step.form]
        listed = [(kind, "userPassword", values) for kind, values in changes]
        return self.reply(
            self.wires[step.connection].modify(dn(step.target, self.root_dn), listed, *self.controls(step))
        )

    def run_extended(self, step: Extended) -> Reply:
        name = dn(step.target, self.root_dn)
        identity = {"dn:": f"dn:{name}", "u:": f"u:{step.target}", "dn": name, "id": step.target, "none": None}
        parts = [
            octets(value, tag)
            for tag, value in (
                (0x80, identity[step.form]),
                (0x81, None if step.old is None else self.clear(step.old)),
                (0x82, None if step.new is None else self.clear(step.new)),
            )
            if value is not None
        ]
        answer = self.wires[step.connection].extended(PASSWORD_MODIFY, sequence(*parts), *self.controls(step))
        made = None
        if answer.value is not None:
            assert answer.value[2] == 0x80 and answer.value[3] == len(answer.value) - 4, answer.value
            self.made[step.made] = answer.value[4:].decode()
            self.known.add(self.made[step.made])
            made = "made"
        return self.reply(answer, made)

    def run_add(self, step) -> Reply:
        attributes = self.entry(step.target)
        attributes.pop("userPassword", None)
        if step.password:
            given = self.clear(step.password)
            attributes["userPassword"] = [encoded(given) if step.encoded else given]
        return self.reply(self.root.add(dn(step.target, self.root_dn), attributes, *self.controls(step)))

    def run_delete(self, step) -> Reply:
        return Reply(self.root.delete(dn(step.target, self.root_dn)).code)

    def run_write(self, step) -> Reply:
        value = step.value
        if value is None:
            values = []
        elif isinstance(value, bool):
            values = [str(value).upper()]
        else:
            values = [generalized_time(value)]
        return Reply(self.root.modify(dn(step.target, self.root_dn), [(REPLACED, step.attribute, values)]).code)

    def run_usability(self, step) -> Reply:
        answer = self.root.search(dn(step.target, self.root_dn), control(ACCOUNT_USABILITY), attributes=["1.1"])
        more = answer.entries[0].controls.get(ACCOUNT_USABILITY) if answer.entries else None
        return Reply(answer.code, more=more and more.hex())

    def run_state(self, step) -> Reply:
        operations = [
            sequence(integer(number, 0x0A), b"" if value is None else sequence(octets(self.operation_value(value))))
            for number, value in step.operations
        ]
        request = sequence(octets(dn(step.target, self.root_dn)), sequence(*operations) if operations else b"")
        answer = self.root.extended(STATE_OPERATION, request)
        if answer.value is None or step.operations:
            return Reply(answer.code)
        told = {}
        ((_, content),) = elements(answer.value)
        (_, _), (_, listed) = elements(content)
        for _, one in elements(listed):
            (_, number), *rest = elements(one)
            told[int.from_bytes(number)] = [value.decode() for _, value in elements(rest[0][1])] if rest else []
        return Reply(answer.code, more=written_state(self.told_values(told)))

    @staticmethod
    def operation_value(value: str) -> str:
        return generalized_time(int(value)) if value.isdigit() else value

    def told_values(self, told: dict[int, list[str]]) -> dict[int, list]:
        """Times in milliseconds, history by the known passwords, without the name of the policy."""
        found = {}
        for number, values in told.items():
            if number in TIMES_TOLD:
                found[number] = sorted(map(milliseconds, values))
            elif number == Operation.GET_HISTORY:
                found[number] = sorted(self.history_value(value) for value in values)
            elif number != Operation.GET_POLICY:
                found[number] = values
        return found

    # ------------------------------------------------------------------------------------------------------- state

    def shown(self) -> dict[str, dict]:
        """The state of every account in the model's form."""
        found = self.root.search(BASE, attributes=("uid", *SHOWN), scope=1)
        shown = {}
        for one in found.entries:
            if "uid" not in one.attributes:
                continue
            held = {kind.lower(): [value.decode() for value in values] for kind, values in one.attributes.items()}
            shown[held["uid"][0]] = self.in_form(held)
        return shown

    def in_form(self, held: dict[str, list[str]]) -> dict:
        state = {}
        for kind in TIMES:
            values = held.get(kind.lower(), [])
            state[kind] = milliseconds(values[0]) if values else None
        for kind in MANY_TIMES:
            state[kind] = sorted(map(milliseconds, held.get(kind.lower(), [])))
        for kind in FLAGS:
            state[kind] = [value.lower() for value in held.get(kind.lower(), [])] == ["true"]
        state["pwdHistory"] = sorted(self.history_value(value) for value in held.get("pwdhistory", []))
        state["userPassword"] = sorted(self.stored(value) for value in held.get("userpassword", []))
        return state

    def history_value(self, value: str) -> tuple[int, str]:
        time, _, rest = value.partition("#")
        return milliseconds(time) // 1000, self.stored(rest[rest.index("{") :])[1]

    def stored(self, value: str) -> tuple[str, str]:
        """The scheme, and which known password the value is; a made one by its name."""
        scheme, _, rest = value[1:].partition("}")
        names = {clear: name for name, clear in self.made.items()}
        digest, size = DIGESTS[scheme]
        octets_ = base64.b64decode(rest)
        for clear in self.known:
            if hashlib.new(digest, clear.encode() + octets_[size:]).digest() == octets_[:size]:
                return scheme, names.get(clear, clear)
        return scheme, "?"


def encoded(clear: str) -> str:
    return "{SSHA}" + base64.b64encode(hashlib.sha1(clear.encode() + b"saltsalt").digest() + b"saltsalt").decode()


def milliseconds(value: str) -> int:
    whole, _, fraction = value.rstrip("Z").partition(".")
    time = datetime.strptime(whole.ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    return int(time.timestamp()) * 1000 + int((fraction or "0").ljust(3, "0")[:3])
