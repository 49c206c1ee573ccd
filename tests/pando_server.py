"""Instances of the real binary for the suites: made by `pando setup`, filled by `pando import-ldif`, ended by their own process id.

Knows the command line and the ports; knows nothing of what a suite asks the server.
"""
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASE = "dc=example,dc=com"
ROOT_DN = "cn=Directory Manager"
ROOT_PW = "secret12"
DIRECTORY_LDIF = HERE / "data" / "directory.ldif"
START_SECONDS_MAX = 60


def binary() -> str:
    """The binary under test: $PANDO, else what `cargo build --release` made."""
    found = os.environ.get("PANDO") or HERE.parent / "target" / "release" / "pando"
    if not Path(found).exists():
        raise SystemExit(f"{found} does not exist: run `cargo build --release` or set PANDO")
    return str(found)


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago; all are held open together so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


def until(condition, seconds=30):
    """Waits for what comes a moment later: a line of a log, an index that is built."""
    deadline = time.time() + seconds
    while time.time() < deadline:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it never came to that")


class Pando:
    """One instance directory and, when started, the server on it."""

    def __init__(self, directory: Path):
        self.dir = Path(directory)
        self.port, self.tls_port = free_ports(2)
        self.process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"ldap://127.0.0.1:{self.port}"

    @property
    def tls_url(self) -> str:
        return f"ldaps://127.0.0.1:{self.tls_port}"

    def tool(self, *args, check=True, **kw) -> subprocess.CompletedProcess:
        """Runs `pando TOOL --instance DIR …`; with check, a failure shows what the tool printed."""
        command = [binary(), args[0], *map(str, args[1:]), "--instance", str(self.dir)]
        done = subprocess.run(command, capture_output=True, text=True, **kw)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def setup(self, *more) -> "Pando":
        self.tool("setup", "--baseDN", BASE, "--rootUserDN", ROOT_DN, "--rootUserPassword", ROOT_PW,
                  "--ldapPort", self.port, "--ldapsPort", self.tls_port, "--no-prompt", *more)
        return self

    def import_ldif(self, ldif: Path, *more) -> "Pando":
        self.tool("import-ldif", "--backendID", "userRoot", "--ldifFile", ldif, "--offline", *more)
        return self

    def start(self) -> "Pando":
        log = open(self.dir / "logs" / "stdout", "ab")
        self.process = subprocess.Popen([binary(), "start", "--instance", str(self.dir)], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        deadline = time.time() + START_SECONDS_MAX
        while time.time() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{(self.dir / 'logs' / 'stdout').read_text()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.02)
        raise AssertionError("the server does not listen")

    def stop(self) -> int:
        """SIGTERM, as an operator would; gives the exit status."""
        process, self.process = self.process, None
        if process is None:
            return 0
        process.send_signal(signal.SIGTERM)
        return process.wait(60)

    def kill(self) -> None:
        """kill -9: nothing is flushed, nothing said."""
        process, self.process = self.process, None
        process.kill()
        process.wait()

    def remove(self) -> None:
        if self.process:
            self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def access_log(self) -> str:
        return (self.dir / "logs" / "access").read_text()
