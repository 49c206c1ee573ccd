"""Proxied authorization (RFC 4370) with python-ldap and ldap-utils: who may act as whom, and whose rights count."""

import subprocess

import ldap
import pytest
from ldap.controls import LDAPControl
from ldap.extop import ExtendedRequest
from pando_server import BASE, until

V2 = "2.16.840.1.113730.3.4.18"
APP, ANN, BEN = (f"uid={uid},{BASE}" for uid in ("app", "ann", "ben"))
PROXY = f'(version 3.0; acl "app acts as people"; allow (proxy) userdn="ldap:///{APP}";)'
ENTRIES = f"""dn: {BASE}
objectClass: domain
dc: example

dn: {APP}
objectClass: inetOrgPerson
uid: app
cn: App
sn: App
userPassword: secret12
ds-privilege-name: proxied-auth

dn: {ANN}
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: Example
userPassword: secret12
aci: {PROXY}

dn: {BEN}
objectClass: inetOrgPerson
uid: ben
cn: Ben
sn: Example
userPassword: secret12
"""


@pytest.fixture
def people(fresh, tmp_path):
    file = tmp_path / "people.ldif"
    file.write_text(ENTRIES)
    return fresh.import_ldif(file).start()


def acting_as(who):
    return [LDAPControl(V2, True, encodedControlValue=who.encode())]


def describe(con, dn, who):
    con.modify_ext_s(dn, [(ldap.MOD_REPLACE, "description", [b"x"])], serverctrls=acting_as(who))


def test_an_application_acts_as_the_users_that_let_it(people):
    con = people.connect(APP, "secret12")
    describe(con, ANN, f"dn:{ANN}")
    describe(con, ANN, "u:ann")
    entry = con.search_s(ANN, ldap.SCOPE_BASE, attrlist=["modifiersName"])
    assert entry[0][1]["modifiersName"] == [ANN.encode()]
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        describe(con, BEN, f"dn:{ANN}")
    for who in (f"dn:{BEN}", "u:ben", f"dn:uid=nobody,{BASE}", "dn:cn=Directory Manager"):
        with pytest.raises(ldap.LDAPError) as refused:
            describe(con, BEN, who)
        assert refused.value.args[0]["result"] == 123, who
    until(lambda: f'authzDN="{ANN}"' in people.access_log())


def test_privilege_and_right_are_both_needed_and_change_at_once(people):
    con, root = people.connect(APP, "secret12"), people.connect()
    describe(con, ANN, f"dn:{ANN}")
    for dn, attribute, value in ((APP, "ds-privilege-name", b"proxied-auth"), (ANN, "aci", PROXY.encode())):
        root.modify_s(dn, [(ldap.MOD_DELETE, attribute, [value])])
        with pytest.raises(ldap.LDAPError) as refused:
            describe(con, ANN, f"dn:{ANN}")
        assert refused.value.args[0]["result"] == 123, attribute
        root.modify_s(dn, [(ldap.MOD_ADD, attribute, [value])])
        describe(con, ANN, f"dn:{ANN}")


def test_ldapwhoami_takes_the_control(people):
    command = ["ldapwhoami", "-x", "-H", people.url, "-D", APP, "-w", "secret12", "-e", f"!authzid=dn:{ANN}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == f"dn:{ANN}\n", done.stderr


def test_parts_of_a_transaction_act_as_different_users(people):
    con = people.connect(APP, "secret12")
    people.connect().modify_s(BEN, [(ldap.MOD_ADD, "aci", [PROXY.encode()])])

    def transaction(*parts):
        _, number = con.extop_s(ExtendedRequest("1.3.6.1.1.21.1", None))
        part_of = LDAPControl("1.3.6.1.1.21.2", True, encodedControlValue=number)
        for dn, who, text in parts:
            controls = [part_of, *(acting_as(f"dn:{who}") if who else [])]
            con.modify_ext_s(dn, [(ldap.MOD_REPLACE, "description", [text])], serverctrls=controls)
        end = bytes([0x30, len(number) + 2, 0x04, len(number)]) + number
        con.extop_s(ExtendedRequest("1.3.6.1.1.21.3", end))

    def shown(dn):
        return people.connect().search_s(dn, ldap.SCOPE_BASE, attrlist=["description", "modifiersName"])[0][1]

    transaction((ANN, ANN, b"by ann"), (BEN, BEN, b"by ben"))
    for dn, text in ((ANN, b"by ann"), (BEN, b"by ben")):
        assert shown(dn) == {"description": [text], "modifiersName": [dn.encode()]}
    # Each part has the rights of whom it acts as, and no others.
    for parts in ([(ANN, ANN, b"again"), (ANN, BEN, b"no")], [(ANN, ANN, b"again"), (ANN, None, b"no")]):
        with pytest.raises(ldap.INSUFFICIENT_ACCESS):
            transaction(*parts)
        con = people.connect(APP, "secret12")
    assert shown(ANN)["description"] == [b"by ann"]
