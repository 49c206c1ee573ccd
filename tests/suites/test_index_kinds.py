"""Extensible, confidential and VLV indexes from configuration to verification, under updates, and without their
secret."""

import json
import re

import ldap
import ldap.modlist
import pytest
from found import dns
from pando_server import BASE, DIRECTORY_LDIF, Pando, until

NB = ("-n", "userRoot", "-b", BASE)
PEOPLE = f"ou=People,{BASE}"
# OpenLDAP's client takes no dot in the name of a rule.
DE_SUB = r"(description:1.3.6.1.4.1.42.2.27.9.4.28.1.6:=\2aSSE\2atoile)"
HASHED = ["mail.caseIgnoreIA5Match:hash", "mail.caseIgnoreIA5SubstringsMatch:6:hash"]

MORE = f"""
[backend.userRoot.index.description]
index-type = ["extensible"]
index-extensible-matching-rule = ["fr", "de.sub", "caseExactMatch"]

[backend.userRoot.index.createTimestamp]
index-type = ["extensible"]
index-extensible-matching-rule = "relativeTimeLTOrderingMatch"

[backend.userRoot.vlv-index.people]
base-dn = "{PEOPLE}"
scope = "single-level"
filter = "(|(objectClass=person)(member=*))"
sort-order = "+sn -givenName"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    it = Pando(tmp_path_factory.mktemp("kinds") / "inst").setup()
    it.config.write_text(
        re.sub(r"(?m)^(mail +=.*?) }$", r"\1, confidentiality-enabled = true }", it.config.read_text())
    )
    it.configure(MORE).import_ldif(DIRECTORY_LDIF).start()
    yield it
    it.remove()


@pytest.fixture
def client(server):
    connection = server.connect()
    yield connection
    connection.unbind_s()


def status(server):
    told = json.loads(server.tool("backendstat", "show-index-status", *NB, "--json").stdout)
    return {row["name"]: row for row in told["indexes"]}


def wait_for(server, there, gone):
    """Until the indexes are built, and those that go are gone."""

    def are_as_wanted():
        of = status(server)
        return all(of.get(name, {}).get("valid") for name in there) and not set(gone) & set(of)

    until(are_as_wanted, say=lambda: status(server))


def person(uid, sn, **more):
    values = {"objectClass": ["inetOrgPerson"], "uid": [uid], "cn": [uid], "sn": [sn], **more}
    return ldap.modlist.addModlist({name: [value.encode() for value in all] for name, all in values.items()})


def test_indexes_have_their_names_and_marks(server):
    of = status(server)
    for name in [
        "description.fr.eq",
        "description.de.sub:6",
        "description.caseExactMatch",
        "createTimestamp.generalizedTimeMatch",
    ]:
        assert of[name]["valid"] and not of[name]["confidential"]
    assert [of[name]["confidential"] for name in HASHED] == [True, True]
    assert "mail.caseIgnoreIA5Match" not in of
    table = server.tool("backendstat", "show-index-status", *NB).stdout
    row = next(line for line in table.splitlines() if line.startswith("vlv.people "))
    assert re.search(r"true +false +\d+ +- +- +- +-", row)
    kinds = server.tool("backendstat", "list-indexes", *NB).stdout
    assert re.search(r"(?m)^vlv\.people +/dc=com,dc=example/vlv\.people +VLVIndex +\d+", kinds)


def test_a_confidential_index_shows_no_value(server, client):
    (dn, entry) = client.search_s(BASE, ldap.SCOPE_SUBTREE, "(mail=*)", ["mail"])[0]
    mail = entry["mail"][0].decode()
    for name in HASHED:
        keys = re.findall(
            r"Key \(len 16\): ([0-9a-f]{32})\n", server.tool("backendstat", "dump-index", *NB, "-i", name).stdout
        )
        assert keys and server.tool("backendstat", "dump-index", *NB, "-i", name).stdout.count("Key (len") == len(keys)
    assert dn in dns(client, f"(mail={mail.upper()})") and dn in dns(client, f"(mail=*{mail[1:]})")
    assert (server.dir / "keys" / "index.secret").stat().st_mode & 0o777 == 0o600


def test_a_list_is_dumped_in_its_order(server, client):
    text = server.tool("backendstat", "dump-index", *NB, "-i", "vlv.people").stdout
    surnames = [key.split(",")[0] for key in re.findall(r"Key \(len \d+\): (.*)", text)]
    assert len(surnames) > 10 and surnames == sorted(surnames, key=lambda surname: (surname == "", surname))
    ids = sum(int(count) for count in re.findall(r"\[COUNT:(\d+)\]", text))
    assert ids == len(dns(client, "(|(objectClass=person)(member=*))"))


def test_updates_keep_every_kind(server, client):
    dn = f"uid=zo\u00eb,{PEOPLE}"
    client.add_s(dn, person("zo\u00eb", "Zander", mail=["zoe@example.com"], description=["Gro\u00dfe \u00c9toile"]))
    assert dns(client, "(description:fr:=grosse etoile)") == dns(client, DE_SUB) != []
    client.modify_s(
        dn,
        [(ldap.MOD_REPLACE, "sn", [b"Abel"]), (ldap.MOD_DELETE, "mail", None), (ldap.MOD_ADD, "description", [b"x"])],
    )
    # So many members that they are outside the record: on the way there, with all of them, and back.
    group = f"cn=many,{BASE}"
    members = [f"uid=member.{at},{PEOPLE}".encode() for at in range(1500)]
    client.add_s(group, [("objectClass", [b"groupOfNames"]), ("cn", [b"many"]), ("member", members[:3])])
    client.modify_s(group, [(ldap.MOD_ADD, "member", members[3:])])
    whole = f"cn=whole,{BASE}"
    client.add_s(whole, [("objectClass", [b"groupOfNames"]), ("cn", [b"whole"]), ("member", members)])
    client.add_s(f"cn=gone,{BASE}", [("objectClass", [b"groupOfNames"]), ("cn", [b"gone"]), ("member", members)])
    client.delete_s(f"cn=gone,{BASE}")
    client.modify_s(group, [(ldap.MOD_DELETE, "member", None)])
    client.rename_s(PEOPLE, "ou=Folk")
    client.rename_s(f"ou=Folk,{BASE}", "ou=People")
    assert server.tool("verify-index", "-b", BASE).returncode == 0
    text = server.tool("backendstat", "dump-index", *NB, "-i", "vlv.people").stdout
    ids = sum(int(count) for count in re.findall(r"\[COUNT:(\d+)\]", text))
    assert ids == len(dns(client, "(|(objectClass=person)(member=*))"))


def test_kinds_change_while_the_server_runs(server, client):
    config = server.config
    before = config.read_text()
    text = before.replace('"+sn -givenName"', '"-uid"').replace(", confidentiality-enabled = true", "")
    config.write_text(text.replace('"fr", "de.sub"', '"fr", "sv.lt"'))
    server.tool("reload")
    plain, hashed = (
        {"mail.caseIgnoreIA5Match", "description.sv.eq", "vlv.people"},
        set(HASHED) | {"description.de.sub:6"},
    )
    wait_for(server, plain, hashed)
    uids = re.findall(
        r"Key \(len \d+\): -(.*)", server.tool("backendstat", "dump-index", *NB, "-i", "vlv.people").stdout
    )
    named = [uid for uid in uids if uid]
    assert len(named) > 10 and named == sorted(named, reverse=True) and named == uids[len(uids) - len(named) :]
    assert server.tool("verify-index", "-b", BASE).returncode == 0
    config.write_text(before)
    server.tool("reload")
    wait_for(server, hashed, plain - {"vlv.people"})
    assert server.tool("verify-index", "-b", BASE).returncode == 0


def test_without_its_secret_an_index_is_built_anew(server, client):
    (dn, entry) = client.search_s(BASE, ldap.SCOPE_SUBTREE, "(mail=*)", ["mail"])[0]
    mail = f"(mail={entry['mail'][0].decode()})"
    server.stop()
    assert server.tool("verify-index", "-b", BASE).returncode == 0
    secret = server.dir / "keys" / "index.secret"
    first = secret.read_text()
    secret.unlink()
    of = status(server)
    assert not any(of[name]["valid"] for name in HASHED), "keys of another secret are of no use"
    assert secret.read_text() != first
    # On the files.
    server.tool("rebuild-index", "-b", BASE, "--rebuildDegraded")
    assert all(status(server)[name]["valid"] for name in HASHED)
    assert server.tool("verify-index", "-b", BASE).returncode == 0
    # By the server, which finds the entries meanwhile too.
    secret.unlink()
    server.start()
    again = server.connect()
    assert dn in dns(again, mail)
    wait_for(server, HASHED, [])
    assert dn in dns(again, mail)
    assert server.tool("verify-index", "-b", BASE).returncode == 0
    again.unbind_s()


@pytest.mark.parametrize(
    "line, told",
    [
        ('filter = "(cn=*"', "is no filter"),
        ('filter = "(entryDN=dc=x)"', "computes"),
        ('sort-order = "+colour"', '"colour"'),
    ],
)
def test_a_list_that_cannot_be_is_refused(server, line, told):
    config = server.config
    good = config.read_text()
    name = line.split(" = ")[0]
    try:
        config.write_text(re.sub(rf"(?m)^{name} = .*$", lambda _: line, good))
        failed = server.tool("verify-index", "-b", BASE, check=False)
        assert failed.returncode != 0 and told in failed.stderr, failed.stderr
    finally:
        config.write_text(good)
