"""TLS on the way to the server that checks passwords: LDAPS and StartTLS to a real slapd, and every property of it.

Where the other side is not who it has to be, no password is sent, nobody is let in, and the log says it once.
"""

import contextlib
from typing import NamedTuple

import ldap
import pytest
from certificates import make_certificate, make_issuer, revoke
from pando_server import free_ports, until
from pass_through_scene import ANN, THERE, add_people, code, policy, remote_data
from slapd_server import slapd_url

# All that slapd speaks where it is told to be strict, in the words of GnuTLS.
STRICT = "TLSCipherSuite NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:+AES-256-GCM"
SLAPD_AES_256 = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
LDAPS, START_TLS = "use-ssl = true", "use-start-tls = true"


class Remote(NamedTuple):
    """A slapd with a certificate for the name localhost."""

    plain: int
    tls: int

    def server(self, way: str, host: str = "localhost") -> str:
        return f'primary-remote-ldap-server = "{host}:{self.tls if way == LDAPS else self.plain}"'


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    for issuer in ("issuer", "stranger"):
        make_issuer(folder, issuer)
    make_certificate(folder, "slapd", "issuer", "/CN=slapd", 7, "subjectAltName = DNS:localhost\n")
    revoke(folder, "issuer", 7)
    return folder


@contextlib.contextmanager
def slapd_with_tls(folder, certificates, *more: str):
    (port,) = free_ports(1)
    files = {
        "TLSCertificateFile": "slapd.crt",
        "TLSCertificateKeyFile": "slapd.key",
        "TLSCACertificateFile": "issuer.crt",
    }
    lines = [*(f"{name} {certificates}/{file}" for name, file in files.items()), *more]
    listeners = (f"ldaps://127.0.0.1:{port}",)
    with slapd_url(folder, "", server="\n".join(lines), data=remote_data(folder), listeners=listeners) as url:
        yield Remote(int(url.rpartition(":")[2]), port)


@pytest.fixture(scope="module")
def remote(tmp_path_factory, certificates):
    with slapd_with_tls(tmp_path_factory.mktemp("remote"), certificates) as remote:
        yield remote


@pytest.fixture(scope="module")
def strict(tmp_path_factory, certificates):
    with slapd_with_tls(tmp_path_factory.mktemp("strict"), certificates, STRICT) as remote:
        yield remote


def start(server, certificates, *properties: str, trusted="issuer", more=""):
    provider = f'[trust-manager-provider.there]\ntype = "pem"\ntrust-store-file = "{certificates}/{trusted}.crt"\n'
    trust = 'trust-manager-provider = "there"'
    server.configure(f"\n{provider}{more}" + policy("Elsewhere", *properties, trust)).start()
    return add_people(server, "Elsewhere")


def is_refused_with_one_line(server, said: str):
    assert [code(server, ANN, THERE) for _ in range(3)] == [52, 52, 52]
    log = until(lambda: "is not asked for passwords" in server.error_log() and server.error_log())
    lines = [line for line in log.splitlines() if "is not asked for passwords" in line]
    assert len(lines) == 1 and said in lines[0], lines


@pytest.mark.parametrize("way", [LDAPS, START_TLS])
def test_a_server_with_a_certificate_of_the_trusted_issuer_is_asked(fresh, remote, certificates, way):
    root = start(fresh, certificates, remote.server(way), way)
    assert code(fresh, ANN, THERE) == 0
    assert code(fresh, ANN, "wrong") == 49
    ((_, found),) = root.search_s("cn=Pass-Through Elsewhere,cn=monitor", ldap.SCOPE_BASE)
    assert b"localhost" in found["servers"][0] and b"primary up" in found["servers"][0]


@pytest.mark.parametrize("way", [LDAPS, START_TLS])
def test_a_certificate_of_another_issuer_is_not_believed(fresh, remote, certificates, way):
    start(fresh, certificates, remote.server(way), way, trusted="stranger")
    is_refused_with_one_line(fresh, "TLS: nobody who is trusted has signed the server's certificate")


@pytest.mark.parametrize("way", [LDAPS, START_TLS])
def test_a_certificate_for_another_host_is_not_believed(fresh, remote, certificates, way):
    start(fresh, certificates, remote.server(way, "127.0.0.1"), way)
    is_refused_with_one_line(fresh, "certificate is not for 127.0.0.1; names in it: localhost")


def test_a_revoked_certificate_is_not_believed(fresh, remote, certificates):
    more = f'revocation-list-file = "{certificates}/list.pem"\n'
    start(fresh, certificates, remote.server(LDAPS), LDAPS, more=more)
    is_refused_with_one_line(fresh, "certificate is revoked")


def test_the_machine_does_not_trust_an_issuer_of_a_test(fresh, remote):
    fresh.configure(policy("Elsewhere", remote.server(LDAPS), LDAPS)).start()
    add_people(fresh, "Elsewhere")
    is_refused_with_one_line(fresh, "nobody who is trusted has signed")


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('ssl-protocol = "TLSv1.2"', 0),
        ('ssl-protocol = "TLSv1.3"', 52),
        (f'ssl-cipher-suite = "{SLAPD_AES_256}"', 0),
        ('ssl-cipher-suite = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"', 52),
    ],
)
def test_versions_and_cipher_suites_are_those_of_the_policy(fresh, strict, certificates, rule, expected):
    start(fresh, certificates, strict.server(LDAPS), LDAPS, rule)
    assert code(fresh, ANN, THERE) == expected


def test_a_server_that_refuses_start_tls_gets_no_password(fresh, tmp_path):
    with slapd_url(tmp_path, "", data=remote_data(tmp_path)) as url:
        server = f'primary-remote-ldap-server = "localhost:{url.rpartition(":")[2]}"'
        fresh.configure(policy("Elsewhere", server, START_TLS)).start()
        add_people(fresh, "Elsewhere")
        is_refused_with_one_line(fresh, "StartTLS is refused")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((LDAPS, START_TLS), "has use-ssl and use-start-tls: set one of them"),
        (('ssl-protocol = "TLSv1.3"',), "has ssl-protocol, but no TLS"),
        ((f'ssl-cipher-suite = "{SLAPD_AES_256}"',), "has ssl-cipher-suite, but no TLS"),
        ((LDAPS, 'trust-manager-provider = "nobody"'), '"nobody"'),
        ((LDAPS, 'ssl-protocol = "SSLv3"'), "TLSv1.2, TLSv1.3"),
        ((LDAPS, 'ssl-protocol = "TLSv1.3"', f'ssl-cipher-suite = "{SLAPD_AES_256}"'), "TLS:"),
    ],
)
def test_rules_of_tls_that_say_nothing_are_refused(fresh, lines, said):
    fresh.start()
    with open(fresh.config, "a") as file:
        file.write(policy("Bad", 'primary-remote-ldap-server = "localhost:636"', *lines))
    done = fresh.tool("reload", check=False)
    assert done.returncode != 0 and said in done.stderr, done.stderr
