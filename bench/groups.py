#!/usr/bin/env python3
"""References and groups under load.

  groups.py deletes [--users 60000] [--seconds 30] [--deletes-per-second 1000] [--groups 20] [--searchers 8] [--report]
  groups.py depth   [--groups 1000] [--levels 5] [--times 1000] [--report]
  groups.py sizes   [--members 1000000] [--times 1000] [--report]

Makes an instance in a temporary folder (--folder keeps it), fills it, starts the server under test ($PANDO, else
target/release/pando), loads it, stops it, and asserts what must be right whatever the machine does; it exits with 1
when something is not. --report prints figures too; with --ldapload PATH (the shared generator) beside those of its echo
server in the same seconds.

deletes: --users people, each in --groups groups; --deletes-per-second of them go while --searchers connections look
people up. depth:   isMemberOf of a user in --groups groups, nested in --levels levels. sizes:   a group of ten, of ten
thousand and of --members: one member comes and goes, is compared, looked for; all are read, whole and in
         pieces, and the memory that takes is looked at.

For the figures of bench/RESULTS.md, with a release build and nothing else on the machine:

  bench/groups.py deletes --report --ldapload PATH
  bench/groups.py depth --report
  bench/groups.py sizes --report
"""

import argparse
import re
import time
from pathlib import Path

import load
from instances import ROOT, check, clean, entry, instance, monitor, print_waits, setup
from load import ANY, Crew, Echo, Link, both, equal, expect, progress
from pando_server import Pando


