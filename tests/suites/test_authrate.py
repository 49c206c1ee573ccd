"""authrate as the source document uses it, on its sample data."""

import json
import re
import subprocess
from pathlib import Path

import ldap
import pytest
from pando_server import BASE, Pando, binary

PEOPLE = 10_000
NAMES = ["-g", f"rand(0,{PEOPLE})", "-D", "uid=user.%d,ou=people,dc=example,dc=com", "-w", "password"]
RESULTS = Path(__file__).resolve().parents[2] / "bench" / "RESULTS.md"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("authrate")
    people = folder / "people.ldif"
    subprocess.run([binary(), "makeldif", "-o", people], check=True, capture_output=True)
    instance = Pando(folder / "inst").setup().import_ldif(people).start()
    yield instance
    instance.remove()


def binding_connections(server) -> list[str]:
    """The connection of each bind of the sample's people that is in the log, once all is written."""
    server.stop()
    found = re.findall(r"BIND REQ conn=(\d+) .*uid=user", server.access_log())
    (server.dir / "logs" / "access").unlink()
    server.start()
    return found


def authrate(server, *options):
    command = [binary(), "authrate", "-h", "localhost", "-p", server.port, *options]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)


# S0-51: the sample data of makeldif with its default settings, imported: each of the 10,000 people is there, with the
# password of the template.
def test_the_sample_data_are_ten_thousand_people(server):
    root = server.connect()
    found = root.search_s(BASE, ldap.SCOPE_SUBTREE, "(objectClass=inetOrgPerson)", ["uid"])
    assert {attributes["uid"][0].decode() for _, attributes in found} == {f"user.{n}" for n in range(PEOPLE)}
    for number in (0, 10, PEOPLE - 1):
        server.connect(f"uid=user.{number},ou=people,{BASE}", "password").unbind_s()


# S0-47: the row demands nothing that can be measured. What its words promise: a thousand clients at once are served
# without an error, each on a connection of its own, and one entry among ten thousand is found by looking at one.
def test_a_thousand_clients_at_once_are_served(server):
    # Those of other tests are forgotten.
    binding_connections(server)
    done = authrate(server, *NAMES, "-c", "1000", "-d", "4", "-i", "2", "-f")
    assert done.returncode == 0 and done.stdout.split()[-1] == "0.0", done.stdout + done.stderr
    one = (BASE, ldap.SCOPE_SUBTREE, f"(uid=user.{PEOPLE - 1})", ["debugsearchindex"])
    ((_, explained),) = server.connect().search_s(*one)
    assert json.loads(explained["debugsearchindex"][0])["final"] == 1
    connections = binding_connections(server)
    assert len(set(connections)) == 1000 and len(connections) > 1000


# S0-53
def test_the_command_of_the_source_document_keeps_32_connections_open(server):
    done = authrate(server, *NAMES, "-c", "32", "-f", "-d", "2", "-i", "1")
    assert done.returncode == 0, done.stderr
    *_, titles, first, last = done.stdout.splitlines()
    assert titles.split() == ["recent", "average", "recent", "average", "99.9%", "99.99%", "99.999%", "err/sec"]
    # S0-54: decimals of the columns. S0-55: no errors here; that no rate and no tail is worse than OpenDJ's is measured
    # by tests/bind_rates.py (scripts/soak bind-rates).
    for row in (first, last):
        assert re.fullmatch(r"( +\d+\.\d){2}( +\d+\.\d{3}){5} +0\.0", row), row
    assert float(last.split()[1]) > 100
    connections = binding_connections(server)
    assert len(set(connections)) == 32 and len(connections) > 100


def test_so_many_binds_of_all_connections_together(server):
    done = authrate(server, *NAMES, "-c", "3", "-t", "2", "-m", "42", "-S", "-e", "50")
    assert done.returncode == 0, done.stderr
    head, row = done.stdout.splitlines()
    assert head.split(",")[0] == "Time (seconds)" and head.split(",")[5:] == [
        "50% response time (milliseconds)",
        "Errors/second",
    ]
    assert len(row.split(",")) == 7
    connections = binding_connections(server)
    # Each bind makes its connection.
    assert len(connections) == len(set(connections)) == 42


def test_wrong_passwords_are_errors(server):
    done = authrate(server, *NAMES, "-m", "4", "-I", "100")
    assert done.returncode == 1 and float(done.stdout.split()[-1]) > 0
    assert "no bind succeeded" in done.stderr


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["-D", "uid=user.%d", "-w", "x"], "wants 1 values, and there are 0 generators"),
        (["-D", "uid=user.%x", "-w", "x"], "after a % comes"),
        (["-g", "rnd(1)", "-D", "cn=x", "-w", "x"], "a generator is inc(MIN,MAX)"),
        (["-D", "cn=x", "-w", "x", "-c", "0"], "0 is not in 1..=50000"),
        (["-D", "cn=x", "-w", "x", "-c", "300", "-t", "300"], "at most 50000 can be made"),
    ],
)
def test_what_cannot_be_measured_is_said(server, options, complaint):
    done = authrate(server, *options)
    assert done.returncode != 0 and complaint in done.stderr and not done.stdout


def published_table() -> dict[str, dict[str, str]]:
    """The table of schemes of the published figures: scheme → column → figure."""
    text = RESULTS.read_text()
    titles, _, *rows = text[text.index("| scheme |") :].split("\n\n")[0].splitlines()
    names = [cell.strip() for cell in titles.split("|")[1:-1]]
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
    return {row[0]: dict(zip(names, row, strict=True)) for row in cells}


# S0-48: the rates of binds by scheme are published, for all kinds of schemes that new passwords can have.
def test_the_table_of_schemes_is_published():
    table = published_table()
    for scheme in ("Salted SHA-1", "Salted SHA-256", "Salted SHA-512", "PBKDF2-HMAC-SHA256", "Bcrypt", "Argon2"):
        _, *figures = table[scheme].values()
        assert all(re.search(r"\d", figure) for figure in figures), table[scheme]


# S0-57: what was measured (bench/logins.py), not how fast this machine is now: binds by salted SHA-512 reach 95 % of
# the rate of those by salted SHA-1.
def test_salted_sha_512_was_measured_no_slower_than_by_five_percent():
    ratio = published_table()["Salted SHA-512"]["ratio to SSHA"]
    assert float(ratio.split()[0]) >= 0.95, ratio
