#!/usr/bin/env python3
"""kill -9 under write load, again and again: every acknowledged change must be there, nothing half applied, the indexes
clean.

  crash_rounds.py ROUNDS [SEED]     100 rounds are the figure to report; the test suite runs a few

Each writer owns its entries, so that it knows what every one of them must look like: the state that was acknowledged
last, or the state that the update in flight at the kill would have made; of a transaction in flight, all or nothing.
Each modify writes the same number into two attributes (one of them substring-indexed), so that half an update would
show. Writers race for a few mail addresses that only one may have. One more thread puts people into a crowd of groups
and deletes or renames them at once, so that many kills meet a clean-up half done; referential integrity works at once
in some rounds and a second behind in others; another one changes roles and a class of service. In the end no reference
names nobody, and every entry's groups, roles and given values are those of a computation from scratch, and cn=changelog
tells the same entries. Passwords are guessed all the while: no failure that was answered is forgotten, and no account
that was unlocked is locked again."""

import contextlib
import random
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import ldap
import membership
from changelog_mirror import Mirror
from crash_guesses import Guesser, check_guesses, plant_accounts
from crash_load import Load
from ldap.controls import LDAPControl
from ldap.extop import ExtendedRequest
from ldap_wire import octets, sequence
from pando_server import BASE, DIRECTORY_LDIF, Pando, until

WRITERS = 6
ENTRIES_PER_WRITER = 12
PEOPLE = f"ou=People,{BASE}"
STRANGE = f"ou=Strange,{BASE}"
IN_GROUPS = f"ou=Groups,{BASE}"
ABSENT = None
GROUPS = [f"cn=crash.{n},{IN_GROUPS}" for n in range(3)]
ROLES = {name: f"cn=crash.{name},{BASE}" for name in ("managed", "filtered", "nested", "circle")}
TEMPLATE, POINTER = f"cn=crash.template,{IN_GROUPS}", f"cn=crash.pointer,{PEOPLE}"
# More than referential integrity changes in one go.
CROWD = [f"cn=crash.crowd.{n},{IN_GROUPS}" for n in range(160)]
SHARED = [f"shared.{n}@example.com" for n in range(4)]
TXN_START, TXN_PART, TXN_END = "1.3.6.1.1.21.1", "1.3.6.1.1.21.2", "1.3.6.1.1.21.3"
INTERVALS = ("0 s", "1 s")
RULES = f"""
[plugin."Referential Integrity"]
type = "referential-integrity"
attribute-type = {str(list(membership.REFERENCES)).replace("'", '"')}
update-interval = "{INTERVALS[1]}"

[plugin.mail]
type = "unique-attribute"
attribute-type = "mail"

[plugin.number]
type = "constraint"
attribute-type = "employeeNumber"
count = 1
pattern = "^[0-9]+$"

[backend.userRoot.index.manager]
index-type = "equality"

[backend.userRoot.index.seeAlso]
index-type = "equality"
"""


def with_rules(server: Pando) -> Pando:
    """Before its start: puts the rules into force that work beside the writers."""
    return server.configure(RULES).import_ldif(DIRECTORY_LDIF)


class State(NamedTuple):
    """What an entry of a writer is like."""

    parent: str
    counter: int
    mail: str | None = None


class Transaction:
    """Updates that are done together or not at all (RFC 5805)."""

    def __init__(self, con):
        self.con, self.ids = con, []
        _, self.identifier = con.extop_s(ExtendedRequest(TXN_START, None))
        self.controls = [LDAPControl(TXN_PART, True, encodedControlValue=self.identifier)]

    def modify(self, dn, changes):
        self.con.modify_ext_s(dn, changes, serverctrls=self.controls)

    def end(self, commit=True):
        value = sequence(*([] if commit else [b"\x01\x01\x00"]), octets(self.identifier))
        request = ExtendedRequest(TXN_END, None)
        request.encodedRequestValue = lambda: value
        self.con.extop_s(request)


