"""What the suites about SASL share: people with passwords of all kinds, certificates of issuers that are made here, and
an instance that offers the mechanisms to them."""

import base64
import hashlib
import hmac
import os
import re
import ssl
import subprocess

import ldap3
from certificates import make_certificate, make_issuer, revoke
from pando_server import BASE, Pando

HASHES = {"SCRAM-SHA-1": "sha1", "SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
PASSWORD = "pencil"
IN_PROGRESS, INVALID, NOT_SUPPORTED, NEEDS_ENCRYPTION = 14, 49, 7, 13


def scram_value(mechanism: str, password: str = PASSWORD) -> str:
    """RFC 5803."""
    name, salt = HASHES[mechanism], b"salt of the user"
    salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, 10000)
    stored = hashlib.new(name, hmac.digest(salted, b"Client Key", name)).digest()
    server = hmac.digest(salted, b"Server Key", name)
    salt, stored, server = (base64.b64encode(part).decode() for part in (salt, stored, server))
    return f"{{{mechanism}}}10000:{salt}${stored}:{server}"


def person(uid: str, *lines: str) -> str:
    entry = [f"dn: uid={uid},{BASE}", "objectClass: inetOrgPerson", "objectClass: ds-certificate-user", f"uid: {uid}"]
    return "\n".join([*entry, f"cn: {uid.title()} Example", "sn: Example", f"mail: {uid}@example.com", *lines]) + "\n\n"


USAGE = "keyUsage = digitalSignature\n"


def make_certificates(folder):
    for issuer in ("issuer", "stranger"):
        make_issuer(folder, issuer)
    make_certificate(folder, "ann", "issuer", "/DC=com/DC=example/UID=ann", 5, USAGE)
    make_certificate(folder, "mail", "issuer", "/O=Example/emailAddress=ben@example.com/CN=Ben Example", 6, USAGE)
    make_certificate(folder, "revoked", "issuer", "/DC=com/DC=example/UID=ben", 7, USAGE)
    make_certificate(folder, "foreign", "stranger", "/DC=com/DC=example/UID=ann", 8, USAGE)
    make_certificate(folder, "old", "issuer", "/DC=com/DC=example/UID=ann", 9, None)
    revoke(folder, "issuer", 7)
    return folder


def start(folder, tables: str, certificates) -> Pando:
    instance = Pando(folder / "inst").setup()
    instance.certificates = certificates
    values = [f"userPassword: {scram_value(mechanism)}" for mechanism in HASHES]
    fingerprint = hashlib.sha256(
        base64.b64decode(re.sub("-----.*?-----", "", (certificates / "mail.crt").read_text()))
    ).hexdigest()
    fingerprint = ":".join(re.findall("..", fingerprint))
    ldif = folder / "people.ldif"
    ldif.write_text(
        f"dn: {BASE}\nobjectClass: domain\ndc: example\n"
        f'aci: (targetattr="*")(version 3.0; acl "proxy"; allow (proxy) userdn="ldap:///uid=proxy,{BASE}";)\n\n'
        + person("ann", *values)
        + person(
            "ben",
            "userPassword: secret",
            f"ds-certificate-fingerprint: {fingerprint}",
            "ds-certificate-subject-dn: cn=Ben Example,emailAddress=ben@example.com,o=Example",
        )  # fmt: skip
        + person("bare")
        + person("off", "userPassword: secret", "ds-pwp-account-disabled: true")
        + person("proxy", "userPassword: secret", "ds-privilege-name: proxied-auth")
        + person("privileged", "userPassword: secret", "ds-privilege-name: proxied-auth")
        + person("twin1", "userPassword: secret", "mail: twins@example.com")
        + person("twin2", "userPassword: secret", "mail: twins@example.com")
    )
    instance.import_ldif(ldif)
    text = instance.config.read_text()
    trust = 'trust-manager-provider = "clients"\n'
    text = re.sub(r"(?m)^key-manager-provider = .*$", lambda line: line[0] + "\n" + trust, text)
    text += f"""
[trust-manager-provider.clients]
trust-store-file = "{certificates}/issuer.crt"
revocation-list-file = "{certificates}/list.pem"
"""
    text += "".join(f'[sasl-mechanism-handler.{name}]\ntype = "{name.lower()}"\n' for name in HASHES)
    instance.config.write_text(text + tables)
    return instance.start()


def ldapi_url(instance: Pando) -> str:
    return "ldapi://" + str(instance.dir / "ldapi").replace("/", "%2F")


def whoami(instance: Pando, url: str, *args: str, certificate: str = "", **environment):
    """Exit status of ldapwhoami, and what it says."""
    environment = {**os.environ, "LDAPTLS_REQCERT": "never", **environment}
    if certificate:
        environment["LDAPTLS_CERT"] = f"{instance.certificates}/{certificate}.crt"
        environment["LDAPTLS_KEY"] = f"{instance.certificates}/{certificate}.key"
    quiet = [] if "-x" in args else ["-Q"]
    done = subprocess.run(
        ["ldapwhoami", *quiet, "-H", url, *args], capture_output=True, text=True, env=environment, timeout=60
    )
    return done.returncode, (done.stdout if done.returncode == 0 else done.stderr).strip()


def dn(uid: str) -> str:
    return f"dn:uid={uid},{BASE}"


def ldap3_server(instance: Pando, tls: bool, certificate: str = ""):
    files = {}
    if certificate:
        folder = instance.certificates
        files = {"local_private_key_file": f"{folder}/{certificate}.key",
                 "local_certificate_file": f"{folder}/{certificate}.crt"}  # fmt: skip
    settings = ldap3.Tls(validate=ssl.CERT_NONE, **files)
    return ldap3.Server("127.0.0.1", instance.tls_port if tls else instance.port, use_ssl=tls, tls=settings)


def bind(mechanism: str, credentials: bytes | None, name: bytes = b"") -> bytes:
    def tlv(tag: int, content: bytes) -> bytes:
        size = len(content)
        return bytes([tag]) + (bytes([size]) if size < 128 else b"\x82" + size.to_bytes(2)) + content

    auth = tlv(0x04, mechanism.encode()) + (b"" if credentials is None else tlv(0x04, credentials))
    op = tlv(0x60, b"\x02\x01\x03" + tlv(0x04, name) + tlv(0xA3, auth))
    return tlv(0x30, b"\x02\x01\x07" + op)
