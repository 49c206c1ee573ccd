"""Instances of the server under test for the scenarios: made, asked for their figures, and gone with the scenario.

Knows `pando setup` and cn=monitor; knows nothing of what a scenario does.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import load
from load import ANY, Link
from pando_server import ROOT_DN, ROOT_PW, Pando, until

ROOT = (ROOT_DN, ROOT_PW)


def entry(dn: str, *lines: str) -> str:
    return f"dn: {dn}\n" + "\n".join(lines) + "\n\n"


def check(condition, complaint: str) -> None:
    if not condition:
        raise SystemExit(f"wrong: {complaint}")


@contextlib.contextmanager
def instance(folder: str | None):
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(folder or temporary)
        server = Pando(place / "inst")
        server.process = None
        try:
            yield server, place
        finally:
            if server.process:
                server.kill()


def setup(server: Pando, base: str, *more: str) -> None:
    server.tool(
        "setup",
        "--baseDN",
        base,
        "--rootUserDN",
        ROOT_DN,
        "--rootUserPassword",
        ROOT_PW,
        "--ldapPort",
        server.port,
        "--ldapsPort",
        server.tls_port,
        "--no-prompt",
        *more,
    )


def equality(backend: str, names) -> str:
    return "".join(f'[backend.{backend}.index.{name}]\nindex-type = "equality"\n' for name in names)


def monitor(link: Link, name: str) -> dict:
    check(
        link.call(load.search(f"cn={name},cn=monitor", 0, ANY, ("*", "+"))) == 0 and len(link.entries) == 1,
        f"cn={name},cn=monitor is not there",
    )
    return values_of(link.entries[0])


def clean(link: Link, seconds: float = 300) -> None:
    """Waits until no references wait."""

    def queue():
        return monitor(link, "Referential Integrity")["queue-length"]

    until(
        lambda: queue() == "0",
        seconds,
        say=lambda: f"after {seconds:.0f} s the references of {queue()} names are not clean",
    )


def values_of(entry_message: bytes) -> dict:
    """First value of each attribute of a search result entry."""

    def children(body):
        at = 0
        while at < len(body):
            length, head = body[at + 1], 2
            if length & 0x80:
                head += length & 0x7F
                length = int.from_bytes(body[at + 2 : at + head], "big")
            yield body[at + head : at + head + length]
            at += head + length

    (whole,) = children(entry_message)
    _, operation = list(children(whole))[:2]
    _, attributes = list(children(operation))[:2]
    found = {}
    for attribute in children(attributes):
        name, values = list(children(attribute))
        found[name.decode()] = next(children(values), b"").decode(errors="replace")
    return found


def print_waits(link: Link) -> None:
    """What cn=monitor says of the longest waits."""
    link.call(load.search("cn=monitor", 2, ANY, ("*", "+")))
    for one in link.entries:
        values = values_of(one)
        waits = {
            name: value
            for name, value in values.items()
            if re.search(r"wait|stall|slow|longest|max-us|sync", name, re.I)
        }
        if waits:
            print(
                f"  {values.get('cn', '?')}: " + ", ".join(f"{name} {value}" for name, value in sorted(waits.items()))
            )


def cpu_seconds(server: Pando) -> float:
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def anonymous_mib(server: Pando) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024


def generate(ldapload: str, server: Pando, *words) -> dict:
    """What the shared generator measures of the server; all operations are answered as expected."""
    command = [ldapload, "run", *words, "--port", server.port, "--server-pid", server.process.pid]
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    check(ran.stdout, ran.stderr[-400:])
    figures = json.loads(ran.stdout.splitlines()[0])
    check(not figures["errors"], f"{figures['errors']} operations were answered otherwise than expected")
    return figures
