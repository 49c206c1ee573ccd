"""Persistent search with entry change notifications, as python-ldap asks for it: what is told, how it ends, many at
once, slow readers."""

import os
import re
import socket
import subprocess
import time
from pathlib import Path

import ldap
import pytest
from ldap.controls import RequestControl
from ldap.controls.libldap import SimplePagedResultsControl
from ldap.controls.psearch import PersistentSearchControl
from pando_server import BASE, DIRECTORY_LDIF, PATIENCE_SECONDS, ROOT_DN, ROOT_PW, Pando, connect, until

PEOPLE = f"ou=People,{BASE}"
KINDS = ["add", "delete", "modify", "modDN"]


def person(uid, **more):
    attrs = {"objectClass": ["inetOrgPerson"], "uid": [uid], "cn": [uid], "sn": ["Watched"], **more}
    return [(name, [value.encode() for value in values]) for name, values in attrs.items()]


class Watch:
    """One persistent search of a connection."""

    def __init__(
        self,
        con,
        base=PEOPLE,
        filterstr="(objectClass=*)",
        attrs=None,
        kinds=KINDS,
        changes_only=True,
        notify=True,
        scope=ldap.SCOPE_SUBTREE,
        controls=(),
    ):
        self.con = con
        control = PersistentSearchControl(True, kinds, changes_only, notify)
        self.id = con.search_ext(base, scope, filterstr, attrs, serverctrls=[control, *controls])

    def receive(self, count):
        """The next `count` entries: (dn, attributes, notification or None)."""
        found = []
        while len(found) < count:
            kind, data, *_ = self.con.result4(self.id, all=0, timeout=PATIENCE_SECONDS, add_ctrls=1)
            assert kind == ldap.RES_SEARCH_ENTRY, (kind, data, found)
            found += [(dn, attrs, controls[0] if controls else None) for dn, attrs, controls in data]
        return found

    def end(self):
        """The result that ends it, which is an error for python-ldap unless it is success."""
        return self.con.result4(self.id, all=0, timeout=PATIENCE_SECONDS)


def monitored(updater):
    """The persistent searches that are in force, a line each."""
    ((_, attrs),) = updater.search_s("cn=Persistent Searches,cn=monitor", ldap.SCOPE_BASE)
    return sorted(value.decode() for value in attrs.get("persistentSearch", []))


def in_force(server, updater, con):
    """The numbers of the operations of a connection that are persistent searches in force."""
    with socket.socket(fileno=os.dup(con.fileno())) as own:
        (_, port) = own.getsockname()
    logged = until(lambda: re.findall(rf"CONNECT (conn=\d+) from=127.0.0.1:{port} ", server.access_log()))
    found = (re.match(rf"{logged[-1]} op=(\d+) ", line) for line in monitored(updater))
    return [int(match[1]) for match in found if match]


def started(server, watch, updater):
    """Waits until a watch for changes only is in force: the updates that follow are told."""
    until(lambda: watch.id - 1 in in_force(server, updater, watch.con))


@pytest.fixture
def root(server):
    con = server.connect()
    yield con
    con.unbind_s()


def test_it_is_advertised(root):
    ((_, dse),) = root.search_s("", ldap.SCOPE_BASE, attrlist=["supportedControl"])
    assert b"2.16.840.1.113730.3.4.3" in dse["supportedControl"]


def test_every_kind_of_change_with_its_notification(server, root):
    con = server.connect()
    watch = Watch(con, filterstr="(sn=Watched)", changes_only=False)
    root.add_s(f"uid=ps.1,{PEOPLE}", person("ps.1"))
    root.modify_s(f"uid=ps.1,{PEOPLE}", [(ldap.MOD_REPLACE, "description", [b"changed"])])
    root.rename_s(f"uid=ps.1,{PEOPLE}", "uid=ps.2", f"ou=Strange,{BASE}")
    root.rename_s(f"uid=ps.2,ou=Strange,{BASE}", "uid=ps.2", PEOPLE)
    root.passwd_s(f"uid=ps.2,{PEOPLE}", None, "another")
    root.delete_s(f"uid=ps.2,{PEOPLE}")
    told = watch.receive(6)
    assert [(dn, ecn.changeType, ecn.previousDN) for dn, _, ecn in told] == [
        (f"uid=ps.1,{PEOPLE}", 1, None),
        (f"uid=ps.1,{PEOPLE}", 4, None),
        (f"uid=ps.2,ou=Strange,{BASE}", 8, f"uid=ps.1,{PEOPLE}"),
        (f"uid=ps.2,{PEOPLE}", 8, f"uid=ps.2,ou=Strange,{BASE}"),
        (f"uid=ps.2,{PEOPLE}", 4, None),
        (f"uid=ps.2,{PEOPLE}", 2, None),
    ]
    numbers = [int(ecn.changeNumber) for _, _, ecn in told]
    assert numbers == sorted(set(numbers)) and numbers[0] > 0
    # The deleted entry as it was.
    assert told[-1][1]["description"] == [b"changed"] and told[-1][1]["uid"] == [b"ps.2"]
    con.unbind_s()


