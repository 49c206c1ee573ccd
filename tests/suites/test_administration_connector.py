"""The administration connector: LDAP over TLS on a port of its own, with a certificate of its own."""

import socket
import ssl

import ldap
import pytest
from pando_server import ROOT_DN, Pando, connect, free_ports


@pytest.fixture
def instance(tmp_path):
    instance = Pando(tmp_path / "inst")
    [instance.administration_port] = free_ports(1)
    yield instance
    instance.remove()


def certificate(port):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as tls:
        return ssl.DER_cert_to_PEM_cert(tls.getpeercert(binary_form=True))


def test_setup_makes_it_with_a_certificate_of_its_own(instance):
    instance.setup("--adminConnectorPort", instance.administration_port).start()
    pem = (instance.dir / "keys" / "admin.crt").read_text()
    assert certificate(instance.administration_port).split() == pem.split()
    assert certificate(instance.tls_port).split() != pem.split()
    assert (instance.dir / "keys" / "admin.key").stat().st_mode & 0o777 == 0o600
    con = connect(f"ldaps://127.0.0.1:{instance.administration_port}")
    [(_, entry)] = con.search_s("cn=Administration Connector,cn=config", ldap.SCOPE_BASE)
    assert entry["objectClass"] == [b"top", b"ds-cfg-administration-connector"]
    assert entry["ds-cfg-listen-port"] == [b"%d" % instance.administration_port]
    assert entry["ds-cfg-key-manager-provider"] == [b"cn=Administration,cn=Key Manager Providers,cn=config"]
    con.modify_s("cn=config", [(ldap.MOD_REPLACE, "ds-cfg-size-limit", [b"321"])])
    assert "size-limit = 321" in instance.config.read_text()
    assert f"{instance.administration_port}" in instance.tool("status").stdout
    # Another port takes a restart, which is said.
    con.modify_s("cn=Administration Connector,cn=config", [(ldap.MOD_REPLACE, "ds-cfg-listen-port", [b"4445"])])
    told = con.get_option(ldap.OPT_DIAGNOSTIC_MESSAGE)
    assert told == "[administration-connector] listen-port takes effect after a restart"
    con.unbind_s()


def test_without_tls_it_has_a_certificate_too(instance):
    instance.tool(
        "setup", "--rootUserPassword", "secret12", "--ldapPort", instance.port, "--noTls", "--no-prompt",
        "--adminConnectorPort", instance.administration_port,
    )  # fmt: skip
    instance.start()
    connect(f"ldaps://127.0.0.1:{instance.administration_port}", ROOT_DN).unbind_s()


def test_no_port_is_given_twice(instance):
    command = ("setup", "--rootUserPassword", "secret12", "--ldapPort", instance.port, "--no-prompt")
    told = instance.tool(*command, "--adminConnectorPort", instance.port, check=False)
    assert told.returncode == 1 and f"port {instance.port} is given twice" in told.stderr
    instance.setup("--adminConnectorPort", instance.administration_port)
    text = instance.config.read_text()
    instance.config.write_text(
        text.replace(f"listen-port = {instance.port}", f"listen-port = {instance.administration_port}")
    )
    told = instance.tool("dsconfig", "set-global-configuration-prop", "--set", "size-limit:5", "-n", check=False)
    assert told.returncode == 1 and f"port {instance.administration_port}, as" in told.stderr


def test_without_a_certificate_there_is_none(instance):
    instance.setup().start()
    con = instance.connect()
    [(_, entry)] = con.search_s("cn=Administration Connector,cn=config", ldap.SCOPE_BASE)
    assert "ds-cfg-key-manager-provider" not in entry and entry["ds-cfg-listen-port"] == [b"4444"]
    assert "Administration Connector" not in instance.tool("status").stdout
