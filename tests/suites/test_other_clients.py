"""go-ldap and the UnboundID SDK: their suites are programs of their own, run here against one server each."""

import os
import shutil
import subprocess

import pytest
from pando_server import BASE, HERE, ROOT_DN, ROOT_PW


def environment(server):
    return {
        **os.environ,
        "PANDO_URL": server.url,
        "PANDO_TLS_URL": server.tls_url,
        "PANDO_PORT": str(server.port),
        "PANDO_TLS_PORT": str(server.tls_port),
        "PANDO_BASE": BASE,
        "PANDO_ROOT_DN": ROOT_DN,
        "PANDO_ROOT_PW": ROOT_PW,
    }


def run(command, folder, server, must_print):
    if not shutil.which(command[0]):
        pytest.fail(f"{command[0]} is not installed: scripts/test installs it")
    done = subprocess.run(
        command, cwd=HERE / folder, env=environment(server), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert must_print in done.stdout


def test_go_ldap(server):
    run(["go", "test", "-count=1", "-v", "./..."], "go", server, "--- PASS: TestUpdates")


def test_unboundid_sdk(server):
    run(["mvn", "-q", "-B", "test", "-Dsurefire.printSummary=true", "-Dsurefire.useFile=false"], "java", server, "")
