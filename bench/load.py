"""A small load generator for the scenarios beside it: requests encoded by hand, one process a connection, latencies by
window.

An operation's latency counts from the moment it was due, so that a stall is charged to every operation that it delays.
Beside a server's figures stand those of an echo server that only answers, loaded in the same seconds: what of a tail is
the machine's. Knows LDAP messages; knows nothing of what a scenario asks."""

import math
import multiprocessing
import os
import queue
import random
import select
import signal
import socket
import subprocess
import sys
import time

SEARCH, MODIFY, ADD, DELETE, BIND, UNBIND = 0x63, 0x66, 0x68, 0x4A, 0x60, 0x42
ENTRY, REFERENCE = 0x64, 0x73
# The first; see `numbered`.
MESSAGE_ID = 0x01000000


def tlv(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    n = len(body)
    if n < 0x80:
        return bytes((tag, n)) + body
    size = (n.bit_length() + 7) // 8
    return bytes((tag, 0x80 | size)) + n.to_bytes(size, "big") + body


def message(operation: bytes) -> bytes:
    return tlv(0x30, b"\x02\x04" + MESSAGE_ID.to_bytes(4, "big"), operation)


def numbered(request: bytes, number: int) -> bytes:
    """The same under a message id of its own, for requests that are outstanding together."""
    at = 4 + (request[1] & 0x7F if request[1] & 0x80 else 0)
    return request[:at] + (MESSAGE_ID + number % MESSAGE_ID).to_bytes(4, "big") + request[at + 4 :]


def octets(value) -> bytes:
    return tlv(0x04, value if isinstance(value, bytes) else value.encode())


def equal(attribute: str, value: str) -> bytes:
    return tlv(0xA3, octets(attribute), octets(value))


def both(*filters: bytes) -> bytes:
    return tlv(0xA0, *filters)


def either(*filters: bytes) -> bytes:
    return tlv(0xA1, *filters)


ANY = tlv(0x87, b"objectClass")


def search(base: str, scope: int, wanted: bytes, attributes=("1.1",)) -> bytes:
    return message(
        tlv(
            SEARCH,
            octets(base),
            bytes((0x0A, 1, scope, 0x0A, 1, 0)),
            b"\x02\x01\x00\x02\x01\x00\x01\x01\x00",
            wanted,
            tlv(0x30, *map(octets, attributes)),
        )
    )


def modify(dn: str, *changes) -> bytes:
    """Each change: 0 add, 1 delete or 2 replace, attribute, values."""
    encoded = [
        tlv(0x30, bytes((0x0A, 1, how)), tlv(0x30, octets(name), tlv(0x31, *map(octets, values))))
        for how, name, *values in changes
    ]
    return message(tlv(MODIFY, octets(dn), tlv(0x30, *encoded)))


def add(dn: str, attributes: dict) -> bytes:
    listed = [tlv(0x30, octets(name), tlv(0x31, *map(octets, values))) for name, values in attributes.items()]
    return message(tlv(ADD, octets(dn), tlv(0x30, *listed)))


def delete(dn: str) -> bytes:
    return message(tlv(DELETE, dn.encode()))


class Link:
    """A connection. `code` 80 stands for one that the server closed."""

    def __init__(self, port: int, dn: str = "", password: str = ""):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.entries: list[bytes] = []
        if dn:
            code = self.call(message(tlv(BIND, b"\x02\x01\x03", octets(dn), tlv(0x80, password.encode()))))
            if code != 0:
                raise SystemExit(f"the bind of {dn} is refused with {code}")

    def send(self, request: bytes) -> None:
        self.socket.sendall(request)

    def call(self, request: bytes) -> int:
        """Result code of one request; what a search found is in `entries`, each as its message."""
        self.entries = []
        self.socket.sendall(request)
        return self.answer()

    def answer(self) -> int:
        while True:
            part = self.frame()
            while part is None:
                got = self.socket.recv(1 << 18)
                if not got:
                    return 80
                self.buffer += got
                part = self.frame()
            # LDAPMessage: the header of the sequence, the id, the operation.
            at = 2 + (part[1] & 0x7F if part[1] & 0x80 else 0)
            at += 2 + part[at + 1]
            if part[at] in (ENTRY, REFERENCE):
                self.entries.append(part)
                continue
            at += 2 + (part[at + 1] & 0x7F if part[at + 1] & 0x80 else 0)
            return part[at + 2]

    def has_answer(self) -> bool:
        return bool(self.buffer) or bool(select.select([self.socket], [], [], 0)[0])

    def frame(self):
        buffer = self.buffer
        if len(buffer) < 2:
            return None
        head, length = 2, buffer[1]
        if length & 0x80:
            head += length & 0x7F
            if len(buffer) < head:
                return None
            length = int.from_bytes(buffer[2:head], "big")
        if len(buffer) < head + length:
            return None
        part = bytes(buffer[: head + length])
        del buffer[: head + length]
        return part


class Worker(multiprocessing.Process):
    """Asks for what `requests(random)` gives, one at a time, `rate` a second, until `stop`; then puts what it measured.

    `requests` gives (request, check): the check is called with (code, entries) and says what is wrong, or None.
    """

    def __init__(
        self, name: str, port: int, bind: tuple, requests, rate: float, start: float, stop, results, seed: int
    ):
        super().__init__(daemon=True)
        self.goes_first = False
        self.label, self.port, self.bind, self.requests, self.rate = name, port, bind, requests, rate
        self.begin, self.stop, self.results, self.seed = start, stop, results, seed

    def run(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if self.goes_first:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        link, rng = Link(self.port, *self.bind), random.Random(self.seed)
        samples, wrong = [], []
        try:
            # Not all at the same moment.
            due = time.monotonic() + rng.random() / self.rate
            while not self.stop.is_set():
                pause = due - time.monotonic()
                if pause > 0:
                    time.sleep(pause)
                request, check = self.requests(rng)
                code = link.call(request)
                now = time.monotonic()
                samples.append((now - self.begin, now - due))
                complaint = check(code, link.entries)
                if complaint:
                    wrong.append(complaint)
                    if code == 80:
                        break
                due += 1 / self.rate
        finally:
            self.results.put((self.label, samples, wrong[:5], len(wrong)))


def results_of(workers: list, results):
    """What each of the processes puts into the queue."""
    for _ in workers:
        while True:
            try:
                yield results.get(timeout=30)
                break
            except queue.Empty:
                if not any(worker.is_alive() for worker in workers):
                    raise SystemExit("a load process ended without a word") from None


class Crew:
    """Workers that run together, and what they measured."""

    def __init__(self, start: float):
        self.start, self.stop = start, multiprocessing.Event()
        self.results = multiprocessing.Queue()
        self.workers: list[Worker] = []
        self.samples: dict[str, list] = {}
        self.wrong: list[str] = []
        self.wrong_count = 0

    def hire(
        self, name: str, count: int, port: int, bind: tuple, requests, rate: float, goes_first: bool = False
    ) -> None:
        """Workers that go first wait for no other process: what they measure is the server, also where it shares the
        processors with others. Root may start these."""
        for _ in range(count):
            worker = Worker(name, port, bind, requests, rate, self.start, self.stop, self.results, len(self.workers))
            worker.goes_first = goes_first
            self.workers.append(worker)
            worker.start()

    def finish(self) -> None:
        self.stop.set()
        for name, samples, wrong, count in results_of(self.workers, self.results):
            self.samples.setdefault(name, []).extend(samples)
            self.wrong += [f"{name}: {it}" for it in wrong]
            self.wrong_count += count
        for worker in self.workers:
            worker.join()


def expect(code: int):
    """A check that only wants this result."""
    return lambda got, _entries: None if got == code else f"result {got}"


def at(ordered: list, part: float) -> float:
    return ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)] if ordered else float("nan")


