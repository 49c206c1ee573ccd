"""Who is in which group, as clients ask: memberOf and isMemberOf, filters, chains, pieces of members. Groups and their
changes are the same in slapd with its memberof overlay, and with its dynlist overlay; what these cannot is asked of
Pando alone."""

import contextlib

import ldap
import ldap3
import pytest
from found import first_values, names
from pando_server import BASE, ROOT_DN, ROOT_PW, until
from slapd_server import connect, slapd_url

PEOPLE, GROUPS = f"ou=People,{BASE}", f"ou=Groups,{BASE}"
IN_CHAIN = "1.2.840.113556.1.4.1941"
ANYBODY = "access to * by users write by * none"
MEMBEROF = ANYBODY + "\noverlay memberof\nmemberof-refint false\n"
DYNLIST = ANYBODY + "\noverlay dynlist\ndynlist-attrset groupOfURLs memberURL member+memberOf@groupOfNames*\n"


def user(number):
    return f"uid=user.{number},{PEOPLE}"


def group(name):
    return f"cn={name},{GROUPS}"


def add_group(con, name, *members, kind="groupOfNames", attribute="member"):
    values = {"objectClass": [kind.encode()], "cn": [name.encode()]}
    if members:
        values[attribute] = [member.encode() for member in members]
    con.add_s(group(name), list(values.items()))


def groups_of(con, dn, among, attribute="memberOf"):
    """The groups of an entry that are among those of the test."""
    ((_, values),) = con.search_s(dn, ldap.SCOPE_BASE, attrlist=[attribute])
    return [name for name in first_values(value.decode() for value in values.get(attribute, [])) if name in among]


@pytest.fixture(scope="module")
def con(server):
    return server.connect()


@pytest.fixture
def made(con):
    """Removes the groups of a test."""
    mine = []
    yield mine
    for name in mine:
        with contextlib.suppress(ldap.NO_SUCH_OBJECT):
            con.delete_s(group(name))


def static_story(con):
    """Changes of groups and members, and after each what everybody is in. Yields comparable states."""
    among = {"crew", "choir", "renamed"}

    def state():
        return [groups_of(con, user(number), among) for number in (1, 2, 3)]

    add_group(con, "crew", user(1), user(2))
    yield "added", state()
    add_group(con, "choir", user(2), user(3))
    yield "another", state()
    con.modify_s(
        group("crew"), [(ldap.MOD_ADD, "member", user(3).encode()), (ldap.MOD_DELETE, "member", user(1).encode())]
    )
    yield "members changed", state()
    con.modify_s(group("choir"), [(ldap.MOD_REPLACE, "member", [user(1).encode()])])
    yield "members replaced", state()
    con.rename_s(group("choir"), "cn=renamed")
    yield "renamed", state()
    yield "filter", [names(con, f"(memberOf={group(name)})") for name in ("crew", "renamed", "choir")]
    yield "or", names(con, f"(|(memberOf={group('crew')})(memberOf={group('renamed')}))")
    yield "and not", names(con, f"(&(memberOf={group('crew')})(!(uid=user.2)))")
    yield "compare", [con.compare_s(user(2), "memberOf", group(name)) for name in ("crew", "CREW")]
    con.delete_s(group("crew"))
    yield "deleted", state()
    con.delete_s(group("renamed"))


# S2-06
def test_static_groups_are_those_of_slapds_memberof(con, tmp_path):
    with slapd_url(tmp_path, MEMBEROF, modules="moduleload memberof") as url:
        # slapd says nothing of groups that were there before the overlay: only those of the test are compared.
        theirs = list(static_story(connect(url)))
    assert list(static_story(con)) == theirs


def nested_story(con):
    among = {"inner", "outer", "dynamic"}
    add_group(con, "inner", user(1))
    add_group(con, "outer", group("inner"), user(2))
    url = f"ldap:///{PEOPLE}??sub?(uid=user.3)"
    add_group(con, "dynamic", url, kind="groupOfURLs", attribute="memberURL")
    yield [groups_of(con, user(number), among) for number in (1, 2, 3, 4)]
    yield names(con, f"(memberOf={group('outer')})")
    yield names(con, f"(memberOf={group('dynamic')})")
    con.modify_s(group("outer"), [(ldap.MOD_DELETE, "member", group("inner").encode())])
    yield [groups_of(con, user(number), among) for number in (1, 2, 3, 4)]
    for name in ("outer", "inner", "dynamic"):
        con.delete_s(group(name))


# S2-06, S2-07
def test_nested_and_dynamic_groups_are_those_of_slapds_dynlist(con, tmp_path):
    with slapd_url(tmp_path, DYNLIST, modules="moduleload dynlist") as url:
        theirs = list(nested_story(connect(url)))
    assert list(nested_story(con)) == theirs


