"""SASL with clients nobody here wrote: Cyrus SASL through ldap-utils, ldap3, and exchanges written from the RFCs."""

import base64
import hashlib
import hmac
import os
import re
import socket
import ssl
import subprocess

import ldap3
import pytest
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando, until
from sasl_scene import (
    HASHES,
    IN_PROGRESS,
    INVALID,
    NEEDS_ENCRYPTION,
    NOT_SUPPORTED,
    PASSWORD,
    bind,
    dn,
    ldap3_server,
    ldapi_url,
    make_certificates,
    start,
    whoami,
)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def sasl(tmp_path_factory, certificates):
    instance = start(tmp_path_factory.mktemp("sasl"), "", certificates)
    yield instance
    assert instance.stop() == 0


def mechanisms(con) -> set[str]:
    con.search("", "(objectClass=*)", ldap3.BASE, attributes=["supportedSASLMechanisms"])
    return set(con.entries[0].entry_attributes_as_dict.get("supportedSASLMechanisms", []))


def test_each_connection_is_offered_what_works_on_it(sasl):
    scram, plus = set(HASHES), {f"{name}-PLUS" for name in HASHES}
    assert mechanisms(ldap3.Connection(ldap3_server(sasl, False), auto_bind=True)) == scram
    assert mechanisms(ldap3.Connection(ldap3_server(sasl, True), auto_bind=True)) == scram | plus | {"PLAIN"}
    with_certificate = ldap3.Connection(ldap3_server(sasl, True, "ann"), auto_bind=True)
    assert mechanisms(with_certificate) == scram | plus | {"PLAIN", "EXTERNAL"}
    done = subprocess.run(
        ["ldapsearch", "-x", "-LLL", "-H", ldapi_url(sasl), "-b", "", "-s", "base", "supportedSASLMechanisms"],
        capture_output=True, text=True)  # fmt: skip
    assert set(re.findall(r"supportedSASLMechanisms: (\S+)", done.stdout)) == scram | {"PLAIN", "EXTERNAL"}


@pytest.mark.parametrize("mechanism", HASHES)
@pytest.mark.parametrize("tls", [False, True])
def test_scram_of_cyrus(sasl, mechanism, tls):
    url = sasl.tls_url if tls else sasl.url
    assert whoami(sasl, url, "-Y", mechanism, "-U", "ann", "-w", PASSWORD) == (0, dn("ann"))
    answers = {
        whoami(sasl, url, "-Y", mechanism, "-U", user, "-w", password)
        for user, password in [("ann", "wrong"), ("nobody", PASSWORD), ("ben", "secret"), ("bare", "x")]
    }
    assert len(answers) == 1 and answers.pop()[0] == INVALID


@pytest.mark.parametrize("mechanism", HASHES)
def test_scram_of_cyrus_bound_to_the_connection(sasl, mechanism):
    bound = {"LDAPSASL_CBINDING": "tls-endpoint"}
    args = ["-Y", f"{mechanism}-PLUS", "-U", "ann", "-w", PASSWORD]
    assert whoami(sasl, sasl.tls_url, *args, **bound) == (0, dn("ann"))
    assert whoami(sasl, sasl.url, "-ZZ", *args, **bound) == (0, dn("ann"))
    args[-1] = "wrong"
    assert whoami(sasl, sasl.tls_url, *args, **bound)[0] == INVALID


def test_plain(sasl):
    def plain(user, password, *more, url=sasl.tls_url):
        return whoami(sasl, url, "-Y", "PLAIN", "-U", user, "-w", password, *more)

    for user in ("ben", "u:ben", f"dn:uid=ben,{BASE}"):
        assert plain(user, "secret") == (0, dn("ben"))
    assert plain(f"dn:{ROOT_DN}", ROOT_PW) == (0, f"dn:{ROOT_DN}")
    assert plain("ann", PASSWORD) == (0, dn("ann")), "SCRAM's keys verify a password too"
    failures = [("ben", "wrong"), ("nobody", "secret"), (f"uid=ben,{BASE}", "secret"), ("bare", "x"), ("off", "secret")]
    assert {plain(*tried)[0] for tried in failures} == {INVALID}
    assert plain("ben", "secret", url=ldapi_url(sasl)) == (0, dn("ben"))


