"""How passwords are stored: what setup chooses, what can be set, what imports do."""

import ldap
import pytest
from pando_server import BASE, Pando, until

ANNA = f"uid=anna,{BASE}"
IMPORT = "Password Policy Import"
LDIF = f"""dn: {BASE}
objectClass: domain
dc: example

dn: {ANNA}
objectClass: inetOrgPerson
uid: anna
cn: Anna
sn: A
userPassword: first secret
"""


def stored(instance, dn=ANNA):
    """The first value of userPassword."""
    found = instance.connect().search_s(dn, ldap.SCOPE_BASE, attrlist=["userPassword"])
    return found[0][1]["userPassword"][0].decode()


def imported(instance, tmp_path):
    file = tmp_path / "people.ldif"
    file.write_text(LDIF)
    return instance.import_ldif(file)


@pytest.fixture
def argon2(tmp_path):
    """A new instance as setup makes it unless told otherwise."""
    instance = Pando(tmp_path / "inst").setup("--defaultPasswordStorageScheme", "Argon2")
    yield instance
    instance.remove()


def test_setup_chooses_argon2_and_says_so(argon2, tmp_path):
    text = argon2.config.read_text()
    assert 'default-password-storage-scheme = "Argon2"' in text
    numbers = dict(line.split(" = ") for line in text.splitlines() if line.startswith("argon2-"))
    assert int(numbers["argon2-memory"]) >= 19456 and int(numbers["argon2-iterations"]) >= 2
    imported(argon2, tmp_path).start()
    # S0-56: imports go by the scheme of their own.
    assert stored(argon2).startswith("{SSHA512}")
    anna = argon2.connect(ANNA, "first secret")
    anna.passwd_s(ANNA, "first secret", "second secret")
    memory, passes = int(numbers["argon2-memory"]), int(numbers["argon2-iterations"])
    assert stored(argon2).startswith(f"{{ARGON2}}$argon2id$v=19$m={memory},t={passes},p=1$")
    argon2.connect(ANNA, "second secret")
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        argon2.connect(ANNA, "first secret")
    root = argon2.connect()

    def work_queue():
        return root.search_s("cn=Work Queue,cn=monitor", ldap.SCOPE_BASE)[0][1]

    # A job is counted after its answer is on the way.
    until(lambda: int(work_queue()["passwordsHashed"][0]) == 3)
    queue = work_queue()
    assert queue["passwordsRefused"] == [b"0"]
    assert int(queue["passwordTime-us"][0]) > 1000


# S0-56, S0-58: the commands of the source document.
def test_the_scheme_of_imports_is_set_by_dsconfig(argon2, tmp_path):
    for scheme, prefix in [("Salted SHA-1", "{SSHA}"), ("SCRAM-SHA-256", "{SCRAM-SHA-256}10000:")]:
        value = f"default-user-password-storage-scheme:{scheme}"
        argon2.tool("dsconfig", "set-plugin-prop", "--plugin-name", IMPORT, "--set", value, "--offline", "-n")
        imported(argon2, tmp_path).start()
        assert stored(argon2).startswith(prefix)
        argon2.connect(ANNA, "first secret")
        argon2.stop()


def test_costs_are_taken_by_a_running_server(argon2, tmp_path):
    imported(argon2, tmp_path).start()
    root = argon2.connect()
    text = argon2.config.read_text()
    lines = ["argon2-memory = 8192" if line.startswith("argon2-memory") else line for line in text.splitlines()]
    argon2.config.write_text("\n".join(lines) + "\n")
    argon2.tool("reload")
    until(lambda: set_password(root, "third secret") and "$m=8192," in stored(argon2))
    argon2.connect(ANNA, "third secret")


def test_a_scheme_is_left_one_login_at_a_time(argon2, tmp_path):
    deprecated = 'deprecated-password-storage-scheme = ["Salted SHA-512", "3DES"]'
    table = '[password-policy."Default Password Policy"]\n'
    argon2.config.write_text(argon2.config.read_text().replace(table, f"{table}{deprecated}\n"))
    imported(argon2, tmp_path).start()

    def entry():
        return argon2.connect().search_s(ANNA, ldap.SCOPE_BASE, attrlist=["*", "+"])[0][1]

    before = entry()
    anna = argon2.connect(ANNA, "first secret")
    until(lambda: stored(argon2).startswith("{ARGON2}"))
    # What is on disk is not done again otherwise after a crash, and the session goes on.
    assert anna.whoami_s() == f"dn:{ANNA}"
    argon2.kill()
    argon2.start()
    after = entry()
    assert after.pop("userPassword")[0].startswith(b"{ARGON2}")
    assert before.pop("userPassword")[0].startswith(b"{SSHA512}")
    for volatile in ["ds-pwp-password-expiration-time", "etag"]:
        before.pop(volatile, None), after.pop(volatile, None)
    assert after == before
    argon2.connect(ANNA, "first secret")
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        argon2.connect(ANNA, "second secret")


def set_password(connection, password):
    connection.modify_s(ANNA, [(ldap.MOD_REPLACE, "userPassword", password.encode())])
    return True


def test_encrypted_passwords_of_opendj_log_in_with_the_key(argon2, tmp_path):
    encrypted = "{AES}AQARIjNEVWZ3iJmqu8zd7v/IycrLzM3Oz9DR0tPU1dbXjI4tGt4YWlA="
    file = tmp_path / "people.ldif"
    file.write_text(LDIF.replace("first secret", encrypted))
    argon2.import_ldif(file).start()
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        argon2.connect(ANNA, "password")
    argon2.stop()
    keys = argon2.dir / "keys" / "opendj"
    argon2.configure('[password-storage-scheme.AES]\ntype = "aes"\nkey-file = "keys/opendj"\n')
    keys.write_text("no key\n")
    done = argon2.tool("start", check=False, timeout=30)
    assert done.returncode == 1
    assert f"the file {keys} with keys of passwords is not usable: line 1: a key is written as" in done.stderr
    keys.write_text("00112233-4455-6677-8899-aabbccddeeff AES/CFB/NoPadding 01080f161d242b323940474e555c636a\n")
    argon2.start()
    argon2.connect(ANNA, "password")
    assert stored(argon2) == encrypted
