"""Who may spend what: limits by entry, group, place and pattern, changed while bound; connections that are silent too
long."""

import socket
import threading

import ldap
import pytest
from ldap.controls.libldap import SimplePagedResultsControl
from pando_server import BASE, DIRECTORY_LDIF, Pando, connect, until
from slapd_server import slapd_url

PEOPLE = f"ou=People,{BASE}"
ALL_PEOPLE = "(objectClass=person)"

RULES = f"""
[limits.ghosts]
type = "group"
group-dn = "cn=ghosts,ou=Groups,{BASE}"
size-limit = 1

[limits.gardeners]
type = "group"
group-dn = "cn=gardeners,ou=Groups,{BASE}"
size-limit = 7
size-limit-hard = 12

[limits.pattern]
type = "dn-pattern"
pattern = "^uid=user\\\\.[24],"
size-limit-hard = 5
page-size-limit = 2

[limits.six]
type = "dn"
user-dn = "uid=user.6,{PEOPLE}"
unindexed-search = true
lookthrough-limit = 10

[limits.eight]
type = "dn"
user-dn = "uid=user.8,{PEOPLE}"
allow-paged-results = false

[limits.people]
type = "dn"
user-dn = "{PEOPLE}"
scope = "one"
size-limit = 3

[limits.strangers]
type = "anonymous"
idle-time-limit = "300 ms"
"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """A server with the rules above, on which a search for all is an unindexed one."""
    instance = Pando(tmp_path_factory.mktemp("pando") / "inst").setup()
    text = instance.config.read_text()
    marker = "[backend.userRoot]\n"
    assert text.count(marker) == 1
    instance.config.write_text(text.replace(marker, marker + "index-entry-limit = 25\n"))
    instance.configure(RULES).import_ldif(DIRECTORY_LDIF).start()
    yield instance
    assert instance.stop() == 0


def user(server, number):
    return server.connect(f"uid=user.{number},{PEOPLE}", "password")


def found(con, asked=0, filter=ALL_PEOPLE, controls=None):
    """How many entries came, and the name of the exception if the search ended with one."""
    ident = con.search_ext(PEOPLE, ldap.SCOPE_SUBTREE, filter, ["1.1"], sizelimit=asked, serverctrls=controls)
    count = 0
    try:
        while True:
            kind, data = con.result(ident, all=0)
            if kind == ldap.RES_SEARCH_RESULT:
                return count, None
            count += len(data)
    except ldap.LDAPError as problem:
        return count, type(problem).__name__


EXCEEDED = "SIZELIMIT_EXCEEDED"


# S2-03 S2-05
def test_a_group_has_a_soft_and_a_hard_limit(limited):
    gardener = user(limited, 3)
    assert [found(gardener, asked) for asked in (0, 5, 10, 12, 100)] == [
        (7, EXCEEDED),
        (5, EXCEEDED),
        (10, EXCEEDED),
        (12, EXCEEDED),
        (12, EXCEEDED),
    ]


# S2-05
def test_either_limit_works_alone(limited):
    by_place = user(limited, 10)
    assert [found(by_place, asked) for asked in (0, 2, 100)] == [(3, EXCEEDED), (2, EXCEEDED), (3, EXCEEDED)]
    by_pattern = user(limited, 4)
    assert [found(by_pattern, asked) for asked in (0, 2, 100)] == [(5, EXCEEDED), (2, EXCEEDED), (5, EXCEEDED)]


def test_the_limit_itself_is_no_excess(limited):
    assert found(user(limited, 10), filter="(|(uid=user.1)(uid=user.2)(uid=user.3))") == (3, None)


# S0-01
def test_root_has_none_but_its_own(limited):
    assert found(limited.connect()) == (20, None)
    assert found(limited.connect(), 4) == (4, EXCEEDED)


def comes_to(con, expected):
    """Asks until the answer is the expected one."""
    until(lambda: found(con) == expected, say=lambda: found(con))


# S2-03
@pytest.mark.parametrize("attribute,number", [("ds-rlim-size-limit", 12), ("nsSizeLimit", 14)])
def test_attributes_of_the_entry_come_first_and_reach_who_is_bound(limited, attribute, number):
    root, con, dn = limited.connect(), user(limited, number), f"uid=user.{number},{PEOPLE}"
    assert found(con) == (3, EXCEEDED)
    root.modify_s(dn, [(ldap.MOD_REPLACE, attribute, [b"6"])])
    comes_to(con, (6, EXCEEDED))
    assert found(user(limited, number)) == (6, EXCEEDED)
    root.modify_s(dn, [(ldap.MOD_REPLACE, attribute, [b"0" if attribute.startswith("ds") else b"-1"])])
    comes_to(con, (20, None))
    root.modify_s(dn, [(ldap.MOD_DELETE, attribute, None)])
    comes_to(con, (3, EXCEEDED))


def test_who_leaves_the_group_loses_its_limits(limited):
    root, con = limited.connect(), user(limited, 5)
    assert found(con) == (7, EXCEEDED)
    root.modify_s(f"cn=gardeners,ou=Groups,{BASE}", [(ldap.MOD_DELETE, "member", [f"uid=user.5,{PEOPLE}".encode()])])
    comes_to(con, (3, EXCEEDED))


def test_going_without_an_index_is_a_permission_and_lookthrough_ends_it(limited):
    everything = "(description=*x*)"
    refused = ldap.INSUFFICIENT_ACCESS
    with pytest.raises(refused):
        user(limited, 10).search_s(BASE, ldap.SCOPE_SUBTREE, everything)
    with pytest.raises(ldap.ADMINLIMIT_EXCEEDED) as problem:
        user(limited, 6).search_s(BASE, ldap.SCOPE_SUBTREE, everything)
    assert "maximum of 10 entries" in problem.value.args[0]["info"]


def test_a_group_that_does_not_exist_is_told(limited):
    warning = f'[limits.ghosts] names the group "cn=ghosts,ou=Groups,{BASE}", which does not exist'
    assert warning in limited.error_log()


def silent(server, first=b""):
    """What the server says before it closes a connection that says nothing more."""
    with socket.create_connection(("127.0.0.1", server.port), 60) as con:
        con.sendall(first)
        said = b""
        while more := con.recv(4096):
            said += more
    return said


def test_silent_strangers_are_told_and_closed(limited):
    assert b"idle" in silent(limited)
    # Whoever logs in has another limit: here none.
    patient = user(limited, 10)
    assert b"idle" in silent(limited)
    assert patient.whoami_s()
    assert 'reason="Idle Time Limit Exceeded"' in limited.access_log()


def test_the_own_idle_limit_holds_after_the_bind(limited):
    root, dn = limited.connect(), f"uid=user.16,{PEOPLE}"
    root.modify_s(dn, [(ldap.MOD_REPLACE, "ds-rlim-idle-time-limit", [b"1"])])
    bind = b"\x02\x01\x03\x04" + bytes([len(dn)]) + dn.encode() + b"\x80\x08password"
    op = b"\x02\x01\x01\x60" + bytes([len(bind)]) + bind
    said = silent(limited, b"\x30" + bytes([len(op)]) + op)
    assert said.startswith(b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00"), "the bind succeeded"
    assert b"idle" in said


def test_the_monitor_counts_what_limits_ended(limited):
    root = limited.connect()

    def counts():
        entry = root.search_s("cn=LDAP Statistics,cn=monitor", ldap.SCOPE_BASE)[0][1]
        return int(entry["searchesOverSizeLimit"][0]), int(entry["searchesOverLookthroughLimit"][0])

    before = counts()
    assert found(root, 4) == (4, EXCEEDED)
    with pytest.raises(ldap.ADMINLIMIT_EXCEEDED):
        user(limited, 6).search_s(BASE, ldap.SCOPE_SUBTREE, "(description=*x*)")
    assert counts() == (before[0] + 1, before[1] + 1)


def paged(con, page_size, asked=0):
    """The sizes of all pages, and how it ended."""
    control, sizes = SimplePagedResultsControl(True, page_size, ""), []
    while True:
        ident = con.search_ext(PEOPLE, ldap.SCOPE_SUBTREE, ALL_PEOPLE, ["1.1"], serverctrls=[control], sizelimit=asked)
        count = 0
        try:
            while True:
                kind, data, _, controls = con.result3(ident, all=0)
                if kind == ldap.RES_SEARCH_RESULT:
                    break
                count += len(data)
        except ldap.LDAPError as problem:
            return sizes + [count], type(problem).__name__
        sizes.append(count)
        control.cookie = next(c.cookie for c in controls if c.controlType == control.controlType)
        if not control.cookie:
            return sizes, None


def offers(server, oid):
    entry = server.connect().search_s("", ldap.SCOPE_BASE, attrlist=["supportedControl"])[0][1]
    return oid.encode() in entry["supportedControl"]


def test_a_changed_file_holds_after_a_reload(fresh):
    fresh.start()
    people, root = user(fresh, 1), fresh.connect()
    assert found(people) == (20, None)
    before = fresh.config.read_text()
    fresh.configure("""
