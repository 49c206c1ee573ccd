"""What an operator's bad night looks like: kill -9, a full disk, restarts, an import that is cut off."""

import os
import shutil
import signal
import subprocess
import time

import crash_rounds
import ldap
import pytest
from http_handler import get, with_http
from pando_server import BASE, DIRECTORY_LDIF, binary, until

PEOPLE = f"ou=People,{BASE}"
ROUNDS = int(os.environ.get("PANDO_CRASH_ROUNDS", "5"))


def export(server):
    out = server.dir / "out.ldif"
    out.unlink(missing_ok=True)
    server.tool("export-ldif", "--backendID", "userRoot", "--ldifFile", out, "--offline")
    return out.read_bytes()


# S0-09. S3-24: who follows cn=changelog has what is there, with all that referential integrity did.
def test_kill_9_loses_nothing(fresh):
    assert crash_rounds.rounds(crash_rounds.with_rules(fresh).start(), ROUNDS, seed=7) > 0


def test_a_clean_restart_keeps_everything(fresh):
    con = fresh.start().connect()
    con.modify_s(f"uid=user.1,{PEOPLE}", [(ldap.MOD_REPLACE, "title", [b"Kept"])])
    con.modify_s(
        "cn=schema",
        [
            (
                ldap.MOD_ADD,
                "attributeTypes",
                [
                    b"( 1.3.6.1.4.1.32473.1.9 NAME 'keptType' EQUALITY caseIgnoreMatch SYNTAX "
                    b"1.3.6.1.4.1.1466.115.121.1.15 )"
                ],
            )
        ],
    )
    assert fresh.stop() == 0
    con = fresh.start().connect()
    assert con.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(title=Kept)", ["1.1"]) == [(f"uid=user.1,{PEOPLE}", {})]
    assert any(
        b"keptType" in d
        for d in con.search_s("cn=schema", ldap.SCOPE_BASE, attrlist=["attributeTypes"])[0][1]["attributeTypes"]
    )
    fresh.kill()
    con = fresh.start().connect()
    assert any(
        b"keptType" in d
        for d in con.search_s("cn=schema", ldap.SCOPE_BASE, attrlist=["attributeTypes"])[0][1]["attributeTypes"]
    )
    fresh.tool("verify-index", "-b", BASE)


def test_a_schema_change_in_the_tail_of_the_log_is_replayed(fresh):
    """kill -9 right behind schema changes and entries made under each of them: replayed under the schema of their
    time."""
    con = fresh.start().connect()
    con.add_s(f"uid=before,{PEOPLE}", crash_rounds.entry("before", 1))
    definition = (
        b"( 1.3.6.1.4.1.32473.1.10 NAME 'treeAge' EQUALITY integerMatch ORDERING integerOrderingMatch"
        b" SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )"
    )
    holder = b"( 1.3.6.1.4.1.32473.2.10 NAME 'agedTree' SUP top AUXILIARY MAY treeAge )"
    con.modify_s(
        "cn=schema", [(ldap.MOD_ADD, "attributeTypes", [definition]), (ldap.MOD_ADD, "objectClasses", [holder])]
    )
    con.modify_s(
        f"uid=before,{PEOPLE}", [(ldap.MOD_ADD, "objectClass", [b"agedTree"]), (ldap.MOD_ADD, "treeAge", [b"300"])]
    )
    con.modify_s(
        f"uid=before,{PEOPLE}", [(ldap.MOD_DELETE, "treeAge", None), (ldap.MOD_DELETE, "objectClass", [b"agedTree"])]
    )
    con.modify_s("cn=schema", [(ldap.MOD_DELETE, "objectClasses", [holder])])
    con.modify_s("cn=schema", [(ldap.MOD_DELETE, "attributeTypes", [definition])])
    con.modify_s(f"uid=before,{PEOPLE}", [(ldap.MOD_REPLACE, "title", [b"After"])])
    fresh.kill()
    con = fresh.start().connect()
    assert con.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(title=After)", ["objectClass"])[0][0] == f"uid=before,{PEOPLE}"
    with pytest.raises(ldap.UNDEFINED_TYPE):
        con.modify_s(f"uid=before,{PEOPLE}", [(ldap.MOD_ADD, "treeAge", [b"1"])])
    fresh.stop()
    fresh.tool("verify-index", "-b", BASE)


