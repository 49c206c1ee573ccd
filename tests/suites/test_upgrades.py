"""Instances of earlier versions, as they were left, serve under this one: all their data, at once, and updates."""

import re
import shutil
import subprocess
import tarfile

import ldap
import pytest
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando
from upgrade_fixture import FIXTURES

NAMES = sorted(path.name.removesuffix(".tar.xz") for path in FIXTURES.glob("*.tar.xz"))
# What a server says of itself, which later versions may say otherwise.
OPERATIONAL = ("entryDN", "hasSubordinates", "numSubordinates", "structuralObjectClass", "subschemaSubentry")


@pytest.fixture(params=NAMES)
def earlier(request, tmp_path):
    """An instance of an earlier version, and what that version exported of it."""
    with tarfile.open(FIXTURES / f"{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    instance = Pando(tmp_path / "inst")
    ports = iter([instance.port, instance.tls_port])
    text = re.sub(r"(?m)^listen-port = \d+$", lambda _: f"listen-port = {next(ports)}", instance.config.read_text())
    instance.config.write_text(text)
    yield instance, (FIXTURES / f"{request.param}.ldif").read_text()
    instance.remove()


def entries(ldif: str) -> dict:
    """Entries by name, each with its sorted lines."""
    unfolded = ldif.replace("\n ", "")
    found = {}
    for record in unfolded.split("\n\n"):
        lines = [line for line in record.splitlines() if line and not line.startswith(("#", "version:"))]
        if lines:
            found[lines[0]] = sorted(line for line in lines[1:] if not line.startswith(OPERATIONAL))
    return found


def test_there_is_an_instance_of_each_format():
    assert {"format-1", "format-2", "format-2-killed"} <= set(NAMES)


def test_an_earlier_instance_serves(earlier, tmp_path):
    instance, before = earlier
    instance.start()
    con = instance.connect()
    con.add_s(f"ou=Later,{BASE}", [("objectClass", [b"organizationalUnit"])])
    con.delete_s(f"ou=Later,{BASE}")
    # Passwords of before, and failures that were counted.
    user = ldap.initialize(instance.url)
    user.simple_bind_s(f"uid=user.5,ou=People,{BASE}", "grows-in-april")
    ((_, counted),) = con.search_s(f"uid=user.6,ou=People,{BASE}", ldap.SCOPE_BASE, attrlist=["pwdFailureTime"])
    assert len(counted.get("pwdFailureTime", [])) == (1 if "pwdFailureTime" in before else 0)
    group = con.search_s(BASE, ldap.SCOPE_SUBTREE, f"(member=uid=user.1,ou=People,{BASE})", ["1.1"])
    assert [dn for dn, _ in group] == [f"cn=Gardeners,ou=Groups,{BASE}"]
    assert instance.stop() == 0
    instance.tool("verify-index", "--baseDN", BASE)
    now = tmp_path / "now.ldif"
    instance.tool("export-ldif", "--backendID", "userRoot", "--ldifFile", now, "--offline")
    wanted, found = entries(before), entries(now.read_text())
    assert found.keys() == wanted.keys()
    # The bind of user.5 may have noted something about its account.
    same = [name for name in wanted if "uid=user.5," not in name]
    assert {name: found[name] for name in same} == {name: wanted[name] for name in same}


def test_the_clients_of_before_are_answered(earlier):
    instance, _ = earlier
    instance.start()
    command = ["ldapsearch", "-x", "-LLL", "-H", instance.url, "-D", ROOT_DN, "-w", ROOT_PW, "-b", BASE]
    found = subprocess.run([*command, "(description=changed before*)", "1.1"], capture_output=True, text=True)
    assert found.stdout == f"dn: uid=user.1,ou=People,{BASE}\n\n"
    assert shutil.which("ldapsearch")
    assert instance.stop() == 0
