"""The source document about storage schemes of passwords, step by step: its sample data, its commands, what they
print."""

import base64
import hashlib
import subprocess

import ldap
import pytest
from pando_server import BASE, ROOT_PW, Pando, binary

PEOPLE = f"ou=People,{BASE}"
POLICY = ("--policy-name", "Default Password Policy")
IMPORT = ("--plugin-name", "Password Policy Import")
DIGESTS = {"SSHA": "sha1", "SSHA512": "sha512"}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    file = tmp_path_factory.mktemp("sample") / "people.ldif"
    command = [binary(), "makeldif", "-c", "numusers=20", "-o", file]
    subprocess.run(command, check=True, capture_output=True)
    return file


@pytest.fixture
def sample(tmp_path, people):
    """A running server with the document's default scheme and rights: strangers read all but passwords."""
    as_opendj = ("--accessProfile", "opendj-compatible")
    instance = Pando(tmp_path / "inst").setup("--defaultPasswordStorageScheme", "Salted SHA-1", *as_opendj)
    instance.import_ldif(people).start()
    yield instance
    instance.remove()


def printed(instance, *words) -> list[str]:
    """What ldapsearch prints of user.10, and of whatever else the filter finds."""
    command = ["ldapsearch", "-LLL", "-x", "-o", "ldif-wrap=no", "-H", instance.url, "-b", BASE, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def stored(instance, number: int) -> str:
    found = instance.connect().search_s(f"uid=user.{number},{PEOPLE}", ldap.SCOPE_BASE, attrlist=["userPassword"])
    (value,) = found[0][1]["userPassword"]
    return value.decode()


def proves(value: str, scheme: str, password: str) -> bool:
    """Whether a stored value has the form of the scheme, with a salt of eight octets, and is of that password."""
    prefix, _, encoded = value[1:].partition("}")
    octets = base64.b64decode(encoded, validate=True)
    size = hashlib.new(DIGESTS[scheme]).digest_size
    digest = hashlib.new(DIGESTS[scheme], password.encode() + octets[size:]).digest()
    return (prefix, len(octets), octets[:size]) == (scheme, size + 8, digest)


# S0-52, S0-49: the printed line shows root the hash, 20 octets of digest and 8 of salt, in the form of the document.
def test_the_printed_line_shows_root_the_hash(sample):
    dn, value, *rest = printed(sample, "-D", "cn=directory manager", "-w", ROOT_PW, "uid=user.10", "dn", "userPassword")
    name, _, encoded = value.partition(":: ")
    assert (dn, name, rest) == (f"dn: uid=user.10,{PEOPLE}", "userPassword", [""])
    shown = base64.b64decode(encoded).decode()
    assert proves(shown, "SSHA", "password"), shown


# S0-52: nobody else is shown a hash, neither by name nor by a filter, also who is shown the entry.
@pytest.mark.parametrize("bound", [(), ("-D", f"uid=user.11,{PEOPLE}", "-w", "password")], ids=["anonymous", "user"])
def test_a_hash_is_hidden_from_everybody_else(sample, bound):
    for attributes in (["userPassword"], ["*", "+"]):
        lines = printed(sample, *bound, "uid=user.10", *attributes)
        assert not [line for line in lines if line.lower().startswith("userpassword")], lines
    assert printed(sample, *bound, "(&(uid=user.10)(userPassword=*))", "1.1") == []
    assert f"dn: uid=user.10,{PEOPLE}" in lines, "the entry itself is shown"


# S0-58: what dsconfig shows and sets of both places of the scheme, by the commands of the document, at the running
# server. Their entries over LDAP are not proven here: there is no cn=config to read or write.
def test_both_places_of_the_scheme_are_shown_and_set_by_dsconfig(sample, people):
    def value_of(verb, place, name):
        lines = sample.tool("dsconfig", verb, *place, "-n").stdout.splitlines()
        (row,) = [line for line in lines if line.split(" : ")[0].strip() == name]
        return row.split(" : ")[1].strip()

    places = [
        ("password-policy-prop", POLICY, "default-password-storage-scheme", "Salted SHA-1"),
        # Imports go by the policy until this says otherwise.
        ("plugin-prop", IMPORT, "default-user-password-storage-scheme", "-"),
    ]
    for kind, place, name, at_first in places:
        assert value_of(f"get-{kind}", place, name) == at_first
        sample.tool("dsconfig", f"set-{kind}", *place, "--set", f"{name}:Salted SHA-512", "-n")
        assert value_of(f"get-{kind}", place, name) == "Salted SHA-512"
        refused = sample.tool("dsconfig", f"set-{kind}", *place, "--set", f"{name}:ROT13", "-n", check=False)
        assert refused.returncode != 0 and "ROT13" in refused.stderr
        assert value_of(f"get-{kind}", place, name) == "Salted SHA-512"
    sample.stop()
    # S0-56: the import goes by it.
    sample.import_ldif(people).start()
    assert proves(stored(sample, 10), "SSHA512", "password")


# S0-59: the scheme changes while the server runs; passwords that are set from then on have it, those that are stored
# stay as they are and still log in.
def test_a_new_scheme_is_for_new_passwords_at_once(sample):
    before = {number: stored(sample, number) for number in (10, 11, 12)}
    assert all(proves(value, "SSHA", "password") for value in before.values())
    session = sample.connect(f"uid=user.11,{PEOPLE}", "password")
    scheme = "default-password-storage-scheme:Salted SHA-512"
    sample.tool("dsconfig", "set-password-policy-prop", *POLICY, "--set", scheme, "-n")
    # By a session that was there before, by the extended operation and by root's modification.
    session.passwd_s(f"uid=user.11,{PEOPLE}", "password", "second secret")
    value = [(ldap.MOD_REPLACE, "userPassword", b"third secret")]
    sample.connect().modify_s(f"uid=user.12,{PEOPLE}", value)
    for number, password in ((11, "second secret"), (12, "third secret")):
        assert proves(stored(sample, number), "SSHA512", password)
        sample.connect(f"uid=user.{number},{PEOPLE}", password).unbind_s()
    sample.connect(f"uid=user.10,{PEOPLE}", "password").unbind_s()
    assert stored(sample, 10) == before[10]
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        sample.connect(f"uid=user.11,{PEOPLE}", "password")
