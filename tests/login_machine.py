"""A machine whose users are in a directory: SSSD or nslcd with their modules of PAM and of names, out of Debian's
packages. Skips a test where they cannot be had or run.

The packages are unpacked and installed nowhere: they lie over /usr in a name space of mounts, where /etc, /run and the
daemons' folders are others, too, so that the machine's own files stay as they are. Knows nothing of what a suite asks.
"""

import subprocess
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest
from debian_packages import unpacked
from pando_server import until

PACKAGES = ("sssd-ldap", "libpam-sss", "libnss-sss", "nslcd", "libpam-ldapd", "libnss-ldapd", "pamtester")
PAM_SERVICE = "directory-logins"
# The script becomes the daemon, so that the process id is the daemon's.
START = """
set -e
mount -t overlay overlay -o lowerdir={packages}/usr:/usr /usr
mount -t overlay overlay -o lowerdir={folder}/etc:{packages}/etc:/etc /etc
mount --bind {folder}/var/lib/sss /var/lib/sss 2>/dev/null || {{
    mount -t overlay overlay -o lowerdir={folder}/var/lib:/var/lib /var/lib
    mount --bind {folder}/var/lib/sss /var/lib/sss
}}
mount --bind {folder}/var/log /var/log
mount -t tmpfs tmpfs /run
mkdir /run/nslcd
exec {command}
"""


class Machine:
    """A daemon that runs, and programs that ask it as they do on any machine."""

    def __init__(self, process: subprocess.Popen):
        self.process = process

    def run(self, *command: str, given: str = "") -> subprocess.CompletedProcess:
        return subprocess.run(
            ["nsenter", f"--target={self.process.pid}", "--mount", *command],
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )

    def getent(self, *what: str, service: str) -> list[str]:
        """The lines, none when nothing was found."""
        done = self.run("getent", f"--service={service}", *what)
        assert done.returncode in (0, 2), done.stdout
        return done.stdout.splitlines()

    def pam(self, user: str, operations: str, *typed: str, uid: int = 0) -> tuple[int, str]:
        """The status of pamtester and what a user reads; `typed` are the answers to the prompts. Programs of logins run
        as root, `passwd` as the user `uid`."""
        given = "".join(f"{line}\n" for line in typed)
        become = ["setpriv", f"--reuid={uid}", "--clear-groups"] if uid else []
        done = self.run(*become, "pamtester", PAM_SERVICE, user, *operations.split(), given=given)
        return done.returncode, done.stdout


@contextmanager
def machine(folder: Path, files: dict[str, str], command: str, is_ready: Callable[[Path], bool]):
    """A running daemon; `files` are those below /etc, `is_ready` is asked with the root of its files."""
    packages = unpacked("directory-logins", *PACKAGES)
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        pytest.skip("no name space of mounts: needs root")
    for name, text in files.items():
        file = folder / "etc" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        # The daemons demand that nobody else reads their passwords.
        file.chmod(0o600 if name in ("nslcd.conf", "sssd/sssd.conf") else 0o644)
    for name in ("db", "mc", "pipes/private", "pubconf", "secrets", "deskprofile", "gpo_cache"):
        (folder / "var/lib/sss" / name).mkdir(parents=True)
    (folder / "var/log/sssd").mkdir(parents=True)
    script = START.format(folder=folder, packages=packages, command=command)
    said = folder / "said"
    with open(said, "w") as output:
        process = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdout=output, stderr=output)
    root = Path(f"/proc/{process.pid}/root")
    try:
        until(lambda: process.poll() is not None or is_ready(root))
        if process.poll() is not None:
            pytest.skip(f"{command} does not run here: {said.read_text()[-300:]}")
        yield Machine(process)
    finally:
        process.terminate()
        process.wait(60)


def pam_service(module: str) -> str:
    return "".join(f"{kind} required {module}\n" for kind in ("auth", "account", "password")) + (
        "session required pam_permit.so\n"
    )


@contextmanager
def nslcd(folder: Path, configuration: str, files: dict[str, str] | None = None):
    """`files` are further ones below /etc."""
    own = {"nslcd.conf": configuration, f"pam.d/{PAM_SERVICE}": pam_service("pam_ldap.so")}
    with machine(
        folder, own | (files or {}), "nslcd --nofork", lambda root: (root / "run/nslcd/socket").exists()
    ) as one:
        yield one


@contextmanager
def sssd(folder: Path, configuration: str, files: dict[str, str] | None = None):
    """As `nslcd`."""
    own = {"sssd/sssd.conf": configuration, f"pam.d/{PAM_SERVICE}": pam_service("pam_sss.so")}

    def is_ready(root: Path) -> bool:
        return all((root / "var/lib/sss/pipes" / pipe).exists() for pipe in ("nss", "pam"))

    with machine(folder, own | (files or {}), "sssd --interactive", is_ready) as one:
        yield one
