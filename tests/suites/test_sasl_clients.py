"""SASL with more clients nobody here wrote: GNU SASL, ldap3, the UnboundID SDK, Java's own LDAP, go-ldap. Tokens and
channel bindings of live connections.

Cyrus SASL is in test_sasl.py, Kerberos in test_gssapi.py.
"""

import base64
import json
import subprocess
import time

import ldap3
import pytest
from client_programs import run
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from gsasl import GnuSasl
from ldap_wire import Wire
from OpenSSL import SSL
from pando_server import BASE
from sasl_scene import IN_PROGRESS, INVALID, PASSWORD, dn, ldap3_server, make_certificates, start

WHO_AM_I = "1.3.6.1.4.1.4203.1.11.3"
ISSUER, AUDIENCE = "https://id.example.com", "ldap"


def unpadded(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


class Issuer:
    """Signs tokens (RFC 7519) and publishes its key (RFC 7517)."""

    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def key_set(self) -> str:
        numbers = self.key.public_key().public_numbers()
        n, e = (unpadded(number.to_bytes((number.bit_length() + 7) // 8)) for number in (numbers.n, numbers.e))
        return json.dumps({"keys": [{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "one", "n": n, "e": e}]})

    def token(self, user: str, **other) -> str:
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": user, "iat": now, "exp": now + 600, **other}
        parts = [{"alg": "RS256", "typ": "JWT", "kid": "one"}, claims]
        signed = ".".join(unpadded(json.dumps(part).encode()) for part in parts)
        return f"{signed}.{unpadded(self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def issuer():
    return Issuer()


@pytest.fixture(scope="module")
def sasl(tmp_path_factory, certificates, issuer):
    folder = tmp_path_factory.mktemp("sasl")
    (folder / "issuer.jwks").write_text(issuer.key_set())
    tokens = f"""
[sasl-mechanism-handler.OAUTHBEARER]
type = "oauthbearer"
token-issuer = "{ISSUER}"
token-audience = "{AUDIENCE}"
key-set-file = "{folder}/issuer.jwks"
"""
    instance = start(folder, tokens, certificates)
    yield instance
    assert instance.stop() == 0


def over_tls(version: int = SSL.TLS1_3_VERSION, key_pair=None):
    """`key_pair`: the path of a certificate of the client without its ending, and of its key."""

    def over(plain):
        # Its own time limit makes a socket one that does not block, which OpenSSL does not wait for.
        plain.settimeout(None)
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_min_proto_version(version)
        context.set_max_proto_version(version)
        if key_pair:
            context.use_certificate_file(f"{key_pair}.crt")
            context.use_privatekey_file(f"{key_pair}.key")
        secured = SSL.Connection(context, plain)
        secured.set_connect_state()
        secured.do_handshake()
        return secured

    return over


def exported(wire: Wire) -> bytes:
    """RFC 9266."""
    return wire.socket.export_keying_material(b"EXPORTER-Channel-Binding", 32, b"")


def authenticated(wire: Wire, client: GnuSasl, mechanism: str):
    """Runs an exchange to its end; the last answer, and whether the client is content with the server."""
    message, content = client.step(b"")
    answer = wire.sasl(mechanism, message)
    while answer.code == IN_PROGRESS:
        message, content = client.step(answer.value or b"")
        answer = wire.sasl(mechanism, message)
    if answer.code == 0 and answer.value is not None:
        rest, content = client.step(answer.value)
        assert rest == b""
    client.close()
    return answer, content


def who(wire: Wire) -> str:
    return wire.extended(WHO_AM_I, None).value.decode()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-1", "SCRAM-SHA-256", "PLAIN"])
def test_gnu_sasl(sasl, mechanism):
    wire = Wire(sasl.tls_port, over_tls())
    user = {"authid": "ann", "hostname": "localhost", "service": "ldap"}
    answer, content = authenticated(wire, GnuSasl(mechanism, **user, password=PASSWORD), mechanism)
    assert (answer.code, content, who(wire)) == (0, True, dn("ann"))
    answer, _ = authenticated(wire, GnuSasl(mechanism, **user, password="wrong"), mechanism)
    assert (answer.code, who(wire)) == (INVALID, "")
    answer, _ = authenticated(wire, GnuSasl(mechanism, **user, authzid="u:ben", password=PASSWORD), mechanism)
    assert answer.code == INVALID, "ann may not act as ben"


def test_gnu_sasl_with_a_certificate(sasl, certificates):
    wire = Wire(sasl.tls_port, over_tls(key_pair=certificates / "ann"))
    ann = (0, dn("ann"))
    for named, expected in (({}, ann), ({"authzid": "u:ann"}, ann), ({"authzid": "u:ben"}, (INVALID, ""))):
        answer, content = authenticated(wire, GnuSasl("EXTERNAL", **named), "EXTERNAL")
        assert (answer.code, who(wire)) == expected and content, named
    answer, _ = authenticated(Wire(sasl.tls_port, over_tls()), GnuSasl("EXTERNAL"), "EXTERNAL")
    assert answer.code == INVALID, "there is no certificate"


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-1-PLUS", "SCRAM-SHA-256-PLUS"])
def test_gnu_sasl_bound_to_a_connection_of_tls_1_3(sasl, mechanism):
    """RFC 9266: the proof is good on the connection whose keying material it covers, and on no other."""
    wire, other = Wire(sasl.tls_port, over_tls()), Wire(sasl.tls_port, over_tls())
    user = {"authid": "ann", "password": PASSWORD}
    answer, content = authenticated(wire, GnuSasl(mechanism, exported(wire), **user), mechanism)
    assert (answer.code, content, who(wire)) == (0, True, dn("ann"))
    answer, _ = authenticated(wire, GnuSasl(mechanism, exported(other), **user), mechanism)
    assert (answer.code, who(wire)) == (INVALID, "")
    answer, _ = authenticated(wire, GnuSasl(mechanism, exported(wire), authid="ann", password="wrong"), mechanism)
    assert answer.code == INVALID


def test_keying_material_of_tls_1_2_is_no_binding(sasl):
    """It may be the same on two connections (RFC 9266 §4.2): what the client exports there is not taken."""
    wire = Wire(sasl.tls_port, over_tls(SSL.TLS1_2_VERSION))
    client = GnuSasl("SCRAM-SHA-256-PLUS", exported(wire), authid="ann", password=PASSWORD)
    assert authenticated(wire, client, "SCRAM-SHA-256-PLUS")[0].code == INVALID


def test_ldap3(sasl):
    def bound(mechanism, credentials, certificate=""):
        con = ldap3.Connection(
            ldap3_server(sasl, True, certificate),
            authentication=ldap3.SASL, sasl_mechanism=mechanism, sasl_credentials=credentials)  # fmt: skip
        if not con.bind():
            return con.result["result"]
        return con.extend.standard.who_am_i()

    assert bound(ldap3.EXTERNAL, None, "ann") == dn("ann")
    assert bound(ldap3.EXTERNAL, f"dn:uid=ann,{BASE}", "ann") == dn("ann")
    assert bound(ldap3.EXTERNAL, "u:ben", "ann") == INVALID
    assert bound(ldap3.EXTERNAL, None, "revoked") == INVALID
    assert bound(ldap3.PLAIN, (None, "ben", "secret")) == dn("ben")
    assert bound(ldap3.PLAIN, ("u:ann", "proxy", "secret")) == dn("ann")
    assert bound(ldap3.PLAIN, (None, "ben", "wrong")) == INVALID


def bearer(token: str, authzid: str = "") -> bytes:
    return f"n,{authzid},\x01auth=Bearer {token}\x01\x01".encode()


def test_tokens(sasl, issuer):
    wire = Wire(sasl.tls_port, over_tls())
    assert wire.sasl("OAUTHBEARER", bearer(issuer.token("ann"))).code == 0
    assert who(wire) == dn("ann")
    now = int(time.time())
    bad = {
        "another issuer's key": Issuer().token("ann"),
        "another issuer": issuer.token("ann", iss="https://evil.example.com"),
        "another audience": issuer.token("ann", aud="mail"),
        "run out": issuer.token("ann", exp=now - 60),
        "not valid yet": issuer.token("ann", nbf=now + 600),
        "changed": issuer.token("ann")[:-8] + "AAAAAAAA",
        "rubbish": "rubbish",
    }
    for why, token in bad.items():
        answer = wire.sasl("OAUTHBEARER", bearer(token))
        assert (answer.code, json.loads(answer.value)["status"]) == (IN_PROGRESS, "invalid_token"), why
        assert who(wire) == "", why
        assert wire.sasl("OAUTHBEARER", b"\x01").code == INVALID, why
    for user in ("nobody", "off", f"dn:uid=ann,{BASE}"):
        assert wire.sasl("OAUTHBEARER", bearer(issuer.token(user))).code == INVALID, user
    assert wire.sasl("OAUTHBEARER", bearer(issuer.token("ben"), "a=u:ann")).code == INVALID
    assert wire.sasl("OAUTHBEARER", bearer(issuer.token("proxy"), "a=u:ann")).code == 0
    assert who(wire) == dn("ann")
    assert Wire(sasl.port).sasl("OAUTHBEARER", bearer(issuer.token("ann"))).code == 13


@pytest.fixture(scope="module")
def programs(sasl, certificates, issuer):
    """What the programs are told beside where the server is."""
    key_store = certificates / "ann.p12"
    subprocess.run(
        ["openssl", "pkcs12", "-export", "-in", certificates / "ann.crt", "-inkey", certificates / "ann.key",
         "-out", key_store, "-passout", "pass:secret12"], check=True)  # fmt: skip
    return {
        "PANDO_SASL": "ann",
        "PANDO_SASL_PW": PASSWORD,
        "PANDO_SASL_TOKEN": issuer.token("ann"),
        "PANDO_SASL_STRANGE_TOKEN": Issuer().token("ann"),
        "PANDO_SASL_KEY_STORE": str(key_store),
        "PANDO_SASL_KEY_STORE_PW": "secret12",
        "PANDO_SASL_CERT": str(certificates / "ann.crt"),
        "PANDO_SASL_KEY": str(certificates / "ann.key"),
    }


def test_go_ldap(sasl, programs):
    run(["go", "test", "-count=1", "-v", "-run", "TestSasl", "./..."], "go", sasl, "--- PASS: TestSasl", **programs)


def test_unboundid_sdk_and_java(sasl, programs):
    command = ["mvn", "-q", "-B", "test", "-Dtest=SaslTest", "-Dsurefire.useFile=false"]
    run(command, "java", sasl, "", **programs)
