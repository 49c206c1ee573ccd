"""The dereference control (draft-masarati-ldap-deref) as ldapsearch sends it; slapd with its deref overlay is asked the
same.
"""

import pytest
from pando_server import BASE
from slapd_server import ADMIN_DN, ADMIN_PW, slapd_url
from test_ldap_utils import ldap_tool

GROUPS = f"ou=Groups,{BASE}"


@pytest.fixture(scope="module")
def slapd(tmp_path_factory):
    with slapd_url(tmp_path_factory.mktemp("slapd"), "overlay deref", modules="moduleload deref") as url:
        yield url


def dereferenced(server, control, *args, **kw):
    """Result code, and by entry what ldapsearch prints of the control: `member: <attribute=value>;name`."""
    code, out, _ = ldap_tool(
        server, "ldapsearch", "-LLL", "-o", "ldif-wrap=no", "-b", BASE, "-E", control, *args, "1.1", **kw
    )
    found, dn = {}, None
    for line in out.splitlines():
        if line.startswith("dn: "):
            dn = line
        elif line.startswith("# ") and ": <" in line:
            found.setdefault(dn, []).append(parts(line))
    return code, found


def parts(line):
    """The attribute, the name, and the attributes shown, in whichever order they come."""
    attribute, rest = line.removeprefix("# ").split(": ", 1)
    shown, name = rest.rsplit(";", 1) if ";" in rest else ("", rest)
    return attribute, name, tuple(sorted(f"<{one}" for one in shown.split("<") if one))


CONTROLS = [
    ("deref=member:uid,sn", "(cn=gardeners)"),
    ("deref=member:uid", "(|(cn=gardeners)(cn=foresters))"),
    ("deref=manager:cn;secretary:cn,mail", "(uid=user.*)"),
    ("!deref=member:objectClass", "(cn=gardeners)"),
    ("!deref=member:entryUUID,creatorsName", "(uid=user.1)"),
]


@pytest.mark.parametrize("control,filterstr", CONTROLS)
def test_slapd_dereferences_the_same(server, slapd, control, filterstr):
    ours = dereferenced(server, control, filterstr)
    theirs = dereferenced(server, control, filterstr, url=slapd, dn=ADMIN_DN, pw=ADMIN_PW)
    assert ours == theirs and ours[0] == 0


def test_members_come_with_what_is_asked_of_them(server):
    code, found = dereferenced(server, "deref=member:uid,sn", "(cn=gardeners)")
    assert code == 0
    ((dn, values),) = found.items()
    assert dn == f"dn: cn=gardeners,{GROUPS}" and len(values) == 10
    assert values[0][:2] == ("member", f"uid=user.1,ou=People,{BASE}")
    assert any("uid=user.1" in shown for shown in values[0][2])


@pytest.mark.parametrize(
    "control,code",
    [
        ("deref=nosuch:cn", 2),
        ("!deref=cn:sn", 2),
        ("deref=cn:sn", 0),
        ("deref=member:cn;MEMBER:sn", 2),
    ],
)
def test_refusals_are_those_of_slapd(server, slapd, control, code):
    assert dereferenced(server, control, "(cn=gardeners)")[0] == code
    theirs = dereferenced(server, control, "(cn=gardeners)", url=slapd, dn=ADMIN_DN, pw=ADMIN_PW)
    assert theirs[0] == code


def test_names_show_no_more_than_a_search_would(server):
    code, found = dereferenced(server, "deref=member:uid", "(cn=gardeners)", dn=None)
    assert (code, found) == (32, {}), "nobody tells anonymous clients that there is such an entry"
    user = {"dn": f"uid=user.1,ou=People,{BASE}", "pw": "password"}
    code, found = dereferenced(server, "deref=member:userPassword,uid", "(cn=gardeners)", **user)
    assert code == 0 and sum(map(len, found.values())) == 10
    assert not any("userPassword" in shown for values in found.values() for value in values for shown in value[2])
