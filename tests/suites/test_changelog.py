"""cn=changelog with python-ldap: what it shows, who may read it, ranges, pages, restarts, and what is let go."""

import re

import ldap
import ldap.modlist
import pytest
from ldap.controls.libldap import SimplePagedResultsControl
from ldap.controls.sss import SSSRequestControl
from pando_server import BASE, ROOT_DN, until

PEOPLE = f"ou=History,{BASE}"
CHANGELOG = "cn=changelog"


def root_numbers(connection):
    [(_, root)] = connection.search_s(
        "",
        ldap.SCOPE_BASE,
        "(objectClass=*)",
        ["changelog", "firstChangeNumber", "lastChangeNumber", "lastPurgedChangeNumber"],
    )
    assert root["changelog"] == [CHANGELOG.encode()]
    first, last, purged = (
        int(root[name][0]) for name in ("firstChangeNumber", "lastChangeNumber", "lastPurgedChangeNumber")
    )
    assert purged == first - 1
    return first, last


def changes(connection, filter="(objectClass=changeLogEntry)", attributes=("*", "+"), scope=ldap.SCOPE_ONELEVEL):
    return connection.search_s(CHANGELOG, scope, filter, list(attributes))


def add_person(connection, uid, **more):
    entry = {"objectClass": [b"inetOrgPerson"], "cn": [uid.encode()], "sn": [b"Example"], **more}
    connection.add_s(f"uid={uid},{PEOPLE}", ldap.modlist.addModlist(entry))


@pytest.fixture(scope="module")
def root(server):
    connection = server.connect()
    connection.add_s(PEOPLE, ldap.modlist.addModlist({"objectClass": [b"organizationalUnit"], "ou": [b"History"]}))
    return connection


def test_each_change_is_an_entry(root):
    _, before = root_numbers(root)
    add_person(root, "ann", userPassword=[b"not told in clear"])
    dn = f"uid=ann,{PEOPLE}"
    root.modify_s(
        dn, [(ldap.MOD_REPLACE, "sn", [b"First", b"Second"]), (ldap.MOD_ADD, "description", ["gr\u00fcn".encode()])]
    )
    root.modify_s(dn, [(ldap.MOD_DELETE, "sn", [b"First"])])
    root.rename_s(dn, "uid=anna", newsuperior=BASE, delold=1)
    root.delete_s(f"uid=anna,{BASE}")
    first, last = root_numbers(root)
    assert (first, last) == (1, before + 5)
    found = changes(root, f"(changeNumber>={before + 1})")
    assert [dn for dn, _ in found] == [f"changeNumber={number},{CHANGELOG}" for number in range(before + 1, last + 1)]
    entries = [entry for _, entry in found]
    assert [entry["changeType"] for entry in entries] == [[b"add"], [b"modify"], [b"modify"], [b"modrdn"], [b"delete"]]
    assert all(entry["changeInitiatorsName"] == [ROOT_DN.encode()] for entry in entries)
    assert len({entry["targetEntryUUID"][0] for entry in entries}) == 1
    add, modify, single, rename, delete = entries
    assert add["targetDN"] == [dn.encode()] and add["objectClass"] == [b"top", b"changeLogEntry"]
    lines = add["changes"][0].decode().splitlines()
    assert {"objectClass: inetOrgPerson", "objectClass: top", "uid: ann", "cn: ann", f"creatorsName: {ROOT_DN}"} <= set(
        lines
    )
    assert (
        any(line.startswith("userPassword: {SSHA512}") for line in lines) and "clear" not in add["changes"][0].decode()
    )
    text = modify["changes"][0].decode()
    assert "delete: sn\nsn: Example\n-\nadd: sn\nsn: First\nsn: Second\n-\n" in text
    assert "add: description\ndescription:: Z3LDvG4=\n-\n" in text and "replace: entryCSN\nentryCSN: " in text
    assert single["changes"][0].decode().startswith("delete: sn\nsn: First\n-\nreplace: ")
    assert (rename["newRDN"], rename["deleteOldRDN"], rename["newSuperior"]) == (
        [b"uid=anna"],
        [b"TRUE"],
        [BASE.encode()],
    )
    assert delete["targetDN"] == [f"uid=anna,{BASE}".encode()] and "changes" not in delete
    assert {"uid: anna", "sn: Second", "cn: ann"} <= set(delete["includedAttributes"][0].decode().splitlines())


