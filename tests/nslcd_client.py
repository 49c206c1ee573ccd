"""nslcd and its library for getent, which look accounts up as a machine's logins do: unpacked from Debian's packages,
installed nowhere. Skips a test where they cannot be had or run.

Runs in name spaces of its own: there /etc and /run are others, so that the machine's files stay as they are. Knows
nothing of what a suite asks.
"""

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from pando_server import BASE, until

PACKAGES = ("nslcd", "libnss-ldapd")
FETCH_SECONDS_MAX = 300
CONFIGURATION = """
uri {url}
base {base}
{more}
"""
# The script becomes the server, so that the process id is the server's; the library looks for the socket below /run.
START = """
set -e
mount --bind {folder}/etc /etc
mount -t tmpfs tmpfs /run
mkdir /run/nslcd
exec {nslcd} --nofork
"""


def unpacked() -> Path:
    """The folder with what is in the packages."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pando-tests" / "nslcd"
    if not (cache / "usr/sbin/nslcd").is_file():
        for tool in ("apt-get", "dpkg"):
            if not shutil.which(tool):
                pytest.skip(f"needs Debian's packages {' and '.join(PACKAGES)}: {tool} is not here")
        cache.mkdir(parents=True, exist_ok=True)
        try:
            done = subprocess.run(
                ["apt-get", "-qq", "download", *PACKAGES],
                cwd=cache,
                capture_output=True,
                text=True,
                timeout=FETCH_SECONDS_MAX,
            )
        except subprocess.TimeoutExpired:
            pytest.skip(f"Debian's packages {PACKAGES} did not come within {FETCH_SECONDS_MAX} s")
        if done.returncode != 0:
            pytest.skip(f"Debian's packages {PACKAGES} cannot be fetched: {done.stderr.strip()[-300:]}")
        for package in cache.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, cache], check=True)
    return cache


class Nslcd:
    """A running nslcd; `getent` asks it as programs do that look users up."""

    def __init__(self, process: subprocess.Popen, library: Path):
        self.process, self.library = process, library

    def getent(self, *what: str) -> list[str]:
        """The lines, none when nothing was found."""
        done = subprocess.run(
            ["nsenter", f"--target={self.process.pid}", "--mount", "getent", "--service=ldap", *what],
            env={**os.environ, "LD_LIBRARY_PATH": str(self.library)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode in (0, 2), done.stderr
        return done.stdout.splitlines()


@contextmanager
def nslcd(folder: Path, url: str, more: str = "", base: str = BASE):
    """A running nslcd; `more` are further lines of its configuration."""
    packages = unpacked()
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        pytest.skip("no name space of its own for nslcd: needs root")
    shutil.copytree("/etc", folder / "etc", symlinks=True, ignore_dangling_symlinks=True)
    (folder / "etc/nslcd.conf").write_text(CONFIGURATION.format(url=url, base=base, more=more))
    (folder / "etc/nslcd.conf").chmod(0o600)
    script = START.format(folder=folder, nslcd=packages / "usr/sbin/nslcd")
    process = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stderr=subprocess.PIPE, text=True)
    client = Nslcd(process, packages / "lib/x86_64-linux-gnu")
    try:
        until(lambda: process.poll() is not None or is_there(process))
        if process.poll() is not None:
            pytest.skip(f"nslcd does not run here: {process.stderr.read()[-300:]}")
        yield client
    finally:
        process.terminate()
        process.communicate()


def is_there(process: subprocess.Popen) -> bool:
    socket = Path(f"/proc/{process.pid}/root/run/nslcd/socket")
    return socket.exists()
