"""Backups: made beside a running server, restored to a backup, a change or a time; sealed, verified, and refused where
they are damaged or do not belong."""

import hashlib
import json
import os
import resource
import signal
import subprocess
import threading
import time
from datetime import UTC, datetime

import ldap
import pytest
import restore_rounds
from pando_server import BASE, DIRECTORY_LDIF, Pando, binary, until

PEOPLE = f"ou=People,{BASE}"


def describe(con, text):
    con.modify_s(BASE, [(ldap.MOD_REPLACE, "description", [text.encode()])])


def described(instance):
    """The description of the base entry in the files of a stopped or running instance."""
    done = instance.tool("export-ldif", "-n", "userRoot", "--offline", "-l", "-")
    lines = [line for line in done.stdout.splitlines() if line.startswith("description: ")]
    return lines[0].removeprefix("description: ")


def now():
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def back_up(instance, folder, name, *more):
    return instance.tool("backup", "-n", "userRoot", "-d", folder, "-I", name, *more)


def restore(instance, folder, *more, **kw):
    return instance.tool("restore", "-d", folder, *more, **kw)


def listed(instance, folder):
    return json.loads(instance.tool("backup", "list", "-d", folder, "--json").stdout)


@pytest.fixture
def history(fresh, tmp_path):
    """A stopped instance with backups of four states of it, and a time between the second and the third."""
    bak = tmp_path / "bak"
    fresh.start()
    con = fresh.connect()
    describe(con, "state 0")
    back_up(fresh, bak, "zero")
    describe(con, "state 1")
    back_up(fresh, bak, "one", "--incremental")
    describe(con, "state 2")
    between = now()
    time.sleep(0.01)
    describe(con, "state 3")
    back_up(fresh, bak, "two", "-i")
    back_up(fresh, bak, "full")
    describe(con, "state 4")
    assert fresh.stop() == 0
    return fresh, bak, between


def test_every_moment_comes_back(history):
    instance, bak, between = history
    for moment, state in [
        (["-I", "zero"], "state 0"),
        (["-I", "one"], "state 1"),
        (["--to-time", between], "state 2"),
        (["--to-change", "2"], "state 1"),
        (["-I", "two"], "state 3"),
        ([], "state 3"),
    ]:
        restore(instance, bak, *moment)
        assert described(instance) == state, moment
        instance.tool("verify-index", "-b", BASE)
    # The restored data takes updates, and is data of its own: nothing of the old log is taken for its.
    instance.start()
    describe(instance.connect(), "after")
    instance.kill()
    instance.start()
    assert instance.stop() == 0
    assert described(instance) == "after"
    refused = instance.tool("backup", "-d", bak, "-I", "more", "-i", check=False)
    assert refused.returncode == 1
    assert "imported or restored since" in refused.stderr
    assert "make a full backup" in refused.stderr


def test_a_time_that_no_backup_reaches_is_refused(history):
    instance, bak, _ = history
    done = restore(instance, bak, "--to-time", now(), check=False)
    assert done.returncode == 1
    assert "hold what was changed until" in done.stderr
    assert described(instance) == "state 4"


def test_what_is_acknowledged_while_it_runs_is_whole(fresh, tmp_path):
    fresh.start()
    con, stopped, written = fresh.connect(), threading.Event(), []

    def write():
        while not stopped.is_set():
            number = len(written)
            con.add_s(
                f"cn=hot.{number},{PEOPLE}",
                [("objectClass", [b"device"]), ("cn", [f"hot.{number}".encode()])],
            )
            written.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    found = []
    try:
        while len(written) < 20:
            time.sleep(0.01)
        for name in ("one", "two", "three"):
            before = len(written)
            back_up(fresh, tmp_path / "bak", name, "--rest", "0")
            found.append((name, before))
    finally:
        stopped.set()
        writer.join()
    assert fresh.stop() == 0
    for name, before in found:
        restore(fresh, tmp_path / "bak", "-I", name)
        done = fresh.tool("export-ldif", "-n", "userRoot", "--offline", "-l", "-")
        there = {line for line in done.stdout.splitlines() if line.startswith("dn: cn=hot.")}
        assert there == {f"dn: cn=hot.{number},{PEOPLE}" for number in range(len(there))}
        assert len(there) >= before
        fresh.tool("verify-index", "-b", BASE)


