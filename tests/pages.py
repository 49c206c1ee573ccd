"""Pages of docs/ whose commands run as printed, and print what is shown but for numbers and times.

Knows Markdown and the shell; knows nothing of what a page is about.
"""

import os
import re
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from pando_server import binary, free_ports

BLOCK = re.compile(r"```(sh|text|ldif)\n(.*?)```", re.S)
COMMAND_SECONDS_MAX = 120
# Logs are written a moment after the answer.
PATIENCE_SECONDS = 20


def steps(page: Path) -> list[list]:
    """Each block of commands with the output shown below it, which some have not."""
    found = []
    for kind, text in BLOCK.findall(page.read_text()):
        if kind == "sh":
            found.append([text, None])
        elif found:
            found[-1][1] = text
    return found


def shape(text: str) -> list[str]:
    """What must be the same on every machine: numbers, units and the widths of columns need not be."""
    text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID", text)
    text = re.sub(r"\d[\d,.:]*", "#", text)
    text = re.sub(r"\b(bytes|KiB|MiB|GiB)\b", "SIZE", text)
    text = re.sub(r"/\w{3}/#", "/MONTH/#", text)
    lines = [re.sub(r"-{2,}", "--", re.sub(r"\s+", " ", line)).strip() for line in text.splitlines()]
    return [line for line in lines if line]


def run(page: Path, place: Path) -> None:
    """Runs the commands of a page in a folder; the servers that they start are stopped."""
    with servers_of(page, place):
        pass


@contextmanager
def servers_of(page: Path, place: Path):
    """The servers as the commands of a page leave them; gives the ports that stand for those of the page."""
    tools = place / "bin"
    tools.mkdir()
    (tools / "pando").symlink_to(binary())
    printed = ("1389", "1636", "8080")
    ports = dict(zip(printed, map(str, free_ports(len(printed))), strict=True))
    environment = dict(os.environ, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}")
    try:
        for commands, shown in steps(page):
            commands = re.sub("|".join(printed), lambda port: ports[port.group()], commands)
            deadline = time.time() + PATIENCE_SECONDS
            while True:
                done = subprocess.run(
                    ["bash", "-e", "-o", "pipefail", "-c", commands],
                    cwd=place,
                    env=environment,
                    text=True,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=COMMAND_SECONDS_MAX,
                )
                is_as_shown = shown is None or shape(done.stdout) == shape(shown)
                if (done.returncode == 0 and is_as_shown) or time.time() > deadline:
                    break
                time.sleep(0.5)
            assert done.returncode == 0, f"{commands}\n{done.stdout}"
            assert shown is None or shape(done.stdout) == shape(shown), f"{commands}\n{done.stdout}"
        yield ports
    finally:
        for configuration in place.glob("*/pando.toml"):
            subprocess.run([binary(), "stop", "--instance", str(configuration.parent)], capture_output=True)


def check_links(page: Path) -> None:
    """Links of a page lead somewhere."""
    text = page.read_text()
    headings = {
        re.sub(r"[^\w -]", "", line.lstrip("# ")).lower().replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }
    for target in re.findall(r"\]\(#([^)]*)\)", text):
        assert target in headings
    for path in re.findall(r"\]\(([^#)][^)]*)\)", text):
        assert (page.parent / path.split("#")[0]).exists()
