"""What slapd's overlays refint, unique, constraint and dynlist do beyond the scripts of test_integrity.py and
test_groups.py: the same requests to both servers. Where they differ, the test says why."""

import contextlib

import found
import ldap
import pytest
from pando_server import BASE, until
from slapd_server import connect, slapd_url
from test_integrity import GROUPS, PEOPLE, entry, group, made, members, modify, person, step

WORDS = f"ou=Words,{BASE}"
NOBODY = f"cn=nobody,{GROUPS}"
RULES = f"""
[plugin."Referential Integrity"]
type = "referential-integrity"
attribute-type = ["member", "manager", "seeAlso"]

[plugin.staff]
type = "unique-attribute"
attribute-type = "employeeNumber"
base-dn = "{PEOPLE}"
filter = "(title=staff)"

[plugin.mails]
type = "unique-attribute"
attribute-type = "mail"

[plugin.licences]
type = "constraint"
attribute-type = "carLicense"
forbidden-pattern = "^X"

[plugin.names]
type = "constraint"
attribute-type = "uid"
pattern = "^[a-z0-9.]+$"

[plugin.rooms]
type = "constraint"
attribute-type = "roomNumber"
value-uri = "ldap:///{WORDS}?cn,description?one"

[plugin.photos]
type = "constraint"
attribute-type = "jpegPhoto"
size = 4
filter = "(title=staff)"

[virtual-attribute."dynamic members"]
type = "member"
attribute-type = "member"
allow-retrieving-membership = true
""" + "".join(
    f'[backend.userRoot.index.{name}]\nindex-type = "equality"\n' for name in ("manager", "seeAlso", "employeeNumber")
)
MODULES = "\n".join(f"moduleload {name}.la" for name in ("refint", "unique", "constraint", "dynlist"))
OVERLAYS = f"""
access to * by users write by * none
overlay refint
refint_attributes member manager seeAlso
refint_nothing "{NOBODY}"
overlay unique
unique_uri ldap:///{PEOPLE}?employeeNumber?sub?(title=staff)
unique_uri ldap:///?mail?sub
overlay constraint
constraint_attribute carLicense negregex ^X
constraint_attribute uid regex ^[a-z0-9.]+$
constraint_attribute roomNumber uri ldap:///{WORDS}?cn,description?one?(objectClass=*)
constraint_attribute jpegPhoto size 4 restrict=ldap:///{PEOPLE}??sub?(title=staff)
overlay dynlist
dynlist-attrset groupOfURLs memberURL member
"""
A, B, C = (f"uid=p.{letter},{PEOPLE}" for letter in "abc")
TEAM, SUB = f"ou=Team,{PEOPLE}", f"uid=p.sub,ou=Team,{PEOPLE}"

