"""`pando undo`: what it shows, what it does, what it refuses."""

import json
import re
import subprocess

import ldap
import pytest
from pando_server import BASE, ROOT_DN, ROOT_PW
from test_audit_log import audited, contents, heads, logged, numbers
from test_integrity import PEOPLE, RULES, entry, group, members, person


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    instance = audited(tmp_path_factory.mktemp("pando"), rules=RULES).start()
    yield instance
    assert instance.stop() == 0


@pytest.fixture
def con(running):
    connection = running.connect()
    yield connection
    connection.unbind_s()


def last(instance, con):
    """The number of the last change so far that somebody asked for; a change behind it marks the end."""
    mark = f"mark {len(numbers(instance))}"
    con.modify_s(BASE, [(ldap.MOD_REPLACE, "description", [mark.encode()])])
    logged(instance, f"description: {mark}")
    return [int(head[4]) for head in heads(instance) if head[6] == "request"][-2]


def undo(instance, *arguments, check=True):
    return instance.tool("undo", *arguments, check=check)


def apply(instance, *arguments, check=True):
    # Who may use the socket for administrators needs no password.
    return undo(instance, *arguments, "--apply", check=check)


def operational(con, dn):
    found = con.search_s(dn, ldap.SCOPE_BASE, attrlist=["*", "+"])[0][1]
    return {
        name: sorted(values)
        for name, values in found.items()
        if name not in ("modifyTimestamp", "modifiersName", "entryCSN")
    }


def test_help_says_what_to_do(running, con):
    person(con, "first")
    text = undo(running, "--help").stdout
    for word in (
        "CHANGE_NUMBER",
        "--from",
        "--to",
        "--by",
        "--since",
        "--until",
        "--apply",
        "--force",
        "--json",
        "--dry-run",
        "Examples:",
        "changenumber=",
    ):
        assert word in text, word
    done = undo(running, check=False)
    assert done.returncode == 2 and "CHANGE_NUMBER" in done.stderr
    done = undo(running, "999999999", check=False)
    assert done.returncode == 1 and re.search(
        r"there is no change 999999999: the history has changes \d+ to \d+", done.stderr
    )


