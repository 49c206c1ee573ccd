#!/usr/bin/env python3
"""kill -9 under write load, again and again: every acknowledged change must be there, nothing half applied, the indexes clean.

  crash_rounds.py ROUNDS [SEED]     100 rounds are the figure to report; the test suite runs a few

Each writer owns its entries, so that it knows what every one of them must look like: the state that was acknowledged
last, or the state that the one update in flight at the kill would have made. Each modify writes the same number into
two attributes (one of them substring-indexed), so that half an update would show. Groups have all of them as members, and referential
integrity works a second behind, so that most kills meet it with work to do: in the end no member may name what is not there.
"""
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import ldap

from pando_server import BASE, DIRECTORY_LDIF, ROOT_DN, ROOT_PW, Pando

WRITERS = 6
ENTRIES_PER_WRITER = 12
PEOPLE = f"ou=People,{BASE}"
STRANGE = f"ou=Strange,{BASE}"
ABSENT = None
GROUPS = [f"cn=crash.{n},ou=Groups,{BASE}" for n in range(3)]
RULES = f"""
[plugin."Referential Integrity"]
type = "referential-integrity"
update-interval = "1 s"

[plugin.mail]
type = "unique-attribute"
attribute-type = "mail"

[plugin.number]
type = "constraint"
attribute-type = "employeeNumber"
count = 1
pattern = "^[0-9]+$"
"""


def with_rules(server: Pando) -> Pando:
    """Before its start: puts the rules into force that work beside the writers."""
    with open(server.dir / "pando.toml", "a") as file:
        file.write(RULES)
    return server


class Writer(threading.Thread):
    """Does random updates on its own entries until the server is gone."""

    def __init__(self, number: int, server: Pando, state: dict, seed: int):
        super().__init__(daemon=True)
        self.number, self.server, self.random = number, server, random.Random(seed)
        # name → (parent, counter), or ABSENT; what was acknowledged
        self.acknowledged = state
        # name → the state that the update in flight would make
        self.in_flight: dict = {}
        self.done = 0
        self.failure: str | None = None

    def run(self):
        try:
            con = ldap.initialize(self.server.url)
            con.set_option(ldap.OPT_NETWORK_TIMEOUT, 5)
            con.simple_bind_s(ROOT_DN, ROOT_PW)
            while True:
                self.step(con)
        except (ldap.SERVER_DOWN, ldap.CONNECT_ERROR, ldap.TIMEOUT, ldap.UNAVAILABLE):
            pass
        except ldap.LDAPError as e:
            self.failure = f"writer {self.number}: {type(e).__name__} {e} for {self.in_flight}"

    def step(self, con):
        name = f"crash.{self.number}.{self.random.randrange(ENTRIES_PER_WRITER)}"
        old = self.acknowledged.get(name, ABSENT)
        if old is ABSENT:
            new = (PEOPLE, self.random.randrange(10**9))
            update = lambda: self.add(con, name, new)
        else:
            parent, counter = old
            kind = self.random.randrange(10)
            if kind == 0:
                new = ABSENT
                update = lambda: con.delete_s(f"uid={name},{parent}")
            elif kind == 1:
                new = (STRANGE if parent == PEOPLE else PEOPLE, counter)
                update = lambda: con.rename_s(f"uid={name},{parent}", f"uid={name}", newsuperior=new[0])
            else:
                new = (parent, counter + 1)
                value = str(counter + 1).encode()
                update = lambda: con.modify_s(f"uid={name},{parent}", [(ldap.MOD_REPLACE, "employeeNumber", [value]), (ldap.MOD_REPLACE, "cn", [b"Counter " + value])])
        self.in_flight = {name: new}
        update()
        self.acknowledged[name] = new
        self.in_flight = {}
        self.done += 1


    def add(self, con, name, new):
        dn = f"uid={name},{new[0]}"
        con.add_s(dn, entry(name, new[1]))
        for group in GROUPS:
            try:
                con.modify_s(group, [(ldap.MOD_ADD, "member", [dn.encode()])])
            except ldap.TYPE_OR_VALUE_EXISTS:
                pass  # of the entry that had the name before: it goes when its time has come


