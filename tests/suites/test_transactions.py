"""Transactions (RFC 5805) with OpenLDAP's ldapmodify, which sends each record of its input as a part of one."""

from pando_server import BASE
from test_ldap_utils import ldap_tool, search

ROOM = f"ou=txn,{BASE}"
RECORDS = f"""dn: {ROOM}
changetype: add
objectClass: organizationalUnit
ou: txn

dn: {ROOM}
changetype: modify
add: description
description: together

dn: {BASE}
changetype: modify
replace: description
description: {{}}
"""


def rooms(server):
    return search(server, "-M", "-b", BASE, "(ou=txn)", "description")


def test_commit(server):
    code, _, err = ldap_tool(server, "ldapmodify", "-E", "!txn=commit", stdin=RECORDS.format("done"))
    assert code == 0, err
    assert rooms(server) == f"dn: {ROOM}\ndescription: together\n\n"
    assert "description: done" in search(server, "-b", BASE, "-s", "base")
    assert ldap_tool(server, "ldapdelete", ROOM)[0] == 0


def test_abort(server):
    code, _, err = ldap_tool(server, "ldapmodify", "-E", "!txn=abort", stdin=RECORDS.format("aborted"))
    assert code == 0, err
    assert rooms(server) == "" and "aborted" not in search(server, "-b", BASE, "-s", "base")


def test_one_refusal_refuses_all(server):
    broken = RECORDS.format("broken") + f"\ndn: {BASE}\nchangetype: modify\nadd: dc\ndc: second\n"
    code, _, err = ldap_tool(server, "ldapmodify", "-E", "!txn=commit", stdin=broken)
    assert code == 19, err
    assert rooms(server) == "" and "broken" not in search(server, "-b", BASE, "-s", "base")


def test_the_root_dse_tells(server):
    out = search(server, "-b", "", "-s", "base", "supportedExtension", "supportedControl")
    assert "supportedExtension: 1.3.6.1.1.21.1\n" in out and "supportedExtension: 1.3.6.1.1.21.3\n" in out
    assert "supportedControl: 1.3.6.1.1.21.2\n" in out
