"""Tasks of the running server: added below cn=tasks, run at their time, cancelled; what crashes and set clocks do."""

import fcntl
import os
import re
import signal
import socket
import subprocess

import ldap
import pytest
from pando_server import BASE, ROOT_DN, Pando, binary, connect, until
from service_manager import Service
from settable_clock import SettableClock, generalized_time

SCHEDULED = "cn=Scheduled Tasks,cn=tasks"
RECURRING = "cn=Recurring Tasks,cn=tasks"
CLASSES = "org.opends.server.tasks"


def values(attributes: dict[str, str | list[str]]):
    lists = ((name, value if isinstance(value, list) else [value]) for name, value in attributes.items())
    return [(name, [one.encode() for one in several]) for name, several in lists]


def task(kind: str, **attributes):
    """The attributes of a task: names as in OpenDJ, with - written as _."""
    classes = ["top", "ds-task"] + ([f"ds-task-{kind}"] if "lockdown" not in kind else [])
    name = {
        "disconnect": "DisconnectClient",
        "enter-lockdown": "EnterLockdownMode",
        "leave-lockdown": "LeaveLockdownMode",
    }
    class_name = f"{CLASSES}.{name.get(kind, kind.capitalize())}Task"
    rest = {key.replace("_", "-"): value for key, value in attributes.items()}
    return {"objectClass": classes, "ds-task-class-name": class_name, **rest}


def export(file, **more):
    return task("export", ds_task_export_backend_id="userRoot", ds_task_export_ldif_file=str(file), **more)


def add(con, identifier: str, attributes) -> str:
    con.add_s(f"ds-task-id={identifier},{SCHEDULED}", values(attributes))
    return identifier


def read(con, identifier: str) -> dict[str, list[str]]:
    ((_, found),) = con.search_s(f"ds-task-id={identifier},{SCHEDULED}", ldap.SCOPE_BASE)
    return {name: [value.decode() for value in several] for name, several in found.items()}


def state(con, identifier: str) -> str:
    return read(con, identifier)["ds-task-state"][0]


def ended(con, identifier: str) -> dict[str, list[str]]:
    """The task when it has ended."""
    over = re.compile("COMPLETED|STOPPED|CANCELED")
    return until(lambda: (found := read(con, identifier)) and over.match(found["ds-task-state"][0]) and found)


def identifiers(con) -> set[str]:
    found = con.search_s(SCHEDULED, ldap.SCOPE_ONELEVEL, attrlist=["ds-task-id"])
    return {attributes["ds-task-id"][0].decode() for _, attributes in found}


@pytest.fixture
def running(fresh):
    fresh.start()
    return fresh


def test_an_added_export_runs_at_once_and_says_what_it_did(running, tmp_path):
    con = connect(running.url)
    file = tmp_path / "out.ldif"
    add(con, "one", export(file, ds_task_export_exclude_filter="(uid=*)"))
    found = ended(con, "one")
    assert found["ds-task-state"] == ["COMPLETED_SUCCESSFULLY"]
    assert f"dn: {BASE}\n" in file.read_text() and "dn: uid=" not in file.read_text()
    assert not file.with_name("out.ldif.part").exists()
    begun, told, over = found["ds-task-log-message"]
    assert 'severity="NOTICE" msgCount=0 message="Export task one started execution"' in begun
    assert re.search(r'message="Exported \d+ entries and skipped \d+ in', told)
    assert "Export task one finished execution in the state Completed successfully" in over
    assert "msgID=66 msg=Export task one started execution" in running.error_log()
    with pytest.raises(ldap.ALREADY_EXISTS):
        add(con, "one", export(file))
    con.delete_s(f"ds-task-id=one,{SCHEDULED}")
    assert identifiers(con) == set()