def test_authorization_identities(sasl):
    def acting(user, authzid):
        return whoami(sasl, sasl.tls_url, "-Y", "PLAIN", "-U", user, "-w", "secret", "-X", authzid)

    for own in ("u:ben", f"dn:uid=ben,{BASE}", "ben"):
        assert acting("ben", own) == (0, dn("ben"))
    assert acting("ben", "u:ann")[0] == INVALID
    assert acting("proxy", "u:ann") == (0, dn("ann"))
    assert acting("proxy", f"dn:uid=ann,{BASE}") == (0, dn("ann"))
    assert acting("proxy", "u:off")[0] == INVALID, "an account out of use"
    assert acting("proxy", "u:nobody")[0] == INVALID
    assert acting("privileged", "u:ann")[0] == INVALID, "the privilege without the right to the entry"
    assert acting("proxy", "dn:") == (0, "anonymous")
    log = sasl.access_log()
    assert f'authDN="uid=proxy,{BASE}"' in log and f'authzID="dn:uid=ann,{BASE}"' in log
    assert re.search(r'BIND REQ .* type=SASL mechanism="?PLAIN', log)


WHO_AM_I = bytes.fromhex("301e020109 7719 8017") + b"1.3.6.1.4.1.4203.1.11.3"
SIMPLE_ANONYMOUS = bytes.fromhex("300c020108600702010304008000")


class Raw:
    """A connection that sends what it is given."""

    def __init__(self, instance: Pando, tls: bool = True):
        self.socket = socket.create_connection(("127.0.0.1", instance.tls_port if tls else instance.port), 30)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """The result code and the whole answer."""
        self.socket.sendall(request)
        answer = self.socket.recv(65536)
        return answer[answer.index(b"\x0a\x01") + 2], answer

    def sasl(self, mechanism: str, credentials: bytes | None = None) -> int:
        return self.ask(bind(mechanism, credentials))[0]


FIRST = b"n,,n=ann,r=nonce"


class Scram:
    """The client's side, from RFC 5802."""

    def __init__(self, answer: bytes, first: bytes = FIRST):
        self.header, self.bare = first[: first.index(b"n=")], first[first.index(b"n=") :]
        self.challenge = answer[answer.index(b"r=nonce") :]

    def last(self, binding: bytes = b"", password: str = PASSWORD) -> bytes:
        nonce, salt, count = (part[2:] for part in self.challenge.split(b","))
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(salt), int(count))
        without = b"c=" + base64.b64encode(self.header + binding) + b",r=" + nonce
        self.covered = b",".join([self.bare, self.challenge, without])
        key = hmac.digest(salted, b"Client Key", "sha256")
        signature = hmac.digest(hashlib.sha256(key).digest(), self.covered, "sha256")
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        self.expected = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), self.covered, "sha256")
        return without + b",p=" + base64.b64encode(proof)


