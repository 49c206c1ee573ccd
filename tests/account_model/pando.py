"""Pando with both kinds of policies: entries of the class pwdPolicy, and tables of pando.toml. Its own one-time codes.

Knows how the policies are written and the codes made; what is right is as in the model.
"""

import base64
import hmac
import re
from dataclasses import replace
from random import Random
from urllib.parse import parse_qs, urlparse

from ldap_wire import elements, integer, octets, sequence, tlv
from pando_server import BASE, Pando
from settable_clock import SettableClock, generalized_time

from account_model.account import Account, Judgement
from account_model.control import ACCOUNT_USABILITY, STATE_OPERATION
from account_model.model import NO_SUCH_OBJECT, UNWILLING, Reply
from account_model.policy import DAY, Policy
from account_model.random_history import UNIT, Maker
from account_model.scene import POLICIES, dn
from account_model.second_factor import TOTP, SecondFactorMaker, SecondFactorModel, told_tokens
from account_model.server import DURATIONS, LAST_LOGIN_FORMATS, REPLACED, SCHEMES, SUCCESS, Server
from account_model.slapd import ATTRIBUTES
from account_model.steps import Bind, Code, Confirm, Enrol, Extended, Remove, Search, Tokens

SECOND_FACTOR = "2.25.175513028506401587346170323351613111380.1.4"
LIST, ENROL, CONFIRM, REMOVE = 0x80, 0xA1, 0xA2, 0x83
TRUE = b"\xff"


