"""cn=changelog against slapd's overlay accesslog: what both tell of the same updates. Where they differ, the test says
why.

accesslog has what was asked for (`reqMod`) and the values before (`reqOld`); the changelog has what came and what went.
So what either says is applied to what it said before, and must come to the same."""

from dataclasses import dataclass, field

import ldap
import pytest
from changelog_mirror import lines_of, parsed
from pando_server import BASE, DIRECTORY_LDIF, ROOT_DN, Pando
from slapd_server import ADMIN_DN, connect, slapd_url
from test_integrity import entry, modify, step

LOG, PLACE, OTHER = "cn=log", f"ou=Logged,{BASE}", f"ou=Other,{BASE}"
LOG_DATABASE = f"""
database mdb
suffix "{LOG}"
rootdn "{ADMIN_DN}"
directory {{dir}}/log
index reqStart eq
"""
OVERLAY = f"""
overlay accesslog
logdb {LOG}
logops writes
logold (objectClass=*)
logsuccess TRUE
"""
# What each server keeps by itself, in ways of its own.
KEPT = {
    "entrycsn",
    "entryuuid",
    "structuralobjectclass",
    "creatorsname",
    "createtimestamp",
    "modifiersname",
    "modifytimestamp",
}
ANN, BEN = f"uid=ann,{PLACE}", f"uid=ben,{PLACE}"
MOVED = f"ou=Moved,{OTHER}"


def person(uid, *more):
    return entry(
        ("objectClass", "top", "person", "organizationalPerson", "inetOrgPerson"),
        ("uid", uid),
        ("cn", uid.title()),
        ("sn", "Example"),
        *more,
    )


TAKEN = [
    lambda con: con.add_s(PLACE, entry(("objectClass", "top", "organizationalUnit"), ("ou", "Logged"))),
    lambda con: con.add_s(OTHER, entry(("objectClass", "top", "organizationalUnit"), ("ou", "Other"))),
    lambda con: con.add_s(ANN, person("ann", ("mail", "ann@example.com", "ann@example.org"), ("description", "grün"))),
    # Values added, taken one by one and as a whole, replaced by some and by none.
    modify(
        ANN,
        (ldap.MOD_ADD, "title", "Clerk", "Head"),
        (ldap.MOD_DELETE, "mail", "ann@example.org"),
        (ldap.MOD_REPLACE, "sn", "First", "Second"),
        (ldap.MOD_DELETE, "description"),
        (ldap.MOD_REPLACE, "employeeType"),
        (ldap.MOD_ADD, "description;lang-en", "green"),
    ),
    # One attribute twice, and one value that comes and goes.
    modify(
        ANN,
        (ldap.MOD_DELETE, "mail", "ann@example.com"),
        (ldap.MOD_ADD, "title", "Deputy"),
        (ldap.MOD_ADD, "mail", "ann@example.net", "x@example.net"),
        (ldap.MOD_DELETE, "mail", "x@example.net"),
    ),
    modify(ANN, (ldap.MOD_REPLACE, "title", "Head"), (ldap.MOD_REPLACE, "sn", "First", "Second")),
    # Names: the old one goes, stays, was a value before; another place; all at once.
    lambda con: con.rename_s(ANN, "uid=anna", delold=1),
    lambda con: con.rename_s(f"uid=anna,{PLACE}", "uid=anne", delold=0),
    lambda con: con.rename_s(f"uid=anne,{PLACE}", "cn=Ann+uid=ann", delold=1),
    lambda con: con.rename_s(f"cn=Ann+uid=ann,{PLACE}", "uid=ann", delold=0),
    lambda con: con.rename_s(ANN, "uid=ann", OTHER, delold=0),
    lambda con: con.rename_s(f"uid=ann,{OTHER}", "cn=Annie", PLACE, delold=1),
    lambda con: con.add_s(BEN, person("ben")),
    # What stands below goes with it.
    lambda con: con.rename_s(PLACE, "ou=Moved", OTHER, delold=1),
    lambda con: con.delete_s(f"uid=ben,{MOVED}"),
    modify(f"cn=Annie,{MOVED}", (ldap.MOD_REPLACE, "sn", "Last")),
    lambda con: con.delete_s(f"cn=Annie,{MOVED}"),
    lambda con: con.delete_s(MOVED),
]
# In the course of it, each to be refused.
REFUSED = [
    lambda con: con.add_s(OTHER, entry(("objectClass", "top", "organizationalUnit"), ("ou", "Other"))),
    modify(OTHER, (ldap.MOD_ADD, "l", "Rome"), (ldap.MOD_DELETE, "description", "never there")),
    modify(OTHER, (ldap.MOD_ADD, "l", "Rome"), (ldap.MOD_ADD, "mail", "not@allowed.example")),
    lambda con: con.delete_s(BASE),
    lambda con: con.delete_s(f"uid=nobody,{OTHER}"),
    lambda con: con.rename_s(f"uid=nobody,{OTHER}", "uid=anybody"),
]


