"""ldifsearch, ldifdiff, ldifmodify and base64: beside OpenDJ's own tools, and with a server that takes the changes."""

import os
import shutil
import subprocess
import zipfile

import opendj_package
import pytest
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando, binary

PEOPLE = f"ou=People,{BASE}"
SOURCE = f"""version: 1

dn: {BASE}
objectClass: top
objectClass: domain
dc: example

dn: {PEOPLE}
objectClass: organizationalUnit
ou: People

dn: uid=a,{PEOPLE}
objectClass: inetOrgPerson
uid: a
cn: Ann Fernsby
sn: Fernsby
description: one
description: two
createTimestamp: 20260101000000Z
jpegPhoto:: AAEC

dn: uid=b,{PEOPLE}
objectClass: inetOrgPerson
uid: b
cn: Bob Yarrow
sn: Yarrow
mail: bob@example.com

dn: ou=Old,{BASE}
objectClass: organizationalUnit
ou: Old

dn: cn=x,ou=Old,{BASE}
objectClass: device
cn: x
"""
TARGET = f"""dn: cn=y,ou=New,{BASE}
objectClass: device
cn: y

dn: dc=Example, DC=com
objectclass: DOMAIN
objectClass: top
dc: Example

dn: {PEOPLE}
objectClass: organizationalUnit
ou: People

dn: uid=a,{PEOPLE}
objectClass: inetOrgPerson
uid: A
cn: ANN  fernsby
sn: Fernsby-Yarrow
description: two
description: three
createTimestamp: 20260102000000Z
jpegPhoto:: AAEC

dn: uid=b,{PEOPLE}
objectClass: inetOrgPerson
uid: b
cn: Bob Yarrow
sn: Yarrow

dn: ou=New,{BASE}
objectClass: organizationalUnit
ou: New
"""
CHANGES = f"""dn: cn=x,ou=Old,{BASE}
changetype: delete

dn: ou=Old,{BASE}
changetype: delete

dn: ou=New,{BASE}
changetype: add
objectClass: organizationalUnit
ou: New

dn: cn=y,ou=New,{BASE}
changetype: add
objectClass: device
cn: y

dn: uid=a,{PEOPLE}
changetype: modify
delete: description
description: one
-
add: description
description: three
-
delete: sn
sn: Fernsby
-
add: sn
sn: Fernsby-Yarrow
-

dn: uid=b,{PEOPLE}
changetype: modify
delete: mail
mail: bob@example.com
-

"""
SAME = "# No differences were detected between the source and target LDIF files\n"


@pytest.fixture
def place(tmp_path):
    (tmp_path / "source").write_text(SOURCE)
    (tmp_path / "target").write_text(TARGET)
    (tmp_path / "broken").write_text(f"dn: {BASE}\nobjectClass\n\n")
    return tmp_path


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


