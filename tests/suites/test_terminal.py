"""The tools at a terminal: what setup asks and asks again, tables that fit, colour, and quickstart from nothing."""

import re
import signal
import subprocess

import pytest
from pando_server import binary, free_ports
from terminal import PATIENCE_SECONDS, Terminal


def test_setup_asks_again_until_the_answer_will_do(tmp_path):
    ldap, taken = free_ports(2)
    tool = Terminal(tmp_path, "setup", "--instance", "inst", "--doNotStart")
    tool.until("Base DN [dc=example,dc=com]: ").answer("example.com\n")
    tool.until('"example.com" is not a DN such as').until("Base DN [").answer("o=Example\n")
    tool.until("Root user DN [cn=Directory Manager]: ").answer("nobody\n")
    tool.until('"nobody" is not a DN').until("Root user DN [").answer("\n")
    tool.until("Root user password: ").answer("short\n")
    tool.until("has 5 bytes; at least 8 are needed").until("Root user password: ").answer("a secret of mine\n")
    tool.until("The same again: ").answer("another secret\n")
    tool.until("the two passwords differ").until("Root user password: ").answer("a secret of mine\n")
    tool.until("The same again: ").answer("a secret of mine\n")
    tool.until("LDAP port [").answer("many\n")
    tool.until('"many" is not a port').until("LDAP port [").answer("0\n")
    tool.until("0 is not a port").until("LDAP port [").answer(f"{ldap}\n")
    tool.until("Made the instance inst.")
    assert tool.status() == 0
    text = (tmp_path / "inst" / "pando.toml").read_text()
    assert 'base-dn = "o=Example"' in text and str(ldap) in text
    assert "a secret of mine" not in text


def test_setup_ends_with_its_input(tmp_path):
    tool = Terminal(tmp_path, "setup", "--instance", "inst")
    tool.until("Base DN [").answer("nonsense\n").until("Base DN [").answer("\x04")
    tool.until("pando setup: standard input ended before the answer")
    assert tool.status() == 1
    assert not (tmp_path / "inst").exists()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal")
    setup = ["setup", "--instance", "inst", "-w", "secret12", "--no-prompt", "--sampleData", "20", "--skipPortCheck"]
    subprocess.run([binary(), *setup, "--quiet"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize(
    "line",
    [
        ["status"],
        ["backendstat", "list-indexes", "-n", "userRoot"],
        ["backendstat", "show-index-status", "-n", "userRoot"],
        ["dsconfig", "list-backend-indexes", "--backend-name", "userRoot"],
        ["dsconfig", "get-global-configuration-prop"],
    ],
)
def test_tables_fit_the_terminal_and_are_whole_elsewhere(made, columns, line):
    tool = Terminal(made, *line, "--instance", "inst", columns=columns, notes=False)
    assert tool.status() == 0
    table = [row for row in tool.text.splitlines() if re.match(r"\S+.*  |-+", row)]
    assert table and max(map(len, table)) <= columns, max(table, key=len)
    whole = subprocess.run(
        [binary(), *line, "--instance", "inst"], cwd=made, capture_output=True, text=True, check=True
    )
    wide = Terminal(made, *line, "--instance", "inst", columns=2000, notes=False)
    assert wide.status() == 0 and wide.text == whole.stdout


def test_colour_is_for_terminals_that_want_it(made):
    assert "\x1b[" not in subprocess.run([binary(), "--help"], capture_output=True, text=True, check=True).stdout
    for line in (["--help"], ["status", "--instance", "inst"], ["stop", "--instance", "inst"], ["no-such-tool"]):
        tool = Terminal(made, *line, NO_COLOR="1")
        tool.status()
        assert "\x1b[" not in tool.text, line


def run(folder, *arguments):
    tool = subprocess.run([binary(), *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    return tool.returncode, tool.stdout, tool.stderr


def test_quickstart_takes_a_port_and_an_empty_folder(tmp_path):
    port, other = free_ports(2)
    tool = Terminal(tmp_path, "quickstart", "--port", str(port), "--sampleData", "10", "--instance", "inst")
    tool.until(f"ldap://127.0.0.1:{port}").until("Try it from another terminal")
    # It serves: what is asked for now must be as it is.
    assert run(tmp_path, "quickstart", "--instance", "inst", "--port", str(port))[0] == 0
    assert run(tmp_path, "quickstart", "--instance", "inst", "--port", str(other)) == (
        1,
        "",
        f"pando quickstart: inst has an instance already, which listens at port {port}; "
        "leave --port out, or choose another --instance\n",
    )
    status, _, told = run(tmp_path, "quickstart", "--instance", "inst", "--sampleData", "10")
    assert status == 1 and "--sampleData is for a new one" in told
    status, _, told = run(tmp_path, "quickstart", "--instance", "second", "--port", str(port))
    assert (status, told) == (1, f"pando quickstart: port {port} is in use or not allowed for you\n")
    assert not (tmp_path / "second").exists()
    tool.process.send_signal(signal.SIGINT)
    assert tool.status() == 0


@pytest.mark.parametrize("tool", [["quickstart"], ["setup", "-w", "secret12", "--no-prompt"]])
def test_a_folder_that_holds_other_things_is_left_alone(tmp_path, tool):
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "tree.jpg").write_text("a picture")
    name = tool[0]
    refused = (
        1,
        "",
        f"pando {name}: photos holds other things (tree.jpg); choose a new or an empty folder with --instance\n",
    )
    assert run(tmp_path, *tool, "--instance", "photos") == refused
    assert [path.name for path in folder.iterdir()] == ["tree.jpg"]
