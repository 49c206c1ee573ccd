"""An OpenDJ server with an own folder, to ask it the same questions. Skips a test where its package or Java is missing.

Knows how to make, start and end it; knows nothing of what a suite asks.
"""

import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import ldap
import opendj_package
import pando_server
import pytest
from pando_server import BASE, ROOT_DN, ROOT_PW, free_ports, until

ACCESS_CONTROL = "cn=Access Control Handler,cn=config"
# Little memory and no second compiler: the server starts sooner, and the tests ask it little.
JAVA_ARGUMENTS = "-Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
SETUP_SECONDS_MAX = 300


@contextmanager
def opendj_url(
    directory: Path,
    global_acis: list[str],
    base: str = BASE,
    variables: Callable[[Path], dict[str, str]] | None = None,
    java_arguments: str = JAVA_ARGUMENTS,
):
    """The URL of a running OpenDJ whose backend has only the base entry and whose global ACIs are those given. The
    server, but not its setup, runs with the further variables of the environment, made from the path of Java."""
    java = shutil.which("java")
    if not java:
        pytest.skip("Java is not installed, which OpenDJ needs")
    with zipfile.ZipFile(opendj_package.package()) as archive:
        archive.extractall(directory)
    home = directory / "opendj"
    environment = {**os.environ, "OPENDJ_JAVA_ARGS": java_arguments}
    port, administration_port = free_ports(2)
    command = ["sh", home / "setup", "--cli", "--no-prompt", "--acceptLicense", "--doNotStart"]
    command += ["--hostname", "localhost", "--ldapPort", port, "--adminConnectorPort", administration_port]
    command += ["--rootUserDN", ROOT_DN, "--rootUserPassword", ROOT_PW, "--baseDN", base]
    done = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, timeout=SETUP_SECONDS_MAX
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    url = f"ldap://127.0.0.1:{port}"
    # With --nodetach the script becomes the server, so that the process id is the server's.
    process = subprocess.Popen(
        ["sh", home / "bin" / "start-ds", "--nodetach", "--quiet"],
        env={**environment, **(variables(Path(java)) if variables else {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: is_serving(process, url), say=lambda: (home / "logs" / "errors").read_text()[-2000:])
        admin = connect(url)
        admin.modify_s(
            ACCESS_CONTROL, [(ldap.MOD_REPLACE, "ds-cfg-global-aci", [aci.encode() for aci in global_acis] or None)]
        )
        # By request and not by setup, which would start an import tool of its own.
        kind, name = base.split(",")[0].split("=")
        assert kind == "dc", f"a base entry {base} is not made here"
        admin.add_s(base, [("objectClass", b"domain"), (kind, name.encode())])
        admin.unbind_s()
        yield url
    finally:
        # An orderly end takes seconds, and nobody reads its data again.
        process.kill()
        process.wait()


def is_serving(process: subprocess.Popen, url: str) -> bool:
    assert process.poll() is None, f"OpenDJ ended with {process.returncode}"
    try:
        connect(url).unbind_s()
        return True
    except (ldap.SERVER_DOWN, ldap.UNAVAILABLE):
        return False


def connect(url: str, dn: str = ROOT_DN, password: str = ROOT_PW) -> ldap.ldapobject.LDAPObject:
    return pando_server.connect(url, dn, password)
