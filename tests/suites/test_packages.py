"""The Debian package in a clean Debian system, its units, and the container that is made of it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from clean_root import CleanRoot, archive
from pando_server import HERE, ROOT_DN, binary, connect, free_ports, until
from service_manager import Service

PACKAGING = HERE.parent / "packaging"
IMAGE = "localhost/pando-test"


def run(*command, **kw) -> subprocess.CompletedProcess:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **kw)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """The package with the program under test."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or HERE.parent / "target")
    if not shutil.which("cargo-deb") and not (target / "tools" / "bin" / "cargo-deb").exists():
        pytest.skip("needs cargo-deb: cargo install --root target/tools cargo-deb")
    built = tmp_path_factory.mktemp("package")
    environment = {**os.environ, "CARGO_TARGET_DIR": str(built)}
    environment["PATH"] = f"{target}/tools/bin:{environment['PATH']}"
    (built / "release").mkdir()
    run(HERE.parent / "scripts" / "package", Path(binary()).resolve(), env=environment)
    (made,) = (built / "debian").glob("*.deb")
    yield made
    shutil.rmtree(built)


@pytest.fixture(scope="module")
def root(package, tmp_path_factory) -> CleanRoot:
    """A system with the package."""
    folder = tmp_path_factory.mktemp("system")
    system = CleanRoot(folder / "root")
    shutil.copy(package, system.path / "pando.deb")
    said = system.run("dpkg", "--install", "/pando.deb").stdout
    assert "pando: look at /etc/default/pando, then start the directory: systemctl enable --now pando" in said
    yield system
    shutil.rmtree(folder)


def as_service(system: CleanRoot) -> Service:
    """Starts the command as the unit has it: as its user, in a system of its own, with the variables of its file."""
    unit = (system.path / "usr/lib/systemd/system/pando.service").read_text()
    lines = (system.path / "etc/default/pando").read_text().splitlines()
    variables = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    (home,) = [line for line in unit.splitlines() if line.startswith("Environment=PANDO_HOME=")]
    variables["PANDO_HOME"] = home.removeprefix("Environment=PANDO_HOME=")
    (started,) = [line.removeprefix("ExecStart=") for line in unit.splitlines() if line.startswith("ExecStart=")]
    user = system.run("id", "--user", "pando").stdout.strip()
    group = system.run("id", "--group", "pando").stdout.strip()
    state = system.path / "var/lib/pando"
    state.mkdir(mode=0o750, exist_ok=True)
    os.chown(state, int(user), int(group))
    chroot = ["chroot", f"--userspec={user}:{group}", system.path]
    # The socket for notices lies in the system of the service.
    variables["NOTIFY_SOCKET"] = "/run/notify"
    return Service([*chroot, *started.split()], system.path / "run", variables)


def is_healthy(system: CleanRoot) -> bool:
    asked = system.run("env", "PANDO_HOME=/var/lib/pando", "pando", "status", "--healthy", check=False)
    return asked.returncode == 0


def test_the_package_serves_from_a_clean_system(root):
    ports = dict(zip(("LDAP", "LDAPS"), free_ports(2), strict=True))
    default = root.path / "etc/default/pando"
    text = default.read_text()
    for name, usual in (("LDAP", 389), ("LDAPS", 636)):
        text = text.replace(f"PANDO_{name}_PORT={usual}\n", f"PANDO_{name}_PORT={ports[name]}\n")
    default.write_text(text)
    service = as_service(root)
    try:
        assert service.notice() == "READY=1", service.said()
        assert is_healthy(root)
        password = (root.path / "var/lib/pando/keys/root.password").read_text().strip()
        con = connect(f"ldap://127.0.0.1:{ports['LDAP']}", password=password)
        assert con.whoami_s() == f"dn:{ROOT_DN}"
        con.add_s("ou=kept,dc=example,dc=com", [("objectClass", [b"organizationalUnit"])])
        owner = (root.path / "var/lib/pando/db").stat().st_uid
        assert str(owner) == root.run("id", "--user", "pando").stdout.strip()
    finally:
        assert service.stop() == 0
    # A newer version keeps what was changed, and the data.
    said = root.run("dpkg", "--install", "/pando.deb").stdout
    assert "systemctl enable" not in said
    assert default.read_text() == text
    service = as_service(root)
    try:
        assert service.notice() == "READY=1", service.said()
        con = connect(f"ldap://127.0.0.1:{ports['LDAP']}", password=password)
        assert con.compare_s("ou=kept,dc=example,dc=com", "ou", b"kept")
    finally:
        assert service.stop() == 0


