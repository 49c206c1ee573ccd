#!/usr/bin/env python3
"""Restoring to random moments: random updates, backups and kill -9 of server, backup and restore; what comes back is
what the model had at that moment.

  restore_rounds.py ROUNDS [SEED]     100 rounds are the figure to report; the test suite runs a few

One client updates a few entries, so that the model knows the directory after each change: which one has which number,
and between which times it was made. Meanwhile backups are made, full and incremental; some are killed, and so is the
server, once in a while. Then a moment is chosen (a backup, a change, a time), a restore is killed at a random time, and
the directory must be the old one or the restored one, whole; then it is restored to the end and compared."""

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import ldap
from pando_server import BASE, DIRECTORY_LDIF, Pando, binary

PEOPLE = f"ou=People,{BASE}"
ENTRIES = 12
ABSENT = None
FAULTS = (ldap.SERVER_DOWN, ldap.CONNECT_ERROR, ldap.UNAVAILABLE, ldap.TIMEOUT)


class Model:
    """What the directory was after each change since the restored data began."""

    def __init__(self, state: dict, first_change: int):
        self.first_change = first_change
        # After change `first_change + n`, and when that was certain.
        self.states = [dict(state)]
        self.known_at = [time.time()]
        self.begun_at = [time.time()]

    @property
    def now(self) -> dict:
        return self.states[-1]

    def note(self, name, value, begun):
        self.states.append({**self.now, name: value})
        self.begun_at.append(begun)
        self.known_at.append(time.time())

    def at_change(self, number: int) -> dict:
        return self.states[number - self.first_change]

    def when(self, found: dict) -> list:
        """Which changes left the directory so, and when: for messages."""
        all_states = zip(self.states, self.begun_at, self.known_at, strict=True)
        return [
            (self.first_change + n, datetime.fromtimestamp(begun, UTC), datetime.fromtimestamp(known, UTC))
            for n, (state, begun, known) in enumerate(all_states)
            if present(state) == found
        ]

    def moments(self, since: float) -> list:
        """Times between two changes, each with the state then."""
        ends = [*self.begun_at[1:], time.time()]
        spans = zip(self.known_at, ends, self.states, strict=True)
        return [((known + end) / 2, state) for known, end, state in spans if end - known > 0.002 and known > since]


