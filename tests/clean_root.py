"""A clean Debian system in a folder, made by mmdebstrap, in which programs run by chroot. Skips a test where that
cannot be: it takes root and Debian's packages.

Knows nothing of what is installed in it.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

MAKE_SECONDS_MAX = 600
SUITE = "bookworm"


def archive() -> Path:
    """The system as a tar archive: what is essential, and the libraries that a release of Pando needs beside it."""
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pando-tests" / f"debian-{SUITE}.tar"
    if kept.is_file():
        return kept
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        pytest.skip("needs root and mmdebstrap")
    kept.parent.mkdir(parents=True, exist_ok=True)
    making = kept.with_name(f"{os.getpid()}-{kept.name}")
    command = ["mmdebstrap", "--quiet", "--variant=essential", "--include=passwd,libgssapi-krb5-2", SUITE, making]
    done = subprocess.run(command, capture_output=True, text=True, timeout=MAKE_SECONDS_MAX)
    if done.returncode != 0:
        making.unlink(missing_ok=True)
        pytest.skip(f"mmdebstrap cannot make a system: {done.stderr.strip()[-300:]}")
    making.rename(kept)
    return kept


class CleanRoot:
    """An unpacked system."""

    def __init__(self, folder: Path):
        self.path = folder
        folder.mkdir()
        subprocess.run(["tar", "-xf", archive(), "-C", folder, "--exclude=./dev/*"], check=True)
        (folder / "dev").mkdir(exist_ok=True)
        for name in ("null", "urandom", "random"):
            os.mknod(folder / "dev" / name, 0o20666, os.stat(f"/dev/{name}").st_rdev)
            (folder / "dev" / name).chmod(0o666)

    def run(self, *command, check=True) -> subprocess.CompletedProcess:
        clean = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(
            ["chroot", self.path, *map(str, command)], capture_output=True, text=True, env=clean, check=False
        )
        assert not check or done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done
