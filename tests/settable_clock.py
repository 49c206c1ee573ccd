"""A wall clock for a server under test that stands still until it is set: works with every program that asks the C
library for the time, so with slapd, Java and Pando alike.

Knows how the library is compiled and preloaded; knows nothing of what the program does with the time.
"""

import mmap
import shutil
import struct
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("settable_clock.c")


class SettableClock:
    """`seconds` is the time of the programs that run with `variables()`: a whole number since 1970."""

    def __init__(self, directory: Path, seconds: int):
        compiler = shutil.which("cc")
        if not compiler:
            pytest.skip("needs a C compiler, for a clock that can be set")
        self.library = directory / "settable_clock.so"
        command = [compiler, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", self.library, SOURCE, "-ldl"]
        subprocess.run(command, check=True)
        self.file = directory / "clock"
        self.file.write_bytes(bytes(8))
        with open(self.file, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 8)
        self.set(seconds)

    def set(self, seconds: int) -> None:
        self.seconds = seconds
        # One aligned store of 8 octets, which a reader sees whole.
        self.page[:8] = struct.pack("=q", seconds * 1_000_000_000)

    def variables(self) -> dict[str, str]:
        """What the environment of a program must have so that this is its clock."""
        return {"LD_PRELOAD": str(self.library), "SETTABLE_CLOCK": str(self.file)}

    def java(self, java: Path) -> dict[str, str]:
        """The same for OpenDJ, whose scripts empty LD_PRELOAD before they start Java."""
        wrapper = self.library.with_name("java")
        assignments = " ".join(f"{name}='{value}'" for name, value in self.variables().items())
        wrapper.write_text(f'#!/bin/sh\n{assignments} exec {java} "$@"\n')
        wrapper.chmod(0o755)
        return {"OPENDJ_JAVA_BIN": str(wrapper)}


def generalized_time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%d%H%M%SZ")