[limits.all]
type = "authenticated"
size-limit = 4
[limits.root]
type = "dn"
user-dn = "cn=Directory Manager"
size-limit = 6
""")
    comes_to(people, (4, EXCEEDED))
    comes_to(root, (6, EXCEEDED))
    fresh.config.write_text(before)
    fresh.tool("reload")
    comes_to(people, (20, None))
    comes_to(root, (20, None))
    assert "restart it" not in fresh.error_log()


def test_pages_do_not_get_around_the_size_limit(limited):
    if not offers(limited, SimplePagedResultsControl.controlType):
        pytest.skip("no paged results yet")
    assert paged(limited.connect(), 8) == ([8, 8, 4], None)
    assert paged(limited.connect(), 8, 10) == ([8, 2], EXCEEDED)
    # The hard limit counts for all pages together.
    assert paged(user(limited, 3), 5) == ([5, 5, 2], EXCEEDED)
    # A page is made smaller than asked for.
    assert paged(user(limited, 4), 10) == ([2, 2, 1], EXCEEDED)
    assert paged(user(limited, 8), 10) == ([0], "ADMINLIMIT_EXCEEDED")


def test_twenty_scans_and_short_searches_side_by_side(limited):
    """Everybody gets the whole answer, and each of the scans comes to its end again and again."""
    root = limited.connect()
    for at in range(600):
        entry = {"objectClass": [b"account"], "uid": [f"scan{at}".encode()], "description": [b"y" * 200]}
        root.add_s(f"uid=scan{at},{BASE}", list(entry.items()))
    counts, stop = [0] * 20, threading.Event()

    def scan(place):
        con = limited.connect()
        while not stop.is_set():
            assert len(con.search_s(BASE, ldap.SCOPE_SUBTREE, "(description=*yy*)", ["1.1"])) >= 600
            counts[place] += 1

    threads = [threading.Thread(target=scan, args=(place,)) for place in range(20)]
    for thread in threads:
        thread.start()
    between = []

    def all_came_to_their_end_twice():
        assert len(root.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(uid=user.3)", ["1.1"])) == 1
        queue = root.search_s("cn=Work Queue,cn=monitor", ldap.SCOPE_BASE)[0][1]
        between.append(int(queue["searchesBetweenTurns"][0]))
        return min(counts) >= 2

    try:
        until(all_came_to_their_end_twice, say=lambda: counts)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert max(between) <= 20


# ---- the same rules in slapd

# By user: OpenLDAP's words and ours.
SAME_RULES = {
    0: ("size.soft=4", {"size-limit": 4}),
    2: ("size=4", {"size-limit": 4}),
    4: ("size.soft=4 size.hard=8", {"size-limit": 4, "size-limit-hard": 8}),
    6: ("size.soft=4 size.hard=unlimited", {"size-limit": 4, "size-limit-hard": 0}),
    8: ("size.hard=10", {"size-limit-hard": 10}),
    10: ("size=unlimited", {"size-limit": 0}),
    12: ("size.soft=4 size.hard=8 size.prtotal=10", {"size-limit": 4, "size-limit-hard": 8, "paged-total-limit": 10}),
    14: ("size=4 size.prtotal=unlimited", {"size-limit": 4, "paged-total-limit": 0}),
    16: ("size=4 size.prtotal=disabled", {"size-limit": 4, "allow-paged-results": "false"}),
}
# Who is left over, by the first selector that fits: OpenLDAP's and ours. All users with an odd number are gardeners.
SAME_SELECTORS = [
    (
        f'dn.regex="^uid=user[.]1[0-3],ou=people,{BASE}$"',
        'type = "dn-pattern"',
        f'pattern = "^uid=user[.]1[0-3],ou=People,{BASE}$"',
        2,
    ),
    (f'group="cn=gardeners,ou=Groups,{BASE}"', 'type = "group"', f'group-dn = "cn=gardeners,ou=Groups,{BASE}"', 3),
    (f'dn.children="ou=Groups,{BASE}"', 'type = "dn"', f'user-dn = "ou=Groups,{BASE}"\nscope = "children"', 1),
    (f'dn.onelevel="ou=People,{BASE}"', 'type = "dn"', f'user-dn = "ou=People,{BASE}"\nscope = "one"', 5),
    ("users", 'type = "authenticated"', "", 7),
]


@pytest.fixture(scope="module")
def same_rules(tmp_path_factory):
    """URLs of Pando and of slapd."""
    database, rules = "index objectClass eq\naccess to * by * read\n", ""
    for number, (theirs, ours) in SAME_RULES.items():
        database += f'limits dn.exact="uid=user.{number},{PEOPLE}" {theirs}\n'
        settings = "\n".join(f"{name} = {value}" for name, value in ours.items())
        rules += f'[limits.user{number}]\ntype = "dn"\nuser-dn = "uid=user.{number},{PEOPLE}"\n{settings}\n'
    for place, (theirs, kind, ours, limit) in enumerate(SAME_SELECTORS):
        database += f"limits {theirs} size={limit}\n"
        rules += f"[limits.selector{place}]\n{kind}\n{ours}\nsize-limit = {limit}\n"
    instance = Pando(tmp_path_factory.mktemp("pando") / "inst").setup()
    instance.config.write_text(instance.config.read_text().replace("[global]\n", "[global]\nsize-limit = 6\n"))
    instance.configure(rules).import_ldif(DIRECTORY_LDIF).start()
    # slapd copies the default when it reads a rule, so it has to stand before them.
    with slapd_url(tmp_path_factory.mktemp("slapd"), database, server="sizelimit 6") as url:
        yield instance.url, url
    assert instance.stop() == 0


# S2-03 S2-05
@pytest.mark.parametrize("number", range(20))
def test_slapd_limits_the_same(same_rules, number):
    def all_answers(url):
        con = connect(url, f"uid=user.{number},{PEOPLE}", "password")
        plain = [found(con, asked) for asked in (0, 2, 6, 9, 100)]
        # slapd may end with an empty page, so only the sums are compared.
        pages = [(sum(sizes), problem) for sizes, problem in (paged(con, 3, asked) for asked in (0, 2, 9, 100))]
        return plain, pages

    ours, theirs = map(all_answers, same_rules)
    assert ours == theirs