def test_the_entries_that_are_there_come_first(server, root):
    con = server.connect()
    watch = Watch(con, filterstr="(l=Grove)", attrs=["description"], changes_only=False)
    there = {dn for dn, _ in root.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(l=Grove)", ["1.1"])}
    shown = watch.receive(len(there))
    assert {dn for dn, _, _ in shown} == there and all(ecn is None for _, _, ecn in shown)
    dn = sorted(there)[0]
    root.modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"told"])])
    ((told_dn, attrs, ecn),) = watch.receive(1)
    assert (told_dn, attrs, ecn.changeType) == (dn, {"description": [b"told"]}, 4)
    # Without notifications, if they are not asked for.
    other = Watch(con, filterstr="(l=Grove)", attrs=["description"], notify=False)
    started(server, other, root)
    root.modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"bare"])])
    assert other.receive(1) == [(dn, {"description": [b"bare"]}, None)]
    con.unbind_s()


def test_users_are_told_what_they_may_read(server, root):
    con = server.connect(f"uid=user.3,{PEOPLE}", "password")
    watch = Watch(con, filterstr="(uid=user.4)")
    started(server, watch, root)
    root.passwd_s(f"uid=user.4,{PEOPLE}", None, "password")
    ((_, attrs, _),) = watch.receive(1)
    assert "cn" in attrs and "userPassword" not in attrs
    con.unbind_s()
    anonymous = ldap.initialize(server.url)
    # The profile of `setup` gives the control to users only.
    with pytest.raises(ldap.UNAVAILABLE_CRITICAL_EXTENSION):
        Watch(anonymous).end()


def test_abandon_ends_it_silently(server, root):
    con = server.connect()
    watch, other = Watch(con, filterstr="(uid=user.5)"), Watch(con, filterstr="(uid=user.5)")
    started(server, watch, root)
    started(server, other, root)
    con.abandon(watch.id)
    until(lambda: in_force(server, root, con) == [other.id - 1])
    # The connection lives on, and the other watch with it.
    assert con.whoami_s() == f"dn:{ROOT_DN}"
    root.modify_s(f"uid=user.5,{PEOPLE}", [(ldap.MOD_REPLACE, "description", [b"after the abandon"])])
    assert other.receive(1)[0][1]["description"] == [b"after the abandon"]
    # Nobody is there to be abandoned: ignored.
    con.abandon(watch.id)
    con.abandon(4711)
    assert con.whoami_s() == f"dn:{ROOT_DN}"
    con.unbind_s()
    line = re.compile(r'SEARCH REQ conn=\d+ op=1 .*filter="\(uid=user.5\)" attrs="ALL" options=persistent')
    until(lambda: line.search(server.access_log()))


def test_cancel_is_answered(server, root):
    con = server.connect()
    watch = Watch(con, filterstr="(uid=user.6)")
    started(server, watch, root)
    con.cancel_s(watch.id)
    with pytest.raises(ldap.CANCELLED):
        watch.end()
    with pytest.raises(ldap.NO_SUCH_OPERATION):
        con.cancel_s(watch.id)
    con.unbind_s()


def test_a_bind_ends_it(server):
    con = server.connect()
    watch = Watch(con)
    con.simple_bind_s(f"uid=user.3,{PEOPLE}", "password")
    with pytest.raises(ldap.CANCELLED):
        watch.end()
    con.unbind_s()


def test_start_tls_has_to_come_before(server):
    con = server.connect()
    Watch(con)
    with pytest.raises(ldap.OPERATIONS_ERROR):
        con.start_tls_s()
    con.unbind_s()


def test_over_tls(server, root):
    con = connect(server.tls_url)
    watch = Watch(con, filterstr="(uid=user.7)", changes_only=False)
    watch.receive(1)
    root.modify_s(f"uid=user.7,{PEOPLE}", [(ldap.MOD_REPLACE, "description", [b"over TLS"])])
    assert watch.receive(1)[0][1]["description"] == [b"over TLS"]
    con.unbind_s()


