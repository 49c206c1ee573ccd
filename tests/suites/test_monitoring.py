"""cn=monitor and the logs after some work: what the writer, the folds and the server's own changes did."""

import re

import ldap
from pando_server import BASE, until

PEOPLE = f"ou=People,{BASE}"


def monitor(con, name):
    found = con.search_s(f"cn={name},cn=monitor", ldap.SCOPE_BASE)[0][1]
    return {key: [value.decode() for value in values] for key, values in found.items()}


def number(entry, name):
    return int(entry[name][0])


def test_the_monitor_tells_what_the_writer_did(fresh):
    fresh.tool(
        "dsconfig",
        "create-plugin",
        "--plugin-name",
        "References",
        "--type",
        "referential-integrity",
        "--set",
        "update-interval:1 s",
    )
    fresh.start()
    con = fresh.connect()
    waiting = [
        con.modify(f"uid=user.{n % 5},{PEOPLE}", [(ldap.MOD_REPLACE, "description", [b"number %d" % n])])
        for n in range(300)
    ]
    for message in waiting:
        con.result(message)

    def backend():
        return monitor(con, "userRoot Backend")

    # S3-14, S3-15: a fold is one of the figures, and nobody waited for it.
    until(lambda: number(backend(), "folds") > 0)
    shown = backend()
    assert (
        number(shown, "fold-time-max-us") >= number(shown, "fold-time-last-us") > 0
        and number(shown, "folded-changes") > 0
    )
    assert number(shown, "writer-slowed") == 0
    # S3-34: what the disk has to do, and how long it takes.
    assert (
        number(shown, "log-bytes-written") >= 300 * 100
        and number(shown, "commit-time-max-us") >= number(shown, "commit-time-mean-us") > 0
    )
    assert number(monitor(con, "Process"), "diskBytesWritten") > 0
    assert number(shown, "batches") <= number(shown, "proposals-accepted")
    # S3-50
    minutes = shown["writer-minutes"]
    assert all(
        re.fullmatch(
            r"\d{12}00Z proposals=\d+ batches=\d+ log-bytes=\d+ wait-max-us=\d+ wait-max-reason=\w+ hold-max-us=\d+ "
            r"commit-max-us=\d+ fold-max-us=\d+ slowed-us=\d+",
            minute,
        )
        for minute in minutes
    ), minutes
    assert sum(int(minute.split("proposals=")[1].split()[0]) for minute in minutes) == number(shown, "proposals")
    assert any(" modify=" in minute for minute in monitor(con, "Longest Operations")["longest-operations-us"])
    # S3-11: each update says where its time went.
    until(lambda: fresh.access_log().count("MODIFY RES") >= 300)
    answers = re.findall(r"MODIFY RES .* result=0 queue=\d+ apply=\d+ sync=\d+ etime=\d+", fresh.access_log())
    assert len(answers) == 300
    # S3-17, S3-32: what followed a delete was counted and timed by its cause.
    before = number(monitor(con, "Internal Operations"), "referential-integrity-operations")
    con.delete_s(f"uid=user.4,{PEOPLE}")
    until(lambda: number(monitor(con, "Internal Operations"), "referential-integrity-operations") > before)
    own = monitor(con, "Internal Operations")
    assert number(own, "referential-integrity-time-total-us") >= number(own, "referential-integrity-time-max-us") > 0
    fresh.tool(
        "dsconfig",
        "create-backend-index",
        "--backend-name",
        "userRoot",
        "--index-name",
        "title",
        "--set",
        "index-type:equality",
    )
    until(lambda: number(monitor(con, "Internal Operations"), "index-building-operations") > 0)
    assert fresh.stop() == 0


def test_the_threshold_of_stalls_is_live(fresh):
    # S3-02, S3-16: at one millisecond a modify that waits for the disk is one; how long a sync takes is the disk's to
    # say, so many are tried.
    fresh.start()
    con = fresh.connect()
    assert "msgID=15" not in fresh.error_log()
    fresh.tool("dsconfig", "set-global-configuration-prop", "--set", "stall-threshold:1 ms")

    def stalled():
        for _ in range(50):
            con.modify_s(f"uid=user.1,{PEOPLE}", [(ldap.MOD_REPLACE, "description", [b"x" * 100_000])])
        return re.search(
            r"msgID=15 msg=conn=\d+ op=\d+ msgID=\d+: MODIFY took \d+ ms, .*: queue \d+, apply \d+, others of its "
            r"batch \d+, sync \d+, publish \d+, \d+ in the batch; ",
            fresh.error_log(),
        )

    until(stalled)
    assert number(monitor(con, "Stalls"), "stalls") > 0
    fresh.tool("dsconfig", "set-global-configuration-prop", "--reset", "stall-threshold")
    assert fresh.stop() == 0