def figures(seconds: list) -> dict:
    """Milliseconds."""
    ordered = sorted(seconds)
    return {
        name: 1000 * at(ordered, part) for name, part in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0))
    }


def told(seconds: list) -> str:
    return f"{len(seconds):8} " + " ".join(f"{name} {value:7.2f}" for name, value in figures(seconds).items())


def table(samples: dict, names: list, window: float) -> str:
    """Latencies in ms of each name, one line a window of so many seconds."""
    lines = ["     s   " + "".join(f"{name:^42}" for name in names)]
    windows = sorted({int(moment // window) for name in names for moment, _ in samples.get(name, [])})
    for number in windows:
        row = f"{number * window:6.0f} "
        for name in names:
            row += "  " + told(
                [took for moment, took in samples.get(name, []) if int(moment // window) == number]
            ).ljust(40)
        lines.append(row)
    lines.append(
        "  all  " + "".join("  " + told([took for _, took in samples.get(name, [])]).ljust(40) for name in names)
    )
    return "\n".join(lines)


class Echo:
    """The shared generator's stand-in server: `ldapload echo`. Without a path to it there is none, and no figures
    beside ours."""

    def __init__(self, ldapload: str | None):
        self.process, self.port = None, None
        if not ldapload:
            return
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen([ldapload, "echo", "--port", str(self.port)])
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.02)
        raise SystemExit(f"{ldapload} echo does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait()


def progress(sentence: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {sentence}", file=sys.stderr, flush=True)


def add_options(parser) -> None:
    """What the scenarios have in common."""
    parser.add_argument("--report", action="store_true", help="print figures")
    parser.add_argument("--ldapload", help="the shared load generator, for its echo server")
    parser.add_argument("--folder", help="where data and instance are made, and stay; it must be empty")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--window", type=float, default=10, help="seconds of a line of the report")
    parser.add_argument("--rate", type=float, default=400, help="searches a second, all connections together")
