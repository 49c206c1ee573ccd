#!/usr/bin/env python3
"""Whether the time of a failed bind tells why it failed: measures unknown names, accounts without a password, wrong
passwords, disabled and locked accounts in random order, and compares the distributions of their answer times pairwise.

    PANDO=… bind_timing.py [--samples 10000] [--scheme "Salted SHA-512" | --scheme Argon2 [--set argon2-memory:1024]]

Two kinds count as different when either of two tests says so: Mann-Whitney's (is one slower than the other?) or
Kolmogorov's and Smirnov's (are their distributions the same?). Where all kinds are the same, one run of a thousand
reports a difference by chance. All answers must also have the same octets. Exits with 1 where two kinds differ.
"""

import argparse
import shutil
import sys
import tempfile
from bisect import bisect_right
from itertools import combinations
from math import comb, erfc, exp, sqrt
from pathlib import Path
from random import Random
from statistics import quantiles
from time import perf_counter_ns

from account_model.control import PASSWORD_POLICY
from ldap_wire import Wire, bind_request, control, message
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando

KINDS = ("unknown name", "no password", "wrong password", "disabled", "locked")
# So improbable by chance is a difference that counts: two tests of each pair share the one run of a thousand.
CHANCE_MIN = 0.001 / (2 * comb(len(KINDS), 2))
# A wrong guess counts. Each account is asked fewer times than lock it.
GUESSES_PER_ACCOUNT, LOCKOUT_COUNT = 4, 5
# After more failed binds on one connection the server holds its answers back.
FAILURES_PER_CONNECTION = 5
WARM_UP_ROUNDS = 200
DC = BASE.partition("=")[2].partition(",")[0]
RIGHT, WRONG = "the-right-one", "not-this-one"
LONG_AGO = "20200101000000"


def name(kind: str, number: int) -> str:
    return f"uid={kind.split()[0]}-{number},{BASE}"


def start(instance: Pando, scheme: str, costs: list[str]) -> str:
    """Starts an empty server once, to learn how it stores the password; hashing each anew would take long."""
    instance.setup("--defaultPasswordStorageScheme", scheme)
    if costs:
        changes = [word for cost in costs for word in ("--set", cost)]
        instance.tool("dsconfig", "set-password-storage-scheme-prop", "--scheme-name", scheme, *changes, "-n")
    instance.start()
    root = Wire(instance.port)
    done(root.bind(ROOT_DN, ROOT_PW))
    done(root.add(BASE, {"objectClass": ["top", "domain"], "dc": [DC]}))
    done(root.add(name("first", 0), person("first-0") | {"userPassword": [RIGHT]}))
    stored = root.search(name("first", 0), attributes=["userPassword"]).entries[0].attributes["userPassword"]
    root.close()
    instance.stop()
    return stored[0].decode()


def fill(instance: Pando, stored: str, accounts: int) -> None:
    """A policy for everybody, and the accounts of each kind but the first, all with the same stored password."""
    entries = [
        (BASE, {"objectClass": ["top", "domain"], "dc": [DC]}),
        (
            f"cn=everybody,{BASE}",
            {"objectClass": ["top", "subentry", "pwdPolicy"], "cn": ["everybody"], "subtreeSpecification": ["{}"]}
            | {"pwdAttribute": ["userPassword"], "pwdLockout": ["TRUE"], "pwdMaxFailure": [str(LOCKOUT_COUNT)]},
        ),
    ]
    for kind in KINDS[1:]:
        for number in range(accounts):
            dn = name(kind, number)
            attributes = person(dn.partition("=")[2].partition(",")[0])
            if kind != "no password":
                attributes["userPassword"] = [stored]
            if kind == "disabled":
                attributes["ds-pwp-account-disabled"] = ["TRUE"]
            if kind == "locked":
                attributes["pwdFailureTime"] = [f"{LONG_AGO}.{number}Z" for number in range(1, LOCKOUT_COUNT + 1)]
                attributes["pwdAccountLockedTime"] = [f"{LONG_AGO}.{LOCKOUT_COUNT}Z"]
            entries.append((dn, attributes))
    ldif = instance.dir / "accounts.ldif"
    with open(ldif, "w") as file:
        for dn, attributes in entries:
            lines = [f"{kind}: {value}\n" for kind, values in attributes.items() for value in values]
            file.write(f"dn: {dn}\n{''.join(lines)}\n")
    instance.import_ldif(ldif)


def person(uid: str) -> dict[str, list[str]]:
    return {"objectClass": ["top", "person", "organizationalPerson", "inetOrgPerson"], "uid": [uid], "cn": [uid]} | {
        "sn": [uid]
    }


def done(answer) -> None:
    assert answer.code == 0, answer


