"""docs/why-is-this-search-slow.md is true: its commands run as printed, and print what it shows but for numbers and times."""
import os
import re
import subprocess
import time

import pytest

from pando_server import HERE, binary, free_ports

PAGE = HERE.parent / "docs" / "why-is-this-search-slow.md"
BLOCK = re.compile(r"```(sh|text)\n(.*?)```", re.S)
COMMAND_SECONDS_MAX = 120
# The access log is written a moment after the answer.
PATIENCE_SECONDS = 20


def steps():
    """Each block of commands with the output shown below it, which some have not."""
    found = []
    for kind, text in BLOCK.findall(PAGE.read_text()):
        if kind == "sh":
            found.append([text, None])
        else:
            found[-1][1] = text
    return found


def shape(text):
    """What must be the same on every machine: numbers, units and the widths of columns need not be."""
    text = re.sub(r"\d[\d,.:]*", "#", text)
    text = re.sub(r"\b(bytes|KiB|MiB|GiB)\b", "SIZE", text)
    text = re.sub(r"/\w{3}/#", "/MONTH/#", text)
    lines = [re.sub(r"-{2,}", "--", re.sub(r"\s+", " ", line)).strip() for line in text.splitlines()]
    return [line for line in lines if line]


@pytest.fixture
def place(tmp_path):
    """A folder where `pando` is the binary under test."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "pando").symlink_to(binary())
    yield tmp_path
    if (tmp_path / "try").exists():
        subprocess.run([binary(), "stop", "--instance", str(tmp_path / "try")], capture_output=True)


def test_the_commands_of_the_page(place):  # S0-39
    ports = dict(zip(("1389", "1636"), map(str, free_ports(2))))
    environment = dict(os.environ, PATH=f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert len(steps()) > 10
    for commands, shown in steps():
        commands = re.sub("1389|1636", lambda port: ports[port.group()], commands)
        deadline = time.time() + PATIENCE_SECONDS
        while True:
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", commands], cwd=place, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=COMMAND_SECONDS_MAX)
            is_as_shown = shown is None or shape(done.stdout) == shape(shown)
            if (done.returncode == 0 and is_as_shown) or time.time() > deadline:
                break
            time.sleep(0.5)
        assert done.returncode == 0, f"{commands}\n{done.stdout}"
        assert shown is None or shape(done.stdout) == shape(shown), f"{commands}\n{done.stdout}"


def test_the_page_links_to_its_own_headings():
    text = PAGE.read_text()
    headings = {re.sub(r"[^\w -]", "", line.lstrip("# ")).lower().replace(" ", "-") for line in text.splitlines() if line.startswith("#")}
    for target in re.findall(r"\]\(#([^)]*)\)", text):
        assert target in headings
    for path in re.findall(r"\]\(([^#)][^)]*)\)", text):
        assert (PAGE.parent / path).exists()