def test_a_modification_is_shown_and_undone(running, con):
    dn = person(con, "emil", ("telephoneNumber", "+1 555 0001"), ("title", "Baker"))
    before = operational(con, dn)
    con.modify_s(
        dn,
        [
            (ldap.MOD_REPLACE, "telephoneNumber", [b"+1 555 0002"]),
            (ldap.MOD_DELETE, "title", None),
            (ldap.MOD_ADD, "mail", [b"emil@example.com"]),
        ],
    )
    number = last(running, con)
    shown = undo(running, str(number))
    assert f'# Undo change {number}: "{dn}" was modified at ' in shown.stdout and f"by {ROOT_DN} (conn=" in shown.stdout
    assert (
        "delete: telephoneNumber\ntelephoneNumber: +1 555 0002\n-\n"
        "add: telephoneNumber\ntelephoneNumber: +1 555 0001\n-\n" in shown.stdout
    )
    assert "Nothing was done" in shown.stderr
    assert operational(con, dn) != before, "it was only shown"
    # The LDIF is what ldapmodify takes.
    done = subprocess.run(
        ["ldapmodify", "-x", "-H", running.url, "-D", ROOT_DN, "-w", ROOT_PW],
        input=shown.stdout,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert operational(con, dn) == before
    undone = last(running, con)
    # And so is the undoing.
    done = apply(running, str(undone))
    assert "1 change undone by 1 request, in one transaction." in done.stdout
    assert con.search_s(dn, ldap.SCOPE_BASE)[0][1]["mail"] == [b"emil@example.com"]


def test_a_password_comes_back_as_it_was_stored(running, con):
    dn = person(con, "frida", ("userPassword", "the-first"))
    con.passwd_s(dn, None, "the-second")
    number = last(running, con)
    assert "the-second" not in undo(running, str(number)).stdout
    apply(running, str(number))
    running.connect(dn, "the-first")
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        running.connect(dn, "the-second")


def test_a_deleted_entry_comes_back_with_its_references(running, con):
    dn = person(con, "gustav", ("mail", "gustav@example.com"), ("userPassword", "secret-gustav"))
    one, two = group(con, "gone1", dn, ROOT_DN), group(con, "gone2", dn, ROOT_DN)
    before = operational(con, dn)
    assert "entryUUID" in before and "createTimestamp" in before
    con.delete_s(dn)
    assert members(con, one) == members(con, two) == [ROOT_DN.lower()]
    number = last(running, con)
    done = apply(running, str(number))
    assert "3 changes undone" in done.stdout
    after = operational(con, dn)
    assert after == before
    assert members(con, one) == members(con, two) == sorted([dn.lower(), ROOT_DN.lower()])
    running.connect(dn, "secret-gustav")


def test_a_rename_goes_back_with_its_references(running, con):
    dn = person(con, "hilde")
    club = group(con, "club", dn)
    con.rename_s(dn, "uid=hilda", newsuperior=f"ou=Services,{BASE}", delold=1)
    assert members(con, club) == [f"uid=hilda,ou=services,{BASE}".lower()]
    number = last(running, con)
    apply(running, str(number))
    assert con.search_s(dn, ldap.SCOPE_BASE)[0][1]["uid"] == [b"hilde"]
    assert members(con, club) == [dn.lower()]


def test_a_subtree_comes_back_parent_first(running, con):
    top = f"ou=Tree,{BASE}"
    con.add_s(top, entry(("objectClass", "organizationalUnit"), ("ou", "Tree")))
    for n in range(200):
        con.add_s(f"ou=T{n},{top}", entry(("objectClass", "organizationalUnit"), ("ou", f"T{n}")))
    con.add_s(f"ou=Deep,ou=T7,{top}", entry(("objectClass", "organizationalUnit"), ("ou", "Deep")))
    before = {dn: operational(con, dn) for dn, _ in con.search_s(top, ldap.SCOPE_SUBTREE, attrlist=["1.1"])}
    con.delete_ext_s(top, serverctrls=[ldap.controls.RequestControl("1.2.840.113556.1.4.805", True)])
    number = last(running, con)
    shown = undo(running, str(number)).stdout
    names = re.findall(r"^dn: (.*)\nchangetype: add", shown, re.M)
    assert len(names) == 202 and names[0] == top and names.index(f"ou=T7,{top}") < names.index(f"ou=Deep,ou=T7,{top}")
    done = apply(running, str(number))
    assert "202 changes undone by 404 requests, in one transaction." in done.stdout
    assert {dn: operational(con, dn) for dn in before} == before


def test_what_was_changed_since_is_not_overwritten_unless_forced(running, con):
    dn = person(con, "ida", ("telephoneNumber", "+1 555 0001"), ("displayName", "Ida"))
    con.modify_s(
        dn,
        [
            (ldap.MOD_REPLACE, "displayName", [b"Ida the Second"]),
            (ldap.MOD_REPLACE, "telephoneNumber", [b"+1 555 0002"]),
        ],
    )
    number = last(running, con)
    con.modify_s(
        dn, [(ldap.MOD_REPLACE, "displayName", [b"Ida the Third"]), (ldap.MOD_ADD, "telephoneNumber", [b"+1 555 0003"])]
    )
    for arguments in ([], ["--apply", "-w", ROOT_PW]):
        done = undo(running, str(number), *arguments, check=False)
        assert done.returncode == 1 and done.stdout == ""
        assert (
            f'change {number}: "{dn}"' in done.stderr and "Ida the Second" in done.stderr and "--force" in done.stderr
        )
    found = json.loads(undo(running, str(number), "--json", check=False).stdout)
    assert not found["isPossible"] and found["applied"] is None and found["changes"][0]["conflicts"][0]["canBeForced"]
    apply(running, str(number), "--force")
    after = con.search_s(dn, ldap.SCOPE_BASE)[0][1]
    assert after["displayName"] == [b"Ida"] and sorted(after["telephoneNumber"]) == [b"+1 555 0001", b"+1 555 0003"]


def test_an_added_entry_that_others_changed_is_not_just_deleted(running, con):
    dn = person(con, "jonas")
    number = last(running, con)
    con.modify_s(dn, [(ldap.MOD_ADD, "mail", [b"jonas@example.com"])])
    done = undo(running, str(number), check=False)
    assert (
        done.returncode == 1 and "was changed since it was added" in done.stderr and "jonas@example.com" in done.stderr
    )
    apply(running, str(number), "--force")
    assert con.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(uid=jonas)") == []


def test_what_cannot_be_forced(running, con):
    dn = person(con, "karla", ("mail", "karla@example.com"))
    con.delete_s(dn)
    number = last(running, con)
    # Meanwhile somebody else has the address, which a rule keeps unique.
    other = person(con, "kuno", ("mail", "karla@example.com"))
    done = apply(running, str(number), "--force", check=False)
    assert done.returncode == 1 and "karla@example.com" in done.stderr and "does not help" in done.stderr
    con.delete_s(other)
    apply(running, str(number))
    assert con.search_s(dn, ldap.SCOPE_BASE)[0][1]["mail"] == [b"karla@example.com"]


def test_everything_that_one_identity_did_in_a_time(running, con):
    admin = person(con, "lena", ("userPassword", "lena-lena"))
    other = person(con, "max", ("userPassword", "max-max"))
    before = {dn: operational(con, dn).get("userPassword") for dn in (admin, other)}
    start = last(running, con)
    own = running.connect(admin, "lena-lena")
    for password in (b"second", b"third"):
        own.modify_s(admin, [(ldap.MOD_REPLACE, "userPassword", [password])])
    con.modify_s(other, [(ldap.MOD_REPLACE, "userPassword", [b"changed by root"])])
    last(running, con)
    found = json.loads(undo(running, "--by", admin.upper(), "--since", "1h", "--json").stdout)
    assert [change["kind"] for change in found["changes"]] == ["modify"] * 2
    assert {change["user"].lower() for change in found["changes"]} == {admin.lower()}
    assert found["changes"][0]["changeNumber"] > found["changes"][1]["changeNumber"] > start
    for others in (("--until", "1h"), ("--from", str(start), "--to", str(start))):
        done = undo(running, "--by", admin, *others, check=False)
        assert done.returncode == 1 and "no change matches" in done.stderr
    apply(running, "--by", admin, "--from", str(start))
    assert operational(con, admin)["userPassword"] == before[admin]
    assert operational(con, other)["userPassword"] != before[other]


def test_a_range_leads_back_to_where_it_began(running, con):
    last(running, con)
    before, start = contents(con), numbers(running)[-1]
    dn = person(con, "nils", ("mail", "nils@example.com"))
    con.modify_s(dn, [(ldap.MOD_REPLACE, "sn", [b"Nilsson"])])
    crew = group(con, "crew", dn)
    con.rename_s(f"ou=Services,{BASE}", "ou=Facilities", delold=1)
    con.rename_s(dn, "uid=nelly", newsuperior=f"ou=Facilities,{BASE}", delold=0)
    con.modify_s(
        f"uid=nelly,ou=Facilities,{BASE}", [(ldap.MOD_REPLACE, "mail", [b"nelly@example.com", b"n@example.com"])]
    )
    con.delete_s(crew)
    con.add_s(dn, entry(("objectClass", "inetOrgPerson"), ("uid", "nils"), ("cn", "another"), ("sn", "another")))
    con.delete_s(f"uid=nelly,ou=Facilities,{BASE}")
    end = last(running, con)
    con.modify_s(BASE, [(ldap.MOD_REPLACE, "description", before[BASE]["description"])])
    assert contents(con) != before
    done = apply(running, "--from", str(start + 1), "--to", str(end))
    assert "in one transaction" in done.stdout
    assert contents(con) == before


def test_what_does_not_fit_into_a_transaction_is_done_in_order(running, con):
    last(running, con)
    before, start = contents(con), numbers(running)[-1]
    for n in range(1010):
        con.modify_s(f"uid=user.{n % 5},{PEOPLE}", [(ldap.MOD_REPLACE, "employeeNumber", [b"n%d" % n])])
    end = last(running, con)
    done = apply(running, "--from", str(start + 1), "--to", str(end))
    assert "1010 changes undone by 1010 requests, one after the other." in done.stdout
    con.modify_s(BASE, [(ldap.MOD_REPLACE, "description", before[BASE]["description"])])
    assert contents(con) == before


def test_the_tool_works_on_files_alone(running, con):
    dn = person(con, "olga")
    number = last(running, con)
    running.stop()
    try:
        assert f"dn: {dn}\nchangetype: delete\n" in undo(running, str(number)).stdout
        done = apply(running, str(number), check=False)
        assert done.returncode == 1 and "no server runs" in done.stderr
    finally:
        running.start()