@dataclass
class Told:
    """One change, as either server tells it; attributes in lower case, each change of one as (how, attribute,
    values)."""

    kind: str
    dn: str
    who: str
    uuid: str
    new_rdn: str | None
    delete_old_rdn: str | None
    new_superior: str | None
    changes: list = field(default_factory=list)
    # What was there before: of a delete everything, of a modify the changed attributes.
    before: dict = field(default_factory=dict)

    def of(self):
        """What must be the same, but for the letter case of names."""

        def lower(text):
            return text and text.lower()

        return self.kind, lower(self.dn), lower(self.new_rdn), self.delete_old_rdn, lower(self.new_superior)


def text(attrs, name):
    value = attrs.get(name)
    return value and value[0].decode()


def grouped(pairs):
    """Values by attribute."""
    found: dict = {}
    for name, value in pairs:
        found.setdefault(name.lower(), set()).add(value)
    return found


def told_by_pando(con):
    found = []
    for _, attrs in con.search_s("cn=changelog", ldap.SCOPE_ONELEVEL, "(changeNumber>=1)", ["*", "+"]):
        told = Told(
            *(
                text(attrs, name)
                for name in (
                    "changeType",
                    "targetDN",
                    "changeInitiatorsName",
                    "targetEntryUUID",
                    "newRDN",
                    "deleteOldRDN",
                    "newSuperior",
                )
            )
        )
        lines = [line for line in lines_of(attrs.get("changes", [b""])[0]) if line]
        if told.kind == "add":
            told.changes = [("add", name, values) for name, values in grouped(map(parsed, lines)).items()]
        else:
            told.changes = modifications(lines)
        told.before = grouped(parsed(line) for line in lines_of(attrs.get("includedAttributes", [b""])[0]) if line)
        found.append(told)
    return found


def modifications(lines):
    found, start = [], True
    for line in lines:
        if line == "-":
            start = True
        elif start:
            how, name = parsed(line)
            found.append((how, name.decode().lower(), set()))
            start = False
        else:
            found[-1][2].add(parsed(line)[1])
    return found


def told_by_slapd(con):
    found = []
    for _, attrs in sorted(con.search_s(LOG, ldap.SCOPE_ONELEVEL, "(objectClass=auditWriteObject)", ["*"])):
        assert attrs["reqResult"] == [b"0"]
        told = Told(
            *(
                text(attrs, name)
                for name in (
                    "reqType",
                    "reqDN",
                    "reqAuthzID",
                    "reqEntryUUID",
                    "reqNewRDN",
                    "reqDeleteOldRDN",
                    "reqNewSuperior",
                )
            )
        )
        for line in attrs.get("reqMod", []):
            # `name:+ value`; a lone colon stands between two changes of one attribute.
            name, rest = line.split(b":", 1)
            if not name:
                told.changes.append(None)
                continue
            how, name = {b"+": "add", b"-": "delete", b"=": "replace"}[rest[:1]], name.decode().lower()
            if not told.changes or told.changes[-1] is None or told.changes[-1][:2] != (how, name):
                told.changes.append((how, name, set()))
            if rest[1:]:
                told.changes[-1][2].add(rest[2:])
        told.changes = [change for change in told.changes if change]
        told.before = grouped(
            (name.decode(), value[1:]) for name, value in (line.split(b":", 1) for line in attrs.get("reqOld", []))
        )
        found.append(told)
    return found