def test_both_names_say_the_same_and_only_when_asked(con):
    for dn in (user(1), user(4), group("gardeners")):
        ((_, asked),) = con.search_s(dn, ldap.SCOPE_BASE, attrlist=["isMemberOf", "memberOf"])
        assert asked.get("isMemberOf") == asked.get("memberOf")
        ((_, plain),) = con.search_s(dn, ldap.SCOPE_BASE)
        assert "memberOf" not in plain and "isMemberOf" not in plain
        ((_, operational),) = con.search_s(dn, ldap.SCOPE_BASE, attrlist=["+"])
        assert operational.get("memberOf") == asked.get("memberOf")
    assert "everyone" in groups_of(con, user(1), {"everyone"}, "isMemberOf")


def test_ldap3_reads_groups_and_the_chain(server, con, made):
    made += ["low", "high"]
    add_group(con, "low", user(5))
    add_group(con, "high", group("low"))
    client = ldap3.Connection(ldap3.Server(server.url), ROOT_DN, ROOT_PW, auto_bind=True)
    client.search(user(5), "(objectClass=*)", ldap3.BASE, attributes=["memberOf"])
    assert {"low", "high"} <= set(first_values(client.entries[0].memberOf.values))
    client.search(BASE, f"(member:{IN_CHAIN}:={user(5)})", attributes=["cn"])
    assert {"low", "high"} <= {entry.cn.value for entry in client.entries}
    client.search(BASE, f"(&(objectClass=person)(memberOf:{IN_CHAIN}:={group('high')}))", attributes=["uid"])
    assert [entry.uid.value for entry in client.entries] == ["user.5"]
    client.unbind()


# S3-29
def test_a_circle_ends_and_is_in_the_error_log(server, con, made):
    made += ["one", "two"]
    add_group(con, "one", user(6), group("two"))
    add_group(con, "two", group("one"))
    for _ in range(3):
        assert groups_of(con, user(6), {"one", "two"}) == ["one", "two"]
    (line,) = until(lambda: [line for line in server.error_log().splitlines() if "circle" in line])
    assert group("one") in line and group("two") in line


# S3-30
def test_spaces_and_case_of_names_do_not_matter(con, made):
    made += ["spaced"]
    add_group(con, "spaced", f"UID=User.7 ,  ou=people,{BASE.upper()}")
    assert groups_of(con, user(7), {"spaced"}) == ["spaced"]
    assert names(con, f"(memberOf=CN = Spaced, {GROUPS.upper()})") == ["user.7"]


# S2-06
def test_a_users_rename_counts_at_once(con, made):
    made += ["friends"]
    add_group(con, "friends", user(8))
    con.rename_s(user(8), "uid=renamed.8")
    moved = f"uid=renamed.8,{PEOPLE}"
    try:
        assert groups_of(con, moved, {"friends"}) == [], "nobody corrects who is listed unless that is configured"
        con.modify_s(group("friends"), [(ldap.MOD_REPLACE, "member", [moved.encode()])])
        assert groups_of(con, moved, {"friends"}) == ["friends"]
    finally:
        con.rename_s(moved, "uid=user.8")


# S3-07
@pytest.mark.parametrize("count", [40, 3000])
def test_members_come_in_pieces(con, made, count):
    made += ["crowd"]
    people = [f"uid=somebody.{number},{PEOPLE}".encode() for number in range(count)]
    add_group(con, "crowd")
    for start in range(0, count, 1000):
        con.modify_s(group("crowd"), [(ldap.MOD_ADD, "member", people[start : start + 1000])])
    read, size, at = [], count // 3 + 1, 0
    while True:
        ((_, found),) = con.search_s(group("crowd"), ldap.SCOPE_BASE, attrlist=[f"member;range={at}-{at + size - 1}"])
        ((name, values),) = found.items()
        read += values
        if name == f"member;range={at}-*":
            break
        assert name == f"member;range={at}-{at + size - 1}" and len(values) == size
        at += size
    assert sorted(read) == sorted(people)
    con.modify_s(group("crowd"), [(ldap.MOD_ADD, "member", user(9).encode())])
    assert groups_of(con, user(9), {"crowd"}) == ["crowd"]
    assert con.compare_s(group("crowd"), "member", user(9))
    assert names(con, f"(memberOf={group('crowd')})") == ["user.9"]


def test_nobody_writes_membership(con):
    for attribute in ("memberOf", "isMemberOf"):
        with pytest.raises(ldap.CONSTRAINT_VIOLATION):
            con.modify_s(user(1), [(ldap.MOD_ADD, attribute, group("gardeners").encode())])
