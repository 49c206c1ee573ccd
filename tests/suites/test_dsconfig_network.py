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


RULE = ("--plugin-name", "Unique mail")


def test_objects_come_change_and_go(fresh, tmp_path):
    fresh.start()

    def done(*words):
        status, told, wrong = dsconfig(tmp_path, fresh, *words)
        assert (status, wrong) == (0, ""), wrong
        return told

    def shown(*words):
        """By both ways the same."""
        own = fresh.tool("dsconfig", *words, "-s").stdout
        assert done(*words, "-s") == own
        return own.splitlines()

    told = done("create-plugin", *RULE, "--type", "unique-attribute", "--set", "attribute-type:mail")
    assert told.splitlines()[0] == 'The Plugin "Unique mail" was created.'
    get = ("get-plugin-prop", *RULE)
    done(
        "set-plugin-prop",
        *RULE,
        "--add",
        "attribute-type:uid",
        "--add",
        "attribute-type:mail",
        "--set",
        "enabled:false",
    )
    assert {"attribute-type\tmail\tuid", "enabled\tfalse"} <= set(shown(*get))
    done("set-plugin-prop", *RULE, "--remove", "attribute-type:mail", "--reset", "enabled")
    assert {"attribute-type\tuid", "enabled\ttrue"} <= set(shown(*get))
    done("delete-plugin", *RULE)
    assert "Unique mail" not in shown("list-plugins")
    done("delete-plugin", *RULE, "--force")
    # An index is built while the server serves.
    index = ("--backend-name", "userRoot", "--index-name", "employeeType")
    done("create-backend-index", *index, "--set", "index-type:equality")
    assert "employeeType" in fresh.tool("backendstat", "show-index-status", "-n", "userRoot").stdout
    # What takes a restart is said.
    told = done("set-global-configuration-prop", "--set", "check-schema:false")
    assert "check-schema takes effect after a restart" in told
    # A new backend has the indexes that setup gives the first one.
    done("create-backend", "--backend-name", "other", "--set", "base-dn:dc=other,dc=com")
    assert len(shown("list-backend-indexes", "--backend-name", "other")) == 13
    done("delete-backend", "--backend-name", "other")
    assert shown("list-backends") == ["userRoot"]
    assert fresh.stop() == 0


# S4-06, S0-16
def test_the_printed_commands_run_over_the_network(fresh, tmp_path):
    fresh.start()
    for words in (
        ("set-backend-index-prop", "--backend-name", "userRoot", "--index-name", "cn", "--set", "index-entry-limit:9"),
        ("set-password-policy-prop", "--policy-name", "Default Password Policy")
        + ("--set", "default-password-storage-scheme:PBKDF2"),
    ):
        status, told, wrong = dsconfig(tmp_path, fresh, *words)
        assert status == 0, wrong
    assert "index-entry-limit = 9" in fresh.config.read_text()
    assert fresh.stop() == 0


@pytest.mark.parametrize(
    "words",
    [
        ("set-backend-index-prop", *INDEX[1:], "cn", "--set", "index-type:sounds"),
        ("set-backend-index-prop", *INDEX[1:], "cn", "--set", "substring-length:4", "--set", "substring-length:5"),
        ("set-backend-index-prop", *INDEX[1:], "cn", "--remove", "index-type:presence"),
        ("set-global-configuration-prop", "--set", "size-limit:-1"),
        ("create-backend-index", *INDEX[1:], "cn", "--set", "index-type:equality"),
        ("create-plugin", "--plugin-name", "x", "--type", "unique-attribute", "--set", "attribute-type:noSuchType"),
        ("create-plugin", "--plugin-name", "x", "--type", "seven-bit-clean", "--set", "enabled:perhaps"),
        ("create-backend-index", "--backend-name", "x", "--index-name", "cn", "--set", "index-type:equality"),
        ("delete-backend-index", *INDEX[1:], "nn"),
        ("delete-password-policy", "--policy-name", "Default Password Policy"),
        ("set-backend-prop", "--backend-name", "userRoot", "--set", "base-dn:nonsense"),
    ],
)
def test_what_is_refused_is_refused_in_the_same_words(server, tmp_path, words):
    before = server.config.read_text()
    own = server.tool("dsconfig", *words, "-n", check=False)
    assert own.returncode == 1
    assert dsconfig(tmp_path, server, *words) == (1, "", own.stderr)
    assert server.config.read_text() == before
