"""ldapsearch, ldapmodify, ldapdelete, ldapcompare and ldappasswordmodify with OpenDJ's options, against Pando and
slapd: what they ask, what they print, and that they end with result codes. OpenDJ's own tools are asked the same."""

import base64
import os
import pty
import shutil
import subprocess
import threading
import time
import zipfile

import opendj_package
import pytest
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando, binary, free_ports, until
from slapd_server import ADMIN_DN, ADMIN_PW, slapd_url

PEOPLE = 60
USERS = f"ou=People,{BASE}"
ROOT = ("-D", ROOT_DN, "-w", ROOT_PW)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clients")
    people = folder / "people.ldif"
    subprocess.run([binary(), "makeldif", "-c", f"numusers={PEOPLE}", "-o", people], check=True, capture_output=True)
    instance = Pando(folder / "inst").setup().import_ldif(people).start()
    yield instance
    instance.remove()


@pytest.fixture(scope="module")
def links(tmp_path_factory):
    """Links that are named like OpenDJ's tools."""
    folder = tmp_path_factory.mktemp("links") / "bin"
    folder.mkdir()
    for tool in ("ldapsearch", "ldapmodify"):
        (folder / tool).symlink_to(binary())
    return folder


def run(tool, port, *options, given="", timeout=60):
    command = [binary(), tool, "-h", "localhost", "-p", port, *options]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, input=given, timeout=timeout)


def as_root(server, tool, *options, given=""):
    return run(tool, server.port, *ROOT, *options, given=given)


def search(server, *options):
    return as_root(server, "ldapsearch", "-b", BASE, *options)


def names(done) -> list[str]:
    assert done.returncode == 0, done.stderr
    return [line.removeprefix("dn: ") for line in done.stdout.splitlines() if line.startswith("dn: ")]


def user(number) -> str:
    return f"uid=user.{number},{USERS}"


def change(number, value, attribute="description") -> str:
    return f"dn: {user(number)}\nchangetype: modify\nreplace: {attribute}\n{attribute}: {value}\n-\n\n"


# S0-37: the commands of the source document, which asks for the password.
@pytest.mark.parametrize(
    "words",
    [
        ["-b", BASE, "(&(cn=*Den*)(mail=user.19*))", "debugsearchindex"],
        ["-b", BASE, "(|(cn=*Denice*)(uid=user.19))", "debugsearchindex"],
        ["-b", USERS.lower(), "-s", "one", "(mail=user.1*)", "debugsearchindex"],
    ],
)
def test_the_searches_of_the_source_document_ask_for_the_password(server, links, words):
    command = [str(links / "ldapsearch"), "-h", "localhost", "-p", str(server.port), "-D", "cn=directory manager"]
    process, terminal = pty.fork()
    if process == 0:
        os.execv(command[0], [*command, *words])
    said = b""
    while b"Password for user 'cn=directory manager':" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, ROOT_PW.encode() + b"\n")
    try:
        while more := os.read(terminal, 10000):
            said += more
    except OSError:
        pass  # The other side has ended.
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert b'dn: cn=debugsearch\r\ndebugsearchindex: {"filter":' in said and ROOT_PW.encode() not in said


def test_the_other_search_of_the_source_document(server, links):
    command = [links / "ldapsearch", "-D", "cn=directory manager", "-w", ROOT_PW, "-p", str(server.port)]
    done = subprocess.run([*command, "-b", BASE, "uid=user.10", "dn", "userPassword"], capture_output=True, text=True)
    dn, password, blank = done.stdout.split("\n")[:3]
    assert (done.returncode, dn, blank) == (0, f"dn: {user(10)}", "") and password.startswith("userPassword: {")


def test_entries_are_ldif(server):
    given = base64.b64encode("größer".encode()).decode()
    as_root(server, "ldapmodify", given=f"{change(20, 'x' * 100)}dn: {user(20)}\nchangetype: modify\nadd: title\n"
            f"title:: {given}\n")  # fmt: skip
    one = search(server, "(uid=user.20)", "title", "description").stdout
    assert one == f"dn: {user(20)}\ndescription: {'x' * 100}\ntitle:: {given}\n\n"
    folded = search(server, "-t", "40", "(uid=user.20)", "description").stdout
    assert folded.split("\n")[2:6] == ["description: " + "x" * 27, " " + "x" * 39, " " + "x" * 34, ""]
    assert search(server, "-A", "(uid=user.20)", "title", "sn").stdout == f"dn: {user(20)}\nsn:\ntitle:\n\n"


