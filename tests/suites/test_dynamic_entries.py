"""Dynamic entries (RFC 2589): they live for a time, clients extend it, and when it is over they are removed; with
slapd's overlay dds as the oracle."""

import subprocess
import time

import found
import ldap
import ldap.extop
import pytest
from ldap.controls import RequestControl
from ldap.controls.readentry import PostReadControl
from pando_server import BASE, ROOT_DN, ROOT_PW, until
from slapd_server import ADMIN_DN, ADMIN_PW, connect, slapd_url
from test_integrity import GROUPS, PEOPLE, entry, group, made, members, modify, step

REFRESH = "1.3.6.1.4.1.1466.101.119.1"
INDEX = '[backend.userRoot.index.entryExpireTimestamp]\nindex-type = "equality"\n'
RULES = (
    INDEX
    + """
[plugin.dynamic]
type = "dynamic-entries"
min-ttl = "2 s"
default-ttl = "1 h"
check-interval = "100 ms"
max-dynamic-objects = 6
"""
)
OVERLAY = """
access to * by users write by * none
overlay dds
dds-min-ttl 2
dds-default-ttl 3600
dds-interval 1
dds-max-dynamicObjects 6
"""


def dynamic(con, dn, *more):
    uid = ldap.dn.str2dn(dn)[0][0][1]
    classes = ("objectClass", "inetOrgPerson", "dynamicObject")
    con.add_s(dn, entry(classes, ("uid", uid), ("cn", "x"), ("sn", "x"), *more))


def add(dn, *more):
    return lambda con: dynamic(con, dn, *more)


def integer(number):
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def element(tag, content):
    return bytes([tag, len(content)]) + content


def refreshed(con, dn, seconds):
    """The time to live of the response."""
    value = element(0x30, element(0x80, dn.encode()) + element(0x81, integer(seconds)))
    name, answer = con.extop_s(ldap.extop.ExtendedRequest(REFRESH, value))
    assert name == REFRESH and answer[:1] == b"\x30" and answer[2:3] == b"\x81", (name, answer)
    return int.from_bytes(answer[4:], "big")


def refresh(dn, seconds):
    return lambda con: refreshed(con, dn, seconds)


def ttl(con, dn):
    ((_, attrs),) = con.search_s(dn, ldap.SCOPE_BASE, "(objectClass=*)", ["entryTtl"])
    return int(attrs["entryTtl"][0])


def counted(con):
    ((_, told),) = con.search_s("cn=monitor", ldap.SCOPE_SUBTREE, "(cn=Dynamic Entries)")
    return told["entries-removed"]


A, B, C, STATIC = (f"uid=d.{name},{PEOPLE}" for name in ("a", "b", "c", "static"))
BELOW = f"uid=below,{A}"
static = ("objectClass", "inetOrgPerson"), ("cn", "x"), ("sn", "x")

SCRIPT = [
    add(A),
    add(BELOW),
    lambda con: con.add_s(f"uid=static,{A}", entry(*static, ("uid", "static"))),
    lambda con: con.add_s(STATIC, entry(*static, ("uid", "d.static"))),
    modify(STATIC, (ldap.MOD_ADD, "objectClass", "dynamicObject")),
    modify(A, (ldap.MOD_DELETE, "objectClass", "dynamicObject")),
    modify(A, (ldap.MOD_REPLACE, "objectClass", "inetOrgPerson")),
    modify(A, (ldap.MOD_REPLACE, "description", "still the same")),
    modify(A, (ldap.MOD_REPLACE, "entryTtl", "60")),
    modify(A, (ldap.MOD_REPLACE, "entryExpireTimestamp", "20361121101500Z")),
    lambda con: con.rename_s(STATIC, "uid=d.static", newsuperior=A),
    lambda con: con.rename_s(BELOW, "uid=renamed"),
    refresh(A, 0),
    refresh(A, -1),
    refresh(A, 31557601),
    refresh(A, 86401),
    refresh(A, 86400),
    refresh(A, 3),
    refresh(A, 600),
    refresh(STATIC, 600),
    refresh(f"uid=nobody,{PEOPLE}", 600),
    lambda con: con.extop_s(ldap.extop.ExtendedRequest(REFRESH, b"\x30\x00")),
    lambda con: con.extop_s(ldap.extop.ExtendedRequest(REFRESH, None)),
    add(B),
    add(C),
    add(f"uid=d.d,{PEOPLE}"),
    add(f"uid=d.e,{PEOPLE}"),
    add(f"uid=d.f,{PEOPLE}"),
    lambda con: con.delete_s(A),
    lambda con: con.delete_s(f"uid=d.e,{PEOPLE}"),
    add(f"uid=d.f,{PEOPLE}"),
]


