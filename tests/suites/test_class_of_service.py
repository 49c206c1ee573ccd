"""Class of Service and static values, as Sun Directory Server documents them, to real clients; each of the four faults
that 389 Directory Server has with them; what may be searched without an index, and by whom."""

import json
import subprocess
from functools import partial

import found
import ldap
import pytest
from ldap.controls import LDAPControl
from pando_server import BASE, DIRECTORY_LDIF, Pando, until

PEOPLE = f"ou=People,{BASE}"
names = partial(found.names, base=PEOPLE)
REAL_ONLY, VIRTUAL_ONLY = "2.16.840.1.113730.3.4.17", "2.16.840.1.113730.3.4.19"
ENTITLEMENT = "urn:mace:dir:entitlement:common-lib-terms"
TABLES = f"""
[backend.userRoot.index.manager]
index-type = "equality"

[backend.userRoot.index.departmentNumber]
index-type = "equality"

[backend.userRoot.index.employeeType]
index-type = "equality"

[virtual-attribute."Library card"]
type = "user-defined"
attribute-type = "eduPersonEntitlement"
value = "{ENTITLEMENT}"
base-dn = "{PEOPLE}"
filter = "(objectClass=inetOrgPerson)"
"""


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    instance = Pando(tmp_path_factory.mktemp("pando") / "inst").setup()
    instance.configure(TABLES).import_ldif(DIRECTORY_LDIF).start()
    yield instance
    assert instance.stop() == 0


@pytest.fixture
def con(instance):
    """A connection as root; entries made through `add` are gone afterwards."""
    con = instance.connect()
    yield con
    con.unbind_s()


@pytest.fixture
def add(con):
    made = []

    def add(dn, **attributes):
        values = {
            name.rstrip("_"): [v.encode() for v in ([value] if isinstance(value, str) else value)]
            for name, value in attributes.items()
        }
        con.add_s(dn, list(values.items()))
        made.append(dn)
        return dn

    yield add
    for dn in reversed(made):
        con.delete_s(dn)


def person(add, uid, **more):
    return add(f"uid={uid},{PEOPLE}", objectClass=["inetOrgPerson"], uid=uid, cn=uid, sn=uid, **more)


def template(add, name, base=BASE, **more):
    return add(f"cn={name},{base}", objectClass=["top", "cosTemplate", "extensibleObject"], **more)


def definition(add, name, kind, base=BASE, **more):
    classes = ["top", "LDAPsubentry", "cosSuperDefinition", f"cos{kind}Definition"]
    return add(f"cn={name},{base}", objectClass=classes, cn=name, **more)


def values(con, dn, attribute, attributes=None):
    ((_, shown),) = con.search_s(dn, ldap.SCOPE_BASE, attrlist=attributes or [attribute])
    return sorted(value.decode() for value in shown.get(attribute, []))


def test_sun_pointer_example(con, add):  # S2-38 S2-40
    template(add, "zip", postalCode="44438")
    definition(add, "pointerCoS", "Pointer", cosTemplateDn=f"cn=zip,{BASE}", cosAttribute="postalCode")
    dn = person(add, "wholiday")
    assert values(con, dn, "postalCode") == ["44438"]
    assert values(con, dn, "postalCode", ["*"]) == ["44438"]
    assert "wholiday" in names(con, "(postalCode=44438)")
    # An entry's own value wins.
    own = person(add, "other", postalCode="1")
    assert values(con, own, "postalCode") == ["1"]


def test_sun_indirect_example(con, add):  # S2-38
    definition(add, "indirectCoS", "Indirect", cosIndirectSpecifier="manager", cosAttribute="departmentNumber")
    person(add, "cfuentes", departmentNumber="318842")
    dn = person(add, "wholiday", manager=f"uid=cfuentes,{PEOPLE}")
    assert values(con, dn, "departmentNumber") == ["318842"]
    assert names(con, "(departmentNumber=318842)") == ["cfuentes", "wholiday"]
    con.modify_s(f"uid=cfuentes,{PEOPLE}", [(ldap.MOD_REPLACE, "departmentNumber", [b"71776"])])
    assert names(con, "(departmentNumber=318842)") == []
    assert names(con, "(departmentNumber=71776)") == ["cfuentes", "wholiday"]


