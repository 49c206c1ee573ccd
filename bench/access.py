#!/usr/bin/env python3
"""What access control costs: searches of a plain user beside those of root, with the same filters on the same server.

  access.py defaults     [--entries 100000]       the global ACIs of `setup`, nothing else
  access.py others       [--acis 1000]            ACIs in the tree that do not concern the user
  access.py branches     [--acis 10000]           one ACI for each branch, three of which name the user
  access.py group        [--groups 1000]          the right to read comes from one of the user's groups
  access.py userattr                              ... from the attribute `manager` of the entry that is read
  access.py targetfilter                          ... from a filter that the entry matches
  access.py scan         [--entries 1000000]      all entries in one search, with that filter
  access.py change       [--acis 100000]          ACIs change while so many are loaded: answer, effect, memory

Makes an instance in a temporary folder (--folder keeps it), starts the server under test ($PANDO, else
target/release/pando), and asserts that the user finds what root finds. The searches need --ldapload PATH (the shared
generator); rounds of root and of the user take turns, and the ratio is that of the server's CPU per search.
"""

import argparse
import statistics
import time

import load
from instances import ROOT, anonymous_mib, check, cpu_seconds, entry, generate, instance, setup
from load import ANY, Link, equal, progress

BASE = "dc=example,dc=com"
USER = f"uid=asker,{BASE}"
PASSWORD = "asking12"
# What the user may spend: a scan has no limits then.
NO_LIMITS = (
    "ds-rlim-size-limit: 0",
    "ds-rlim-time-limit: 0",
    "ds-rlim-lookthrough-limit: 0",
    "ds-privilege-name: unindexed-search",
)


def acl(name: str, rule: str, targets: str = '(targetattr="*")') -> str:
    return f'aci: {targets}(version 3.0; acl "{name}"; allow (read,search,compare) {rule};)'


def person(dn: str, uid: str, *more: str) -> str:
    return entry(
        dn, "objectClass: inetOrgPerson", f"uid: {uid}", f"cn: {uid}", "sn: Sample", f"mail: {uid}@example.com", *more
    )


def branch(n: int) -> str:
    return f"ou=branch{n},{BASE}"


def write(out, options, *, of_base=(), of_branch=None, of_person=(), branches=1) -> None:
    """The base entry, the user, branches, and --entries people spread over the branches."""
    out.write(entry(BASE, "objectClass: domain", "dc: example", *of_base))
    out.write(person(USER, "asker", f"userPassword: {PASSWORD}", *NO_LIMITS))
    for n in range(branches):
        own = [of_branch(n)] if of_branch else []
        out.write(entry(branch(n), "objectClass: organizationalUnit", f"ou: branch{n}", *own))
    for n in range(options.entries):
        out.write(person(f"uid=user.{n},{branch(n % branches)}", f"user.{n}", *of_person))


def searches(options, server) -> list:
    """CPU per search of root and of the user, in turn."""
    pairs = []
    for turn in range(options.rounds + 1):
        pair = []
        for dn, password in (ROOT, (USER, PASSWORD)):
            words = ("search", "-C", 8, "--bind-dn", dn, "--bind-pw", password, "--duration", options.seconds)
            words += ("--warmup", 0.3, "--seed", turn + 1, "--range", options.entries)
            figures = generate(options.ldapload, server, *words)
            pair.append(figures["server_cpu_us_per_op"])
        pairs.append(pair)
    # The first pair warms up.
    return pairs[1:]


def compare(options, profile: str, fill) -> None:
    check(options.ldapload, "--ldapload PATH is needed")
    with instance(options.folder) as (server, place):
        setup(server, BASE, "--accessProfile", profile)
        with open(place / "people.ldif", "w") as out:
            fill(out)
        server.import_ldif(place / "people.ldif")
        progress(f"{options.what}: {options.entries} people")
        server.start()
        same_entry(server)
        pairs = searches(options, server)
        root, user = (statistics.median(pair[at] for pair in pairs) for at in (0, 1))
        ratios = sorted(mine / others for others, mine in pairs)
        print(
            f"{options.what}: root {root:.1f} µs of CPU a search, the user {user:.1f}: "
            f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}..{ratios[-1]:.2f})"
        )
        check(server.stop() == 0, "the server did not end well")


def same_entry(server) -> None:
    """The user is shown what root is shown of an entry: otherwise the two do not do the same work."""
    shown = []
    for who in (ROOT, (USER, PASSWORD)):
        link = Link(server.port, *who)
        check(link.call(load.search(BASE, 2, equal("uid", "user.7"), ("*",))) == 0, "a search is refused")
        check(len(link.entries) == 1, f"{who[0]} finds {len(link.entries)} entries")
        shown.append(link.entries[0])
    check(shown[0] == shown[1], "the user is not shown what root is shown")


def defaults(options) -> None:
    compare(options, "addressbook", lambda out: write(out, options))


def others(options) -> None:
    def of_branch(n):
        return acl(f"own {n}", f'userdn="ldap:///uid=other.{n},{BASE}"')

    compare(options, "addressbook", lambda out: write(out, options, of_branch=of_branch, branches=options.acis))