def test_results_of_malformed_and_missing_credentials(sasl):
    raw = Raw(sasl)
    for mechanism, credentials, code in [
        ("", None, NOT_SUPPORTED),
        ("DIGEST-MD5", None, NOT_SUPPORTED),
        ("CRAM-MD5", None, NOT_SUPPORTED),
        ("ANONYMOUS", b"trace", NOT_SUPPORTED),
        ("GSSAPI", b"", NOT_SUPPORTED),
        ("PLAIN", None, INVALID),
        ("PLAIN", b"", INVALID),
        ("PLAIN", b"ben\0secret", INVALID),
        ("PLAIN", b"\0ben\0secret\0", INVALID),
        ("PLAIN", b"\0ben\0secret", 0),
        ("plain", b"\0ben\0secret", 0),
        ("EXTERNAL", None, INVALID),
        ("SCRAM-SHA-256", b"m=1,n=ann", INVALID),
        ("SCRAM-SHA-256", b"n,,n=ann,r=", INVALID),
        ("SCRAM-SHA-256", b"y,,n=ann,r=nonce", INVALID),
        ("SCRAM-SHA-256-PLUS", FIRST, INVALID),
        ("SCRAM-SHA-256", FIRST, IN_PROGRESS),
    ]:
        assert raw.sasl(mechanism, credentials) == code, (mechanism, credentials)
    clear = Raw(sasl, tls=False)
    assert clear.sasl("PLAIN", b"\0ben\0secret") == NEEDS_ENCRYPTION
    assert clear.sasl("SCRAM-SHA-256-PLUS", b"p=tls-exporter,,n=ann,r=nonce") == NOT_SUPPORTED
    assert clear.sasl("SCRAM-SHA-256", b"y,,n=ann,r=nonce") == IN_PROGRESS


def test_an_authentication_choice_that_ldap_does_not_have_is_not_supported(sasl):
    """RFC 4511 §4.2: authMethodNotSupported, and nobody is bound; NTLM clients try [10]."""
    raw = Raw(sasl)
    assert raw.sasl("PLAIN", b"\0ben\0secret") == 0
    assert raw.ask(bytes.fromhex("300c 020107 6007 020103 0400 8a00"))[0] == NOT_SUPPORTED
    assert b"uid=ben" not in raw.ask(WHO_AM_I)[1]


def test_an_exchange_goes_on_with_the_next_bind_or_not_at_all(sasl):
    raw = Raw(sasl)

    def begin():
        code, answer = raw.ask(bind("SCRAM-SHA-256", FIRST))
        assert code == IN_PROGRESS
        return Scram(answer)

    exchange = begin()
    code, answer = raw.ask(bind("SCRAM-SHA-256", exchange.last()))
    assert code == 0 and b"v=" + base64.b64encode(exchange.expected) in answer, "the signature comes with the success"
    assert dn("ann").encode() in raw.ask(WHO_AM_I)[1]
    # While an exchange runs, nobody is bound; other requests do not end it.
    exchange = begin()
    assert b"uid=ann" not in raw.ask(WHO_AM_I)[1]
    assert raw.sasl("SCRAM-SHA-256", exchange.last()) == 0
    # Any other bind ends it.
    for other, code in [(bind("", None), NOT_SUPPORTED), (SIMPLE_ANONYMOUS, 0), (bind("PLAIN", b"\0ben\0x"), INVALID)]:
        exchange = begin()
        assert raw.ask(other)[0] == code
        assert raw.sasl("SCRAM-SHA-256", exchange.last()) == INVALID
    # A failure leaves nobody bound, and the exchange is over.
    exchange = begin()
    assert raw.sasl("SCRAM-SHA-256", exchange.last(password="wrong")) == INVALID
    assert b"uid=ann" not in raw.ask(WHO_AM_I)[1]
    assert raw.sasl("SCRAM-SHA-256", exchange.last()) == INVALID


def test_scram_bound_to_the_connection_as_rfc_5929_and_9266_say(sasl):
    raw = Raw(sasl)
    certificate = raw.socket.getpeercert(binary_form=True)
    end_point = hashlib.sha256(certificate).digest()
    for header, binding, code in [
        (b"p=tls-server-end-point,,", end_point, 0),
        (b"p=ldap,,", b"tls-server-end-point:" + end_point, 0),
        (b"p=tls-server-end-point,,", bytes(32), INVALID),
        (b"p=tls-exporter,,", bytes(32), INVALID),
    ]:
        first = header + b"n=ann,r=nonce"
        answered, answer = raw.ask(bind("SCRAM-SHA-256-PLUS", first))
        assert answered == IN_PROGRESS
        assert raw.sasl("SCRAM-SHA-256-PLUS", Scram(answer, first).last(binding)) == code, header


