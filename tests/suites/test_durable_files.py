"""What the tools make is on the disk before they say that they are done: every file is synced after its last write, and
the folder with its name after it got that name. Read from the system calls of the tools."""

import os
import re
import shutil
import subprocess

import ldap
import pytest
from pando_server import BASE, DIRECTORY_LDIF, Pando, binary, until

CALLS = (
    "openat,write,pwrite64,writev,pwritev,ftruncate,fallocate,fsync,fdatasync,syncfs,rename,renameat,renameat2,link,"
    "linkat,unlink,unlinkat,rmdir,mkdir,mkdirat"
)
# Who uses the instance: nothing of it is needed after a crash. Logs of the server are no part of what tools make.
TRANSIENT = re.compile(r"/(lock|lock\.mdb|[^/]*\.pid|[^/]*\.lock|\.[^/]*lock)$|/logs/")

pytestmark = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")


class Disk:
    """What a power cut would leave, by the calls so far."""

    def __init__(self, root):
        self.root = str(root)
        self.unsynced: dict[str, str] = {}
        self.unnamed: dict[str, str] = {}
        self.known: set[str] = set()
        self.durable_fds: set[tuple[str, str]] = set()

    def inside(self, path):
        return path == self.root or path.startswith(self.root + "/")

    def named(self, path, call):
        if self.inside(path):
            self.unnamed[path] = call

    def renamed(self, old, new):
        for table in (self.unsynced, self.unnamed):
            for path in [path for path in table if path == old or path.startswith(old + "/")]:
                table[new + path[len(old) :]] = table.pop(path)

    def gone(self, path):
        self.unsynced.pop(path, None)
        self.unnamed.pop(path, None)

    def call(self, line):
        found = re.match(r"(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?", line)
        if not found or found[3].startswith("-"):
            return
        name, arguments, result, opened = found.groups()
        strings = [
            os.path.normpath(os.path.join(self.root, path)) for path in re.findall(r'"((?:[^"\\]|\\.)*)"', arguments)
        ]
        fd = re.match(r"(\d+)<([^>]*)>", arguments)
        if name == "openat":
            self.durable_fds.discard((result, opened))
            if "O_DSYNC" in arguments or "O_SYNC" in arguments:
                self.durable_fds.add((result, opened))
            if "O_CREAT" in arguments and self.inside(opened) and opened not in self.known:
                self.known.add(opened)
                self.unsynced[opened] = self.unnamed[opened] = line
        elif name in ("write", "pwrite64", "writev", "pwritev", "ftruncate", "fallocate"):
            if fd and self.inside(fd[2]) and (fd[1], fd[2]) not in self.durable_fds:
                self.unsynced[fd[2]] = line
        elif name in ("fsync", "fdatasync") and fd:
            self.unsynced.pop(fd[2], None)
            for path in [path for path in self.unnamed if os.path.dirname(path) == fd[2]]:
                del self.unnamed[path]
        elif name.startswith("mkdir"):
            self.known.add(strings[0])
            self.named(strings[0], line)
        elif name.startswith("rename"):
            old, new = strings[:2]
            if "RENAME_EXCHANGE" in arguments:
                self.renamed(old, old + "\0")
                self.renamed(new, old)
                self.renamed(old + "\0", new)
                self.named(old, line)
            else:
                self.renamed(old, new)
            self.known.add(new)
            self.named(new, line)
        elif name.startswith("link"):
            self.known.add(strings[1])
            self.named(strings[1], line)
        elif name.startswith(("unlink", "rmdir")):
            self.known.discard(strings[0])
            self.gone(strings[0])

    def lost(self):
        """What is there now and would not be, or would be older."""
        at_risk = {**self.unnamed, **self.unsynced}
        return {p: c for p, c in at_risk.items() if os.path.lexists(p) and not TRANSIENT.search(p)}


def traced_command(trace, *arguments):
    options = ["-f", "-y", "-qq", "-s", "4096", "-e", "signal=none", "-e", f"trace={CALLS}", "-o", trace]
    return [str(part) for part in ["strace", *options, binary(), *arguments]]


def read_trace(trace, root):
    disk = Disk(root)
    pending: dict[str, str] = {}
    for line in trace.read_text(errors="replace").splitlines():
        pid, rest = line.split(" ", 1)
        if rest.endswith("<unfinished ...>"):
            pending[pid] = rest.removesuffix("<unfinished ...>").strip()
            continue
        if resumed := re.match(r" *<\.\.\. \w+ resumed>(.*)", rest):
            rest = pending.pop(pid, "") + resumed[1]
        disk.call(rest.strip())
    assert disk.known, "the trace shows nothing"
    return disk


def traced(tmp_path, root, *arguments):
    """Runs a tool; what would be lost if the power was cut right after it."""
    trace = tmp_path / "trace"
    subprocess.run(traced_command(trace, *arguments), cwd=root.parent, check=True, timeout=300)
    return read_trace(trace, root).lost()


