"""Passwords that other servers check: a real slapd as the other directory, up, down and hanging, and saslauthd."""

import re
import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager

import ldap
import ldap.extop
import pytest
from pando_server import BASE, DIRECTORY_LDIF, free_ports, until
from pass_through_scene import (
    ANN,
    BEN,
    LOCAL,
    ODD_UID,
    PEOPLE,
    THERE,
    add_people,
    address,
    code,
    person,
    pointer,
    policy,
    remote_data,
)
from settable_clock import SettableClock
from slapd_server import slapd_url


@pytest.fixture(scope="module")
def remote(tmp_path_factory):
    """The URL of the other directory."""
    folder = tmp_path_factory.mktemp("remote")
    with slapd_url(folder, "", data=remote_data(folder)) as url:
        yield url


@contextmanager
def hanging():
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        taken = []

        def take():
            try:
                while True:
                    taken.append(listener.accept()[0])
            except OSError:
                pass

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        for connection in taken:
            connection.close()


def monitor(root, name):
    ((_, found),) = root.search_s(f"cn={name},cn=monitor", ldap.SCOPE_BASE, "(objectClass=*)", ["*", "+"])
    return {key: [value.decode() for value in values] for key, values in found.items()}


def test_binds_go_to_the_other_directory(fresh, remote):
    fresh.configure(policy("Elsewhere", f'primary-remote-ldap-server = "{address(remote)}"')).start()
    root = add_people(fresh, "Elsewhere")
    assert code(fresh, ANN, THERE) == 0
    assert code(fresh, ANN, LOCAL) == 49
    # One that the other directory does not have.
    root.add_s(BEN, person("ben", **pointer("Elsewhere")))
    assert code(fresh, BEN, THERE) == 49
    log = until(lambda: re.search(r'BIND .*dn="uid=ben.*', fresh.access_log()) and fresh.access_log())
    assert "The remote directory refuses the bind" in log
    # PLAIN goes the same way; SCRAM knows no such account.
    con = ldap.initialize(fresh.tls_url)
    con.set_option(ldap.OPT_X_TLS_REQUIRE_CERT, ldap.OPT_X_TLS_NEVER)
    con.set_option(ldap.OPT_X_TLS_NEWCTX, 0)
    con.sasl_interactive_bind_s("", ldap.sasl.sasl({ldap.sasl.CB_AUTHNAME: "ann", ldap.sasl.CB_PASS: THERE}, "PLAIN"))
    assert con.whoami_s().lower() == f"dn:{ANN}".lower()
    # The password is not changed here.
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        con.passwd_s(ANN, THERE, "another 3")
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        root.passwd_s(ANN, None, "another 3")
    # Who is disabled here stays out.
    root.modify_s(ANN, [(ldap.MOD_REPLACE, "ds-pwp-account-disabled", b"TRUE")])
    assert code(fresh, ANN, THERE) == 49


def test_accounts_are_found_by_a_search(fresh, remote):
    """Whatever characters a value has, it stays a value; who is found twice is not found."""
    fresh.configure(
        policy(
            "Found",
            f'primary-remote-ldap-server = "{address(remote)}"',
            'mapping-policy = "mapped-search"',
            'mapped-attribute = "employeeNumber"',
            f'mapped-search-base-dn = "{PEOPLE}"',
            'mapped-search-filter-template = "(&(objectClass=inetOrgPerson)(uid=%s))"',
            f'mapped-search-bind-dn = "cn=admin,{BASE}"',
            'mapped-search-bind-password-environment-variable = "SEARCH_PASSWORD"',
        )
    ).start(SEARCH_PASSWORD="secret")
    root = fresh.connect()
    root.add_s(PEOPLE, [("objectClass", [b"organizationalUnit"]), ("ou", [b"Staff"])])
    for name, number, expected in [
        ("ann", ["ann"], 0),
        ("odd", [ODD_UID], 0),
        ("star", ["*"], 49),
        ("trick", ["ann)(uid=*"], 49),
        ("twin", ["twin"], 49),
        ("absent", ["nobody"], 49),
        ("without", [], 49),
    ]:
        more = {"employeeNumber": number} if number else {}
        root.add_s(f"uid={name},{PEOPLE}", person(name, **more, **pointer("Found")))
        assert code(fresh, f"uid={name},{PEOPLE}", THERE) == expected, name
    log = until(lambda: "by which the account is found" in fresh.access_log() and fresh.access_log())
    assert "has several entries that match" in log and "has no entry that matches" in log


def test_accounts_have_the_name_of_an_attribute(fresh, remote):
    fresh.configure(
        policy(
            "Named",
            f'primary-remote-ldap-server = "{address(remote)}"',
            'mapping-policy = "mapped-bind"',
            'mapped-attribute = "seeAlso"',
        )
    ).start()
    root = fresh.connect()
    root.add_s(PEOPLE, [("objectClass", [b"organizationalUnit"]), ("ou", [b"Staff"])])
    root.add_s(BEN, person("ben", seeAlso=[ANN], **pointer("Named")))
    assert code(fresh, BEN, THERE) == 0
    root.modify_s(BEN, [(ldap.MOD_DELETE, "seeAlso", None)])
    assert code(fresh, BEN, THERE) == 49


