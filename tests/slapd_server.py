"""OpenLDAP's slapd with the data of the suites, to ask it the same questions. Skips a test where there is no slapd.

Knows how to start it; knows nothing of what a suite asks.
"""

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import ldap
import pando_server
import pytest
from pando_server import BASE, DIRECTORY_LDIF, free_ports, until

ADMIN_DN, ADMIN_PW = f"cn=admin,{BASE}", "secret"

CONF = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/dyngroup.schema
modulepath /usr/lib/ldap
moduleload back_mdb
{modules}
{server}
database mdb
suffix "{base}"
rootdn "{admin}"
rootpw {password}
directory {dir}/db
{database}
"""


@contextmanager
def slapd_url(
    directory: Path,
    database: str,
    server: str = "",
    modules: str = "",
    base: str = BASE,
    data: Path = DIRECTORY_LDIF,
    variables: dict[str, str] | None = None,
    listeners: tuple[str, ...] = (),
):
    """The URL of a running slapd; the texts are further lines of its configuration: for the database, for the server,
    modules. The server runs with the further variables of the environment, and listens at the further URLs."""
    if not shutil.which("slapd"):
        pytest.skip("slapd is not installed")
    (directory / "db").mkdir()
    conf, entries = directory / "slapd.conf", directory / "entries.ldif"
    conf.write_text(
        CONF.format(
            base=base,
            admin=ADMIN_DN,
            password=ADMIN_PW,
            dir=directory,
            database=database,
            server=server,
            modules=modules,
        )
    )
    if modules and subprocess.run(["slaptest", "-u", "-f", conf], capture_output=True).returncode != 0:
        pytest.skip(f"this slapd has no {modules}")
    # slapadd takes neither a comment nor a version before the first entry.
    text = data.read_text()
    entries.write_text(text[text.index("dn: ") :])
    subprocess.run(["slapadd", "-q", "-f", conf, "-b", base, "-l", entries], check=True)
    (port,) = free_ports(1)
    url = f"ldap://127.0.0.1:{port}"
    command = ["slapd", "-d", "0", "-f", conf, "-h", " ".join([url, *listeners])]
    process = subprocess.Popen(command, env={**os.environ, **(variables or {})})
    try:
        until(lambda: is_listening(url))
        yield url
    finally:
        process.terminate()
        process.wait()


def is_listening(url: str) -> bool:
    try:
        connect(url).unbind_s()
        return True
    except ldap.SERVER_DOWN:
        return False


def connect(url: str) -> ldap.ldapobject.LDAPObject:
    return pando_server.connect(url, ADMIN_DN, ADMIN_PW)
