"""Passwords under a policy, with the clients that people have."""

import contextlib

import ldap
import pytest
from ldap.controls import LDAPControl, ResponseControl
from ldap.controls.ppolicy import PasswordPolicyControl
from ldap.extop import ExtendedRequest
from pando_server import BASE

PEOPLE = f"ou=People,{BASE}"
USER = f"uid=user.3,{PEOPLE}"
POLICY = f"cn=policy,{BASE}"
STATE = "1.3.6.1.4.1.26027.1.6.1"
USABILITY = "1.3.6.1.4.1.42.2.27.9.5.8"


@pytest.fixture
def root(server):
    con = server.connect()
    yield con
    with contextlib.suppress(ldap.NO_SUCH_OBJECT):
        con.delete_s(POLICY)


def policy(root, **says):
    entry = {
        "objectClass": ["top", "subentry", "pwdPolicy"],
        "cn": ["policy"],
        "subtreeSpecification": ['{ base "ou=People" }'],
        "pwdAttribute": ["userPassword"],
    } | {name: [value] for name, value in says.items()}
    root.add_s(POLICY, [(name, [value.encode() for value in values]) for name, values in entry.items()])


def told(con, send):
    """The result's type, and what the password policy control says: its error, or None, or nothing."""
    try:
        known = {PasswordPolicyControl.controlType: PasswordPolicyControl}
        _, _, _, controls = con.result3(send([PasswordPolicyControl()]), resp_ctrl_classes=known)
        result = "ok"
    except ldap.LDAPError as error:
        result = type(error).__name__
        controls = [
            control
            for oid, _, value in error.args[0].get("ctrls", [])
            if oid == PasswordPolicyControl.controlType
            for control in [PasswordPolicyControl()]
            if control.decodeControlValue(value) is None
        ]
    errors = [None if control.error is None else int(control.error) for control in controls]
    return (result, *errors)


def test_errors_of_the_control(server, root):
    policy(root, pwdInHistory="2", pwdSafeModify="TRUE")
    root.modify_s(USER, [(ldap.MOD_REPLACE, "userPassword", b"first")])
    user = server.connect(USER, "first")

    def replace(password):
        return told(user, lambda c: user.modify_ext(USER, [(ldap.MOD_REPLACE, "userPassword", password)], c))

    def change(old, new):
        changes = [(ldap.MOD_DELETE, "userPassword", old), (ldap.MOD_ADD, "userPassword", new)]
        return told(user, lambda c: user.modify_ext(USER, changes, c))

    assert replace(b"other") == ("UNWILLING_TO_PERFORM", 4)
    assert change(b"first", b"second") == ("ok", None)
    assert change(b"second", b"first") == ("CONSTRAINT_VIOLATION", 8)
    assert change(b"second", b"{SSHA}cchzM+LrPCvbZdthOC8e62d4h7a4CfoNvl6d/w==") == ("CONSTRAINT_VIOLATION", 5)
    other = f"uid=user.4,{PEOPLE}"
    denied = told(user, lambda c: user.modify_ext(other, [(ldap.MOD_REPLACE, "userPassword", b"x")], c))
    assert denied == ("INSUFFICIENT_ACCESS", 3)
    assert len(root.search_s(USER, ldap.SCOPE_BASE, attrlist=["pwdHistory"])[0][1]["pwdHistory"]) == 2


def test_anonymous_changes_with_the_old_password(server, root):
    root.modify_s(USER, [(ldap.MOD_REPLACE, "userPassword", b"first")])
    nobody = ldap.initialize(server.url)
    nobody.passwd_s(USER, "first", "second")
    nobody.passwd_s("u:user.3", "second", "third")
    nobody.passwd_s("user.3", "third", "fourth")
    server.connect(USER, "fourth")
    answers = set()
    for name in (USER, "u:user.3", "u:nobody", f"uid=nobody,{PEOPLE}", PEOPLE, "dc=elsewhere"):
        with pytest.raises(ldap.LDAPError) as caught:
            nobody.passwd_s(name, "wrong", "x")
        said = caught.value.args[0]
        answers.add((said["result"], said.get("info"), said.get("matched")))
    assert answers == {(49, None, None)}


def octets(tag, content):
    assert len(content) < 128
    return bytes([tag, len(content)]) + content


def state(con, target, *operations):
    """Sends a password policy state request; the value of the response."""

    def one(number, values):
        listed = octets(0x30, b"".join(octets(4, value) for value in values)) if values else b""
        return octets(0x30, octets(10, bytes([number])) + listed)

    listed = b"".join(one(number, values) for number, values in operations)
    value = octets(0x30, octets(4, target.encode()) + (octets(0x30, listed) if operations else b""))
    name, answer = con.extop_result(con.extop(ExtendedRequest(STATE, value)))
    assert name == STATE
    return answer


def test_the_state_operation(server, root):
    assert octets(10, b"\x01") + octets(0x30, octets(4, b"false")) in state(root, USER)
    assert octets(4, b"true") in state(root, USER, (2, [b"true"]))
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        server.connect(USER, "fourth")
    disabled = root.search_s(USER, ldap.SCOPE_BASE, attrlist=["ds-pwp-account-disabled"])[0][1]
    assert disabled == {"ds-pwp-account-disabled": [b"TRUE"]}
    assert usability(root) == b"\xa1\x03\x80\x01\xff"
    state(root, USER, (3, []))
    assert usability(root) == b"\x80\x01\xff"
    user = server.connect(f"uid=user.4,{PEOPLE}", "password")
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        state(user, f"uid=user.4,{PEOPLE}")


class Usability(ResponseControl):
    """The account usability control of an entry, as it is."""

    controlType = USABILITY

    def decodeControlValue(self, encodedControlValue):
        self.value = encodedControlValue


def usability(con):
    """The value of the account usability control of an entry."""
    sent = con.search_ext(USER, ldap.SCOPE_BASE, attrlist=["1.1"], serverctrls=[LDAPControl(USABILITY, True)])
    _, data, *_ = con.result4(sent, add_ctrls=1, resp_ctrl_classes={USABILITY: Usability})
    ((_, _, (control,)),) = data
    return control.value