def test_scopes_limits_and_counts(server):
    assert names(search(server, "-s", "base", "(objectClass=*)", "1.1")) == [BASE]
    assert set(names(search(server, "-s", "one", "(objectClass=*)", "1.1"))) >= {USERS}
    assert BASE not in names(search(server, "-s", "subordinates", "(objectClass=*)", "1.1"))
    done = search(server, "-z", "2", "--countEntries", "(uid=user.*)", "1.1")
    assert done.returncode == 4 and done.stdout.count("dn: ") == 2
    assert "The LDAP search request failed: 4 (Size Limit Exceeded)\n" in done.stderr
    assert done.stdout.endswith("# Total number of matching entries: 2\n")


def test_pages_and_sorted_lists(server):
    filter = "(uid=user.1*)"
    sorted_names = names(search(server, "-S", "-uid", filter, "1.1"))
    assert sorted_names == sorted(names(search(server, filter, "1.1")), reverse=True) and len(sorted_names) == 11
    assert sorted(names(search(server, "--simplePageSize", "3", filter, "1.1"))) == sorted(sorted_names)
    done = search(server, "-S", "-uid", "-G", "0:2:4:0", filter, "1.1")
    assert names(done) == sorted_names[3:6]
    assert done.stdout.endswith("# VLV Target Offset:  4\n# VLV Content Count:  11\n")
    done = search(server, "-S", "uid", "-G", "1:0:user.15", filter, "1.1")
    assert names(done) == [user(14), user(15)]


def test_a_persistent_search_prints_changes_when_they_come(server):
    command = [binary(), "ldapsearch", "-p", str(server.port), *ROOT, "-b", BASE, "-C", "ps:modify", "(uid=*)", "title"]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(iter(watcher.stdout.readline, "")))
    reader.start()

    def is_told() -> bool:
        as_root(server, "ldapmodify", given=change(30, f"t{time.time()}", "title"))
        return len(lines) > 4

    until(is_told)
    watcher.kill()
    watcher.wait()
    reader.join()
    assert lines[:2] == ["# Persistent search change type:  modify\n", f"dn: {user(30)}\n"] or lines[2].startswith(
        "dn:"
    )


def test_a_reader_that_goes_ends_a_persistent_search(server):
    command = [binary(), "ldapsearch", "-p", str(server.port), *ROOT, "-b", BASE, "-C", "ps:any:false", "(uid=*)"]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE)
    watcher.stdout.readline()
    watcher.stdout.close()

    def has_ended() -> bool:
        # It finds out when it writes the next change.
        as_root(server, "ldapmodify", given=change(31, f"t{time.time()}", "title"))
        return watcher.poll() is not None

    until(has_ended)
    assert watcher.returncode == 0


def test_what_controls_tell_of_entries(server):
    done = search(server, "-J", "accountusability:true", "(uid=user.3)", "1.1")
    assert done.stdout == f"# Account Usability Response Control\n#   The account is usable\ndn: {user(3)}\n\n"
    done = search(server, "-g", f"dn:{user(3)}", "-e", "sn", "(uid=user.3)", "aclRights")
    assert "aclRights;attributeLevel;sn: " in done.stdout and "aclRights;entryLevel: " in done.stdout
    done = search(server, "--matchedValuesFilter", "(objectClass=top)", "(uid=user.3)", "objectClass")
    assert done.stdout == f"dn: {user(3)}\nobjectClass: top\n\n"
    assert search(server, "--assertionFilter", "(objectClass=nothing)", "(uid=user.3)").returncode == 122
    assert names(search(server, "--subEntries", "(uid=user.3)", "1.1")) == []
    assert search(server, "-J", "1.2.3:true", "(uid=user.3)").returncode == 12
    assert names(search(server, "-J", "1.2.3", "(uid=user.3)", "1.1")) == [user(3)]
    assert search(server, "-Y", f"dn:{user(3)}", "-s", "base", "(objectClass=*)").returncode == 123


