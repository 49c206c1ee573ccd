"""OpenDJ's published package, fetched by name; nothing of it is kept in this repository.

Knows Maven coordinates and where the fetched file is kept; knows nothing of what is taken out of it.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

VERSION = "5.0.3"
PACKAGE = f"org.openidentityplatform.opendj:opendj-server-legacy:{VERSION}:zip"
FETCH = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
FETCH_SECONDS_MAX = 600


def cache() -> Path:
    """The folder for the package and for what was taken out of it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pando-tests" / f"opendj-{VERSION}"


def package() -> Path:
    """The package, fetched when it is not in the cache; skips the test where it cannot be fetched."""
    kept = cache() / f"opendj-server-legacy-{VERSION}.zip"
    if kept.is_file():
        return kept
    if not shutil.which("mvn"):
        pytest.skip(f"needs {PACKAGE}: install Maven, which fetches it")
    fetched = cache() / f"fetched-{os.getpid()}"
    fetched.mkdir(parents=True)
    try:
        fetch(fetched)
        # In one step, so that a test that runs at the same time finds all of it or nothing.
        (fetched / kept.name).rename(kept)
    finally:
        shutil.rmtree(fetched, ignore_errors=True)
    return kept


def fetch(folder: Path) -> None:
    command = ["mvn", "-q", "-B", FETCH, f"-Dartifact={PACKAGE}", f"-DoutputDirectory={folder}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{PACKAGE} did not come within {FETCH_SECONDS_MAX} s")
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines() or ["no message"]
        pytest.skip(f"{PACKAGE} cannot be fetched: {lines[0]}")
