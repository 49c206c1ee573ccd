"""The default referral: what requests get for names that no suffix holds. slapd's `referral` directive is asked the
same.
"""

import pytest
from pando_server import BASE
from slapd_server import ADMIN_DN, ADMIN_PW, slapd_url
from test_ldap_utils import ldap_tool

SERVERS = ["ldap://other.example.com:1389", "ldaps://second.example.com/"]
ELSEWHERE = "cn=Ann Other,dc=other,dc=org"
SET = [word for server in SERVERS for word in ("--add", f"default-referral:{server}")]


@pytest.fixture(scope="module")
def slapd(tmp_path_factory):
    lines = "\n".join(f"referral {server}" for server in SERVERS)
    with slapd_url(tmp_path_factory.mktemp("slapd"), "", server=lines) as url:
        yield url


def configure(server, *words):
    return server.tool("dsconfig", "set-global-configuration-prop", *words, "-n", check=False)


@pytest.fixture
def referring(server):
    """The server while it refers: the property takes effect live."""
    done = configure(server, *SET)
    assert done.returncode == 0, done.stderr
    yield server
    done = configure(server, "--reset", "default-referral")
    assert done.returncode == 0, done.stderr


def outcome(server, tool, *args, stdin=None, **kw):
    """The result code, and the URLs of the referral."""
    code, out, err = ldap_tool(server, tool, *args, stdin=stdin, **kw)
    lines = [line.strip() for line in (out + err).splitlines()]
    return code, [word for line in lines for word in line.split() if word.startswith(("ldap://", "ldaps://"))]


ADD = f"dn: {ELSEWHERE}\nobjectClass: person\ncn: Ann Other\nsn: Other\n"
MODIFY = f"dn: {ELSEWHERE}\nchangetype: modify\nreplace: sn\nsn: Else\n"
REQUESTS = [
    ("ldapsearch", ["-b", ELSEWHERE, "-s", "base"], None, "??base"),
    ("ldapsearch", ["-b", ELSEWHERE, "-s", "one"], None, "??one"),
    ("ldapsearch", ["-b", ELSEWHERE, "-s", "sub", "(uid=*)"], None, "??sub"),
    ("ldapsearch", ["-b", ELSEWHERE, "-s", "sub", "-MM"], None, "??sub"),
    ("ldapcompare", [ELSEWHERE, "sn:Other"], None, ""),
    ("ldapcompare", ["-MM", ELSEWHERE, "sn:Other"], None, ""),
    ("ldapadd", [], ADD, ""),
    ("ldapmodify", [], MODIFY, ""),
    ("ldapmodify", ["-MM"], MODIFY, ""),
    ("ldapmodrdn", [ELSEWHERE, "cn=Bob"], None, ""),
    ("ldapdelete", [ELSEWHERE], None, ""),
]


@pytest.mark.parametrize("tool,args,stdin,scope", REQUESTS)
def test_slapd_refers_to_the_same(referring, slapd, tool, args, stdin, scope):
    name = ELSEWHERE.replace(" ", "%20")
    expected = (10, [f"{server.rstrip('/')}/{name}{scope}" for server in SERVERS])
    assert outcome(referring, tool, *args, stdin=stdin) == expected
    assert outcome(referring, tool, *args, stdin=stdin, url=slapd, dn=ADMIN_DN, pw=ADMIN_PW) == expected


def test_names_of_this_server_are_not_referred(referring):
    assert outcome(referring, "ldapsearch", "-b", BASE, "-s", "base")[0] == 0
    assert outcome(referring, "ldapsearch", "-b", "cn=monitor", "-s", "base")[0] == 0
    assert outcome(referring, "ldapsearch", "-b", "", "-s", "base") == (0, [])
    assert outcome(referring, "ldapsearch", "-b", f"cn=nobody,{BASE}") == (32, [])
    # Somebody elsewhere does not bind here; who has not bound is referred like others: no entry is told of.
    assert outcome(referring, "ldapwhoami", dn=ELSEWHERE, pw="secret12") == (49, [])
    assert outcome(referring, "ldapsearch", "-b", ELSEWHERE, dn=None)[0] == 10


@pytest.mark.parametrize("tool,args,stdin,scope", REQUESTS)
def test_without_it_there_is_no_such_entry(server, tool, args, stdin, scope):
    assert outcome(server, tool, *args, stdin=stdin) == (32, [])


@pytest.mark.parametrize(
    "value", ["other.example.com", "ldap://other.example.com/dc=other", "ldap://other.example.com/??sub", "ldap:///"]
)
def test_only_servers_are_taken(server, value):
    done = configure(server, "--set", f"default-referral:{value}")
    assert done.returncode == 1 and done.stdout == ""
    assert "the LDAP URL of a server" in done.stderr
