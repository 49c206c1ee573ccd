"""Services and containers: the first start sets the directory up without a question, `status --healthy` says whether it
does its work, and sockets are taken over from the service manager."""

import fcntl
import socket
import subprocess

import ldap
import pytest
from pando_server import Pando, binary, connect, free_ports, until
from service_manager import Service


@pytest.fixture
def begin(tmp_path):
    """Starts services on an instance folder; those that run at the end are killed."""
    all = []

    def start(instance: Pando, handed=(), **variables):
        folder = tmp_path / f"service{len(all)}"
        folder.mkdir()
        named = {f"PANDO_{name}": str(value) for name, value in variables.items()}
        all.append(Service([binary(), "start", "--setup", "--instance", instance.dir], folder, named, handed))
        return all[-1]

    yield start
    for service in all:
        if service.process.poll() is None:
            service.kill()


@pytest.fixture
def instance(tmp_path):
    made = Pando(tmp_path / "inst")
    yield made
    made.remove()


def variables(instance: Pando) -> dict:
    return {
        "LDAP_PORT": instance.port,
        "LDAPS_PORT": instance.tls_port,
        "BASE_DN": "dc=example,dc=org",
        "ADD_BASE_ENTRY": "true",
        "DEFAULT_PASSWORD_STORAGE_SCHEME": "Salted SHA-512",
    }


def names(con) -> list[str]:
    return [dn for dn, _ in con.search_s("dc=example,dc=org", ldap.SCOPE_SUBTREE)]


def test_the_first_start_sets_up_and_the_next_one_keeps_it(begin, instance):
    service = begin(instance, **variables(instance))
    assert service.notice() == "READY=1"
    password = (instance.dir / "keys" / "root.password").read_text().strip()
    assert (instance.dir / "keys" / "root.password").stat().st_mode & 0o777 == 0o600
    con = connect(instance.url, password=password)
    assert names(con) == ["dc=example,dc=org"]
    con.add_s("ou=kept,dc=example,dc=org", [("objectClass", [b"organizationalUnit"])])
    assert instance.tool("status", "--healthy").stdout == "healthy\n"
    assert service.stop() == 0
    # Other variables than before: the instance is there, so they are not looked at.
    service = begin(instance, **{**variables(instance), "BASE_DN": "dc=other"})
    assert service.notice() == "READY=1"
    assert names(connect(instance.url, password=password)) == ["dc=example,dc=org", "ou=kept,dc=example,dc=org"]
    assert service.stop() == 0