def test_what_is_told_about_the_bind(server):
    done = run("ldapsearch", server.port, "-D", user(5), "-w", "password", "-E", "--usePasswordPolicyControl", "-b", "",
               "-s", "base", "(objectClass=*)", "1.1")  # fmt: skip
    assert done.stdout == f"# Bound with authorization ID dn:{user(5)}\ndn:\n\n", done.stderr


def test_filters_of_a_file(server, tmp_path):
    filters = tmp_path / "filters"
    filters.write_text("(uid=user.1)\n\nuid=user.2\n")
    assert search(server, "-f", filters, "sn", "1.1").stdout.count("sn: ") == 2
    filters.write_text("(uid=user.1)\n(uid=user.2\n")
    done = search(server, "-f", filters)
    assert (done.returncode, done.stdout) == (87, "")
    filters.write_text("(uid=user.1*)\n(uid=user.2)\n")
    assert search(server, "-z", "1", "-f", filters, "1.1").stdout.count("dn: ") == 1
    done = search(server, "-z", "1", "-c", "-f", filters, "1.1")
    assert done.returncode == 4 and done.stdout.count("dn: ") == 2


def test_ldapmodify_does_what_records_say(server, tmp_path):
    new, newer = f"uid=new,{BASE}", f"uid=newer,{BASE}"
    text = f"dn: {new}\nobjectClass: account\nuid: new\n\ndn: {new}\nchangetype: modrdn\nnewrdn: uid=newer\n"
    text += f"deleteoldrdn: 1\n\ndn: {newer}\nchangetype: delete\n\n{change(1, 'changed')}"
    expected = []
    for kind, name in (("ADD", new), ("MODIFY DN", new), ("DELETE", newer), ("MODIFY", user(1))):
        expected += [f"Processing {kind} request for {name}", f"{kind} operation successful for DN {name}"]
    done = as_root(server, "ldapmodify", "-a", given=text)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, expected, "")
    files = [tmp_path / "one.ldif", tmp_path / "two.ldif"]
    for file in files:
        file.write_text(text)
    assert as_root(server, "ldapmodify", "-f", files[1], files[0]).stdout.splitlines() == 2 * expected
    done = as_root(server, "ldapmodify", "-n", files[0])
    assert done.stdout.splitlines() == [line for line in expected if line.startswith("Processing")]


def test_ldapmodify_stops_or_goes_on(server, tmp_path):
    text = change("nobody", "x") + "dn: what\nchangetype: change\n\n" + change(2, "after")
    done = as_root(server, "ldapmodify", given=text)
    assert done.returncode == 32 and "MODIFY operation successful" not in done.stdout
    assert done.stderr.startswith("The LDAP modify request failed: 32 (No Such Entry)\nAdditional Information:  ")
    assert f"Matched DN:  {USERS}\n" in done.stderr
    done = as_root(server, "ldapmodify", "-c", given=text)
    # OpenDJ's tool ends with 0 here, and nobody is told that something failed.
    assert done.returncode == 32 and f"MODIFY operation successful for DN {user(2)}" in done.stdout
    assert "standard input: line 8: the changetype change is none of add" in done.stderr
    done = as_root(server, "ldapmodify", tmp_path / "missing.ldif")
    assert done.returncode == 89 and "missing.ldif: No such file" in done.stderr


def test_ldapmodify_shows_entries_before_and_after(server):
    as_root(server, "ldapmodify", given=change(4, "old"))
    options = ["--preReadAttributes", "description", "--postReadAttributes", "description,uid"]
    done = as_root(server, "ldapmodify", *options, given=change(4, "new"))
    assert done.stdout.splitlines()[2:] == [
        "Target entry before the operation:", f"dn: {user(4)}", "description: old", "",
        "Target entry after the operation:", f"dn: {user(4)}", "uid: user.4", "description: new", "",
    ]  # fmt: skip
    done = as_root(server, "ldapmodify", "--assertionFilter", "(description=old)", given=change(4, "newer"))
    assert done.returncode == 122
    done = as_root(server, "ldapmodify", "-J", "noop:true", given=change(4, "newer"))
    assert done.returncode == 255 and "16654 (No Operation)" in done.stderr
    assert "description: new\n" in search(server, "(uid=user.4)", "description").stdout