def test_a_flipped_byte_is_named_and_changes_nothing(history):
    instance, bak, _ = history
    for name in ("zero", "one"):
        for file in sorted((bak / "userRoot" / name).iterdir()):
            whole = file.read_bytes()
            file.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
            # The first part of a full backup are the files of the instance, which restoring does not touch.
            is_of_data = (name, file.name) != ("zero", "part-00001")
            for tool in [["backup", "verify"], *([["restore"]] if is_of_data else [])]:
                done = instance.tool(*tool, "-d", bak, "-I", "one", check=False)
                assert done.returncode == 1
                told = done.stderr
                # Without its manifest a backup is none, and what it is needed for says so.
                assert f'the backup "{name}" is damaged' in told, told
            file.write_bytes(whole)
    assert described(instance) == "state 4"
    instance.tool("verify-index", "-b", BASE)
    instance.tool("backup", "verify", "-d", bak, "-I", "one", "--deep")


def test_sealed_backups_need_their_key(fresh, tmp_path):
    bak, key, other = tmp_path / "bak", tmp_path / "key", tmp_path / "other"
    key.write_text("0123456789abcdef" * 4)
    other.write_text("fedcba9876543210" * 4)
    phrase = tmp_path / "phrase"
    phrase.write_text("correct horse battery staple\n")
    back_up(fresh, bak, "file", "--encrypt", "--keyFile", key)
    back_up(fresh, bak, "phrase", "-y", "--passphraseFile", phrase)
    back_up(fresh, bak, "signed", "-s", "--keyFile", key)
    back_up(fresh, bak, "own", "-y")
    back_up(fresh, bak, "open")
    stored = b"".join(path.read_bytes() for path in (bak / "userRoot" / "file").glob("part-*"))
    assert b"Pando" not in stored
    (fresh.dir / "keys" / "backup.key").rename(tmp_path / "away")
    for name, options, word in [
        ("file", [], "give the key with --keyFile"),
        ("file", ["--keyFile", other], "the key does not fit"),
        ("file", ["--passphraseFile", phrase], "give the key with --keyFile"),
        ("phrase", ["--keyFile", key], "give the key with --passphraseFile"),
        ("signed", ["--keyFile", other], "the key does not fit"),
        ("own", [], "give the key with --keyFile"),
        ("open", ["--keyFile", key], "is not sealed, but a key was given"),
    ]:
        done = restore(fresh, bak, "-I", name, *options, check=False)
        assert (done.returncode, word in done.stderr) == (1, True), (name, done.stderr)
    # A manifest that somebody changed.
    manifest = bak / "userRoot" / "signed" / "manifest"
    whole = manifest.read_text()
    manifest.write_text(whole.replace('"program":"', '"program":"9'))
    done = restore(fresh, bak, "-I", "signed", "--keyFile", key, check=False)
    assert "its manifest was changed" in done.stderr
    manifest.write_text(whole)
    for name, options in [
        ("file", ["--keyFile", key]),
        ("phrase", ["--passphraseFile", phrase]),
        ("signed", ["--keyFile", key]),
        ("own", ["--keyFile", tmp_path / "away"]),
        ("open", []),
    ]:
        restore(fresh, bak, "-I", name, *options)
    fresh.tool("verify-index", "-b", BASE)