def test_strangers_cannot_tell_who_exists(sasl):
    def salt(user: bytes) -> bytes:
        return re.search(rb"s=([^,]+),i=10000", Raw(sasl).ask(bind("SCRAM-SHA-256", b"n,,n=" + user + b",r=nonce"))[1])[
            1
        ]

    for user in (b"nobody", b"ben", b"bare"):
        assert salt(user) == salt(user), "a name without keys has a steady salt"
        assert len(salt(user)) == len(salt(b"ann"))
    assert len({salt(user) for user in (b"nobody", b"ben", b"bare", b"ann")}) == 4


def test_external_on_the_local_socket(sasl):
    uid, gid = os.getuid(), os.getgid()
    peer = f"dn:gidNumber={gid}+uidNumber={uid},cn=peercred,cn=external,cn=auth"
    assert whoami(sasl, ldapi_url(sasl), "-Y", "EXTERNAL") == (0, peer)
    assert whoami(sasl, ldapi_url(sasl), "-Y", "EXTERNAL", "-X", "u:ann")[0] == INVALID


def test_a_name_that_two_entries_have_is_nobodys(tmp_path, certificates):
    """RFC 4513 leaves names to the server; which of two is meant is not guessed."""
    mapper = '[sasl-mechanism-handler.PLAIN]\ntype = "plain"\nidentity-mapper = "mail"\n'
    mapper += '[identity-mapper.mail]\ntype = "exact-match"\nmatch-attribute = "mail"\n'
    instance = start(tmp_path, mapper, certificates)
    try:
        args = ["-Y", "PLAIN", "-w", "secret", "-U"]
        assert whoami(instance, instance.tls_url, *args, "ben@example.com") == (0, dn("ben"))
        assert whoami(instance, instance.tls_url, *args, "twins@example.com")[0] == INVALID
        assert whoami(instance, instance.tls_url, *args, "TWINS@example.com")[0] == INVALID
        until(lambda: instance.access_log().count("Several entries have the name") == 2)
        # An administrator is told which two, and once.
        told = [line for line in instance.error_log().splitlines() if "Several entries match" in line]
        assert len(told) == 1 and "(mail=twins@example.com)" in told[0] and "nobody can log in as either" in told[0]
        assert all(f'"{dn(name)[3:]}"' in told[0] for name in ("twin1", "twin2")), told
    finally:
        instance.remove()


def test_local_users_are_mapped(tmp_path, certificates):
    handler = f'[sasl-mechanism-handler.EXTERNAL]\ntype = "external"\nldapi-map-root-to-dn = "{ROOT_DN}"\n'
    instance = start(tmp_path, handler, certificates)
    try:
        assert whoami(instance, ldapi_url(instance), "-Y", "EXTERNAL") == (0, f"dn:{ROOT_DN}")
        text = instance.config.read_text().replace(f'ldapi-map-root-to-dn = "{ROOT_DN}"', "ldapi-map-to-entries = true")
        instance.config.write_text(text)
        instance.tool("reload")
        peer = f"dn:gidNumber={os.getgid()}+uidNumber={os.getuid()},cn=peercred,cn=external,cn=auth"
        assert whoami(instance, ldapi_url(instance), "-Y", "EXTERNAL") == (0, peer), "there is no such entry"
        instance.configure("".join(
            f'\n[backend.userRoot.index.{name}]\nindex-type = "equality"\n' for name in ("uidNumber", "gidNumber")
        ))  # fmt: skip
        con = instance.connect()
        numbers = {"uidNumber": str(os.getuid()).encode(), "gidNumber": str(os.getgid()).encode()}
        account = [("objectClass", [b"account", b"posixAccount"]), ("cn", [b"Local"]), ("homeDirectory", [b"/"])]
        for name in ("local", "same"):
            entry = [*account, ("uid", [name.encode()]), *((kind, [value]) for kind, value in numbers.items())]
            con.add_s(f"uid={name},{BASE}", entry)
            expected = (0, dn("local")) if name == "local" else (0, peer)
            until(lambda: whoami(instance, ldapi_url(instance), "-Y", "EXTERNAL") == expected, 30)
    finally:
        instance.remove()


