"""Membership under other names than memberOf, by group class and member attribute; with slapd's overlay memberof as the
oracle."""

import found
import ldap
import pytest
from pando_server import BASE
from slapd_server import connect, slapd_url
from test_integrity import GROUPS, PEOPLE, entry, made, modify, step

RULES = """
[backend.userRoot.index.roleOccupant]
index-type = "equality"

[virtual-attribute.roles]
type = "group-membership"
attribute-type = "seeAlso"
group-class = "organizationalRole"
member-attribute = "roleOccupant"
conflict-behavior = "merge-real-and-virtual"
"""
OVERLAY = """
access to * by users write by * none
overlay memberof
memberof-group-oc organizationalRole
memberof-member-ad roleOccupant
memberof-memberof-ad seeAlso
"""
ANN, BEN = (f"uid=m.{name},{PEOPLE}" for name in ("ann", "ben"))
CLERK, HEAD = (f"cn={name},{GROUPS}" for name in ("clerk", "head"))


def person(con, dn):
    uid = ldap.dn.str2dn(dn)[0][0][1]
    con.add_s(dn, entry(("objectClass", "inetOrgPerson"), ("uid", uid), ("cn", "x"), ("sn", "x")))


def role(con, dn, *occupants):
    cn = ldap.dn.str2dn(dn)[0][0][1]
    con.add_s(dn, entry(("objectClass", "organizationalRole"), ("cn", cn), ("roleOccupant", *occupants)))


def roles(con, dn):
    ((_, attrs),) = con.search_s(dn, ldap.SCOPE_BASE, "(objectClass=*)", ["seeAlso"])
    return sorted(value.decode().lower() for value in attrs.get("seeAlso", []))


SCRIPT = [
    lambda con: person(con, ANN),
    lambda con: person(con, BEN),
    lambda con: role(con, CLERK, ANN, BEN),
    lambda con: role(con, HEAD, ANN),
    # Another class with the same attribute does not count, nor does another attribute of the class.
    lambda con: con.add_s(
        f"cn=other,{GROUPS}",
        entry(("objectClass", "groupOfNames"), ("cn", "other"), ("member", ANN)),
    ),
    modify(CLERK, (ldap.MOD_DELETE, "roleOccupant", BEN)),
    modify(HEAD, (ldap.MOD_REPLACE, "roleOccupant", BEN, f"uid=nobody,{PEOPLE}")),
    lambda con: con.rename_s(CLERK, "cn=clerks"),
    lambda con: con.delete_s(HEAD),
    modify(ANN, (ldap.MOD_ADD, "title", "x")),
]


def seen(con):
    names = [f"cn={name},{GROUPS}" for name in ("clerk", "clerks", "head", "other")]
    filters = [found.dns(con, f"(&(uid=m.*)(seeAlso={name}))", PEOPLE) for name in names]
    negated = found.dns(con, "(&(uid=m.*)(!(seeAlso=*)))", PEOPLE)
    people = [dn for dn in (ANN, BEN) if step(con, lambda con, dn=dn: con.read_s(dn)) == 0]
    compared = [
        step(con, lambda con, dn=dn, name=name: con.compare_s(dn, "seeAlso", name.encode()))
        for dn in people
        for name in names
    ]
    return [roles(con, dn) for dn in people], filters, negated, compared


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    instance = made(tmp_path_factory.mktemp("pando"), RULES).start()
    with slapd_url(tmp_path_factory.mktemp("slapd"), OVERLAY, modules="moduleload memberof.la") as url:
        yield instance.connect(), connect(url)
    assert instance.stop() == 0


def test_the_same_as_slapd(both):
    ours, theirs = both
    for number, operation in enumerate(SCRIPT):
        assert (number, step(ours, operation)) == (number, step(theirs, operation))
        assert (number, seen(ours)) == (number, seen(theirs))
    assert roles(ours, ANN) == [f"cn=clerks,{GROUPS}".lower()]


def test_own_values_and_many_members(both):
    ours, _ = both
    assert step(ours, modify(BEN, (ldap.MOD_ADD, "seeAlso", BASE))) == 0
    users = found.dns(ours, "(uid=user.*)", PEOPLE)
    role(ours, f"cn=many,{GROUPS}", BEN, *users, *(f"uid=gone.{number},{PEOPLE}" for number in range(400)))
    assert roles(ours, BEN) == sorted([BASE, f"cn=many,{GROUPS}".lower()])
    assert len(found.dns(ours, f"(seeAlso=cn=many,{GROUPS})", PEOPLE)) == len(users) + 1


def test_tables_that_mean_nothing_are_refused(fresh):
    fresh.configure('[virtual-attribute.bad]\ntype = "group-membership"\nattribute-type = "cn"\n')
    done = fresh.tool("start", check=False)
    assert done.returncode != 0 and "the values of cn are not distinguished names" in done.stderr, done.stderr
