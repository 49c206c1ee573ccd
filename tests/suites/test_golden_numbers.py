"""The numbers that OpenDJ prints for its example data, from our makeldif, import, backendstat and debugsearchindex.

The first half needs OpenDJ's own template and name lists, which are fetched by name; the second half always runs, with
our lists."""

import json
import re
import subprocess

import ldap
import opendj_example
import pytest
from pando_server import BASE, Pando, binary

CONTAINER = "/dc=com,dc=example/"

# Index name, type, record count.
TREES = [
    ("dn2id", "DN2ID", 10002),
    ("id2entry", "ID2Entry", 10002),
    ("referral", "DN2URI", 0),
    ("id2childrencount", "ID2ChildrenCount", 3),
    ("state", "State", 18),
]
INDEXES = {
    "uniqueMember.uniqueMemberMatch": 0,
    "mail.caseIgnoreIA5SubstringsMatch:6": 31232,
    "mail.caseIgnoreIA5Match": 10000,
    "aci.presence": 0,
    "member.distinguishedNameMatch": 0,
    "givenName.caseIgnoreMatch": 8605,
    "givenName.caseIgnoreSubstringsMatch:6": 19629,
    "telephoneNumber.telephoneNumberSubstringsMatch:6": 73235,
    "telephoneNumber.telephoneNumberMatch": 10000,
    "ds-sync-hist.changeSequenceNumberOrderingMatch": 0,
    "ds-sync-conflict.distinguishedNameMatch": 0,
    "entryUUID.uuidMatch": 10002,
    "sn.caseIgnoreMatch": 10000,
    "sn.caseIgnoreSubstringsMatch:6": 32217,
    "cn.caseIgnoreMatch": 10000,
    "cn.caseIgnoreSubstringsMatch:6": 86040,
    "objectClass.objectIdentifierMatch": 6,
    "uid.caseIgnoreMatch": 10000,
}
# What depends on names and random digits, so on OpenDJ's lists.
BY_LIST = {name for name in INDEXES if name.startswith(("givenName.", "telephoneNumber.", "sn.", "cn."))}
OVER = {"mail.caseIgnoreIA5SubstringsMatch:6": 12, "objectClass.objectIdentifierMatch": 4}
OVER_TRAILER = """
Index: /dc=com,dc=example/mail.caseIgnoreIA5SubstringsMatch:6
Over index-entry-limit keys: [.com] [@examp] [ample.] [com] [e.com] [exampl] [le.com] [m] [mple.c] [om] [ple.co] [xample]

Index: /dc=com,dc=example/objectClass.objectIdentifierMatch
Over index-entry-limit keys: [inetorgperson] [organizationalperson] [person] [top]
"""  # noqa: E501


def made(directory, template):
    """A running server with the entries of a template, of seed 0."""
    instance = Pando(directory / "inst")
    ldif = directory / "example.ldif"
    subprocess.run([binary(), "makeldif", "-s", "0", "-o", str(ldif), str(template)], check=True, capture_output=True)
    instance.setup().import_ldif(ldif).start()
    return instance


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    template = opendj_example.folder() / "example.template"
    instance = made(tmp_path_factory.mktemp("golden"), template)
    yield instance
    instance.stop()


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """Our example template without its groups, which OpenDJ's has not."""
    directory = tmp_path_factory.mktemp("ours")
    text = subprocess.run(
        [binary(), "makeldif", "--exampleTemplate"], check=True, capture_output=True, text=True
    ).stdout
    blocks = [block for block in text.split("\n\n") if "ou=Groups" not in block and "template: group" not in block]
    (directory / "people.template").write_text("\n\n".join(blocks) + "\n")
    instance = made(directory, directory / "people.template")
    yield instance
    instance.stop()


def table(text):
    """Headings, rows, and what stands below the table."""
    head, dashes, body = text.split("\n", 2)
    assert set(dashes) == {"-"}
    rows, _, trailer = body.partition("\n\n")

    def split(line):
        return re.split(r"\s{2,}", line)

    return split(head), [split(row) for row in rows.splitlines()], "\n" + trailer


def indexes_of(instance, *names):
    return table(instance.tool("backendstat", *names, "-n", "userRoot", "-b", BASE).stdout)


