"""Programs out of Debian's packages, unpacked into a cache and installed nowhere. Skips a test where they cannot be
had.

Knows nothing of what the programs are for.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FETCH_SECONDS_MAX = 300


def unpacked(name: str, *packages: str, alone: bool = False) -> Path:
    """The folder with what is in the packages and, unless they are wanted alone, in those that they need and this
    machine has not. It is kept under that name."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = home / "pando-tests" / name
    if cache.is_dir():
        return cache
    for tool in ("apt-get", "dpkg"):
        if not shutil.which(tool):
            pytest.skip(f"needs Debian's packages {', '.join(packages)}: {tool} is not here")
    making = cache.with_name(f"{cache.name}.{os.getpid()}")
    archives = making / "archives"
    (archives / "partial").mkdir(parents=True)
    install = ["install", "--download-only", "--no-install-recommends", "-o", f"Dir::Cache::archives={archives}"]
    fetch = ["download", "-o", "APT::Sandbox::User=root"] if alone else ["-y", *install]
    try:
        done = apt_get(*fetch, *packages, folder=archives)
        if done.returncode != 0:
            apt_get("update", folder=archives)
            done = apt_get(*fetch, *packages, folder=archives)
        if done.returncode != 0:
            pytest.skip(f"Debian's packages {', '.join(packages)} cannot be fetched: {done.stderr.strip()[-300:]}")
        for package in archives.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, making], check=True)
        shutil.rmtree(archives)
        # Older packages have folders where a machine of today has links into /usr.
        for folder in ("bin", "lib", "sbin"):
            if (making / folder).is_dir():
                shutil.copytree(making / folder, making / "usr" / folder, symlinks=True, dirs_exist_ok=True)
        for folder in ("etc", "usr"):
            (making / folder).mkdir(exist_ok=True)
        if not cache.is_dir():
            making.rename(cache)
    except subprocess.TimeoutExpired:
        pytest.skip(f"Debian's packages {', '.join(packages)} did not come within {FETCH_SECONDS_MAX} s")
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return cache


def apt_get(*arguments: str, folder: Path) -> subprocess.CompletedProcess:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-qq", *arguments]
    return subprocess.run(command, env=quiet, cwd=folder, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX)