@pytest.fixture
def dynamic_server(tmp_path):
    instance = made(tmp_path, RULES).start()
    yield instance
    instance.remove()


def test_the_same_as_slapd(dynamic_server, tmp_path):
    ours = dynamic_server.connect()
    (tmp_path / "slapd").mkdir()
    with slapd_url(tmp_path / "slapd", OVERLAY, modules="moduleload dds.la") as url:
        theirs = connect(url)
        for number, operation in enumerate(SCRIPT):
            assert (number, step(ours, operation)) == (number, step(theirs, operation))
        names = ["dynamicSubtrees", "supportedExtension"]
        for con in (ours, theirs):
            ((_, dse),) = con.search_s("", ldap.SCOPE_BASE, "(objectClass=*)", names)
            assert dse["dynamicSubtrees"] == [BASE.encode()]
            # slapd knows the operation and does not say so.
            assert (REFRESH.encode() in dse["supportedExtension"]) == (con is ours)
            # The time that a client asks for, or the least one.
            assert [refreshed(con, B, 600), refreshed(con, B, 1)] == [600, 2]
            assert refreshed(con, C, 7200) == 7200 and 7100 < ttl(con, C) <= 7200
            assert 3500 < ttl(con, f"uid=d.d,{PEOPLE}") <= 3600
            until(lambda con=con: step(con, lambda con: con.read_s(B)) == ldap.NO_SUCH_OBJECT.errnum)
            assert step(con, lambda con: con.read_s(C)) == 0
        command = ["ldapexop", "-x", "-H", dynamic_server.url, "-D", ROOT_DN, "-w", ROOT_PW, "refresh", C, "120"]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        command[3], command[5], command[7] = url, ADMIN_DN, ADMIN_PW
        assert told.stdout == subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_who_may_refresh_and_who_sees_the_time(dynamic_server):
    con = dynamic_server.connect()
    dynamic(con, A, ("userPassword", "dynamic1"))
    own = dynamic_server.connect(A, "dynamic1")
    assert step(own, refresh(A, 60)) == ldap.INSUFFICIENT_ACCESS.errnum
    nobody = ldap.initialize(dynamic_server.url)
    assert step(nobody, refresh(A, 60)) == ldap.NO_SUCH_OBJECT.errnum, "to whom the entry does not show"
    assert 3500 < ttl(own, A) <= 3600
    # Operational: shown to who asks for it, or for all of them.
    ((_, attrs),) = con.search_s(A, ldap.SCOPE_BASE, "(objectClass=*)", ["*", "+"])
    assert 3500 < int(attrs["entryTtl"][0]) <= 3600 and len(attrs["entryExpireTimestamp"]) == 1
    ((_, attrs),) = con.search_s(A, ldap.SCOPE_BASE)
    assert "entryTtl" not in attrs and "entryExpireTimestamp" not in attrs
    assert found.dns(con, "(entryTtl=*)", PEOPLE) == [A]
    # A post-read control tells it too.
    control = PostReadControl(True, ["entryTtl"])
    *_, controls = con.modify_ext_s(A, [(ldap.MOD_REPLACE, "title", [b"x"])], serverctrls=[control])
    assert 3500 < int(controls[0].entry["entryTtl"][0]) <= 3600
    # slapd says invalidAttributeSyntax.
    assert step(con, refresh("bad dn", 600)) == ldap.INVALID_DN_SYNTAX.errnum
    critical = RequestControl("1.2.840.113556.1.4.805", True, None)
    value = element(0x30, element(0x80, A.encode()) + element(0x81, b"\x3c"))
    request = ldap.extop.ExtendedRequest(REFRESH, value)
    with pytest.raises(ldap.UNAVAILABLE_CRITICAL_EXTENSION):
        con.extop_s(request, [critical])


