#!/usr/bin/env python3
"""The command of the source document on its sample data, at OpenDJ and at Pando in turn: are Pando's binds as fast as
OpenDJ's, are the slowest no slower, and are they by salted SHA-512 as fast as by salted SHA-1?

    PANDO=… bind_rates.py [--seconds 20] [--rounds 3] [--people 10000]

Prints the last row of authrate for each server and scheme, and the medians of the rounds. Exits with 1 where an answer
was an error, the rate of Pando is below OpenDJ's (S0-55), its 99.999 % are slower than OpenDJ's (S0-55), or salted
SHA-512 has less than 95 % of the rate of salted SHA-1 (S0-57). For a machine that does nothing else: no test runs it.
"""

import argparse
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import ldap
import ldif
import opendj_server
from ldap_wire import Wire
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando, binary

CONNECTIONS = 32
RATIO_MIN = 0.95
DEFAULT_POLICY = "cn=Default Password Policy,cn=Password Policies,cn=config"
SCHEMES = "cn=Password Storage Schemes,cn=config"
# As somebody would run it: both compilers, a collector of its own choice, memory for the data.
JAVA_ARGUMENTS = "-Xms1g -Xmx1g"


class Row(NamedTuple):
    """Of a run: binds a second, the slowest of each hundred thousand in milliseconds, errors a second."""

    rate: float
    slowest: float
    errors: float


def authrate(port: int, people: int, seconds: int) -> Row:
    names = ["-g", f"rand(0,{people})", "-D", "uid=user.%d,ou=people,dc=example,dc=com", "-w", "password"]
    command = [binary(), "authrate", "-h", "localhost", "-p", port, *names, "-c", CONNECTIONS, "-f"]
    # The first seconds are for the server to warm up in; each row is of as many.
    command += ["-d", 2 * seconds, "-i", seconds]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    rate, _, _, _, _, _, slowest, errors = map(float, done.stdout.splitlines()[-1].split())
    return Row(rate, slowest, errors)


@contextmanager
def pando(folder: Path, people: Path, scheme: str):
    instance = Pando(folder / scheme.replace(" ", "-"))
    instance.setup("--defaultPasswordStorageScheme", scheme).import_ldif(people).start()
    try:
        yield instance.port
    finally:
        instance.remove()


@contextmanager
def opendj(folder: Path, people: Path):
    with opendj_server.opendj_url(folder, [], java_arguments=JAVA_ARGUMENTS) as url:
        port = int(url.rpartition(":")[2])
        root = Wire(port)
        assert root.bind(ROOT_DN, ROOT_PW).code == 0
        scheme = f"cn=Salted SHA-1,{SCHEMES}"
        assert root.modify(DEFAULT_POLICY, [(2, "ds-cfg-default-password-storage-scheme", [scheme])]).code == 0
        with open(people, "rb") as file:
            records = ldif.LDIFRecordList(file)
            records.parse()
        for dn, attributes in records.all_records:
            if ldap.dn.str2dn(dn) != ldap.dn.str2dn(BASE):
                assert root.add(dn, attributes).code == 0, dn
        yield port


def medians(rows: list[Row]) -> Row:
    return Row(*(median(column) for column in zip(*rows, strict=True)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--people", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        people = folder / "people.ldif"
        command = [binary(), "makeldif", "-c", f"numusers={given.people}", "-o", people]
        subprocess.run(command, check=True, capture_output=True)
        with (
            opendj(folder, people) as other,
            pando(folder, people, "Salted SHA-1") as own,
            pando(folder, people, "Salted SHA-512") as stronger,
        ):
            servers = {"OpenDJ, SSHA": other, "Pando, SSHA": own, "Pando, SSHA512": stronger}
            rows = {title: [] for title in servers}
            for _ in range(given.rounds):
                for title, port in servers.items():
                    rows[title].append(authrate(port, given.people, given.seconds))
                    print(f"{title:15} {rows[title][-1]}", flush=True)
    theirs, ours, by_512 = (medians(rows[title]) for title in servers)
    checks = {
        "no errors": not any(row.errors for listed in rows.values() for row in listed),
        f"{ours.rate / theirs.rate:.2f} of OpenDJ's rate": ours.rate >= theirs.rate,
        f"99.999 % in {ours.slowest} ms, OpenDJ's in {theirs.slowest} ms": ours.slowest <= theirs.slowest,
        f"salted SHA-512: {by_512.rate / ours.rate:.2f} of salted SHA-1": by_512.rate >= RATIO_MIN * ours.rate,
    }
    for what, holds in checks.items():
        print(f"{'holds' if holds else 'FAILS'}: {what}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
