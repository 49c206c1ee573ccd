"""Attribute lists by group class: entries show what the entries have that their URLs find; with slapd's overlay dynlist
as the oracle."""

import found
import ldap
import pytest
from ldap.controls import RequestControl
from pando_server import BASE, until
from slapd_server import connect, slapd_url
from test_integrity import GROUPS, PEOPLE, entry, made, modify, step

REAL_ONLY = RequestControl("2.16.840.1.113730.3.4.17", True, None)
RULES = """
[virtual-attribute."lists of URLs"]
type = "dynamic-list"
list-attribute = ["mail:mail", "description:uid", "member:entryDN"]

[virtual-attribute."labelled lists"]
type = "dynamic-list"
group-class = "labeledURIObject"
url-attribute = "labeledURI"
filter = "(!(description=off))"
"""
OVERLAY = f"""
access to * by users write by * none
overlay dynlist
dynlist-attrset groupOfURLs memberURL mail:mail description:uid
dynlist-attrset labeledURIObject ldap:///{BASE}??sub?(!(description=off)) labeledURI
"""
LIST, LABELLED, PLAIN = (f"cn={name},{GROUPS}" for name in ("list", "labelled", "plain"))
URL = f"ldap:///{PEOPLE}?mail,uid?sub?(|(uid=user.1)(uid=user.2))"


def url_list(con, dn, *urls):
    con.add_s(dn, entry(("objectClass", "groupOfURLs"), ("cn", ldap.dn.str2dn(dn)[0][0][1]), ("memberURL", *urls)))


def labelled(con, dn, *urls, more=()):
    classes = ("objectClass", "organizationalRole", "labeledURIObject")
    con.add_s(dn, entry(classes, ("cn", ldap.dn.str2dn(dn)[0][0][1]), ("labeledURI", *urls), *more))


def shown(con, dn, *names):
    ((_, attrs),) = con.search_s(dn, ldap.SCOPE_BASE, "(objectClass=*)", list(names) or None)
    # slapd does not add the class top.
    lower = {name.lower(): {value.lower() for value in values} - {b"top"} for name, values in attrs.items()}
    return {name: sorted(values) for name, values in lower.items()}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    instance = made(tmp_path_factory.mktemp("pando"), RULES).start()
    with slapd_url(tmp_path_factory.mktemp("slapd"), OVERLAY, modules="moduleload dynlist.la") as url:
        ours, theirs = instance.connect(), connect(url)
        for con in (ours, theirs):
            url_list(con, LIST, URL)
            labelled(con, LABELLED, f"ldap:///{PEOPLE}?mail,telephoneNumber?one?(uid=user.1*)", more=[("l", "Grove")])
            con.add_s(PLAIN, entry(("objectClass", "organizationalRole"), ("cn", "plain")))
        yield instance, ours, theirs
    assert instance.stop() == 0


def test_what_is_shown_and_compared(both):
    _, ours, theirs = both
    for names in ([], ["mail"], ["description"], ["mail", "memberURL"], ["*"], ["1.1"], ["cn"]):
        mine, other = shown(ours, LIST, *names), shown(theirs, LIST, *names)
        assert mine == other, names
    assert shown(ours, LIST, "mail")["mail"] == [b"user.1@example.com", b"user.2@example.com"]
    for names in ([], ["mail"], ["telephoneNumber", "l"]):
        assert shown(ours, LABELLED, *names) == shown(theirs, LABELLED, *names), names
    assert b"user.1@example.com" in shown(ours, LABELLED)["mail"]
    for con in (ours, theirs):
        assert con.compare_s(LIST, "mail", b"USER.1@example.com") and not con.compare_s(
            LIST, "mail", b"user.3@example.com"
        )
        assert con.compare_s(LIST, "description", b"user.2") and con.compare_s(LABELLED, "mail", b"user.1@example.com")
        assert step(con, lambda con: con.compare_s(PLAIN, "telephoneNumber", b"1")) == ldap.NO_SUCH_ATTRIBUTE.errnum