def test_removals_are_followed_and_told(dynamic_server):
    dynamic_server.configure('[plugin.refs]\ntype = "referential-integrity"\n[changelog]\nenabled = true\n')
    dynamic_server.stop()
    con = dynamic_server.start().connect()
    below = f"uid=below,{A}"
    dynamic(con, A)
    dynamic(con, below)
    team = group(con, "dyn", A, f"uid=user.1,{PEOPLE}") or f"cn=dyn,{GROUPS}"
    refreshed(con, A, 2)
    time.sleep(3)
    # Something that still lives stands below it.
    assert ttl(con, A) == 0 and ttl(con, below) > 3000
    refreshed(con, below, 2)
    until(lambda: step(con, lambda con: con.read_s(A)) == ldap.NO_SUCH_OBJECT.errnum)
    assert members(con, team) == [f"uid=user.1,{PEOPLE}".lower()]
    found = con.search_s(
        "cn=changelog", ldap.SCOPE_SUBTREE, "(changeType=delete)", ["targetDN", "changeInitiatorsName"]
    )
    assert [attrs["targetDN"][0].decode() for _, attrs in found if "targetDN" in attrs] == [below, A]
    # Counted a moment after the entries are gone.
    until(lambda: counted(con) == [b"2"], say=lambda: counted(con))


def test_an_end_is_kept_over_kill_9_and_restart(dynamic_server):
    con = dynamic_server.connect()
    dynamic(con, A)
    dynamic(con, B)
    refreshed(con, A, 4)
    dynamic_server.kill()
    con = dynamic_server.start().connect()
    assert ttl(con, A) <= 4 and 3500 < ttl(con, B) <= 3600
    dynamic_server.stop()
    time.sleep(4)
    con = dynamic_server.start().connect()
    until(lambda: step(con, lambda con: con.read_s(A)) == ldap.NO_SUCH_OBJECT.errnum)
    assert 3500 < ttl(con, B) <= 3600
    assert dynamic_server.stop() == 0
    dynamic_server.tool("verify-index", "-b", BASE)


def test_without_the_plugin(fresh):
    con = fresh.start().connect()
    refused = ldap.OBJECT_CLASS_VIOLATION.errnum
    assert step(con, add(A)) == refused
    assert step(con, refresh(A, 60)) == ldap.PROTOCOL_ERROR.errnum
    names = ["dynamicSubtrees", "supportedExtension"]
    ((_, dse),) = con.search_s("", ldap.SCOPE_BASE, "(objectClass=*)", names)
    assert "dynamicSubtrees" not in dse and REFRESH.encode() not in dse["supportedExtension"]
    # Without the index nothing would find what is over.
    with open(fresh.config, "a") as file:
        file.write('[plugin.dynamic]\ntype = "dynamic-entries"\n')
    fresh.tool("reload", check=False)
    until(lambda: "entryExpireTimestamp has no equality index" in fresh.error_log())
    assert step(con, add(A)) == refused
    with open(fresh.config, "a") as file:
        file.write(INDEX)
    fresh.stop()
    fresh.tool("rebuild-index", "--baseDN", BASE, "--index", "entryExpireTimestamp")
    assert step(fresh.start().connect(), add(A)) == 0
