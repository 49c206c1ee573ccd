"""The get effective rights control with python-ldap and ldapsearch: both forms of the request, in OpenDJ's form of the
answer, for the requester and for others."""

import subprocess

import ldap
import pytest
from ldap.controls import LDAPControl
from pando_server import BASE, ROOT_DN, Pando
from pyasn1.codec.ber import encoder
from pyasn1.type.univ import OctetString, Sequence

OID = "1.3.6.1.4.1.42.2.27.9.5.2"
PEOPLE = f"ou=People,{BASE}"
ALICE, BOB, CAROL = (f"uid={uid},{PEOPLE}" for uid in ("alice", "bob", "carol"))
TO_BOB = f'userdn="ldap:///{BOB}"'
ACIS = [
    f'(targetattr="cn || mail")(version 3.0; acl "main"; allow (read,search,compare) {TO_BOB};)',
    f'(targetattr="mail")(version 3.0; acl "nomail"; deny (read) {TO_BOB};)',
    f'(version 3.0; acl "adddel"; allow (add,delete) {TO_BOB};)',
    f'(targetattr="description")(version 3.0; acl "describe"; allow (write) {TO_BOB};)',
    f'(targetattr="member")(version 3.0; acl "member"; allow (read,search,compare,selfwrite) {TO_BOB};)',
    f'(targattrfilters="add=title:(title=a*)")(version 3.0; acl "titles"; allow (write) {TO_BOB};)',
    f'(targetattr="cn || sn")(version 3.0; acl "carol reads"; allow (read,search,compare) userdn="ldap:///{CAROL}";)',
]
MAY_ASK = [
    f'(targetcontrol="{OID}")(version 3.0; acl "carol may ask"; allow (read) userdn="ldap:///{CAROL}";)',
    f'(targetattr="aclRights")(version 3.0; acl "carol sees rights"; allow (read) userdn="ldap:///{CAROL}";)',
]


