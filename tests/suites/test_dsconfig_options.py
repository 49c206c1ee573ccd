"""The options of dsconfig: what is shown and how, commands in batches, lists of subcommands and of properties."""

import subprocess

import pytest
from pando_server import binary

CN = ("get-backend-index-prop", "--backend-name", "userRoot", "--index-name", "cn")
POLICY = ("get-log-rotation-policy-prop", "--policy-name")
SIZE = (*POLICY, "Size Limit Rotation Policy")
DAY = (*POLICY, "24 Hours Time Limit Rotation Policy", "--property", "rotation-interval")


def dsconfig(instance, *words, given=None):
    """Status, output and messages."""
    command = [binary(), "dsconfig", "--instance", str(instance.dir), *words]
    done = subprocess.run(command, input=given or "", capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def output(instance, *words, given=None):
    status, told, wrong = dsconfig(instance, *words, given=given)
    assert (status, wrong) == (0, "")
    return told


def test_scripts_get_tabs_and_no_headings(server):
    assert output(server, "list-backends", "-s") == "userRoot\n"
    assert output(server, *CN, "--script-friendly", "--property", "index-type") == "index-type\tequality\tsubstring\n"
    by_value = output(server, *CN, "-s", "-E", "--property", "INDEX-TYPE")
    assert by_value == "index-type\tequality\nindex-type\tsubstring\n"
    assert output(server, *CN, "-s", "--property", "index-entry-limit") == "index-entry-limit\n"
    assert output(server, "get-backend-prop", "--backend-name", "userRoot", "-s", "--property", "base-dn") == (
        "base-dn\tdc=example,dc=com\n"
    )


def test_tables_have_the_forms_of_opendj(server):
    shown = output(server, "get-backend-prop", "--backend-name", "userRoot", "--property", "base-dn")
    assert shown.splitlines() == [
        "Property : Value(s)",
        "---------:--------------------",
        'base-dn  : "dc=example,dc=com"',
    ]
    names = [line.split()[0] for line in output(server, "get-global-configuration-prop").splitlines()[2:]]
    assert len(names) > 20 and names == sorted(names)
    assert output(server, *CN, "--record", "--property", "index-type").splitlines()[2:] == [
        "index-type : equality",
        "index-type : substring",
    ]
    head = output(server, "list-backends", "--property", "enabled", "--property", "base-dn").splitlines()[0]
    assert head == "Backend  : enabled : base-dn"


@pytest.mark.parametrize(
    "words, value",
    [
        ((*SIZE, "-z", "kb"), "100,000 kb"),
        ((*SIZE, "--unit-size", "gb"), "0.1 gb"),
        ((*SIZE, "-z", "kb", "-s"), "100000 kb"),
        ((*SIZE, "-z", "Megabytes"), "100 mb"),
        ((*SIZE,), "100 mb"),
        ((*DAY, "-m", "h"), "24 h"),
        ((*DAY, "--unit-time", "minutes"), "1,440 m"),
        ((*DAY,), "1 d"),
    ],
)
def test_units(server, words, value):
    assert output(server, *words).rstrip().replace("\t", " : ").endswith(f" : {value}")


@pytest.mark.parametrize(
    "words, told",
    [
        ((*SIZE, "-z", "parsec"), '"parsec" is no unit of size: known are b, kb, kib'),
        ((*CN, "--property", "index-typ"), 'unknown property "index-typ" of Backend Index: did you mean index-type?'),
        (("list-backends", "--property", "bse-dn"), 'unknown property "bse-dn" of Backend: did you mean base-dn?'),
        (("list-properties", "-c", "backnd"), 'there is no component "backnd": did you mean backend?'),
        (("list-properties", "-c", "plugin", "-t", "unique"), "did you mean unique-attribute?"),
        (("list-properties", "--property", "bse-dn"), "did you mean base-dn"),
        (("get-backend-prop",), "--backend-name NAME is missing: it gives the backend id"),
        (("delete-backend", "--backend-name", "x"), "there is no [backend.x]"),
        (("set-backend-prop", "--backend-name", "x"), 'there is no backend "x"'),
        (("--batch", "list-backends"), "a batch has its commands in its lines"),
        (("-F", "nowhere"), "nowhere: No such file"),
    ],
)
def test_mistakes_are_one_sentence_and_status_1(server, words, told):
    status, out, wrong = dsconfig(server, *words)
    assert (status, out, wrong.count("\n")) == (1, "", 1) and told in wrong


def test_other_statuses(server):
    status, _, wrong = dsconfig(server)
    assert status == 2 and "--help-all lists them" in wrong
    status, _, wrong = dsconfig(server, "set-backend-propp")
    assert status == 18 and 'did you mean "set-backend-prop"?' in wrong
    assert dsconfig(server, "delete-backend", "--backend-name", "x", "--force")[0] == 0
    assert dsconfig(server, "list-backends", "--quiet", "--verbose")[0] == 18


def test_a_batch_does_line_after_line(fresh):
    index = "--backend-name userRoot --index-name"
    text = f"""# Lists of two indexes.

set-backend-index-prop {index} cn \\
  --set "index-entry-limit:7"
pando dsconfig get-backend-index-prop {index} 'cn' --property index-entry-limit -s
dsconfig set-backend-index-prop {index} sn --set index-entry-limit:8 --no-prompt
"""
    told = output(fresh, "--batch", "--quiet", given=text)
    assert told == "index-entry-limit\t7\n"
    spoken = output(fresh, "--batch", given=text).splitlines()
    assert spoken[0].startswith("set-backend-index-prop") and 'The Backend Index "cn" has changed.' in spoken
    file = fresh.dir / "commands"
    file.write_text(f"{text}list-backendss\ndelete-backend-index {index} cn\n")
    status, _, wrong = dsconfig(fresh, "-F", str(file), "-Q")
    assert status == 18 and wrong.startswith('pando dsconfig: line 7: there is no subcommand "list-backendss"; did you')
    assert "index-entry-limit = 8" in fresh.config.read_text() and "cn" in output(
        fresh, "list-backend-indexes", "--backend-name", "userRoot", "-s"
    ).split("\n")


@pytest.mark.parametrize(
    "line, status, told",
    [
        ("set-backend-prop --backend-name userRoot --set index-entry-limt:1", 1, "did you mean index-entry-limit?"),
        ("list-backends -w secret12", 1, "options of the connection belong to the command that reads the batch"),
        ("list-backends --offline", 1, "--offline belongs to the command that reads the batch"),
        ("--batch", 1, "a further batch does not belong into a batch"),
        ("--help-all", 1, "help does not belong into a batch"),
        ("--quiet", 2, "the line has no subcommand"),
        ("list-backends 'x", 1, "a quotation mark is not closed"),
        ("list-backends --nonsense", 18, 'there is no option "--nonsense"'),
    ],
)
def test_a_wrong_line_ends_a_batch_with_its_number(server, line, status, told):
    before = server.config.read_text()
    given = f"# One.\n{line}\nset-backend-prop --backend-name userRoot --set index-entry-limit:1\n"
    found, out, wrong = dsconfig(server, "--batch", "--quiet", given=given)
    assert (found, out, wrong.count("\n")) == (status, "", 1)
    assert wrong.startswith("pando dsconfig: line 2: ") and told in wrong
    assert server.config.read_text() == before


def test_lists_of_subcommands(server):
    every = output(server, "--help-all").split("\n")
    assert {"list-properties", "create-plugin", "set-global-configuration-prop", "get-root-dn-prop"} <= set(every)
    for category, inside, outside in [
        ("core-server", "set-global-configuration-prop", "create-backend-index"),
        ("database", "create-backend-index", "create-plugin"),
        ("logging", "create-log-publisher", "create-plugin"),
        ("security", "set-access-control-handler-prop", "create-password-policy"),
        ("user-management", "create-password-policy", "create-backend-index"),
    ]:
        listed = output(server, f"--help-{category}").split("\n")
        assert inside in listed and outside not in listed and set(listed) <= set(every), category
    assert output(server, "--help-replication") == "There are no subcommands of this kind.\n"
    # Every one of them is too much for a screen.
    assert "create-plugin" not in output(server, "--help")


def test_list_properties(server):
    rows = [line.split("\t") for line in output(server, "list-properties", "-s").splitlines()]
    assert rows == sorted(rows) and all(len(row) == 5 for row in rows) and len(rows) > 200
    assert ["backend-index", "generic", "index-type", "rwm--", "TYPE"] in rows
    assert ["global-configuration", "generic", "check-schema", "rw-sa", "BOOLEAN"] in rows
    assert ["global-configuration", "generic", "time-limit", "rw-s-", "DURATION (s)"] in rows
    kind = output(server, "list-properties", "-c", "plugin", "-t", "unique-attribute", "--property", "base-dn", "-s")
    assert [row.split("\t")[:3] for row in kind.splitlines()] == [["plugin", "unique-attribute", "base-dn"]]
    table = output(server, "list-properties", "--category", "backend")
    assert table.startswith("Option Types:\n") and "Component  Type     Property" in table