def check_list(instance, counts):  # S0-26
    head, rows, trailer = indexes_of(instance, "list-indexes")
    assert head == ["Index Name", "Raw DB Name", "Type", "Record Count"]
    assert trailer == "\nTotal: 23\n"
    found = {name: (raw, kind, int(count)) for name, raw, kind, count in rows}
    assert len(rows) == len(found) == 23
    for name, kind, count in TREES:
        assert found[name] == (CONTAINER + name, kind, count)
    for name, count in counts.items():
        assert found[name] == (CONTAINER + name, "MatchingRuleIndex", count)
    assert set(found) == set(INDEXES) | {name for name, _, _ in TREES}


def check_status(instance, counts):  # S0-27, S0-28
    head, rows, trailer = indexes_of(instance, "show-index-status")
    assert head == [
        "Index Name",
        "Raw DB Name",
        "Valid",
        "Confidential",
        "Record Count",
        "Over Entry Limit",
        "95%",
        "90%",
        "85%",
    ]
    found = {row[0]: row[1:] for row in rows}
    assert len(rows) == len(found) == 18 and set(found) == set(INDEXES)
    for name, count in counts.items():
        assert found[name] == [CONTAINER + name, "true", "false", str(count), str(OVER.get(name, 0)), "0", "0", "0"]
    return trailer


def test_list_indexes_gives_every_printed_number(golden):
    check_list(golden, INDEXES)


def test_show_index_status_gives_every_printed_number_and_key(golden):
    assert check_status(golden, INDEXES) == "\nTotal: 18\n" + OVER_TRAILER


def test_numbers_that_need_no_list(ours):
    counts = {name: count for name, count in INDEXES.items() if name not in BY_LIST}
    check_list(ours, counts)
    trailer = check_status(ours, counts)
    for part in OVER_TRAILER.strip().split("\n\n"):
        assert part in trailer


MAIL, CN = "mail.caseIgnoreIA5SubstringsMatch:6", "cn.caseIgnoreSubstringsMatch:6"
USER_19 = [
    {"index": MAIL, "exact": "ser.19", "candidates": 111, "retained": 111},
    {"index": MAIL, "exact": "user.1", "candidates": 1111, "retained": 111},
]
# What OpenDJ's page prints; we may say more.
PRINTED = {
    "filter",
    "intersection",
    "union",
    "index",
    "exact",
    "range",
    "candidates",
    "retained",
    "scope",
    "type",
    "final",
}


def printed(value):
    if isinstance(value, dict):
        return {name: printed(member) for name, member in value.items() if name in PRINTED}
    return [printed(member) for member in value] if isinstance(value, list) else value


def explained(instance, base, scope, text):
    connection = instance.connect()
    ((dn, attributes),) = connection.search_s(base, scope, text, ["debugsearchindex"])
    connection.unbind_s()
    assert dn == "cn=debugsearch" and list(attributes) == ["debugsearchindex"]  # S0-30
    (value,) = attributes["debugsearchindex"]
    assert b"\n" not in value  # S0-32
    return printed(json.loads(value))


def test_the_explained_and(golden):  # S0-33, S0-34, S0-35
    found = explained(golden, BASE, ldap.SCOPE_SUBTREE, "(&(cn=*Den*)(mail=user.19*))")
    den = {"filter": "(cn=*Den*)", "index": CN, "range": "[den,deo[", "candidates": 103, "retained": 5}
    assert found == {"filter": {"intersection": [*USER_19, den], "candidates": 5}, "final": 5}


def test_the_explained_or(golden):  # S0-37
    found = explained(golden, BASE, ldap.SCOPE_SUBTREE, "(|(cn=*Denice*)(uid=user.19))")
    denice = {"filter": "(cn=*Denice*)", "index": CN, "exact": "denice", "candidates": 1}
    user = {"filter": "(uid=user.19)", "index": "uid.caseIgnoreMatch", "exact": "user.19", "candidates": 1}
    assert found == {"filter": {"union": [denice, user], "candidates": 2}, "final": 2}


@pytest.mark.parametrize("data", ["golden", "ours"])
def test_the_explained_scope(data, request):  # S0-38
    found = explained(request.getfixturevalue(data), f"ou=people,{BASE}", ldap.SCOPE_ONELEVEL, "(mail=user.1*)")
    assert found == {
        "filter": {"filter": "(mail=user.1*)", "index": MAIL, "exact": "user.1", "candidates": 1111},
        "scope": {"type": "one", "candidates": "[NOT-INDEXED]", "retained": 1111},
        "final": 1111,
    }


def test_the_explained_and_needs_no_list(ours):
    found = explained(ours, BASE, ldap.SCOPE_SUBTREE, "(&(cn=*Den*)(mail=user.19*))")
    assert found["filter"]["intersection"][:2] == USER_19
