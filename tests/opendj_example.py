"""OpenDJ's example template and name lists, fetched by name from its published package; nothing of them is kept in this
repository.

Knows Maven coordinates and where the files lie in the package; knows nothing of what a suite makes of them.
"""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

VERSION = "5.0.3"
PACKAGE = f"org.openidentityplatform.opendj:opendj-server-legacy:{VERSION}:zip"
FETCH = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
FOLDER = "opendj/template/config/MakeLDIF/"
FILES = ("example.template", "first.names", "last.names", "cities", "states", "streets")
FETCH_SECONDS_MAX = 600


def folder() -> Path:
    """A folder with the template and its lists; skips the test where the package cannot be had."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pando-tests" / f"opendj-{VERSION}"
    if not all((cache / name).is_file() for name in FILES):
        cache.mkdir(parents=True, exist_ok=True)
        extract(fetch(cache), cache)
    return cache


def fetch(cache: Path) -> Path:
    if not shutil.which("mvn"):
        pytest.skip(f"needs {PACKAGE}: install Maven, which fetches it")
    command = ["mvn", "-q", "-B", FETCH, f"-Dartifact={PACKAGE}", f"-DoutputDirectory={cache}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{PACKAGE} did not come within {FETCH_SECONDS_MAX} s")
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines() or ["no message"]
        pytest.skip(f"{PACKAGE} cannot be fetched: {lines[0]}")
    return cache / f"opendj-server-legacy-{VERSION}.zip"


def extract(package: Path, cache: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        for name in FILES:
            (cache / name).write_bytes(archive.read(FOLDER + name))
    package.unlink()
