"""Roles as clients of Sun's servers and 389 know them: nsRole of managed, filtered and nested roles, and accounts that
are inactivated."""

import contextlib
import json

import ldap
import pytest
from found import dns
from ldap.controls.simple import BooleanControl
from pando_server import BASE, until

PEOPLE, GROUPS = f"ou=People,{BASE}", f"ou=Groups,{BASE}"
SUBENTRIES = "1.3.6.1.4.1.4203.1.10.1"
SUBENTRY_CLASSES = [b"top", b"LDAPsubentry", b"nsRoleDefinition"]
EDITORS, ATHENS, REVIEWERS, GROUPED = (f"cn={name},{PEOPLE}" for name in ("editors", "athens", "reviewers", "grouped"))


def user(number):
    return f"uid=user.{number},{PEOPLE}"


def add_role(con, dn, kind, **values):
    attributes = {"objectClass": [*SUBENTRY_CLASSES, f"ns{kind}RoleDefinition".encode()]}
    attributes |= {name: [value.encode() for value in given] for name, given in values.items()}
    con.add_s(dn, list(attributes.items()))


def replace(con, dn, attribute, *values):
    con.modify_s(dn, [(ldap.MOD_REPLACE, attribute, [value.encode() for value in values] or None)])


def roles_of(con, dn):
    ((_, values),) = con.search_s(dn, ldap.SCOPE_BASE, attrlist=["nsRole"])
    return sorted(value.decode() for value in values.get("nsRole", []))


@pytest.fixture(scope="module")
def con(server):
    return server.connect()


@pytest.fixture
def roles(con):
    """Editors are named, Athenians are found, reviewers are both."""
    add_role(con, EDITORS, "Managed")
    add_role(con, ATHENS, "Filtered", nsRoleFilter=["(l=Athens)"])
    add_role(con, REVIEWERS, "Nested", nsRoleDN=[EDITORS, ATHENS])
    replace(con, user(1), "nsRoleDN", EDITORS)
    replace(con, user(2), "l", "Athens")
    yield
    for dn in (EDITORS, ATHENS, REVIEWERS):
        with contextlib.suppress(ldap.NO_SUCH_OBJECT):
            con.delete_s(dn)
    for number, attribute in ((1, "nsRoleDN"), (2, "l")):
        replace(con, user(number), attribute)


def test_roles_are_shown_found_and_compared(con, roles):
    assert roles_of(con, user(1)) == [EDITORS, REVIEWERS]
    assert roles_of(con, user(2)) == [ATHENS, REVIEWERS]
    assert roles_of(con, user(3)) == []
    assert dns(con, f"(nsRole={EDITORS})") == [user(1)]
    assert dns(con, f"(nsRole={REVIEWERS})") == [user(1), user(2)]
    assert dns(con, f"(&(nsRole={REVIEWERS})(!(nsRole={ATHENS})))") == [user(1)]
    assert dns(con, f"(nsRole={REVIEWERS})", GROUPS) == []
    assert con.compare_s(user(2), "nsRole", REVIEWERS.upper()) is True
    assert con.compare_s(user(2), "nsRole", EDITORS) is False
    ((_, all_operational),) = con.search_s(user(1), ldap.SCOPE_BASE, attrlist=["+"])
    ((_, all_user),) = con.search_s(user(1), ldap.SCOPE_BASE)
    assert len(all_operational["nsRole"]) == 2 and "nsRole" not in all_user


def test_every_update_is_seen_by_the_next_search(con, roles):
    replace(con, ATHENS, "nsRoleFilter", "(|(l=Athens)(l=Sparta))")
    replace(con, user(3), "l", "Sparta")
    assert roles_of(con, user(3)) == [ATHENS, REVIEWERS]
    con.rename_s(ATHENS, "cn=greeks")
    greeks = f"cn=greeks,{PEOPLE}"
    assert roles_of(con, user(3)) == [greeks], "the nested role lists a name that is gone"
    replace(con, REVIEWERS, "nsRoleDN", greeks)
    assert roles_of(con, user(3)) == [greeks, REVIEWERS]
    con.rename_s(user(3), "uid=user.three", newsuperior=f"ou=Services,{BASE}")
    moved = f"uid=user.three,ou=Services,{BASE}"
    assert roles_of(con, moved) == [], "outside of the branch of the roles"
    replace(con, REVIEWERS, "nsRoleScopeDN", f"ou=Services,{BASE}")
    assert roles_of(con, moved) == [], "the role below it still holds among people only"
    con.rename_s(moved, "uid=user.3", newsuperior=PEOPLE)
    assert dns(con, f"(nsRole={REVIEWERS})") == [user(2), user(3)]
    con.delete_s(greeks)
    assert roles_of(con, user(3)) == []
    replace(con, user(3), "l")


def test_definitions_are_subentries(con, roles):
    control = BooleanControl(SUBENTRIES, True, True)
    defined = sorted([EDITORS, ATHENS, REVIEWERS])
    assert dns(con, "(cn=editors)") == []
    assert dns(con, "(&(objectClass=ldapSubentry)(objectClass=nsRoleDefinition))") == defined
    found = con.search_ext_s(BASE, ldap.SCOPE_SUBTREE, "(objectClass=nsRoleDefinition)", ["1.1"], serverctrls=[control])
    assert sorted(dn for dn, _ in found if dn) == defined
    ((_, one),) = con.search_s(EDITORS, ldap.SCOPE_BASE)
    assert one["cn"] == [b"editors"]