def test_a_damaged_log_is_refused_and_can_be_given_up(fresh):
    con = fresh.start().connect()
    fresh.stop()
    con = fresh.start().connect()
    for n in range(5):
        con.modify_s(f"uid=user.{n},{PEOPLE}", [(ldap.MOD_REPLACE, "title", [b"Unfolded"])])
    fresh.kill()
    # The third of five changes that are in the log only.
    log = fresh.dir / "db" / "userRoot" / "log"
    for file in log.glob("*.log"):
        data = bytearray(file.read_bytes())
        at = data.find(b"uid=user.2,")
        if at > 0:
            data[at] ^= 1
            file.write_bytes(data)
            break
    else:
        raise AssertionError("the change is in no file")
    started = fresh.tool("start", check=False)
    assert started.returncode == 1 and "repair-log" in started.stderr, started.stderr
    seen = fresh.tool("repair-log", "--backendID", "userRoot", check=False)
    assert seen.returncode == 1 and "--acceptLoss" in seen.stderr, seen.stderr
    done = fresh.tool("repair-log", "--backendID", "userRoot", "--acceptLoss").stdout
    assert "given-up" in done, done
    con = fresh.start().connect()
    found = con.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(title=Unfolded)", ["1.1"])
    assert sorted(dn for dn, _ in found) == [f"uid=user.{n},{PEOPLE}" for n in range(2)]
    con.modify_s(f"uid=user.2,{PEOPLE}", [(ldap.MOD_REPLACE, "title", [b"Unfolded"])])
    fresh.stop()
    assert "no change is missing" in fresh.tool("repair-log").stdout
    fresh.tool("verify-index", "-b", BASE)


def test_export_import_export_is_byte_identical(fresh, tmp_path):
    con = fresh.start().connect()
    con.modify_s(
        f"uid=user.2,{PEOPLE}", [(ldap.MOD_ADD, "description", [b" leading space", "ünïcode".encode(), b"two\nlines"])]
    )
    con.rename_s(f"uid=user.3,{PEOPLE}", "uid=user.three", newsuperior=f"ou=Strange,{BASE}")
    fresh.stop()
    first = export(fresh)
    (tmp_path / "first.ldif").write_bytes(first)
    fresh.import_ldif(tmp_path / "first.ldif")
    assert export(fresh) == first


def test_a_bad_entry_stops_the_import_and_the_old_data_serves_on(fresh, tmp_path):
    before = export(fresh)
    bad = tmp_path / "bad.ldif"
    bad.write_text(
        DIRECTORY_LDIF.read_text() + f"\ndn: uid=bad,{PEOPLE}\nobjectClass: inetOrgPerson\nuid: bad\ncn: Bad\n"
    )
    done = fresh.tool("import-ldif", "--backendID", "userRoot", "--ldifFile", bad, "--offline", check=False)
    assert done.returncode != 0
    line = bad.read_text()[: bad.read_text().index("uid=bad")].count("\n") + 1
    assert str(line) in done.stderr and "sn" in done.stderr, done.stderr
    assert export(fresh) == before


def test_a_bad_entry_is_rejected_to_a_file_when_asked(fresh, tmp_path):
    bad, rejects = tmp_path / "bad.ldif", tmp_path / "rejects.ldif"
    bad.write_text(
        DIRECTORY_LDIF.read_text() + f"\ndn: uid=bad,{PEOPLE}\nobjectClass: inetOrgPerson\nuid: bad\ncn: Bad\n\n"
        f"dn: uid=good,{PEOPLE}\nobjectClass: inetOrgPerson\nuid: good\ncn: Good\nsn: Good\n"
    )
    fresh.tool("import-ldif", "--backendID", "userRoot", "--ldifFile", bad, "--offline", "--rejectFile", rejects)
    assert "uid=bad" in rejects.read_text() and "uid=good" not in rejects.read_text()
    assert b"uid=good" in export(fresh)


def test_an_interrupted_import_leaves_the_old_data(fresh, tmp_path):
    before = export(fresh)
    big = tmp_path / "big.ldif"
    with open(big, "w") as f:
        f.write(DIRECTORY_LDIF.read_text() + "\n")
        for i in range(60_000):
            f.write(
                f"dn: uid=big.{i},{PEOPLE}\nobjectClass: inetOrgPerson\nuid: big.{i}\ncn: Big {i}\n"
                f"sn: Number {i}\nmail: big.{i}@example.com\n\n"
            )
    command = [
        binary(),
        "import-ldif",
        "--instance",
        str(fresh.dir),
        "--backendID",
        "userRoot",
        "--ldifFile",
        str(big),
        "--offline",
    ]
    for delay in (0.02, 0.1, 0.25, 0.4):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        process.kill()
        if process.wait() == 0:
            break
        assert export(fresh) == before
        fresh.tool("verify-index", "-b", BASE)
    fresh.start()
    assert len(fresh.connect().search_s(PEOPLE, ldap.SCOPE_BASE)) == 1


