"""ldap3: a client in pure Python with its own BER and LDAP code (the second independent reading of our bytes)."""

import ssl

import ldap3
import pytest
from ldap3.core.exceptions import LDAPBindError
from pando_server import BASE, ROOT_DN, ROOT_PW

PEOPLE = f"ou=People,{BASE}"


@pytest.fixture(scope="module")
def con(server):
    host = ldap3.Server("127.0.0.1", port=server.port, get_info=ldap3.ALL)
    con = ldap3.Connection(host, ROOT_DN, ROOT_PW, auto_bind=True)
    yield con
    con.unbind()


def test_the_server_info_and_schema_are_understood(con):
    info, schema = con.server.info, con.server.schema
    assert info.naming_contexts == [BASE]
    assert "3" in info.supported_ldap_versions
    assert schema.attribute_types["uid"].oid == "0.9.2342.19200300.100.1.1"
    assert "posixAccount" in schema.object_classes


def test_search_with_typed_values(con):
    assert con.search(PEOPLE, "(&(objectClass=person)(employeeNumber=7))", attributes=["*", "+"])
    entry = con.entries[0]
    assert entry.cn.value == "Hugo Hazelby"
    assert entry.hasSubordinates.value in (False, "FALSE")
    assert con.response[0]["dn"] == f"uid=user.7,{PEOPLE}"


def test_add_modify_rename_delete(con):
    dn = f"uid=three.1,{PEOPLE}"
    assert con.add(dn, ["inetOrgPerson"], {"cn": "Three", "sn": "One", "uid": "three.1"}), con.result
    assert con.modify(
        dn, {"mail": [(ldap3.MODIFY_ADD, ["a@example.com", "b@example.com"])], "sn": [(ldap3.MODIFY_REPLACE, ["Two"])]}
    ), con.result
    assert con.compare(dn, "mail", "B@example.com")
    assert con.modify_dn(dn, "uid=three.2", new_superior=f"ou=Strange,{BASE}"), con.result
    assert (
        con.search(BASE, "(mail=b@example.com)", attributes=["sn"])
        and con.entries[0].entry_dn == f"uid=three.2,ou=Strange,{BASE}"
    )
    assert con.delete(f"uid=three.2,ou=Strange,{BASE}"), con.result
    assert not con.delete(f"uid=three.2,ou=Strange,{BASE}") and con.result["description"] == "noSuchObject"


def test_increment(con):
    dn = f"uid=three.3,{PEOPLE}"
    assert con.add(
        dn,
        ["inetOrgPerson", "posixAccount"],
        {"cn": "T", "sn": "T", "uid": "three.3", "uidNumber": 7, "gidNumber": 7, "homeDirectory": "/t"},
    )
    assert con.modify(dn, {"uidNumber": [(ldap3.MODIFY_INCREMENT, [3])]}), con.result
    con.search(dn, "(objectClass=*)", ldap3.BASE, attributes=["uidNumber"])
    assert con.entries[0].uidNumber.value == 10
    assert con.delete(dn)


def test_extended_operations(con):
    assert con.extend.standard.who_am_i() == f"dn:{ROOT_DN}"
    generated = con.extend.standard.modify_password(f"uid=user.8,{PEOPLE}")
    assert ldap3.Connection(con.server, f"uid=user.8,{PEOPLE}", generated).bind()
    assert not ldap3.Connection(con.server, f"uid=user.8,{PEOPLE}", "password").bind()


def test_start_tls(server):
    host = ldap3.Server("127.0.0.1", port=server.port, tls=ldap3.Tls(validate=ssl.CERT_NONE))
    con = ldap3.Connection(host, ROOT_DN, ROOT_PW)
    con.open()
    assert con.start_tls() and con.bind()
    assert con.search(BASE, "(uid=user.1)")
    con.unbind()


def test_an_unauthenticated_bind_is_refused(server):
    with pytest.raises(LDAPBindError):
        ldap3.Connection(ldap3.Server("127.0.0.1", port=server.port), ROOT_DN, "bad", auto_bind=True)


def test_asynchronous_pipelining(server):
    """Fifty searches in flight on one connection, each answered with its own message id."""
    host = ldap3.Server("127.0.0.1", port=server.port)
    con = ldap3.Connection(host, ROOT_DN, ROOT_PW, auto_bind=True, client_strategy=ldap3.ASYNC)
    ids = [(con.search(PEOPLE, f"(uid=user.{i % 20})", attributes=["uid"]), i % 20) for i in range(50)]
    for message_id, i in ids:
        response, result = con.get_response(message_id)
        assert result["description"] == "success"
        assert [e["dn"] for e in response if e["type"] == "searchResEntry"] == [f"uid=user.{i},{PEOPLE}"]
    con.unbind()