def person(dn):
    uid = dn.split(",")[0].removeprefix("uid=")
    return f"""dn: {dn}
objectClass: inetOrgPerson
uid: {uid}
cn: {uid}
sn: Example
mail: {uid}@example.com
userPassword: secret12

"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rights")
    acis = "".join(f"aci: {aci}\n" for aci in ACIS)
    people = f"dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: People\n{acis}\n"
    top = f"dn: {BASE}\nobjectClass: domain\ndc: example\n\n"
    file = folder / "people.ldif"
    file.write_text(top + people + "".join(map(person, (ALICE, BOB, CAROL))))
    instance = Pando(folder / "inst")
    yield instance.setup("--accessProfile", "closed").import_ldif(file).start()
    instance.remove()


def in_sequence(identity, *attributes):
    value = Sequence()
    value[0] = OctetString(identity)
    if attributes:
        value[1] = Sequence()
        for at, name in enumerate(attributes):
            value[1][at] = OctetString(name)
    return encoder.encode(value)


def ask(con, value, attributes, dn=ALICE, critical=True):
    control = LDAPControl(OID, critical, encodedControlValue=value)
    found = con.search_ext_s(dn, ldap.SCOPE_BASE, "(cn=*)", attributes, serverctrls=[control])
    return {name: values[0].decode() for name, values in found[0][1].items()} if found else None


def code(con, value, attributes=("aclRights",)):
    with pytest.raises(ldap.LDAPError) as refused:
        ask(con, value, list(attributes))
    return refused.value.args[0]["result"]


def test_rights_are_told_as_opendj_tells_them(server):
    con = server.connect()
    found = ask(con, in_sequence(f"dn:{BOB}", "member"), ["cn", "mail", "title", "description", "aclRights"])
    assert {name: value for name, value in found.items() if name.startswith("acl")} == {
        "aclRights;attributeLevel;cn": ("search:1,read:1,compare:1,write:0,selfwrite_add:0,selfwrite_delete:0,proxy:0"),
        "aclRights;attributeLevel;mail": (
            "search:1,read:0,compare:1,write:0,selfwrite_add:0,selfwrite_delete:0,proxy:0"
        ),
        "aclRights;attributeLevel;member": (
            "search:1,read:1,compare:1,write:0,selfwrite_add:1,selfwrite_delete:1,proxy:0"
        ),
        # It depends on the value.
        "aclRights;attributeLevel;title": (
            "search:0,read:0,compare:0,write:?,selfwrite_add:0,selfwrite_delete:0,proxy:0"
        ),
        "aclRights;attributeLevel;description": (
            "search:0,read:0,compare:0,write:1,selfwrite_add:0,selfwrite_delete:0,proxy:0"
        ),
        "aclRights;entryLevel": "add:1,delete:1,read:1,write:1,proxy:0",
    }
    assert found["mail"] == "alice@example.com"


def test_reasons_are_told_as_opendj_tells_them(server):
    con = server.connect()
    found = ask(con, in_sequence(f"dn:{BOB}"), ["mail", "title", "nosuch", "aclRightsInfo"])
    of = f"on entry/attr({ALICE}, %s) to ({BOB}) (not proxied) ( reason: "
    assert found["aclRightsInfo;logs;attributeLevel;read;mail"] == (
        f"acl_summary(main): access not allowed(read) {of % 'mail'}evaluated deny , deciding_aci: nomail)"
    )
    assert found["aclRightsInfo;logs;entryLevel;add"] == (
        f"acl_summary(main): access allowed(add) {of % 'NULL'}evaluated allow , deciding_aci: adddel)"
    )
    assert found["aclRightsInfo;logs;attributeLevel;write;title"] == (
        f"acl_summary(main): access allowed(write) {of % 'title'}evaluated allow , deciding_aci: titles, "
        "access depends on attr value)"
    )
    assert found["aclRightsInfo;logs;attributeLevel;write;mail"] == (
        f"acl_summary(main): access not allowed(write) {of % 'mail'}no acis matched the resource )"
    )
    assert found["aclRightsInfo;logs;attributeLevel;search;nosuch"] == (
        f"acl_summary(main): access not allowed(search) {of % 'nosuch'}no acis matched the resource )"
    )
    found = ask(con, in_sequence("dn:"), ["cn", "aclRightsInfo"])
    assert found["aclRightsInfo;logs;attributeLevel;read;cn"] == (
        f"acl_summary(main): access not allowed(read) on entry/attr({ALICE}, cn) to (anonymous) (not proxied) "
        "( reason: no acis matched the subject )"
    )
    assert not [name for name in found if name.startswith("aclRights;")]


def test_all_forms_of_a_request_say_who(server):
    con = server.connect()
    granted = "search:1,read:1,compare:1,write:1,selfwrite_add:1,selfwrite_delete:1,proxy:1"
    nothing = "search:0,read:0,compare:0,write:0,selfwrite_add:0,selfwrite_delete:0,proxy:0"
    carols = "search:1,read:1,compare:1,write:0,selfwrite_add:0,selfwrite_delete:0,proxy:0"
    for value, expected in (
        (None, granted),
        (in_sequence(f"dn:{ROOT_DN}"), granted),
        (f"dn:{ROOT_DN}".encode(), granted),
        (in_sequence(f"dn:{CAROL}"), carols),
        (f"dn:{CAROL}".encode(), carols),
        (f"DN:UID=Carol, ou=people,{BASE}".encode(), carols),
        (in_sequence("dn:"), nothing),
        (b"dn:", nothing),
        # Nobody of that name: in no group, and no rule names it.
        (in_sequence(f"dn:uid=nobody,{PEOPLE}"), nothing),
    ):
        assert ask(con, value, ["sn", "aclRights"])["aclRights;attributeLevel;sn"] == expected, value
    info = ask(con, None, ["aclRightsInfo"])["aclRightsInfo;logs;entryLevel;delete"]
    assert info.endswith("( reason: user has bypass-acl privileges )")


def test_an_identity_that_is_no_name_is_refused(server):
    con = server.connect()
    assert code(con, in_sequence("u:bob")) == 2
    assert code(con, in_sequence(BOB)) == 2
    assert code(con, in_sequence("")) == 2
    assert code(con, in_sequence("dn:not a name")) == 2
    assert code(con, b"\x30\x02\x04\x00\x00") == 2
    assert code(con, b"u:bob") == 12
    assert code(con, BOB.encode()) == 12
    assert code(con, b"dn:not a name") == 12
    twice = [LDAPControl(OID, True, encodedControlValue=b"dn:")] * 2
    with pytest.raises(ldap.PROTOCOL_ERROR):
        con.search_ext_s(ALICE, ldap.SCOPE_BASE, serverctrls=twice)


def test_nothing_is_told_unless_it_is_asked_for_by_name(server):
    con = server.connect()
    for attributes in (["cn"], ["*", "+"], None):
        found = ask(con, in_sequence(f"dn:{BOB}", "cn"), attributes)
        assert not [name for name in found if name.lower().startswith("aclrights")]
    # All attributes that come with the entry, each once.
    found = ask(con, in_sequence(f"dn:{BOB}", "cn", "CN"), ["*", "aclrights"])
    told = [name.rsplit(";", 1)[1] for name in found if ";attributeLevel;" in name]
    assert sorted(told) == ["cn", "mail", "objectClass", "sn", "uid", "userPassword"]
    control = LDAPControl(OID, True, encodedControlValue=b"dn:")
    types = con.search_ext_s(ALICE, ldap.SCOPE_BASE, attrlist=["aclRights", "cn"], attrsonly=1, serverctrls=[control])[
        0
    ][1]
    assert types == {"cn": [], "aclRights;attributeLevel;cn": [], "aclRights;entryLevel": []}


def test_the_control_and_its_attributes_take_rights(server):
    root, con = server.connect(), server.connect(CAROL, "secret12")
    value = in_sequence(f"dn:{BOB}")
    assert code(con, value) == 12
    # One that is not critical is left out.
    assert ask(con, value, ["cn", "aclRights"], critical=False) == {"cn": "alice"}
    root.modify_s(PEOPLE, [(ldap.MOD_ADD, "aci", [MAY_ASK[0].encode()])])
    assert ask(con, value, ["cn", "aclRights"]) == {"cn": "alice"}
    root.modify_s(PEOPLE, [(ldap.MOD_ADD, "aci", [MAY_ASK[1].encode()])])
    found = ask(con, value, ["cn", "mail", "aclRights", "aclRightsInfo"])
    # The entry is what carol may see of it; the rights are those of bob.
    assert found == {
        "cn": "alice",
        "aclRights;attributeLevel;cn": "search:1,read:1,compare:1,write:0,selfwrite_add:0,selfwrite_delete:0,proxy:0",
        "aclRights;attributeLevel;mail": "search:1,read:0,compare:1,write:0,selfwrite_add:0,selfwrite_delete:0,proxy:0",
        "aclRights;entryLevel": "add:1,delete:1,read:1,write:1,proxy:0",
    }


def test_rights_to_the_entries_of_the_server_are_told(server):
    con = server.connect()
    control = LDAPControl(OID, True, encodedControlValue=in_sequence(f"dn:{BOB}"))
    found = con.search_ext_s("", ldap.SCOPE_BASE, attrlist=["supportedControl", "aclRights"], serverctrls=[control])
    assert OID.encode() in found[0][1]["supportedControl"]
    assert found[0][1]["aclRights;entryLevel"][0].startswith(b"add:0,delete:0,read:")


def test_ldapsearch_takes_the_control(server):
    command = ["ldapsearch", "-LLL", "-o", "ldif_wrap=no", "-x", "-H", server.url, "-D", ROOT_DN, "-w", "secret12"]
    done = subprocess.run(
        [*command, "-b", ALICE, "-E", f"!{OID}=:dn:{BOB}", "(cn=*)", "aclRights"], capture_output=True, text=True
    )
    told = "add:1,delete:1,read:1,write:1,proxy:0"
    assert done.stdout == f"dn: {ALICE}\naclRights;entryLevel: {told}\n\n", done.stderr