def test_sun_classic_example(con, add):  # S2-38
    add(f"ou=Buildings,{BASE}", objectClass=["organizationalUnit"], ou="Buildings")
    buildings = f"ou=Buildings,{BASE}"
    template(add, "B07", base=buildings, postalAddress="7 Old Oakland Road$San Jose, CA 95112")
    template(add, "roomNumber-default", base=buildings, postalAddress="1 Main Street", street="Main Street")
    definition(
        add,
        "classicCoS",
        "Classic",
        cosTemplateDn=buildings,
        cosSpecifier="roomNumber",
        cosAttribute=["postalAddress", "street"],
    )
    inside = person(add, "inside", roomNumber="b07")
    elsewhere = person(add, "elsewhere", roomNumber="B08")
    assert values(con, inside, "postalAddress") == ["7 Old Oakland Road$San Jose, CA 95112"]
    assert values(con, inside, "street") == ["Main Street"]
    assert values(con, elsewhere, "postalAddress") == ["1 Main Street"]
    assert names(con, "(postalAddress=7 old oakland road$san jose, ca 95112)") == ["inside"]


def test_definitions_are_subentries(con, add):
    dn = definition(add, "hidden", "Pointer", base=PEOPLE, cosTemplateDn=BASE, cosAttribute="l")
    assert "hidden" not in names(con, "(cn=hidden)")
    assert names(con, "(&(objectClass=ldapsubentry)(cn=hidden))") == ["hidden"]
    assert values(con, dn, "cosAttribute") == ["l"]


def test_fault_one_priorities(con, add):  # S2-38
    """A template without priority is the last, not before all others."""
    for name, priority in [("none", None), ("five", "5"), ("two", "2")]:
        more = {"cosPriority": priority} if priority else {}
        template(add, f"of-{name}", roomNumber=name, **more)
        definition(add, name, "Pointer", cosTemplateDn=f"cn=of-{name},{BASE}", cosAttribute="roomNumber")
    dn = person(add, "wholiday")
    assert values(con, dn, "roomNumber") == ["two"]
    con.modify_s(f"cn=of-none,{BASE}", [(ldap.MOD_REPLACE, "cosPriority", [b"0"])])
    assert values(con, dn, "roomNumber") == ["none"]


def test_fault_two_changes_show_at_once(con, add):  # S2-38
    template(add, "kind", l="0")
    definition(add, "kinds", "Pointer", cosTemplateDn=f"cn=kind,{BASE}", cosAttribute="l")
    dn = person(add, "wholiday")
    for number in range(1, 101):
        con.modify_s(f"cn=kind,{BASE}", [(ldap.MOD_REPLACE, "l", [str(number).encode()])])
        assert values(con, dn, "l") == [str(number)]
    con.modify_s(f"cn=kinds,{BASE}", [(ldap.MOD_REPLACE, "cosAttribute", [b"street"])])
    assert values(con, dn, "l") == []


def test_fault_three_indexed_attributes(con, add):  # S2-42
    """An index of what is stored does not hide what is computed; the answer comes from the index of the specifier."""
    definition(add, "phones", "Indirect", cosIndirectSpecifier="manager", cosAttribute="telephoneNumber")
    person(add, "boss", telephoneNumber="+1 555 7777")
    person(add, "wholiday", manager=f"uid=boss,{PEOPLE}")
    assert names(con, "(telephoneNumber=+1 555 7777)") == ["boss", "wholiday"]
    ((_, told),) = con.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(telephoneNumber=+1 555 7777)", ["debugsearchindex"])
    plan = json.loads(told["debugsearchindex"][0])
    assert f"(manager=uid=boss,{PEOPLE.lower()})" in json.dumps(plan) and plan["final"] == 2


def test_fault_four_compares(con, add):  # S2-38
    definition(add, "departments", "Indirect", cosIndirectSpecifier="manager", cosAttribute="departmentNumber")
    person(add, "boss", departmentNumber="7")
    dn = person(add, "wholiday", manager=f"uid=boss,{PEOPLE}")
    assert con.compare_s(dn, "departmentNumber", b"7") is True
    assert con.compare_s(dn, "departmentNumber", b"8") is False