class Writer(Load):
    """Does random updates on its own entries."""

    def __init__(self, number: int, server: Pando, state: dict, seed: float):
        super().__init__(f"writer {number}", server, seed)
        self.number = number
        # name → State, or ABSENT; what was acknowledged
        self.acknowledged = state

    def step(self, con):
        name = f"crash.{self.number}.{self.random.randrange(ENTRIES_PER_WRITER)}"
        old = self.acknowledged.get(name, ABSENT)
        if old is ABSENT:
            new = State(PEOPLE, self.random.randrange(10**9))
            return self.act({name: new}, lambda: self.add(con, name, new))
        dn, kind = f"uid={name},{old.parent}", self.random.randrange(12)
        if kind == 0:
            return self.act({name: ABSENT}, lambda: con.delete_s(dn))
        if kind == 1:
            new = old._replace(parent=STRANGE if old.parent == PEOPLE else PEOPLE)
            return self.act({name: new}, lambda: con.rename_s(dn, f"uid={name}", newsuperior=new.parent))
        if kind == 2:
            new = old._replace(mail=self.random.choice([None, *SHARED]))
            mails = [f"{name}@example.com".encode()] + ([new.mail.encode()] if new.mail else [])
            return self.act(
                {name: new}, lambda: con.modify_s(dn, [(ldap.MOD_REPLACE, "mail", mails)]), ldap.CONSTRAINT_VIOLATION
            )
        if kind == 3:
            return self.transaction(con)
        new = old._replace(counter=old.counter + 1)
        self.act({name: new}, lambda: con.modify_s(dn, counting(new)))
        return None

    def transaction(self, con):
        """Several of its entries count together."""
        mine = [name for name, state in self.acknowledged.items() if state is not ABSENT]
        chosen = {name: self.acknowledged[name] for name in self.random.sample(mine, min(3, len(mine)))}
        new = {name: state._replace(counter=state.counter + 1) for name, state in chosen.items()}

        def update():
            txn = Transaction(con)
            for name, state in new.items():
                txn.modify(f"uid={name},{state.parent}", counting(state))
            txn.end()

        self.act(new, update)

    def act(self, new: dict, update, refusal=()):
        self.in_flight = new
        try:
            update()
            self.acknowledged.update(new)
        except refusal:
            pass
        self.in_flight = {}
        self.done += 1

    def add(self, con, name, new):
        dn = f"uid={name},{new.parent}"
        con.add_s(dn, entry(name, new.counter))
        for group in GROUPS:
            # The value may be there from the entry that had the name before: its clean-up comes later.
            with contextlib.suppress(ldap.TYPE_OR_VALUE_EXISTS):
                con.modify_s(group, [(ldap.MOD_ADD, "member", [dn.encode()])])


class Crowd(Load):
    """Puts somebody into all groups of the crowd in one transaction; then he goes, or gets another name."""

    def __init__(self, server: Pando, number: int, seed: float):
        super().__init__("crowd", server, seed)
        self.number = number

    def step(self, con):
        name = f"uid=crowd.{self.number}.{self.done},{PEOPLE}"
        con.add_s(
            name,
            [
                ("objectClass", [b"inetOrgPerson"]),
                ("cn", [b"Crowd"]),
                ("sn", [b"Crowd"]),
                ("manager", [f"uid=user.1,{PEOPLE}".encode()]),
            ],
        )
        con.modify_s(f"uid=user.2,{PEOPLE}", [(ldap.MOD_ADD, "seeAlso", [name.encode()])])
        txn = Transaction(con)
        for group in CROWD:
            txn.modify(group, [(ldap.MOD_ADD, "member", [name.encode()])])
        txn.end()
        if self.random.randrange(3):
            con.delete_s(name)
        else:
            con.rename_s(name, f"uid=crowned.{self.number}.{self.done}")
        self.done += 1


class Definer(Load):
    """Changes what roles mean, who is in the managed one, and what a class of service gives."""

    def __init__(self, server: Pando, seed: float):
        super().__init__("definer", server, seed)

    def step(self, con):
        kind = self.random.randrange(7)
        if kind == 0:
            names = [ROLES["managed"].encode()] if self.random.randrange(2) else None
            con.modify_s(f"uid=user.{self.random.randrange(8)},{PEOPLE}", [(ldap.MOD_REPLACE, "nsRoleDN", names)])
        elif kind == 1:
            wanted = self.random.choice([b"(sn=Crash)", b"(sn=Crowd)", b"(uid=user.3)"])
            con.modify_s(ROLES["filtered"], [(ldap.MOD_REPLACE, "nsRoleFilter", wanted)])
        elif kind == 2:
            listed = self.random.sample([ROLES[name].encode() for name in ("managed", "filtered", "circle")], 2)
            con.modify_s(ROLES["nested"], [(ldap.MOD_REPLACE, "nsRoleDN", listed)])
        elif kind == 3:
            names = [ROLES["circle"], f"cn=crash.circling,{BASE}"]
            (old,) = [
                dn
                for dn, _ in con.search_s(
                    BASE, ldap.SCOPE_SUBTREE, "(&(objectClass=ldapSubentry)(cn=crash.circl*))", ["1.1"]
                )
                if dn
            ]
            con.rename_s(old, next(dn for dn in names if dn != old).split(",")[0])
        elif kind == 4:
            con.modify_s(TEMPLATE, [(ldap.MOD_REPLACE, "l", self.random.choice([b"Aachen", b"Basel", b"Cadiz"]))])
        else:
            again(con, *([ROLES["managed"], role("nsManagedRoleDefinition")] if kind == 5 else [POINTER, pointer()]))
        self.done += 1