def test_import_refuses_while_the_server_runs(fresh):
    fresh.start()
    done = fresh.tool("import-ldif", "--backendID", "userRoot", "--ldifFile", DIRECTORY_LDIF, "--offline", check=False)
    assert done.returncode != 0 and f"process {fresh.process.pid}" in done.stderr
    assert fresh.connect().whoami_s()
    # Reading tools work beside the running server, and see what it serves.
    fresh.connect().modify_s(f"uid=user.1,{PEOPLE}", [(ldap.MOD_REPLACE, "title", [b"Just now"])])
    assert b"title: Just now" in export(fresh)
    fresh.tool("verify-index", "-b", BASE)
    assert "dn2id" in fresh.tool("backendstat", "list-indexes", "-n", "userRoot", "-b", BASE).stdout


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("mkfs.ext4"), reason="needs root to mount a small file system"
)
def test_a_full_disk_refuses_writes_reads_go_on_and_writes_resume(fresh, tmp_path):
    image, mount = tmp_path / "disk.img", tmp_path / "mnt"
    mount.mkdir()
    with open(image, "wb") as f:
        f.truncate(160 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    if subprocess.run(["mount", "-o", "loop", image, mount], capture_output=True).returncode != 0:
        pytest.skip("loop mounts are not allowed here")
    try:
        shutil.move(fresh.dir / "db", mount / "db")
        (fresh.dir / "db").symlink_to(mount / "db")
        http_port = with_http(fresh)
        con = fresh.start().connect()
        free = shutil.disk_usage(mount).free
        filler = mount / "filler"
        with open(filler, "wb") as f:
            os.posix_fallocate(f.fileno(), 0, max(free - 2**20, 2**20))
        acknowledged, refused = {}, None
        for n in range(200_000):
            value = (b"%d " % n) * 400
            try:
                con.modify_s(f"uid=user.{n % 20},{PEOPLE}", [(ldap.MOD_REPLACE, "description", [value])])
                acknowledged[n % 20] = value
            except (ldap.UNWILLING_TO_PERFORM, ldap.ADMINLIMIT_EXCEEDED) as e:
                refused = e
                break
        assert refused is not None, "the disk never filled"
        assert "disk" in str(refused).lower() or "space" in str(refused).lower(), refused
        for i, value in acknowledged.items():
            assert con.search_s(f"uid=user.{i},{PEOPLE}", ldap.SCOPE_BASE, attrlist=["description"])[0][1][
                "description"
            ] == [value]

        def said(number):
            errors = (fresh.dir / "logs" / "errors").read_text().splitlines()
            return [line for line in errors if f"msgID={number} " in line and "userRoot" in line]

        status, _, why = get(http_port, "/healthy")
        assert status == 503 and 'backend "userRoot" refuses updates until its log can be written' in why, why
        # The error log says it once, however many updates are refused; a fold may free some room, which is filled too.
        until(lambda: said(80))
        refusals, value = 0, b"refused " * 500
        while refusals < 5:
            try:
                con.modify_s(f"uid=user.1,{PEOPLE}", [(ldap.MOD_REPLACE, "description", [value])])
                acknowledged[1] = value
            except (ldap.UNWILLING_TO_PERFORM, ldap.ADMINLIMIT_EXCEEDED):
                refusals += 1
                time.sleep(0.5)
        until(lambda: len(said(80)) == 1 + len(said(82)))
        filler.unlink()

        def resumes():
            try:
                con.modify_s(f"uid=user.1,{PEOPLE}", [(ldap.MOD_REPLACE, "description", [b"resumed"])])
                return True
            except (ldap.UNWILLING_TO_PERFORM, ldap.ADMINLIMIT_EXCEEDED):
                return False

        until(resumes)
        acknowledged[1] = b"resumed"
        # Its end is in the error log, too.
        until(lambda: said(82))
        assert get(http_port, "/healthy")[0] == 200
        fresh.kill()
        con = fresh.start().connect()
        for i, value in acknowledged.items():
            assert con.search_s(f"uid=user.{i},{PEOPLE}", ldap.SCOPE_BASE, attrlist=["description"])[0][1][
                "description"
            ] == [value]
        fresh.stop()
        fresh.tool("verify-index", "-b", BASE)
    finally:
        if fresh.process:
            fresh.kill()
        subprocess.run(["umount", mount], check=False)


def test_the_server_ends_cleanly_on_sigint(fresh):
    fresh.start()
    fresh.process.send_signal(signal.SIGINT)
    assert fresh.process.wait(60) == 0
    fresh.process = None