def test_external_with_a_certificate(sasl):
    assert whoami(sasl, sasl.tls_url, "-Y", "EXTERNAL", certificate="ann") == (0, dn("ann"))
    for certificate in ("revoked", "mail", "old"):
        assert whoami(sasl, sasl.tls_url, "-Y", "EXTERNAL", certificate=certificate)[0] == INVALID, certificate
    # libldap does not even send what the server says it does not trust.
    assert whoami(sasl, sasl.tls_url, "-Y", "EXTERNAL", certificate="foreign")[0] != 0
    # A certificate that is not good does not keep its client from binding otherwise.
    args = ["-x", "-D", f"uid=ben,{BASE}", "-w", "secret"]
    assert whoami(sasl, sasl.tls_url, *args, certificate="foreign") == (0, dn("ben"))


MAPPERS = {
    "subject-dn-to-user-attribute": "",
    "subject-attribute-to-user-attribute": 'subject-attribute-mapping = ["emailAddress:mail", "cn:cn"]',
    "fingerprint": "",
}


def test_certificates_are_mapped(tmp_path, certificates):
    indexes = "\n".join(
        f'[backend.userRoot.index.{name}]\nindex-type = "equality"'
        for name in ("ds-certificate-fingerprint", "ds-certificate-subject-dn")
    )
    handler = '[sasl-mechanism-handler.EXTERNAL]\ntype = "external"\ncertificate-mapper = "fingerprint"\n'
    mappers = "".join(f'[certificate-mapper.{name}]\ntype = "{name}"\n{more}\n' for name, more in MAPPERS.items())
    instance = start(tmp_path, f"{handler}{mappers}", certificates)
    try:
        instance.configure(f"\n{indexes}\n")
        instance.tool("rebuild-index", "--baseDN", BASE, "--index", "ds-certificate-fingerprint",
                      "--index", "ds-certificate-subject-dn", check=False)  # fmt: skip
        for name in MAPPERS:
            text = re.sub('certificate-mapper = ".*"', f'certificate-mapper = "{name}"', instance.config.read_text())
            instance.config.write_text(text)
            instance.tool("reload")
            assert whoami(instance, instance.tls_url, "-Y", "EXTERNAL", certificate="mail") == (0, dn("ben")), name
            assert whoami(instance, instance.tls_url, "-Y", "EXTERNAL", certificate="ann")[0] == INVALID, name
        # The entry has to hold the certificate, which it does not.
        text = instance.config.read_text()
        text = text.replace('type = "external"\n', 'type = "external"\ncertificate-validation-policy = "always"\n')
        instance.config.write_text(text)
        instance.tool("reload")
        assert whoami(instance, instance.tls_url, "-Y", "EXTERNAL", certificate="mail")[0] == INVALID
    finally:
        instance.remove()


def test_clients_without_a_certificate_are_turned_away_where_one_is_required(tmp_path, certificates):
    instance = start(tmp_path, "", certificates)
    try:
        instance.stop()
        text = instance.config.read_text()
        required = 'trust-manager-provider = "clients"\nssl-client-auth-policy = "required"\n'
        instance.config.write_text(text.replace('trust-manager-provider = "clients"\n', required))
        instance.start()
        args = ["-x", "-D", f"uid=ben,{BASE}", "-w", "secret"]
        assert whoami(instance, instance.tls_url, *args, certificate="ann") == (0, dn("ben"))
        assert whoami(instance, instance.tls_url, *args)[0] != 0
        assert whoami(instance, instance.tls_url, *args, certificate="foreign")[0] != 0
    finally:
        instance.remove()