@pytest.mark.parametrize(
    "base,controls,error",
    [
        ("", (), ldap.UNWILLING_TO_PERFORM),
        ("cn=monitor", (), ldap.UNWILLING_TO_PERFORM),
        ("cn=schema", (), ldap.UNWILLING_TO_PERFORM),
        (f"ou=Nowhere,{BASE}", (), ldap.NO_SUCH_OBJECT),
        (PEOPLE, (SimplePagedResultsControl(True, 3, ""),), ldap.PROTOCOL_ERROR),
    ],
)
def test_refusals(root, base, controls, error):
    with pytest.raises(error):
        Watch(root, base, scope=ldap.SCOPE_BASE, controls=controls).end()


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\x30\x00",
        b"\x30\x09\x02\x01\x10\x01\x01\xff\x01\x01\xff",
        b"\x30\x09\x02\x01\x00\x01\x01\xff\x01\x01\xff",
    ],
)
def test_malformed_values(root, value):
    control = RequestControl(PersistentSearchControl.controlType, True, value)
    with pytest.raises(ldap.PROTOCOL_ERROR):
        root.search_ext_s(PEOPLE, ldap.SCOPE_BASE, serverctrls=[control])


def test_limits_and_what_the_monitor_shows(tmp_path):
    instance = Pando(tmp_path / "inst").setup().import_ldif(DIRECTORY_LDIF)
    text = instance.config.read_text()
    assert text.count("[global]\n") == 1
    instance.config.write_text(text.replace("[global]\n", '[global]\nmax-psearches = 2\nidle-time-limit = "300 ms"\n'))
    instance.configure(
        f'\n[limits.few]\ntype = "dn"\nuser-dn = "uid=user.2,{PEOPLE}"\nsize-limit = 2\ntime-limit = "1 s"\n'
    )
    instance.start()
    root, silent = instance.connect(), instance.connect(f"uid=user.3,{PEOPLE}", "password")
    con = instance.connect(f"uid=user.2,{PEOPLE}", "password")
    few = Watch(con, filterstr="(uid=user.9)", changes_only=False)
    few.receive(1)
    second = Watch(con, filterstr="(uid=user.8)")
    started(instance, second, root)
    with pytest.raises(ldap.ADMINLIMIT_EXCEEDED):
        Watch(instance.connect()).end()
    ((_, attrs),) = root.search_s("cn=Persistent Searches,cn=monitor", ldap.SCOPE_BASE)
    assert attrs["currentPersistentSearches"] == [b"2"]
    shown = monitored(root)
    assert len(shown) == 2 and all(
        re.match(
            rf'conn=\d+ op=[12] authDN="uid=user.2,{PEOPLE}" changeTypes=15 base="{PEOPLE}" scope=sub '
            rf'filter="\(uid=user.[89]\)"$',
            line,
        )
        for line in shown
    ), shown
    # Neither silence nor the time limit ends them; the size limit counts the first part and what is told.
    time.sleep(1.5)
    with pytest.raises(ldap.ADMINLIMIT_EXCEEDED):
        silent.whoami_s()
    for number in range(2):
        root = instance.connect()
        root.modify_s(f"uid=user.9,{PEOPLE}", [(ldap.MOD_REPLACE, "description", [b"%d" % number])])
    few.receive(1)
    with pytest.raises(ldap.SIZELIMIT_EXCEEDED):
        few.end()
    third = Watch(con, filterstr="(uid=user.8)", changes_only=False)
    third.receive(1)
    assert instance.stop() == 0
    for watch in (second, third):
        with pytest.raises(ldap.UNAVAILABLE):
            watch.end()
    instance.remove()


def test_two_hundred_at_once_are_told_a_thousand_updates_in_order(server, root):
    cons = [server.connect() for _ in range(200)]
    watches = [Watch(con, filterstr="(uid=user.10)", attrs=["description"], changes_only=False) for con in cons]
    for watch in watches:
        watch.receive(1)
    count = 1000
    dn = f"uid=user.10,{PEOPLE}"
    pending = [root.modify_ext(dn, [(ldap.MOD_REPLACE, "description", [b"%d" % number])]) for number in range(count)]
    for message in pending:
        root.result(message)
    expected = [b"%d" % number for number in range(count)]
    first = None
    for watch in watches:
        told = watch.receive(count)
        assert [attrs["description"][0] for _, attrs, _ in told] == expected
        numbers = [ecn.changeNumber for _, _, ecn in told]
        assert first in (None, numbers)
        first = numbers
    for con in cons:
        con.unbind_s()


def test_who_reads_late_is_told_everything(server, root):
    con, quick = server.connect(), server.connect()
    dn = f"uid=user.11,{PEOPLE}"
    late, early = (
        Watch(it, filterstr="(uid=user.11)", attrs=["description"], changes_only=False) for it in (con, quick)
    )
    late.receive(1)
    early.receive(1)
    count, filler = 40, b"x" * 100_000
    for number in range(count):
        root.modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"%d " % number + filler])])
        early.receive(1)
    told = late.receive(count)
    assert [int(attrs["description"][0].split()[0]) for _, attrs, _ in told] == list(range(count))
    # Whoever never reads is ended with the connection.
    Watch(con, filterstr="(uid=user.11)", attrs=["description"], changes_only=False)
    con.unbind_s()
    root.modify_s(dn, [(ldap.MOD_DELETE, "description", None)])
    early.receive(1)
    quick.unbind_s()


