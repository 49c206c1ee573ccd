"""A Kerberos realm of its own for a suite: a KDC (MIT krb5, Debian's krb5-kdc) with its files in one folder.

Knows no LDAP.
"""

import os
import socket
import subprocess
import time
from pathlib import Path

from pando_server import free_ports, until

REALM = "EXAMPLE.COM"


class Realm:
    def __init__(self, folder: Path, name: str = REALM):
        self.folder, self.name = folder, name
        (self.port,) = free_ports(1)
        (folder / "krb5.conf").write_text(
            f"[libdefaults]\n default_realm = {name}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n"
            " dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n"
            f"[realms]\n {name} = {{\n  kdc = 127.0.0.1:{self.port}\n }}\n[domain_realm]\n localhost = {name}\n"
        )
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{self.port}\n kdc_tcp_listen = 127.0.0.1:{self.port}\n"
            f"[realms]\n {name} = {{\n  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n"
            f"  acl_file = {folder}/acl\n }}\n"
        )
        self.run("kdb5_util", "create", "-s", "-P", "master", "-r", name)
        log = open(folder / "kdc.log", "wb")  # noqa: SIM115
        self.kdc = subprocess.Popen(["krb5kdc", "-n"], env=self.environment(), stdout=log, stderr=log)
        until(self.answers, say=lambda: (folder / "kdc.log").read_text())

    def environment(self, user: str = "") -> dict[str, str]:
        """What programs of a user go by."""
        own = {"KRB5_CONFIG": f"{self.folder}/krb5.conf", "KRB5_KDC_PROFILE": f"{self.folder}/kdc.conf"}
        # Debian has the tools of the KDC where only root looks.
        path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        return {**os.environ, **own, "PATH": path, "KRB5CCNAME": f"FILE:{self.folder}/tickets-{user}"}

    def run(self, *command: str, user: str = "", given: str = "") -> None:
        done = subprocess.run(command, env=self.environment(user), input=given, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stdout, done.stderr)

    def answers(self) -> bool:
        assert self.kdc.poll() is None, (self.folder / "kdc.log").read_text()
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            time.sleep(0.05)
            return False
        return True

    def add_user(self, name: str, password: str) -> None:
        self.run("kadmin.local", "-r", self.name, "addprinc", "-pw", password, name)

    def add_service(self, name: str, keytab: Path) -> None:
        self.run("kadmin.local", "-r", self.name, "addprinc", "-randkey", name)
        self.run("kadmin.local", "-r", self.name, "ktadd", "-k", str(keytab), name)

    def log_in(self, user: str, password: str) -> dict[str, str]:
        """The environment of a user with a ticket."""
        self.run("kinit", user, user=user, given=password + "\n")
        return self.environment(user)

    def stop(self) -> None:
        self.kdc.terminate()
        self.kdc.wait(30)
