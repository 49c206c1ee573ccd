#!/usr/bin/env python3
"""Source document 003 as a scenario: bursts of deletes, references that follow later, group searches meanwhile.

  scenario003.py [--scale 1] [--seconds 60] [--interval 10] [--report]

Makes an instance in a temporary folder (--folder keeps it), fills it, starts the server under test ($PANDO, else
target/release/pando), loads it, stops it, and asserts what must be right whatever the machine does; it exits with 1
when something is not. --report prints figures too; with --ldapload PATH (the shared generator) beside those of its echo
server in the same seconds.

Five suffixes, a backend each, and a sixth of two entries without reference indexes; references by owner, seeAlso,
uniqueMember, parent, domain and jobmember. At --scale 1 199,645 values are in more than 20 entries each, seven groups
have 90,000 members, and two groups refer to each other. Four connections ask
(&(objectClass=dominomodel)(|(seeAlso=…)(seeAlso=…))), two change groups, one deletes in bursts: people whom 21 entries
and seven groups name, and entries that nobody names. References follow after --interval.

For the figures of bench/RESULTS.md, with a release build and nothing else on the machine (8 GiB of disk, 2 GiB of
memory, 10 minutes):

  bench/scenario003.py --scale 1 --seconds 120 --interval 10 --report --ldapload PATH
"""

import argparse
import json
import re
import subprocess
import time
from pathlib import Path

import load
from instances import ROOT, check, clean, entry, equality, instance, monitor, print_waits, setup
from load import ANY, Crew, Echo, Link, both, either, equal, expect, progress
from pando_server import Pando, binary, until

ATTRIBUTES = ["owner", "seeAlso", "uniqueMember", "parent", "domain", "jobmember"]
CUSTOMER = "o=customer"
# Where the references are; people are in the first suffix.
HOLDERS = ["o=partners", "o=sales", "o=domino", "o=jobs"]
COUNTER = "o=counter"
UNREFERENCED = f"cmdo=calendar,{CUSTOMER}"
FREQUENT, NAMED_BY, GROUP_MEMBERS, ROLES, DOMINO_GROUPS = 199_645, 21, 90_000, 7, 200
DN_SYNTAX = "EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12"
SCHEMA = f"""dn: cn=schema
objectClass: top
objectClass: ldapSubentry
objectClass: subschema
attributeTypes: ( 1.3.6.1.4.1.32473.3.1 NAME 'parent' {DN_SYNTAX} )
attributeTypes: ( 1.3.6.1.4.1.32473.3.2 NAME 'domain' {DN_SYNTAX} )
attributeTypes: ( 1.3.6.1.4.1.32473.3.3 NAME 'jobmember' {DN_SYNTAX} )
attributeTypes: ( 1.3.6.1.4.1.32473.3.4 NAME 'cmdo' SUP name )
objectClasses: ( 1.3.6.1.4.1.32473.3.5 NAME 'dominomodel' SUP top STRUCTURAL MUST cn MAY ( {" $ ".join(ATTRIBUTES)} ) )
objectClasses: ( 1.3.6.1.4.1.32473.3.6 NAME 'calendarModel' SUP top STRUCTURAL MUST cmdo )
"""


def person(n: int) -> str:
    return f"uid=d{n:06},ou=people,{CUSTOMER}"


def role(n: int) -> str:
    return f"cn=role{n},{CUSTOMER}"


def app_group(n: int) -> str:
    return f"cn=app{n},ou=appgroups,{CUSTOMER}"