def test_servers_that_are_down_or_hang(fresh, remote):
    """The second list is asked; nobody who can be asked is `unavailable`; one line when a server goes, one when it is
    back."""
    (port,) = free_ports(1)
    settings = ['connection-timeout = "1 s"', f'primary-remote-ldap-server = "127.0.0.1:{port}"']
    with hanging() as stuck:
        fresh.configure(
            policy("Spare", *settings, f'secondary-remote-ldap-server = "{address(remote)}"')
            + policy("Alone", *settings)
            + policy("Stuck", 'connection-timeout = "1 s"', f'primary-remote-ldap-server = "{stuck}"')
        ).start()
        root = add_people(fresh, "Spare")
        assert code(fresh, ANN, THERE) == 0
        assert code(fresh, ANN, "wrong") == 49
        for name in ("Alone", "Stuck"):
            root.modify_s(ANN, [(ldap.MOD_REPLACE, *next((k, v[0].encode()) for k, v in pointer(name).items()))])
            assert [code(fresh, ANN, THERE) for _ in range(3)] == [52, 52, 52]
        servers = monitor(root, "Pass-Through Spare")["servers"]
        assert any("primary down" in line for line in servers) and any("secondary up" in line for line in servers)
        until(lambda: "server 127.0.0.1" in fresh.error_log())
        # It comes up: the policy finds it within seconds.
        data = fresh.dir / "late"
        data.mkdir()
        forward = forwarding(port, remote)
        try:
            root.modify_s(ANN, [(ldap.MOD_REPLACE, *next((k, v[0].encode()) for k, v in pointer("Alone").items()))])
            until(lambda: code(fresh, ANN, THERE) == 0, 60)
            until(lambda: "is asked for passwords again" in fresh.error_log())
        finally:
            forward.terminate()
            forward.wait()
        assert fresh.error_log().count('of the password policy "Alone" is not asked') == 1


# Gives each connection to one port on to another.
FORWARD = """
import socket, sys, threading
def pump(one, other):
    try:
        while data := one.recv(65536):
            other.sendall(data)
    except OSError:
        pass
    other.close()
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
while True:
    here = listener.accept()[0]
    there = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    threading.Thread(target=pump, args=(here, there), daemon=True).start()
    threading.Thread(target=pump, args=(there, here), daemon=True).start()
"""


def forwarding(port, remote):
    """A process that gives connections to `port` on to the server `remote`; it listens when this returns."""
    command = ["python3", "-c", FORWARD, str(port), address(remote).rpartition(":")[2]]
    forward = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert forward.stdout.readline() == b"listening\n"
    return forward


def test_a_server_that_hangs_holds_up_nobody_else(fresh):
    """Hundreds of binds wait for a server that never answers: others bind and search meanwhile."""
    with hanging() as stuck:
        fresh.configure(
            policy("Stuck", 'connection-timeout = "4 s"', f'primary-remote-ldap-server = "{stuck}"')
        ).start()
        root = add_people(fresh, "Stuck")
        waiting = []
        for _ in range(400):
            con = ldap.initialize(fresh.url)
            con.simple_bind(ANN, THERE)
            waiting.append(con)
        begun = time.monotonic()
        assert code(fresh, f"uid=user.0,ou=People,{BASE}", "wrong") == 49
        root.search_s(BASE, ldap.SCOPE_BASE)
        assert time.monotonic() - begun < 3
        codes = []
        for con in waiting:
            try:
                con.result(timeout=60)
            except ldap.LDAPError as error:
                codes.append(error.args[0]["result"])
            con.unbind_s()
        assert len(codes) == 400 and set(codes) <= {51, 52}, set(codes)
        assert 51 in codes, "the queue is bounded"