def test_values_of_files_are_sent(server, tmp_path):
    photo = tmp_path / "photo"
    photo.write_bytes(bytes(range(256)))
    text = f"dn: {user(6)}\nchangetype: modify\nreplace: jpegPhoto\njpegPhoto:< file://{photo}\n"
    assert as_root(server, "ldapmodify", given=text).returncode == 0
    assert as_root(server, "ldapcompare", "-m", f"jpegPhoto:<{photo}", user(6)).returncode == 6


def test_ldapdelete(server, tmp_path):
    parent = f"ou=Old,{BASE}"
    lines = [f"ou={name},{parent}" for name in "abc"]
    text = "".join(f"dn: {name}\nobjectClass: organizationalUnit\n\n" for name in [parent, *lines])
    assert as_root(server, "ldapmodify", given=text).returncode == 0
    assert as_root(server, "ldapdelete", "-n", *lines).stdout.splitlines() == [
        f"Processing DELETE request for {name}" for name in lines
    ]
    assert as_root(server, "ldapdelete", parent).returncode == 66
    listed = tmp_path / "names"
    listed.write_text(f"{lines[0]}\n\nou=no,{parent}\n{lines[1]}\n")
    done = as_root(server, "ldapdelete", "-f", listed)
    assert done.returncode == 32 and done.stdout.count("successful") == 1
    done = as_root(server, "ldapdelete", "-c", given=listed.read_text())
    assert done.returncode == 32 and f"DELETE operation successful for DN {lines[1]}\n" in done.stdout
    done = as_root(server, "ldapdelete", "-x", parent)
    assert (done.returncode, names(search(server, "(ou=c)", "1.1"))) == (0, [])
    assert as_root(server, "ldapdelete", "no name").returncode == 34


def test_ldapcompare(server):
    assert as_root(server, "ldapmodify", given=change(7, "x")).returncode == 0
    encoded = base64.b64encode(b"x").decode()
    first = f"Comparing type description with value x in entry {user(7)}"
    done = as_root(server, "ldapcompare", "description:x", user(7))
    assert done.stdout.splitlines() == [first, f"Compare operation returned true for entry {user(7)}"]
    assert done.returncode == 0 and as_root(server, "ldapcompare", "-m", "description:x", user(7)).returncode == 6
    done = as_root(server, "ldapcompare", "-S", f"description::{encoded}", user(7))
    assert (done.returncode, done.stdout) == (0, "")
    done = as_root(server, "ldapcompare", "description:y", user(7))
    assert done.returncode == 5 and done.stdout.endswith(f"Compare operation returned false for entry {user(7)}\n")
    assert as_root(server, "ldapcompare", "cn:x", f"uid=nobody,{USERS}").returncode == 32
    assert as_root(server, "ldapcompare", "-n", "description:x", user(7)).stdout == first + "\n"


def test_ldappasswordmodify(server, tmp_path):
    def binds(password):
        done = run("ldapsearch", server.port, "-D", user(8), "-w", password, "-b", "", "-s", "base", "(objectClass=*)")
        return done.returncode

    done = as_root(server, "ldappasswordmodify", "-a", f"dn:{user(8)}", "-n", "secret34")
    assert (done.returncode, done.stdout) == (0, "The LDAP password modify operation was successful\n")
    assert (binds("secret34"), binds("password")) == (0, 49)
    secret = tmp_path / "secret"
    secret.write_text("secret56\n")
    own = ["-D", user(8), "-w", "secret34"]
    assert run("ldappasswordmodify", server.port, *own, "-c", "wrong", "-F", secret).returncode != 0
    assert run("ldappasswordmodify", server.port, *own, "-c", "secret34", "-F", secret).returncode == 0
    done = as_root(server, "ldappasswordmodify", "-a", "u:user.8")
    assert binds(done.stdout.splitlines()[1].removeprefix("Generated Password:  ")) == 0
    done = as_root(server, "ldappasswordmodify", "-a", "u:nobody", "-n", "secret34")
    assert done.returncode == 32 and done.stderr.startswith("The LDAP password modify operation failed: 32 (No Such")