def run(place, tool, *words, given="", command=None):
    environment = {**os.environ, "OPENDJ_JAVA_ARGS": "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
    line = [*(command or [binary(), tool]), *words]
    return subprocess.run(line, cwd=place, capture_output=True, text=True, input=given, timeout=60, env=environment)


def told(place, tool, *words, given="") -> tuple[int, str]:
    done = run(place, tool, *words, given=given)
    return done.returncode, done.stdout


def entries(text: str) -> set[frozenset[str]]:
    """Records without the order of records and lines."""
    return {frozenset(record.splitlines()) for record in text.split("\n\n") if record.strip()}


def test_the_changes_of_two_files(place):
    assert told(place, "ldifdiff", "source", "target") == (1, CHANGES)
    assert told(place, "ldifdiff", "-r", "source", "target") == (5, CHANGES)
    assert told(place, "ldifdiff", "source", "source") == (0, SAME)
    assert told(place, "ldifdiff", "-r", "source", "source") == (6, SAME)
    assert told(place, "ldifdiff", "-", "target", given=SOURCE) == (1, CHANGES)
    assert told(place, "ldifdiff", "source", "target", "-o", "out") == (1, "")
    assert (place / "out").read_text() == CHANGES


def test_what_is_compared(place):
    status, text = told(place, "ldifdiff", "-b", f"uid=a,{PEOPLE}", "-e", "sn", "-e", "description", "source", "target")
    assert (status, text) == (0, SAME)
    status, text = told(place, "ldifdiff", "-B", PEOPLE, "source", "target")
    assert (status, text) == (1, CHANGES.split(f"dn: uid=a,{PEOPLE}")[0])
    status, text = told(place, "ldifdiff", "--serverAttributes", "-b", PEOPLE, "-e", "description", "source", "target")
    assert status == 1 and "delete: createTimestamp\ncreateTimestamp: 20260101000000Z\n-\nadd: createTimestamp" in text
    status, text = told(place, "ldifdiff", "-x", "-b", f"uid=a,{PEOPLE}", "source", "target")
    assert status == 1 and "delete: cn\ncn: Ann Fernsby\n-\nadd: cn\ncn: ANN  fernsby\n-\n" in text
    # No server can delete one value of a photograph.
    (place / "target").write_text(TARGET.replace("AAEC", "AAED"))
    assert "replace: jpegPhoto\njpegPhoto:: AAED\n-\n" in told(place, "ldifdiff", "source", "target")[1]


def test_what_changes_make_of_entries(place):
    (place / "changes").write_text(CHANGES)
    assert told(place, "ldifmodify", "source", "changes", "-o", "made") == (0, "")
    assert told(place, "ldifdiff", "made", "target") == (0, SAME)
    names = [line for line in (place / "made").read_text().splitlines() if line.startswith("dn: ")]
    assert names[:3] == [f"dn: {BASE}", f"dn: ou=New,{BASE}", f"dn: cn=y,ou=New,{BASE}"]
    renames = f"dn: {PEOPLE}\nchangetype: modrdn\nnewrdn: ou=Folk\ndeleteoldrdn: 1\nnewsuperior: ou=Old,{BASE}\n"
    status, text = told(place, "ldifmodify", "source", given=renames)
    folk = f"ou=Folk,ou=Old,{BASE}"
    assert status == 0 and f"dn: uid=a,{folk}\nobjectClass: inetOrgPerson\n" in text
    assert f"dn: {folk}\nobjectClass: organizationalUnit\nou: Folk\n\n" in text and PEOPLE not in text
    status, text = told(place, "ldifmodify", "source", "changes", "-m", "-", given=f"dn: cn=z,{BASE}\ncn: z\n")
    assert status == 0 and f"\ndn: cn=z,{BASE}\ncn: z\n\n" in text
    numbers = f"dn: {BASE}\ndc: x\nuidNumber: 9\n"
    (place / "numbers").write_text(numbers)
    more = f"dn: {BASE}\nchangetype: modify\nincrement: uidNumber\nuidNumber: 3\n"
    assert told(place, "ldifmodify", "numbers", given=more) == (0, f"dn: {BASE}\ndc: x\nuidNumber: 12\n\n")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (f"dn: cn=no,{BASE}\nchangetype: delete\n", f"there is no entry cn=no,{BASE}"),
        (f"dn: {PEOPLE}\nou: People\n", f"the entry {PEOPLE} is there already"),
        (f"dn: {PEOPLE}\nchangetype: delete\n", f"the entry uid=a,{PEOPLE} is left below one that the changes delete"),
        (f"dn: {PEOPLE}\nchangetype: modrdn\nnewrdn: ou=Old\ndeleteoldrdn: 1\n", f"ou=Old,{BASE} is there already"),
        (f"dn: {PEOPLE}\nchangetype: modrdn\nnewrdn: ou=x\ndeleteoldrdn: 1\nnewsuperior: ou=y,{PEOPLE}\n",
         f"the entry {PEOPLE} cannot be moved below itself"),
        ("dn: nothing\nchangetype: delete\n", '"nothing" is not a DN'),
        (f"dn: {BASE}\nchangetype: modify\nincrement: dc\ndc: 1\n", "dc has no value that is a whole number"),
        (f"dn: {BASE}\nchangetype: change\n", "the changetype change is none of add"),
    ],
)  # fmt: skip
def test_changes_that_cannot_be_made(place, change, complaint):
    done = run(place, "ldifmodify", "source", "-o", "made", given=change)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (82, "", 1) and complaint in done.stderr
    assert not (place / "made").exists()
    after = f"{change}\ndn: cn=new,{BASE}\ncn: new\n"
    done = run(place, "ldifmodify", "-c", "source", "-o", "made", given=after)
    assert done.returncode == 82 and complaint in done.stderr
    assert f"\ndn: cn=new,{BASE}\n" in (place / "made").read_text()


