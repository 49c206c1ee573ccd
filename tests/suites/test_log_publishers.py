"""Log publishers: they come, change and go while the server runs, and have what their criteria say."""

import json
import os
import signal
import time

import ldap
import pytest
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando, until
from test_dsconfig import dsconfig, refused

PEOPLE = f"ou=People,{BASE}"
USER = f"uid=user.1,{PEOPLE}"
CREATE = "create-access-log-filtering-criteria"


def lines(instance, name):
    """The lines of a log without their time."""
    path = instance.dir / "logs" / name
    return [line[29:] for line in path.read_text().splitlines()] if path.exists() else []


def searches(instance, *filters):
    con = instance.connect()
    for text in filters:
        con.search_s(BASE, ldap.SCOPE_SUBTREE, text, ["1.1"])
    con.unbind_s()


def written(instance, name, wanted):
    """The lines of a log once one of them has the text."""
    until(lambda: any(wanted in line for line in lines(instance, name)), say=lambda: str(lines(instance, name)))
    return lines(instance, name)


# S0-42, S0-43
def test_the_commands_of_the_source_document_take_effect_at_once(tmp_path):
    # More entries than are collected for their scope, so that a search without an index is unindexed.
    fresh = Pando(tmp_path / "inst").setup()
    fresh.tool("makeldif", "-s", "0", "-c", "numusers=4500", "-c", "numgroups=0", "-o", tmp_path / "people.ldif")
    fresh.import_ldif(tmp_path / "people.ldif").start()
    process = fresh.process.pid
    said = dsconfig(
        fresh,
        *("create-log-publisher", "--set", "enabled:true", "--set", "log-file:logs/search"),
        *("--set", "filtering-policy:inclusive", "--set", "log-format:combined"),
        *("--type", "file-based-access", "--publisher-name", "Searches"),
    ).stdout
    assert f"The server (process {process}) has taken the change." in said and "restart" not in said
    assert (fresh.dir / "logs" / "search").exists()
    said = dsconfig(
        fresh,
        *(CREATE, "--publisher-name", "Searches", "--set", "log-record-type:search"),
        *("--set", "search-response-is-indexed:false", "--set", "response-etime-greater-than:5000"),
        *("--type", "generic", "--criteria-name", "Expensive Searches"),
    ).stdout
    assert f"The server (process {process}) has taken the change." in said
    searches(fresh, "(description=*nothing*)", "(uid=user.1)")
    # No search takes that long; without the time, the one that no index answers is there, and no other.
    dsconfig(
        fresh,
        *("set-access-log-filtering-criteria-prop", "--publisher-name", "Searches"),
        *("--criteria-name", "Expensive Searches", "--reset", "response-etime-greater-than"),
    )
    searches(fresh, "(description=*something*)", "(uid=user.2)")
    assert len(written(fresh, "search", "something")) == 1
    line = lines(fresh, "search")[0]
    assert line.startswith("SEARCH conn=") and f'base="{BASE}" scope=sub filter="(description=*something*)"' in line
    assert " unindexed etime=" in line
    # The log that was there has everything.
    everything = "".join(lines(fresh, "access"))
    assert all(word in everything for word in ("nothing", "something", "user.1", "user.2"))
    shown = dsconfig(fresh, "list-access-log-filtering-criteria", "--publisher-name", "Searches").stdout
    assert "Expensive Searches" in shown and "generic" in shown
    dsconfig(fresh, "delete-log-publisher", "--publisher-name", "Searches")
    searches(fresh, "(description=*later*)")
    written(fresh, "access", "later")
    assert len(lines(fresh, "search")) == 1
    assert fresh.stop() == 0


