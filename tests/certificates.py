"""Certificates that the openssl of this machine makes: issuers, whom they vouch for, and what they revoke.

Knows openssl; knows no server.
"""

import subprocess


def openssl(folder, *args: str) -> str:
    done = subprocess.run(["openssl", *args], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_issuer(folder, name: str) -> None:
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", f"{name}.crt")  # fmt: skip


def make_certificate(folder, name: str, issuer: str, subject: str, serial: int, extensions: str | None) -> None:
    """The files NAME.crt and NAME.key; without extensions the certificate has version 1."""
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", f"{name}.key",
            "-out", f"{name}.csr")  # fmt: skip
    v3 = []
    if extensions is not None:
        (folder / "v3.cnf").write_text(extensions)
        v3 = ["-extfile", "v3.cnf"]
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{issuer}.crt", "-CAkey", f"{issuer}.key",
            "-set_serial", str(serial), "-days", "30", "-out", f"{name}.crt", *v3)  # fmt: skip


def revoke(folder, issuer: str, serial: int) -> None:
    (folder / "index.txt").write_text(f"R\t400101000000Z\t260101000000Z\t{serial:02X}\tunknown\t/CN=x\n")
    (folder / "number").write_text("01\n")
    (folder / "ca.cnf").write_text(
        "[ca]\ndefault_ca = d\n[d]\ndatabase = index.txt\ndefault_md = sha256\ndefault_crl_days = 30\n"
        "crlnumber = number\ncrl_extensions = e\n[e]\nauthorityKeyIdentifier = keyid\n"
    )
    openssl(folder, "ca", "-config", "ca.cnf", "-gencrl", "-keyfile", f"{issuer}.key", "-cert", f"{issuer}.crt",
            "-out", "list.pem")  # fmt: skip
