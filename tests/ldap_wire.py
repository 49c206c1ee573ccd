"""A small LDAP client over a socket that shows answers octet by octet: result code, text, and every control as sent.

Knows messages; knows nothing of schemas, names or policies. For what clients' libraries hide: controls of refusals,
notices of disconnection, the order of answers.
"""

import socket
from dataclasses import dataclass, field
from itertools import count

ANSWER_SECONDS_MAX = 60
BIND, UNBIND, SEARCH, MODIFY, ADD, DELETE, COMPARE, EXTENDED = 0x60, 0x42, 0x63, 0x66, 0x68, 0x4A, 0x6E, 0x77
SEARCH_ENTRY, SEARCH_REFERENCE = 0x64, 0x73


def tlv(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    octets = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(octets)]) + octets + content


def integer(value: int, tag: int = 0x02) -> bytes:
    return tlv(tag, value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, signed=True))


def octets(value: bytes | str, tag: int = 0x04) -> bytes:
    return tlv(tag, value.encode() if isinstance(value, str) else value)


def sequence(*parts: bytes) -> bytes:
    return tlv(0x30, *parts)


def elements(content: bytes):
    """The tag and content of each element in turn."""
    at = 0
    while at < len(content):
        tag, size, at = content[at], content[at + 1], at + 2
        if size & 0x80:
            octets_of_size = size & 0x7F
            size, at = int.from_bytes(content[at : at + octets_of_size]), at + octets_of_size
        yield tag, content[at : at + size]
        at += size


def control(oid: str, value: bytes | None = None, critical: bool = False) -> bytes:
    flag = tlv(0x01, b"\xff") if critical else b""
    return sequence(octets(oid), flag, b"" if value is None else octets(value))


@dataclass
class Entry:
    name: str
    attributes: dict[str, list[bytes]]
    controls: dict[str, bytes | None]


@dataclass
class Answer:
    code: int
    matched: str
    text: str
    controls: dict[str, bytes | None]
    entries: list[Entry] = field(default_factory=list)
    name: str | None = None
    value: bytes | None = None


class Ended(Exception):
    """The server ended the connection; holds the text of its notice, if it gave one."""


class Wire:
    def __init__(self, port: int, over=lambda plain: plain):
        """`over` makes TLS, say, of the connected socket."""
        plain = socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS_MAX)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = over(plain)
        self.ids = count(1)
        self.buffer = b""

    def close(self) -> None:
        self.socket.close()

    def ask(self, operation: bytes, *controls: bytes) -> Answer:
        number = next(self.ids)
        try:
            self.socket.sendall(message(number, operation, *controls))
        except OSError as error:
            raise Ended(str(error)) from error
        return self.answer(number)

    def answer(self, number: int) -> Answer:
        entries = []
        while True:
            tag, content, controls, of = self.next_message()
            if of == 0:
                raise Ended(result(content, controls).text)
            if of != number:
                continue
            if tag == SEARCH_ENTRY:
                entries.append(entry(content, controls))
            elif tag != SEARCH_REFERENCE:
                answer = result(content, controls)
                answer.entries = entries
                return answer

    def next_message(self) -> tuple[int, bytes, dict, int]:
        while (size := message_size(self.buffer)) is None or len(self.buffer) < size:
            try:
                more = self.socket.recv(65536)
            except ConnectionError as error:
                raise Ended(str(error)) from error
            if not more:
                raise Ended("")
            self.buffer += more
        whole, self.buffer = self.buffer[:size], self.buffer[size:]
        ((_, content),) = elements(whole)
        parts = list(elements(content))
        return (
            parts[1][0],
            parts[1][1],
            decoded_controls(parts[2][1] if len(parts) > 2 else b""),
            int.from_bytes(parts[0][1]),
        )

    def bind(self, name: str, password: str | bytes, *controls: bytes) -> Answer:
        return self.ask(bind_request(name, password), *controls)

    def sasl(self, mechanism: str, credentials: bytes | None = None, *controls: bytes) -> Answer:
        """The value of the answer is what the server sends for the mechanism."""
        chosen = tlv(0xA3, octets(mechanism), b"" if credentials is None else octets(credentials))
        return self.ask(tlv(BIND, integer(3), octets(""), chosen), *controls)

    def search(self, base: str, *controls: bytes, attributes=(), scope: int = 0) -> Answer:
        present = octets("objectClass", 0x87)
        limits = integer(0) + integer(0) + tlv(0x01, b"\x00")
        chosen = sequence(*map(octets, attributes))
        request = tlv(SEARCH, octets(base), integer(scope, 0x0A), integer(0, 0x0A), limits, present, chosen)
        return self.ask(request, *controls)

    def modify(self, name: str, changes: list[tuple[int, str, list]], *controls: bytes) -> Answer:
        """Each change is 0 add, 1 delete or 2 replace, an attribute and its values."""
        listed = [
            sequence(integer(kind, 0x0A), sequence(octets(attribute), tlv(0x31, *map(octets, values))))
            for kind, attribute, values in changes
        ]
        return self.ask(tlv(MODIFY, octets(name), sequence(*listed)), *controls)

    def add(self, name: str, attributes: dict[str, list], *controls: bytes) -> Answer:
        listed = [sequence(octets(kind), tlv(0x31, *map(octets, values))) for kind, values in attributes.items()]
        return self.ask(tlv(ADD, octets(name), sequence(*listed)), *controls)

    def delete(self, name: str, *controls: bytes) -> Answer:
        return self.ask(octets(name, DELETE), *controls)

    def compare(self, name: str, attribute: str, value: str, *controls: bytes) -> Answer:
        return self.ask(tlv(COMPARE, octets(name), sequence(octets(attribute), octets(value))), *controls)

    def extended(self, oid: str, value: bytes | None, *controls: bytes) -> Answer:
        return self.ask(tlv(EXTENDED, octets(oid, 0x80), b"" if value is None else octets(value, 0x81)), *controls)


def message(number: int, operation: bytes, *controls: bytes) -> bytes:
    return sequence(integer(number), operation, tlv(0xA0, *controls) if controls else b"")


def bind_request(name: str, password: str | bytes) -> bytes:
    return tlv(BIND, integer(3), octets(name), octets(password, 0x80))


def message_size(buffer: bytes) -> int | None:
    """How many octets the message at the beginning has; none while its length is not there yet."""
    if len(buffer) < 2:
        return None
    if not buffer[1] & 0x80:
        return 2 + buffer[1]
    of_size = buffer[1] & 0x7F
    return 2 + of_size + int.from_bytes(buffer[2 : 2 + of_size]) if len(buffer) >= 2 + of_size else None


def decoded_controls(content: bytes) -> dict[str, bytes | None]:
    found = {}
    for _, one in elements(content):
        parts = list(elements(one))
        found[parts[0][1].decode()] = next((value for tag, value in parts[1:] if tag == 0x04), None)
    return found


def result(content: bytes, controls: dict) -> Answer:
    parts = list(elements(content))
    answer = Answer(int.from_bytes(parts[0][1]), parts[1][1].decode(), parts[2][1].decode(), controls)
    for tag, value in parts[3:]:
        if tag == 0x8A:
            answer.name = value.decode()
        elif tag in (0x8B, 0x87):
            answer.value = value
    return answer


def entry(content: bytes, controls: dict) -> Entry:
    (_, name), (_, attributes) = elements(content)
    found = {}
    for _, attribute in elements(attributes):
        (_, kind), (_, values) = elements(attribute)
        found[kind.decode()] = [value for _, value in elements(values)]
    return Entry(name.decode(), found, controls)