def branches(options) -> None:
    mine = {1, options.acis // 2, options.acis - 1}

    def of_branch(n):
        who = USER if n in mine else f"uid=other.{n},{BASE}"
        return acl(f"own {n}", f'userdn="ldap:///{who}"')

    compare(options, "addressbook", lambda out: write(out, options, of_branch=of_branch, branches=options.acis))


def group(options) -> None:
    def name(n):
        return f"cn=group{n},{BASE}"

    def fill(out):
        write(out, options, of_base=[acl("members", f'groupdn="ldap:///{name(options.groups // 2)}"')])
        for n in range(options.groups):
            out.write(entry(name(n), "objectClass: groupOfNames", f"cn: group{n}", f"member: {USER}"))

    compare(options, "closed", fill)


def userattr(options) -> None:
    rule = acl("managers", 'userattr="manager#USERDN"')
    compare(
        options, "closed", lambda out: write(out, options, of_base=[rule], of_person=[f"manager: {USER}"], branches=10)
    )


def filtered(out, options) -> None:
    rule = acl("staff", 'userdn="ldap:///all"', '(targetfilter="(employeeType=staff)")(targetattr="*")')
    write(out, options, of_base=[rule], of_person=["employeeType: staff"], branches=10)


def targetfilter(options) -> None:
    compare(options, "closed", lambda out: filtered(out, options))


def scan(options) -> None:
    with instance(options.folder) as (server, place):
        setup(server, BASE, "--accessProfile", "closed")
        with open(place / "people.ldif", "w") as out:
            filtered(out, options)
        server.import_ldif(place / "people.ldif")
        progress(f"scan: {options.entries} people")
        server.start()
        links = [Link(server.port, *ROOT), Link(server.port, USER, PASSWORD)]
        ratios = []
        for turn in range(options.rounds + 1):
            took = []
            for link in links:
                began = cpu_seconds(server)
                link.send(load.search(BASE, 2, equal("employeeType", "staff"), ("cn",)))
                check(link.answer() == 0, "the scan is refused")
                took.append(cpu_seconds(server) - began)
                check(len(link.entries) == options.entries, f"the scan finds {len(link.entries)} entries")
                link.entries = []
            if turn:
                ratios.append(took[1] / took[0])
                progress(f"root {took[0]:.2f} s of CPU, the user {took[1]:.2f} s")
        ratios.sort()
        print(f"scan of {options.entries}: {statistics.median(ratios):.2f} ({ratios[0]:.2f}..{ratios[-1]:.2f})")
        check(server.stop() == 0, "the server did not end well")


def change(options) -> None:
    """One ACI comes and goes; the next search obeys it, and nobody else waits."""
    memory = []
    for count in (1, options.acis):

        def of_branch(n, count=count):
            rule = acl(f"own {n}", f'userdn="ldap:///uid=other.{n},{BASE}"')
            return rule if n < count else f"description: {n}"

        with instance(options.folder and f"{options.folder}-{count}") as (server, place):
            place.mkdir(exist_ok=True)
            setup(server, BASE, "--accessProfile", "closed")
            with open(place / "people.ldif", "w") as out:
                write(out, options, of_branch=of_branch, branches=options.acis)
            server.import_ldif(place / "people.ldif")
            began = time.monotonic()
            server.start()
            started = time.monotonic() - began
            root, user = Link(server.port, *ROOT), Link(server.port, USER, PASSWORD)
            seen = load.search(branch(5), 2, ANY)
            check(user.call(seen) == 32 or not user.entries, "the user sees what nobody grants")
            memory.append(anonymous_mib(server))
            changes, searches_after = [], []
            rule = acl("come and go", f'userdn="ldap:///{USER}"')[len("aci: ") :]
            for turn in range(2 * options.times):
                how = turn % 2
                began = time.monotonic()
                check(root.call(load.modify(branch(5), (how, "aci", rule))) == 0, "the change is refused")
                changed = time.monotonic()
                user.call(seen)
                searches_after.append(time.monotonic() - changed)
                changes.append(changed - began)
                check(bool(user.entries) == (how == 0), "the answered change is not in force")
            print(
                f"change with {count} ACIs: ms {load.told(changes)}; the next search, ms: {load.told(searches_after)}; "
                f"started in {started:.2f} s, memory {memory[-1]:.1f} MiB"
            )
            check(server.stop() == 0, "the server did not end well")
    print(f"{options.acis} ACIs take {memory[1] - memory[0]:.1f} MiB")


WHAT = {one.__name__: one for one in (defaults, others, branches, group, userattr, targetfilter, scan, change)}
ENTRIES = {"scan": 1_000_000, "change": 100_000}
ACIS = {"others": 1000, "branches": 10_000, "change": 100_000}


def main(words=None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("--folder", help="where the instance stays")
    parser.add_argument("--ldapload", help="the shared load generator")
    parser.add_argument("--entries", type=int, help="people")
    parser.add_argument("--acis", type=int, help="ACIs in the tree, one for each branch")
    parser.add_argument("--groups", type=int, default=1000, help="groups of the user")
    parser.add_argument("--rounds", type=int, default=7, help="pairs that are measured")
    parser.add_argument("--seconds", type=float, default=2, help="of one round")
    parser.add_argument("--times", type=int, default=200, help="change: how often the ACI comes and goes")
    options = parser.parse_args(words)
    options.entries = options.entries or ENTRIES.get(options.what, 100_000)
    options.acis = options.acis or ACIS.get(options.what, 0)
    WHAT[options.what](options)


if __name__ == "__main__":
    main()