def test_criteria_ask_for_users_groups_targets_and_results(fresh):
    fresh.start()
    con = fresh.connect()
    con.modify_s(USER, [(ldap.MOD_REPLACE, "userPassword", [b"hidden-user-1"])])
    team = f"cn=team,{BASE}"
    nested = f"cn=nested,{BASE}"
    group = [("objectClass", [b"groupOfNames"])]
    con.add_s(nested, [*group, ("cn", [b"nested"]), ("member", [USER.encode()])])
    con.add_s(team, [*group, ("cn", [b"team"]), ("member", [nested.encode()])])
    for name, criteria in [
        ("users", ["user-dn-equal-to:uid=*,ou=people,**"]),
        ("others", ["user-dn-not-equal-to:**,dc=com", "log-record-type:search"]),
        ("members", [f"user-is-member-of:{team}", "log-record-type:search"]),
        ("targets", [f"request-target-dn-equal-to:**,{PEOPLE}", "log-record-type:compare"]),
        ("failures", ["response-result-code-not-equal-to:0", "log-record-type:search"]),
        ("clients", ["connection-client-address-equal-to:192.0.2.0/24"]),
    ]:
        log = ("--set", "log-format:combined", "--set", "filtering-policy:inclusive", "--set", f"log-file:logs/{name}")
        dsconfig(fresh, "create-log-publisher", "--type", "file-based-access", "--publisher-name", name, *log)
        given = [word for one in criteria for word in ("--set", one)]
        dsconfig(fresh, CREATE, "--publisher-name", name, "--criteria-name", "all", "--type", "generic", *given)
    own = fresh.connect(USER, "hidden-user-1")
    own.search_s(BASE, ldap.SCOPE_BASE, "(objectClass=*)", ["1.1"])
    con.compare_s(USER, "sn", b"x")
    con.compare_s(BASE, "dc", b"example")
    con.search_s(BASE, ldap.SCOPE_BASE, "(dc=root-asks)", ["1.1"])
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        con.search_s(f"ou=Nowhere,{BASE}", ldap.SCOPE_BASE)
    own.unbind_s()
    written(fresh, "users", "DISCONNECT")
    # A connection that comes is not asked who is bound.
    words = [line.split(" ")[0] for line in lines(fresh, "users")]
    assert [word for word in words if word != "CONNECT"] == ["BIND", "SEARCH", "UNBIND", "DISCONNECT"]
    assert ["root-asks" in line for line in lines(fresh, "others")] == [True, False]
    assert [line.split(" ")[0] for line in lines(fresh, "members")] == ["SEARCH"]
    assert len(lines(fresh, "targets")) == 1 and f'dn="{USER}"' in lines(fresh, "targets")[0]
    assert len(lines(fresh, "failures")) == 1 and " result=32 " in lines(fresh, "failures")[0]
    assert lines(fresh, "clients") == []
    # The other way round: everything but what matches.
    dsconfig(fresh, "set-log-publisher-prop", "--publisher-name", "clients", "--set", "filtering-policy:exclusive")
    con.search_s(BASE, ldap.SCOPE_BASE, "(dc=now-all)", ["1.1"])
    written(fresh, "clients", "now-all")
    con.unbind_s()
    assert fresh.stop() == 0


def test_what_cannot_be_meant_is_refused(fresh):
    fresh.start()
    access = ("create-log-publisher", "--publisher-name", "New", "--type")
    told = refused(fresh, *access, "file-based-access", "--set", "log-file:logs/access")
    assert 'has the log file "logs/access", as [log-publisher' in told
    told = refused(fresh, *access, "file-based-access", "--set", "log-file:pando.toml/x")
    assert "pando.toml/x" in told
    told = refused(fresh, *access, "csv-file-access", "--set", "csv-delimiter-char:xx")
    assert "one character of ASCII" in told
    criteria = (CREATE, "--criteria-name", "x", "--type", "generic", "--publisher-name")
    told = refused(fresh, *criteria, "File-Based Access Logger", "--set", "user-dn-equal-to:no name")
    assert '"user-dn-equal-to" is "no name"' in told
    told = refused(fresh, *criteria, "File-Based Error Logger", "--set", "log-record-type:bind")
    assert "is no access log: filtering criteria have no effect" in told
    assert fresh.stop() == 0


