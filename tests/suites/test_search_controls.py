"""Search controls as clients send them: pages, order, list views, matched values, and the list of what the server
takes.

Parts of it ask slapd with its sssvlv overlay the same; where the answers differ, it is said why.
"""

import time

import ldap
import ldap3
import pytest
from ldap.controls import RequestControl
from ldap.controls.libldap import MatchedValuesControl, SimplePagedResultsControl
from ldap.controls.readentry import PostReadControl, PreReadControl
from ldap.controls.sss import SSSRequestControl, SSSResponseControl
from ldap.controls.vlv import VLVRequestControl, VLVResponseControl
from pando_server import BASE, ROOT_DN, ROOT_PW
from slapd_server import connect, slapd_url
from test_ldap_utils import ldap_tool, search

PEOPLE = f"ou=People,{BASE}"
USERS = "(uid=user.*)"


@pytest.fixture(scope="module")
def con(server):
    return server.connect()


def ask(con, filterstr, controls, attrs=("1.1",), base=PEOPLE, scope=ldap.SCOPE_SUBTREE):
    """Names in the order in which they came, and the controls of the response by OID."""
    number = con.search_ext(base, scope, filterstr, list(attrs), serverctrls=controls)
    _, found, _, response = con.result3(number)
    return [dn for dn, _ in found if dn], {control.controlType: control for control in response}


def ask_slapd(*args, **kw):
    """The same of slapd, which may still be busy with the last sort a moment after its answer."""
    for _ in range(50):
        try:
            return ask(*args, **kw)
        except ldap.BUSY:
            time.sleep(0.1)
    return ask(*args, **kw)


def pages(con, filterstr, size, more=(), between=lambda: None, ask=ask, **kw):
    paged = SimplePagedResultsControl(True, size=size, cookie="")
    result = []
    for _ in range(100):
        names, response = ask(con, filterstr, [paged, *more], **kw)
        result.append(names)
        paged.cookie = response[paged.controlType].cookie
        if not paged.cookie:
            return result
        between()
    raise AssertionError("the pages do not end")


# ---- pages


