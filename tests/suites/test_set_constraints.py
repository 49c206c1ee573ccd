"""Constraints by set expression, with slapd's overlay constraint as the oracle: the same requests to both servers."""

import ldap
import pytest
from pando_server import BASE
from slapd_server import connect, slapd_url
from test_integrity import GROUPS, PEOPLE, entry, made, modify, step

FULL = "(this/givenName + [ ] + this/sn) & this/cn"
LEADERS = f"cn=leaders,{GROUPS}"
KEEPERS, HALL = f"[ldap:///{PEOPLE}??one?(title=keeper)]", f"[ldap:///{GROUPS}??one?(cn=hall)]"
SETS = {
    # attributes: expression
    "cn,sn,givenName": FULL,
    "manager": f"this/manager & [{LEADERS.lower()}]/member",
    "secretary": f"this/secretary/-1 & [{PEOPLE.lower()}]",
    "seeAlso": f"this/seeAlso* & [{BASE}]",
    "roomNumber": f"({KEEPERS} | {HALL})/roomNumber & this/roomNumber",
    "businessCategory": f"this/-* & [ou=staff,{PEOPLE.lower()}]",
    "departmentNumber": "this/departmentNumber & ([1] | [2] | this/manager/departmentNumber)",
    "employeeType": "(this/l + this/st) | this/carLicense",
}
RULES = "".join(
    f"""
[plugin.set{number}]
type = "constraint"
attribute-type = {attributes.split(",")}
set = '{expression}'
filter = "(objectClass=inetOrgPerson)"
"""
    for number, (attributes, expression) in enumerate(SETS.items())
)
OVERLAY = "access to * by users write by * none\noverlay constraint\n" + "".join(
    f'constraint_attribute {attributes} set "{expression}" restrict="ldap:///{BASE}??sub?(objectClass=inetOrgPerson)"\n'
    for attributes, expression in SETS.items()
)
A, B, C = (f"uid=s.{letter},{PEOPLE}" for letter in "abc")
STAFF = f"ou=Staff,{PEOPLE}"


def person(dn, given, sn, cn, *more):
    uid = ldap.dn.str2dn(dn)[0][0][1]
    classes = ("objectClass", "inetOrgPerson")
    return lambda con: con.add_s(dn, entry(classes, ("uid", uid), ("givenName", given), ("sn", sn), ("cn", *cn), *more))