def naming(name):
    """Attributes and values of the first RDN."""
    pairs = [part.split("=") for part in name.split(",")[0].split("+")]
    return {(attribute.lower(), value.encode()) for attribute, value in pairs}


def applied(before, told):
    """An entry after a change, whose parts must make sense one after the other. What a new name does to it neither
    server says in more words."""
    after = {name: set(values) for name, values in before.items()}
    if told.kind == "modrdn":
        for name, value in naming(told.dn) if told.delete_old_rdn == "TRUE" else ():
            after[name].remove(value)
        for name, value in naming(told.new_rdn):
            after.setdefault(name, set()).add(value)
    for how, name, values in told.changes:
        had = after.setdefault(name, set())
        if how == "replace":
            after[name] = set(values)
        elif how == "add":
            assert not values & had, (name, values, had)
            had |= values
        else:
            assert values <= had and had, (name, values, had)
            after[name] = had - values if values else set()
    return {name: values for name, values in after.items() if values}


def compared(entry):
    """What users wrote. Operational attributes are in both, but each server has its own."""
    return {name: values for name, values in entry.items() if name not in KEPT}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A connection to each server, after the same updates."""
    instance = Pando(tmp_path_factory.mktemp("pando") / "inst").setup()
    instance.import_ldif(DIRECTORY_LDIF).start()
    ours = instance.connect()
    folder = tmp_path_factory.mktemp("slapd")
    (folder / "log").mkdir()
    with slapd_url(folder, OVERLAY, LOG_DATABASE.format(dir=folder), "moduleload accesslog.la") as url:
        theirs = connect(url)
        for number, operation in enumerate(TAKEN):
            assert (number, step(ours, operation), step(theirs, operation)) == (number, 0, 0)
            if number == 2:
                for refused in REFUSED:
                    assert step(ours, refused) == step(theirs, refused) != 0
        yield told_by_pando(ours), told_by_slapd(theirs)
        ours.unbind_s()
    assert instance.stop() == 0


def test_the_same_changes_in_the_same_order(both):
    ours, theirs = both
    assert [told.of() for told in ours] == [told.of() for told in theirs]
    # The refused ones are in neither.
    assert len(ours) == len(TAKEN)
    assert {told.who for told in ours} == {ROOT_DN} and {told.who for told in theirs} == {ADMIN_DN}
    # An entry is one and the same under all its names.
    assert (
        len({told.uuid for told in ours})
        == len({(one.uuid, other.uuid) for one, other in zip(ours, theirs, strict=True)})
        == 4
    )


def test_they_come_to_the_same_entries(both):
    entries: list = [{}, {}]
    for pair in zip(*both, strict=True):
        before = [known.get(told.uuid, {}) for known, told in zip(entries, pair, strict=True)]
        after = [applied(entry, told) for entry, told in zip(before, pair, strict=True)]
        assert compared(after[0]) == compared(after[1]), pair
        kind = pair[0].kind
        if kind == "delete":
            # Both have the whole entry as it was.
            assert [compared(told.before) for told in pair] == [compared(entry) for entry in before]
            continue
        for known, told, shown in zip(entries, pair, after, strict=True):
            known[told.uuid] = shown
        if kind != "modify":
            continue
        # Attributes stand in the order of the request in both; those that stayed as they were are not told here.
        changed = [
            name
            for name in dict.fromkeys(name for _, name, _ in pair[1].changes)
            if name not in KEPT and before[0].get(name) != after[0].get(name)
        ]
        assert list(dict.fromkeys(name for _, name, _ in pair[0].changes if name not in KEPT)) == changed, pair
        # What went is told by the changelog as it is, by accesslog as what was there before.
        for how, name, values in pair[0].changes:
            if how == "delete":
                assert values == pair[1].before[name] - after[1].get(name, set()), (name, pair)
