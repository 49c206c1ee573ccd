"""Suites of other clients, which are programs of their own: run against a server, whose place the environment says."""

import os
import shutil
import subprocess

import pytest
from pando_server import BASE, HERE, ROOT_DN, ROOT_PW, Pando


def run(command: list[str], folder: str, server: Pando, must_print: str, **more: str) -> None:
    """Runs the program of a folder, with `more` in its environment; it must succeed."""
    if not shutil.which(command[0]):
        pytest.fail(f"{command[0]} is not installed: scripts/test installs it")
    environment = {
        **os.environ,
        "PANDO_URL": server.url,
        "PANDO_TLS_URL": server.tls_url,
        "PANDO_PORT": str(server.port),
        "PANDO_TLS_PORT": str(server.tls_port),
        "PANDO_BASE": BASE,
        "PANDO_ROOT_DN": ROOT_DN,
        "PANDO_ROOT_PW": ROOT_PW,
        **more,
    }
    done = subprocess.run(command, cwd=HERE / folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert must_print in done.stdout
