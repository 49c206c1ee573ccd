"""The error log: what an operator finds there in the morning."""

import subprocess

from pando_server import BASE, DIRECTORY_LDIF, Pando, binary, until
from test_audit_log import audited, heads


def lines_of(instance, number):
    """The lines of the error log with that msgID, without their time."""
    return [line[29:] for line in instance.error_log().splitlines() if f" msgID={number} " in line]


def failing_start(instance):
    return subprocess.run(
        [binary(), "start", "--instance", str(instance.dir)], capture_output=True, text=True, timeout=60
    )


def test_what_was_replayed_after_a_crash_is_named(fresh):
    fresh.import_ldif(DIRECTORY_LDIF).start()
    assert lines_of(fresh, 83) == []
    con = fresh.connect()
    for number in range(20):
        con.add_s(f"ou=crash{number},{BASE}", [("objectClass", [b"organizationalUnit"])])
    fresh.kill()
    fresh.start()
    (line,) = until(lambda: lines_of(fresh, 83))
    assert line.startswith("category=BACKEND severity=NOTICE msgID=83 msg=The server had not stopped in order: ")
    assert 'changes of the backend "userRoot" were taken from its log' in line
    fresh.stop()
    fresh.start()
    assert len(lines_of(fresh, 83)) == 1, "a stop in order leaves nothing to replay"


def test_a_failed_start_is_named(tmp_path):
    instance = Pando(tmp_path / "inst").setup()
    before = instance.config.read_text()
    instance.config.write_text(before + "\n[nonsense]\n")
    failed = failing_start(instance)
    assert failed.returncode == 1
    (line,) = lines_of(instance, 4)
    assert line.startswith("category=CORE severity=ERROR msgID=4 msg=The server did not start: ")
    assert "nonsense" in line
    instance.config.write_text(before)
    other = Pando(tmp_path / "other").setup()
    other.config.write_text(other.config.read_text().replace(str(other.port), str(instance.port)))
    instance.start()
    failed = failing_start(other)
    assert failed.returncode == 1
    (line,) = lines_of(other, 4)
    assert f"cannot listen on 127.0.0.1:{instance.port}" in line
    # The server that runs is no failure of its own, and its log is its own.
    assert failing_start(instance).returncode == 1
    assert len(lines_of(instance, 4)) == 1
    instance.remove()


def test_an_import_is_no_error(tmp_path):
    instance = audited(tmp_path)
    instance.start()
    con = instance.connect()
    for number in range(5):
        con.add_s(f"ou=audit{number},{BASE}", [("objectClass", [b"organizationalUnit"])])
    until(lambda: len(heads(instance)) >= 5)
    instance.stop()
    instance.import_ldif(DIRECTORY_LDIF, "--clearBackend")
    instance.start()
    assert not [line for line in instance.error_log().splitlines() if "severity=ERROR" in line]
    instance.remove()
