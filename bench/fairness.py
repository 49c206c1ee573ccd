#!/usr/bin/env python3
"""fairness.py PORT DN PASSWORD LDAPLOAD PID [SCANS]: indexed searches while unindexed scans run.

Runs the shared load generator's open-loop search (4 connections, 1,000/s) first alone, then beside SCANS (20)
connections that each scan everything again and again, and prints the latencies of both and the server's memory. Needs
python-ldap."""

import json
import multiprocessing
import subprocess
import sys
import time

import ldap


def scan(port, dn, password, stop, done):
    link = ldap.initialize(f"ldap://127.0.0.1:{port}")
    link.simple_bind_s(dn, password)
    count = 0
    while not stop.is_set():
        link.search_s("dc=example,dc=com", ldap.SCOPE_SUBTREE, "(pager=nobody)", ["1.1"])
        count += 1
    done.put(count)


def load(generator, port, dn, password, pid, people):
    words = [
        generator,
        "run",
        "search",
        "-C",
        "4",
        "--rate",
        "1000",
        "--duration",
        "10",
        "--warmup",
        "1",
        "--port",
        port,
        "--bind-dn",
        dn,
        "--bind-pw",
        password,
        "--server-pid",
        pid,
        "--range",
        str(people),
    ]
    result = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[0])
    return {name: result["latency_us"][name] for name in result["latency_us"]}, result["ops_per_s"], result["errors"]


def memory(pid):
    wanted = ("RssAnon", "VmHWM")
    return [line.strip() for line in open(f"/proc/{pid}/status") if line.startswith(wanted)]


def main():
    port, dn, password, generator, pid, *rest = sys.argv[1:]
    scans = int(rest[0]) if rest else 20
    for _ in range(2):
        print("alone  ", *load(generator, port, dn, password, pid, 1_000_000))
        stop, done = multiprocessing.Event(), multiprocessing.Queue()
        workers = [multiprocessing.Process(target=scan, args=(port, dn, password, stop, done)) for _ in range(scans)]
        start = time.time()
        for worker in workers:
            worker.start()
        time.sleep(1)
        print(f"beside {scans}", *load(generator, port, dn, password, pid, 1_000_000), memory(pid))
        stop.set()
        counts = [done.get() for _ in workers]
        print(f"  scans: {sum(counts) / (time.time() - start):.2f}/s, of one connection {min(counts)} to {max(counts)}")


if __name__ == "__main__":
    sys.exit(main())