@pytest.mark.parametrize(
    "attribute, having",
    [
        ("changes", ["add", "modify"]),
        ("newRDN", ["modrdn"]),
        ("changeType", ["add", "modify", "modrdn", "delete"]),
        ("targetDN", ["add", "modify", "modrdn", "delete"]),
    ],
)
def test_each_entry_has_the_attribute_that_is_asked_for(root, attribute, having):
    """Alone, in a row of changes that do not all have it."""
    _, before = root_numbers(root)
    dn, renamed = (f"uid={attribute}.{number},{PEOPLE}" for number in range(2))
    for _ in range(2):
        add_person(root, f"{attribute}.0")
        root.modify_s(dn, [(ldap.MOD_REPLACE, "sn", [b"Other"])])
        root.rename_s(dn, f"uid={attribute}.1")
        root.delete_s(renamed)
    told = changes(root, f"(changeNumber>={before + 1})", [attribute])
    kinds = ["add", "modify", "modrdn", "delete"] * 2
    assert [list(entry) for _, entry in told] == [[attribute] if kind in having else [] for kind in kinds]
    whole = changes(root, f"(changeNumber>={before + 1})")
    assert [entry.get(attribute) for _, entry in told] == [entry.get(attribute) for _, entry in whole]


def test_ranges_and_other_filters(root):
    _, before = root_numbers(root)
    for at in range(5):
        add_person(root, f"range{at}")

    def number(filter):
        return [int(entry["changeNumber"][0]) for _, entry in changes(root, filter)]

    assert number(f"(changeNumber={before + 2})") == [before + 2]
    assert number(f"(&(changeNumber>={before + 2})(changeNumber<={before + 4}))") == [
        before + 2,
        before + 3,
        before + 4,
    ]
    assert number(f"(&(objectClass=*)(changeNumber>={before + 5}))") == [before + 5]
    assert number(f"(targetDN=UID=range3, {PEOPLE})") == [before + 4]
    assert number(f"(&(changeType=add)(targetDN=uid=range1,{PEOPLE}))") == [before + 2]
    assert number(f"(changeNumber>={before + 100})") == []
    moment = changes(root, f"(changeNumber={before + 1})")[0][1]["changeTime"][0].decode()
    assert set(range(before + 1, before + 6)) <= set(number(f"(changeTime>={moment})"))
    assert number("(changeTime>=20990101000000Z)") == []
    assert number(f"(&(changeTime<=20010101000000Z)(changeNumber>={before}))") == []
    assert len(number("(!(changeNumber=1))")) == before + 4


def test_base_and_scopes(root):
    first, last = root_numbers(root)
    [(dn, container)] = changes(root, "(objectClass=*)", scope=ldap.SCOPE_BASE)
    assert dn == CHANGELOG and container["objectClass"] == [b"top", b"container"]
    subtree = changes(root, "(objectClass=*)", ["1.1"], ldap.SCOPE_SUBTREE)
    assert len(subtree) == last - first + 2 and subtree[0][0] == CHANGELOG
    [(dn, one)] = root.search_s(f"CHANGENUMBER={last},{CHANGELOG}", ldap.SCOPE_BASE)
    assert dn == f"changeNumber={last},{CHANGELOG}" and one["changeNumber"] == [str(last).encode()]
    for missing in (
        f"changeNumber={last + 1},{CHANGELOG}",
        f"cn=other,{CHANGELOG}",
        f"cn=x,changeNumber={last},{CHANGELOG}",
    ):
        with pytest.raises(ldap.NO_SUCH_OBJECT):
            root.search_s(missing, ldap.SCOPE_BASE)