def again(con, dn, attributes):
    """Deletes an entry and adds it. A kill in between leaves none."""
    with contextlib.suppress(ldap.NO_SUCH_OBJECT):
        con.delete_s(dn)
    con.add_s(dn, attributes)


def pointer():
    return role("cosPointerDefinition", cosTemplateDn=TEMPLATE, cosAttribute="l")


def role(kind, **more):
    return [
        ("objectClass", [b"ldapSubentry", kind.encode()]),
        *((name, [value.encode()]) for name, value in more.items()),
    ]


def counting(state: State):
    value = str(state.counter).encode()
    return [(ldap.MOD_REPLACE, "employeeNumber", [value]), (ldap.MOD_REPLACE, "cn", [b"Counter " + value])]


def entry(name, counter):
    attrs = {
        "objectClass": "inetOrgPerson",
        "uid": name,
        "sn": "Crash",
        "cn": f"Counter {counter}",
        "employeeNumber": str(counter),
        "mail": f"{name}@example.com",
    }
    return [(k, [v.encode()]) for k, v in attrs.items()]


def read_all(server: Pando) -> dict:
    """name → State of every entry that a writer made; raises where the attributes that count differ."""
    con = server.connect()
    found, mails = {}, set()
    for dn, attrs in con.search_s(BASE, ldap.SCOPE_SUBTREE, "(sn=Crash)", ["uid", "cn", "employeeNumber", "mail"]):
        if dn is None:
            continue  # the continuation reference of the directory's referral object
        name, parent = dn.removeprefix("uid=").split(",", 1)
        counter = int(attrs["employeeNumber"][0])
        assert attrs["cn"] == [f"Counter {counter}".encode()], f"{dn} is half changed: {attrs}"
        assert name not in found, f"{name} is there twice"
        own = [mail.decode() for mail in attrs["mail"]]
        assert not mails & set(own), f"{dn} has a mail address of another entry: {own}"
        mails |= set(own)
        found[name] = State(parent, counter, next((mail for mail in own if mail in SHARED), None))
        hits = con.search_s(BASE, ldap.SCOPE_SUBTREE, f"(cn=*nter {counter}*)", ["1.1"])
        assert dn in [d for d, _ in hits], f"the substring index does not know {dn}"
    con.unbind_s()
    return found


def check_members(server: Pando, mirror: Mirror):
    """Waits until references are clean; then groups and references are those of a computation from scratch, and the
    changelog tells the entries that are there, under numbers that never come again."""
    con = server.connect()

    def monitor():
        return con.search_s("cn=Referential Integrity,cn=monitor", ldap.SCOPE_BASE)[0][1]

    until(lambda: monitor()["queue-length"] == [b"0"], say=monitor)
    entries = membership.check(con, BASE)
    check_service(con, entries)
    mirror.follow(con)
    told = {dn: attrs for dn, attrs in mirror.entries.items() if attrs.get("sn", set()) & {b"Crash", b"Crowd"}}
    made = {dn: attrs for dn, attrs in entries.items() if set(attrs.get("sn", [])) & {"Crash", "Crowd"}}
    assert told.keys() == made.keys(), f"the changelog tells other entries: {told.keys() ^ made.keys()}"
    for dn, attrs in made.items():
        for name in ("cn", "employeenumber", "mail", "manager"):
            assert {value.decode() for value in told[dn].get(name, ())} == set(attrs.get(name, [])), (
                f"{name} of {dn} by the changelog"
            )
    for group in GROUPS + CROWD:
        assert {value.decode().lower() for value in mirror.entries[group.lower()].get("member", ())} == {
            value.lower() for value in entries[group.lower()].get("member", [])
        }, f"members of {group} by the changelog"
    # Transactions that put people into the crowd: all of them or none.
    listed = [{value.lower() for value in entries[group.lower()].get("member", [])} for group in CROWD]
    assert all(own == listed[0] for own in listed), "a transaction is half applied"
    con.unbind_s()


def check_service(con, entries: dict):
    """Whoever a writer made, and is below the definition, has what the template has."""
    is_there = any(
        dn
        for dn, _ in con.search_s(BASE, ldap.SCOPE_SUBTREE, "(&(objectClass=ldapSubentry)(cn=crash.pointer))", ["1.1"])
    )
    made = {dn: attrs for dn, attrs in entries.items() if attrs.get("sn") == ["Crash"]}
    given = entries[TEMPLATE.lower()]["l"]
    having = {dn for dn in made if is_there and dn.endswith("," + PEOPLE.lower())}
    for dn, attrs in made.items():
        assert attrs.get("l", []) == (given if dn in having else []), f"l of {dn}"
    found = {
        dn.lower() for dn, _ in con.search_s(BASE, ldap.SCOPE_SUBTREE, f"(&(sn=Crash)(l={given[0]}))", ["1.1"]) if dn
    }
    assert found == having, "the filter on what is given"


