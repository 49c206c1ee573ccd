"""Rules of `[plugin.NAME]`: references that follow entries, unique values, constraints; with slapd's overlays as the
oracle where it has them."""

import re
import subprocess
import threading

import ldap
import pytest
from pando_server import BASE, DIRECTORY_LDIF, Pando, binary, until
from slapd_server import connect, slapd_url

PEOPLE, GROUPS = f"ou=People,{BASE}", f"ou=Groups,{BASE}"
RELAX = "1.3.6.1.4.1.4203.666.5.12"

REFERENCES = """
[plugin."Referential Integrity"]
type = "referential-integrity"
"""
RULES = (
    REFERENCES
    + f"""
[plugin.mails]
type = "unique-attribute"
attribute-type = "mail"
base-dn = "{PEOPLE}"

[plugin.passwords]
type = "constraint"
attribute-type = "userPassword"
count = 2

[plugin.photos]
type = "constraint"
attribute-type = "jpegPhoto"
size = 16

[plugin.phones]
type = "constraint"
attribute-type = "pager"
pattern = "^[+0-9]+$"

[plugin.words]
type = "constraint"
attribute-type = "employeeType"
value-uri = "ldap:///ou=Words,{BASE}?cn?one?(objectClass=organizationalRole)"
filter = "(objectClass=inetOrgPerson)"

[plugin.ascii]
type = "seven-bit-clean"
attribute-type = ["userPassword", "uid"]

[plugin.cleanup]
type = "attribute-cleanup"
remove-inbound-attributes = "carLicense"
rename-inbound-attributes = "lastname:sn"
"""
)


def made(tmp_path, rules):
    return Pando(tmp_path / "inst").setup().configure(rules).import_ldif(DIRECTORY_LDIF)


@pytest.fixture(scope="module")
def ruled(tmp_path_factory):
    instance = made(tmp_path_factory.mktemp("pando"), RULES)
    several = "allow-multiple-password-values:true"
    instance.tool(
        "dsconfig", "set-password-policy-prop", "--policy-name", "Default Password Policy", "--set", several, "-n"
    )
    instance.start()
    yield instance
    assert instance.stop() == 0


@pytest.fixture
def root(ruled):
    con = ruled.connect()
    yield con
    con.unbind_s()


def entry(*pairs):
    return [(k, [v if isinstance(v, bytes) else v.encode() for v in vs]) for k, *vs in pairs]


def person(con, uid, *more):
    con.add_s(
        f"uid={uid},{PEOPLE}",
        entry(
            ("objectClass", "top", "person", "organizationalPerson", "inetOrgPerson"),
            ("uid", uid),
            ("cn", uid),
            ("sn", uid),
            *more,
        ),
    )
    return f"uid={uid},{PEOPLE}"


def group(con, cn, *members):
    con.add_s(f"cn={cn},{GROUPS}", entry(("objectClass", "groupOfNames"), ("cn", cn), ("member", *members)))
    return f"cn={cn},{GROUPS}"


def members(con, dn):
    return sorted(
        v.decode().lower() for v in con.search_s(dn, ldap.SCOPE_BASE, attrlist=["member"])[0][1].get("member", [])
    )


def monitor(con):
    return {
        k: v[0].decode() for k, v in con.search_s("cn=Referential Integrity,cn=monitor", ldap.SCOPE_BASE)[0][1].items()
    }


def test_references_follow_and_are_told(ruled, root):
    # S2-10, S3-17, S3-32
    a, b = person(root, "ref.a"), person(root, "ref.b")
    g = group(root, "ref", a, b)
    before = monitor(root)
    root.rename_s(a, "uid=ref.A2", PEOPLE)
    assert members(root, g) == sorted([f"uid=ref.a2,{PEOPLE}".lower(), b.lower()])
    root.delete_s(b)
    assert members(root, g) == [f"uid=ref.a2,{PEOPLE}".lower()]
    who = root.search_s(g, ldap.SCOPE_BASE, attrlist=["modifiersName"])[0][1]["modifiersName"]
    assert who == [b"cn=Referential Integrity,cn=plugins,cn=config"]
    after = monitor(root)
    assert int(after["references-found"]) - int(before["references-found"]) == 2
    assert after["queue-length"] == "0"
    until(
        lambda: (
            f'type=internal plugin="Referential Integrity" dn="{b}" entries=1 references=1 result=0 etime='
            in ruled.access_log()
        )
    )
    log = ruled.access_log()
    line = next(line for line in log.splitlines() if "type=internal" in line and f'dn="{b}"' in line)
    cause = next(line for line in log.splitlines() if "DELETE" in line and f'dn="{b}"' in line)
    ids = re.compile(r"conn=\d+ op=\d+")
    assert ids.search(line).group() == ids.search(cause).group()
    renamed = next(line for line in log.splitlines() if "type=internal" in line and f'dn="{a}"' in line)
    assert f'newDN="uid=ref.A2,{PEOPLE}"' in renamed


