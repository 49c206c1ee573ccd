"""Instances of the real binary for the suites: made by `pando setup`, filled by `pando import-ldif`, ended by their own
process id.

Knows the command line, the ports and the files of an instance; knows nothing of what a suite asks the server.
"""

import os
import re
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
# For what comes a moment later: much more than it takes, as other work may have the machine.
PATIENCE_SECONDS = 120


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


def until(condition, seconds=PATIENCE_SECONDS, say=lambda: ""):
    """Waits for what comes a moment later, such as a line of a log or an index that is built, and gives it: the first
    true value of the condition. When it never comes, what `say` gives is shown. Counts its own waits: a machine that
    stands still takes none of the seconds."""
    for _ in range(round(seconds / 0.02)):
        if came := condition():
            return came
        time.sleep(0.02)
    raise AssertionError(f"it never came to that: {say()}")


def connect(url: str, dn: str = ROOT_DN, password: str = ROOT_PW):
    """A bound connection of python-ldap. It follows no references, and takes any certificate."""
    # Scenarios of bench/ do without it.
    import ldap

    con = ldap.initialize(url)
    con.set_option(ldap.OPT_REFERRALS, 0)
    if url.startswith("ldaps:"):
        con.set_option(ldap.OPT_X_TLS_REQUIRE_CERT, ldap.OPT_X_TLS_NEVER)
        con.set_option(ldap.OPT_X_TLS_NEWCTX, 0)
    con.simple_bind_s(dn, password)
    return con


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

    @property
    def config(self) -> Path:
        return self.dir / "pando.toml"

    def tool(self, *args, check=True, **kw) -> subprocess.CompletedProcess:
        """Runs `pando TOOL --instance DIR …`; with check, a failure shows what the tool printed."""
        command = [binary(), args[0], *map(str, args[1:]), "--instance", str(self.dir)]
        done = subprocess.run(command, capture_output=True, text=True, **kw)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def setup(self, *more) -> "Pando":
        """With a fast scheme for passwords unless told otherwise: what tests are about is something else."""
        if "--defaultPasswordStorageScheme" not in more:
            more = (*more, "--defaultPasswordStorageScheme", "Salted SHA-512")
        self.tool(
            "setup",
            "--baseDN",
            BASE,
            "--rootUserDN",
            ROOT_DN,
            "--rootUserPassword",
            ROOT_PW,
            "--ldapPort",
            self.port,
            "--ldapsPort",
            self.tls_port,
            "--no-prompt",
            *more,
        )
        return self

    def import_ldif(self, ldif: Path, *more) -> "Pando":
        self.tool("import-ldif", "--backendID", "userRoot", "--ldifFile", ldif, "--offline", *more)
        return self

    def configure(self, tables: str) -> "Pando":
        """Appends tables to the configuration; a running server is told to take them."""
        with open(self.config, "a") as file:
            file.write(tables)
        if self.process:
            self.tool("reload")
        return self

    def start(self, **environment) -> "Pando":
        """Gives the server further variables of the environment."""
        with open(self.dir / "logs" / "stdout", "ab") as log:
            self.process = subprocess.Popen(
                [binary(), "start", "--instance", str(self.dir)],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **environment},
            )
        until(self.is_listening)
        return self

    def is_listening(self) -> bool:
        if self.process.poll() is not None:
            raise AssertionError(
                f"the server ended with {self.process.returncode}:\n{(self.dir / 'logs' / 'stdout').read_text()}"
            )
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def connect(self, dn: str = ROOT_DN, password: str = ROOT_PW):
        """A bound connection of python-ldap, by default as root."""
        return connect(self.url, dn, password)

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

    def error_log(self) -> str:
        return (self.dir / "logs" / "errors").read_text()

    def answer_to(self, request: str) -> str:
        """The line of the access log with the answer to the first search whose request has the text."""

        def answered():
            log = self.access_log()
            asked = re.search(rf"SEARCH REQ (conn=\d+ op=\d+) .*{re.escape(request)}", log)
            return asked and re.search(rf"^.* SEARCH RES {asked[1]} .*$", log, re.M)

        return until(answered, say=lambda: self.access_log()[-2000:])[0]