def one_round(
    server: Pando, states: list[dict], failures: dict, mirror: Mirror, rng: random.Random, number: int
) -> int:
    """Load, kill, restart, compare; gives the number of acknowledged updates."""
    writers = [Writer(n, server, states[n], rng.random()) for n in range(WRITERS)]
    guesser = Guesser(server, failures, rng.random())
    threads = [*writers, Crowd(server, number, rng.random()), Definer(server, rng.random()), guesser]
    for thread in threads:
        thread.start()
    time.sleep(rng.uniform(0.05, 1.5))
    server.kill()
    for thread in threads:
        thread.join(30)
        assert thread.failure is None, thread.failure
    server.start()
    found = read_all(server)
    check_guesses(server, guesser)
    check_members(server, mirror)
    for w in writers:
        if len(w.in_flight) > 1:
            kept = {found.get(name) == new for name, new in w.in_flight.items()}
            assert len(kept) == 1, (
                f"a transaction is half applied: {w.in_flight}, found {[found.get(name) for name in w.in_flight]}"
            )
        for name in {f"crash.{w.number}.{i}" for i in range(ENTRIES_PER_WRITER)}:
            expected = [w.acknowledged.get(name, ABSENT)] + ([w.in_flight[name]] if name in w.in_flight else [])
            actual = found.get(name, ABSENT)
            assert actual in expected, f"{name}: acknowledged {expected[0]}, in flight {expected[1:]}, found {actual}"
            states[w.number][name] = actual
    return sum(thread.done for thread in threads)


def plant(server: Pando):
    """The groups: some that list everybody, a crowd, one of groups, two that list each other, one by a search. A role
    of each kind, a class of service."""
    con = server.connect()
    somebody = f"uid=user.1,{PEOPLE}"

    def names(dn, *members):
        return con.add_s(dn, [("objectClass", [b"groupOfNames"]), ("member", [m.encode() for m in members])])

    for group in GROUPS + CROWD:
        names(group, somebody)
    names(f"cn=crash.nest,{IN_GROUPS}", *GROUPS)
    circle = [f"cn=crash.circle.{n},{IN_GROUPS}" for n in range(2)]
    names(circle[0], circle[1], GROUPS[0])
    names(circle[1], circle[0])
    url = f"ldap:///{STRANGE}??sub?(sn=Crash)"
    con.add_s(f"cn=crash.dynamic,{IN_GROUPS}", [("objectClass", [b"groupOfURLs"]), ("memberURL", [url.encode()])])
    con.add_s(TEMPLATE, [("objectClass", [b"cosTemplate", b"extensibleObject"]), ("l", [b"Aachen"])])
    con.add_s(POINTER, pointer())
    con.add_s(ROLES["managed"], role("nsManagedRoleDefinition"))
    con.add_s(ROLES["filtered"], role("nsFilteredRoleDefinition", nsRoleFilter="(sn=Crash)"))
    con.add_s(ROLES["nested"], role("nsNestedRoleDefinition", nsRoleDN=ROLES["filtered"]))
    con.add_s(ROLES["circle"], role("nsNestedRoleDefinition", nsRoleDN=ROLES["nested"]))
    plant_accounts(con)
    con.unbind_s()


def set_interval(server: Pando, interval: str):
    """Takes effect when the server starts again."""
    text, count = re.subn(r'(?m)^update-interval = ".*"$', f'update-interval = "{interval}"', server.config.read_text())
    assert count == 1
    server.config.write_text(text)


def rounds(server: Pando, count: int, seed: int, report=lambda line: None) -> int:
    rng = random.Random(seed)
    states, failures, mirror = [{} for _ in range(WRITERS)], {}, Mirror()
    plant(server)
    total = 0
    for n in range(count):
        # The server starts within the round; what waits under one interval is worked off under the other.
        set_interval(server, INTERVALS[n % 2])
        total += one_round(server, states, failures, mirror, rng, n)
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
        server = with_rules(Pando(Path(folder) / "inst").setup()).start()
        try:
            total = rounds(server, count, seed, print)
        finally:
            if server.process:
                server.kill()
    print(f"{count} rounds, {total} acknowledged updates, none lost, none half applied")


if __name__ == "__main__":
    main()
