#!/usr/bin/env python3
"""What random updates do to a backend in the long run: its file and its latencies beside those of a fresh import of the
same data.

  aging.py [--updates 100000] [--entries 20000] [--connections 2] [--pipeline 64] [--report] [--folder DIR]

Makes an instance of --entries people, does --updates random modifies (80 %), adds and deletes (10 % each) over
pipelined connections as fast as it can, exports, imports that into a second instance, and asks both the same, in turn.
Asserts that nothing was refused, that both export the same bytes and that verify-index is clean; --report prints sizes,
latencies and their ratios. For the figures of bench/RESULTS.md, with a release build (about 10 minutes):

  bench/aging.py --updates 10000000 --entries 1000000 --connections 4 --report
"""

import argparse
import multiprocessing
import random
import tempfile
import time
from pathlib import Path

import load
from instances import check
from load import Link, equal, progress
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando

PEOPLE = f"ou=people,{BASE}"
SYLLABLES = [
    "al",
    "ber",
    "cor",
    "dan",
    "el",
    "fir",
    "gor",
    "hal",
    "in",
    "jor",
    "ka",
    "lu",
    "mor",
    "ne",
    "or",
    "pel",
    "ri",
    "sol",
    "ta",
    "wen",
]


def word(rng) -> str:
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randrange(2, 5)))


def attributes(rng, uid: str) -> dict:
    given, surname = word(rng), word(rng)
    return {
        "objectClass": ["inetOrgPerson"],
        "uid": [uid],
        "cn": [f"{given} {surname}"],
        "sn": [surname],
        "givenName": [given],
        "mail": [f"{given}.{surname}.{uid}@example.com"],
        "telephoneNumber": [f"+1 555 {rng.randrange(10**7):07}"],
        "description": [f"About {given}"],
    }


def dn(uid: str) -> str:
    return f"uid={uid},{PEOPLE}"


def write_ldif(file: Path, entries: int) -> None:
    rng = random.Random(1)
    with open(file, "w") as out:
        out.write(
            f"dn: {BASE}\nobjectClass: domain\ndc: example\n\ndn: {PEOPLE}\nobjectClass: organizationalUnit\n"
            f"ou: people\n\n"
        )
        for n in range(entries):
            lines = "".join(
                f"{name}: {value}\n" for name, values in attributes(rng, f"user.{n}").items() for value in values
            )
            out.write(f"dn: {dn(f'user.{n}')}\n{lines}\n")


def update(number: int, options, port: int, results) -> None:
    """Updates people whose number leaves this rest, so that no two connections meet."""
    rng, link = random.Random(number + 2), Link(port, ROOT_DN, ROOT_PW)
    alive = [f"user.{n}" for n in range(number, options.entries, options.connections)]
    total, waiting, refused = options.updates // options.connections, 0, 0
    for n in range(total):
        kind = rng.randrange(10)
        at = rng.randrange(len(alive))
        if kind == 0:
            uid = f"new.{number}.{n}"
            request = load.add(dn(uid), attributes(rng, uid))
            alive.append(uid)
        elif kind == 1 and len(alive) > 10:
            alive[at], alive[-1] = alive[-1], alive[at]
            request = load.delete(dn(alive.pop()))
        else:
            made = attributes(rng, alive[at])
            name = rng.choice(["description", "telephoneNumber", "givenName", "mail"])
            request = load.modify(dn(alive[at]), (2, name, *made[name]))
        link.send(load.numbered(request, n))
        waiting += 1
        while waiting >= options.pipeline or (waiting and n + 1 == total):
            refused += link.answer() != 0
            waiting -= 1
    results.put((refused, alive))


def database_bytes(server: Pando) -> int:
    return sum(file.stat().st_blocks * 512 for file in (server.dir / "db").rglob("*.mdb"))


def measure(link: Link, uids: list, rng, searches: int, changes: int) -> tuple:
    found, changed = [], []
    for _ in range(searches):
        request = load.search(BASE, 2, equal("uid", rng.choice(uids)), ("*",))
        began = time.monotonic()
        check(link.call(request) == 0 and len(link.entries) == 1, "a search does not find the one entry it asks for")
        found.append(time.monotonic() - began)
    for _ in range(changes):
        request = load.modify(dn(rng.choice(uids)), (2, "description", f"Measured {rng.randrange(10**6)}"))
        began = time.monotonic()
        check(link.call(request) == 0, "a modification is refused")
        changed.append(time.monotonic() - began)
    return found, changed


def export(server: Pando) -> Path:
    file = server.dir / "out.ldif"
    file.unlink(missing_ok=True)
    server.tool("export-ldif", "--backendID", "userRoot", "--ldifFile", file, "--offline")
    return file


def run(options, place: Path) -> None:
    servers = [Pando(place / name) for name in ("aged", "fresh")]
    aged, fresh = servers
    try:
        write_ldif(place / "people.ldif", options.entries)
        aged.setup().import_ldif(place / "people.ldif").start()
        progress(f"{options.entries} entries imported")
        results, began = multiprocessing.Queue(), time.monotonic()
        workers = [
            multiprocessing.Process(target=update, args=(n, options, aged.port, results))
            for n in range(options.connections)
        ]
        for worker in workers:
            worker.start()
        done = list(load.results_of(workers, results))
        for worker in workers:
            worker.join()
        took = time.monotonic() - began
        refused, uids = sum(refused for refused, _ in done), [uid for _, alive in done for uid in alive]
        check(not refused, f"{refused} updates were refused")
        progress(f"{options.updates} updates in {took:.1f} s")
        check(aged.stop() == 0, "the server did not end well")
        aged.tool("verify-index", "-b", BASE)
        fresh.setup().import_ldif(export(aged))
        check(export(aged).read_bytes() == export(fresh).read_bytes(), "the fresh import exports other bytes")
        sizes = [database_bytes(server) for server in servers]
        links = [Link(server.start().port, ROOT_DN, ROOT_PW) for server in servers]
        samples = [([], []), ([], [])]
        for turn in range(options.turns):
            for link, (found, changed) in zip(links, samples, strict=True):
                more = measure(link, uids, random.Random(turn), 2000, 200)
                found += more[0]
                changed += more[1]
        if options.report:
            print(
                f"{options.updates / took:.0f} updates/s; database {sizes[0] / 2**20:.1f} MiB aged, "
                f"{sizes[1] / 2**20:.1f} MiB fresh: {sizes[0] / sizes[1]:.2f}"
            )
            for what, kind in (("search", 0), ("modify", 1)):
                ours, theirs = (load.figures(one[kind]) for one in samples)
                print(
                    f"{what}, ms: "
                    + ", ".join(
                        f"{name} {ours[name]:.3f} aged {theirs[name]:.3f} fresh: {ours[name] / theirs[name]:.2f}"
                        for name in ours
                    )
                )
        for server in servers:
            check(server.stop() == 0, "a server did not end well")
        print(f"aging: {options.updates} updates, nothing refused, the same data as a fresh import")
    finally:
        for server in servers:
            if server.process:
                server.kill()


def main(words=None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=2)
    parser.add_argument("--pipeline", type=int, default=64)
    parser.add_argument("--turns", type=int, default=10, help="of 2,000 searches and 200 modifications of each server")
    parser.add_argument("--report", action="store_true", help="print figures")
    parser.add_argument("--folder", help="where the instances are made, and stay; it must be empty")
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as temporary:
        run(options, Path(options.folder or temporary))


if __name__ == "__main__":
    main()