def test_only_root_may_read_and_nobody_may_write(root, server):
    add_person(root, "reader", userPassword=[b"readers-secret"])
    user = server.connect(f"uid=reader,{PEOPLE}", "readers-secret")
    anonymous = ldap.initialize(server.url)
    for connection in (user, anonymous):
        for base in (CHANGELOG, f"changeNumber=1,{CHANGELOG}"):
            with pytest.raises(ldap.INSUFFICIENT_ACCESS):
                connection.search_s(base, ldap.SCOPE_SUBTREE)
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        root.delete_s(f"changeNumber=1,{CHANGELOG}")
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        root.modify_s(CHANGELOG, [(ldap.MOD_ADD, "description", [b"x"])])
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        root.search_ext_s(
            CHANGELOG, ldap.SCOPE_SUBTREE, serverctrls=[SSSRequestControl(ordering_rules=["changeNumber"])]
        )


def test_pages_and_limits(root):
    first, last = root_numbers(root)
    control = SimplePagedResultsControl(True, size=3, cookie="")
    seen = []
    while True:
        message = root.search_ext(
            CHANGELOG, ldap.SCOPE_SUBTREE, "(objectClass=*)", ["changeNumber"], serverctrls=[control]
        )
        _, data, _, controls = root.result3(message)
        assert len(data) <= 3
        seen += [dn for dn, _ in data]
        control.cookie = controls[0].cookie
        if not control.cookie:
            break
    assert seen == [CHANGELOG] + [f"changeNumber={number},{CHANGELOG}" for number in range(first, last + 1)]
    with pytest.raises(ldap.SIZELIMIT_EXCEEDED):
        root.search_ext_s(CHANGELOG, ldap.SCOPE_ONELEVEL, sizelimit=2)


def test_refused_updates_are_no_changes(root):
    before = root_numbers(root)
    with pytest.raises(ldap.ALREADY_EXISTS):
        root.add_s(PEOPLE, ldap.modlist.addModlist({"objectClass": [b"organizationalUnit"], "ou": [b"History"]}))
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        root.delete_s(f"uid=nobody,{PEOPLE}")
    assert root_numbers(root) == before


def test_the_monitor_tells(root):
    first, last = root_numbers(root)

    def monitor():
        return root.search_s("cn=Changelog,cn=monitor", ldap.SCOPE_BASE)[0][1]

    # The first change is looked for once a second, beside the searches.
    until(lambda: "oldest-change-time" in monitor())
    entry = monitor()
    assert re.fullmatch(rb"\d{14}(\.\d+)?Z", entry["oldest-change-time"][0])
    assert (entry["first-change-number"], entry["last-change-number"]) == ([str(first).encode()], [str(last).encode()])
    assert int(entry["changelog-bytes"][0]) >= 16 << 20 and entry["changelog-enabled"] == [b"true"]


def test_restart_and_kill(fresh):
    root = fresh.start().connect()
    root.add_s(PEOPLE, ldap.modlist.addModlist({"objectClass": [b"organizationalUnit"], "ou": [b"History"]}))
    add_person(root, "ann")
    before = changes(root)
    assert fresh.stop() == 0
    root = fresh.start().connect()
    assert changes(root) == before
    add_person(root, "ben")
    fresh.kill()
    root = fresh.start().connect()
    after = changes(root)
    assert after[:-1] == before and after[-1][1]["targetDN"] == [f"uid=ben,{PEOPLE}".encode()]
    assert root_numbers(root) == (1, 3)