def test_what_is_not_obeyed_is_refused(running, tmp_path):
    con = connect(running.url)
    file = tmp_path / "out.ldif"
    refused = [
        (export(file, ds_task_export_sign_hash="true"), ldap.UNWILLING_TO_PERFORM, "this server does not do what"),
        (export(file, ds_task_notify_on_error="a@example.com"), ldap.UNWILLING_TO_PERFORM, "this server does not do"),
        (export(file, ds_task_backup_all="true"), ldap.OBJECT_CLASS_VIOLATION, "has no attribute ds-task-backup-all"),
        (export(file, ds_task_export_wrap_column="x"), ldap.INVALID_SYNTAX, '"x" cannot be'),
        (export(file, ds_task_scheduled_start_time="soon"), ldap.INVALID_SYNTAX, '"soon" is no time'),
        (export(file, ds_task_dependency_id="nobody"), ldap.UNWILLING_TO_PERFORM, 'there is no task "nobody"'),
        (export(file, ds_task_failed_dependency_action="x"), ldap.CONSTRAINT_VIOLATION, '"x" cannot be'),
        (export(file, ds_task_state="RUNNING"), ldap.CONSTRAINT_VIOLATION, "written by the server"),
        (export(file, ds_task_id="another"), ldap.NAMING_VIOLATION, "the same in its name"),
        ({**export(file), "ds-task-export-backend-id": "none"}, ldap.UNWILLING_TO_PERFORM, 'no backend "none"'),
        (task("export", ds_task_export_backend_id="userRoot"), ldap.OBJECT_CLASS_VIOLATION, "give ds-task-export-ldif"),
        (task("purge"), ldap.UNWILLING_TO_PERFORM, "is not a class of tasks that this server has"),
        (task("disconnect"), ldap.OBJECT_CLASS_VIOLATION, "give ds-task-disconnect-connection-id"),
    ]
    for attributes, error, told in refused:
        with pytest.raises(error) as refusal:
            add(con, "bad", attributes)
        assert told in refusal.value.args[0]["info"], attributes
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        con.add_s("cn=x,cn=tasks", values(export(file)))
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        con.delete_s(f"ds-task-id=none,{SCHEDULED}")
    assert identifiers(con) == set()
    assert not (running.dir / "tasks.json").exists() or '"scheduled": []' in (running.dir / "tasks.json").read_text()


def test_a_task_takes_the_privilege_of_what_it_does(running, tmp_path):
    root = connect(running.url)
    user = f"uid=exporter,{BASE}"
    person = {"objectClass": "inetOrgPerson", "uid": "exporter", "cn": "E", "sn": "E", "userPassword": "password"}
    root.add_s(user, values({**person, "ds-privilege-name": ["ldif-export", "bypass-acl"]}))
    root.add_s(f"uid=nobody,{BASE}", values({**person, "uid": "nobody"}))
    con = connect(running.url, user, "password")
    add(con, "mine", export(tmp_path / "mine.ldif"))
    assert ended(con, "mine")["ds-task-state"] == ["COMPLETED_SUCCESSFULLY"]
    with pytest.raises(ldap.INSUFFICIENT_ACCESS) as refusal:
        add(con, "stop", task("shutdown"))
    assert "it takes server-shutdown" in refusal.value.args[0]["info"]
    add(root, "later", task("shutdown", ds_task_scheduled_start_time="20990101000000Z"))
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        con.delete_s(f"ds-task-id=later,{SCHEDULED}")
    other = connect(running.url, f"uid=nobody,{BASE}", "password")
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        other.search_s("cn=tasks", ldap.SCOPE_SUBTREE)
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        add(other, "no", export(tmp_path / "no.ldif"))


def test_tasks_wait_for_their_time_and_for_others(running, tmp_path):
    con = connect(running.url)
    add(con, "later", export(tmp_path / "a.ldif", ds_task_scheduled_start_time="20990101000000Z"))
    add(con, "after", export(tmp_path / "b.ldif", ds_task_dependency_id="later"))
    assert [state(con, one) for one in ("later", "after")] == ["WAITING_ON_START_TIME", "WAITING_ON_DEPENDENCY"]
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        con.delete_s(f"ds-task-id=later,{SCHEDULED}")
    change = [(ldap.MOD_REPLACE, "ds-task-scheduled-start-time", b"20000101000000Z")]
    con.modify_s(f"ds-task-id=later,{SCHEDULED}", change)
    assert ended(con, "after")["ds-task-state"] == ["COMPLETED_SUCCESSFULLY"]
    assert (tmp_path / "b.ldif").read_text() == (tmp_path / "a.ldif").read_text()
    add(con, "fails", export(tmp_path / "no such folder" / "c.ldif"))
    add(con, "never", export(tmp_path / "d.ldif", ds_task_dependency_id="fails"))
    add(
        con,
        "anyway",
        export(tmp_path / "e.ldif", ds_task_dependency_id="fails", ds_task_failed_dependency_action="process"),
    )
    outcomes = [ended(con, one)["ds-task-state"][0] for one in ("fails", "never", "anyway")]
    assert outcomes == ["STOPPED_BY_ERROR", "CANCELED_BEFORE_STARTING", "COMPLETED_SUCCESSFULLY"]
    assert "No such file or directory" in " ".join(read(con, "fails")["ds-task-log-message"])