class Story:
    """How much of everything there is, and who names whom."""

    def __init__(self, scale: float):
        parts = len(ATTRIBUTES) * len(HOLDERS)
        # As many frequent values in each attribute of each suffix.
        bounds = [round(FREQUENT * scale * n / parts) for n in range(parts + 1)]
        # (suffix, attribute) → the people who are named there
        self.parts = {
            (HOLDERS[n % len(HOLDERS)], ATTRIBUTES[n // len(HOLDERS)]): range(bounds[n], bounds[n + 1])
            for n in range(parts)
        }
        self.frequent = bounds[-1]
        # Named by 20 entries each: just not frequent.
        self.nearly = max(3, self.frequent // 50)
        self.holders = max(NAMED_BY, max(len(part) for part in self.parts.values()) * NAMED_BY // 7)
        self.members = min(self.frequent, max(600, round(GROUP_MEMBERS * scale)))
        self.unnamed = max(200, round(100_000 * scale))

    def where(self, n: int):
        return next(place for place, part in self.parts.items() if n in part)

    def references(self, n: int) -> int:
        """Values that name a frequent person: NAMED_BY, and the roles."""
        return NAMED_BY + (ROLES if n < self.members else 0)

    def write(self, folder: Path) -> dict:
        """LDIF files by suffix."""
        files = {}
        for suffix in HOLDERS:
            # The same values, turned round: by holder its lines.
            lines = [[] for _ in range(self.holders)]
            for (place, attribute), part in self.parts.items():
                if place != suffix:
                    continue
                for at, n in enumerate(part):
                    for step in range(NAMED_BY):
                        lines[(at * NAMED_BY + step) % self.holders].append(f"{attribute}: {person(n)}")
            if suffix == HOLDERS[0]:
                for n in range(self.frequent, self.frequent + self.nearly):
                    for step in range(NAMED_BY - 1):
                        lines[(n + step) % self.holders].append(f"jobmember: {person(n)}")
            files[suffix] = folder / f"{suffix[2:]}.ldif"
            with open(files[suffix], "w") as out:
                out.write(entry(suffix, "objectClass: organization", f"o: {suffix[2:]}"))
                for number, own in enumerate(lines):
                    out.write(entry(f"cn=job{number},{suffix}", "objectClass: dominomodel", f"cn: job{number}", *own))
        files[CUSTOMER] = folder / "customer.ldif"
        with open(files[CUSTOMER], "w") as out:
            out.write(entry(CUSTOMER, "objectClass: organization", "o: customer"))
            for ou in ("people", "appgroups"):
                out.write(entry(f"ou={ou},{CUSTOMER}", "objectClass: organizationalUnit", f"ou: {ou}"))
            out.write(entry(UNREFERENCED, "objectClass: calendarModel", "cmdo: calendar"))
            for n in range(self.frequent + self.nearly):
                out.write(
                    entry(
                        person(n),
                        "objectClass: inetOrgPerson",
                        f"uid: d{n:06}",
                        f"cn: Person {n}",
                        f"sn: Sample {n % 977}",
                    )
                )
            for n in range(self.unnamed):
                out.write(entry(f"cmdo=c{n},{UNREFERENCED}", "objectClass: calendarModel", f"cmdo: c{n}"))
            for n in range(ROLES):
                out.write(
                    entry(
                        role(n),
                        "objectClass: groupOfUniqueNames",
                        f"cn: role{n}",
                        *(f"uniqueMember: {person(m)}" for m in range(self.members)),
                    )
                )
            # What document 003 found in the end: two groups that name each other.
            for one, other in ((0, 1), (1, 0)):
                out.write(
                    entry(
                        app_group(one),
                        "objectClass: groupOfUniqueNames",
                        f"cn: app{one}",
                        f"uniqueMember: {app_group(other)}",
                        f"uniqueMember: {person(one)}",
                        f"seeAlso: {app_group(other)}",
                    )
                )
            for n in range(2, DOMINO_GROUPS):
                out.write(entry(app_group(n), "objectClass: groupOfUniqueNames", f"cn: app{n}"))
            for n in range(10 * DOMINO_GROUPS):
                sees = {n % DOMINO_GROUPS, n * 7 % DOMINO_GROUPS}
                out.write(
                    entry(
                        f"cn=model{n},ou=appgroups,{CUSTOMER}",
                        "objectClass: dominomodel",
                        f"cn: model{n}",
                        *(f"seeAlso: {app_group(g)}" for g in sees),
                    )
                )
        files[COUNTER] = folder / "counter.ldif"
        files[COUNTER].write_text(
            entry(COUNTER, "objectClass: organization", "o: counter")
            + entry(f"cn=last,{COUNTER}", "objectClass: device", "cn: last")
        )
        return files

    def models(self, g: int) -> set:
        return {n for n in range(10 * DOMINO_GROUPS) if g in (n % DOMINO_GROUPS, n * 7 % DOMINO_GROUPS)}


def log_text(server: Pando, name: str) -> str:
    """The log with what was put aside of it."""
    return "".join(
        file.read_text(errors="replace")
        for file in sorted((server.dir / "logs").glob(f"{name}*"), key=lambda f: f.stat().st_mtime)
    )


def frequent_keys(server: Pando, story: Story) -> int:
    """What document 003 counted with dbscan -G 20: values in more than 20 entries, of the six attributes in the five
    suffixes."""
    total = 0
    for suffix in HOLDERS:
        told = server.tool(
            "backendstat",
            "show-index-status",
            "-n",
            suffix[2:],
            "-b",
            suffix,
            "--min-count",
            "20",
            *(word for name in ATTRIBUTES for word in ("-i", name)),
            "--json",
        ).stdout
        for index in json.loads(told)["indexes"]:
            check("frequent" in index, f"backendstat --min-count counts nothing: {index}")
            total += index["frequent"]["count"]
    return total


def story(options) -> None:
    plan = Story(options.scale)
    with instance(options.folder) as (server, place):
        progress(
            f"data: {plan.frequent} frequent values, {4 * plan.holders} entries that name them, groups of "
            f"{plan.members}"
        )
        files = plan.write(place)
        setup(server, CUSTOMER)
        (server.dir / "schema" / "99-story.ldif").write_text(SCHEMA)
        backends = "".join(
            f'[backend.{suffix[2:]}]\nbase-dn = "{suffix}"\nindex-entry-limit = 0\n'
            f'[backend.{suffix[2:]}.index.objectClass]\nindex-type = "equality"\n'
            + equality(suffix[2:], [] if suffix == COUNTER else ATTRIBUTES)
            for suffix in [*HOLDERS, COUNTER]
        )
        rules = f"""
[plugin."Referential Integrity"]
type = "referential-integrity"
attribute-type = {str(ATTRIBUTES).replace("'", '"')}
update-interval = "{options.interval} s"
"""
        server.configure(
            equality("userRoot", [name for name in ATTRIBUTES if name != "uniqueMember"]) + backends + rules
        )
        for suffix, file in files.items():
            began = time.monotonic()
            server.tool(
                "import-ldif",
                "--backendID",
                "userRoot" if suffix == CUSTOMER else suffix[2:],
                "--ldifFile",
                file,
                "--offline",
            )
            progress(f"import of {suffix}: {time.monotonic() - began:.1f} s")
            file.unlink()
        # S3-19: the sixth suffix has no reference indexes. The server says so, and which command makes each.
        for _ in ATTRIBUTES:
            refused = subprocess.run(
                [binary(), "start", "--instance", str(server.dir)], capture_output=True, text=True, timeout=120
            )
            words = refused.stdout + refused.stderr
            check(refused.returncode != 0, "the server starts although o=counter has no reference indexes")
            missing = re.search(r'(\w+) has no equality index in backend "counter" \(o=counter\)', words)
            check(
                missing and f"--backend-name counter --index-name {missing[1]} --set index-type:equality" in words,
                f"no command for the missing index: {words}",
            )
            server.configure(equality("counter", [missing[1]]))
        server.tool(
            "rebuild-index", "-b", COUNTER, *(word for name in ATTRIBUTES for word in ("-i", name)), "--offline"
        )
        counted = frequent_keys(server, plan)
        check(counted == plan.frequent, f"backendstat --min-count 20 counts {counted} values, not {plan.frequent}")
        server.start()
        with Echo(options.ldapload) as echo:
            run_story(options, plan, server, echo)


def run_story(options, plan: Story, server: Pando, echo: Echo) -> None:
    link = Link(server.port, *ROOT)
    before = monitor(link, "Referential Integrity")
    queries = []
    for n in range(DOMINO_GROUPS):
        pair = (n, (n + 1) % DOMINO_GROUPS)
        wanted = both(
            equal("objectClass", "dominomodel"),
            either(*(equal("seeAlso", app_group(g).replace(",", " , ").upper()) for g in pair)),
        )
        queries.append((load.search(CUSTOMER, 2, wanted, ("cn",)), len(plan.models(pair[0]) | plan.models(pair[1]))))

    def group_search(rng):
        request, count = rng.choice(queries)
        return (
            request,
            lambda code, entries: (
                None if (code, len(entries)) == (0, count) else f"result {code}, {len(entries)} entries, not {count}"
            ),
        )

    strangers = [f"cn=stranger{n},{CUSTOMER}" for n in range(1000)]
    state: dict = {}

    def group_change(rng):
        """Members come and go, one at a time."""
        group, who = state.pop("in", None) or (None, None)
        if group is None:
            group, who = (
                role(rng.randrange(ROLES)),
                f"{rng.choice(strangers)[: -len(CUSTOMER) - 1]}.{rng.randrange(10**9)},{CUSTOMER}",
            )
            state["in"] = (group, who)
            return load.modify(group, (0, "uniqueMember", who)), expect(0)
        return load.modify(group, (1, "uniqueMember", who)), expect(0)

    start = time.monotonic()
    crew = Crew(start)
    rate = options.rate
    crew.hire("search", 4, server.port, ROOT, group_search, rate / 4)
    crew.hire("group", 2, server.port, ROOT, group_change, rate / 20)
    if echo.port:
        crew.hire("echo", 4, echo.port, ROOT, lambda rng: (rng.choice(queries)[0], expect(0)), rate / 4)
    deletes, gone, unnamed = [], [], 0
    # The bursts: people from the front are in the roles, too.
    total = min(plan.frequent // 2, max(20, int(options.deletes * options.seconds)))
    bursts = max(2, int(options.seconds / 5))
    doomed = [n * (plan.frequent // total) for n in range(total)]
    for burst in range(bursts):
        for n in doomed[burst * total // bursts : (burst + 1) * total // bursts]:
            # As in document 003, three of four deletes are of entries that nobody names.
            for dn in (
                *(f"cmdo=c{unnamed + more},{UNREFERENCED}" for more in range(3) if unnamed + more < plan.unnamed),
                person(n),
            ):
                began = time.monotonic()
                code = link.call(load.delete(dn))
                deletes.append((began - start, time.monotonic() - began))
                check(code == 0, f"the delete of {dn} is refused with {code}")
            unnamed = min(plan.unnamed, unnamed + 3)
            gone.append(n)
        if burst < bursts - 1:
            time.sleep(max(0, start + (burst + 1) * options.seconds / bursts - time.monotonic()))
    clean(link, options.interval + 300)
    lag = time.monotonic() - start - sum(deletes[-1])
    crew.finish()
    check(not crew.wrong_count, f"{crew.wrong_count} operations went wrong, such as {crew.wrong[:3]}")
    gone += deleted_together(plan, link, set(gone))
    after_story(options, plan, server, link, before, gone, unnamed)
    if options.report:
        print(
            f"{len(gone)} people deleted, {sum(plan.references(n) for n in gone)} references followed, {unnamed} "
            f"deletes of entries that nobody names"
        )
        print(
            load.table(
                {**crew.samples, "delete": deletes},
                ["search", *(["echo"] if echo.port else []), "group", "delete"],
                options.window,
            )
        )
        now = monitor(link, "Referential Integrity")
        print(
            f"clean {lag:.2f} s after the last delete, the interval of {options.interval} s included; "
            f"longest from delete to clean {int(now['clean-up-time-max-us']) / 1e6:.2f} s"
        )
        print_waits(link)
    check(server.stop() == 0, "the server did not end well")
    counted = frequent_keys(server, plan)
    check(
        counted == plan.frequent - len(gone),
        f"backendstat --min-count 20 counts {counted} values at the end, not {plan.frequent - len(gone)}",
    )
    for suffix in [CUSTOMER, *HOLDERS, COUNTER] if options.scale < 0.1 else [CUSTOMER]:
        server.tool("verify-index", "-b", suffix)
    print(f"story: {len(gone)} people gone, nothing refused, nobody refers to them any more")


def deleted_together(plan: Story, link: Link, dead: set) -> list:
    """S3-23: five members of all the roles go at once; each role is changed once for all of them, not once for each."""

    def proposals():
        return int(monitor(link, "userRoot Backend")["proposals-accepted"])

    doomed = [n for n in range(2, plan.members) if n not in dead][:5]
    before = proposals()
    link.send(b"".join(load.numbered(load.delete(person(n)), number) for number, n in enumerate(doomed)))
    codes = [link.answer() for _ in doomed]
    check(codes == [0] * len(doomed), f"deletes that came together are refused: {codes}")
    clean(link)
    # The first may be due a moment before the others.
    grown = proposals() - before
    check(
        len(doomed) < grown <= len(doomed) + 3,
        f"{grown} changes for {len(doomed)} deletes of members of the same groups",
    )
    return doomed


def after_story(options, plan: Story, server: Pando, link: Link, before: dict, gone: list, unnamed: int) -> None:
    # Nobody refers to who is gone.
    for n in gone if len(gone) <= 2000 else gone[:: len(gone) // 2000]:
        anywhere = either(*(equal(name, person(n)) for name in ATTRIBUTES))
        for suffix in [CUSTOMER, *HOLDERS]:
            check(
                link.call(load.search(suffix, 2, anywhere)) == 0 and not link.entries,
                f"{person(n)} is still named in {suffix}",
            )
    dead = set(gone)
    alive = next(n for n in range(plan.frequent) if n not in dead)
    suffix, attribute = plan.where(alive)
    link.call(load.search(suffix, 2, equal(attribute, person(alive))))
    check(
        len(link.entries) == NAMED_BY,
        f"{person(alive)} lives and is named by {len(link.entries)} entries, not {NAMED_BY}",
    )
    # S3-17, S3-32: what the monitor counts is what happened.
    now = monitor(link, "Referential Integrity")

    def grown(name):
        return int(now[name]) - int(before[name])

    references = sum(plan.references(n) for n in gone)
    # The first two are members of the groups that name each other.
    references += sum(n < 2 for n in gone)
    check(
        grown("references-found") == references,
        f"the monitor counts {grown('references-found')} references, not {references}",
    )
    check(grown("names-followed") == len(gone), f"the monitor counts {grown('names-followed')} names, not {len(gone)}")
    check(
        grown("entries-changed") == references,
        f"the monitor counts {grown('entries-changed')} entries, not {references}",
    )
    # A clean-up is logged a moment after it is done.
    until(
        lambda: log_text(server, "access").count('type=internal plugin="Referential Integrity"') >= len(gone),
        say=lambda: "not every clean-up is in the access log",
    )
    log = log_text(server, "access")
    internal = {}
    for line in log.splitlines():
        found = re.search(
            r'MODIFY .*?\b(conn=\d+ op=\d+) .*type=internal plugin="Referential Integrity" dn="([^"]*)" '
            r"entries=(\d+) references=(\d+) result=0 etime=\d+",
            line,
        )
        if found:
            check(found[2] not in internal, f"two internal lines for {found[2]}")
            internal[found[2]] = (found[1], int(found[3]))
    causes = {dn: ids for ids, dn in re.findall(r'(?m)DELETE .*?\b(conn=\d+ op=\d+) .*?dn="([^"]*)"', log)}
    for n in gone:
        check(person(n) in internal, f"the access log has no internal line for {person(n)}")
        ids, entries = internal[person(n)]
        check(
            ids == causes.get(person(n)),
            f"{person(n)} was deleted by {causes.get(person(n))}, the clean-up names {ids}",
        )
        check(
            entries == plan.references(n) + (n < 2),
            f"{entries} entries were cleaned of {person(n)}, not {plan.references(n)}",
        )
    # S3-27: a delete of an entry that nobody names has no clean-up.
    check(
        len(internal) == len(gone),
        f"{len(internal)} clean-ups for {len(gone)} names: {unnamed} other deletes must have none",
    )
    # S3-01: no errors, S3-29: the circle is named.
    link.call(load.search(app_group(0), 0, ANY, ("isMemberOf",)))
    (circle,) = until(lambda: [line for line in log_text(server, "errors").splitlines() if "circle" in line])
    check(app_group(0) in circle and app_group(1) in circle, f"the error log does not name the circle: {circle}")


def main(words=None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    load.add_options(parser)
    parser.add_argument("--scale", type=float, default=0.005, help="1 is the size of document 003")
    parser.add_argument("--interval", type=float, default=2, help="update-interval in seconds")
    parser.add_argument(
        "--deletes", type=float, default=20, help="people deleted a second, in bursts every five seconds"
    )
    story(parser.parse_args(words))


if __name__ == "__main__":
    main()