class PandoServer(Server):
    # First warnings and last logins are written together with those of others, and passwords are stored anew by a
    # thread of its own: no bind waits for that.
    patience_seconds = 2.0
    tick_seconds = 1

    def __init__(self, port: int, clock: SettableClock):
        super().__init__(port, clock)
        # Of each account and name the token that was made last: what it is, and its secret.
        self.secrets: dict[tuple[str, str], tuple[Enrol, bytes]] = {}

    def begin(self, connections: int) -> None:
        self.secrets = {}
        super().begin(connections)

    def sent(self, name: str, password: str, code: Code | None) -> str:
        return self.clear(password) + (self.digits(name, code) if code else "")

    def digits(self, name: str, code: Code) -> str:
        """What an authenticator shows (RFC 4226, RFC 6238); of no token, what is surely wrong."""
        if (name, code.token) not in self.secrets:
            return "000000"
        token, secret = self.secrets[name, code.token]
        counter = code.number + (self.clock.seconds // token.period if token.kind == TOTP else 0)
        digest = hmac.digest(secret, counter.to_bytes(8), token.algorithm)
        at = digest[-1] & 0x0F
        number = int.from_bytes(digest[at : at + 4]) & 0x7FFFFFFF
        return f"{number % 10**token.digits:0{token.digits}}"

    def run_bind(self, step: Bind) -> Reply:
        if step.code:
            step = replace(step, password=self.sent(step.name, step.password, step.code), code=None)
        return super().run_bind(step)

    def run_extended(self, step: Extended) -> Reply:
        if step.code:
            step = replace(step, old=self.sent(step.target, step.old, step.code), code=None)
        return super().run_extended(step)

    def manage(self, wire, step, action: bytes):
        request = sequence(octets(dn(step.target, self.root_dn)), action)
        return wire.extended(SECOND_FACTOR, request, *(self.controls(step) if hasattr(step, "control") else ()))

    def run_enrol(self, step: Enrol) -> Reply:
        words = map(octets, (step.name, step.kind, step.algorithm))
        answer = self.manage(
            self.wires[step.connection], step, tlv(ENROL, *words, *map(integer, (step.digits, step.period, 0)))
        )
        if answer.code == SUCCESS:
            ((_, content),) = elements(answer.value)
            (_, uri), *_ = elements(content)
            (secret,) = parse_qs(urlparse(uri.decode()).query)["secret"]
            self.secrets[step.target, step.name] = step, base64.b32decode(secret + "=" * (-len(secret) % 8))
        return self.reply(answer)

    def run_confirm(self, step: Confirm) -> Reply:
        shown = octets(step.code.token), octets(self.digits(step.target, step.code))
        return self.reply(self.manage(self.wires[step.connection], step, tlv(CONFIRM, *shown)))

    def run_remove(self, step: Remove) -> Reply:
        return self.reply(self.manage(self.wires[step.connection], step, octets(step.name, REMOVE)))

    def run_tokens(self, step: Tokens) -> Reply:
        answer = self.manage(self.root, step, tlv(LIST))
        if answer.code != SUCCESS:
            return Reply(answer.code)
        ((_, content),) = elements(answer.value)
        (_, listed), *required = elements(content)
        known = []
        for _, token in elements(listed):
            name, kind, digits, active = (value for _, value in elements(token))
            known.append((name.decode(), kind.decode(), int.from_bytes(digits), active == TRUE))
        return Reply(answer.code, more=told_tokens(known, any(value == TRUE for _, value in required)))


class PandoModel(SecondFactorModel):
    def run_search(self, step: Search) -> Reply:
        """Who may see nothing of an entry is told that there is none."""
        if not self.sessions[step.connection].ended and self.sessions[step.connection].name is None:
            return Reply(NO_SUCH_OBJECT)
        return super().run_search(step)

    def note_login(self, judged: Judgement) -> None:
        """Not while the time that is kept is young enough: a day, or a tenth of what locks an idle account."""
        account, policy = judged.account, judged.policy
        interval, idle = 1000 * policy.last_login_interval, 1000 * policy.idle_lockout_interval
        interval = min(interval, idle // 10) if idle else interval
        last = account.last_login
        if last is None or (last < self.now and self.now - last >= interval):
            super().note_login(judged)


class PandoMaker(SecondFactorMaker):
    tick_seconds = PandoServer.tick_seconds


# ------------------------------------------------------------------------------------------------- policies as entries


class EntryServer(PandoServer):
    """The default is that of the configuration, which stays as it is."""

    def policy_dn(self, name: str) -> str:
        return f"cn={name},{BASE}"

    def set_policy(self, name: str, before: Policy | None, after: Policy) -> int:
        if name == "default":
            self.policies[name] = after
            return SUCCESS
        if before is None:
            attributes = {"objectClass": ["top", "device", "pwdPolicy"], "cn": [name]}
            self.done(self.root.add(self.policy_dn(name), attributes | {"pwdAttribute": ["userPassword"]}))
            before = Policy()
        changes = []
        for one in after.differs_from(before):
            value = getattr(after, one)
            written = str(value).upper() if isinstance(value, bool) else str(value)
            changes.append((REPLACED, ATTRIBUTES[one], [written]))
        if changes:
            code = self.root.modify(self.policy_dn(name), changes).code
            if code != SUCCESS:
                return code
        self.policies[name] = after
        return SUCCESS

    def in_form(self, held: dict[str, list[str]]) -> dict:
        # Where such a policy has the times of logins kept.
        logins = {"ds-pwp-last-login-time": held.get("pwdlastsuccess", [])}
        return without_schemes(super().in_form(held | logins))


def without_schemes(state: dict) -> dict:
    return state | {"userPassword": sorted(clear for _, clear in state["userPassword"])}


class EntryModel(PandoModel):
    @staticmethod
    def shown(account: Account) -> dict:
        return without_schemes(account.shown())

    def judge(self, account: Account) -> Judgement:
        """The lock of idle accounts brings its own times of logins along, with all their digits."""
        judged = super().judge(account)
        if judged.policy.idle_lockout_interval:
            kept = {"last_login_precision": 17, "last_login_interval": DAY}
            judged.policy = replace(judged.policy, **kept)
        return judged


def entry_maker(server: PandoServer) -> type[Maker]:
    """Asks for what such policies can say, and for what the server announces."""
    root = server.root.search("", attributes=["supportedControl", "supportedExtension"]).entries[0]
    announced = {value.decode() for values in root.attributes.values() for value in values}

    class EntryMaker(PandoMaker):
        properties = frozenset(ATTRIBUTES)
        logins_are_kept = True

        def kinds(self):
            needs = {self.usability: ACCOUNT_USABILITY, self.state: STATE_OPERATION}
            kinds = super().kinds()
            return {make: weight for make, weight in kinds.items() if needs.get(make) in {None, *announced}}

    return EntryMaker


# ---------------------------------------------------------------------------------------------- policies of the file


class FileServer(PandoServer):
    def __init__(self, instance: Pando, clock: SettableClock):
        super().__init__(instance.port, clock)
        self.instance = instance
        default = re.compile(r'^\[password-policy\."Default Password Policy"\]\n.*?(?=^\[|\Z)', re.M | re.S)
        self.rest = default.sub("", instance.config.read_text())
        self.written = ""

    def begin(self, connections: int) -> None:
        """All policies at once, so that the server reads its file once."""
        self.policies = {name: Policy() for name in ("default", *POLICIES)}
        assert self.write() == SUCCESS
        super().begin(connections)

    def set_policy(self, name: str, before: Policy | None, after: Policy) -> int:
        kept = self.policies[name]
        self.policies[name] = after
        code = self.write()
        if code != SUCCESS:
            self.policies[name] = kept
        return code

    def write(self) -> int:
        tables = "".join(self.table(name, policy) for name, policy in self.policies.items())
        lengths = sorted({policy.min_password_length for policy in self.policies.values()} - {0})
        for length in lengths:
            tables += (
                f'\n[password-validator."length {length}"]\ntype = "length-based"\nmin-password-length = {length}\n'
            )
        if tables == self.written:
            return SUCCESS
        self.instance.config.write_text(self.rest + tables)
        if self.instance.tool("reload", check=False).returncode != 0:
            self.instance.config.write_text(self.rest + self.written)
            return UNWILLING
        self.written = tables
        return SUCCESS

    @staticmethod
    def table(name: str, policy: Policy) -> str:
        title = "Default Password Policy" if name == "default" else name
        changed = {"default_password_storage_scheme", *policy.differs_from(Policy())}
        # What is off by default here is on at the server.
        changed |= {"last_login_interval"} if policy.last_login_precision else set()
        lines = [line for one in sorted(changed) for line in property_lines(one, getattr(policy, one))]
        return "\n".join([f'\n[password-policy."{title}"]', *lines, ""])


def property_lines(name: str, value) -> list[str]:
    """A property as the file has it; nothing where it is off."""
    written = name.replace("_", "-")
    if name == "last_login_precision":
        text = f'last-login-time-format = "{LAST_LOGIN_FORMATS[value]}"' if value else ""
        return ['last-login-time-attribute = "ds-pwp-last-login-time"', text] if value else []
    if name == "last_login_interval":
        return [f'last-login-time-precision = "{value} s"']
    if name == "min_password_length":
        return [f'password-validator = "length {value}"'] if value else []
    if name.endswith("storage_scheme"):
        return [f'{written} = "{SCHEMES[value]}"'] if value else []
    if name == "require_change_by_time":
        return [f'{written} = "{generalized_time(value)}"'] if value else []
    if name in DURATIONS:
        return [f'{written} = "{value} s"']
    return [f"{written} = {str(value).lower()}"]


class FileMaker(PandoMaker):
    @staticmethod
    def shared(random: Random) -> dict[str, int]:
        return Maker.shared(random) | {"last_login_interval": random.choice((UNIT, 10 * UNIT, DAY))}

    @staticmethod
    def further(random: Random) -> dict[str, int | bool]:
        return {
            "require_second_factor": random.random() < 0.15,
            "second_factor_window": random.choice((0, 1, 1, 2)),
            "second_factor_look_ahead": random.choice((0, 3, 10, 10)),
        }
