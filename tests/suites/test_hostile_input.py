"""Bytes that no client should send: the right result or a notice of disconnection, the connection closed, the server
unharmed."""

import random
import socket
import struct
from pathlib import Path

import ldap
import pytest
from pando_server import BASE, PATIENCE_SECONDS, ROOT_DN, ROOT_PW

PROTOCOL_ERROR = 2
ADMIN_LIMIT_EXCEEDED = 11


def tlv(tag, content):
    n = len(content)
    length = (
        bytes([n])
        if n < 0x80
        else bytes([0x82]) + struct.pack(">H", n)
        if n < 0x10000
        else bytes([0x84]) + struct.pack(">I", n)
    )
    return bytes([tag]) + length + content


def integer(value, tag=2):
    return tlv(tag, value.to_bytes(max(1, (value.bit_length() + 8) // 8), "big", signed=True))


def message(op, message_id=1, controls=b""):
    return tlv(0x30, integer(message_id) + op + controls)


def bind(dn=ROOT_DN, pw=ROOT_PW, version=3):
    return tlv(0x60, integer(version) + tlv(4, dn.encode()) + tlv(0x80, pw.encode()))


def search(filter_bytes, base=BASE, scope=2, size=0, time=0, attrs=()):
    head = tlv(4, base.encode()) + integer(scope, 10) + integer(0, 10) + integer(size) + integer(time) + tlv(1, b"\0")
    return tlv(0x63, head + filter_bytes + tlv(0x30, b"".join(tlv(4, a.encode()) for a in attrs)))


PRESENT = tlv(0x87, b"objectClass")


class Raw:
    """A socket that reads whole messages."""

    def __init__(self, server, bound=True, buffer_bytes=None):
        self.socket = socket.socket()
        self.socket.settimeout(PATIENCE_SECONDS)
        if buffer_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        self.socket.connect(("127.0.0.1", server.port))
        if bound:
            assert self.ask(message(bind()))[1] == 0

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        """(operation tag, result code or None, whole message), or None when the server has closed."""
        head = self.exactly(2)
        if head is None:
            return None
        length, more = head[1], b""
        if length & 0x80:
            more = self.exactly(length & 0x7F)
            length = int.from_bytes(more, "big")
        body = self.exactly(length)
        at = 2 + body[1]
        tag = body[at]
        content = body[at + 2 + (body[at + 1] & 0x7F if body[at + 1] & 0x80 else 0) :]
        return tag, content[2] if content[:2] == b"\x0a\x01" else None, body

    def exactly(self, count):
        got = bytearray()
        while len(got) < count:
            try:
                more = self.socket.recv(count - len(got))
            except ConnectionResetError:
                more = b""
            if not more:
                return None
            got += more
        return bytes(got)

    def ask(self, data):
        self.send(data)
        return self.receive()

    def is_closed(self):
        while True:
            answer = self.receive()
            if answer is None:
                return True


def lives(server):
    con = server.connect()
    return len(con.search_s(f"ou=People,{BASE}", ldap.SCOPE_SUBTREE, "(uid=user.1)")) == 1


NOTICE = b"1.3.6.1.4.1.1466.20036"


MALFORMED = {
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
    "a TLS hello on the plain port": bytes.fromhex("16030100a5010000a10303") + bytes(160),
    "an indefinite length": b"\x30\x80\x02\x01\x01\x42\x00\x00\x00",
    "five length octets": b"\x30\x85\x00\x00\x00\x00\x05\x02\x01\x01\x42\x00",
    "four gigabytes announced": b"\x30\x84\xff\xff\xff\xff",
    "over the request limit": b"\x30\x84\x00\x60\x00\x00",
    "a message without an operation": tlv(0x30, integer(1)),
    "message id zero": tlv(0x30, integer(0) + tlv(0x42, b"")),
    "a negative message id": tlv(0x30, integer(-5) + tlv(0x63, b"")),
    "a message id of nine bytes": tlv(0x30, b"\x02\x09" + bytes(8) + b"\x01" + tlv(0x42, b"")),
    "a response as a request": message(tlv(0x61, integer(0, 10) + tlv(4, b"") + tlv(4, b""))),
    "an unknown operation": message(tlv(0x7E, b"")),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_ldap_message_ends_the_connection(server, name):
    raw = Raw(server, bound=False)
    raw.send(MALFORMED[name])
    answer = raw.receive()
    if answer is not None:
        tag, code, whole = answer
        assert tag == 0x78 and code == PROTOCOL_ERROR and NOTICE in whole, (name, answer)
        assert raw.is_closed()
    assert lives(server)


def nested(tag, depth):
    inner = PRESENT
    for _ in range(depth):
        inner = tlv(tag, inner)
    return inner


WRONG_SEARCHES = {
    "a search scope of 9": search(PRESENT, scope=9),
    "a negative size limit": search(PRESENT, size=-1),
    "a filter of unknown kind": search(tlv(0xAB, b"")),
    "NOT of nothing": search(tlv(0xA2, b"")),
    "NOT of two": search(tlv(0xA2, PRESENT + PRESENT)),
    "substrings without a piece": search(tlv(0xA4, tlv(4, b"cn") + tlv(0x30, b""))),
    "final before any": search(tlv(0xA4, tlv(4, b"cn") + tlv(0x30, tlv(0x82, b"a") + tlv(0x81, b"b")))),
    "an extensible match of nothing": search(tlv(0xA9, tlv(0x83, b"x"))),
    "an element longer than its message": b"\x63\x7f\x04\x00",
}

# Sound, and larger than the server takes.
LARGE_SEARCHES = {
    "a filter 65 deep": search(nested(0xA2, 65)),
    "a filter 20,000 deep": search(nested(0xA0, 20_000)),
    "a filter of 20,001 parts": search(tlv(0xA1, PRESENT * 20_000)),
}


@pytest.mark.parametrize("name", WRONG_SEARCHES)
def test_a_wrong_search_is_a_protocol_error(server, name):
    raw = Raw(server)
    answer = raw.ask(message(WRONG_SEARCHES[name], 7))
    assert answer[:2] == (0x65, PROTOCOL_ERROR), (name, answer)
    assert lives(server)


@pytest.mark.parametrize("name", LARGE_SEARCHES)
def test_a_filter_that_is_too_large_exceeds_a_limit(server, name):
    raw = Raw(server)
    answer = raw.ask(message(LARGE_SEARCHES[name], 7))
    assert answer[:2] == (0x65, ADMIN_LIMIT_EXCEEDED), (name, answer)
    raw.send(message(search(PRESENT, base="", scope=0), 8))
    assert raw.receive()[0] == 0x64, "the connection lives on"
    assert lives(server)


def test_a_root_user_may_send_20000_parts(server):
    raw = Raw(server)
    raw.send(message(search(tlv(0xA1, PRESENT * 19_999), base=BASE, scope=0, attrs=["1.1"]), 7))
    assert raw.receive()[0] == 0x64
    assert raw.receive()[:2] == (0x65, 0)


def test_a_deep_but_allowed_filter_is_answered(server):
    raw = Raw(server)
    raw.send(message(search(nested(0xA0, 60), base=f"ou=People,{BASE}", attrs=["1.1"]), 7))
    while (answer := raw.receive())[0] != 0x65:
        assert answer[0] == 0x64
    assert answer[1] == 0


def test_ldap_versions_that_do_not_exist_are_refused(server):
    for version in (0, 1, 4, 127):
        raw = Raw(server, bound=False)
        assert raw.ask(message(bind(version=version)))[:2] == (0x61, PROTOCOL_ERROR)


def test_unknown_authentication_methods(server):
    raw = Raw(server, bound=False)
    answer = raw.ask(message(tlv(0x60, integer(3) + tlv(4, b"") + tlv(0xA3, tlv(4, b"NO-SUCH-MECHANISM")))))
    assert answer[:2] == (0x61, 7)
    answer = Raw(server, bound=False).ask(message(tlv(0x60, integer(3) + tlv(4, b"") + tlv(0x81, b"kerberos"))))
    assert answer[:2] == (0x61, 7)


def test_a_message_byte_by_byte(server):
    raw = Raw(server)
    for byte in message(search(PRESENT, scope=0, attrs=["1.1"]), 3):
        raw.send(bytes([byte]))
    assert raw.receive()[0] == 0x64 and raw.receive()[:2] == (0x65, 0)


def test_a_thousand_requests_in_one_write(server):
    raw = Raw(server)
    raw.send(b"".join(message(search(PRESENT, scope=0, attrs=["1.1"]), i) for i in range(1, 1001)))
    for _ in range(1000):
        assert raw.receive()[0] == 0x64 and raw.receive()[:2] == (0x65, 0)


def test_random_damage_never_hurts_the_server(server):
    rng = random.Random(20)
    whole = [
        message(bind()),
        message(search(tlv(0xA3, tlv(4, b"uid") + tlv(4, b"user.1")))),
        message(search(tlv(0xA4, tlv(4, b"cn") + tlv(0x30, tlv(0x80, b"A")))), 9),
        message(tlv(0x66, tlv(4, b"x") + tlv(0x30, b""))),
        message(tlv(0x4A, b"uid=x")),
        message(tlv(0x77, tlv(0x80, b"1.3.6.1.4.1.4203.1.11.1") + tlv(0x81, b"\x30\x00"))),
    ]
    for _ in range(300):
        data = bytearray(rng.choice(whole))
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with socket.create_connection(("127.0.0.1", server.port), 10) as s:
            s.sendall(bytes(data))
            s.shutdown(socket.SHUT_WR)
            s.settimeout(20)
            try:
                while s.recv(65536):
                    pass
            except ConnectionResetError:
                pass
    assert lives(server)


def test_a_client_that_does_not_read_is_bounded(server):
    """It asks for the directory ten thousand times and reads nothing; others are served, the memory stays."""
    raw = Raw(server, buffer_bytes=4096)
    raw.socket.settimeout(2)
    asked = message(search(PRESENT), 5)
    try:
        for _ in range(10_000):
            raw.socket.sendall(asked)
    except (TimeoutError, ConnectionError):
        pass
    assert lives(server)
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    rss_kib = int(status.split("RssAnon:")[1].split()[0])
    assert rss_kib < 200 * 1024, f"{rss_kib} KiB"
    raw.socket.close()
    assert lives(server)


def test_operations_before_and_during_a_bind(server):
    """Requests that follow a bind in the same write see its outcome."""
    raw = Raw(server, bound=False)
    whoami = tlv(0x77, tlv(0x80, b"1.3.6.1.4.1.4203.1.11.3"))
    raw.send(message(bind(), 1) + message(whoami, 2) + message(bind(pw="wrong"), 3) + message(whoami, 4))
    answers = [raw.receive() for _ in range(4)]
    assert [a[1] for a in answers] == [0, 0, 49, 0]
    assert f"dn:{ROOT_DN}".encode() in answers[1][2] and b"dn:" not in answers[3][2]