@pytest.mark.parametrize(
    ("tool", "words", "status", "complaint"),
    [
        ("ldifsearch", ["source"], 89, "<FILTER> is missing"),
        ("ldifsearch", ["source", "(uid=a"], 87, "a closing bracket is missing"),
        ("ldifsearch", ["-b", "no name", "source", "(uid=a)"], 89, '"no name" is not a DN'),
        ("ldifsearch", ["-s", "all", "source", "(uid=a)"], 89, "it must be base, one, sub or subordinates"),
        ("ldifsearch", ["source", "(uid=a)", "@nothing"], 89, 'the schema has no object class "nothing"'),
        ("ldifsearch", ["missing", "(uid=a)"], 89, "missing: No such file"),
        ("ldifsearch", ["broken", "(uid=a)"], 82, 'broken: line 2: the line is not of the form "attribute: value"'),
        ("ldifsearch", ["-z", "1", "source", "(uid=*)"], 4, "4 (Size Limit Exceeded)"),
        ("ldifdiff", ["source"], 89, "<TARGET> is missing"),
        ("ldifdiff", ["source", "missing"], 89, "missing: No such file"),
        ("ldifdiff", ["-", "-"], 89, "standard input (-) can be only one of the files"),
        ("ldifdiff", ["broken", "source"], 82, "broken: line 2"),
        ("ldifdiff", ["twice", "source"], 82, f"line 5: the entry {BASE.upper()} is there twice, first at line 1"),
        ("ldifdiff", ["--tmpdirectory", "missing", "source", "target"], 89, "temporary files in missing: "),
        ("ldifmodify", ["twice", "source"], 82, "is there twice"),
        ("ldifmodify", ["broken", "source"], 82, "broken: line 2"),
        ("base64", [], 89, "base64"),
        ("base64", ["encode", "-d", "x", "-f", "source"], 89, "cannot be used with"),
        ("base64", ["encode", "-f", "missing"], 89, "missing: No such file"),
        ("base64", ["decode", "-d", "x!"], 89, "the data cannot be decoded as base64"),
        ("base64", ["decode", "-d", "aGVsbG8"], 89, "the data cannot be decoded as base64"),
        ("base64", ["decode", "-f", "source", "-o", "out"], 89, "source cannot be decoded as base64"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(place, tool, words, status, complaint):
    (place / "twice").write_text(f"dn: {BASE}\ndc: example\n\n\ndn: {BASE.upper()}\ndc: example\n")
    done = run(place, tool, *words)
    assert done.returncode == status and complaint in done.stderr, done.stderr
    assert not (place / "out").exists() and not (place / "out.part").exists()


def test_limits_types_and_classes(place):
    assert told(place, "ldifsearch", "-A", "source", "(cn=ann fernsby)", "description", "sn") == (
        0,
        f"dn: uid=a,{PEOPLE}\nsn:\ndescription:\n\n",
    )
    status, text = told(place, "ldifsearch", "source", "(uid=a)", "+")
    assert (status, text) == (0, f"dn: uid=a,{PEOPLE}\ncreateTimestamp: 20260101000000Z\n\n")
    status, text = told(place, "ldifsearch", "source", "(uid=a)", "@person")
    assert "cn: Ann Fernsby\nsn: Fernsby\ndescription: one\n" in text and "uid: a" not in text
    status, text = told(place, "ldifsearch", "-s", "subordinates", "-b", PEOPLE.upper(), "source", "(!(mail=*))", "1.1")
    assert (status, text) == (0, f"dn: uid=a,{PEOPLE}\n\n")
    assert told(place, "ldifsearch", "source", "(uid=a)", "-o", "out", "uid") == (0, "")
    assert (place / "out").read_text() == f"dn: uid=a,{PEOPLE}\nuid: a\n\n"


def test_base64(place):
    data = bytes(range(256)) * 1000
    (place / "raw").write_bytes(data)
    assert told(place, "base64", "encode", "-f", "raw", "-o", "encoded") == (0, "")
    assert told(place, "base64", "decode", "-f", "encoded", "-o", "again") == (0, "")
    assert (place / "again").read_bytes() == data
    assert told(place, "base64", "encode", given="hi\n") == (0, "aGkK\n")
    assert told(place, "base64", "decode", given="aG\nkK\n") == (0, "hi\n")
    assert told(place, "base64", "decode", "-d", "aGVsbG8=") == (0, "hello")


# The changes of two exports, made at a server, give what was exported.
def test_a_server_takes_the_changes(tmp_path):
    for name, seed in (("one", "1"), ("two", "2")):
        words = ["-c", "numusers=300", "-s", seed, "-o", tmp_path / f"{name}.ldif"]
        subprocess.run([binary(), "makeldif", *words], check=True, capture_output=True)
    text = (tmp_path / "two.ldif").read_text().replace("uid=user.17,", "uid=renamed,")
    (tmp_path / "two.ldif").write_text(text.replace("uid: user.17\n", "uid: renamed\n"))
    server = Pando(tmp_path / "inst").setup().import_ldif(tmp_path / "one.ldif").start()
    try:

        def export(name):
            words = ["export-ldif", "--instance", tmp_path / "inst", "-n", "userRoot", "-l", tmp_path / name, "-Q"]
            subprocess.run([binary(), *words], check=True)

        export("before")
        # Passwords are stored otherwise than they are given.
        without = ["-e", "userPassword", "-B", f"ou=Groups,{BASE}"]
        done = run(tmp_path, "ldifdiff", *without, "before", "two.ldif", "-o", "changes")
        assert (done.returncode, done.stderr) == (1, "")
        words = ["-p", str(server.port), "-D", ROOT_DN, "-w", ROOT_PW, "changes"]
        done = run(tmp_path, "ldapmodify", *words)
        assert done.returncode == 0, done.stderr
        export("after")
        assert told(tmp_path, "ldifdiff", *without, "after", "two.ldif") == (0, SAME)
    finally:
        server.remove()


ALIKE = [
    ("ldifdiff", ["source", "target"]),
    ("ldifdiff", ["source", "source"]),
    ("ldifdiff", ["source", "broken"]),
    ("ldifdiff", ["source", "missing"]),
    ("ldifsearch", ["-b", BASE, "source", "(uid=*)"]),
    ("ldifsearch", ["-b", BASE, "source", "(uid=a)", "cn", "sn"]),
    ("ldifsearch", ["-b", BASE, "-s", "one", "source", "(objectClass=*)", "1.1"]),
    ("ldifsearch", ["-b", BASE, "-z", "1", "source", "(uid=*)", "uid"]),
    ("ldifsearch", ["-b", BASE, "-t", "30", "source", "(uid=a)", "uid"]),
    ("ldifsearch", ["-b", "dc=nowhere", "source", "(uid=a)"]),
    ("ldifsearch", ["-b", BASE, "source", "(uid=a"]),
    ("ldifmodify", ["source", "changes"]),
    ("ldifmodify", ["source", "missing"]),
    ("ldifmodify", ["target", "changes"]),
    ("ldifmodify", ["source"]),
    ("base64", ["encode", "-d", "größer"]),
    ("base64", ["decode", "-d", "Z3LDtsOfZXI="]),
    ("base64", ["decode", "-d", "x!"]),
]


@pytest.mark.parametrize(("tool", "words"), ALIKE, ids=lambda part: " ".join(part) if isinstance(part, list) else part)
def test_opendjs_own_tools_say_the_same(place, opendj_tools, tool, words):
    """But for the order of changes and of attributes."""
    (place / "changes").write_text(CHANGES)
    theirs = run(place, tool, *words, command=["sh", opendj_tools / tool])
    ours = run(place, tool, *words)
    assert ours.returncode == theirs.returncode, (ours.stderr, theirs.stderr)
    assert entries(ours.stdout) == entries(theirs.stdout)
    assert bool(ours.stderr) == bool(theirs.stderr)
