"""Machines' logins under the profile `posix-logins`: a real nslcd, the searches of nslcd and SSSD by name, and what
neither an anonymous client nor a plain user is told.
"""

import subprocess

import ldap
import ldap3
import pytest
from client_programs import run
from ldap.controls import SimplePagedResultsControl
from login_machine import nslcd
from pando_server import BASE, HERE, Pando

PEOPLE, GROUPS = f"ou=People,{BASE}", f"ou=Groups,{BASE}"
ANN, BEN, CORA = (f"uid={uid},{PEOPLE}" for uid in ("ann", "ben", "cora"))
STAFF, PRINTING, READERS = (f"cn={name},{GROUPS}" for name in ("staff", "printing", "readers"))
ANN_PASSWD = "ann:*:10001:20001:Ann Alder:/home/ann:/bin/bash"
BEN_PASSWD = "ben:*:10002:20001:Ben Birch:/home/ben:/bin/sh"
# What nslcd asks for by default.
NSLCD_PASSWD = [
    "uid",
    "userPassword",
    "uidNumber",
    "gidNumber",
    "gecos",
    "cn",
    "homeDirectory",
    "loginShell",
    "objectClass",
]
NSLCD_SHADOW = [
    *("uid", "userPassword", "shadowLastChange", "shadowMin", "shadowMax", "shadowWarning", "shadowInactive"),
    *("shadowExpire", "shadowFlag"),
]
NSLCD_GROUP = ["cn", "userPassword", "gidNumber", "memberUid", "member"]
# What SSSD asks for with `ldap_schema = rfc2307bis`; servers that do not know some of these leave them out.
SSSD_USER = [
    *("objectClass", "uid", "userPassword", "uidNumber", "gidNumber", "gecos", "homeDirectory", "loginShell"),
    *("krbPrincipalName", "cn", "memberOf", "modifyTimestamp", "shadowLastChange", "shadowMin", "shadowMax"),
    *("shadowWarning", "shadowInactive", "shadowExpire", "shadowFlag", "krbLastPwdChange", "krbPasswordExpiration"),
    *("pwdAttribute", "authorizedService", "accountExpires", "userAccountControl", "nsAccountLock", "host", "rhost"),
    *("loginDisabled", "loginExpirationTime", "loginAllowedTimeMap", "sshPublicKey", "userCertificate;binary", "mail"),
]
SSSD_GROUP = ["objectClass", "posixGroup", "cn", "userPassword", "gidNumber", "member", "modifyTimestamp"]
SSSD_USER_FILTER = "(&(uid={uid})(objectclass=posixAccount)(uid=*)(&(uidNumber=*)(!(uidNumber=0))))"
SSSD_GROUP_FILTER = (
    "(&(cn={name})(|(objectClass=posixGroup)(objectClass=groupOfNames))(cn=*)(&(gidNumber=*)(!(gidNumber=0))))"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    instance = Pando(tmp_path_factory.mktemp("pando") / "inst")
    instance.setup("--accessProfile", "posix-logins").import_ldif(HERE / "data" / "logins.ldif").start()
    yield instance
    assert instance.stop() == 0


@pytest.fixture(params=["anonymous", "user"])
def con(request, server):
    """Whoever looks accounts up: nobody, or a user with nothing but an entry."""
    who = ("", "") if request.param == "anonymous" else (CORA, "cora-password")
    con = server.connect(*who)
    yield con
    con.unbind_s()


@pytest.fixture
def anonymous(server):
    con = server.connect("", "")
    yield con
    con.unbind_s()


def code(ask) -> int:
    """The result code of a refused request."""
    with pytest.raises(ldap.LDAPError) as refused:
        ask()
    return refused.value.args[0]["result"]


def found(con, filterstr: str, attributes: list[str], base: str = BASE) -> dict[str, dict[str, list[bytes]]]:
    return dict(con.search_s(base, ldap.SCOPE_SUBTREE, filterstr, attributes))


@pytest.mark.parametrize("bound", ["", f"binddn {CORA}\nbindpw cora-password"], ids=["anonymous", "user"])
def test_nslcd_tells_accounts_and_groups(server, tmp_path, bound):
    with nslcd(tmp_path, f"uri {server.url}\nbase {BASE}\n{bound}\n") as machine:

        def getent(*what: str) -> list[str]:
            return machine.getent(*what, service="ldap")

        assert getent("passwd") == [ANN_PASSWD, BEN_PASSWD]
        assert getent("passwd", "ann") == [ANN_PASSWD]
        assert getent("passwd", "10002") == [BEN_PASSWD]
        assert getent("passwd", "cora") == []
        assert getent("group") == ["staff:*:20001:ann,ben", "printing:*:20002:ann"]
        assert getent("group", "20002") == ["printing:*:20002:ann"]
        assert getent("shadow", "ann") == ["ann:*:20000::99999::::0"]
        assert getent("initgroups", "ann")[0].split() == ["ann", "20001", "20002"]


def test_nslcd_pages_through_results(server, tmp_path):
    with nslcd(tmp_path, f"uri {server.url}\nbase {BASE}\npagesize 1\n") as machine:
        assert machine.getent("passwd", service="ldap") == [ANN_PASSWD, BEN_PASSWD]


def test_the_searches_of_nslcd(con):
    accounts = found(con, "(objectClass=posixAccount)", NSLCD_PASSWD)
    assert sorted(accounts) == [ANN, BEN]
    assert accounts[ANN] == {
        "objectClass": accounts[ANN]["objectClass"],
        "uid": [b"ann"],
        "cn": [b"Ann Alder"],
        "uidNumber": [b"10001"],
        "gidNumber": [b"20001"],
        "homeDirectory": [b"/home/ann"],
        "loginShell": [b"/bin/bash"],
        "gecos": [b"Ann Alder"],
    }
    assert list(found(con, "(&(objectClass=posixAccount)(uid=ben))", NSLCD_PASSWD)) == [BEN]
    assert list(found(con, "(&(objectClass=posixAccount)(uidNumber=10001))", NSLCD_PASSWD)) == [ANN]
    shadow = found(con, "(&(objectClass=shadowAccount)(uid=ann))", NSLCD_SHADOW)
    assert shadow == {ANN: {"uid": [b"ann"], "shadowLastChange": [b"20000"], "shadowMax": [b"99999"]}}
    group = found(con, "(&(objectClass=posixGroup)(cn=staff))", NSLCD_GROUP)
    assert group == {STAFF: {"cn": [b"staff"], "gidNumber": [b"20001"], "member": [ANN.encode(), BEN.encode()]}}
    of_ann = f"(&(objectClass=posixGroup)(|(memberUid=ann)(member={ANN})))"
    assert sorted(found(con, of_ann, ["cn", "gidNumber"])) == [PRINTING, STAFF]


def test_the_searches_of_sssd(con):
    ann = found(con, SSSD_USER_FILTER.format(uid="ann"), SSSD_USER)
    assert list(ann) == [ANN] and ann[ANN]["uidNumber"] == [b"10001"] and "userPassword" not in ann[ANN]
    assert found(con, SSSD_USER_FILTER.format(uid="cora"), SSSD_USER) == {}
    staff = found(con, SSSD_GROUP_FILTER.format(name="staff"), SSSD_GROUP)
    assert staff[STAFF]["member"] == [ANN.encode(), BEN.encode()]
    of_ann = f"(&(member={ANN})(objectClass=posixGroup)(cn=*)(&(gidNumber=*)(!(gidNumber=0))))"
    assert list(found(con, of_ann, SSSD_GROUP)) == [STAFF]
    page = SimplePagedResultsControl(True, size=1, cookie="")
    sent = con.search_ext(BASE, ldap.SCOPE_SUBTREE, "(objectclass=posixAccount)", SSSD_USER, serverctrls=[page])
    _, entries, _, controls = con.result3(sent)
    assert len(entries) == 1 and controls[0].cookie
    changed = "(&(objectclass=posixAccount)(modifyTimestamp>=20200101000000Z))"
    assert sorted(found(con, changed, ["uid", "modifyTimestamp"])) == [ANN, BEN]


def test_the_root_dse_and_the_schema_are_read_by_everybody(con):
    ((_, dse),) = con.search_s("", ldap.SCOPE_BASE, "(objectClass=*)", ["*", "+"])
    assert dse["namingContexts"] == [BASE.encode()] and b"1.2.840.113556.1.4.319" in dse["supportedControl"]
    ((_, schema),) = con.search_s("cn=schema", ldap.SCOPE_BASE, "(objectClass=subschema)", ["attributeTypes"])
    assert len(schema["attributeTypes"]) > 100


def test_nobody_reads_a_password(server):
    for who in [("", ""), (CORA, "cora-password"), (ANN, "ann-password")]:
        con = server.connect(*who)
        assert all("userPassword" not in entry for entry in found(con, "(uid=*)", ["*", "+", "userPassword"]).values())
        assert found(con, "(userPassword=*)", ["1.1"]) == {}
        assert code(lambda: con.compare_s(ANN, "userPassword", b"ann-password")) == 50


def test_an_anonymous_client_is_told_of_accounts_only(anonymous):
    assert set(found(anonymous, "(objectClass=*)", ["1.1"])) == {BASE, PEOPLE, GROUPS, ANN, BEN, STAFF, PRINTING}
    # What it may not read takes no part in a search.
    assert found(anonymous, "(mail=*)", ["1.1"]) == {}
    assert found(anonymous, "(!(mail=nobody@example.com))", ["1.1"]) == {}
    assert set(found(anonymous, "(|(uid=ann)(mail=cora@example.com))", ["1.1"])) == {ANN}
    assert "mail" not in found(anonymous, "(uid=ann)", ["*", "+"])[ANN]
    # A person without an account and a name that is not there are the same.
    for missing in (CORA, READERS, f"uid=nobody,{PEOPLE}"):
        assert code(lambda: anonymous.search_s(missing, ldap.SCOPE_BASE)) == 32
        assert code(lambda: anonymous.compare_s(missing, "cn", b"x")) == 32
    assert code(lambda: anonymous.modify_s(ANN, [(ldap.MOD_REPLACE, "loginShell", b"/bin/true")])) == 50


def test_a_user_cares_for_the_own_account_only(server):
    ben = server.connect(BEN, "ben-password")
    ben.modify_s(BEN, [(ldap.MOD_REPLACE, "loginShell", b"/bin/dash")])
    ben.modify_s(BEN, [(ldap.MOD_REPLACE, "loginShell", b"/bin/sh")])
    for kind, value in [("uidNumber", b"0"), ("gidNumber", b"0"), ("homeDirectory", b"/root"), ("uid", b"root")]:
        assert code(lambda: ben.modify_s(BEN, [(ldap.MOD_ADD, kind, value)])) == 50
    assert code(lambda: ben.modify_s(ANN, [(ldap.MOD_REPLACE, "loginShell", b"/bin/true")])) == 50
    assert code(lambda: ben.modify_s(STAFF, [(ldap.MOD_DELETE, "member", ANN.encode())])) == 50
    assert code(lambda: ben.passwd_s(ANN, None, "stolen")) == 50
    # By a user as pam_ldap does it: with the old password.
    ben.passwd_s(BEN, "ben-password", "ben-another")
    server.connect(BEN, "ben-another").passwd_s(BEN, "ben-another", "ben-password")


@pytest.mark.parametrize("bound", [[], ["-D", CORA, "-w", "cora-password"]], ids=["anonymous", "user"])
def test_ldap_utils_look_accounts_up(server, bound):
    asked = ["-x", "-H", server.url, *bound]
    search = ["ldapsearch", *asked, "-LLL", "-b", BASE, "-E", "pr=1/noprompt", "(objectClass=posixAccount)", "uid"]
    done = subprocess.run(search, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = ["uid: ann", "uid: ben"]
    assert [line for line in done.stdout.splitlines() if line.startswith("uid:")] == found
    compare = ["ldapcompare", *asked, ANN, "userPassword:ann-password"]
    assert subprocess.run(compare, capture_output=True, timeout=60).returncode == 50
    delete = ["ldapdelete", *asked, ANN]
    assert subprocess.run(delete, capture_output=True, timeout=60).returncode == 50


@pytest.mark.parametrize("bound", [{}, {"user": CORA, "password": "cora-password"}], ids=["anonymous", "user"])
def test_ldap3_looks_accounts_up(server, bound):
    host = ldap3.Server("127.0.0.1", port=server.port, get_info=ldap3.ALL)
    con = ldap3.Connection(host, auto_bind=True, **bound)
    assert con.server.info.naming_contexts == [BASE]
    assert con.search(BASE, "(&(objectClass=posixAccount)(uid=ann))", attributes=["uidNumber", "userPassword", "mail"])
    assert con.entries[0].uidNumber.value == 10001 and not con.entries[0].userPassword
    pages = con.extend.standard.paged_search(BASE, "(objectClass=posixAccount)", attributes=["uid"], paged_size=1)
    assert [entry["dn"] for entry in pages] == [ANN, BEN]
    assert not con.modify(ANN, {"loginShell": [(ldap3.MODIFY_REPLACE, ["/bin/true"])]})
    assert con.result["result"] == 50
    con.unbind()


def test_go_ldap_looks_accounts_up(server):
    command = ["go", "test", "-count=1", "-v", "-run", "TestLogins", "./..."]
    who = {"PANDO_LOGIN_DN": CORA, "PANDO_LOGIN_PW": "cora-password"}
    run(command, "go", server, "--- PASS: TestLogins", **who)