def test_size_is_kept_by_letting_go_of_the_oldest(fresh):
    text, most = fresh.config.read_text(), 40 << 20
    fresh.configure(f'\n[changelog]\nmax-size = "{most >> 20} mib"\n')
    root = fresh.start().connect()
    root.add_s(PEOPLE, ldap.modlist.addModlist({"objectClass": [b"organizationalUnit"], "ou": [b"History"]}))
    for at in range(120):
        root.modify_s(PEOPLE, [(ldap.MOD_REPLACE, "description", [(f"{at:03}" + "x" * 400_000).encode()])])

    # What is let go waits for the fold and the next look, both within seconds.
    def size():
        return int(root.search_s("cn=Changelog,cn=monitor", ldap.SCOPE_BASE)[0][1]["changelog-bytes"][0])

    until(lambda: root_numbers(root)[0] > 1 and size() <= most, say=size)
    first, last = root_numbers(root)
    assert last == 121
    numbers = [int(entry["changeNumber"][0]) for _, entry in changes(root, attributes=["changeNumber"])]
    assert numbers == list(range(numbers[0], last + 1)) and numbers[0] >= first
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        root.search_s(f"changeNumber=1,{CHANGELOG}", ldap.SCOPE_BASE)
    # Switched off, it is gone; on again, it begins with the next change.
    fresh.config.write_text(text)
    fresh.configure("\n[changelog]\nenabled = false\n")
    until(lambda: "changelog" not in root.search_s("", ldap.SCOPE_BASE, attrlist=["changelog"])[0][1])
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        changes(root)
    root.modify_s(PEOPLE, [(ldap.MOD_REPLACE, "description", [b"unseen"])])
    fresh.config.write_text(text)
    fresh.tool("reload")
    until(lambda: "changelog" in root.search_s("", ldap.SCOPE_BASE, attrlist=["changelog"])[0][1])
    root.modify_s(PEOPLE, [(ldap.MOD_REPLACE, "description", [b"seen"])])
    [(dn, entry)] = changes(root)
    assert dn == f"changeNumber={last + 1},{CHANGELOG}" and b"description: seen\n" in entry["changes"][0]


def log_file(server):
    """The file of the backend's log that has something in it."""
    files = [file for file in server.dir.glob("db/userRoot/log/*.log") if file.read_bytes()[4096:].strip(b"\0")]
    assert len(files) == 1
    return files[0]


def damage(file, offset):
    data = bytearray(file.read_bytes())
    data[offset] ^= 0xFF
    file.write_bytes(data)


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_damaged_file_that_only_the_changelog_needs_does_not_stop_the_server(fresh, is_killed):
    fresh.start()
    root = fresh.connect()
    root.add_s(PEOPLE, ldap.modlist.addModlist({"objectClass": [b"organizationalUnit"], "ou": [b"History"]}))
    for at in range(20):
        add_person(root, f"person{at}")
    _, last = root_numbers(root)
    assert fresh.stop() == 0
    if is_killed:
        # Everything is in the database, and what is remembered beside the log is not from the end.
        root = fresh.start().connect()
        fresh.kill()
    file = log_file(fresh)
    damage(file, 4096 + 60)
    root = fresh.start().connect()
    first, now = root_numbers(root)
    assert first == now + 1 and (now > last if is_killed else now == last)
    assert changes(root) == []
    errors = fresh.error_log
    until(lambda: f"begins with change {first} now" in errors())
    assert errors().count(file.name) == 1 and "severity=WARNING" in next(
        line for line in errors().splitlines() if file.name in line
    )
    assert len(root.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, attrlist=["1.1"])) == 20, "entries are not touched"
    add_person(root, "after")
    [(dn, entry)] = changes(root)
    assert dn == f"changeNumber={first},{CHANGELOG}" and entry["targetDN"] == [f"uid=after,{PEOPLE}".encode()]
    until(lambda: "oldest-change-time" in root.search_s("cn=Changelog,cn=monitor", ldap.SCOPE_BASE)[0][1])
    assert fresh.stop() == 0
    root = fresh.start().connect()
    add_person(root, "again")
    assert root_numbers(root) == (first, first + 1) and len(changes(root)) == 2
    assert errors().count(file.name) == 1, "told once"


def test_numbers_that_cannot_be_read_are_not_taken_for_lower_ones(fresh):
    fresh.start()
    fresh.connect().add_s(PEOPLE, ldap.modlist.addModlist({"objectClass": [b"organizationalUnit"], "ou": [b"History"]}))
    assert fresh.stop() == 0
    numbers = fresh.dir / "changelog" / "numbers"
    text = numbers.read_text()
    assert "next 2\n" in text and "final\n" in text
    numbers.write_text(text.replace("next 2", "next 1"))
    with pytest.raises(AssertionError, match=r'changelog/numbers.*checksum.*"next NUMBER"'):
        fresh.start()
    numbers.write_text("next 500\n")
    root = fresh.start().connect()
    assert root_numbers(root) == (500, 499)
    add_person(root, "ann")
    assert [dn for dn, _ in changes(root)] == [f"changeNumber=500,{CHANGELOG}"]
