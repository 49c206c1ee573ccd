#!/usr/bin/env python3
"""filters.py NAME=PORT:PID:DN:PASSWORD... : the same searches on several servers in turn, with what each costs.

Needs python-ldap. For each case and server: entries returned, median wall time of a search as the client sees it, and
the server's CPU (user + system, from /proc) per search. Servers take turns (A B A B ...), so that all see the same
noise. `--only WORD` picks cases, `--seconds` is the time per server and case. The cases are those of docs and
bench/RESULTS.md for the bench's people (shared bench folder)."""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

import ldap
from ldap.controls import SimplePagedResultsControl
from ldap.controls.sss import SSSRequestControl

BASE = "dc=example,dc=com"
TICK = os.sysconf("SC_CLK_TCK")


def cases(people):
    """(name, filter, attributes, controls)"""

    def sort():
        return [SSSRequestControl(True, ["uid"]), SimplePagedResultsControl(True, 20, "")]

    middle = people // 2
    return [
        ("uid", f"(uid=user.{middle})", ["*"], None),
        ("person and uid", f"(&(objectClass=person)(uid=user.{middle}))", ["*"], None),
        ("substring", "(cn=*asa l*)", ["*"], None),
        ("short substring", "(cn=*r w*)", ["*"], None),
        ("three lists", "(&(sn=A*)(l=Albury)(telephoneNumber=*12*))", ["1.1"], None),
        ("three lists, count", "(&(objectClass=inetOrgPerson)(sn=A*)(telephoneNumber=*12*))", ["1.1"], None),
        ("sorted page", "(objectClass=person)", ["1.1"], sort),
        ("unindexed", "(pager=+1 000 nobody)", ["1.1"], None),
    ]


class Server:
    def __init__(self, word):
        self.name, rest = word.split("=", 1)
        port, pid, self.dn, password = rest.split(":", 3)
        self.pid = pid
        self.link = ldap.initialize(f"ldap://127.0.0.1:{port}")
        self.link.set_option(ldap.OPT_SIZELIMIT, 0)
        self.link.simple_bind_s(self.dn, password)

    def cpu(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def search(self, case):
        _, text, attributes, controls = case
        message = self.link.search_ext(BASE, ldap.SCOPE_SUBTREE, text, attributes, serverctrls=controls and controls())
        return len(self.link.result3(message)[1])

    def run(self, case, seconds):
        """Searches for some time: entries, wall times, CPU a search."""
        try:
            count = self.search(case)
        except ldap.LDAPError as error:
            return str(error.args[0].get("desc", error)), [], 0.0
        before, end, times = self.cpu(), time.perf_counter() + seconds, []
        while time.perf_counter() < end or len(times) < 3:
            start = time.perf_counter()
            self.search(case)
            times.append(time.perf_counter() - start)
        return count, times, (self.cpu() - before) / len(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("servers", nargs="+")
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    servers = [Server(word) for word in options.servers]
    print("| case | server | entries | wall ms | CPU ms |\n|---|---|---:|---:|---:|")
    for case in cases(options.people):
        if options.only not in case[0]:
            continue
        seen = {server.name: [] for server in servers}
        for _ in range(options.rounds):
            for server in servers:
                seen[server.name].append(server.run(case, options.seconds))
        for name, runs in seen.items():
            times = [time for run in runs for time in run[1]]
            wall = statistics.median(times) * 1000 if times else float("nan")
            cpu = statistics.median(run[2] for run in runs) * 1000
            print(f"| {case[0]} | {name} | {runs[0][0]} | {wall:.2f} | {cpu:.3f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