class Rounds:
    def __init__(self, instance: Pando, bak: Path, seed):
        self.random, self.instance, self.bak = random.Random(seed), instance, bak
        self.count, self.compared, self.killed = 0, 0, {"server": 0, "backup": 0, "restore": 0}
        self.model = Model({}, 0)
        self.needs_full = True
        # Backups with greater numbers are of the present data.
        self.data_began = 0

    # What changes.

    def update(self, con):
        name = f"round.{self.random.randrange(ENTRIES)}"
        old, dn = self.model.now.get(name), f"cn={name},{PEOPLE}"
        value = ABSENT if old and self.random.random() < 0.2 else str(self.random.randrange(10**9))
        begun = time.time()
        if old is ABSENT:
            attributes = [("objectClass", [b"device"]), ("cn", [name.encode()]), ("description", [value.encode()])]
            con.add_s(dn, attributes)
        elif value is ABSENT:
            con.delete_s(dn)
        else:
            con.modify_s(dn, [(ldap.MOD_REPLACE, "description", [value.encode()])])
        self.model.note(name, value, begun)
        time.sleep(self.random.choice([0, 0.004]))

    def update_until(self, stop: threading.Event, failures: list):
        try:
            con = self.instance.connect()
            while not stop.is_set():
                self.update(con)
        except FAULTS:
            pass
        except Exception as fault:  # noqa: BLE001
            failures.append(fault)

    def found(self) -> dict:
        """The entries in the files."""
        done = self.instance.tool("export-ldif", "-n", "userRoot", "--offline", "-l", "-")
        found, name = {}, None
        for line in done.stdout.splitlines():
            if line.startswith("dn: "):
                name = line[4:].partition(",")[0].removeprefix("cn=")
            elif line.startswith("description: ") and name.startswith("round."):
                found[name] = line.removeprefix("description: ")
        return found

    def settle(self, before: dict):
        """After a kill: the update in flight was made or not."""
        found, begun = self.found(), time.time()
        now = present(self.model.now)
        if found != now:
            [name] = [name for name in {*found, *now} if found.get(name) != now.get(name)]
            self.model.note(name, found.get(name), begun)

    # What is done.

    def tool(self, kill_after, *args):
        """Runs a tool; killed after so many seconds, if it still runs."""
        command = [binary(), *map(str, args), "--instance", str(self.instance.dir)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, err = process.communicate(timeout=kill_after)
            return process.returncode, out + err
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, ""

    def back_up(self, kind, kill=False):
        self.count += 1
        name = f"b{self.count}"
        is_full = kind == "full" or self.needs_full
        args = ["backup", "-d", self.bak, "-I", name, "--rest", "0", *([] if is_full else ["-i"])]
        status, told = self.tool(self.random.uniform(0, 0.5) if kill else None, *args)
        if status is None:
            self.killed["backup"] += 1
            # It may have been completed just before.
            self.needs_full = self.needs_full and name not in [one["backupID"] for one in self.backups()]
            return
        assert status == 0, told
        self.needs_full = False

    def backups(self):
        return json.loads(self.instance.tool("backup", "list", "-d", self.bak, "--json").stdout)

    def work(self):
        """Updates, with backups beside them and kills in between."""
        for _ in range(self.random.randrange(2, 4)):
            stop, failures = threading.Event(), []
            writer = threading.Thread(target=self.update_until, args=(stop, failures))
            writer.start()
            time.sleep(self.random.uniform(0, 0.3))
            kind = self.random.choice(["full", "incremental", "incremental"])
            self.back_up(kind, kill=self.random.random() < 0.3)
            if self.random.random() < 0.4:
                self.instance.kill()
                self.killed["server"] += 1
            stop.set()
            writer.join()
            assert not failures, failures
            if self.instance.process is None:
                self.settle(self.model.now)
                self.instance.start()
        self.back_up("incremental")

    def choose(self):
        """A moment of this data, as options of the tool, and the model then."""
        own = [one for one in self.backups() if int(one["backupID"][1:]) > self.data_began]
        fulls = [one for one in own if one["kind"] == "full"]
        kind = self.random.choice(["latest", "backup", "change", "time", "time"])
        last, first = own[-1]["lastChange"], fulls[0]["lastChange"]
        if kind == "backup":
            one = self.random.choice(own)
            return ["-I", one["backupID"]], self.model.at_change(one["lastChange"])
        if kind == "change":
            number = self.random.randrange(first, last + 1)
            return ["--to-change", number], self.model.at_change(number)
        if kind == "time":
            since = datetime.fromisoformat(fulls[0]["within"]).timestamp()
            until = datetime.fromisoformat(own[-1]["until"]).timestamp()
            times = [(at, state) for at, state in self.model.moments(since) if since < at < until]
            if times:
                at, state = self.random.choice(times)
                return ["--to-time", datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")], state
        return [], self.model.at_change(last)

    def round(self):
        self.work()
        if self.random.random() < 0.5:
            assert self.instance.stop() == 0
        else:
            self.instance.kill()
            self.killed["server"] += 1
        old = present(self.model.now)
        assert self.found() == old
        moment, state = self.choose()
        expected = present(state)
        status, told = self.tool(self.random.uniform(0, 0.4), "restore", "-d", self.bak, *moment)
        assert status in (0, None), (told, self.backups())
        if status is None:
            self.killed["restore"] += 1
        found = self.found()
        assert found in (old, expected), (moment, found, old, expected)
        self.instance.tool("restore", "-d", self.bak, *moment)
        found = self.found()
        assert found == expected, (moment, self.model.when(found), self.model.when(expected), found, expected)
        self.instance.tool("verify-index", "-b", BASE)
        self.compared += 1
        # The next round goes on with the restored data: data of its own, whose numbers go on.
        self.needs_full = True
        self.data_began = self.count
        self.instance.start()
        self.back_up("full")
        self.model = Model(expected, self.backups()[-1]["lastChange"])


def present(state: dict) -> dict:
    return {name: value for name, value in state.items() if value is not ABSENT}


def rounds(instance: Pando, bak: Path, count: int, seed) -> Rounds:
    """The instance is running, without entries of ours."""
    bak.mkdir()
    run = Rounds(instance, bak, seed)
    for number in range(count):
        try:
            run.round()
        except BaseException:
            print(f"round {number} of seed {seed}; {run.killed}", file=sys.stderr)
            raise
    return run


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = sys.argv[2] if len(sys.argv) > 2 else str(random.randrange(10**6))
    with tempfile.TemporaryDirectory() as place:
        instance = Pando(Path(place) / "inst")
        instance.setup().import_ldif(DIRECTORY_LDIF).start()
        run = rounds(instance, Path(place) / "bak", count, seed)
        instance.remove()
    print(f"{run.compared} rounds, seed {seed}: every restore was the model; kill -9 of {run.killed}")


if __name__ == "__main__":
    main()