def test_a_restart_ends_it_and_a_new_one_goes_on(fresh):
    fresh.start()
    con = fresh.connect()
    watch = Watch(con, filterstr="(uid=user.12)", changes_only=False)
    watch.receive(1)
    fresh.kill()
    with pytest.raises(ldap.SERVER_DOWN):
        watch.end()
    fresh.start()
    root, con = fresh.connect(), fresh.connect()
    before = Watch(con, filterstr="(uid=user.12)", changes_only=False)
    before.receive(1)
    root.modify_s(f"uid=user.12,{PEOPLE}", [(ldap.MOD_REPLACE, "description", [b"again"])])
    assert before.receive(1)[0][1]["description"] == [b"again"]


def test_pando_stop_says_goodbye(fresh):
    fresh.start()
    con = fresh.connect()
    watch = Watch(con, changes_only=False, filterstr="(uid=user.1)")
    watch.receive(1)
    assert fresh.stop() == 0
    with pytest.raises(ldap.UNAVAILABLE):
        watch.end()
    log = fresh.access_log()
    assert re.search(
        r'SEARCH RES conn=\d+ op=1 .*result=52 message="The server is stopping" nentries=1', log
    ) or re.search(r"SEARCH conn=\d+ op=1 .*options=persistent result=52 ", log), log[-2000:]
    assert 'reason="Server Shutdown"' in log


def test_ldapsearch_of_openldap(server, root):
    command = [
        "ldapsearch",
        "-x",
        "-H",
        server.url,
        "-D",
        ROOT_DN,
        "-w",
        ROOT_PW,
        "-b",
        PEOPLE,
        "-E",
        "!ps=15/1/1",
        "(uid=user.13)",
        "description",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: any("(uid=user.13)" in line for line in monitored(root)))
        root.modify_s(f"uid=user.13,{PEOPLE}", [(ldap.MOD_REPLACE, "description", [b"seen by ldapsearch"])])
        lines = []
        while not any("seen by ldapsearch" in line for line in lines):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            lines.append(line)
        assert any("persistentSearch" in line or "2.16.840.1.113730.3.4.7" in line for line in lines), lines
    finally:
        process.terminate()
        process.wait()


def test_a_thousand_at_once(fresh):
    """In ten connections: all are told, each once; no thread and little memory for each; they end by being abandoned,
    and with the server."""
    fresh.start()
    root = fresh.connect()

    def status(name):
        return int(
            re.search(rf"^{name}:\s+(\d+)", Path(f"/proc/{fresh.process.pid}/status").read_text(), re.MULTILINE)[1]
        )

    def listening():
        return int(
            root.search_s("cn=Persistent Searches,cn=monitor", ldap.SCOPE_BASE)[0][1]["currentPersistentSearches"][0]
        )

    dn = f"uid=user.14,{PEOPLE}"
    root.modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"before"])])
    cons = [fresh.connect() for _ in range(10)]
    Watch(cons[0], dn, attrs=["description"], changes_only=False, scope=ldap.SCOPE_BASE).receive(1)
    threads, kilobytes = status("Threads"), status("VmRSS")
    watches = [
        Watch(con, dn, attrs=["description"], changes_only=False, scope=ldap.SCOPE_BASE)
        for con in cons
        for _ in range(100)
    ]
    for watch in watches:
        watch.receive(1)
    assert listening() == len(watches) + 1
    numbers = set()
    for value in (b"one", b"two", b"three"):
        root.modify_s(dn, [(ldap.MOD_REPLACE, "description", [value])])
        for watch in watches:
            ((_, attrs, ecn),) = watch.receive(1)
            assert attrs["description"] == [value]
            numbers.add(int(ecn.changeNumber))
    # The same three numbers for all.
    assert len(numbers) == 3
    assert status("Threads") == threads
    assert status("VmRSS") - kilobytes < 20 * len(watches), "20 KiB for each: three times what it is"
    # Half of them are abandoned; the others hear of the next change, and once only.
    abandoned, left = watches[::2], watches[1::2]
    for watch in abandoned:
        watch.con.abandon(watch.id)
    until(lambda: listening() == len(left) + 1)
    root.modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"four"])])
    for watch in left:
        assert watch.receive(1)[0][1]["description"] == [b"four"]
    assert fresh.stop() == 0
    for watch in left:
        with pytest.raises(ldap.UNAVAILABLE):
            watch.end()