def test_a_task_is_cancelled_before_it_runs(running, tmp_path):
    con = connect(running.url)
    add(con, "later", export(tmp_path / "a.ldif", ds_task_scheduled_start_time="20990101000000Z"))
    cancel = [(ldap.MOD_REPLACE, "ds-task-state", b"CANCELED_BEFORE_STARTING")]
    con.modify_s(f"ds-task-id=later,{SCHEDULED}", cancel)
    assert state(con, "later") == "CANCELED_BEFORE_STARTING"
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        con.modify_s(f"ds-task-id=later,{SCHEDULED}", cancel)
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        con.modify_s(f"ds-task-id=later,{SCHEDULED}", [(ldap.MOD_REPLACE, "ds-task-state", b"RUNNING")])


def test_indexes_are_rebuilt_by_a_task(running):
    con = connect(running.url)
    rebuild = {"ds_task_rebuild_base_dn": BASE}
    add(con, "all", task("rebuild", ds_task_rebuild_index="REBUILD_ALL", **rebuild))
    assert ended(con, "all")["ds-task-state"] == ["COMPLETED_SUCCESSFULLY"]
    add(con, "none", task("rebuild", ds_task_rebuild_index="no.such", **rebuild))
    found = ended(con, "none")
    assert found["ds-task-state"] == ["STOPPED_BY_ERROR"]
    assert 'there is no index "no.such"' in found["ds-task-log-message"][1].replace("\\22", '"')
    running.tool("verify-index", "-b", BASE)


def test_a_client_is_disconnected(running):
    con, victim = connect(running.url), connect(running.url)
    _, number = victim.extop_s(ldap.extop.ExtendedRequest("1.3.6.1.4.1.26027.1.6.2", None))
    told = {"ds_task_disconnect_notify_client": "true", "ds_task_disconnect_message": "maintenance begins"}
    add(con, "end", task("disconnect", ds_task_disconnect_connection_id=str(int.from_bytes(number[2:])), **told))
    assert ended(con, "end")["ds-task-state"] == ["COMPLETED_SUCCESSFULLY"]
    until(lambda: 'reason="Administrative Termination" msg="maintenance begins"' in running.access_log())
    with pytest.raises((ldap.SERVER_DOWN, ldap.UNAVAILABLE)):
        victim.whoami_s()
    add(con, "nobody", task("disconnect", ds_task_disconnect_connection_id="999999"))
    assert ended(con, "nobody")["ds-task-state"] == ["STOPPED_BY_ERROR"]


def test_a_locked_down_server_serves_its_administrators_only(running):
    root = connect(running.url)
    user = f"uid=one,{BASE}"
    root.add_s(
        user, values({"objectClass": "inetOrgPerson", "uid": "one", "cn": "O", "sn": "O", "userPassword": "password"})
    )
    con = connect(running.url, user, "password")
    add(root, "enter", task("enter-lockdown"))
    ended(root, "enter")
    with pytest.raises(ldap.UNWILLING_TO_PERFORM) as refusal:
        con.whoami_s()
    assert "lockdown mode" in refusal.value.args[0]["info"]
    assert root.whoami_s() == f"dn:{ROOT_DN}"
    add(root, "leave", task("leave-lockdown"))
    ended(root, "leave")
    assert con.whoami_s() == f"dn:{user}"


def test_a_server_is_restarted_and_stopped_by_tasks(running):
    process = running.process
    add(connect(running.url), "again", task("shutdown", ds_task_restart_server="TRUE"))
    until(lambda: running.error_log().count("The server is ready") == 2)
    con = connect(running.url)
    assert state(con, "again") == "COMPLETED_SUCCESSFULLY"
    assert process.poll() is None
    add(con, "stop", task("shutdown"))
    assert process.wait(60) == 0
    running.start()
    assert state(connect(running.url), "stop") == "COMPLETED_SUCCESSFULLY"