def test_qualifiers(con, add):  # S2-38
    template(add, "one", title="Of the class", employeeNumber="77")
    how = definition(
        add,
        "titles",
        "Pointer",
        cosTemplateDn=f"cn=one,{BASE}",
        cosAttribute=["title", "employeeNumber operational-default"],
    )
    dn = person(add, "wholiday", title="Own")
    assert values(con, dn, "title") == ["Own"]
    assert (values(con, dn, "employeeNumber", ["*"]), values(con, dn, "employeeNumber")) == ([], ["77"])
    con.modify_s(how, [(ldap.MOD_REPLACE, "cosAttribute", [b"title override"])])
    assert values(con, dn, "title") == ["Of the class"]
    assert "wholiday" not in names(con, "(title=own)")
    with pytest.raises(ldap.UNWILLING_TO_PERFORM) as refused:
        con.modify_s(dn, [(ldap.MOD_REPLACE, "title", [b"New"])])
    assert "change the template" in refused.value.args[0]["info"]
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        person(add, "late", title="New")
    con.modify_s(dn, [(ldap.MOD_DELETE, "title", None)])
    con.modify_s(f"cn=one,{BASE}", [(ldap.MOD_REPLACE, "title", [b"Changed"])])
    assert values(con, dn, "title") == ["Changed"]


def test_controls_tell_real_from_virtual(con, add):
    template(add, "one", l="Athens")
    definition(add, "places", "Pointer", cosTemplateDn=f"cn=one,{BASE}", cosAttribute="l override")
    dn = f"uid=user.0,{PEOPLE}"

    def ask(oid):
        ((_, shown),) = con.search_ext_s(
            dn, ldap.SCOPE_BASE, attrlist=["l", "cn"], serverctrls=[LDAPControl(oid, True)]
        )
        return {name: [v.decode() for v in vs] for name, vs in shown.items()}

    assert ask(REAL_ONLY) == {"l": ["Grove"], "cn": ["Ada Ashgrove"]}
    assert ask(VIRTUAL_ONLY) == {"l": ["Athens"]}


def test_the_same_value_for_everybody(instance, con):  # S2-40
    """The wish of the second source document: one value for a large set of users, stored nowhere."""
    dn = f"uid=user.0,{PEOPLE}"
    assert values(con, dn, "eduPersonEntitlement") == [ENTITLEMENT]
    assert names(con, f"(&(uid=user.0)(eduPersonEntitlement={ENTITLEMENT}))") == ["user.0"]
    assert len(names(con, f"(eduPersonEntitlement={ENTITLEMENT})")) == len(names(con, "(objectClass=inetOrgPerson)"))
    assert names(con, "(eduPersonEntitlement=urn:other)") == []
    exported = instance.dir / "out.ldif"
    instance.tool("export-ldif", "--backendID", "userRoot", "--ldifFile", exported, "--offline")
    assert ENTITLEMENT not in exported.read_text()


def test_whoever_may_not_search_unindexed_is_refused_only_where_nothing_narrows(instance, con, add):  # S2-42
    dn = person(add, "boss", userPassword="secret12", departmentNumber="7")
    person(add, "wholiday", manager=dn)
    mine = instance.connect(dn, "secret12")
    definition(add, "departments", "Indirect", cosIndirectSpecifier="manager", cosAttribute="departmentNumber")
    assert names(mine, "(departmentNumber=7)") == ["boss", "wholiday"]
    # No index of street tells who has such a value stored.
    template(add, "one", street="Main")
    definition(add, "streets", "Pointer", cosTemplateDn=f"cn=one,{BASE}", cosAttribute="street")
    limited = subprocess.run(
        [
            "ldapsearch",
            "-x",
            "-LLL",
            "-H",
            instance.url,
            "-D",
            dn,
            "-w",
            "secret12",
            "-b",
            BASE,
            "(&(uid=boss)(street=main))",
            "1.1",
        ],
        capture_output=True,
        text=True,
    )
    assert limited.returncode == 0 and dn in limited.stdout
    mine.unbind_s()


def test_tables_are_taken_by_a_running_server(instance, con):
    file = instance.config
    before = file.read_text()
    dn = f"uid=user.0,{PEOPLE}"
    try:
        file.write_text(before.replace(ENTITLEMENT, "urn:new"))
        instance.tool("reload")
        until(lambda: values(con, dn, "eduPersonEntitlement") == ["urn:new"])
        file.write_text(before.replace('"eduPersonEntitlement"', '"userPassword"'))
        instance.tool("reload", check=False)
        until(
            lambda: "[virtual-attribute.Library card] is not valid: userPassword must be stored" in instance.error_log()
        )
        assert values(con, dn, "eduPersonEntitlement") == ["urn:new"]
    finally:
        file.write_text(before)
        instance.tool("reload")
    until(lambda: values(con, dn, "eduPersonEntitlement") == [ENTITLEMENT])