def test_pages_are_the_whole_in_pieces(con):
    whole, _ = ask(con, USERS, [])
    assert len(whole) == 20
    for size in (1, 3, 10, 19, 20, 21):
        found = pages(con, USERS, size)
        assert sum(found, []) == whole
        assert [len(page) for page in found] == [size] * (20 // size) + ([20 % size] if 20 % size else [])


def test_a_cookie_outlives_other_operations_and_the_connection(con, server):
    def between():
        con.search_s(BASE, ldap.SCOPE_SUBTREE, "(uid=user.1)")
        con.modify_s(f"uid=user.2,{PEOPLE}", [(ldap.MOD_REPLACE, "roomNumber", [b"12"])])

    whole, _ = ask(con, USERS, [])
    assert sum(pages(con, USERS, 7, between=between), []) == whole
    first = SimplePagedResultsControl(True, size=12, cookie="")
    names, response = ask(con, USERS, [first])
    first.cookie = response[first.controlType].cookie
    rest, _ = ask(server.connect(), USERS, [first])
    assert names + rest == whole


def test_a_cookie_of_another_search_or_server_is_refused(con):
    paged = SimplePagedResultsControl(True, size=5, cookie="")
    _, response = ask(con, USERS, [paged])
    cookie = response[paged.controlType].cookie
    with pytest.raises(ldap.UNWILLING_TO_PERFORM, match="belongs to another search"):
        ask(con, "(uid=*)", [SimplePagedResultsControl(True, size=5, cookie=cookie)])
    with pytest.raises(ldap.UNWILLING_TO_PERFORM, match="not one of this server"):
        ask(con, USERS, [SimplePagedResultsControl(True, size=5, cookie=b"x" + cookie)])
    names, response = ask(con, USERS, [SimplePagedResultsControl(True, size=0, cookie=cookie)])
    assert names == [] and not response[paged.controlType].cookie, "given up"


def test_pages_by_ldap3(server):
    host = ldap3.Server("127.0.0.1", port=server.port)
    with ldap3.Connection(host, ROOT_DN, ROOT_PW, auto_bind=True) as con:
        found = con.extend.standard.paged_search(PEOPLE, USERS, attributes=["uid"], paged_size=6, generator=False)
        assert len({entry["dn"] for entry in found}) == 20


def test_ldapsearch_takes_pages_order_and_views(server):
    base = ["-b", PEOPLE, USERS, "uid"]
    paged = search(server, "-E", "!pr=6/noprompt", *base)
    assert paged.count("dn: ") == 20
    order = search(server, "-E", "!sss=-uid:2.5.13.3", *base)
    uids = [line[5:] for line in order.splitlines() if line.startswith("uid: ")]
    assert uids == sorted((f"user.{n}" for n in range(20)), reverse=True)
    # Asks for the next window until there is none: the offset is behind the end then.
    code, windows, _ = ldap_tool(
        server, "ldapsearch", "-o", "ldif-wrap=no", "-E", "sss=sn/uid", "-E", "!vlv=1/2/3/0", *base, stdin="\n" * 40
    )
    first = windows[: windows.index("vlvResult")]
    assert code == 76 and first.count("dn: ") == 4
    assert "vlvResult: pos=3 count=20 " in windows
    matched = search(
        server,
        "-b",
        f"uid=user.1,{PEOPLE}",
        "-E",
        "!mv=((objectClass=person)(mail=*example*))",
        "(objectClass=*)",
        "objectClass",
        "mail",
        "sn",
    )
    assert (
        "objectClass: person" in matched
        and "inetOrgPerson" not in matched
        and "mail: user.1@example.com" in matched
        and "Birchley" not in matched
    )


# ---- order


def test_sorted_by_several_keys(con):
    found = con.search_s(PEOPLE, ldap.SCOPE_SUBTREE, USERS, ["l", "employeeNumber"])

    def value(attrs, name):
        return attrs[name][0].decode().lower()

    full = [e for e in found if "l" in e[1] and "employeeNumber" in e[1]]
    full.sort(key=lambda item: value(item[1], "employeeNumber"), reverse=True)
    expected = [dn for dn, _ in sorted(full, key=lambda item: value(item[1], "l"))]
    sort = SSSRequestControl(True, ordering_rules=["l", "-employeeNumber:caseIgnoreOrderingMatch"])
    names, response = ask(con, "(&(uid=user.*)(l=*)(employeeNumber=*))", [sort])
    assert names == expected
    assert response[SSSResponseControl.controlType].sortResult == 0
    assert sum(pages(con, "(&(uid=user.*)(l=*)(employeeNumber=*))", 3, [sort]), []) == expected


def test_what_has_no_value_is_the_largest(con):
    some = {dn for dn, attrs in con.search_s(BASE, ldap.SCOPE_SUBTREE, "(objectClass=*)", ["l"]) if dn and "l" in attrs}
    up, _ = ask(con, "(objectClass=*)", [SSSRequestControl(True, ordering_rules=["l"])], base=BASE)
    down, _ = ask(con, "(objectClass=*)", [SSSRequestControl(True, ordering_rules=["-l"])], base=BASE)
    assert set(up[: len(some)]) == some and set(down[-len(some) :]) == some and len(up) > len(some)


@pytest.mark.parametrize(
    "rule,code",
    [
        ("nosuch", 16),
        ("sn:nosuchMatch", 18),
        ("sn:integerOrderingMatch", 18),
        ("jpegPhoto:2.5.13.3", 18),
        ("entryDN", 53),
    ],
)
def test_what_cannot_be_sorted(con, rule, code):
    names, response = ask(con, USERS, [SSSRequestControl(False, ordering_rules=[rule])])
    assert len(names) == 20 and response[SSSResponseControl.controlType].sortResult == code
    with pytest.raises(ldap.UNAVAILABLE_CRITICAL_EXTENSION) as refused:
        ask(con, USERS, [SSSRequestControl(True, ordering_rules=[rule])])
    assert SSSResponseControl.controlType in [oid for oid, _, _ in refused.value.args[0].get("ctrls", [])]


# ---- list views


def view(con, keys, before, after, filterstr=USERS, **target):
    sort = SSSRequestControl(True, ordering_rules=keys)
    names, response = ask(
        con, filterstr, [sort, VLVRequestControl(True, before_count=before, after_count=after, **target)]
    )
    told = response[VLVResponseControl.controlType]
    return names, told.targetPosition, told.contentCount


def test_views_by_offset_and_by_value(con):
    whole, _ = ask(con, USERS, [SSSRequestControl(True, ordering_rules=["sn", "uid"])])
    assert view(con, ["sn", "uid"], 2, 3, offset=10, content_count=20) == (whole[7:13], 10, 20)
    assert view(con, ["sn", "uid"], 2, 3, offset=50, content_count=100) == (whole[7:13], 10, 20)
    assert view(con, ["sn", "uid"], 0, 4, offset=1, content_count=0) == (whole[:5], 1, 20)
    assert view(con, ["sn", "uid"], 4, 0, offset=77, content_count=77) == (whole[-5:], 20, 20)
    sns = {dn: attrs["sn"][0].decode().lower() for dn, attrs in con.search_s(PEOPLE, ldap.SCOPE_SUBTREE, USERS, ["sn"])}
    at = next(i for i, dn in enumerate(whole) if sns[dn] >= "birchley")
    assert view(con, ["sn", "uid"], 1, 1, greater_than_or_equal="Birchley") == (
        whole[max(at - 1, 0) : at + 2],
        at + 1,
        20,
    )
    assert view(con, ["sn", "uid"], 1, 5, greater_than_or_equal="zzzz") == (whole[-1:], 21, 20)


def test_views_that_cannot_be(con):
    one = VLVRequestControl(True, before_count=0, after_count=1, offset=1, content_count=0)
    with pytest.raises(ldap.LDAPError) as refused:
        ask(con, USERS, [one])
    assert refused.value.args[0]["result"] == 60
    sort = SSSRequestControl(True, ordering_rules=["sn"])
    with pytest.raises(ldap.LDAPError) as refused:
        ask(con, USERS, [sort, VLVRequestControl(True, before_count=0, after_count=1, offset=21, content_count=0)])
    assert refused.value.args[0]["result"] == 76
    told = next(value for oid, _, value in refused.value.args[0]["ctrls"] if oid == VLVResponseControl.controlType)
    assert b"\x0a\x01\x3d" in told, "offsetRangeError"
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        ask(con, USERS, [sort, one, SimplePagedResultsControl(True, size=2, cookie="")])


# ---- what is sent of an entry


def test_matched_values_and_kinds_of_attributes(con):
    base = f"uid=user.1,{PEOPLE}"
    number = con.search_ext(
        base,
        ldap.SCOPE_BASE,
        "(objectClass=*)",
        ["objectClass", "sn"],
        serverctrls=[MatchedValuesControl(True, "((objectClass=person)(sn=*))")],
    )
    _, found, _, _ = con.result3(number)
    assert found[0][1] == {"objectClass": [b"person"], "sn": [b"Birchley"]}
    for oid, expected in (("2.16.840.1.113730.3.4.17", ["sn"]), ("2.16.840.1.113730.3.4.19", ["entryDN"])):
        number = con.search_ext(
            base, ldap.SCOPE_BASE, "(objectClass=*)", ["sn", "entryDN"], serverctrls=[RequestControl(oid, True)]
        )
        assert list(con.result3(number)[1][0][1]) == expected


def test_no_operation_checks_everything_and_changes_nothing(con):
    dn = f"uid=user.3,{PEOPLE}"
    before = con.search_s(dn, ldap.SCOPE_BASE, "(objectClass=*)", ["*", "+"])
    for oid in ("1.3.6.1.4.1.4203.1.10.2", "1.3.6.1.4.1.4203.666.5.2"):
        no_op = [RequestControl(oid, True)]
        tries = [
            lambda: con.modify_ext_s(dn, [(ldap.MOD_REPLACE, "sn", [b"Other"])], serverctrls=no_op),
            lambda: con.delete_ext_s(dn, serverctrls=no_op),
            lambda: con.rename_s(dn, "uid=other", serverctrls=no_op),
            lambda: con.add_ext_s(f"ou=noop,{BASE}", [("objectClass", [b"organizationalUnit"])], serverctrls=no_op),
        ]
        for attempt in tries:
            with pytest.raises(ldap.LDAPError) as refused:
                attempt()
            # draft-zeilenga-ldap-noop: noOperation (16654), so that nobody takes it for done.
            assert refused.value.args[0]["result"] == 16654
        with pytest.raises(ldap.OBJECT_CLASS_VIOLATION):
            con.modify_ext_s(dn, [(ldap.MOD_DELETE, "sn", None)], serverctrls=no_op)
    assert con.search_s(dn, ldap.SCOPE_BASE, "(objectClass=*)", ["*", "+"]) == before


# ---- the list in the root DSE

BOOLEAN = b"\x01\x01\xff"
READ = b"\x30\x04\x04\x02sn"
PRESENT = b"\x87\x0bobjectClass"
EVERYWHERE = {
    # Taken, and answered with 123: root may act as nobody.
    "2.16.840.1.113730.3.4.12": b"\x30\x02\x04\x00",
    "2.16.840.1.113730.3.4.18": b"dn:",
    # Asks why access is granted or refused.
    "2.25.175513028506401587346170323351613111380.3.1": None,
}
SEARCH = {
    "1.2.826.0.1.3344810.2.3": b"\x30\x0d" + PRESENT,
    "1.2.840.113556.1.4.319": SimplePagedResultsControl(True, size=5, cookie="").encodeControlValue(),
    "1.2.840.113556.1.4.473": SSSRequestControl(True, ordering_rules=["sn"]).encodeControlValue(),
    "1.3.6.1.1.12": PRESENT,
    "1.3.6.1.1.22": None,
    "1.3.6.1.4.1.42.2.27.9.5.2": b"dn:",
    "1.3.6.1.4.1.42.2.27.9.5.8": None,
    "1.3.6.1.4.1.4203.1.10.1": BOOLEAN,
    "1.3.6.1.4.1.4203.666.5.16": b"\x30\x10\x30\x0e\x04\x06member\x30\x04\x04\x02cn",
    "1.3.6.1.4.1.7628.5.101.1": None,
    **EVERYWHERE,
    "2.16.840.1.113730.3.4.17": None,
    "2.16.840.1.113730.3.4.19": None,
    "2.16.840.1.113730.3.4.2": None,
    # Without its value a protocol error, not a search without end.
    "2.16.840.1.113730.3.4.3": None,
    "2.16.840.1.113730.3.4.9": VLVRequestControl(
        True, before_count=0, after_count=1, offset=1, content_count=0
    ).encodeControlValue(),
}
MODIFY = {
    "1.2.840.113556.1.4.1413": None,
    "1.3.6.1.4.1.42.2.27.8.5.1": None,
    "1.3.6.1.1.12": PRESENT,
    "1.3.6.1.1.13.1": READ,
    "1.3.6.1.1.13.2": READ,
    # Taken, and answered with 53: there is no such transaction.
    "1.3.6.1.1.21.2": b"none",
    "1.3.6.1.1.22": None,
    "1.3.6.1.4.1.4203.1.10.2": None,
    "1.3.6.1.4.1.4203.666.5.12": None,
    "1.3.6.1.4.1.4203.666.5.2": None,
    "2.16.840.1.113730.3.4.2": None,
    **EVERYWHERE,
}
DELETE = {"1.2.840.113556.1.4.805": None}


def test_the_root_dse_lists_exactly_what_is_taken(con):
    listed = {
        oid.decode()
        for oid in con.search_s("", ldap.SCOPE_BASE, "(objectClass=*)", ["supportedControl"])[0][1]["supportedControl"]
    }
    assert listed == {*SEARCH, *MODIFY, *DELETE}
    known = listed | set(ldap.controls.KNOWN_RESPONSE_CONTROLS) | {"1.2.3.4", "1.3.6.1.4.1.4203.1.9.1.1"}

    def code(operation):
        try:
            operation()
            return 0
        except ldap.LDAPError as e:
            return e.args[0]["result"]

    for oid in known:

        def read():
            return con.result3(
                con.search_ext(
                    f"uid=user.5,{PEOPLE}",
                    ldap.SCOPE_BASE,
                    "(objectClass=*)",
                    serverctrls=[RequestControl(oid, True, SEARCH.get(oid))],
                )
            )

        def write():
            return con.modify_ext_s(
                f"uid=user.5,{PEOPLE}",
                [(ldap.MOD_REPLACE, "roomNumber", [b"5"])],
                serverctrls=[RequestControl(oid, True, MODIFY.get(oid))],
            )

        def remove():
            return con.delete_ext_s(f"uid=none,{PEOPLE}", serverctrls=[RequestControl(oid, True)])

        assert (code(read) == 12) == (oid not in SEARCH), oid
        assert (code(write) == 12) == (oid not in MODIFY), oid
        assert (code(remove) == 12) == (
            oid not in {**MODIFY, **DELETE}
            or oid in ("1.2.840.113556.1.4.1413", "1.3.6.1.1.13.2", "1.3.6.1.4.1.42.2.27.8.5.1")
        ), oid


# ---- slapd with sssvlv

DATABASE = """
index objectClass,uid eq
overlay sssvlv
sssvlv-max 1000
sssvlv-maxperconn 1000
"""


@pytest.fixture(scope="module")
def slapd(tmp_path_factory):
    with slapd_url(tmp_path_factory.mktemp("slapd"), DATABASE, modules="moduleload sssvlv") as url:
        yield connect(url)


RULE = "caseIgnoreOrderingMatch"
# The last key is different in all entries: what comes of equal ones is the server's business.
ORDERS = [
    [f"uid:{RULE}"],
    [f"-uid:{RULE}"],
    [f"sn:{RULE}", f"uid:{RULE}"],
    [f"l:{RULE}", f"-uid:{RULE}"],
    [f"-l:{RULE}", f"-title:{RULE}", f"uid:{RULE}"],
]
# Entries that have all of these attributes, once: of several values slapd takes the greatest when the order is
# reversed, RFC 2891 the least always, and entries without a value come last in slapd in both directions.
FULL = "(&(uid=user.*)(l=*)(title=*)(sn=*))"


@pytest.mark.parametrize("keys", ORDERS)
def test_slapd_sorts_the_same(slapd, con, keys):
    sort = SSSRequestControl(True, ordering_rules=keys)
    ours, response = ask(con, FULL, [sort])
    theirs, other = ask_slapd(slapd, FULL, [sort])
    assert ours == theirs and len(ours) > 10
    assert response[SSSResponseControl.controlType].sortResult == other[SSSResponseControl.controlType].sortResult == 0
    assert pages(con, FULL, 4, [sort]) == pages(slapd, FULL, 4, [sort], ask=ask_slapd)


@pytest.mark.parametrize(
    "target",
    [
        {"offset": 1, "content_count": 0},
        {"offset": 5, "content_count": 0},
        {"offset": 3, "content_count": 3},
        {"greater_than_or_equal": "user.12"},
        {"greater_than_or_equal": "user.999"},
        {"greater_than_or_equal": "a"},
    ],
)
@pytest.mark.parametrize("before,after", [(0, 0), (2, 3), (50, 50)])
def test_slapd_shows_the_same_view(slapd, con, before, after, target):
    if target.get("greater_than_or_equal") == "user.999" and before == 0:
        pytest.skip("slapd sends the last entry, though none is asked for")
    keys = [f"uid:{RULE}"]
    assert view(con, keys, before, after, FULL, **target) == view(slapd, keys, before, after, FULL, **target)


def test_slapd_gives_the_same_pages(slapd, con):
    for size in (3, 7, 20):
        ours, theirs = pages(con, USERS, size), pages(slapd, USERS, size)
        assert sum(ours, []) == sum(theirs, [])
        # slapd may give an empty page at the end.
        assert ours == [page for page in theirs if page]


def test_slapd_reads_before_and_after_the_same(slapd, con):
    for server in (slapd, con):
        number = server.modify_ext(
            f"uid=user.6,{PEOPLE}",
            [(ldap.MOD_REPLACE, "title", [b"Botanist"])],
            serverctrls=[
                PreReadControl(criticality=True, attrList=["title"]),
                PostReadControl(criticality=True, attrList=["title", "sn"]),
            ],
        )
        _, _, _, response = server.result3(number)
        read = {control.controlType: control.entry for control in response}
        assert read["1.3.6.1.1.13.1"]["title"] != [b"Botanist"] if "title" in read["1.3.6.1.1.13.1"] else True
        assert read["1.3.6.1.1.13.2"]["title"] in ([b"Botanist"], ["Botanist"])