def test_a_restart_keeps_the_sockets_of_the_service_manager(fresh, tmp_path):
    handed = []
    for port in (fresh.port, fresh.tls_port):
        it = socket.create_server(("127.0.0.1", port))
        # The service gets them under low numbers, where they must not lie here.
        handed.append(socket.socket(fileno=fcntl.fcntl(it.fileno(), fcntl.F_DUPFD, 100)))
        it.close()
    service = Service([binary(), "start", "--instance", fresh.dir], tmp_path, handed=handed)
    try:
        assert service.notice() == "READY=1", service.said()
        add(connect(fresh.url), "again", task("shutdown", ds_task_restart_server="TRUE"))
        # It is not said to stop, and is ready again.
        assert service.notice() == "READY=1", service.said()
        assert state(connect(fresh.url), "again") == "COMPLETED_SUCCESSFULLY"
        assert service.process.poll() is None
        connect(fresh.tls_url)
    finally:
        service.kill()
        for it in handed:
            it.close()


def test_a_killed_server_says_which_task_it_did_not_complete(running, tmp_path):
    con = connect(running.url)
    fifo = tmp_path / "nobody reads"
    os.mkfifo(fifo)
    # The export waits for a reader, so it runs for as long as nobody is there.
    add(con, "waits", export(fifo))
    add(con, "later", export(tmp_path / "a.ldif", ds_task_dependency_id="waits"))
    until(lambda: state(con, "waits") == "RUNNING")
    running.kill()
    running.start()
    con = connect(running.url)
    found = read(con, "waits")
    assert found["ds-task-state"] == ["STOPPED_BY_SHUTDOWN"]
    assert "The server ended while the task was running" in found["ds-task-log-message"][-1]
    assert state(con, "later") == "CANCELED_BEFORE_STARTING"


def test_no_acknowledged_task_is_lost_whenever_the_server_is_killed(running, tmp_path):
    acknowledged: list[str] = []
    for crash in range(6):
        con = connect(running.url)
        for number in range(4):
            acknowledged.append(add(con, f"{crash}-{number}", export(tmp_path / f"{crash}-{number}.ldif")))
            if number == 1:
                rebuild = {"ds_task_rebuild_base_dn": BASE, "ds_task_rebuild_index": "REBUILD_ALL"}
                acknowledged.append(add(con, f"{crash}-r", task("rebuild", **rebuild)))
        # Sooner and later: before a task begins, while it runs, when it has ended.
        if crash % 3:
            until(lambda: state(con, acknowledged[-crash % 4 - 1]) != "UNSCHEDULED")
        running.kill()
        running.start()
    con = connect(running.url)
    assert identifiers(con) == set(acknowledged)
    for one in acknowledged:
        outcome = ended(con, one)["ds-task-state"][0]
        assert outcome in ("COMPLETED_SUCCESSFULLY", "STOPPED_BY_SHUTDOWN")
        if outcome == "COMPLETED_SUCCESSFULLY" and not one.endswith("r"):
            assert f"dn: {BASE}\n" in (tmp_path / f"{one}.ldif").read_text()
    running.tool("verify-index", "-b", BASE)