def test_a_log_moves_and_changes_its_form_without_losing_a_line(fresh):
    fresh.start()
    con = fresh.connect()
    name = "File-Based Access Logger"
    count = 0
    for change in [
        "log-format:combined",
        "log-file:logs/moved",
        "queue-size:900",
        "log-file-permissions:600",
        "log-file:logs/access",
    ]:
        for _ in range(20):
            count += 1
            con.search_s(BASE, ldap.SCOPE_BASE, f"(dc=number-{count}-)", ["1.1"])
        dsconfig(fresh, "set-log-publisher-prop", "--publisher-name", name, "--set", change)
        count += 1
        con.search_s(BASE, ldap.SCOPE_BASE, f"(dc=number-{count}-)", ["1.1"])
    con.unbind_s()
    written(fresh, "access", f"number-{count}-")
    text = "".join((fresh.dir / "logs" / name).read_text() for name in ("access", "moved"))
    found = [number for number in range(1, count + 1) if f"number-{number}-" in text]
    assert found == list(range(1, count + 1))
    assert (fresh.dir / "logs" / "access").stat().st_mode & 0o777 == 0o600
    # An error log comes, and has what its severities say.
    dsconfig(
        fresh,
        *("create-log-publisher", "--publisher-name", "Warnings", "--type", "file-based-error"),
        *("--set", "log-file:logs/notices", "--set", "default-severity:notice"),
    )
    dsconfig(fresh, "set-log-publisher-prop", "--publisher-name", "Warnings", "--set", "override-severity:LOG=none")
    assert all("severity=NOTICE" in line for line in written(fresh, "notices", "The configuration was read again"))
    assert fresh.stop() == 0


def test_a_full_disk_is_told_once_and_the_server_serves_on(fresh):
    full = fresh.dir / "logs" / "full"
    fresh.start()
    full.symlink_to("/dev/full")
    dsconfig(
        fresh,
        *("create-log-publisher", "--publisher-name", "Full", "--type", "file-based-access"),
        *("--set", "log-file:logs/full", "--set", "log-format:combined"),
    )
    for number in range(3):
        searches(fresh, f"(uid=user.{number})")
        time.sleep(0.1)
    until(lambda: " msgID=132 " in fresh.error_log())
    written(fresh, "access", "user.2")
    full.unlink()
    os.kill(fresh.process.pid, signal.SIGHUP)
    until(lambda: full.exists())
    searches(fresh, "(uid=user.4)")
    missing = [line for line in written(fresh, "full", "DROPPED") if line.startswith("DROPPED")]
    assert len(missing) == 1
    until(lambda: " msgID=133 " in fresh.error_log())
    told = [line for line in fresh.error_log().splitlines() if " msgID=132 " in line or " msgID=133 " in line]
    assert len(told) == 2 and "No space left on device" in told[0]
    con = fresh.connect()
    _, attributes = con.search_s("cn=Log Publisher Full,cn=monitor", ldap.SCOPE_BASE)[0]
    dropped = int(attributes["linesDropped"][0])
    assert f"DROPPED lines={dropped} " in missing[0] and f"{dropped} lines are missing" in told[1]
    con.unbind_s()
    assert fresh.stop() == 0


def test_json_and_csv_have_no_secret_and_one_record_an_operation(fresh):
    for name, kind in [("Json", "json-file-access"), ("Csv", "csv-file-access")]:
        dsconfig(fresh, "create-log-publisher", "--publisher-name", name, "--type", kind)
    fresh.start()
    con = fresh.connect()
    con.modify_s(USER, [(ldap.MOD_REPLACE, "userPassword", [b"hidden-user-1"])])
    con.compare_s(USER, "userPassword", b"hidden-compared")
    con.passwd_s(USER, None, "hidden-new")
    con.unbind_s()
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        fresh.connect(USER, "hidden-wrong")
    assert fresh.stop() == 0
    records = [json.loads(line) for line in (fresh.dir / "logs" / "ldap-access.audit.json").read_text().splitlines()]
    done = [(record["request"]["operation"], record["request"]["connId"]) for record in records]
    first = next(connection for name, connection in done if name == "BIND")
    operations = ["CONNECT", "BIND", "MODIFY", "COMPARE", "EXTENDED", "UNBIND", "DISCONNECT"]
    assert [name for name, connection in done if connection == first] == operations
    by_name = {record["request"]["operation"]: record for record in records if record["request"]["connId"] == first}
    assert by_name["COMPARE"]["userId"] == ROOT_DN and by_name["MODIFY"]["request"]["dn"] == USER
    for path in (fresh.dir / "logs").iterdir():
        text = path.read_text(errors="replace")
        assert "hidden" not in text and ROOT_PW not in text, path