def test_files_of_the_instance_come_out(fresh, tmp_path):
    bak = tmp_path / "bak"
    back_up(fresh, bak, "open")
    back_up(fresh, bak, "sealed", "-y")
    for name, has_keys in (("open", False), ("sealed", True)):
        out = tmp_path / name
        restore(fresh, bak, "-I", name, "--extractFiles", out)
        assert (out / "pando.toml").read_text() == fresh.config.read_text()
        assert (out / "keys").exists() == has_keys
        assert not (out / "keys" / "backup.key").exists()
    again = restore(fresh, bak, "--extractFiles", tmp_path / "open", check=False)
    assert "is there already" in again.stderr


def test_what_does_not_belong_is_refused(fresh, tmp_path):
    bak = tmp_path / "bak"
    back_up(fresh, bak, "one")
    taken = fresh.tool("backup", "-d", bak, "-I", "one", check=False)
    assert (taken.returncode, "give another --backupID" in taken.stderr) == (1, True)
    bad = fresh.tool("backup", "-d", bak, "-I", "../one", check=False)
    assert (bad.returncode, "cannot be the name of a backup" in bad.stderr) == (1, True)
    # Another backend of that name.
    other = Pando(tmp_path / "other")
    other.tool(
        *["setup", "--baseDN", "dc=other", "--rootUserDN", "cn=x", "--rootUserPassword", "secret12"],
        *["--ldapPort", other.port, "--ldapsPort", other.tls_port, "--no-prompt"],
    )
    done = restore(other, bak, check=False)
    assert (done.returncode, f"has the base DNs {BASE}" in done.stderr) == (1, True), done.stderr
    # A later format, below a right hash.
    manifest = bak / "userRoot" / "one" / "manifest"
    line = manifest.read_text().splitlines()[0].replace('"format":1,', '"format":2,', 1)
    manifest.write_text(f"{line}\nsha256 {hashlib.sha256(line.encode()).hexdigest()}\n")
    done = restore(fresh, bak, check=False)
    assert "has format 2, this program knows 1" in done.stderr
    fresh.start()
    done = restore(fresh, bak, check=False)
    assert done.returncode == 1
    empty = restore(fresh, tmp_path / "nothing", check=False)
    assert "there is no folder" in empty.stderr


def test_a_new_machine_gets_the_data(history, tmp_path):
    _, bak, _ = history
    new = Pando(tmp_path / "new").setup()
    restore(new, bak)
    assert described(new) == "state 3"
    new.start()
    assert new.connect().compare_s(BASE, "description", b"state 3")
    assert new.stop() == 0
    new.remove()


def test_a_full_disk_leaves_no_backup(fresh, tmp_path):
    bak = tmp_path / "bak"
    fresh.start()
    whole = back_up(fresh, bak, "whole")
    assert whole.returncode == 0

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = fresh.tool(
        *["backup", "-d", bak, "-I", "cut", "--offline"], check=False, preexec_fn=small_files, restore_signals=False
    )
    assert done.returncode == 1
    assert "there is no room left" in done.stderr
    assert [one["backupID"] for one in listed(fresh, bak)] == ["whole"]
    assert [path.name for path in (bak / "userRoot").iterdir()] == ["whole"]
    describe(fresh.connect(), "served on")
    assert fresh.stop() == 0
    done = fresh.tool("restore", "-d", bak, check=False, preexec_fn=small_files, restore_signals=False)
    assert done.returncode == 1
    assert described(fresh) == "served on"


def test_old_backups_go_and_chains_stay(history):
    instance, bak, _ = history
    names = lambda: [one["backupID"] for one in listed(instance, bak)]  # noqa: E731
    assert names() == ["zero", "one", "two", "full"]
    refused = instance.tool("backup", "purge", "-d", bak, check=False)
    assert "say what is kept" in refused.stderr
    instance.tool("backup", "purge", "-d", bak, "--keepFull", "2", "--keepAge", "1d")
    assert names() == ["zero", "one", "two", "full"]
    back_up(instance, bak, "last", "--keepFull", "2")
    assert names() == ["full", "last"]
    restore(instance, bak, "-I", "full")
    assert described(instance) == "state 3"