def test_tools_have_the_server_work_and_show_its_tasks(running, tmp_path):
    file = tmp_path / "now.ldif"
    done = running.tool("export-ldif", "-n", "userRoot", "-l", file, "--start", "0", "-b", BASE, "-E", "(uid=*)")
    first, *_, last = done.stdout.splitlines()
    identifier = re.fullmatch(r"Export task (\d{17}) scheduled to start immediately", first)[1]
    assert last == f"Export task {identifier} has been successfully completed"
    assert f"dn: {BASE}\n" in file.read_text() and "dn: uid=" not in file.read_text()
    running.tool("rebuild-index", "-b", BASE, "--rebuildAll", "-t", "0")
    failed = running.tool("export-ldif", "-n", "userRoot", "-l", tmp_path / "no" / "x", "-t", "0", check=False)
    assert failed.returncode == 1
    assert failed.stderr.endswith("did not complete successfully: Stopped by error\n")
    running.tool("export-ldif", "-n", "userRoot", "-l", file, "--recurringTask", "0 2 * * *", "-Q")
    rows = [line.split(maxsplit=1) for line in running.tool("manage-tasks", "--summary").stdout.splitlines()[2:]]
    states = [re.sub(" +", " ", rest) for _, rest in rows]
    assert states == [
        "Export Completed successfully",
        "Rebuild Index Completed successfully",
        "Export Stopped by error",
        "Export Waiting on start time",
        "Export Recurring",
    ]
    shown = running.tool("manage-tasks", "--info", identifier).stdout
    assert re.search(r"^Status +Completed successfully$", shown, re.M)
    assert re.search(r"^Scheduled Start Time +Immediate execution$", shown, re.M)
    assert re.search(rf"^ldif file +{file}$", shown, re.M)
    recurring = rows[-1][0]
    assert running.tool("manage-tasks", "-c", recurring).stdout == f"Task {recurring} canceled\n"
    assert state(connect(running.url), rows[3][0]) == "CANCELED_BEFORE_STARTING"
    for options, told in [
        (("-c", identifier), f"Task '{identifier}' has finished and cannot be canceled"),
        (("-i", "nobody"), "There are no tasks with ID nobody"),
    ]:
        refused = running.tool("manage-tasks", *options, check=False)
        assert (refused.returncode, refused.stderr) == (1, f"pando manage-tasks: {told}\n")
    running.stop()
    refused = running.tool("export-ldif", "-n", "userRoot", "-l", file, "-t", "0", check=False)
    assert refused.returncode == 1 and "no server runs" in refused.stderr


def test_ctrl_c_leaves_a_task_to_the_server(running, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    command = [binary(), "export-ldif", "--instance", running.dir, "-n", "userRoot", "-l", fifo, "--start", "0"]
    tool = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    identifier = tool.stdout.readline().split()[2]
    con = connect(running.url)
    until(lambda: state(con, identifier) == "RUNNING")
    # It follows the task when it has shown that it began.
    tool.stdout.readline()
    tool.send_signal(signal.SIGINT)
    assert tool.wait(60) == 1
    assert tool.stderr.read().endswith(f"goes on: see pando manage-tasks --info {identifier}\n")
    assert state(con, identifier) == "RUNNING"
    assert f"dn: {BASE}\n" in fifo.read_text()
    assert ended(con, identifier)["ds-task-state"] == ["COMPLETED_SUCCESSFULLY"]


HOUR = 3600
BEGIN = 1_795_460_400


def test_a_clock_set_back_an_hour_makes_a_schedule_run_neither_twice_nor_never(tmp_path):
    clock = SettableClock(tmp_path, BEGIN)
    server = Pando(tmp_path / "inst").setup()
    server.start(TZ="UTC", **clock.variables())
    try:
        con = connect(server.url)
        hourly = {**export("hourly.ldif"), "ds-recurring-task-schedule": "30 * * * *"}
        hourly["objectClass"] = [*hourly["objectClass"], "ds-recurring-task"]
        con.add_s(f"ds-recurring-task-id=hourly,{RECURRING}", values(hourly))
        first = BEGIN - BEGIN % HOUR + HOUR // 2
        first += HOUR if first <= BEGIN else 0
        names = [f"hourly-{generalized_time(first + HOUR * n)[:-1]}" for n in range(3)]
        assert identifiers(con) == {names[0]}
        clock.set(first)
        ended(con, names[0])
        until(lambda: identifiers(con) == set(names[:2]))
        # The same half past comes again: it was there.
        clock.set(first - HOUR)
        clock.set(first + 60)
        add(con, "mark", export("mark.ldif"))
        ended(con, "mark")
        assert state(con, names[1]) == "WAITING_ON_START_TIME"
        clock.set(first + HOUR)
        ended(con, names[1])
        until(lambda: identifiers(con) == {*names, "mark"})

        def begun():
            return re.findall(r"Export task (hourly-\d+) started execution", server.error_log())

        until(lambda: len(begun()) > 1)
        assert begun() == names[:2]
        con.delete_s(f"ds-recurring-task-id=hourly,{RECURRING}")
        assert state(con, names[2]) == "CANCELED_BEFORE_STARTING"
    finally:
        server.remove()