def test_filters(both):
    _, ours, theirs = both
    for attribute, value in (("mail", "user.2@example.com"), ("description", "user.2"), ("mail", "nobody@example.com")):
        # Without the data's dynamic group, whose URL lists no attributes: slapd does not filter by what it gives.
        filterstr = f"(&(objectClass=groupOfURLs)(!(cn=everyone))({attribute}={value}))"
        assert found.dns(ours, filterstr, GROUPS) == found.dns(theirs, filterstr, GROUPS)
    assert LIST in found.dns(ours, "(mail=user.2@example.com)", GROUPS)
    assert LIST not in found.dns(ours, "(mail=user.3@example.com)", GROUPS)
    # slapd filters by what is mapped only.
    assert found.dns(ours, "(&(objectClass=labeledURIObject)(telephoneNumber=*))", GROUPS) == [LABELLED]


def test_changes_are_seen_at_once(both):
    _, ours, theirs = both
    for con in (ours, theirs):
        dn = f"uid=listed,{PEOPLE}"
        classes = ("objectClass", "inetOrgPerson")
        con.add_s(
            dn,
            entry(
                classes, ("uid", "listed"), ("cn", "x"), ("sn", "x"), ("mail", "listed@example.com"), ("title", "boss")
            ),
        )
        assert step(con, modify(LIST, (ldap.MOD_ADD, "memberURL", f"ldap:///{dn}?mail"))) == 0
        assert b"listed@example.com" in shown(con, LIST)["mail"]
        assert step(con, modify(dn, (ldap.MOD_REPLACE, "mail", "other@example.com"))) == 0
        assert b"other@example.com" in shown(con, LIST)["mail"]
        # An attribute that no URL listed so far.
        assert step(con, modify(LABELLED, (ldap.MOD_ADD, "labeledURI", f"ldap:///{dn}?title"))) == 0
        assert shown(con, LABELLED, "title") == {"title": [b"boss"]}
        assert step(con, modify(LIST, (ldap.MOD_DELETE, "memberURL", f"ldap:///{dn}?mail"))) == 0
        assert b"other@example.com" not in shown(con, LIST)["mail"]
        con.delete_s(dn)
        assert "title" not in shown(con, LABELLED)


def test_restriction_and_own_values(both):
    _, ours, theirs = both
    for con in (ours, theirs):
        off, own = f"cn=off,{GROUPS}", f"cn=own,{GROUPS}"
        url = f"ldap:///{PEOPLE}?telephoneNumber?sub?(uid=user.1)"
        labelled(con, off, url, more=[("description", "off")])
        if con is ours:
            assert "telephonenumber" not in shown(con, off)
        labelled(con, own, url, more=[("telephoneNumber", "+1 555 9999")])
        assert len(shown(con, own)["telephonenumber"]) == 2 and b"+1 555 9999" in shown(con, own)["telephonenumber"]


def test_names_and_what_is_stored(both):
    instance, ours, _ = both
    url_list(ours, f"cn=names,{GROUPS}", f"ldap:///{PEOPLE}??sub?(|(uid=user.1)(uid=user.2))")
    assert "member" not in shown(ours, LIST, "member")
    assert shown(ours, f"cn=names,{GROUPS}", "member")["member"] == [
        f"uid=user.{n},{PEOPLE}".lower().encode() for n in (1, 2)
    ]
    *_, answer = ours.result3(ours.search_ext(LIST, ldap.SCOPE_BASE, serverctrls=[REAL_ONLY]))[:2]
    ((_, attrs),) = answer
    assert sorted(attrs) == ["cn", "memberURL", "objectClass"]
    url_list(ours, f"cn=bad,{GROUPS}", "ldap://[bad?mail", f"ldap:///{PEOPLE}?userPassword,mail?sub?(uid=user.1)")
    assert "userpassword" not in shown(ours, f"cn=bad,{GROUPS}")
    assert shown(ours, f"cn=bad,{GROUPS}")["mail"] == [b"user.1@example.com"]
    until(lambda: 'The dynamic list "cn=bad,' in instance.error_log())