SCRIPT = [
    lambda con: con.add_s(WORDS, entry(("objectClass", "organizationalUnit"), ("ou", "Words"))),
    lambda con: con.add_s(
        f"cn=hall,{WORDS}", entry(("objectClass", "organizationalRole"), ("cn", "hall"), ("description", "lobby"))
    ),
    lambda con: person(con, "p.a", ("employeeNumber", "1"), ("title", "staff")),
    # A second domain: other attribute, no filter.
    lambda con: person(con, "p.b", ("employeeNumber", "1"), ("mail", "p.b@example.com")),
    lambda con: person(con, "p.c", ("employeeNumber", "1"), ("title", "staff")),
    lambda con: person(con, "p.c", ("mail", "P.B@example.com")),
    lambda con: person(con, "p.c", ("employeeNumber", "3"), ("title", "staff")),
    modify(C, (ldap.MOD_REPLACE, "employeeNumber", "1")),
    modify(C, (ldap.MOD_REPLACE, "employeeNumber", "3")),
    modify(C, (ldap.MOD_ADD, "mail", "p.b@example.com")),
    modify(C, (ldap.MOD_ADD, "mail", "p.c@example.com")),
    modify(A, (ldap.MOD_ADD, "carLicense", "X 1")),
    modify(A, (ldap.MOD_ADD, "carLicense", "ABC X 1")),
    modify(A, (ldap.MOD_DELETE, "carLicense", "ABC X 1")),
    modify(A, (ldap.MOD_ADD, "roomNumber", "hall")),
    modify(A, (ldap.MOD_ADD, "roomNumber", "lobby")),
    modify(A, (ldap.MOD_ADD, "roomNumber", "attic")),
    modify(A, (ldap.MOD_REPLACE, "roomNumber", "hall", "attic")),
    modify(A, (ldap.MOD_ADD, "jpegPhoto", "12345")),
    modify(A, (ldap.MOD_ADD, "jpegPhoto", "1234")),
    modify(B, (ldap.MOD_ADD, "jpegPhoto", "12345")),
    # A new name brings a value.
    lambda con: con.rename_s(B, "uid=Nö"),
    lambda con: con.rename_s(B, "uid=p b"),
    lambda con: con.add_s(TEAM, entry(("objectClass", "organizationalUnit"), ("ou", "Team"))),
    lambda con: con.add_s(
        SUB,
        entry(
            ("objectClass", "inetOrgPerson"),
            ("uid", "p.sub"),
            ("cn", "x"),
            ("sn", "x"),
            ("manager", A, C),
            ("seeAlso", B),
        ),
    ),
    modify(C, (ldap.MOD_ADD, "manager", SUB), (ldap.MOD_ADD, "seeAlso", SUB, TEAM, A)),
    lambda con: group(con, "ov", SUB, A, B, f"uid=user.1,{PEOPLE}"),
    # What stands below the moved entry is followed, too.
    lambda con: con.rename_s(TEAM, "ou=Crew"),
    lambda con: con.delete_s(A),
    lambda con: con.rename_s(B, "uid=p.bb"),
]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A connection to each server."""
    instance = made(tmp_path_factory.mktemp("pando"), RULES).start()
    con = instance.connect()
    with slapd_url(tmp_path_factory.mktemp("slapd"), OVERLAYS, modules=MODULES) as url:
        yield con, connect(url)
    assert instance.stop() == 0


def state(con):
    found = con.search_s(
        PEOPLE,
        ldap.SCOPE_SUBTREE,
        "(|(uid=p.*)(ou=crew))",
        ["manager", "seeAlso", "employeeNumber", "mail", "carLicense", "roomNumber", "jpegPhoto"],
    )

    def lower(attrs):
        return {name.lower(): sorted(value.lower() for value in values) for name, values in attrs.items()}

    return sorted((dn.lower(), lower(attrs)) for dn, attrs in found if dn), members(con, f"cn=ov,{GROUPS}")


def test_references_uniqueness_and_constraints(both):  # S2-10, S2-11, S2-12
    ours, theirs = both
    for number, operation in enumerate(SCRIPT):
        assert (number, step(ours, operation)) == (number, step(theirs, operation))
    # refint works after the answer.
    with contextlib.suppress(AssertionError):
        until(lambda: state(theirs) == state(ours), seconds=10)
    for one, other in zip(state(ours)[0], state(theirs)[0], strict=True):
        assert one == other
    assert state(ours)[1] == state(theirs)[1]
    (people, crew) = state(ours)
    assert crew == sorted(
        dn.lower() for dn in (f"uid=p.sub,ou=crew,{PEOPLE}", f"uid=p.bb,{PEOPLE}", f"uid=user.1,{PEOPLE}")
    )
    assert dict(people)[C.lower()]["manager"] == [f"uid=p.sub,ou=crew,{PEOPLE}".lower().encode()]


def test_a_filter_of_unique_values_is_about_what_an_entry_becomes(both):
    """slapd tests an added entry by the filter of unique_uri, but not one that is modified. Here, as at an add, only
    those count who match once they are changed: nobody of the staff has this number, so it may be given; and who comes
    to match is judged with all values."""
    ours, theirs = both
    outcomes = []
    for con in both:
        d = person(con, "filtered", ("employeeNumber", "50"), ("title", "staff"))
        e = person(con, "guest", ("employeeNumber", "51"))
        outcomes.append(
            [
                step(con, modify(e, (ldap.MOD_REPLACE, "employeeNumber", "50"))),
                step(con, modify(e, (ldap.MOD_ADD, "title", "staff"))),
            ]
        )
        assert step(con, modify(d, (ldap.MOD_REPLACE, "employeeNumber", "52"))) == 0
    refused = ldap.CONSTRAINT_VIOLATION.errnum
    assert outcomes == [[0, refused], [refused, 0]]


def test_the_last_member(both):
    """slapd's groupOfNames must have a member, so refint puts a placeholder there, as it does for the last value of any
    attribute; ours may be empty, as in OpenDJ."""
    ours, theirs = both
    for con in both:
        lonely = person(con, "lonely")
        group(con, "lonely", lonely)
        con.delete_s(lonely)
    until(lambda: members(theirs, f"cn=lonely,{GROUPS}") == [NOBODY.lower()])
    assert members(ours, f"cn=lonely,{GROUPS}") == []


def test_values_of_several_attributes(both):
    """An attribute's values are compared with those of the same attribute by slapd; a table's attributes share their
    values here, as in OpenDJ. So each of these has a table of its own, and a number may be a mail address of
    somebody."""
    for con in both:
        person(con, "several", ("mail", "77"))
        person(con, "others", ("employeeNumber", "77"), ("title", "staff"))


# S2-07, S2-08
def test_members_of_a_dynamic_group(both):
    url = f"ldap:///{PEOPLE}??sub?(uid=user.1*)"
    dn = f"cn=dyn,{GROUPS}"
    told = []
    for con in both:
        con.add_s(dn, entry(("objectClass", "groupOfURLs"), ("cn", "dyn"), ("memberURL", url)))

        def compare(who):
            return con.compare_s(dn, "member", f"uid={who},{PEOPLE}")

        def with_member(who):
            return found.dns(con, f"(&(cn=dyn)(member=uid={who},{PEOPLE}))", GROUPS)

        told.append(
            (members(con, dn), compare("user.1"), compare("user.2"), with_member("user.1"), with_member("user.2"))
        )
        con.add_s(
            f"uid=user.1x,{PEOPLE}",
            entry(("objectClass", "inetOrgPerson"), ("uid", "user.1x"), ("cn", "x"), ("sn", "x")),
        )
        told[-1] += (members(con, dn), with_member("user.1x"))
        con.delete_s(f"uid=user.1x,{PEOPLE}")
        told[-1] += (members(con, dn),)
    assert told[0] == told[1]
    assert len(told[0][0]) > 1 and len(told[0][5]) == len(told[0][0]) + 1
