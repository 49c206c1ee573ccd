"""`pando access` tells what was asked, refuses names that are mistyped, and counts what it left out."""

import json
import subprocess

import ldap
import pytest
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando

ANN, BOB = f"uid=ann,{BASE}", f"uid=bob,{BASE}"
PEOPLE = f"""dn: {BASE}
objectClass: domain
dc: example
aci: (targetattr="objectClass || uid || cn || mail")(version 3.0; acl "people"; allow (read,search,compare) userdn="ldap:///all";)
aci: (targetattr="cn || userPassword || aci")(version 3.0; acl "bob writes"; allow (write) userdn="ldap:///{BOB}";)

dn: {ANN}
objectClass: inetOrgPerson
uid: ann
cn: Ann Long
sn: Long
mail: ann@example.com
userPassword: secret12

dn: {BOB}
objectClass: inetOrgPerson
uid: bob
cn: Bob Short
sn: Short
userPassword: secret12
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    file = folder / "people.ldif"
    file.write_text(PEOPLE)
    instance = Pando(folder / "inst")
    instance.setup("--accessProfile", "closed").import_ldif(file)
    yield instance
    instance.remove()


def compared(people, tmp_path, text):
    file = tmp_path / "expected.toml"
    file.write_text(text)
    return people.tool("access", "test", file, check=False)


def explained(people, *more):
    return people.tool("access", "explain", "--as", BOB, "--dn", ANN, *more, check=False)


def test_what_can_stops_at_the_number_and_says_so(people):
    done = people.tool("access", "what-can", BOB, "--entries", "1")
    assert done.stdout.startswith(f"What {BOB} may do with 1 entry:\n")
    assert done.stdout.endswith("\nlooked at the first 1 of 3 entries; --entries looks at more\n")
    cut = json.loads(people.tool("access", "what-can", BOB, "--entries", "1", "--json").stdout)
    assert (cut["isCut"], cut["entriesInAll"], sum(len(it["entries"]) for it in cut["classes"])) == (True, 3, 1)
    assert "looked at" not in people.tool("access", "what-can", BOB, "--entries", "3").stdout


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "--as", BOB, "--op", "read", "--dn", ANN, "--attr", "emial"),
        ("explain", "--as", BOB, "--op", "search", "--dn", ANN, "--filter", "(emial=x)"),
        ("explain", "--as", BOB, "--op", "add", "--dn", f"uid=new,{BASE}", "--value", "emial=x"),
        ("who-can", "read", "emial", "on", ANN),
    ],
)
def test_an_attribute_that_the_schema_does_not_have_is_an_error(people, words):
    done = people.tool("access", *words, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f'pando access {words[0]}: the schema has no attribute "emial": did you mean "mail"' in done.stderr


def test_an_expectation_about_what_is_not_there_is_an_error(people, tmp_path):
    text = f'[[expect]]\nas = "anonymous"\ndn = ["{ANN}", "uid=amn,{BASE}"]\nattr = "emial"\nallowed = false\n'
    done = compared(people, tmp_path, text)
    assert done.returncode == 2
    assert 'expected.toml:1: the schema has no attribute "emial": did you mean "mail"' in done.stderr
    assert f'expected.toml:1: there is no entry "uid=amn,{BASE}"; if that is meant, write missing = true' in done.stderr
    meant = f'[[expect]]\nas = "anonymous"\ndn = "uid=amn,{BASE}"\nattr = "mail"\nallowed = false\nmissing = true\n'
    done = compared(people, tmp_path, meant)
    assert (done.returncode, done.stdout) == (0, "The decision is as expected.\n")
    done = compared(people, tmp_path, f'[[expect]]\nas = "anonymous"\ndn = "{ANN}"\nattr = "*"\nallowed = false\n')
    assert done.returncode == 2 and "name the attributes" in done.stderr


def test_attributes_are_a_list_and_wildcards_those_of_the_entry(people):
    done = explained(people, "--op", "read", "--attr", "mail,sn")
    assert f'yes right to read mail of "{ANN}"' in done.stdout
    assert f'NO  right to read sn of "{ANN}"' in done.stdout
    done = explained(people, "--op", "search", "--attr", "*", "--json")
    asked = [need["need"] for need in json.loads(done.stdout)["needs"]]
    assert done.returncode == 1 and len(asked) > 6


def test_a_modify_without_values_needs_each_attribute_once(people):
    done = explained(people, "--op", "modify", "--attr", "sn", "--attr", "mail")
    for name in ("sn", "mail"):
        assert done.stdout.count(f'NO  right to write {name} of "{ANN}"') == 1


def test_a_right_that_is_no_verb_is_named(people):
    done = people.tool("access", "who-can", "moddn", "on", ANN)
    assert done.stdout.startswith(f'1 user has the right moddn to "{ANN}":')


def test_who_can_write_a_password_without_the_privilege_is_not_counted(people):
    for name, privilege in (("userPassword", "password-reset"), ("aci", "modify-acl")):
        done = people.tool("access", "who-can", "write", name, "on", ANN, "--list")
        assert done.stdout.startswith(f'1 user may write {name} of "{ANN}":')
        assert BOB not in done.stdout
        assert done.stdout.endswith(f"\n1 user has the right, but not the privilege {privilege}.\n")
    able = people.tool("access", "what-can", BOB, "--json").stdout
    written = {dn: it["rights"].get("write", []) for it in json.loads(able)["classes"] for dn in it["entries"]}
    assert written[ANN] == ["cn"] and written[BOB] == ["cn", "userPassword"]


def test_a_filter_that_may_not_be_searched_names_its_attribute(people):
    done = explained(people, "--op", "search", "--filter", "(sn=Long)", "--attr", "mail")
    assert done.stdout.startswith(f"Refused to {BOB}: no right to search sn, which the filter needs\n")
    assert "\nNO  the filter matches the entry: no right to search sn, which the filter needs\n" in done.stdout


def test_the_usage_of_who_can_is_written_once(people):
    help = people.tool("access", "who-can", "--help").stdout
    assert "who-can [OPTIONS] <RIGHT> <[ATTRIBUTE] on> <DN>" in help


FAILURES = [
    (("explain", "--as", f"uid=amn,{BASE}", "--op", "delete", "--dn", ANN), f'no root user "uid=amn,{BASE}"'),
    (("explain", "--as", BOB, "--op", "delete", "--dn", f"uid=amn,{BASE}"), f'there is no entry "uid=amn,{BASE}"\n'),
    (("explain", "--as", BOB, "--op", "read", "--attr", "cn", "--dn", f"uid=amn,{BASE}"), "there is no entry"),
    (("explain", "--as", BOB, "--op", "delete"), "name the entry with --dn"),
    (
        ("explain", "--as", BOB, "--op", "delete", "--dn", ANN, "--attr", "cn"),
        "--attr is not for --op delete, which takes --dn",
    ),
    (
        ("explain", "--as", BOB, "--op", "compare", "--dn", ANN, "--attr", "cn", "--value", "x"),
        "--value is not for --op compare, which takes --dn, --attr",
    ),
    (
        ("explain", "--as", BOB, "--op", "add", "--dn", f"uid=new,{BASE}", "--change", "replace"),
        "--change is not for --op add, which takes --dn, --value",
    ),
    (
        ("explain", "--as", BOB, "--op", "extended", "--oid", "1.2", "--dn", ANN),
        "--dn is not for --op extended, which takes --oid",
    ),
    (("explain", "--as", BOB, "--op", "raed", "--dn", ANN), "raed"),
    (("who-can", "reed", "on", ANN), "did you mean read"),
    (("what-can", f"uid=amn,{BASE}"), f'no root user "uid=amn,{BASE}"'),
    (
        ("explain", "--as", BOB, "--op", "add", "--dn", f"uid=new,ou=none,{BASE}", "--value", "sn=x"),
        f'there is no entry right above "uid=new,ou=none,{BASE}"',
    ),
    (("lint", "--ldif", "/nowhere/x.ldif"), "/nowhere/x.ldif"),
    (("rehearse", "/nowhere/x.ldif"), "/nowhere/x.ldif"),
]


@pytest.mark.parametrize(("words", "why"), FAILURES)
def test_a_question_without_an_answer_ends_with_2_and_the_name_of_the_tool(people, words, why):
    done = people.tool("access", *words, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"pando access {words[0]}: ") and why in done.stderr


def test_an_answer_ends_with_0_or_1(people):
    assert "or 2 where there is no answer" in " ".join(people.tool("access", "--help").stdout.split())
    assert explained(people, "--op", "read", "--attr", "mail").returncode == 0
    assert explained(people, "--op", "read", "--attr", "sn").returncode == 1


def test_everything_that_an_update_lacks_is_told_at_once(people):
    lacking = ("sn", "mail", "title")
    words = [word for name in (*lacking, "cn", "userPassword") for word in ("--attr", name)]
    done = explained(people, "--op", "modify", *words, "--value", "x")
    assert done.returncode == 1
    missing = [line for line in done.stdout.splitlines() if line.startswith("NO  ")]
    assert missing == ["NO  privilege password-reset"] + [
        f'NO  right to write {name} of "{ANN}" (value "x")' for name in lacking
    ]
    assert f'yes right to write cn of "{ANN}"' in done.stdout
    assert "\nThe client is told: 50 " in done.stdout
    done = explained(people, "--op", "moddn", "--newRDN", "sn=x")
    missing = [line for line in done.stdout.splitlines() if line.startswith("NO  ")]
    assert missing == [
        f'NO  right to write sn of "{ANN}" (value "x")',
        f'NO  right to write uid of "{ANN}" (value "ann")',
    ]


@pytest.fixture
def other(tmp_path):
    """An instance whose instructions name what is not there."""
    file = tmp_path / "tree.ldif"
    rule = '(targetattr="*")(version 3.0; acl "%s"; allow (read,search) groupdn="ldap:///%s";)'
    groups = {"gone": f"cn=gone,{BASE}", "person": ANN, "far": "cn=g,dc=elsewhere"}
    rules = "\n".join("aci: " + rule % group for group in groups.items())
    file.write_text(PEOPLE.replace("aci: ", f"{rules}\naci: ", 1))
    instance = Pando(tmp_path / "inst")
    instance.setup("--accessProfile", "closed").import_ldif(file)
    yield instance
    instance.remove()


def test_groups_that_are_none_are_named(other):
    done = explained(other, "--op", "read", "--attr", "sn")
    for wrong in (
        f'there is no entry "cn=gone,{BASE}", so nobody is a member of it',
        f'"{ANN}" is not a group, so nobody is a member of it',
        'no backend of this server holds "cn=g,dc=elsewhere", so nobody is a member of it',
    ):
        assert f"        -> the marked condition is not true of this client\n        -> {wrong}\n" in done.stdout
    needs = json.loads(explained(other, "--op", "read", "--attr", "sn", "--json").stdout)["needs"]
    wrong = [it["missing"][0]["wrongNames"] for it in needs[0]["instructions"] if "missing" in it]
    assert wrong[0] == [f'there is no entry "cn=gone,{BASE}", so nobody is a member of it']
    found = other.tool("access", "lint", check=False).stdout
    for kind in ("missing-entry", "no-group", "foreign-name"):
        assert found.count(f"[{kind}]") == 1, found


def test_what_refuses_a_client_before_its_rights_are_asked_comes_first(other):
    other.config.write_text(other.config.read_text().replace("[global]", '[global]\ndenied-client = ["192.0.2.0/24"]'))
    done = explained(other, "--op", "read", "--attr", "mail", "--ip", "192.0.2.7")
    first = f"Refused to {BOB} before rights are asked: the server takes no connection from 192.0.2.7 "
    assert done.returncode == 1 and done.stdout.startswith(first)
    assert f"\nGranted to {BOB}\n" in done.stdout
    assert explained(other, "--op", "read", "--attr", "mail", "--ip", "192.0.3.7").returncode == 0
    asked = ("--op", "read", "--attr", "mail", "--ip", "192.0.2.7", "--json")
    assert "192.0.2.7" in json.loads(explained(other, *asked).stdout)["beforeRights"][0]


def test_a_search_without_an_index_takes_a_privilege(other, tmp_path):
    text = other.config.read_text()
    other.config.write_text(text.replace("[backend.userRoot]", "[backend.userRoot]\nindex-entry-limit = 2", 1))
    other.import_ldif(tmp_path / "tree.ldif")
    done = explained(other, "--op", "search", "--filter", "(description=x)", "--attr", "mail")
    assert "unindexed" not in done.stdout, "an attribute that may not be searched finds nothing"
    done = explained(other, "--op", "search", "--filter", "(cn~=ann)", "--attr", "mail")
    lacks = f'no index that answers the filter below "{BASE}", nor the privilege unindexed-search'
    assert done.returncode == 1 and done.stdout.startswith(f"Refused to {BOB}: {lacks}\n")
    needs = json.loads(explained(other, "--op", "search", "--filter", "(cn~=ann)", "--json").stdout)["needs"]
    assert needs[0] == {"need": "index", "privilege": "unindexed-search", "base": BASE, "granted": False}
    asked = ("explain", "--op", "search", "--dn", ANN, "--filter", "(cn>=a)", "--as", "cn=Directory Manager")
    assert other.tool("access", *asked).stdout.startswith("Granted to cn=Directory Manager\n")
    assert explained(other, "--op", "search", "--filter", "(cn=Ann*)", "--attr", "mail").returncode == 0


FAR = {
    "staff": ('(targetattr="sn")(targetfilter="(title=x)")', "its targetfilter does not match this entry"),
    "bare": ("", "it has no targetattr, so it is about the entry and not about its attributes"),
    "children": ('(targetattr="sn")(targetscope="base")', "its targetscope does not reach this entry"),
}
OPEN = 'aci: (targetattr="l")(version 3.0; acl "open"; allow (read) ip="192.0.2.*" and ssf>"1" and timeofday>"0000";)'


@pytest.fixture
def far(tmp_path):
    """An instance with instructions that are about something else, and one about the connection."""
    file = tmp_path / "tree.ldif"
    rule = 'aci: %s(version 3.0; acl "%s"; allow (read,search,add) userdn="ldap:///all";)'
    rules = "\n".join([rule % (target, name) for name, (target, _) in FAR.items()] + [OPEN])
    file.write_text(PEOPLE.replace("aci: ", f"{rules}\naci: ", 1))
    instance = Pando(tmp_path / "inst")
    instance.setup("--accessProfile", "closed").import_ldif(file)
    yield instance
    instance.remove()


def test_instructions_that_miss_by_one_part_are_shown_with_the_part(far):
    told = explained(far, "--op", "read", "--attr", "sn").stdout
    assert "    No instruction of the entry, above it or of the configuration is about this: nobody may.\n" in told
    _, nearest = told.split("    Nearest to it are:\n")
    for name, (_, part) in FAR.items():
        assert f' "{name}"\n' in nearest and f"        -> {part}\n" in nearest
    assert nearest.index('"staff"') < nearest.index('"bare"') < nearest.index('"children"')
    assert "Root DSE" not in nearest


def test_what_is_taken_of_the_connection_is_said_where_rules_look_at_it(far):
    told = explained(far, "--op", "read", "--attr", "l").stdout
    assert told.endswith(" (--at).\n")
    assert (
        "\nRules look at the address of the client, which is not given (--ip): they grant nothing, and deny.\n" in told
    )
    assert "it is taken to have 0 bits (--ssf).\n" in told
    granted = explained(
        far, "--op", "read", "--attr", "l", "--ip", "192.0.2.7", "--ssf", "128", "--at", "2026-11-21 10:00"
    )
    assert granted.returncode == 0 and "Rules look at" not in granted.stdout


def test_an_entry_that_shows_by_a_computed_attribute_alone_says_by_which_instruction(far, tmp_path):
    tree = (
        (tmp_path / "tree.ldif")
        .read_text()
        .replace('"objectClass || uid || cn || mail"', '"entryDN || hasSubordinates"')
    )
    (tmp_path / "tree.ldif").write_text(tree)
    far.import_ldif(tmp_path / "tree.ldif")
    told = explained(far, "--op", "read", "--attr", "mail", "--json").stdout
    assert json.loads(told)["granted"] is False
    told = explained(far, "--op", "search", "--filter", "(&)", "--attr", "mail").stdout
    assert f'yes "{ANN}" shows: some attribute of it may be read\n    Granted by:\n' in told


def test_instructions_that_the_running_server_does_not_use_are_noted(far):
    assert far.tool("access", "lint", "--unused", check=False).returncode == 2, "no server"
    far.start()
    bob = far.connect(BOB, "secret12")
    assert bob.search_s(ANN, 0, "(uid=ann)", ["mail"])
    found = far.tool("access", "lint", "--unused", "--json", check=False)
    unused = {it["place"] for it in json.loads(found.stdout)["findings"] if it["kind"] == "never-used"}
    # The people's rule is the fifth of the base entry, the one about the connection the fourth.
    assert f'aci number 5 of "{BASE}"' not in unused and f'aci number 6 of "{BASE}"' in unused, unused
    # Another instruction of the same entry leaves the counts of the others.
    root = far.connect(ROOT_DN, ROOT_PW)
    root.modify_s(BASE, [(ldap.MOD_ADD, "aci", OPEN.removeprefix("aci: ").replace("open", "late").encode())])
    uses = root.search_s("cn=Access Control,cn=monitor", 0, "(objectClass=*)", ["instruction-uses"])[0][1]
    counts = dict(value.decode().rsplit(": ", 1) for value in uses["instruction-uses"])
    found = far.tool("access", "lint", "--unused", "--json", check=False)
    unused = {it["place"] for it in json.loads(found.stdout)["findings"] if it["kind"] == "never-used"}
    assert counts[f"{BASE}#5"] != "0" and f'aci number 5 of "{BASE}"' not in unused, (counts, unused)
    of_base = {f'aci number {place.rsplit("#")[1]} of "{BASE}"': n for place, n in counts.items() if BASE in place}
    assert {place for place, n in of_base.items() if n == "0"} <= unused
    far.stop()


def test_the_instruction_that_decides_about_a_control_is_shown(far):
    paged = "1.2.840.113556.1.4.319"
    rules = (
        f"dn: {ANN}\nchangetype: modify\nadd: aci\n"
        f'aci: (targetcontrol="{paged}")(version 3.0; acl "pages"; allow (read) userdn="ldap:///{BOB}";)\n'
    )
    far.start()
    done = subprocess.run(
        ["ldapmodify", "-x", "-H", far.url, "-D", ROOT_DN, "-w", ROOT_PW], input=rules, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    told = explained(far, "--op", "control", "--oid", paged).stdout
    assert f'Granted by:\n      aci number 1 of "{ANN}" "pages"\n' in told
    told = far.tool("access", "explain", "--as", BOB, "--op", "extended", "--oid", "1.3.6.1.4.1.4203.1.11.3").stdout
    assert ' of the configuration "Extended operations for everybody"\n' in told
    told = far.tool(
        "access", "explain", "--as", ANN, "--op", "control", "--oid", paged, "--dn", ANN, check=False
    ).stdout
    assert told.endswith(f"NO  right to use the control {paged}\n    No instruction grants it.\n")
    far.stop()


def test_clients_that_are_anonymous_and_root_users_who_lack_bypass_acl_are_said_to_be(other):
    asked = ("explain", "--op", "read", "--attr", "sn", "--dn", ANN, "--as")
    assert (
        "\nThe client is anonymous: it has not bound, or its bind was refused"
        in other.tool("access", *asked, "anonymous", check=False).stdout
    )
    text = other.config.read_text()
    named = 'alternate-bind-dn = "cn=Directory Manager"'
    other.config.write_text(text.replace(named, f'{named}\nprivilege-name = ["-bypass-acl"]'))
    told = other.tool("access", *asked, ROOT_DN, check=False)
    assert told.returncode == 1
    assert f"\n{ROOT_DN} is a root user without the privilege bypass-acl" in told.stdout
