"""`pando access` tells what was asked, refuses names that are mistyped, and counts what it left out."""

import contextlib
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


@contextlib.contextmanager
def closed(folder, ldif):
    """An instance with these entries and the profile that lets nobody but root read them."""
    file = folder / "tree.ldif"
    file.write_text(ldif)
    instance = Pando(folder / "inst")
    instance.setup("--accessProfile", "closed").import_ldif(file)
    yield instance
    instance.remove()


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    with closed(tmp_path_factory.mktemp("tools"), PEOPLE) as instance:
        yield instance


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
    (("explain", "--as", BOB, "--op", "delete"), "name the entry with --dn\n"),
    (("explain", "--as", BOB, "--op", "search"), 'name the entry with --dn; --dn "" is the root DSE'),
    (("explain", "--as", BOB, "--op", "read", "--dn", "foo", "--attr", "cn"), '"foo" is not a distinguished name'),
    (("who-can", "read", "cn", "on", "foo"), '"foo" is not a distinguished name'),
    (("explain", "--as", BOB, "--op", "control", "--oid", "foo"), '"foo" is not an OID: write numbers with dots'),
    (("explain", "--as", BOB, "--op", "search", "--dn", ANN, "--filter", "(foo=bar)"), 'no attribute "foo"\n'),
    (("who-can", "delete", "cn", "on", ANN), f"to delete values takes write, as in who-can write cn on {ANN}\n"),
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
    rule = '(targetattr="*")(version 3.0; acl "%s"; allow (read,search) groupdn="ldap:///%s";)'
    groups = {"gone": f"cn=gone,{BASE}", "person": ANN, "far": "cn=g,dc=elsewhere"}
    rules = "\n".join("aci: " + rule % group for group in groups.items())
    with closed(tmp_path, PEOPLE.replace("aci: ", f"{rules}\naci: ", 1)) as instance:
        yield instance


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
    rule = 'aci: %s(version 3.0; acl "%s"; allow (read,search,add) userdn="ldap:///all";)'
    rules = "\n".join([rule % (target, name) for name, (target, _) in FAR.items()] + [OPEN])
    with closed(tmp_path, PEOPLE.replace("aci: ", f"{rules}\naci: ", 1)) as instance:
        yield instance


def test_instructions_that_miss_by_one_part_are_shown_with_the_part(far):
    told = explained(far, "--op", "read", "--attr", "sn").stdout
    nothing = "No instruction of the entry, above it or of the configuration is about this: nobody but users with"
    assert f"    {nothing} bypass-acl may.\n" in told
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


DENYING = f"""aci: (targetattr="*")(version 3.0; acl "nothing for bob"; deny (all) userdn="ldap:///{BOB}";)
aci: (targetattr="sn")(version 3.0; acl "staff only"; deny (read) groupdn!="ldap:///cn=gone,{BASE}";)
aci: (target="ldap:///{BOB}")(version 3.0; acl "bob is hidden"; deny (read) userdn="ldap:///{ANN}";)
"""


@pytest.fixture
def denying(tmp_path):
    """An instance with instructions that deny, and a limit in ann's entry."""
    limited = PEOPLE.replace("uid: ann\n", "uid: ann\nds-rlim-lookthrough-limit: 3\n")
    with closed(tmp_path, limited.replace("aci: ", f"{DENYING}aci: ", 1)) as instance:
        yield instance


def test_an_entry_of_which_every_granted_attribute_is_denied_names_what_denies(denying):
    done = explained(denying, "--op", "search", "--filter", "(uid=ann)")
    shows, _ = done.stdout.split("\n\nNO  the filter")
    why = "    Instructions grant it, but every attribute that they grant is denied by:\n"
    assert f'{why}      aci number 1 of "{BASE}" "nothing for bob"\n' in shows
    assert "No instruction grants it" not in shows
    everything = explained(denying, "--op", "search", "--filter", "(uid=ann)", "--all").stdout.split("\n\n")[1]
    assert '"nothing for bob"' in everything.split("    Looked at besides:\n")[0]
    found = json.loads(explained(denying, "--op", "search", "--json").stdout)["needs"][0]
    assert found["reason"] == "every attribute that is granted is denied"


def test_all_that_denies_is_told_together_with_groups_that_are_none(denying):
    told = explained(denying, "--op", "read", "--attr", "sn").stdout
    denials = told.split("    Denied by:\n")[1].split("    These came close:")[0]
    assert '"nothing for bob"\n' in denials and '"staff only"\n' in denials
    assert f'        -> there is no entry "cn=gone,{BASE}", so ' in denials
    assert told.count("-> it denies this") == 2
    needs = json.loads(explained(denying, "--op", "read", "--attr", "sn", "--json").stdout)["needs"]
    assert [it["name"] for it in needs[0]["instructions"] if "wrongNames" in it] == ["staff only"]