def test_the_password_comes_from_a_file(begin, instance, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("from-a-file\n")
    service = begin(instance, ROOT_USER_PASSWORD_FILE=secret, **variables(instance))
    assert service.notice() == "READY=1"
    assert not (instance.dir / "keys" / "root.password").exists()
    connect(instance.url, password="from-a-file")


def test_a_wrong_variable_is_refused_and_a_misspelled_one_is_told(begin, instance):
    service = begin(instance, **{**variables(instance), "LDAP_PORT": "ldap"})
    assert service.process.wait(timeout=60) == 1
    assert "invalid value 'ldap' for '--ldapPort <PORT>'" in service.said()
    assert "PANDO_LDAP_PORT" in service.said()
    assert not instance.config.exists()
    service = begin(instance, LDAP_PROT=1, SERVICE_HOST="10.0.0.1", **variables(instance))
    assert service.notice() == "READY=1"
    assert "PANDO_LDAP_PROT is no variable of setup and not taken; did you mean PANDO_LDAP_PORT?" in service.said()
    assert "SERVICE_HOST" not in service.said()


def test_an_interrupted_setup_is_begun_anew(begin, instance):
    """The service manager starts a service that was killed again; nobody is there to clean up."""
    service = begin(instance, **{**variables(instance), "ADD_BASE_ENTRY": "false"}, SAMPLE_DATA=20_000)
    until(lambda: (instance.dir / "db" / "userRoot").exists())
    service.kill()
    assert not instance.config.exists(), "the setup was faster than the kill"
    service = begin(instance, **variables(instance))
    assert service.notice() == "READY=1"
    password = (instance.dir / "keys" / "root.password").read_text().strip()
    assert names(connect(instance.url, password=password)) == ["dc=example,dc=org"]
    assert not (instance.dir / "setup.unfinished").exists()


def test_what_is_no_instance_stays(begin, instance):
    (instance.dir / "db").mkdir(parents=True)
    (instance.dir / "db" / "mine").write_text("precious")
    service = begin(instance, **variables(instance))
    assert service.process.wait(timeout=60) == 1
    assert "holds other things (db)" in service.said()
    assert (instance.dir / "db" / "mine").read_text() == "precious"


def listening(port: int) -> socket.socket:
    it = socket.socket()
    it.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    it.bind(("127.0.0.1", port))
    it.listen(16)
    # Not where the service will have it.
    high = fcntl.fcntl(it.fileno(), fcntl.F_DUPFD, 20)
    it.close()
    return socket.socket(fileno=high)


def test_sockets_are_taken_over_and_clients_wait_in_them(begin, instance):
    (http,) = free_ports(1)
    sockets = [listening(port) for port in (instance.port, instance.tls_port, http)]
    secret = instance.dir.with_name("secret")
    secret.write_text("secret12\n")
    named = variables(instance) | {"HTTP_PORT": http, "ROOT_USER_PASSWORD_FILE": secret, "SKIP_PORT_CHECK": "true"}
    instance.dir.mkdir()
    subprocess.run([binary(), *setup_arguments(instance, named)], check=True, capture_output=True)
    # Nobody accepts yet: the connection waits in the socket.
    early = socket.create_connection(("127.0.0.1", instance.port))
    service = begin(instance, handed=sockets)
    assert service.notice() == "READY=1", service.said()
    early.sendall(bytes.fromhex("300c020101600702010304008000"))
    assert early.recv(64)[:1] == b"\x30"
    early.close()
    assert names(connect(instance.url)) == ["dc=example,dc=org"]
    assert names(connect(instance.tls_url)) == ["dc=example,dc=org"]
    alive = subprocess.run(["curl", "-s", f"http://127.0.0.1:{http}/healthy"], capture_output=True, text=True)
    assert alive.stdout == "healthy\n"
    assert service.stop() == 0
    # The service manager still has them: the next start goes on with them.
    service = begin(instance, handed=sockets)
    assert service.notice() == "READY=1", service.said()
    assert names(connect(instance.url)) == ["dc=example,dc=org"]
    for it in sockets:
        it.close()


def setup_arguments(instance: Pando, named: dict) -> list[str]:
    given = ["setup", "--instance", str(instance.dir), "--no-prompt", "--quiet", "--skipPortCheck", "--addBaseEntry"]
    options = {"LDAP_PORT": "--ldapPort", "LDAPS_PORT": "--ldapsPort", "HTTP_PORT": "--httpPort"}
    options |= {"BASE_DN": "--baseDN", "ROOT_USER_PASSWORD_FILE": "--rootUserPasswordFile"}
    options |= {"DEFAULT_PASSWORD_STORAGE_SCHEME": "--defaultPasswordStorageScheme"}
    return given + [word for name, option in options.items() for word in (option, str(named[name]))]


def test_a_socket_that_no_handler_has_is_refused(begin, instance):
    (other,) = free_ports(1)
    handed = listening(other)
    service = begin(instance, handed=[handed], **variables(instance))
    assert service.process.wait(timeout=60) == 1
    assert f"the service manager listens at 127.0.0.1:{other} for this server" in service.said()
    handed.close()


def test_a_server_that_does_not_run_is_not_healthy(instance):
    instance.setup()
    asked = instance.tool("status", "--healthy", check=False)
    assert (asked.returncode, asked.stdout) == (1, "")
    assert asked.stderr == f"pando status: no server runs on {instance.dir}\n"