def test_a_cached_password_spares_the_question_for_its_time(fresh, remote, tmp_path):
    """Kept for an hour by the server's clock; dropped by a wrong password; no search shows it."""
    clock = SettableClock(tmp_path, int(time.time()))
    (port,) = free_ports(1)
    forward = forwarding(port, remote)
    try:
        fresh.configure(
            policy(
                "Cached",
                f'primary-remote-ldap-server = "127.0.0.1:{port}"',
                "use-password-caching = true",
                'cached-password-ttl = "1 h"',
                'cached-password-storage-scheme = "PBKDF2-HMAC-SHA256"',
            )
        ).start(**clock.variables())
        root = add_people(fresh, "Cached")
        stamp = root.read_s(ANN, attrlist=["modifyTimestamp"])
        assert code(fresh, ANN, THERE) == 0
        until(lambda: "ds-pta-cached-password-time" in root.read_s(ANN, attrlist=["*", "+"]))
        assert "ds-pta-cached-password" not in root.read_s(ANN, attrlist=["*", "+", "ds-pta-cached-password"])
        assert root.read_s(ANN, attrlist=["modifyTimestamp"]) == stamp
    finally:
        forward.terminate()
        forward.wait()
    assert code(fresh, ANN, THERE) == 0, "nobody has to be asked"
    assert code(fresh, ANN, "wrong") == 52
    clock.set(clock.seconds + 3601)
    assert code(fresh, ANN, THERE) == 52


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (['primary-remote-ldap-server = "here"'], "names no server: write HOST:PORT"),
        ([], 'needs "primary-remote-ldap-server"'),
        (['primary-remote-ldap-server = "a:1"', 'mapping-policy = "mapped-bind"'], 'needs "mapped-attribute"'),
        (
            [
                'primary-remote-ldap-server = "a:1"',
                'mapping-policy = "mapped-search"',
                'mapped-attribute = "uid"',
                'mapped-search-base-dn = "dc=a"',
                'mapped-search-filter-template = "(uid=ann)"',
            ],
            "it has no %s",
        ),
        (['primary-remote-ldap-server = "a:1"', 'mapped-search-bind-dn = "cn=a"'], "needs the password"),
        (['primary-remote-ldap-server = "a:1"', 'cached-password-storage-scheme = "Clear"'], "a scheme that hashes"),
        (['primary-remote-ldap-server = "a:1"', "max-password-age = 5"], "belongs to type"),
    ],
)
def test_bad_policies_are_refused(fresh, lines, said):
    before = fresh.config.read_text()
    fresh.start()
    with open(fresh.config, "a") as file:
        file.write(policy("Bad", *lines))
    done = fresh.tool("reload", check=False)
    assert done.returncode != 0 and said in done.stderr, done.stderr
    fresh.config.write_text(before)


def test_the_default_policy_cannot_be_passed_on(fresh):
    fresh.configure(policy("Elsewhere", 'primary-remote-ldap-server = "a:1"')).start()
    done = fresh.tool(
        "dsconfig", "set-global-configuration-prop", "--set", "default-password-policy:Elsewhere", check=False
    )
    assert done.returncode != 0 and "cannot have the type ldap-pass-through" in done.stderr, done.stderr


@pytest.fixture
def saslauthd(tmp_path, remote):
    """The socket of a saslauthd that knows the people of the other directory."""
    program = shutil.which("saslauthd") or shutil.which("saslauthd", path="/usr/sbin")
    if not program:
        pytest.skip("saslauthd is not installed")
    conf = tmp_path / "saslauthd.conf"
    conf.write_text(f"ldap_servers: {remote}\nldap_search_base: {PEOPLE}\nldap_filter: uid=%u\n")
    # A path of a local socket has 107 characters at most.
    folder = tmp_path / "mux"
    folder.mkdir()
    command = [program, "-d", "-a", "ldap", "-O", str(conf), "-m", str(folder), "-n", "2"]
    # It ends its whole process group.
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, start_new_session=True, **quiet)
    until(lambda: (folder / "mux").exists())
    yield folder / "mux", process
    if process.poll() is None:
        process.terminate()
        process.wait()


def test_saslauthd_checks_the_passwords_of_sasl_values(fresh, saslauthd):
    path, process = saslauthd
    fresh.start()
    root = fresh.connect()
    root.add_s(PEOPLE, [("objectClass", [b"organizationalUnit"]), ("ou", [b"Staff"])])
    root.add_s(ANN, person("ann"))
    root.modify_s(ANN, [(ldap.MOD_REPLACE, "userPassword", b"{SASL}ann@EXAMPLE.COM")])
    assert code(fresh, ANN, THERE) == 49, "no password matches while no socket is configured"
    fresh.tool("dsconfig", "set-global-configuration-prop", "--set", f"saslauthd-socket:{path}")
    assert code(fresh, ANN, THERE) == 0
    assert code(fresh, ANN, "wrong") == 49
    fresh.tool(
        "dsconfig",
        "set-password-policy-prop",
        "--policy-name",
        "Default Password Policy",
        "--set",
        "lockout-failure-count:3",
    )
    assert [code(fresh, ANN, "wrong") for _ in range(3)] == [49, 49, 49]
    assert code(fresh, ANN, THERE) == 49, "three wrong ones lock, wherever they are checked"
    process.terminate()
    process.wait()
    root.modify_s(ANN, [(ldap.MOD_REPLACE, "userPassword", b"{SASL}ann")])
    until(lambda: code(fresh, ANN, THERE) == 52)
    until(lambda: "saslauthd at" in fresh.error_log())


def test_imports_keep_sasl_values(fresh, tmp_path):
    ldif = tmp_path / "sasl.ldif"
    person = "objectClass: inetOrgPerson\nuid: ann\ncn: Ann\nsn: Example\n"
    entry = f"dn: {ANN}\n{person}userPassword: {{SASL}}ann@EXAMPLE.COM\n"
    above = f"dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: Staff\n"
    ldif.write_text(DIRECTORY_LDIF.read_text() + "\n" + above + "\n" + entry)
    fresh.import_ldif(ldif)
    root = fresh.start().connect()
    assert root.read_s(ANN, attrlist=["userPassword"])["userPassword"] == [b"{SASL}ann@EXAMPLE.COM"]