def test_what_can_says_which_entries_do_not_show(denying):
    told = denying.tool("access", "what-can", ANN).stdout
    hidden = f'\n"{BOB}"\n    does not show in searches: denied by aci number 3 of "{BASE}" "bob is hidden"\n'
    assert hidden in told
    assert told.count("does not show") == 1
    classes = json.loads(denying.tool("access", "what-can", ANN, "--json").stdout)["classes"]
    assert {dn: it["shows"] for it in classes for dn in it["entries"]} == {BASE: True, ANN: True, BOB: False}


def test_a_search_that_is_granted_names_the_limits_that_may_end_it(denying):
    asked = ("explain", "--as", ANN, "--dn", ANN, "--op", "search", "--filter", "(uid=ann)", "--attr", "cn")
    done = denying.tool("access", *asked)
    assert done.stdout.startswith(f"Granted to {ANN}\n")
    assert "\n    1000 entries sent: result 4 (size-limit of [global])\n" in done.stdout
    assert done.stdout.endswith(
        "\n    3 entries looked at: result 11 (ds-rlim-lookthrough-limit of the client's entry)\n"
    )
    limits = json.loads(denying.tool("access", *asked, "--json").stdout)["limits"]
    assert [(it["limit"], it["most"], it["result"]) for it in limits] == [
        ("size-limit", 1000, 4),
        ("time-limit", 60, 3),
        ("lookthrough-limit", 3, 11),
    ]
    rule = '\n[limits."slow"]\ntype = "authenticated"\ntime-limit = "5 seconds"\n'
    denying.config.write_text(denying.config.read_text() + rule)
    assert '\n    5 seconds: result 3 (time-limit of [limits."slow"])\n' in denying.tool("access", *asked).stdout


def test_an_attribute_that_the_entry_does_not_have_is_said_to_be_absent(people):
    asked = ("access", "explain", "--as", ANN, "--op", "read", "--attr", "cn,mail", "--dn")
    assert people.tool(*asked, BOB).stdout.endswith("\n\nThe entry has no mail.\n")
    assert json.loads(people.tool(*asked, BOB, "--json").stdout)["absent"] == ["mail"]
    assert "The entry has no" not in people.tool(*asked, ANN).stdout


def test_who_can_says_what_it_takes_of_the_connection(far):
    told = far.tool("access", "who-can", "read", "l", "on", ANN).stdout
    assert "\nRules look at the address of the client, which is not given (--ip): they grant nothing," in told
    assert "Rules look at" not in far.tool("access", "who-can", "read", "mail", "on", ANN).stdout


def test_change_records_are_for_the_rehearsal(people, tmp_path):
    file = tmp_path / "change.ldif"
    file.write_text(f"dn: {ANN}\nchangetype: modify\nreplace: sn\nsn: x\n")
    done = explained(people, "--op", "read", "--attr", "sn", "--ldif", file)
    assert done.returncode == 2
    assert done.stderr.endswith("; --ldif takes entries: to try changes, use pando access rehearse\n")


def logged(connection, dn, attributes):
    at = "[21/Nov/2026:09:00:00 +0000]"
    return (
        f"{at} CONNECT conn={connection} from=192.0.2.7:50000 to=192.0.2.1:1389 protocol=LDAP\n"
        f'{at} BIND REQ conn={connection} op=0 msgID=1 version=3 type=SIMPLE dn="{dn}"\n'
        f'{at} BIND RES conn={connection} op=0 msgID=1 result=0 authDN="{dn}" etime=1\n'
        f"{at} SEARCH REQ conn={connection} op=1 msgID=2 "
        f'base="{ANN}" scope=base filter="(uid=ann)" attrs="{attributes}"\n'
        f"{at} SEARCH RES conn={connection} op=1 msgID=2 result=0 nentries=1 etime=0\n"
    )


def test_a_rehearsal_counts_operations_and_says_what_the_change_itself_writes(people, tmp_path):
    log, change = tmp_path / "access.log", tmp_path / "change.ldif"
    log.write_text(logged(1, BOB, "cn,sn,userPassword") + logged(2, ROOT_DN, "cn,aci"))
    rule = f'(targetattr="sn || userPassword")(version 3.0; acl "more"; allow (read) userdn="ldap:///{BOB}";)'
    change.write_text(f"dn: {ANN}\nchangetype: modify\nadd: aci\naci: {rule}\n")
    done = people.tool("access", "rehearse", change, "--log", log, check=False)
    assert done.returncode == 1
    assert "\n2 operations were decided; 2 would be decided otherwise.\n" in "\n" + done.stdout
    assert f'\n{BOB} gains in 1 operation: aci number 1 of "{ANN}" "more" would grant it\n' in done.stdout
    assert f"\n{ROOT_DN} gains in 1 operation: the change writes aci of the entry\n" in done.stdout
