"""`cn=config`: the configuration as entries, to be searched and compared over LDAP."""

import ldap
import pytest
from pando_server import BASE, ROOT_DN, until

BACKEND = "ds-cfg-backend-id=userRoot,cn=Backends,cn=config"
INDEX = f"ds-cfg-attribute=cn,cn=Index,{BACKEND}"


def names(found):
    return [dn for dn, _ in found]


def test_objects_are_where_opendj_has_them(server):
    con = server.connect()
    [(dn, entry)] = con.search_s("cn=config", ldap.SCOPE_BASE)
    assert (dn, entry["objectClass"]) == ("cn=config", [b"top", b"ds-cfg-root-config"])
    assert (entry["ds-cfg-size-limit"], entry["ds-cfg-check-schema"]) == ([b"1000"], [b"true"])
    [(_, entry)] = con.search_s(INDEX, ldap.SCOPE_BASE)
    assert entry["objectClass"] == [b"top", b"ds-cfg-backend-index"]
    assert (entry["ds-cfg-attribute"], entry["ds-cfg-index-type"]) == ([b"cn"], [b"equality", b"substring"])
    one = names(con.search_s("cn=config", ldap.SCOPE_ONELEVEL, attrlist=["1.1"]))
    assert {"cn=Backends,cn=config", "cn=Root DNs,cn=config", "cn=Access Control Handler,cn=config"} <= set(one)
    # A reference is a DN, and an entry that holds others says how many.
    filter = "(ds-cfg-key-manager-provider=cn=Server Certificate,cn=Key Manager Providers,cn=config)"
    tls = con.search_s("cn=connection handlers,cn=config", ldap.SCOPE_SUBTREE, filter, ["ds-cfg-listen-port"])
    ports = sorted([server.port, server.tls_port])
    assert sorted(int(entry["ds-cfg-listen-port"][0]) for _, entry in tls) == ports
    [(_, entry)] = con.search_s(f"cn=Index,{BACKEND}", ldap.SCOPE_BASE, attrlist=["numSubordinates", "hasSubordinates"])
    assert (entry["numSubordinates"], entry["hasSubordinates"]) == ([b"13"], [b"TRUE"])


def test_filters_know_the_syntaxes(server):
    con = server.connect()

    def count(filter, base="cn=config"):
        return len(con.search_s(base, ldap.SCOPE_SUBTREE, filter, ["1.1"]))

    assert count("(&(objectClass=ds-cfg-backend)(ds-cfg-base-dn=DC=Example, dc=com))") == 1
    assert count("(&(objectClass=ds-cfg-root-config)(ds-cfg-size-limit>=999)(!(ds-cfg-size-limit>=1001)))") == 1
    assert count("(ds-cfg-index-type=SUB*)") == count("(ds-cfg-index-type=substring)") == 5
    assert count("(&(objectClass=ds-cfg-backend)(ds-cfg-enabled=TRUE))", BACKEND) == 1
    assert con.compare_s("cn=config", "ds-cfg-size-limit", b"1000")
    assert not con.compare_s("cn=config", "ds-cfg-size-limit", b"1001")


def test_names_that_are_nothing(server):
    con = server.connect()
    for dn, matched in [
        ("cn=Nothing,cn=config", "cn=config"),
        (f"ds-cfg-attribute=xyz,cn=Index,{BACKEND}", f"cn=Index,{BACKEND}"),
    ]:
        with pytest.raises(ldap.NO_SUCH_OBJECT) as told:
            con.search_s(dn, ldap.SCOPE_BASE)
        assert told.value.args[0]["matched"] == matched


def test_passwords_never_show(server):
    con = server.connect()
    found = con.search_s("cn=config", ldap.SCOPE_SUBTREE, "(objectClass=*)", ["*", "+"])
    assert "cn=Directory Manager,cn=Root DNs,cn=config" in names(found)
    assert [dn for dn, entry in found if "userPassword" in entry or "{SSHA" in repr(entry)] == []
    assert con.search_s("cn=config", ldap.SCOPE_SUBTREE, "(userPassword=*)") == []


def test_reading_takes_config_read(server):
    con = server.connect()
    user = f"uid=user.1,ou=People,{BASE}"
    con.modify_s(user, [(ldap.MOD_REPLACE, "userPassword", [b"password1"])])
    own = server.connect(user, "password1")
    for call in [
        lambda: own.search_s("cn=config", ldap.SCOPE_SUBTREE),
        lambda: own.compare_s("cn=config", "cn", b"config"),
    ]:
        with pytest.raises(ldap.INSUFFICIENT_ACCESS) as told:
            call()
        assert "config-read" in told.value.args[0]["info"]
    con.modify_s(user, [(ldap.MOD_ADD, "ds-privilege-name", [b"config-read", b"bypass-acl"])])
    until(lambda: names(server.connect(user, "password1").search_s("cn=config", ldap.SCOPE_BASE)) == ["cn=config"])


def test_what_waits_for_a_restart_shows(server):
    server.tool("dsconfig", "set-global-configuration-prop", "--set", "max-outstanding-operations:99", "-n")
    con = server.connect(ROOT_DN)
    [(_, entry)] = con.search_s("cn=config", ldap.SCOPE_BASE, attrlist=["ds-cfg-max-outstanding-operations"])
    assert entry["ds-cfg-max-outstanding-operations"] == [b"99"]
    server.tool("dsconfig", "set-global-configuration-prop", "--reset", "max-outstanding-operations", "-n")