def test_what_cannot_be_is_refused_in_one_sentence(con, roles):
    for dn, attribute, value, wrong in [
        (ATHENS, "nsRoleFilter", "(l=", ldap.INVALID_SYNTAX),
        (REVIEWERS, "nsRoleDN", "the editors", ldap.INVALID_SYNTAX),
        (REVIEWERS, "nsRoleScopeDN", "everywhere", ldap.INVALID_SYNTAX),
        (user(1), "nsRole", EDITORS, ldap.CONSTRAINT_VIOLATION),
    ]:
        with pytest.raises(wrong) as refused:
            replace(con, dn, attribute, value)
        assert attribute in refused.value.args[0]["info"]
    assert roles_of(con, user(2)) == [ATHENS, REVIEWERS]


def test_a_filter_on_computed_attributes_is_refused(con):
    # One that was imported gives nobody, and is reported once: computed/tests.
    with pytest.raises(ldap.CONSTRAINT_VIOLATION) as refused:
        add_role(con, GROUPED, "Filtered", nsRoleFilter=["(|(memberOf=*)(uid=user.1))"])
    info = refused.value.args[0]["info"]
    assert "nsRoleFilter" in info and "only what is stored decides" in info
    assert dns(con, f"(nsRole={GROUPED})") == []


def test_filters_are_explained_and_indexed(con, server, roles):
    def explained(filterstr):
        ((_, values),) = con.search_s(BASE, ldap.SCOPE_SUBTREE, filterstr, ["debugsearchindex"])
        return json.loads(values["debugsearchindex"][0])

    command = [
        "dsconfig",
        "create-backend-index",
        "--backend-name",
        "userRoot",
        "--set",
        "index-type:equality",
        "--no-prompt",
    ]
    for attribute in ("nsRoleDN", "l"):
        server.tool(*command, "--index-name", attribute)
    # The indexes are built. The nested role names the managed one as its member does: a candidate more, which is none.
    until(lambda: explained(f"(nsRole={REVIEWERS})")["final"] == 3, say=lambda: explained(f"(nsRole={REVIEWERS})"))
    text = json.dumps(explained(f"(nsRole={REVIEWERS})"))
    assert "nsRoleDN.distinguishedNameMatch" in text and "l.caseIgnoreMatch" in text, text
    assert explained(f"(nsRole={EDITORS})")["final"] == 2
    assert dns(con, f"(nsRole={REVIEWERS})") == [user(1), user(2)]


def test_an_inactivated_account_does_not_bind(con, server):
    def bind(password):
        return server.connect(user(4), password)

    replace(con, user(4), "userPassword", "open-sesame")
    bind("open-sesame")
    replace(con, user(4), "nsAccountLock", "true")
    with pytest.raises(ldap.UNWILLING_TO_PERFORM) as refused:
        bind("open-sesame")
    assert refused.value.args[0]["info"] == "Account inactivated. Contact system administrator."
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        bind("wrong")
    replace(con, user(4), "nsAccountLock", "false")
    bind("open-sesame")
    replace(con, user(4), "nsAccountLock")


# S2-38
def test_a_role_inactivates_accounts(con, server):
    """The entries with which DSEE does it: a class of service on nsRole gives nsAccountLock to whoever has the role."""
    managed, disabled = f"cn=nsManagedDisabledRole,{BASE}", f"cn=nsDisabledRole,{BASE}"
    templates, definition = f"cn=nsAccountInactivationTmp,{BASE}", f"cn=nsAccountInactivation_cos,{BASE}"
    template = f'cn="{disabled}",{templates}'
    add_role(con, managed, "Managed")
    add_role(con, disabled, "Nested", nsRoleDN=[managed])
    con.add_s(templates, [("objectClass", b"organizationalRole")])
    con.add_s(
        template,
        [("objectClass", [b"cosTemplate", b"extensibleObject"]), ("cosPriority", b"0"), ("nsAccountLock", b"true")],
    )
    con.add_s(
        definition,
        [
            ("objectClass", [b"ldapSubentry", b"cosSuperDefinition", b"cosClassicDefinition"]),
            ("cosTemplateDn", templates.encode()),
            ("cosSpecifier", b"nsRole"),
            ("cosAttribute", b"nsAccountLock operational"),
        ],
    )
    replace(con, user(5), "userPassword", "open-sesame")
    other = server.connect(user(5), "open-sesame")
    replace(con, user(5), "nsRoleDN", managed)
    assert dns(con, "(nsAccountLock=true)", PEOPLE) == [user(5)]
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        server.connect(user(5), "open-sesame")
    with pytest.raises((ldap.SERVER_DOWN, ldap.INVALID_CREDENTIALS)):
        other.whoami_s()
    replace(con, user(5), "nsRoleDN")
    server.connect(user(5), "open-sesame")
    for dn in (definition, template, templates, disabled, managed):
        con.delete_s(dn)
