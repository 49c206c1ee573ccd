"""pando top: at a terminal with its keys, once, as JSON, and the entries of cn=monitor that it is made of."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import ldap
import ldap.controls.psearch
import pytest
from pando_server import BASE, ROOT_DN, ROOT_PW, binary, until

PATIENCE_SECONDS = 60
ROOT = ("-D", ROOT_DN, "-w", ROOT_PW)


class Live:
    """pando top at a terminal of its own."""

    def __init__(self, *words):
        self.end, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 150, 0, 0))
        self.before = termios.tcgetattr(other)
        self.other = other
        self.process = subprocess.Popen([binary(), "top", *words], stdin=other, stdout=other, stderr=other)
        self.text = ""

    def until(self, text):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.text:
            assert time.monotonic() < deadline, f"{text!r} is not in {self.text!r}"
            if select.select([self.end], [], [], 0.2)[0]:
                self.text += os.read(self.end, 65536).decode()
        self.text = self.text.split(text, 1)[1]
        return self

    def press(self, key):
        os.write(self.end, key.encode())
        return self

    def ended(self):
        """The status, once the screen is given back and the terminal is as it was."""
        self.until("\x1b[?25h\x1b[?1049l")
        status = self.process.wait(PATIENCE_SECONDS)
        assert termios.tcgetattr(self.other) == self.before
        os.close(self.other)
        os.close(self.end)
        return status


def top(*words):
    command = [str(word) for word in (binary(), "top", *words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_keys_of_the_live_view(server):
    live = Live("--instance", str(server.dir), "-s", "1")
    live.until("\x1b[?1049h\x1b[?25l").until("Operation ").until("userRoot").until("Operations under way: ")
    live.until("p pause").press("c").until("Connections by activity: ").until("cn=local administrator")
    live.press("s").until("Connections by user: ").press("s").until("Connections by number: ")
    live.press("p").until("paused, p goes on").press("o").until("Operations under way: ").press("p").until("p pause")
    assert live.press("q").ended() == 0


@pytest.mark.parametrize("end", ["key", "signal"])
def test_the_terminal_is_given_back(server, end):
    live = Live("--instance", str(server.dir)).until("Operations under way: ")
    if end == "key":
        live.press("\x03")
    else:
        live.process.terminate()
    assert live.ended() == 0


def test_one_picture_and_lines_of_json(server):
    con = server.connect()
    con.search_s(BASE, ldap.SCOPE_BASE)
    done = top("--instance", server.dir, "--once", "-s", "1")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^search +\d+\.\d +\d+ ", done.stdout, re.M) and "\x1b" not in done.stdout
    assert re.search(rf"^conn=\d+ 127\.0\.0\.1:\d+, {ROOT_DN}: idle for \d+\.\d s$", done.stdout, re.M)
    done = top("-h", "127.0.0.1", "-p", server.port, *ROOT, "--json", "--once", "-s", "1")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    shown = json.loads(line)
    # The searches of the tool itself.
    assert shown["operations"]["search"]["count"] > 2 and shown["operations"]["search"]["milliseconds"]["p50"] > 0
    assert {ROOT_DN} <= {one["dn"] for one in shown["connections"]["shown"]}
    assert shown["backends"]["userRoot"]["writerState"] == "nothing" and shown["diskFreeBytes"] > 0


def test_operations_under_way_are_told(server):
    """A persistent search is no answer yet."""
    con = server.connect()
    control = ldap.controls.psearch.PersistentSearchControl(changeTypes=["add"], changesOnly=True)
    con.search_ext(f"ou=People,{BASE}", ldap.SCOPE_SUBTREE, "(uid=nobody)", serverctrls=[control])
    watcher = server.connect()

    def under_way():
        found = watcher.search_s("cn=Client Connections,cn=monitor", ldap.SCOPE_BASE)[0][1]
        connections = [json.loads(value) for value in found.get("connection", [])]
        return [(one["dn"], what) for one in connections for what in one["operations"]]

    until(lambda: under_way())
    ((user, operation),) = under_way()
    assert (user, operation["kind"]) == (ROOT_DN, "SEARCH") and f'base="ou=People,{BASE}"' in operation["request"]
    con.unbind_s()
    until(lambda: not under_way())


def test_slow_operations_are_remembered(fresh):
    fresh.tool("dsconfig", "set-global-configuration-prop", "--set", "stall-threshold:1 ms")
    fresh.start()
    con = fresh.connect()
    slow = "cn=Stalls,cn=monitor"

    def told():
        # Its update waits for the disk for longer than that, sooner or later.
        con.modify_s(f"uid=user.1,ou=People,{BASE}", [(ldap.MOD_REPLACE, "description", [b"slow %f" % time.time()])])
        found = con.search_s(slow, ldap.SCOPE_BASE)[0][1].get("slow-operation", [])
        return [one for one in map(json.loads, found) if one["kind"] == "MODIFY"]

    until(told)
    last = told()[-1]
    assert last["time-us"] >= 1000 and last["why"] and last["waits"].startswith("queue ")


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        (["--instance", "nowhere"], 1, "there is no instance in nowhere"),
        (["-s", "0"], 2, "0 is not in 1..=3600"),
        (["-D", ROOT_DN, "-w", "wrong"], 49, "the bind is refused"),
        (["-w", ROOT_PW], 1, "give the name with --bindDN"),
        (["-D", f"uid=user.1,ou=People,{BASE}", "-w", "password"], 1, "You do not have sufficient privileges"),
    ],
)
def test_what_cannot_be_done_is_said(server, words, status, complaint):
    done = top("-h", "127.0.0.1", "-p", server.port, "--once", *words)
    assert (done.returncode, done.stdout) == (status, "") and complaint in done.stderr, done.stderr
