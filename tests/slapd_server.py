"""OpenLDAP's slapd with the data of the suites, to ask it the same questions. Skips a test where there is no slapd.

Knows how to start it; knows nothing of what a suite asks.
"""
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import ldap
import pytest

from pando_server import BASE, DIRECTORY_LDIF, free_ports

ADMIN_DN, ADMIN_PW = f"cn=admin,{BASE}", "secret"
START_SECONDS_MAX = 60

CONF = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
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
def slapd_url(directory: Path, database: str, server: str = "", modules: str = ""):
    """The URL of a running slapd; the texts are further lines of its configuration: for the database, for the server, modules."""
    if not shutil.which("slapd"):
        pytest.skip("slapd is not installed")
    (directory / "db").mkdir()
    conf, entries = directory / "slapd.conf", directory / "entries.ldif"
    conf.write_text(CONF.format(base=BASE, admin=ADMIN_DN, password=ADMIN_PW, dir=directory, database=database, server=server, modules=modules))
    if modules and subprocess.run(["slaptest", "-u", "-f", conf], capture_output=True).returncode != 0:
        pytest.skip(f"this slapd has no {modules}")
    # slapadd takes neither a comment nor a version before the first entry.
    text = DIRECTORY_LDIF.read_text()
    entries.write_text(text[text.index("dn: "):])
    subprocess.run(["slapadd", "-q", "-f", conf, "-l", entries], check=True)
    (port,) = free_ports(1)
    url = f"ldap://127.0.0.1:{port}"
    process = subprocess.Popen(["slapd", "-d", "0", "-f", conf, "-h", url])
    try:
        wait_for(url)
        yield url
    finally:
        process.terminate()
        process.wait()


def wait_for(url: str) -> None:
    deadline = time.time() + START_SECONDS_MAX
    while time.time() < deadline:
        try:
            ldap.initialize(url).simple_bind_s(ADMIN_DN, ADMIN_PW)
            return
        except ldap.SERVER_DOWN:
            time.sleep(0.05)
    raise AssertionError("slapd does not listen")


def connect(url: str) -> ldap.ldapobject.LDAPObject:
    con = ldap.initialize(url)
    con.simple_bind_s(ADMIN_DN, ADMIN_PW)
    con.set_option(ldap.OPT_REFERRALS, 0)
    return con
