"""GSSAPI and GSS-SPNEGO with Debian's KDC, and Cyrus SASL, Java and Go as clients. Takes a pando with the feature
gssapi, as scripts/test builds it; one without refuses the handler, which is tried then.
"""

import subprocess

import pytest
from client_programs import run
from kerberos import REALM, Realm
from pando_server import BASE, Pando, binary, until
from sasl_scene import INVALID, dn, person

HANDLER = '\n[sasl-mechanism-handler.GSSAPI]\ntype = "gssapi"\n'


def has_kerberos() -> bool:
    linked = subprocess.run(["ldd", binary()], capture_output=True, text=True).stdout
    return "libgssapi_krb5" in linked


with_kerberos = pytest.mark.skipif(not has_kerberos(), reason="this pando is built without the feature gssapi")


@pytest.fixture(scope="module")
def realm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("realm")
    realm = Realm(folder)
    for user in ("ann", "ben", "off", "stranger", "proxy"):
        realm.add_user(user, "pencil")
    realm.add_service("ldap/localhost", folder / "ldap.keytab")
    realm.add_service("imap/localhost", folder / "imap.keytab")
    yield realm
    realm.stop()


def start(folder, realm, *lines: str, keytab: str = "ldap", more: str = "") -> Pando:
    instance = Pando(folder / "inst").setup()
    ldif = folder / "people.ldif"
    ldif.write_text(
        f"dn: {BASE}\nobjectClass: domain\ndc: example\n"
        f'aci: (targetattr="*")(version 3.0; acl "proxy"; allow (proxy) userdn="ldap:///uid=proxy,{BASE}";)\n\n'
        + person("ann")
        + person("ben")
        + person("off", "ds-pwp-account-disabled: true")
        + person("proxy", "ds-privilege-name: proxied-auth")
    )
    instance.import_ldif(ldif)
    table = HANDLER + f'keytab = "{realm.folder}/{keytab}.keytab"\n' + "".join(line + "\n" for line in lines)
    instance.config.write_text(instance.config.read_text() + table + more)
    return instance.start(KRB5_CONFIG=f"{realm.folder}/krb5.conf")


@pytest.fixture(scope="module")
def server(tmp_path_factory, realm):
    instance = start(tmp_path_factory.mktemp("server"), realm, "offer-gss-spnego = true")
    yield instance
    assert instance.stop() == 0


def whoami(realm, instance: Pando, user: str, *args: str, tls: bool = False, mechanism: str = "GSSAPI", **more):
    """Exit status of ldapwhoami as a user with a ticket, and what it says."""
    url = f"ldaps://localhost:{instance.tls_port}" if tls else f"ldap://localhost:{instance.port}"
    # -N: the ticket is for the name in the URL, not for that of the address.
    done = subprocess.run(
        ["ldapwhoami", "-Q", "-N", "-H", url, "-Y", mechanism, *args],
        env={**realm.log_in(user, "pencil"), "LDAPTLS_REQCERT": "never", **more},
        capture_output=True, text=True, timeout=60)  # fmt: skip
    return done.returncode, (done.stdout if done.returncode == 0 else done.stderr).strip()


@with_kerberos
@pytest.mark.parametrize("tls", [False, True])
def test_tickets(realm, server, tls):
    assert whoami(realm, server, "ann", tls=tls) == (0, dn("ann"))
    assert whoami(realm, server, "stranger", tls=tls)[0] == INVALID, "a principal without an entry"
    assert whoami(realm, server, "off", tls=tls)[0] == INVALID, "an account out of use"
    until(lambda: "mechanism=GSSAPI" in server.access_log())


@with_kerberos
def test_the_ticket_is_bound_to_the_certificate(realm, server):
    assert whoami(realm, server, "ann", tls=True, LDAPSASL_CBINDING="tls-endpoint") == (0, dn("ann"))


@with_kerberos
def test_acting_as_somebody_else(realm, server):
    assert whoami(realm, server, "proxy", "-X", "u:ann") == (0, dn("ann"))
    assert whoami(realm, server, "ann", "-X", "u:ann") == (0, dn("ann"))
    assert whoami(realm, server, "ann", "-X", "u:ben")[0] == INVALID


@with_kerberos
def test_there_is_no_security_layer(realm, server):
    """Cyrus gives up before it sends its choice."""
    assert whoami(realm, server, "ann", "-O", "maxssf=0") == (0, dn("ann"))
    assert whoami(realm, server, "ann", "-O", "minssf=56")[0] != 0


