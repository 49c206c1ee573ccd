"""OpenDJ's example template and name lists, taken from its published package; nothing of them is kept here.

Knows where the files lie in the package; knows nothing of what a suite makes of them.
"""

import zipfile
from pathlib import Path

import opendj_package

FOLDER = "opendj/template/config/MakeLDIF/"
FILES = ("example.template", "first.names", "last.names", "cities", "states", "streets")


def folder() -> Path:
    """A folder with the template and its lists; skips the test where the package cannot be had."""
    cache = opendj_package.cache()
    if not all((cache / name).is_file() for name in FILES):
        with zipfile.ZipFile(opendj_package.package()) as archive:
            for name in FILES:
                (cache / name).write_bytes(archive.read(FOLDER + name))
    return cache