def entry(name, counter):
    attrs = {"objectClass": "inetOrgPerson", "uid": name, "sn": "Crash", "cn": f"Counter {counter}", "employeeNumber": str(counter), "mail": f"{name}@example.com"}
    return [(k, [v.encode()]) for k, v in attrs.items()]


def read_all(server: Pando) -> dict:
    """name → (parent, counter) of every entry that a writer made; raises where the two attributes differ."""
    con = ldap.initialize(server.url)
    con.simple_bind_s(ROOT_DN, ROOT_PW)
    found = {}
    for dn, attrs in con.search_s(BASE, ldap.SCOPE_SUBTREE, "(sn=Crash)", ["uid", "cn", "employeeNumber"]):
        if dn is None:
            continue  # the continuation reference of the directory's referral object
        name, parent = dn.removeprefix("uid=").split(",", 1)
        counter = int(attrs["employeeNumber"][0])
        assert attrs["cn"] == [f"Counter {counter}".encode()], f"{dn} is half changed: {attrs}"
        assert name not in found, f"{name} is there twice"
        found[name] = (parent, counter)
        hits = con.search_s(BASE, ldap.SCOPE_SUBTREE, f"(cn=*nter {counter}*)", ["1.1"])
        assert dn in [d for d, _ in hits], f"the substring index does not know {dn}"
    con.unbind_s()
    return found


def check_members(server: Pando):
    """Waits until references are clean; then every member is there."""
    con = ldap.initialize(server.url)
    con.simple_bind_s(ROOT_DN, ROOT_PW)
    waiting = lambda: con.search_s("cn=Referential Integrity,cn=monitor", ldap.SCOPE_BASE)[0][1]["queue-length"] != [b"0"]
    deadline = time.time() + 60
    while waiting():
        assert time.time() < deadline, "references are not cleaned"
        time.sleep(0.05)
    for group in GROUPS:
        for member in con.search_s(group, ldap.SCOPE_BASE, attrlist=["member"])[0][1]["member"]:
            con.search_s(member.decode(), ldap.SCOPE_BASE, attrlist=["1.1"])
    con.unbind_s()


def one_round(server: Pando, states: list[dict], rng: random.Random) -> int:
    """Load, kill, restart, compare; gives the number of acknowledged updates."""
    writers = [Writer(n, server, states[n], rng.random()) for n in range(WRITERS)]
    for w in writers:
        w.start()
    time.sleep(rng.uniform(0.05, 1.5))
    server.kill()
    for w in writers:
        w.join(30)
        assert w.failure is None, w.failure
    server.start()
    found = read_all(server)
    check_members(server)
    for w in writers:
        for name in {f"crash.{w.number}.{i}" for i in range(ENTRIES_PER_WRITER)}:
            expected = [w.acknowledged.get(name, ABSENT)] + ([w.in_flight[name]] if name in w.in_flight else [])
            actual = found.get(name, ABSENT)
            assert actual in expected, f"{name}: acknowledged {expected[0]}, in flight {expected[1:]}, found {actual}"
            states[w.number][name] = actual
    return sum(w.done for w in writers)


def rounds(server: Pando, count: int, seed: int, report=lambda line: None) -> int:
    rng = random.Random(seed)
    states = [{} for _ in range(WRITERS)]
    con = ldap.initialize(server.url)
    con.simple_bind_s(ROOT_DN, ROOT_PW)
    for group in GROUPS:
        con.add_s(group, [("objectClass", [b"groupOfNames"]), ("member", [f"uid=user.1,{PEOPLE}".encode()])])
    con.unbind_s()
    total = 0
    for n in range(count):
        total += one_round(server, states, rng)
        if n % 10 == 9 or n == count - 1:
            server.kill()
            server.tool("verify-index", "-b", BASE)
            report(f"round {n + 1}: {total} acknowledged updates so far, all there; verify-index clean")
            server.start()
    return total


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    print(f"{count} rounds, seed {seed}")
    with tempfile.TemporaryDirectory() as folder:
        server = with_rules(Pando(Path(folder) / "inst").setup().import_ldif(DIRECTORY_LDIF)).start()
        try:
            total = rounds(server, count, seed, print)
        finally:
            if server.process:
                server.kill()
    print(f"{count} rounds, {total} acknowledged updates, none lost, none half applied")


if __name__ == "__main__":
    main()