def deletes(options) -> None:
    base, people, groups = (
        "dc=example,dc=com",
        options.users,
        max(options.groups, options.users * options.groups // 2000),
    )

    def name(n):
        return f"uid=user.{n},ou=people,{base}"

    with instance(options.folder) as (server, place):
        setup(server, base)
        with open(place / "people.ldif", "w") as out:
            out.write(entry(base, "objectClass: domain", "dc: example"))
            for ou in ("people", "groups"):
                out.write(entry(f"ou={ou},{base}", "objectClass: organizationalUnit", f"ou: {ou}"))
            for n in range(people):
                out.write(
                    entry(
                        name(n),
                        "objectClass: inetOrgPerson",
                        f"uid: user.{n}",
                        f"cn: User {n}",
                        f"sn: Sample {n % 977}",
                        f"mail: user.{n}@example.com",
                    )
                )
            members = [[] for _ in range(groups)]
            for n in range(people):
                for step in range(options.groups):
                    members[(n + step * (groups // options.groups)) % groups].append(n)
            for g, own in enumerate(members):
                out.write(
                    entry(
                        f"cn=group{g},ou=groups,{base}",
                        "objectClass: groupOfNames",
                        f"cn: group{g}",
                        *(f"member: {name(n)}" for n in own),
                    )
                )
        server.configure('[plugin."Referential Integrity"]\ntype = "referential-integrity"\n')
        server.import_ldif(place / "people.ldif")
        progress(f"{people} people, {groups} groups of {len(members[0])}")
        server.start()
        total = int(options.deletes_per_second * options.seconds)
        check(total < people, f"{total} deletes need more than {people} --users")
        with Echo(options.ldapload) as echo:
            run_deletes(options, server, echo, base, name, total)


def run_deletes(options, server: Pando, echo: Echo, base: str, name, total: int) -> None:
    link = Link(server.port, *ROOT)

    def lookup(rng):
        n = rng.randrange(total, options.users)
        return load.search(
            base, 2, equal("uid", f"user.{n}"), ("*",)
        ), lambda code, entries: None if (code, len(entries)) == (0, 1) else f"result {code}, {len(entries)} entries"

    crew = Crew(time.monotonic())
    each = options.rate / options.searchers
    crew.hire("search", options.searchers, server.port, ROOT, lookup, each)
    if echo.port:
        crew.hire("echo", options.searchers, echo.port, ROOT, lambda rng: (lookup(rng)[0], expect(0)), each)
    due, answered, samples = time.monotonic(), 0, []
    pending: list = []
    sent = 0
    while answered < total:
        now = time.monotonic()
        burst = bytearray()
        while sent < total and due + sent / options.deletes_per_second <= now and sent - answered < 256:
            burst += load.numbered(load.delete(name(sent)), sent)
            pending.append(due + sent / options.deletes_per_second)
            sent += 1
        if burst:
            link.send(bytes(burst))
        while answered < sent and (link.has_answer() or sent - answered >= 256 or sent == total):
            code = link.answer()
            check(code == 0, f"the delete of {name(answered)} is refused with {code}")
            samples.append((pending[answered] - crew.start, time.monotonic() - pending[answered]))
            answered += 1
        time.sleep(0.0005)
    took = time.monotonic() - due
    clean(link)
    lag = time.monotonic() - due - took
    crew.finish()
    check(not crew.wrong_count, f"{crew.wrong_count} searches went wrong, such as {crew.wrong[:3]}")
    counted = int(monitor(link, "Referential Integrity")["references-found"])
    check(counted == total * options.groups, f"{counted} references were followed, not {total * options.groups}")
    for n in range(0, total, max(1, total // 200)):
        check(
            link.call(load.search(base, 2, equal("member", name(n)))) == 0 and not link.entries,
            f"{name(n)} is still a member",
        )
    link.call(load.search(base, 2, equal("member", name(total))))
    check(len(link.entries) == options.groups, f"{name(total)} is in {len(link.entries)} groups, not {options.groups}")
    if options.report:
        print(
            f"{total / took:.0f} deletes/s of users in {options.groups} groups each, all clean {lag:.2f} s after "
            f"the last answer"
        )
        print(
            load.table(
                {**crew.samples, "delete": samples},
                ["search", *(["echo"] if echo.port else []), "delete"],
                options.window,
            )
        )
        print_waits(link)
    check(server.stop() == 0, "the server did not end well")
    server.tool("verify-index", "-b", base)
    print(f"deletes: {total} of users in {options.groups} groups each, nothing refused, nobody refers to them any more")


def depth(options) -> None:
    base = "dc=example,dc=com"
    each = options.groups // options.levels

    def group(level, n):
        return f"cn=group{level}.{n},{base}"

    with instance(options.folder) as (server, place):
        setup(server, base)
        with open(place / "groups.ldif", "w") as out:
            out.write(entry(base, "objectClass: domain", "dc: example"))
            for uid in ("ann", "ben"):
                out.write(
                    entry(f"uid={uid},{base}", "objectClass: inetOrgPerson", f"uid: {uid}", f"cn: {uid}", "sn: Sample")
                )
            for level in range(options.levels):
                for n in range(each):
                    member = f"uid=ann,{base}" if level == 0 else group(level - 1, n)
                    out.write(
                        entry(
                            group(level, n), "objectClass: groupOfNames", f"cn: group{level}.{n}", f"member: {member}"
                        )
                    )
        server.import_ldif(place / "groups.ldif")
        server.start()
        link, took = Link(server.port, *ROOT), []
        request = load.search(f"uid=ann,{base}", 0, ANY, ("isMemberOf",))
        for _ in range(options.times):
            began = time.monotonic()
            check(link.call(request) == 0, "the search is refused")
            took.append(time.monotonic() - began)
        named = set(re.findall(rb"cn=group\d+\.\d+", link.entries[0]))
        check(len(named) == each * options.levels, f"isMemberOf names {len(named)} groups, not {each * options.levels}")
        top = equal("isMemberOf", group(options.levels - 1, each - 1))
        found = []
        for _ in range(options.times):
            began = time.monotonic()
            check(link.call(load.search(base, 2, both(equal("uid", "ann"), top))) == 0, "the search is refused")
            found.append(time.monotonic() - began)
        check(len(link.entries) == 1, "the filter on the highest group does not find the user")
        link.call(load.search(f"uid=ben,{base}", 0, ANY, ("isMemberOf",)))
        check(b"isMemberOf" not in link.entries[0], "who is in no group says so")
        if options.report:
            print(
                f"isMemberOf of a user in {each * options.levels} groups, {options.levels} levels, ms: "
                f"{load.told(took)}"
            )
            print(f"(&(uid=ann)(isMemberOf=the highest)), ms:                   {load.told(found)}")
        check(server.stop() == 0, "the server did not end well")
        print(f"depth: {len(named)} groups in {options.levels} levels")


def timed(times: int, call) -> list:
    took = []
    for n in range(times):
        began = time.monotonic()
        call(n)
        took.append(time.monotonic() - began)
    return took


def anonymous_kib(server: Pando) -> int:
    """Memory that is the server's own; pages of the database are the system's."""
    return int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text())[1])


def sizes(options) -> None:
    base, most = "dc=example,dc=com", options.members

    def name(n):
        return f"uid=user.{n},ou=people,{base}"

    def group(size):
        return f"cn=group{size},{base}"

    with instance(options.folder) as (server, place):
        setup(server, base)
        with open(place / "groups.ldif", "w") as out:
            out.write(entry(base, "objectClass: domain", "dc: example"))
            for size in (10, most // 100, most):
                out.write(f"dn: {group(size)}\nobjectClass: groupOfNames\ncn: group{size}\n")
                out.writelines(f"member: {name(n)}\n" for n in range(size))
                out.write("\n")
        server.configure('[plugin."Referential Integrity"]\ntype = "referential-integrity"\n')
        server.import_ldif(place / "groups.ldif")
        progress(f"groups of 10, {most // 100} and {most}")
        server.start()
        link = Link(server.port, *ROOT)

        def one(dn: str, n: int) -> None:
            check(
                link.call(load.modify(dn, (n % 2, "member", name(most + n // 2)))) == 0, f"a member of {dn} is refused"
            )

        told = []
        for _ in range(2):
            for size in (10, most // 100, most):
                took = load.told(timed(options.times, lambda n: one(group(size), n)))
                told.append(f"one member more or less of {size}, ms: {took}")
        found = equal("member", name(most // 100 + 1))
        took = timed(
            options.times,
            lambda _: check(
                link.call(load.search(base, 2, found)) == 0 and len(link.entries) == 1,
                "(member=x) does not find the largest group alone",
            ),
        )
        told.append(f"(member=x), ms: {load.told(took)}")
        before = anonymous_kib(server)
        took = timed(
            3,
            lambda _: check(
                link.call(load.search(group(most), 0, ANY, ("member",))) == 0
                and link.entries[0].count(b"uid=user.") == most,
                "not all members come",
            ),
        )
        grown = anonymous_kib(server) - before
        told.append(f"all {most} members, ms: {load.told(took)}; the server's own memory grew by {grown} KiB")
        check(grown < 16 << 10, f"reading all members takes {grown} KiB")
        at = pieces = 0
        began = time.monotonic()
        while at < most:
            check(
                link.call(load.search(group(most), 0, ANY, (f"member;range={at}-{at + 1499}",))) == 0,
                "a piece is refused",
            )
            at += link.entries[0].count(b"uid=user.")
            pieces += 1
        told.append(f"the same in {pieces} pieces: {time.monotonic() - began:.2f} s")
        check(at == most, f"{at} members come in pieces, not {most}")
        if options.report:
            print("\n".join(told))
        check(server.stop() == 0, "the server did not end well")
        server.tool("verify-index", "-b", base)
        print(f"sizes: groups of 10 to {most}")


def main(words=None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["deletes", "depth", "sizes"])
    load.add_options(parser)
    parser.add_argument("--users", type=int, default=60_000, help="deletes: people")
    parser.add_argument("--deletes-per-second", type=float, default=1000, help="deletes: how many")
    parser.add_argument("--groups", type=int, help="deletes: groups of each user (20); depth: groups in all (1000)")
    parser.add_argument("--searchers", type=int, default=8, help="deletes: connections that search")
    parser.add_argument("--levels", type=int, default=5, help="depth: how deep the groups are nested")
    parser.add_argument(
        "--times", type=int, default=1000, help="depth: searches; sizes: changes of each group, and searches"
    )
    parser.add_argument("--members", type=int, default=1_000_000, help="sizes: members of the largest group")
    options = parser.parse_args(words)
    options.groups = options.groups or (1000 if options.what == "depth" else 20)
    {"deletes": deletes, "depth": depth, "sizes": sizes}[options.what](options)


if __name__ == "__main__":
    main()
