"""Result codes of pass-through binds and password changes: OpenDJ and Pando ask the same slapd, by the same policies.

Where they differ, DIFFERENCES has both codes, and docs/pass-through.md the reason.
"""

import ldap
import ldap.modlist
import opendj_server
import pytest
from pando_server import BASE, Pando, free_ports
from pass_through_scene import ANN, ODD_UID, PEOPLE, THERE, address, code_at, person, pointer, policy, remote_data
from slapd_server import ADMIN_DN, ADMIN_PW, slapd_url

EVERYTHING = [
    '(targetattr="*||+")(version 3.0; acl "All"; allow (all) userdn="ldap:///anyone";)',
    '(extop="*")(version 3.0; acl "Operations"; allow (read) userdn="ldap:///anyone";)',
]
SEARCH = {
    "mapping-policy": "mapped-search",
    "mapped-attribute": "title",
    "mapped-search-base-dn": PEOPLE,
    "mapped-search-filter-template": "(uid=%s)",
    "mapped-search-bind-dn": ADMIN_DN,
    "mapped-search-bind-password": ADMIN_PW,
}
POLICIES = {
    "Same": {},
    "Named": {"mapping-policy": "mapped-bind", "mapped-attribute": "seeAlso"},
    "Found": SEARCH,
    "Found Nowhere": {**SEARCH, "mapped-search-base-dn": f"ou=Nowhere,{BASE}"},
    "Without Right": {**SEARCH, "mapped-search-bind-password": "not this one"},
    "Anonymous": {name: value for name, value in SEARCH.items() if "bind" not in name},
    "Down": {},
}
NAMED_ANN = {"seeAlso": [ANN]}


def titles(*values):
    return {"title": list(values)}


# Name here → policy, attributes beside, password, OpenDJ's code.
BINDS = {
    "ann": ("Same", {}, THERE, 0),
    "ann.wrong": ("Same", {}, "wrong", 49),
    "absent.there": ("Same", {}, THERE, 49),
    "disabled": ("Named", {**NAMED_ANN, "ds-pwp-account-disabled": ["true"]}, THERE, 49),
    "named": ("Named", NAMED_ANN, THERE, 0),
    "named.wrong": ("Named", NAMED_ANN, "wrong", 49),
    "without.name": ("Named", {}, THERE, 49),
    "name.of.nobody": ("Named", {"seeAlso": [f"uid=nobody,{PEOPLE}"]}, THERE, 49),
    "found": ("Found", titles("ann"), THERE, 0),
    "found.wrong": ("Found", titles("ann"), "wrong", 49),
    "found.odd": ("Found", titles(ODD_UID), THERE, 0),
    "found.star": ("Found", titles("*"), THERE, 49),
    "found.nobody": ("Found", titles("nobody"), THERE, 49),
    "found.by.second": ("Found", titles("nobody", "ann"), THERE, 0),
    "two.found": ("Found", titles("twin"), THERE, 49),
    "two.values": ("Found", titles("ann", "twin"), THERE, 49),
    "without.value": ("Found", {}, THERE, 49),
    "anonymous": ("Anonymous", titles("ann"), THERE, 0),
    "no.base": ("Found Nowhere", titles("ann"), THERE, 49),
    "search.refused": ("Without Right", titles("ann"), THERE, 49),
    "nobody.to.ask": ("Down", {}, THERE, 49),
}
# OpenDJ's code first. An answer that says nothing of the password is no wrong password here.
DIFFERENCES = {"search.refused": (49, 52), "nobody.to.ask": (49, 52)}


def dn(name: str) -> str:
    return ANN if name == "ann" else f"uid={name},{PEOPLE}"


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """The URL of each, OpenDJ first, with the same policies and people."""
    folder = tmp_path_factory.mktemp("remote")
    (closed,) = free_ports(1)
    with (
        slapd_url(folder, "", data=remote_data(folder)) as remote,
        opendj_server.opendj_url(tmp_path_factory.mktemp("opendj"), EVERYTHING) as opendj,
    ):
        asked = {name: f"127.0.0.1:{closed}" if name == "Down" else address(remote) for name in POLICIES}
        pando = Pando(tmp_path_factory.mktemp("pando") / "inst").setup()
        try:
            tables = [
                policy(name, *(f"{key} = '{value}'" for key, value in with_server(says, asked[name]).items()))
                for name, says in POLICIES.items()
            ]
            pando.configure("".join(tables)).start()
            pando.connect().add_s(BASE, [("objectClass", [b"domain"]), ("dc", [b"example"])])
            admin = opendj_server.connect(opendj)
            for name, says in POLICIES.items():
                add_policy(admin, name, with_server(says, asked[name]))
            for root in (admin, pando.connect()):
                root.add_s(PEOPLE, [("objectClass", [b"organizationalUnit"]), ("ou", [b"Staff"])])
                for name, (policy_name, attributes, _, _) in BINDS.items():
                    root.add_s(dn(name), person(name, **attributes, **pointer(policy_name)))
            yield opendj, pando.url
        finally:
            pando.remove()


def with_server(says: dict[str, str], server: str) -> dict[str, str]:
    return {"primary-remote-ldap-server": server, **says}


def add_policy(admin, name: str, says: dict[str, str]) -> None:
    entry = {
        "objectClass": ["top", "ds-cfg-authentication-policy", "ds-cfg-ldap-pass-through-authentication-policy"],
        "cn": [name],
        "ds-cfg-java-class": ["org.opends.server.extensions.LDAPPassThroughAuthenticationPolicyFactory"],
        "ds-cfg-mapping-policy": ["unmapped"],
        "ds-cfg-use-password-caching": ["false"],
        **{f"ds-cfg-{key}": [value] for key, value in says.items()},
    }
    encoded = {key: [value.encode() for value in values] for key, values in entry.items()}
    admin.add_s(f"cn={name},cn=Password Policies,cn=config", ldap.modlist.addModlist(encoded))


@pytest.mark.parametrize("name", BINDS)
def test_binds(servers, name):
    _, _, password, expected = BINDS[name]
    codes = tuple(code_at(url, dn(name), password) for url in servers)
    assert codes == DIFFERENCES.get(name, (expected, expected))


def changed(url: str, who: tuple[str, ...], change) -> int:
    con = opendj_server.connect(url, *who)
    try:
        change(con)
        return 0
    except ldap.LDAPError as error:
        return error.args[0]["result"]
    finally:
        con.unbind_s()


@pytest.mark.parametrize(
    ("who", "change", "expected"),
    [
        ((ANN, THERE), lambda con: con.passwd_s(ANN, THERE, "another 3"), (53, 53)),
        ((ANN, THERE), lambda con: con.passwd_s(None, None, "another 3"), (53, 53)),
        ((), lambda con: con.passwd_s(ANN, None, "another 3"), (53, 53)),
        ((), lambda con: con.modify_s(ANN, [(ldap.MOD_REPLACE, "userPassword", b"another 3")]), (0, 0)),
        ((ANN, THERE), lambda con: con.modify_s(ANN, [(ldap.MOD_REPLACE, "userPassword", b"another 4")]), (0, 53)),
    ],
    ids=["own with old", "own", "by an administrator", "modify by an administrator", "modify by the user"],
)
def test_changes(servers, who, change, expected):
    codes = tuple(changed(url, who, change) for url in servers)
    assert codes == expected
    # Whatever became of it, the password is the one that the other directory has.
    assert [code_at(url, ANN, THERE) for url in servers] == [0, 0]