def test_the_package_brings_pages_and_completions(root):
    files = root.run("dpkg", "--listfiles", "pando").stdout.splitlines()
    for wanted in (
        "/usr/bin/pando",
        "/usr/share/man/man1/pando.1.gz",
        "/usr/share/man/man1/pando-import-ldif.1.gz",
        "/usr/share/bash-completion/completions/pando",
        "/usr/share/zsh/vendor-completions/_pando",
        "/usr/share/pando/monitoring/alerts.yml",
        "/usr/lib/systemd/system/pando.service",
        "/usr/lib/systemd/system/pando.socket",
    ):
        assert wanted in files
    assert not [file for file in files if "logrotate" in file]
    assert root.run("dpkg", "--verify", "pando").stdout.replace("/etc/default/pando", "").strip() in ("", "??5?????? c")


def test_the_program_is_stripped(package, tmp_path):
    run("dpkg", "--extract", package, tmp_path)
    assert ".debug_line" not in run("readelf", "--sections", "--wide", tmp_path / "usr/bin/pando").stdout


def test_the_units_are_valid_and_closed(root):
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze")
    system = root.path / "usr/lib/systemd/system"
    # The program must be where the units say; what else a machine has is not in this system.
    units = ["pando.service", "pando.socket"]
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", f"--root={root.path}", *units], capture_output=True, text=True
    )
    absent = ("sysinit.target not found", "Failed to connect to bus")
    lines = [line for line in checked.stderr.splitlines() if not any(it in line for it in absent)]
    assert lines == []
    # systemd's own judgement: 0 is closed, 10 is open; a service without any setting has 9.6.
    # It fails above the threshold, which is in tenths.
    run("systemd-analyze", "security", "--offline=true", "--threshold=20", system / "pando.service")


def test_removing_keeps_the_data_and_says_so(root):
    """The last test of this system."""
    assert root.run("dpkg", "--remove", "pando").returncode == 0
    assert (root.path / "etc/default/pando").exists()
    said = root.run("dpkg", "--purge", "pando").stdout
    assert "the directory in /var/lib/pando is left" in said
    assert (root.path / "var/lib/pando/pando.toml").exists()
    assert not (root.path / "etc/default/pando").exists()


class Containers:
    """Images and containers, kept in a folder."""

    def __init__(self, folder: Path):
        places = ["--storage-driver", "vfs", "--root", folder / "images", "--runroot", folder / "running"]
        self.command = ["buildah", *map(str, places)]

    def __call__(self, *words) -> str:
        return run(*self.command, *words).stdout.strip()


def test_a_container_keeps_its_data(package, tmp_path):
    if not shutil.which("buildah"):
        pytest.skip("needs buildah")
    containers = Containers(tmp_path)
    base = containers("from", "scratch")
    containers("add", base, archive(), "/")
    containers("commit", "--quiet", base, "localhost/debian-base")
    context = tmp_path / "context"
    context.mkdir()
    shutil.copy(package, context / "pando.deb")
    file = PACKAGING / "Containerfile"
    options = ["--isolation", "chroot", "--format", "docker", "--build-arg", "BASE=localhost/debian-base"]
    containers("build", "--quiet", *options, "--tag", IMAGE, "--file", file, context)
    made = json.loads(containers("inspect", "--type", "image", IMAGE))["Docker"]["config"]
    assert made["User"] == "pando"
    assert made["Healthcheck"]["Test"] == ["CMD", "pando", "status", "--healthy"]
    (volume,) = made["Volumes"]
    data = tmp_path / "data"
    data.mkdir()
    for round in ("first", "second"):
        container = containers("from", IMAGE)
        mounted = containers("mount", container)
        users = (Path(mounted) / "etc/passwd").read_text().splitlines()
        (user,) = [line.split(":") for line in users if line.startswith("pando:")]
        os.chown(data, int(user[2]), int(user[3]))
        ports = dict(zip(("LDAP_PORT", "LDAPS_PORT", "HTTP_PORT"), free_ports(3), strict=True))
        if round == "first":
            kept = ports
        variables = [word for name, port in ports.items() for word in ("--env", f"PANDO_{name}={port}")]
        within = [*containers.command, "run", "--isolation", "chroot", "--volume", f"{data}:{volume}"]
        entry = [*made["Entrypoint"], *made["Cmd"]]
        server = subprocess.Popen(
            [*within, *variables, "--env", "PANDO_ADD_BASE_ENTRY=true", container, "--", *entry],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            healthy = [*within, container, "--", *made["Healthcheck"]["Test"][1:]]
            until(lambda: subprocess.run(healthy, capture_output=True).returncode == 0)
            password = (data / "keys/root.password").read_text().strip()
            con = connect(f"ldap://127.0.0.1:{kept['LDAP_PORT']}", password=password)
            if round == "first":
                con.add_s("ou=kept,dc=example,dc=com", [("objectClass", [b"organizationalUnit"])])
            assert con.compare_s("ou=kept,dc=example,dc=com", "ou", b"kept")
        finally:
            run(*within, container, "--", "pando", "stop", "--quiet")
            assert server.wait(timeout=120) == 0
        containers("rm", container)
