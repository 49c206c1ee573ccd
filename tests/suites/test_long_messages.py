"""Entries of many MiB for a client that reads slowly: what it does not take is put aside, and where that cannot be, the
connection ends within the message, with nothing else behind the part of it that was sent."""

import contextlib
import os
import subprocess
from pathlib import Path

import ldap
import pytest
from pando_server import BASE, until
from test_hostile_input import PRESENT, Raw, lives, message, search, tlv

DN = f"uid=user.1,ou=People,{BASE}"
# More than the buffers of both ends of a connection hold.
PHOTOS, PHOTO_BYTES = 24, 1 << 20
LARGE = message(search(PRESENT, DN, scope=0, attrs=["jpegPhoto"]), 5)
OTHERS = message(tlv(0x77, tlv(0x80, b"1.3.6.1.4.1.4203.1.11.3")), 6) + message(
    search(PRESENT, DN, scope=0, attrs=["uid"]), 7
)


@pytest.fixture
def large(fresh, tmp_path):
    """A server with a large entry, and the message that shows it."""
    con = fresh.start(TMPDIR=str(tmp_path)).connect()
    for number in range(PHOTOS):
        con.modify_s(DN, [(ldap.MOD_ADD, "jpegPhoto", [bytes([number]) * PHOTO_BYTES])])
    tag, _, body = Raw(fresh).ask(LARGE)
    assert tag == 0x64 and len(body) > PHOTOS * PHOTO_BYTES
    return fresh, tlv(0x30, body)


def slow(server):
    """A client that asks for the large entry and for other things, and reads nothing yet."""
    client = Raw(server, buffer_bytes=4096)
    client.send(LARGE + OTHERS)
    return client


def others(received):
    """The ids of the whole messages, and the rest."""
    ids = []
    while len(received) > 2:
        head = 2 + (received[1] & 0x7F if received[1] & 0x80 else 0)
        end = head + (int.from_bytes(received[2:head], "big") if head > 2 else received[1])
        if len(received) < end:
            break
        ids.append(received[head + 2])
        received = received[end:]
    return ids, received


def open_files(server):
    """What the server has open, by their names."""
    for link in Path(f"/proc/{server.process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(link)


def test_what_a_slow_client_does_not_take_is_put_aside(large, tmp_path):
    server, whole = large
    client = slow(server)
    until(
        lambda: any(name.startswith(f"{tmp_path}/#") for name in open_files(server)),
        say=lambda: list(open_files(server)),
    )
    answers = [client.receive()[2] for _ in range(5)]
    assert sorted(answer[2] for answer in answers) == [5, 5, 6, 7, 7]
    assert whole in (tlv(0x30, answer) for answer in answers)


@pytest.fixture
def nowhere(tmp_path):
    """A folder for temporary files that does not exist."""
    return tmp_path / "nowhere"


@pytest.fixture
def small(tmp_path):
    """A folder for temporary files that has room for a part of the message."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", folder], capture_output=True).returncode != 0:
        pytest.skip("mounts are not allowed here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("folder", ["nowhere", "small"])
def test_a_message_that_cannot_be_completed_ends_the_connection(large, folder, request):
    server, whole = large
    assert server.stop() == 0
    server.start(TMPDIR=str(request.getfixturevalue(folder)))
    client = slow(server)
    until(lambda: 'msg="an answer could not be completed' in server.access_log())
    received = bytearray()
    while more := client.socket.recv(1 << 16):
        received += more
    ids, part = others(bytes(received))
    # Nothing of the others is behind it.
    assert set(ids) <= {6, 7} and 8 < len(part) < len(whole) and whole.startswith(part)
    assert lives(server)
    assert server.stop() == 0