def test_archiving_goes_on_until_it_is_stopped(fresh, tmp_path):
    """Each second what changed; a kill -9 of it, of the server, and an import in between."""
    bak = tmp_path / "bak"
    bak.mkdir()
    fresh.start()

    def follow():
        command = [binary(), "backup", "-d", str(bak), "--every", "1s", "--instance", str(fresh.dir), "--keepFull", "3"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def archived(count):
        until(lambda: (own := listed(fresh, bak)) and own[-1]["lastChange"] >= count, say=lambda: listed(fresh, bak))

    archiver = follow()
    try:
        until(lambda: listed(fresh, bak))
        moments = []
        for number in range(1, 4):
            describe(fresh.connect(), f"state {number}")
            moments.append((now(), f"state {number}"))
            archived(number)
            if number == 1:
                archiver.kill()
                archiver.wait()
                archiver = follow()
            if number == 2:
                fresh.kill()
                fresh.start()
        # A full backup of its own in between loses no moment.
        describe(fresh.connect(), "state 4")
        moments.append((now(), "state 4"))
        back_up(fresh, bak, "by-hand")
        describe(fresh.connect(), "state 5")
        archived(5)
        assert fresh.stop() == 0
        fresh.import_ldif(DIRECTORY_LDIF)
        until(lambda: [one["kind"] for one in listed(fresh, bak)].count("full") == 3)
        archiver.send_signal(signal.SIGTERM)
        told, _ = archiver.communicate(timeout=60)
        assert archiver.returncode == 0
        assert "imported or restored since" in told
    finally:
        archiver.kill()
    assert {one["kind"] for one in listed(fresh, bak)} == {"full", "archived"}
    for moment, state in moments:
        restore(fresh, bak, "--to-time", moment)
        assert described(fresh) == state


def test_a_disk_that_is_full_for_a_while_loses_nothing(fresh, tmp_path):
    """The archiving says it once, the server serves on, and what was not archived then is archived later."""
    bak = tmp_path / "bak"
    fresh.start()
    back_up(fresh, bak, "first")
    command = [binary(), "backup", "-d", str(bak), "--every", "1s", "--instance", str(fresh.dir)]

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 1 << 30))

    archiver = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=small_files,
        restore_signals=False,
    )
    try:
        describe(fresh.connect(), "while full")
        time.sleep(5)
        describe(fresh.connect(), "still full")
        assert [one["backupID"] for one in listed(fresh, bak)] == ["first"]
        resource.prlimit(archiver.pid, resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
        until(lambda: listed(fresh, bak)[-1]["lastChange"] == 2)
        archiver.send_signal(signal.SIGTERM)
        told, _ = archiver.communicate(timeout=60)
    finally:
        archiver.kill()
    assert told.count("there is no room left; it is tried again") == 1, told
    assert told.count("is backed up again") == 1, told
    assert fresh.stop() == 0
    restore(fresh, bak, "--to-change", "1")
    assert described(fresh) == "while full"


def test_opendj_command_lines(fresh, tmp_path):
    """The options of OpenDJ's backup and restore, and the folder of one backend."""
    bak = tmp_path / "bak"
    fresh.tool("backup", "--backUpAll", "--backupDirectory", bak, "--compress", "--hash", "--offline")
    [one] = listed(fresh, bak)
    assert (one["backend"], one["kind"], len(one["backupID"])) == ("userRoot", "full", len("20261123190835Z"))
    shown = restore(fresh, bak / "userRoot", "--listBackups").stdout
    assert one["backupID"] in shown
    fresh.tool("restore", "--backupDirectory", bak / "userRoot", "--backupID", one["backupID"], "--dry-run")
    fresh.tool("restore", "--backupDirectory", bak / "userRoot", "--backupID", one["backupID"], "--offline")
    assert DIRECTORY_LDIF.exists()


def test_random_moments_come_back(fresh, tmp_path):
    count = int(os.environ.get("PANDO_RESTORE_ROUNDS", "3"))
    assert restore_rounds.rounds(fresh.start(), tmp_path / "bak", count, seed=11).compared == count
