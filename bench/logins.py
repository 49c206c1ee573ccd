#!/usr/bin/env python3
"""What logins cost: password policies, schemes, and attacks.

  logins.py policy     [--entries 100000]   SSHA binds under a full policy beside binds under one that asks for nothing
  logins.py schemes                         a bind by each scheme of stored passwords, beside SSHA; repeated, and first
  logins.py saturated                       searches while more slow binds are asked for than the machine can do
  logins.py storm      [--rate 10000]       searches while wrong passwords are tried on 1,000 names
  logins.py locked     [--entries 1000000]  what the state of so many locked accounts takes

Makes instances in a temporary folder (--folder keeps them) and starts the server under test ($PANDO, else
target/release/pando). All but `storm` and `locked` need --ldapload PATH (the shared generator). What is compared is
loaded in turn, and the ratio is that of the pairs.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import selectors
import socket
import statistics
import subprocess
import time
from pathlib import Path

import load
from instances import ROOT, anonymous_mib, check, cpu_seconds, entry, generate, instance, monitor, setup
from load import Crew, Link, equal, expect, octets, progress, search, told

BASE = "dc=example,dc=com"
PASSWORD = "password"
POLICY = '[password-policy."Default Password Policy"]'
IMPORTS = '[plugin."Password Policy Import"]\n'
FULL = """\
lockout-failure-count = 5
lockout-duration = "15 m"
lockout-failure-expiration-interval = "15 m"
max-password-age = "90 d"
password-history-count = 5
idle-lockout-interval = "180 d"
last-login-time-attribute = "ds-pwp-last-login-time"
last-login-time-format = "yyyyMMdd"
"""
# Locks come and go while the storm lasts.
STORMY = """\
lockout-failure-count = 10
lockout-duration = "2 s"
lockout-failure-expiration-interval = "2 s"
"""
SCHEMES = ("Salted SHA-1", "Salted SHA-256", "Salted SHA-512", "PBKDF2-HMAC-SHA256", "Bcrypt", "Argon2")
# So many people have passwords by a slow scheme: storing one takes 40 ms.
SLOW_PEOPLE = 400
FAILURES_IN_A_ROW = 5
# How nice those are who would be on other machines: what they compute is to delay nobody.
ELSEWHERE = 19


def person(n: int, *more: str) -> str:
    lines = ("objectClass: inetOrgPerson", f"uid: user.{n}", f"cn: user {n}", "sn: Sample")
    return entry(f"uid=user.{n},ou=People,{BASE}", *lines, f"userPassword: {PASSWORD}", *more)


def write(place: Path, count: int) -> Path:
    with open(place / "people.ldif", "w") as out:
        out.write(entry(BASE, "objectClass: domain", "dc: example"))
        out.write(entry(f"ou=People,{BASE}", "objectClass: organizationalUnit", "ou: People"))
        for n in range(count):
            out.write(person(n))
    return place / "people.ldif"


def configure(server, lines: str) -> None:
    """Lines for the default password policy, in place of those of the same name; imports hash as it says, too."""
    text = server.config.read_text().replace(IMPORTS, IMPORTS + "enabled = false\n")
    check(POLICY in text, f"the configuration has no {POLICY}")
    before, after = text.split(POLICY, 1)
    own, *others = after.split("\n[", 1)
    given = {line.split(" = ")[0] for line in lines.splitlines()}
    kept = [line for line in own.splitlines() if line.split(" = ")[0] not in given]
    rest = f"\n[{others[0]}" if others else ""
    server.config.write_text(before + POLICY + "\n".join(kept) + "\n" + lines + rest)


@contextlib.contextmanager
def prepared(options, name: str, lines: str, count: int):
    """A running server with so many people under that policy."""
    folder = options.folder and f"{options.folder}-{name}"
    with instance(folder) as (server, place):
        place.mkdir(exist_ok=True)
        setup(server, BASE)
        configure(server, lines)
        server.import_ldif(write(place, count))
        server.start()
        progress(f"{name}: {count} people")
        yield server
        check(server.stop() == 0, "the server did not end well")


def binds(options, server, count: int) -> dict:
    words = ("auth", "-C", 8, "--range", count, "--warmup", 0.5, "--duration", options.seconds)
    return generate(options.ldapload, server, *words)


def pairs_of(options, mine, others) -> tuple[list, list]:
    """What the two measured, in turn; the first pair warms up."""
    pairs = [(others(), mine()) for _ in range(options.rounds + 1)][1:]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def shown(ratios: list) -> str:
    ordered = sorted(ratios)
    return f"{statistics.median(ordered):.2f} ({ordered[0]:.2f}..{ordered[-1]:.2f})"


def cost(figures: list) -> float:
    return statistics.median(one["server_cpu_us_per_op"] for one in figures)


def rate(figures: list) -> float:
    return statistics.median(one["ops_per_s"] for one in figures)


def ratio(mine: list, others: list, key: str) -> str:
    return shown([a[key] / b[key] for a, b in zip(mine, others, strict=True)])


def policy(options) -> None:
    schemes = 'default-password-storage-scheme = ["Salted SHA-1"]\n'
    with (
        prepared(options, "none", schemes, options.entries) as bare,
        prepared(options, "full", schemes + FULL, options.entries) as full,
    ):
        others, mine = pairs_of(
            options, lambda: binds(options, full, options.entries), lambda: binds(options, bare, options.entries)
        )
        writes = monitor(Link(full.port, *ROOT), "Account States")
    print(
        f"SSHA binds: {cost(others):.1f} µs of CPU without a policy, {cost(mine):.1f} with all of it: "
        f"{ratio(mine, others, 'server_cpu_us_per_op')}; a second {rate(others):,.0f} and {rate(mine):,.0f}: "
        f"{ratio(mine, others, 'ops_per_s')}; {writes['accounts-changed']} states in {writes['batches']} records"
    )


def first_binds(options, server) -> float:
    """Microseconds of CPU of the first bind of everybody, who binds once."""
    before = cpu_seconds(server)
    for n in range(options.people):
        Link(server.port, f"uid=user.{n},ou=People,{BASE}", PASSWORD)
    return 1e6 * (cpu_seconds(server) - before) / options.people


def schemes(options) -> None:
    print("| scheme | first bind, CPU µs | repeated, CPU µs | ratio to SSHA | binds/s, repeated | ratio to SSHA |")
    print("|---|---:|---:|---:|---:|---:|")
    with contextlib.ExitStack() as stack:
        servers = {}
        for scheme in SCHEMES:
            lines = f'default-password-storage-scheme = ["{scheme}"]\n'
            name = scheme.replace(" ", "-")
            servers[scheme] = stack.enter_context(prepared(options, name, lines, options.people))
        plain = servers[SCHEMES[0]]
        for scheme, server in servers.items():
            first = first_binds(options, server)
            others, mine = pairs_of(
                options,
                lambda server=server: binds(options, server, options.people),
                lambda: binds(options, plain, options.people),
            )
            print(
                f"| {scheme} | {first:,.0f} | {cost(mine):.1f} "
                f"| {ratio(mine, others, 'server_cpu_us_per_op')} | {rate(mine):,.0f} "
                f"| {ratio(mine, others, 'ops_per_s')} |",
                flush=True,
            )


@contextlib.contextmanager
def other_programs():
    """As many programs that only compute as there are processors, as nice as the threads that check passwords."""
    endless = ["nice", "-n", "5", "sh", "-c", "while :; do :; done"]
    running = [subprocess.Popen(endless) for _ in range(os.cpu_count())]
    yield
    for program in running:
        program.kill()
        program.wait()


def tell_searches(options, server, during) -> None:
    """Prints latencies of searches alone, beside other programs, and while what `during` starts goes on.

    On virtual machines whoever uses the processors delays everything there: the ratio to searches beside other programs
    tells what is the server's part.
    """
    found = {"alone": [], "beside other programs": [], "meanwhile": []}
    beside = (contextlib.nullcontext, other_programs, during)
    for _ in range(options.rounds):
        for samples, what in zip(found.values(), beside, strict=True):
            with what():
                time.sleep(1)
                crew = Crew(time.monotonic())
                asks = lambda rng: (  # noqa: E731
                    search(BASE, 2, equal("uid", f"user.{rng.randrange(options.people)}")),
                    expect(0),
                )
                crew.hire("search", 2, server.port, ROOT, asks, options.searches / 2, goes_first=True)
                time.sleep(options.seconds)
                crew.finish()
            check(not crew.wrong_count, f"{crew.wrong}")
            samples.append([took for _, took in crew.samples["search"]])
    for name, samples in found.items():
        print(f"searches {name:22} ms: {told([took for one in samples for took in one])}")
    last = [load.figures(one) for one in found["meanwhile"]]
    for name in ("alone", "beside other programs"):
        pairs = list(zip(last, map(load.figures, found[name]), strict=True))
        ratios = (f"{key} {shown([a[key] / b[key] for a, b in pairs])}" for key in ("p50", "p99", "p99.9"))
        print(f"meanwhile to {name}: {', '.join(ratios)}")


def saturated(options) -> None:
    lines = 'default-password-storage-scheme = ["Argon2"]\nremember-verified-binds = false\n'
    with prepared(options, "saturated", lines, options.people) as server:
        command = ["nice", "-n", ELSEWHERE, options.ldapload, "run", "auth", "-C", 64]
        command += ["--range", options.people, "--port", server.port]
        command += ["--duration", options.seconds + 4, "--server-pid", server.process.pid]

        @contextlib.contextmanager
        def slow_binds():
            generator = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
            yield
            figures = json.loads(generator.communicate()[0].splitlines()[0])
            print(f"slow binds: {figures['ops_per_s']:.0f} a second, {figures['errors']} refused as busy")

        tell_searches(options, server, slow_binds)


class Attacker(multiprocessing.Process):
    """Tries wrong passwords over many connections, as many on each as the server takes without holding back."""

    CONNECTIONS = 200

    def __init__(self, port: int, names: int, a_second: float, stop):
        super().__init__(daemon=True)
        self.port, self.names, self.a_second, self.stop = port, names, a_second, stop
        self.tried = multiprocessing.Value("q", 0)

    def run(self) -> None:
        os.nice(ELSEWHERE)
        ready, begun, sent, number = selectors.DefaultSelector(), time.monotonic(), 0, os.getpid()
        while not self.stop.is_set():
            due = (time.monotonic() - begun) * self.a_second
            while sent < due and len(ready.get_map()) < self.CONNECTIONS:
                link = socket.create_connection(("127.0.0.1", self.port))
                requests = b""
                for _ in range(FAILURES_IN_A_ROW):
                    number += 1
                    dn = f"uid=user.{number * 7919 % self.names},ou=People,{BASE}"
                    body = (b"\x02\x01\x03", octets(dn), load.tlv(0x80, b"wrong"))
                    requests += load.numbered(load.message(load.tlv(load.BIND, *body)), number)
                link.sendall(requests)
                ready.register(link, selectors.EVENT_READ, [0])
                sent += FAILURES_IN_A_ROW
            for key, _ in ready.select(0.001):
                # An answer to a wrong password: 16 octets with the long message id.
                key.data[0] += len(key.fileobj.recv(4096))
                if key.data[0] >= FAILURES_IN_A_ROW * 17:
                    ready.unregister(key.fileobj)
                    key.fileobj.close()
                    self.tried.value += FAILURES_IN_A_ROW


def storm(options) -> None:
    lines = 'default-password-storage-scheme = ["Salted SHA-1"]\n' + STORMY
    with prepared(options, "storm", lines, options.people) as server:
        link = Link(server.port, *ROOT)
        memory = [anonymous_mib(server)]

        @contextlib.contextmanager
        def wrong_passwords():
            before, began, stop = monitor(link, "Account States"), time.monotonic(), multiprocessing.Event()
            attackers = [Attacker(server.port, 1000, options.rate / 2, stop) for _ in range(2)]
            for attacker in attackers:
                attacker.start()
            yield
            memory.append(anonymous_mib(server))
            took, tried = time.monotonic() - began, sum(attacker.tried.value for attacker in attackers)
            after = monitor(link, "Account States")
            batches, accounts = (int(after[name]) - int(before[name]) for name in ("batches", "accounts-changed"))
            print(f"{tried / took:,.0f} wrong passwords a second; {accounts} states written in {batches} records")
            stop.set()
            for attacker in attackers:
                attacker.join()

        tell_searches(options, server, wrong_passwords)
        print("memory before, and after each storm: " + ", ".join(f"{it:.1f} MiB" for it in memory))


def locked(options) -> None:
    """The same people without a state, and locked after five wrong passwords."""
    sizes = []
    for is_locked in (False, True):
        with instance(options.folder and f"{options.folder}-{is_locked}") as (server, place):
            place.mkdir(exist_ok=True)
            setup(server, BASE)
            with open(place / "people.ldif", "w") as out:
                out.write(entry(BASE, "objectClass: domain", "dc: example"))
                out.write(entry(f"ou=People,{BASE}", "objectClass: organizationalUnit", "ou: People"))
                for n in range(options.entries):
                    at = [f"20260101{n // 60 % 24:02}{n % 60:02}{second:02}.{n % 1000:03}Z" for second in range(5)]
                    state = [f"pwdFailureTime: {time}" for time in at] + [f"pwdAccountLockedTime: {at[-1]}"]
                    out.write(person(n, *(state if is_locked else ())).replace(PASSWORD, "{SSHA}" + "A" * 32))
            server.import_ldif(place / "people.ldif")
            server.start()
            backend = monitor(Link(server.port, *ROOT), "userRoot Backend")
            sizes.append(int(backend["database-bytes"]))
            check(server.stop() == 0, "the server did not end well")
    print(f"{(sizes[1] - sizes[0]) / options.entries:.1f} bytes for each locked account")


WHAT = {one.__name__: one for one in (policy, schemes, saturated, storm, locked)}


def main(words=None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("--folder", help="where the instances stay")
    parser.add_argument("--ldapload", help="the shared load generator")
    parser.add_argument("--entries", type=int, help="people of `policy` and `locked`")
    parser.add_argument("--people", type=int, help="people of the others")
    parser.add_argument("--rounds", type=int, default=7, help="pairs that are measured")
    parser.add_argument("--seconds", type=float, default=2, help="of one round")
    parser.add_argument("--rate", type=float, default=10_000, help="storm: wrong passwords a second")
    parser.add_argument("--searches", type=float, default=400, help="searches a second")
    options = parser.parse_args(words)
    options.entries = options.entries or (1_000_000 if options.what == "locked" else 100_000)
    options.people = options.people or (10_000 if options.what == "storm" else SLOW_PEOPLE)
    check(options.ldapload or options.what in ("storm", "locked"), "--ldapload PATH is needed")
    WHAT[options.what](options)


if __name__ == "__main__":
    main()