# Any LDAP server will do.
def test_slapd_is_asked_as_well(tmp_path):
    with slapd_url(tmp_path, "index uid eq", modules="moduleload sssvlv\n", server="") as url:
        port = url.rsplit(":", 1)[1]
        admin = ["-D", ADMIN_DN, "-w", ADMIN_PW]
        name = f"ou=New,{BASE}"
        text = f"dn: {name}\nobjectClass: organizationalUnit\nou: New\n\ndn: {name}\nchangetype: modify\n"
        text += "add: description\ndescription: new\n"
        options = ["--postReadAttributes", "description"]
        done = run("ldapmodify", port, *admin, *options, given=text)
        assert done.returncode == 0 and "description: new\n" in done.stdout, done.stderr
        assert run("ldapcompare", port, *admin, "-m", "description:new", name).returncode == 6
        done = run("ldapsearch", port, *admin, "-b", BASE, "--simplePageSize", "2", "--countEntries", "(objectClass=*)")
        count = f"\n{done.stdout}".count("\ndn:")
        assert done.returncode == 0 and f"entries: {count}\n" in done.stdout and count > 3
        # slapd takes names without dn: in front.
        done = run("ldappasswordmodify", port, *admin, "-a", name, "-n", "secret34")
        assert done.returncode == 0, done.stderr
        assert run("ldapsearch", port, "-D", name, "-w", "secret34", "-b", "", "-s", "base", "(cn=x)").returncode == 0
        assert run("ldapdelete", port, *admin, name).returncode == 0
        assert run("ldapsearch", port, *admin, "-b", name, "(objectClass=*)").returncode == 32
        assert run("ldapsearch", port, "-D", ADMIN_DN, "-w", "no", "-b", BASE, "(objectClass=*)").returncode == 49


@pytest.mark.parametrize(
    ("tool", "options", "status", "complaint"),
    [
        ("ldapsearch", ["(cn=x)"], 89, "--baseDN <DN> is missing"),
        ("ldapsearch", ["-b", BASE], 89, "<FILTER> is missing"),
        ("ldapsearch", ["-b", BASE, "(cn=x"], 87, "a closing bracket is missing"),
        ("ldapsearch", ["-b", BASE, "-s", "all", "(cn=x)"], 89, "it must be base, one, sub or subordinates"),
        ("ldapsearch", ["-b", BASE, "-G", "0:1:1:0", "(cn=x)"], 89, "--sortOrder"),
        ("ldapsearch", ["-b", BASE, "-S", "cn", "-G", "0:1", "(cn=x)"], 89, "BEFORE:AFTER:INDEX:COUNT"),
        ("ldapsearch", ["-b", BASE, "-S", "-", "(cn=x)"], 89, "a sort order is a list of attributes"),
        ("ldapsearch", ["-b", BASE, "-C", "ps:new", "(cn=x)"], 89, '"new" is no kind of change'),
        ("ldapsearch", ["-b", BASE, "-e", "cn", "(cn=x)"], 89, "--getEffectiveRightsAuthzid"),
        ("ldapsearch", ["-b", BASE, "-c", "(cn=x)"], 89, "--filename"),
        ("ldapsearch", ["-b", BASE, "-J", "nothing", "(cn=x)"], 89, "a control is an OID, or one of accountusable"),
        ("ldapsearch", ["-b", BASE, "-J", "1.2.3:maybe", "(cn=x)"], 89, "whether the control is critical"),
        ("ldapsearch", ["-b", BASE, "-J", "1.2.3:true::?", "(cn=x)"], 89, '"?" is not base64'),
        ("ldapsearch", ["-b", BASE, "-J", "1.2.3:true:<nowhere", "(cn=x)"], 89, "nowhere: No such file"),
        ("ldapsearch", ["-b", BASE, "-D", "cn=x", "(cn=x)"], 89, "--bindPasswordFile"),
        ("ldapsearch", ["-b", BASE, "-D", "cn=x", "-w", "no", "(cn=x)"], 49, "the bind is refused: 49"),
        ("ldapsearch", ["-b", BASE, "-N", "nickname", "(cn=x)"], 89, 'no option "-N"'),
        ("ldapmodify", ["--assertionFilter", "x"], 89, "filter"),
        ("ldapdelete", ["-f", "x", "dc=x"], 89, "cannot be used with"),
        ("ldapcompare", ["cn", "dc=x"], 89, "attribute::base64value"),
        ("ldapcompare", ["cn:x"], 89, "<DN> is missing"),
        ("ldappasswordmodify", ["-n", "x", "-F", "y"], 89, "cannot be used with"),
        ("ldappasswordmodify", ["-F", "nowhere"], 89, "nowhere: No such file"),
    ],
)
def test_what_cannot_be_done_is_said(server, tool, options, status, complaint):
    done = run(tool, server.port, *options)
    assert (done.returncode, done.stdout) == (status, "") and complaint in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_server_that_is_not_there():
    (port,) = free_ports(1)
    done = run("ldapsearch", port, "-b", BASE, "(cn=x)")
    assert done.returncode == 91 and "Connection refused" in done.stderr