def test_two_racing_adds_have_one_winner(ruled):
    # S2-11
    outcomes = []

    def add(number):
        con = ruled.connect()
        for n in range(30):
            try:
                person(con, f"race.{number}.{n}", ("mail", f"race.{n}@example.com"))
                outcomes.append((n, "added"))
            except ldap.CONSTRAINT_VIOLATION as e:
                outcomes.append((n, "refused"))
                assert "mails" in e.args[0]["info"] and f"race.{n}@example.com" in e.args[0]["info"]

    threads = [threading.Thread(target=add, args=(number,)) for number in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for n in range(30):
        assert sorted(o for m, o in outcomes if m == n) == ["added", "refused", "refused"]


def test_requests_are_cleaned_before_anything_looks_at_them(root):
    dn = f"uid=clean,{PEOPLE}"
    root.add_s(dn, entry(("objectClass", "inetOrgPerson"), ("cn", "a"), ("lastname", "Frost"), ("carLicense", "x")))
    attributes = root.search_s(dn, ldap.SCOPE_BASE)[0][1]
    assert attributes["sn"] == [b"Frost"] and "carLicense" not in attributes
    with pytest.raises(ldap.CONSTRAINT_VIOLATION, match="ASCII"):
        root.modify_s(dn, [(ldap.MOD_REPLACE, "userPassword", ["gehéim".encode()])])
    with pytest.raises(ldap.CONSTRAINT_VIOLATION, match="ASCII"):
        root.rename_s(dn, "uid=clean\\c3\\a9")


def test_much_work_is_finished_after_a_kill(tmp_path):
    # S0-22, S3-23: 700 groups; the delete is answered when 128 of them are clean. After kill -9 the rest follows.
    instance = made(tmp_path, REFERENCES).start()
    try:
        con = instance.connect()
        a, b = person(con, "kill.a"), person(con, "kill.b")
        for n in range(700):
            group(con, f"kill.{n}", a, b)
        con.delete_s(a)
        con.rename_s(b, "uid=kill.b2")
        instance.kill()
        instance.start()
        con = instance.connect()
        until(lambda: monitor(con)["queue-length"] == "0")
        left = con.search_ext_s(GROUPS, ldap.SCOPE_SUBTREE, "(cn=kill.*)", ["member"], sizelimit=0)
        assert len(left) == 700
        assert {tuple(v.decode() for v in attrs["member"]) for _, attrs in left} == {(f"uid=kill.b2,{PEOPLE}",)}
        assert instance.stop() == 0
        instance.tool("verify-index", "--baseDN", BASE)
    finally:
        instance.remove()


def test_delayed_references_go_together_after_the_interval(tmp_path):
    # S3-22
    instance = made(tmp_path, REFERENCES + 'update-interval = "2 s"\n').start()
    try:
        con = instance.connect()
        a, b = person(con, "late.a"), person(con, "late.b")
        g = group(con, "late", a, b, f"uid=user.1,{PEOPLE}")
        con.delete_s(a)
        con.delete_s(b)
        assert len(members(con, g)) == 3 and monitor(con)["queue-length"] == "2"
        until(lambda: len(members(con, g)) == 1)
        # Clean-ups log after their interval, one line for each name.
        until(lambda: instance.access_log().count("type=internal") == 2)
        assert all(int(etime) >= 2000 for etime in re.findall(r"type=internal .*etime=(\d+)", instance.access_log()))
        assert instance.stop() == 0
    finally:
        instance.remove()


def test_an_attribute_without_an_index_is_refused_with_the_command(tmp_path):
    # S3-18, S3-19
    instance = made(tmp_path, REFERENCES + 'attribute-type = ["member", "owner"]\n')
    try:
        started = subprocess.run(
            [binary(), "start", "--instance", str(instance.dir)], capture_output=True, text=True, timeout=60
        )
        told = started.stdout + started.stderr
        assert started.returncode != 0
        assert re.search(
            r'pando.toml:\d+:\d+: .*owner has no equality index in backend "userRoot" \(dc=example,dc=com\)', told
        ), told
        assert (
            "dsconfig create-backend-index --backend-name userRoot --index-name owner --set index-type:equality" in told
        )
    finally:
        instance.remove()


SIX = ["member", "uniqueMember", "owner", "seeAlso", "manager", "secretary"]


def test_six_attributes_in_six_suffixes(tmp_path):
    # S3-18, S3-20: a name is followed by entries of other backends, too.
    def indexes(backend, names):
        return "".join(f'[backend.{backend}.index.{name}]\nindex-type = "equality"\n' for name in names)

    rules = indexes("userRoot", SIX[2:]) + "".join(
        f'[backend.b{n}]\nbase-dn = "o=b{n}"\n' + indexes(f"b{n}", SIX) for n in range(5)
    )
    instance = made(tmp_path, rules + REFERENCES + f"attribute-type = {SIX}\n".replace("'", '"')).start()
    try:
        con = instance.connect()
        a, b = person(con, "six.a"), person(con, "six.b")
        holders = []
        for n in range(5):
            con.add_s(
                f"o=b{n}",
                entry(
                    ("objectClass", "organization", "extensibleObject"), ("o", f"b{n}"), *((name, a, b) for name in SIX)
                ),
            )
            holders.append(f"o=b{n}")
        con.delete_s(a)
        con.rename_s(b, "uid=six.b2")
        until(lambda: monitor(con)["queue-length"] == "0")
        for holder in holders:
            attributes = con.search_s(holder, ldap.SCOPE_BASE)[0][1]
            assert {name: attributes[name] for name in SIX} == {name: [f"uid=six.b2,{PEOPLE}".encode()] for name in SIX}
        until(lambda: instance.access_log().count("type=internal") == 2)
        assert f'dn="{a}" entries=5 references=30' in instance.access_log()
        # An entry of the second backend is referred to from the first.
        g = group(con, "six", "o=b1", f"uid=user.1,{PEOPLE}")
        con.delete_s("o=b1")
        until(lambda: members(con, g) == [f"uid=user.1,{PEOPLE}".lower()])
        assert instance.stop() == 0
    finally:
        instance.remove()


def test_an_index_that_a_rule_needs_stays(tmp_path):
    instance = made(tmp_path, REFERENCES).start()
    try:
        text, count = re.subn(r"(?m)^member +=.*\n", "", instance.config.read_text())
        assert count == 1
        instance.config.write_text(text)
        instance.tool("reload", check=False)
        until(lambda: "member has no equality index" in instance.error_log())
        con = instance.connect()
        a = person(con, "stay.a")
        g = group(con, "stay", a)
        con.delete_s(a)
        assert members(con, g) == []
        assert instance.stop() == 0
    finally:
        instance.remove()


# slapd's overlays for the same rules: refint works after the answer, so the comparison waits for it.
OVERLAYS = f"""
overlay refint
refint_attributes member
overlay unique
unique_uri ldap:///{PEOPLE}?mail?sub
overlay constraint
constraint_attribute userPassword count 2
constraint_attribute jpegPhoto size 16
constraint_attribute pager regex ^[+0-9]+$
constraint_attribute employeeType uri ldap:///ou=Words,{BASE}?cn?one?(objectClass=organizationalRole) restrict=ldap:///{PEOPLE}??sub?(objectClass=inetOrgPerson)
"""  # noqa: E501
MODULES = "moduleload refint.la\nmoduleload unique.la\nmoduleload constraint.la"

O1, O2 = f"uid=o.1,{PEOPLE}", f"uid=o.2,{PEOPLE}"


def modify(dn, *changes):
    return lambda con: con.modify_s(
        dn, [(op, name, values and [v.encode() for v in values]) for op, name, *values in changes]
    )


SCRIPT = [
    lambda con: con.add_s(f"ou=Words,{BASE}", entry(("objectClass", "organizationalUnit"), ("ou", "Words"))),
    lambda con: con.add_s(
        f"cn=student,ou=Words,{BASE}", entry(("objectClass", "organizationalRole"), ("cn", "student"))
    ),
    lambda con: person(con, "o.1", ("mail", "o.1@example.com")),
    lambda con: person(con, "o.2", ("mail", "O.1@example.com")),
    lambda con: person(con, "o.2", ("mail", "o.2@example.com")),
    modify(O2, (ldap.MOD_ADD, "mail", "o.1@example.com")),
    modify(O2, (ldap.MOD_REPLACE, "mail", "o.2@example.com")),
    modify(O2, (ldap.MOD_REPLACE, "mail", "o.3@example.com")),
    modify(O1, (ldap.MOD_ADD, "mail", "o.2@example.com")),
    modify(O1, (ldap.MOD_ADD, "userPassword", "{SSHA}a", "{SSHA}b")),
    modify(O1, (ldap.MOD_ADD, "userPassword", "{SSHA}c")),
    modify(O1, (ldap.MOD_DELETE, "userPassword", "{SSHA}a"), (ldap.MOD_ADD, "userPassword", "{SSHA}c")),
    modify(O1, (ldap.MOD_REPLACE, "userPassword", "{SSHA}d", "{SSHA}e", "{SSHA}f")),
    modify(O1, (ldap.MOD_ADD, "jpegPhoto", "0123456789abcdef")),
    modify(O1, (ldap.MOD_ADD, "jpegPhoto", "0123456789abcdefg")),
    modify(O1, (ldap.MOD_ADD, "pager", "+15550100")),
    modify(O1, (ldap.MOD_ADD, "pager", "five")),
    modify(O1, (ldap.MOD_ADD, "employeeType", "student")),
    modify(O1, (ldap.MOD_ADD, "employeeType", "boss")),
    lambda con: person(con, "o.3", ("employeeType", "boss")),
    lambda con: con.add_s(
        f"cn=o,{GROUPS}",
        entry(("objectClass", "groupOfNames"), ("cn", "o"), ("member", O1, O2, f"uid=user.1,{PEOPLE}")),
    ),
    lambda con: con.rename_s(O1, "uid=o.one"),
    lambda con: con.delete_s(O2),
    lambda con: con.rename_s(f"uid=o.one,{PEOPLE}", "pager=none", delold=0),
]


def step(con, operation):
    try:
        operation(con)
        return 0
    except ldap.LDAPError as e:
        return e.args[0].get("result")


def test_a_script_of_updates_as_with_the_overlays(tmp_path_factory, root):  # S2-10, S2-11, S2-12
    """The same results, and the same values in the end."""
    with slapd_url(tmp_path_factory.mktemp("slapd"), OVERLAYS, modules=MODULES) as url:
        slapd = connect(url)
        for number, operation in enumerate(SCRIPT):
            ours, theirs = step(root, operation), step(slapd, operation)
            assert (number, ours) == (number, theirs)
        until(lambda: members(slapd, f"cn=o,{GROUPS}") == members(root, f"cn=o,{GROUPS}"))
        for attribute in ("mail", "pager", "employeeType", "jpegPhoto"):
            found = [con.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(uid=o.*)", [attribute]) for con in (root, slapd)]
            values = [
                sorted((dn.lower(), sorted(attrs.get(attribute, []))) for dn, attrs in entries) for entries in found
            ]
            assert values[0] == values[1], attribute


def test_relax_lifts_rules_for_root(root):
    dn = person(root, "relax")
    control = ldap.controls.LDAPControl(RELAX, True)
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        root.modify_s(dn, [(ldap.MOD_ADD, "pager", [b"none"])])
    root.modify_ext_s(dn, [(ldap.MOD_ADD, "pager", [b"none"])], serverctrls=[control])


def test_rules_change_while_the_server_runs(tmp_path):
    instance = made(tmp_path, "").start()
    try:
        con = instance.connect()
        a = person(con, "live.a")
        g = group(con, "live", a, f"uid=user.1,{PEOPLE}")
        instance.configure(RULES)
        until(lambda: "The plugins changed" in instance.error_log())
        con.delete_s(a)
        assert members(con, g) == [f"uid=user.1,{PEOPLE}".lower()]
        with pytest.raises(ldap.CONSTRAINT_VIOLATION):
            con.modify_s(f"uid=user.1,{PEOPLE}", [(ldap.MOD_ADD, "pager", [b"none"])])
        assert instance.stop() == 0
    finally:
        instance.remove()