@with_kerberos
def test_negotiated_tickets(realm, server):
    for tls in (False, True):
        assert whoami(realm, server, "ann", "-O", "maxssf=0", tls=tls, mechanism="GSS-SPNEGO") == (0, dn("ann"))
    # Without that the client encrypts what follows, and there is no message in which it could be told not to.
    assert whoami(realm, server, "ann", "-O", "maxssf=256", mechanism="GSS-SPNEGO")[0] == INVALID
    until(lambda: "maxssf=0" in server.access_log())


@with_kerberos
def test_keys_of_another_service_are_no_keys(realm, tmp_path):
    instance = start(tmp_path, realm, keytab="imap")
    try:
        assert whoami(realm, instance, "ann")[0] == INVALID
        # The file is read again.
        text = instance.config.read_text()
        instance.config.write_text(text.replace("imap.keytab", "ldap.keytab"))
        instance.tool("reload")
        assert whoami(realm, instance, "ann") == (0, dn("ann"))
        named = 'type = "gssapi"\nprincipal-name = "ldap/other.example.com@EXAMPLE.COM"\n'
        instance.config.write_text(instance.config.read_text().replace('type = "gssapi"\n', named))
        instance.tool("reload")
        assert whoami(realm, instance, "ann")[0] == INVALID, "there are no keys of that principal"
        missing = instance.config.read_text().replace("ldap.keytab", "none.keytab")
        instance.config.write_text(missing)
        refused = instance.tool("reload", check=False)
        assert refused.returncode != 0 and "none.keytab" in refused.stdout + refused.stderr
    finally:
        instance.remove()


@with_kerberos
def test_other_realms_and_mappers(realm, tmp_path):
    """A mapper that takes any realm does not open the door to other realms."""
    mapper = '[identity-mapper.local]\ntype = "regular-expression"\nmatch-pattern = "^([^@]+)@.+$"\n'
    mapper += 'replace-pattern = "$1"\n'
    lines = ['identity-mapper = "local"', f'realm = "{REALM}"']
    instance = start(tmp_path, realm, *lines, more=mapper)
    try:
        assert whoami(realm, instance, "ann") == (0, dn("ann"))
        other = instance.config.read_text().replace(f'realm = "{REALM}"', 'realm = "EXAMPLE.ORG"')
        instance.config.write_text(other)
        instance.tool("reload")
        assert whoami(realm, instance, "ann")[0] == INVALID
        until(lambda: "of another realm" in instance.access_log())
    finally:
        instance.remove()


@with_kerberos
def test_java(realm, server):
    """Java's own LDAP and the UnboundID SDK, with the ticket of ann."""
    environment = realm.log_in("ann", "pencil")
    login = "com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true doNotPrompt=true"
    login += f' ticketCache="{realm.folder}/tickets-ann";'
    # The SDK asks for the second name.
    (realm.folder / "jaas.conf").write_text(f"pando {{ {login} }};\nGSSAPIBindRequest {{ {login} }};\n")
    run(
        ["mvn", "-q", "-B", "test", "-Dtest=KerberosTest", "-Dsurefire.useFile=false"], "java", server, "",
        PANDO_KRB5_CONF=environment["KRB5_CONFIG"], PANDO_JAAS_CONF=f"{realm.folder}/jaas.conf", PANDO_SASL="ann",
    )  # fmt: skip


@with_kerberos
def test_go_ldap(realm, server):
    """Kerberos written in Go, with the ticket of ann."""
    environment = realm.log_in("ann", "pencil")
    run(
        ["go", "test", "-count=1", "-v", "-run", "TestTicket", "./..."], "go", server, "--- PASS: TestTicket",
        KRB5_CONFIG=environment["KRB5_CONFIG"], PANDO_SASL="ann", PANDO_TICKETS=f"{realm.folder}/tickets-ann",
    )  # fmt: skip


@pytest.mark.skipif(has_kerberos(), reason="this pando has Kerberos")
def test_a_program_without_kerberos_says_how_to_get_it(tmp_path):
    instance = Pando(tmp_path / "inst").setup()
    instance.config.write_text(instance.config.read_text() + HANDLER)
    done = subprocess.run([binary(), "start", "--instance", str(instance.dir)], capture_output=True, text=True)
    assert done.returncode != 0 and "--features gssapi" in done.stdout + done.stderr
    instance.config.write_text(instance.config.read_text() + "enabled = false\n")
    instance.start()
    instance.remove()