@pytest.fixture(scope="module")
def opendj_tools(tmp_path_factory):
    if not shutil.which("java"):
        pytest.skip("Java is not installed, which OpenDJ's tools need")
    folder = tmp_path_factory.mktemp("opendj")
    with zipfile.ZipFile(opendj_package.package()) as archive:
        archive.extractall(folder)
    for script in (folder / "opendj" / "lib").glob("*.sh"):
        script.chmod(0o755)
    yield folder / "opendj" / "bin"
    shutil.rmtree(folder)


SAME = [
    # Theirs sorts the attributes and values of an entry; one value needs no order.
    ("ldapsearch", ["-b", BASE, "(uid=user.1)", "cn"]),
    ("ldapsearch", ["-b", BASE, "-A", "(uid=user.1)", "cn"]),
    ("ldapsearch", ["-b", BASE, "-z", "2", "(uid=user.*)", "1.1"]),
    ("ldapsearch", ["-b", "dc=nowhere", "(uid=user.1)"]),
    ("ldapsearch", ["-b", BASE, "-t", "30", "(uid=user.1)", "mail"]),
    ("ldapsearch", ["-b", BASE, "-E", "-S", "sn,-cn", "(uid=user.1*)", "cn"]),
    ("ldapsearch", ["-b", BASE, "-S", "sn", "-G", "0:2:1:0", "(uid=user.1*)", "cn"]),
    ("ldapsearch", ["-b", BASE, "-J", "accountusability:true", "(uid=user.1)", "1.1"]),
    ("ldapsearch", ["-b", BASE, "-g", f"dn:{USERS}", "-e", "cn", "(uid=user.1)", "aclRights"]),
    ("ldapsearch", ["-b", BASE, "--matchedValuesFilter", "(objectClass=top)", "(uid=user.1)", "objectClass"]),
    ("ldapsearch", ["-b", BASE, "--countEntries", "(uid=user.1)", "1.1"]),
    ("ldapmodify", []),
    ("ldapmodify", ["-n"]),
    ("ldapdelete", [USERS]),
    ("ldapdelete", ["-n", USERS]),
    ("ldapcompare", ["cn:x", user(1)]),
    ("ldapcompare", ["-m", "uid:user.1", user(1)]),
    ("ldapcompare", ["-S", "uid:user.1", user(1)]),
    ("ldapcompare", ["uid:user.1", f"uid=nobody,{USERS}"]),
    ("ldappasswordmodify", ["-a", f"dn:{user(9)}", "-n", "secret34"]),
    ("ldappasswordmodify", ["-a", "u:nobody", "-n", "secret34"]),
]


@pytest.mark.parametrize(("tool", "options"), SAME, ids=lambda part: " ".join(part) if isinstance(part, list) else part)
def test_opendjs_own_tools_say_the_same(server, opendj_tools, tool, options):
    """But for where lines of messages are broken."""
    given = change(1, "x") + change("nobody", "x") if tool == "ldapmodify" else ""
    words = ["-p", str(server.port), *ROOT, *options]
    environment = {**os.environ, "OPENDJ_JAVA_ARGS": "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
    theirs = subprocess.run(
        ["sh", opendj_tools / tool, *words], env=environment, capture_output=True, text=True, input=given, timeout=60
    )
    ours = as_root(server, tool, *options, given=given)
    assert ours.returncode == theirs.returncode, theirs.stderr
    assert (ours.stdout.split(), ours.stderr.split()) == (theirs.stdout.split(), theirs.stderr.split())