def measured(port: int, requests: list[tuple[str, bytes]]) -> tuple[dict[str, list[int]], set[bytes]]:
    """Nanoseconds from the request's last octet to the answer's, of each kind, and the answers."""
    times, answers = {kind: [] for kind in KINDS}, set()
    wire = None
    for number, (kind, request) in enumerate(requests):
        if number % FAILURES_PER_CONNECTION == 0:
            if wire:
                wire.close()
            wire = Wire(port)
            connection = wire.socket
        begin = perf_counter_ns()
        connection.sendall(request)
        answer = connection.recv(4096)
        times[kind].append(perf_counter_ns() - begin)
        answers.add(answer)
    wire.close()
    return times, answers


def rounds(random: Random, count: int, accounts: int, first: int = 0) -> list[tuple[str, bytes]]:
    """Each round asks every kind once, in an order of its own. All messages have one number, so that the answers can be
    compared octet by octet."""
    requests = []
    for number in range(first, first + count):
        for kind in random.sample(KINDS, len(KINDS)):
            dn = name(kind, number % accounts)
            requests.append((kind, message(1, bind_request(dn, WRONG), control(PASSWORD_POLICY))))
    return requests


def slower(a: list[int], b: list[int]) -> float:
    """The probability that one of `a` is slower than one of `b`; equal times count half."""
    b = sorted(b)
    won = 0.0
    for time in a:
        upto = bisect_right(b, time)
        equal = upto - bisect_right(b, time - 1)
        won += upto - equal / 2
    return won / (len(a) * len(b))


def chance(advantage: float, a: int, b: int) -> float:
    """How probable so large an advantage is by chance alone (normal approximation of U)."""
    return erfc(abs(advantage) / sqrt((a + b + 1) / (12 * a * b)) / sqrt(2))


def distance(a: list[int], b: list[int]) -> float:
    """Kolmogorov-Smirnov: the greatest difference of the two distribution functions."""
    a, b = sorted(a), sorted(b)
    return max(abs(bisect_right(a, time) / len(a) - bisect_right(b, time) / len(b)) for time in a + b)


def chance_of_distance(apart: float, a: int, b: int) -> float:
    """How probable so large a distance is by chance alone (the limit of Kolmogorov's distribution)."""
    scaled = apart * sqrt(a * b / (a + b))
    return 1.0 if scaled < 0.3 else 2 * sum((-1) ** (k - 1) * exp(-2 * (k * scaled) ** 2) for k in range(1, 101))


def report(times: dict[str, list[int]]) -> list[str]:
    """Prints quantiles and comparisons; gives what is out of bounds."""
    print(f"{'microseconds':16}{'p10':>9}{'p50':>9}{'p90':>9}{'p99':>9}{'samples':>9}")
    for kind, values in times.items():
        cuts = quantiles(values, n=100)
        shown = "".join(f"{cuts[cut - 1] / 1000:9.0f}" for cut in (10, 50, 90, 99))
        print(f"{kind:16}{shown}{len(values):9}")
    wrong = []
    print(f"\n{'pair':34}{'slower':>8}{'chance':>10}{'distance':>10}{'chance':>10}")
    for a, b in combinations(times, 2):
        counts = len(times[a]), len(times[b])
        probability, apart = slower(times[a], times[b]), distance(times[a], times[b])
        chances = chance(probability - 0.5, *counts), chance_of_distance(apart, *counts)
        print(f"{a + ' / ' + b:34}{probability:8.3f}{chances[0]:10.2g}{apart:10.3f}{chances[1]:10.2g}")
        if min(chances) < CHANCE_MIN:
            wrong.append(f"{a} and {b} can be told apart: slower in {probability:.3f}, distance {apart:.3f}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--samples", type=int, default=10_000, help="of each kind")
    parser.add_argument("--scheme", default="Salted SHA-512", help="the storage scheme's name in the configuration")
    parser.add_argument("--set", action="append", default=[], help="a property of the scheme, as its costs")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="pando-bind-timing-"))
    instance = Pando(directory / "inst")
    try:
        count = asked.samples + WARM_UP_ROUNDS
        accounts = -(-count // GUESSES_PER_ACCOUNT)
        fill(instance, start(instance, asked.scheme, asked.set), accounts)
        instance.start()
        random = Random(asked.seed)
        measured(instance.port, rounds(random, WARM_UP_ROUNDS, accounts))
        times, answers = measured(instance.port, rounds(random, asked.samples, accounts, WARM_UP_ROUNDS))
    finally:
        instance.remove()
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{' '.join([asked.scheme, *asked.set])}, {asked.samples} samples of each kind")
    wrong = report(times)
    if len(answers) != 1:
        wrong.append(f"the answers differ: {sorted(answer.hex(' ') for answer in answers)}")
    print("\n" + ("\n".join(wrong) or "cannot be told apart"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
