"""Passwords that are guessed while the server is killed: what is counted, locked and unlocked stays so.

A wrong password is answered when its failure is on disk. A right one clears the failures, and need not wait for that.
"""

import ldap
from account_model.control import STATE_OPERATION
from account_model.state_operation import Operation
from crash_load import Load
from ldap.extop import ExtendedRequest
from ldap_wire import integer, octets, sequence
from pando_server import BASE, Pando

GUESSED = f"ou=Guessed,{BASE}"
ACCOUNTS = [f"guess.{n}" for n in range(6)]
PASSWORD = "the right one"
# So many wrong passwords lock, until somebody unlocks.
LIMIT = 4


def plant_accounts(con) -> None:
    con.add_s(GUESSED, [("objectClass", [b"organizationalUnit"])])
    policy = {"pwdAttribute": "userPassword", "pwdLockout": "TRUE", "pwdMaxFailure": str(LIMIT)}
    attributes = {"subtreeSpecification": "{}", "pwdLockoutDuration": "0", **policy}
    con.add_s(
        f"cn=Lock,{GUESSED}",
        [("objectClass", [b"subentry", b"pwdPolicy"]), *((name, [it.encode()]) for name, it in attributes.items())],
    )
    for name in ACCOUNTS:
        person = {"objectClass": "inetOrgPerson", "cn": name, "sn": "Guessed", "userPassword": PASSWORD}
        con.add_s(dn_of(name), [(key, [value.encode()]) for key, value in person.items()])


def dn_of(name: str) -> str:
    return f"uid={name},{GUESSED}"


class Guesser(Load):
    """Binds with wrong and right passwords, and unlocks."""

    def __init__(self, server: Pando, failures: dict, seed: float):
        super().__init__("guesser", server, seed)
        # name → how many failures there are, and how many there may be after a crash
        self.failures = failures

    def step(self, con):
        name = self.random.choice(ACCOUNTS)
        now, _ = self.failures.setdefault(name, (0, {0}))
        if now == LIMIT and self.random.randrange(2):
            self.unlock(con, name)
        elif self.random.randrange(4) == 0:
            self.right(name)
        else:
            self.wrong(name)
        self.done += 1

    def wrong(self, name: str) -> None:
        now, kept = self.failures[name]
        after = min(now + 1, LIMIT)
        self.failures[name] = now, kept | {now, after}
        assert self.bind(name, "a wrong one") == ldap.INVALID_CREDENTIALS.errnum
        self.failures[name] = after, {after}

    def right(self, name: str) -> None:
        now, kept = self.failures[name]
        if now == LIMIT:
            assert self.bind(name, PASSWORD) == ldap.INVALID_CREDENTIALS.errnum, f"{name} is not locked"
            return
        self.failures[name] = now, kept | {now, 0}
        assert self.bind(name, PASSWORD) == 0, f"{name} cannot bind after {now} failures"
        self.failures[name] = 0, kept | {now, 0}

    def unlock(self, con, name: str) -> None:
        """As an administrator: by the state operation, or by another password."""
        now, kept = self.failures[name]
        self.failures[name] = now, kept | {now, 0}
        if self.random.randrange(2):
            operation = sequence(integer(Operation.CLEAR_FAILURES, 0x0A))
            value = sequence(octets(dn_of(name)), sequence(operation))
            request = ExtendedRequest(STATE_OPERATION, None)
            request.encodedRequestValue = lambda: value
            con.extop_s(request)
        else:
            con.modify_s(dn_of(name), [(ldap.MOD_REPLACE, "userPassword", [PASSWORD.encode()])])
        self.failures[name] = 0, {0}

    def bind(self, name: str, password: str) -> int:
        """On a connection of its own: the server holds answers back after several failures on one."""
        con = ldap.initialize(self.server.url)
        try:
            con.simple_bind_s(dn_of(name), password)
            return 0
        except ldap.INVALID_CREDENTIALS:
            return ldap.INVALID_CREDENTIALS.errnum
        finally:
            con.unbind_s()


def check_guesses(server: Pando, guesser: Guesser) -> None:
    """After a crash, with the server started again."""
    con = server.connect()
    for name, (_, kept) in guesser.failures.items():
        wanted = ["pwdFailureTime", "pwdAccountLockedTime"]
        ((_, attributes),) = con.search_s(dn_of(name), ldap.SCOPE_BASE, attrlist=wanted)
        found = len(attributes.get("pwdFailureTime", []))
        assert found in kept, f"{name} has {found} failures, and should have {sorted(kept)}"
        is_locked = "pwdAccountLockedTime" in attributes
        assert is_locked == (found == LIMIT), f"{name} has {found} failures, and {attributes}"
        guesser.failures[name] = found, {found}
    con.unbind_s()