SCRIPT = [
    person(A, "Ann", "Arbor", ["Ann Arbor"]),
    person(B, "Ben", "Birch", ["Benny"]),
    person(B, "Ben", "Birch", ["Benny", "BEN  birch"]),
    person(C, "Cid", "Cedar", ["cid cedar"], ("departmentNumber", "7")),
    person(C, "Cid", "Cedar", ["cid cedar"], ("departmentNumber", "2")),
    modify(A, (ldap.MOD_REPLACE, "sn", "Alder")),
    modify(A, (ldap.MOD_REPLACE, "sn", "Alder"), (ldap.MOD_ADD, "cn", "Ann Alder")),
    modify(A, (ldap.MOD_DELETE, "cn", "Ann Arbor")),
    modify(A, (ldap.MOD_ADD, "givenName", "Anna"), (ldap.MOD_DELETE, "givenName", "Ann")),
    modify(A, (ldap.MOD_REPLACE, "title", "not judged")),
    lambda con: con.add_s(LEADERS, entry(("objectClass", "groupOfNames"), ("cn", "leaders"), ("member", A))),
    modify(B, (ldap.MOD_ADD, "manager", C)),
    modify(B, (ldap.MOD_ADD, "manager", A)),
    # One of them is enough.
    modify(B, (ldap.MOD_ADD, "manager", C)),
    modify(B, (ldap.MOD_REPLACE, "departmentNumber", "9")),
    modify(C, (ldap.MOD_REPLACE, "departmentNumber", "1")),
    modify(B, (ldap.MOD_REPLACE, "departmentNumber", "1")),
    lambda con: con.add_s(STAFF, entry(("objectClass", "organizationalUnit"), ("ou", "Staff"))),
    person(f"uid=s.d,{STAFF}", "Dee", "Dale", ["Dee Dale"], ("businessCategory", "x")),
    modify(A, (ldap.MOD_ADD, "businessCategory", "x")),
    modify(A, (ldap.MOD_ADD, "secretary", f"uid=s.d,{STAFF}")),
    modify(A, (ldap.MOD_ADD, "secretary", B)),
    # A chain of names, with a circle in it.
    modify(A, (ldap.MOD_ADD, "seeAlso", B)),
    modify(C, (ldap.MOD_ADD, "seeAlso", BASE)),
    modify(B, (ldap.MOD_ADD, "seeAlso", C)),
    modify(A, (ldap.MOD_ADD, "seeAlso", B)),
    modify(C, (ldap.MOD_ADD, "seeAlso", A)),
    modify(B, (ldap.MOD_ADD, "roomNumber", "42")),
    modify(C, (ldap.MOD_ADD, "title", "keeper")),
    # An entry does not allow itself what it has.
    modify(C, (ldap.MOD_ADD, "roomNumber", "42")),
    lambda con: con.add_s(f"cn=hall,{GROUPS}", entry(("objectClass", "room"), ("cn", "hall"), ("roomNumber", "42"))),
    modify(C, (ldap.MOD_ADD, "roomNumber", "42")),
    modify(B, (ldap.MOD_ADD, "roomNumber", "42")),
    modify(B, (ldap.MOD_ADD, "roomNumber", "43")),
    modify(B, (ldap.MOD_REPLACE, "roomNumber", "44")),
    modify(A, (ldap.MOD_ADD, "employeeType", "x")),
    modify(A, (ldap.MOD_ADD, "l", "Grove"), (ldap.MOD_ADD, "employeeType", "x")),
    modify(A, (ldap.MOD_ADD, "l", "Grove"), (ldap.MOD_ADD, "st", "West"), (ldap.MOD_ADD, "employeeType", "x")),
    modify(B, (ldap.MOD_ADD, "carLicense", "A 1"), (ldap.MOD_ADD, "employeeType", "x")),
    lambda con: con.rename_s(A, "cn=Ann Alder", delold=0),
    lambda con: con.rename_s(f"cn=Ann Alder,{PEOPLE}", "cn=Somebody", delold=1),
    # No restriction applies to it.
    lambda con: con.add_s(f"cn=other,{GROUPS}", entry(("objectClass", "organizationalRole"), ("cn", "other"))),
]


def test_the_same_as_slapd(tmp_path_factory):
    instance = made(tmp_path_factory.mktemp("pando"), RULES).start()
    ours = instance.connect()
    with slapd_url(tmp_path_factory.mktemp("slapd"), OVERLAY, modules="moduleload constraint.la") as url:
        theirs = connect(url)
        outcomes = [[step(con, operation) for operation in SCRIPT] for con in (ours, theirs)]
        for number, (mine, other) in enumerate(zip(*outcomes, strict=True)):
            assert (number, mine) == (number, other)
        assert {0, ldap.CONSTRAINT_VIOLATION.errnum} <= set(outcomes[0])
    assert instance.stop() == 0


@pytest.mark.parametrize(
    ("expression", "why"),
    [("this/cn &", "it must be a set expression"), ("this/nosuch", "nosuch"), ("this/memberOf", "is computed")],
)
def test_sets_that_mean_nothing_are_refused(fresh, expression, why):
    fresh.configure(f'[plugin.bad]\ntype = "constraint"\nattribute-type = "cn"\nset = "{expression}"\n')
    done = fresh.tool("start", check=False)
    assert done.returncode != 0 and why in done.stderr, done.stderr
