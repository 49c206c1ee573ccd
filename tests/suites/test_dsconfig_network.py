"""dsconfig over LDAP: the configuration of a server on the network, read as entries below cn=config."""

import subprocess

import pytest
from pando_server import ROOT_DN, ROOT_PW, binary


def dsconfig(folder, instance, *words, password=ROOT_PW, port=None):
    """From a folder where no instance is."""
    place = ["-h", "127.0.0.1", "-p", str(port or instance.tls_port), "-D", ROOT_DN, "-w", password, "-X", "-n"]
    command = [binary(), "dsconfig", *place, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


INDEX = ("get-backend-index-prop", "--backend-name", "userRoot", "--index-name")


@pytest.mark.parametrize(
    "words",
    [
        ("list-backends",),
        ("list-backend-indexes", "--backend-name", "userRoot"),
        ("list-plugins",),
        ("list-log-publishers", "-s"),
        ("list-root-dn-users",),
        ("get-backend-prop", "--backend-name", "userRoot"),
        (*INDEX, "cn"),
        ("get-global-configuration-prop",),
        ("get-password-policy-prop", "--policy-name", "Default Password Policy", "-s"),
        ("get-root-dn-user-prop", "--user-name", "Directory Manager"),
        ("get-access-control-handler-prop", "-E", "-s"),
    ],
)
def test_it_shows_what_the_file_shows(server, tmp_path, words):
    own = server.tool("dsconfig", *words).stdout
    assert dsconfig(tmp_path, server, *words) == (0, own, "")


@pytest.mark.parametrize(
    "words",
    [
        (*INDEX, "nn"),
        ("get-plugin-prop", "--plugin-name", "x"),
        ("list-backend-indexes", "--backend-name", "x"),
        (*INDEX, "cn", "--property", "index-typ"),
        ("set-backend-prop", "--backend-name", "x", "--set", "index-entry-limit:1"),
        ("set-backend-prop", "--backend-name", "userRoot", "--set", "index-entry-limt:1"),
        ("create-plugin", "--plugin-name", "x", "--type", "unique-attribute"),
        ("create-plugin", "--plugin-name", "x", "--type", "unique-attribute", "--set", "attribute-typ:mail"),
        ("create-plugin", "--plugin-name", "x", "--type", "unique-attribute", "--set", "update-interval:5 s"),
    ],
)
def test_the_same_mistake_has_the_same_answer(server, tmp_path, words):
    own = server.tool("dsconfig", *words, "-n", check=False)
    assert own.returncode == 1
    assert dsconfig(tmp_path, server, *words) == (1, "", own.stderr)


def test_connections_that_fail_are_one_sentence(server, tmp_path):
    status, _, told = dsconfig(tmp_path, server, "list-backends", password="wrong")
    assert status == 1 and told.startswith("pando dsconfig: the bind is refused") and told.count("\n") == 1
    status, _, told = dsconfig(tmp_path, server, "list-backends", port=1)
    assert status == 1 and "127.0.0.1:1" in told and told.count("\n") == 1
    status, _, told = dsconfig(tmp_path, server, "list-backends", "-N", "mine")
    assert status == 1 and "--certNickname chooses among the certificates" in told
    command = [binary(), "dsconfig", "--instance", str(server.dir), "list-backends", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "--useStartTLS is for a server on the network" in done.stderr


def test_starttls_and_trusted_certificates(server, tmp_path):
    certificate = server.dir / "keys" / "server.crt"
    place = ["-h", "localhost", "-D", ROOT_DN, "-w", ROOT_PW, "-n", "-v"]
    for port, more in [(server.port, ["-q"]), (server.tls_port, [])]:
        words = [*place, "-p", str(port), *more, "-P", str(certificate), "list-backends", "-s"]
        done = subprocess.run([binary(), "dsconfig", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"The configuration is cn=config of localhost:{port}.\nuserRoot\n"