@pytest.fixture
def root(tmp_path):
    # Named from the root of the file system, as the trace names it.
    return tmp_path.resolve() / "made" / "inst"


def setup(tmp_path, root):
    root.parent.mkdir()
    pando = Pando(root)
    ports = ["--ldapPort", pando.port, "--ldapsPort", pando.tls_port, "--skipPortCheck"]
    who = ["--baseDN", BASE, "--rootUserDN", "cn=Manager", "--rootUserPassword", "secret12"]
    kind = ["--addBaseEntry", "--generateSelfSignedCertificate"]
    return traced(tmp_path, root, "setup", "--instance", root, "--no-prompt", *who, *ports, *kind)


def test_setup_leaves_nothing_to_a_power_cut(tmp_path, root):
    assert setup(tmp_path, root) == {}
    assert (root / "keys" / "server.key").stat().st_size > 0


def test_imports_and_exchanges_leave_nothing_to_a_power_cut(tmp_path, root):
    setup(tmp_path, root)
    shutil.rmtree(root / "db" / "userRoot")
    source = ["--backendID", "userRoot", "--ldifFile", DIRECTORY_LDIF, "--offline", "--instance", root]
    # Into a new backend, over it, and beside what is there.
    assert traced(tmp_path, root, "import-ldif", *source) == {}
    assert traced(tmp_path, root, "import-ldif", "--clearBackend", *source) == {}
    assert traced(tmp_path, root, "import-ldif", "--append", "--replaceExisting", *source) == {}
    assert traced(tmp_path, root, "rebuild-index", "--rebuildAll", "-b", BASE, "--offline", "--instance", root) == {}
    out = ["--ldifFile", root / "out.ldif", "--backendID", "userRoot", "--offline", "--instance", root]
    assert traced(tmp_path, root, "export-ldif", *out) == {}


def test_a_changed_configuration_is_on_the_disk(tmp_path, root):
    setup(tmp_path, root)
    change = ["set-global-configuration-prop", "--set", "size-limit:500", "--no-prompt", "--instance", root]
    assert traced(tmp_path, root, "dsconfig", *change) == {}


def test_an_audit_log_that_is_put_aside_is_on_the_disk(tmp_path, root):
    setup(tmp_path, root)
    config = root / "pando.toml"
    text = config.read_text()
    at = text.index('[log-publisher."File-Based Audit Logger"]')
    audit = text[at:].replace("enabled = false", "enabled = true", 1)
    audit = re.sub(r"rotation-policy = .*", 'rotation-policy = "small"', audit, count=1)
    small = '\n[log-rotation-policy.small]\ntype = "size-limit"\nfile-size-limit = "4 kib"\n'
    config.write_text(text[:at] + audit + small)
    trace = tmp_path / "trace"
    server = subprocess.Popen(traced_command(trace, "start", "--instance", root), cwd=root.parent)
    try:
        until(lambda: subprocess.run([binary(), "reload", "--instance", root], capture_output=True).returncode == 0)
        port = re.search(r"listen-port = (\d+)", config.read_text())[1]
        con = ldap.initialize(f"ldap://127.0.0.1:{port}")
        con.simple_bind_s("cn=Manager", "secret12")
        aside = lambda: list((root / "logs").glob("audit.*Z*"))  # noqa: E731

        def change() -> bool:
            """A fast machine writes several changes at once, and looks at the size of the log after them."""
            con.modify_s(BASE, [(ldap.MOD_REPLACE, "description", [b"a change that fills the log" * 8])])
            return len(aside()) >= 2

        until(change)
    finally:
        subprocess.run([binary(), "stop", "--instance", root], capture_output=True, check=False)
        server.wait(timeout=60)
    disk = read_trace(trace, root)
    assert aside() and not {str(path) for path in aside()} & {*disk.unsynced, *disk.unnamed}


def test_the_trace_is_understood(tmp_path):
    """A program that forgets a sync is found."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "a").write_text("x")
    calls = [
        f'mkdir("{tmp_path}/keys", 0700) = 0',
        f'openat(AT_FDCWD, "{tmp_path}/keys/a.new", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3<{tmp_path}/keys/a.new>',
        f'write(3<{tmp_path}/keys/a.new>, "x", 1) = 1',
        f"fsync(3<{tmp_path}/keys/a.new>) = 0",
        f'rename("{tmp_path}/keys/a.new", "{tmp_path}/keys/a") = 0',
        f"fsync(3<{tmp_path}/keys>) = 0",
        f"fsync(3<{tmp_path}>) = 0",
    ]
    for forgotten, lost in [(None, set()), (3, {"keys/a"}), (5, {"keys/a"}), (6, {"keys"})]:
        disk = Disk(tmp_path)
        for at, line in enumerate(calls):
            if at != forgotten:
                disk.call(line)
        assert set(disk.lost()) == {f"{tmp_path}/{path}" for path in lost}, forgotten
