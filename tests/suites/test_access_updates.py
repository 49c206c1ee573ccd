"""Updates of ordinary users: which rights and privileges they take, and what a refusal tells.

The rows of docs/reference/access-rights.md; python-ldap as the client.
"""

import re
from pathlib import Path

import ldap
import pytest
from ldap import modlist
from ldap.controls import RequestControl
from ldap.controls.libldap import AssertionControl
from ldap.controls.readentry import PostReadControl, PreReadControl
from ldap.controls.simple import ValueLessRequestControl
from ldap.extop import ExtendedRequest
from pando_server import BASE, Pando, until

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "access-rights.md"
PEOPLE = f"ou=People,{BASE}"
OTHER = f"ou=Other,{BASE}"
ALICE, BOB, CAROL = (f"uid={name},{PEOPLE}" for name in ("alice", "bob", "carol"))
MISSING = f"uid=nobody,{PEOPLE}"
GROUP = f"cn=team,{BASE}"
SUBTREE_DELETE = ValueLessRequestControl("1.2.840.113556.1.4.805", criticality=True)

# Result codes.
OK = 0
NO_CONTROL = 12
NO_ATTRIBUTE = 16
CONSTRAINT = 19
NO_SUCH = 32
CREDENTIALS = 49
DENIED = 50
NON_LEAF = 66
EXISTS = 68
ASSERTION = 122


def entry(dn: str, classes: list[str], **attributes) -> str:
    lines = [f"dn: {dn}", *(f"objectClass: {name}" for name in classes)]
    for name, values in attributes.items():
        lines += [f"{name}: {value}" for value in ([values] if isinstance(values, str) else values)]
    return "\n".join(lines) + "\n"


def person(dn: str, **more) -> str:
    uid = dn.split(",")[0].split("=")[1]
    given = {"uid": uid, "cn": uid.title(), "sn": uid.title(), "userPassword": "password"}
    return entry(dn, ["inetOrgPerson", "posixAccount"], **POSIX, **{**given, **more})


POSIX = {"uidNumber": "7", "gidNumber": "7", "homeDirectory": "/home/x"}


class RawControl(RequestControl):
    """A control with bytes as its value."""

    def __init__(self, oid, value):
        super().__init__(oid, True, None)
        self.value = value

    def encodeControlValue(self):
        return self.value


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with the rules of the profile `closed`: what users may do is said by each test."""
    instance = Pando(tmp_path_factory.mktemp("pando") / "inst")
    ldif = instance.dir.parent / "people.ldif"
    ldif.write_text(
        "\n".join(
            [
                entry(BASE, ["domain"], dc="example"),
                entry(PEOPLE, ["organizationalUnit"], ou="People"),
                entry(OTHER, ["organizationalUnit"], ou="Other"),
                person(ALICE, description=["d-x", "aa"], title="old"),
                person(BOB),
                person(CAROL),
                entry(GROUP, ["groupOfNames"], cn="team", member=ALICE),
            ]
        )
    )
    instance.setup("--accessProfile", "closed").import_ldif(ldif).start()
    yield instance
    assert instance.stop() == 0


@pytest.fixture
def root(server):
    return server.connect()


@pytest.fixture
def bob(server):
    return server.connect(BOB, "password")


def aci(rights: str, target: str = "", who: str = f"ldap:///{BOB}", effect: str = "allow") -> bytes:
    return f'{target}(version 3.0; acl "{effect} {rights}"; {effect} ({rights}) userdn="{who}";)'.encode()


def attrs(names: str) -> str:
    return f'(targetattr="{names}")'


SEE = aci("read,search,compare", attrs("*"))
CONTROLS = aci("read", '(targetcontrol="*")')


def rules(root, *values: bytes) -> None:
    """These rules, and no others."""
    root.modify_s(PEOPLE, [(ldap.MOD_REPLACE, "aci", [])])
    root.modify_s(BASE, [(ldap.MOD_REPLACE, "aci", list(values))])


def result(call, *args) -> int:
    return told(call, *args)[0]


def told(call, *args) -> tuple[int, str, str]:
    """Result code, matched DN, message."""
    try:
        call(*args)
        return (OK, "", "")
    except ldap.LDAPError as error:
        about = error.args[0]
        return (about["result"], about.get("matched", ""), about.get("info", ""))


def replace(con, dn: str, name: str, *values: str) -> int:
    return result(con.modify_s, dn, [(ldap.MOD_REPLACE, name, [value.encode() for value in values])])


def change(con, dn: str, operation: int, name: str, *values: str) -> int:
    return result(con.modify_s, dn, [(operation, name, [value.encode() for value in values] or None)])


def add(con, dn: str, **more) -> int:
    uid = dn.split(",")[0].split("=")[1]
    given = {"objectClass": "inetOrgPerson", "cn": uid, "sn": uid, "uid": uid, **more}
    return result(
        con.add_s, dn, [(name, value if isinstance(value, bytes) else value.encode()) for name, value in given.items()]
    )


# Each function named after a row of the page.


def test_add(server, root, bob):
    new = f"uid=new,{PEOPLE}"
    rules(root, SEE)
    assert add(bob, new) == DENIED
    rules(root, SEE, aci("add"))
    assert add(bob, new) == OK
    assert add(bob, new) == EXISTS
    root.delete_s(new)
    # Not per attribute: a targetattr limits no add.
    rules(root, SEE, aci("add", attrs("cn")))
    assert add(bob, new) == OK
    root.delete_s(new)
    rules(root, SEE, aci("add", '(targattrfilters="add=title:(title=a*)")'))
    assert add(bob, new, title="bad") == DENIED
    assert add(bob, new, title="apt") == OK
    root.delete_s(new)


def test_adding_oneself_into_a_rule(server, root, bob):
    """Case 14: what a new entry says of itself grants nothing."""
    new = f"uid=new,{PEOPLE}"
    by_manager = b'(version 3.0; acl "x"; allow (add) userattr="manager#USERDN";)'
    rules(root, SEE, by_manager)
    assert add(bob, new, manager=BOB) == DENIED
    by_parent = b'(version 3.0; acl "x"; allow (add) userattr="parent[1].seeAlso#USERDN";)'
    rules(root, SEE, by_parent)
    replace(root, PEOPLE, "seeAlso", BOB)
    assert add(bob, new) == OK
    replace(root, PEOPLE, "seeAlso")
    root.delete_s(new)


def test_modify(server, root, bob):
    """Case 10, and the order: access before values."""
    rules(root, SEE, aci("write", attrs("description")))
    assert replace(bob, ALICE, "description", "d-x", "aa") == OK
    assert change(bob, ALICE, ldap.MOD_ADD, "sn", "Alice") == DENIED
    assert change(bob, ALICE, ldap.MOD_ADD, "sn", "Zed") == DENIED
    assert change(bob, ALICE, ldap.MOD_DELETE, "sn", "Zed") == DENIED
    assert change(bob, ALICE, ldap.MOD_DELETE, "mail") == DENIED
    assert replace(bob, ALICE, "mail") == DENIED
    both = [(ldap.MOD_REPLACE, "description", [b"both"]), (ldap.MOD_REPLACE, "sn", [b"both"])]
    assert result(bob.modify_s, ALICE, both) == DENIED
    assert b"both" not in root.search_s(ALICE, ldap.SCOPE_BASE)[0][1]["description"]
    assert change(bob, ALICE, ldap.MOD_DELETE, "description", "none") == NO_ATTRIBUTE
    # What only the server writes is no matter of rights.
    assert replace(bob, ALICE, "entryUUID", "x") == CONSTRAINT


def test_values(server, root, bob):
    """Case 22."""
    filters = '(targattrfilters="add=description:(description=a*), del=description:(description=d*)")'

    def fresh(*values):
        replace(root, ALICE, "description", *values)

    for target, may_sn in [(filters, DENIED), (filters + attrs("description || sn"), OK)]:
        rules(root, SEE, aci("write", target))
        fresh("d-x", "aa")
        assert change(bob, ALICE, ldap.MOD_ADD, "description", "abc") == OK
        assert change(bob, ALICE, ldap.MOD_ADD, "description", "xyz") == DENIED
        assert change(bob, ALICE, ldap.MOD_DELETE, "description", "abc") == DENIED
        assert change(bob, ALICE, ldap.MOD_DELETE, "description", "d-x") == OK
        fresh("d-x")
        assert replace(bob, ALICE, "description", "aa") == OK
        assert replace(bob, ALICE, "description", "bb") == DENIED
        assert replace(bob, ALICE, "description", "ab") == DENIED
        fresh("d-x", "aa")
        assert change(bob, ALICE, ldap.MOD_DELETE, "description") == DENIED
        assert replace(bob, ALICE, "sn", "Alice") == may_sn
    # A deny refuses the values that match.
    deny = aci("write", '(targattrfilters="add=description:(description=bad*)")', effect="deny")
    rules(root, SEE, aci("write", attrs("*")), deny)
    assert replace(bob, ALICE, "description", "bad one") == DENIED
    assert replace(bob, ALICE, "description", "good", "d-x", "aa") == OK


def test_own_name(server, root, bob):
    """Cases 12 and 13: with write every name, with selfwrite the own one."""
    for right, own, others in [("write", OK, OK), ("selfwrite", OK, DENIED)]:
        rules(root, SEE, aci(right, attrs("member")))
        replace(root, GROUP, "member", ALICE)
        assert change(bob, GROUP, ldap.MOD_ADD, "member", CAROL) == others
        replace(root, GROUP, "member", ALICE)
        assert change(bob, GROUP, ldap.MOD_ADD, "member", BOB.replace("uid=", "UID= ")) == own
        assert change(bob, GROUP, ldap.MOD_DELETE, "member", BOB) == own
        assert change(bob, GROUP, ldap.MOD_ADD, "member", BOB, CAROL) == others
        replace(root, GROUP, "member", ALICE)
        assert replace(bob, GROUP, "member", BOB) == others
    rules(root, SEE, aci("selfwrite", attrs("description || seeAlso")))
    assert change(bob, ALICE, ldap.MOD_ADD, "seeAlso", BOB) == OK
    assert change(bob, ALICE, ldap.MOD_ADD, "description", BOB) == DENIED
    replace(root, ALICE, "seeAlso")
    replace(root, GROUP, "member", ALICE)


def test_targetfilter_sees_the_entry_before_the_change(server, root, bob):
    rules(root, SEE, aci("write", '(targetfilter="(title=old)")' + attrs("title")))
    replace(root, ALICE, "title", "old")
    assert replace(bob, ALICE, "title", "new") == OK
    assert replace(bob, ALICE, "title", "old") == DENIED
    replace(root, ALICE, "title", "old")


def test_increment(server, root, bob):
    replace(root, ALICE, "uidNumber", "7")
    rules(root, SEE)
    by_three = [(ldap.MOD_INCREMENT, "uidNumber", [b"3"])]
    assert result(bob.modify_s, ALICE, by_three) == DENIED
    rules(root, SEE, aci("write", '(targattrfilters="add=uidNumber:(uidNumber=10), del=uidNumber:(uidNumber=7)")'))
    assert result(bob.modify_s, ALICE, by_three) == OK
    assert result(bob.modify_s, ALICE, by_three) == DENIED
    replace(root, ALICE, "uidNumber", "7")


def test_delete(server, root, bob):
    dn = f"uid=gone,{PEOPLE}"
    add(root, dn)
    rules(root, SEE)
    assert result(bob.delete_s, dn) == DENIED
    # Case 9: `all` without targetattr is about the entry alone.
    rules(root, SEE, aci("all"))
    assert replace(bob, dn, "sn", "x") == DENIED
    assert result(bob.delete_s, PEOPLE) == NON_LEAF
    assert not re.search(r"has \d+ entr", told(bob.delete_s, PEOPLE)[2])
    assert result(bob.delete_s, dn) == OK


def test_subtree_delete(server, root, bob):
    top, child = f"ou=Tree,{BASE}", f"cn=Leaf,ou=Tree,{BASE}"

    def fresh():
        root.add_s(top, modlist.addModlist({"objectClass": [b"organizationalUnit"], "ou": [b"Tree"]}))
        root.add_s(child, modlist.addModlist({"objectClass": [b"device"], "cn": [b"Leaf"]}))

    fresh()
    delete = aci("delete")
    rules(root, SEE, delete)
    assert result(bob.delete_ext_s, top, [SUBTREE_DELETE]) == NO_CONTROL
    rules(root, SEE, delete, CONTROLS, aci("delete", f'(target="ldap:///{child}")', effect="deny"))
    assert result(bob.delete_ext_s, top, [SUBTREE_DELETE]) == DENIED
    assert len(root.search_s(top, ldap.SCOPE_SUBTREE)) == 2
    rules(root, SEE, delete, CONTROLS)
    assert result(bob.delete_ext_s, top, [SUBTREE_DELETE]) == OK


def test_rename(server, root, bob):
    """Case 15."""
    dn = f"uid=named,{PEOPLE}"
    add(root, dn)
    rules(root, SEE)
    assert result(bob.rename_s, dn, "uid=x") == DENIED
    rules(root, SEE, aci("write", attrs("uid")), aci("write", attrs("sn"), effect="deny"))
    assert result(bob.rename_s, dn, "uid=x") == OK
    assert result(bob.rename_s, f"uid=x,{PEOPLE}", "cn=named") == DENIED
    rules(root, SEE, aci("write", attrs("cn")))
    assert result(bob.rename_s, f"uid=x,{PEOPLE}", "cn=named", None, 1) == DENIED
    assert result(bob.rename_s, f"uid=x,{PEOPLE}", "cn=named", None, 0) == OK
    root.delete_s(f"cn=named,{PEOPLE}")


def test_move(server, root, bob):
    """Cases 16 and 17."""
    dn, moved = f"uid=mover,{PEOPLE}", f"uid=mover,{OTHER}"
    add(root, dn)
    write = aci("write", attrs("uid"))
    import_here = aci("import", f'(target="ldap:///{OTHER}")(targetscope="base")')
    export_there = aci("export", f'(target="ldap:///{PEOPLE}")')
    for given in [[write], [write, aci("all")], [write, import_here], [write, export_there]]:
        rules(root, SEE, *given)
        assert result(bob.rename_s, dn, "uid=mover", OTHER) == DENIED, given
    rules(root, SEE, import_here, export_there)
    assert result(bob.rename_s, dn, "uid=mover", OTHER) == DENIED
    rules(root, SEE, write, import_here, export_there)
    assert result(bob.rename_s, dn, "uid=mover", PEOPLE) == DENIED, "the same parent"
    assert result(bob.rename_s, dn, "uid=mover", f"ou=None,{BASE}") == DENIED
    assert result(bob.rename_s, dn, "uid=mover", OTHER) == OK
    root.delete_s(moved)


def test_moddn(server, root, bob):
    """389's right: from here to there."""
    dn, moved = f"uid=mover,{PEOPLE}", f"uid=mover,{OTHER}"
    add(root, dn)
    move = aci("moddn", f'(target_from="ldap:///{PEOPLE}")(target_to="ldap:///{OTHER}")')
    rules(root, SEE, aci("write", attrs("uid")), move)
    assert result(bob.rename_s, dn, "uid=mover", OTHER) == OK
    assert result(bob.rename_s, moved, "uid=mover", PEOPLE) == DENIED
    root.delete_s(moved)


def privileged(root, dn: str, *names: str) -> None:
    replace(root, dn, "ds-privilege-name", *names)


@pytest.mark.parametrize(
    "row, name, value, privilege",
    [
        ("aci", "aci", SEE.decode(), "modify-acl"),
        ("ds-privilege-name", "ds-privilege-name", "config-read", "privilege-change"),
        ("password of somebody else", "userPassword", "another", "password-reset"),
    ],
)
def test_privileges(server, root, bob, row, name, value, privilege):
    may_write = aci("write", attrs(name))
    rules(root, SEE, may_write)
    assert replace(bob, ALICE, name, value) == DENIED
    privileged(root, BOB, privilege)
    assert replace(bob, ALICE, name, value) == OK
    rules(root, SEE)
    assert replace(bob, ALICE, name, value) == DENIED
    # Taken away: for the next request of the same connection.
    rules(root, SEE, may_write)
    privileged(root, BOB, privilege, f"-{privilege}")
    assert replace(bob, ALICE, name, value) == DENIED
    privileged(root, BOB)
    replace(root, ALICE, name, *(["password"] if name == "userPassword" else []))


def test_bypass_acl_has_no_other_privilege(server, root, bob):
    rules(root)
    privileged(root, BOB, "bypass-acl")
    assert replace(bob, ALICE, "title", "old") == OK
    assert replace(bob, ALICE, "aci", SEE.decode()) == DENIED
    assert replace(bob, ALICE, "userPassword", "x") == DENIED
    assert replace(bob, ALICE, "ds-privilege-name", "config-read") == DENIED
    privileged(root, BOB)
    assert replace(root, ALICE, "ds-privilege-name", "no-such") == CONSTRAINT


def test_own_password(server, root, bob):
    rules(root, SEE)
    assert replace(bob, BOB, "userPassword", "password") == DENIED
    rules(root, SEE, aci("write", attrs("userPassword"), who="ldap:///self"))
    assert replace(bob, BOB, "userPassword", "password") == OK
    assert replace(bob, ALICE, "userPassword", "x") == DENIED


def test_password_modify(server, root, bob):
    def passwd(con, dn, old, new):
        return result(con.passwd_s, dn, old, new)

    self_write = aci("write", attrs("userPassword"), who="ldap:///self")
    rules(root, SEE)
    assert passwd(bob, None, "password", "password") == DENIED
    rules(root, SEE, self_write)
    assert passwd(bob, None, "wrong", "password") == CREDENTIALS
    assert passwd(bob, None, "password", "password") == OK
    assert passwd(bob, BOB, None, "password") == OK
    # Without the privilege nothing is told of others.
    assert passwd(bob, ALICE, None, "x") == DENIED
    assert passwd(bob, MISSING, None, "x") == DENIED
    privileged(root, BOB, "password-reset")
    assert passwd(bob, ALICE, None, "password") == DENIED
    assert told(bob.passwd_s, MISSING, None, "x")[:2] == (NO_SUCH, PEOPLE)
    rules(root, SEE, aci("write", attrs("userPassword")))
    assert passwd(bob, ALICE, None, "password") == OK
    assert passwd(bob, ALICE, "wrong", "password") == CREDENTIALS
    privileged(root, BOB)


def test_subentry(server, root, bob):
    dn = f"cn=policy,{BASE}"

    def make(con):
        lines = {"objectClass": [b"ldapSubentry", b"extensibleObject"], "cn": [b"policy"]}
        return result(con.add_s, dn, modlist.addModlist(lines))

    rules(root, SEE, aci("all", attrs("*")))
    assert make(bob) == DENIED
    privileged(root, BOB, "subentry-write")
    assert make(bob) == OK
    privileged(root, BOB)
    assert replace(bob, dn, "description", "x") == DENIED
    assert result(bob.delete_s, dn) == DENIED
    root.delete_s(dn)


def test_schema(server, root, bob):
    definition = b"( 1.1.2.77 NAME 'madeUp' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )"
    add_type = [(ldap.MOD_ADD, "attributeTypes", [definition])]
    rules(root, SEE)
    assert result(bob.modify_s, "cn=schema", add_type) == DENIED
    privileged(root, BOB, "update-schema")
    assert result(bob.modify_s, "cn=schema", add_type) == DENIED, "the right to write it is missing"
    privileged(root, BOB, "update-schema", "bypass-acl")
    assert result(bob.modify_s, "cn=schema", add_type) == OK
    privileged(root, BOB)
    root.modify_s("cn=schema", [(ldap.MOD_DELETE, "attributeTypes", [definition])])


def test_refresh(tmp_path):
    """In a server of its own, with dynamic entries."""
    instance = Pando(tmp_path / "inst")
    ldif = tmp_path / "people.ldif"
    entries = [entry(BASE, ["domain"], dc="example"), entry(PEOPLE, ["organizationalUnit"], ou="People"), person(BOB)]
    ldif.write_text("\n".join(entries))
    instance.setup("--accessProfile", "closed").import_ldif(ldif)
    instance.configure(
        '[backend.userRoot.index.entryExpireTimestamp]\nindex-type = "equality"\n'
        '[plugin.dynamic]\ntype = "dynamic-entries"\n'
    ).tool("rebuild-index", "--rebuildDegraded", "--baseDN", BASE)
    instance.start()
    try:
        root, bob = instance.connect(), instance.connect(BOB, "password")
        root.add_s(f"cn=guest,{BASE}", [("objectClass", [b"device", b"dynamicObject"]), ("cn", b"guest")])
        name = f"cn=guest,{BASE}".encode()
        value = bytes([0x30, len(name) + 6, 0x80, len(name)]) + name + bytes([0x81, 2, 2, 0])
        refresh = ExtendedRequest("1.3.6.1.4.1.1466.101.119.1", value)
        rules(root, SEE)
        assert result(bob.extop_s, refresh) == DENIED
        rules(root, SEE, aci("write", attrs("entryTtl")))
        assert result(bob.extop_s, refresh) == OK
    finally:
        assert instance.stop() == 0


def test_assertion(server, root, bob):
    def modify(filter_text):
        control = AssertionControl(True, filter_text)
        return result(bob.modify_ext_s, ALICE, [(ldap.MOD_REPLACE, "title", [b"old"])], [control])

    write = aci("write", attrs("title"))
    rules(root, write, CONTROLS, aci("read", attrs("*")), aci("search", attrs("title")))
    assert modify("(title=old)") == OK
    assert modify("(title=other)") == ASSERTION
    assert modify("(sn=Alice)") == DENIED
    assert modify("(!(sn=Alice))") == DENIED


def test_pre_read_and_post_read(server, root, bob):
    def modify(value):
        controls = [PreReadControl(True, ["sn", "title", "userPassword"]), PostReadControl(True, ["sn", "title"])]
        change = [(ldap.MOD_REPLACE, "title", [value])]
        _, _, _, found = bob.modify_ext_s(ALICE, change, controls)
        return [(control.dn, control.entry) for control in found]

    replace(root, ALICE, "title", "old")
    write = aci("write", attrs("title"))
    rules(root, write, CONTROLS, aci("read", attrs("title")))
    assert modify(b"new") == [(ALICE, {"title": [b"old"]}), (ALICE, {"title": [b"new"]})]
    rules(root, write, CONTROLS)
    assert modify(b"old") == [], "the entry does not show"


def test_transaction(server, root, bob):
    rules(root, SEE, aci("write", attrs("title")))
    _, identifier = bob.extop_s(ExtendedRequest("1.3.6.1.1.21.1", None))
    part = RawControl("1.3.6.1.1.21.2", identifier)

    def replace_in(dn, name):
        return told(bob.modify_ext_s, dn, [(ldap.MOD_REPLACE, name, [b"old"])], [part])

    assert replace_in(ALICE, "title")[0] == OK
    assert replace_in(ALICE, "sn")[0] == DENIED
    code, matched, message = replace_in(MISSING, "title")
    assert (code, matched) == (NO_SUCH, PEOPLE) and "transaction" in message


ROWS = {
    "add": test_add,
    "modify": test_modify,
    "values": test_values,
    "own name": test_own_name,
    "increment": test_increment,
    "delete": test_delete,
    "subtree delete": test_subtree_delete,
    "rename": test_rename,
    "move": test_move,
    "aci": test_privileges,
    "ds-privilege-name": test_privileges,
    "password of somebody else": test_privileges,
    "own password": test_own_password,
    "password modify": test_password_modify,
    "subentry": test_subentry,
    "schema": test_schema,
    "refresh": test_refresh,
    "assertion": test_assertion,
    "pre-read and post-read": test_pre_read_and_post_read,
    "transaction": test_transaction,
}


def test_every_row_of_the_page_has_a_test():
    table = PAGE.read_text().split("## Rights and privileges")[1].split("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")]
    assert rows[1:] == list(ROWS)


# What a refusal tells.


def test_an_entry_that_does_not_show_does_not_exist(server, root, bob):
    see_people = aci("read,search,compare", f'(target="ldap:///{PEOPLE}")(targetscope="base")' + attrs("*"))
    rules(root, see_people)

    def as_of(dn):
        changes = [
            (bob.modify_s, dn, [(ldap.MOD_REPLACE, "sn", [b"x"])]),
            (bob.modify_s, dn, [(ldap.MOD_REPLACE, "aci", [SEE])]),
            (bob.modify_s, dn, [(ldap.MOD_ADD, "sn", [b"Alice"])]),
            (bob.modify_s, dn, [(ldap.MOD_REPLACE, "entryUUID", [b"x"])]),
            (bob.delete_s, dn),
            (bob.rename_s, dn, "uid=x"),
            (bob.rename_s, dn, "not a name"),
            (bob.rename_s, dn, "uid=x", OTHER),
            (bob.passwd_s, dn, None, "x"),
        ]
        return [(code, matched, text.replace(dn, "DN")) for code, matched, text in (told(*it) for it in changes)]

    assert as_of(ALICE) == as_of(MISSING)
    # Of passwords nothing is told to whoever may reset none.
    codes = [(code, matched) for code, matched, _ in as_of(ALICE)]
    assert codes == [(NO_SUCH, PEOPLE)] * 8 + [(DENIED, "")]
    # Where nothing shows there is no matched name either.
    rules(root)
    assert as_of(ALICE) == as_of(MISSING)
    assert {matched for _, matched, _ in as_of(ALICE)} == {""}
    # The log has both.
    until(lambda: "result=32" in server.access_log() and "maskedResult=50" in server.access_log())
    assert re.search(r"result=32 .*accessReason=MayNotWrite maskedResult=50", server.access_log())
    for scope in (ldap.SCOPE_BASE, ldap.SCOPE_SUBTREE):
        with pytest.raises(ldap.NO_SUCH_OBJECT):
            bob.search_s(ALICE, scope)
    reason = r"SEARCH RES .*result=32 .*accessReason=BaseDoesNotShow maskedResult=0"
    until(lambda: len(re.findall(reason, server.access_log())) == 2)


def test_an_instruction_that_names_nothing_is_taken_and_told_to_the_log(server, root):
    rules(root, aci("read", attrs("sn"), f"ldap:///uid=mistyped,{PEOPLE}"), aci("read", attrs("sm")))
    lines = (
        f'userdn="ldap:///uid=mistyped,{PEOPLE}": there is no entry "uid=mistyped,{PEOPLE}", so nobody has that name',
        f'An instruction was written for "{BASE}", targetattr="sm": the schema has no attribute sm',
    )
    until(lambda: all(line in server.error_log() for line in lines))


def test_rights_work_on_entries_that_do_not_show(server, root, bob):
    rules(root, aci("write", attrs("title")))
    assert replace(bob, ALICE, "title", "old") == OK
    assert change(bob, ALICE, ldap.MOD_ADD, "title", "old") == NO_SUCH
    assert change(bob, ALICE, ldap.MOD_DELETE, "title", "none") == NO_SUCH
    rules(root, aci("delete"))
    assert result(bob.delete_s, PEOPLE) == NO_SUCH, "there are entries below"


def test_adding_tells_nothing_of_what_does_not_show(server, root, bob):
    """Case 23, and the entry above a new one."""
    below_hidden, below_missing = f"uid=x,{OTHER}", f"uid=x,ou=None,{BASE}"
    rules(root, aci("add", f'(target="ldap:///{PEOPLE}")'))
    assert add(bob, ALICE) == DENIED
    rules(root, aci("add", f'(target="ldap:///{PEOPLE}")'), SEE)
    assert add(bob, ALICE) == EXISTS
    # Nothing above shows.
    rules(root)
    assert add(bob, below_hidden) == add(bob, below_missing) == DENIED
    see_base = aci("read", '(targetscope="base")' + attrs("*"))
    rules(root, see_base)
    hidden, missing = (
        told(bob.add_s, dn, [("objectClass", b"device"), ("cn", b"x")]) for dn in (below_hidden, below_missing)
    )
    assert hidden[:2] == missing[:2] == (NO_SUCH, BASE)
    rules(root, see_base, aci("add"))
    assert add(bob, below_hidden) == OK
    root.delete_s(below_hidden)


def test_a_new_name_tells_nothing_of_who_has_it(server, root, bob):
    dn = f"uid=namer,{PEOPLE}"
    add(root, dn)
    write = aci("write", attrs("uid"))
    rules(root, write)
    assert result(bob.rename_s, dn, "uid=carol") == NO_SUCH
    hide_carol = aci("read", f'(target="ldap:///{CAROL}")', effect="deny")
    rules(root, write, SEE, hide_carol)
    assert result(bob.rename_s, dn, "uid=carol") == DENIED
    rules(root, write, SEE)
    assert result(bob.rename_s, dn, "uid=carol") == EXISTS
    root.delete_s(dn)


def test_an_entry_that_moves_leaves_its_rules(server, root, bob):
    """Case 18."""
    dn, moved = f"uid=mover,{PEOPLE}", f"uid=mover,{OTHER}"
    add(root, dn)
    rules(root, SEE)
    root.modify_s(PEOPLE, [(ldap.MOD_REPLACE, "aci", [aci("write", attrs("title"))])])
    assert replace(bob, dn, "title", "x") == OK
    root.rename_s(dn, "uid=mover", OTHER)
    assert replace(bob, moved, "title", "y") == DENIED
    own = aci("write", attrs("sn"))
    root.modify_s(moved, [(ldap.MOD_REPLACE, "aci", [own])])
    root.rename_s(moved, "uid=mover", PEOPLE)
    assert (replace(bob, dn, "title", "z"), replace(bob, dn, "sn", "z")) == (OK, OK)
    root.delete_s(dn)
    rules(root)


def test_anonymous_clients_are_judged_like_others(server, root):
    nobody = ldap.initialize(server.url)
    rules(root)
    assert replace(nobody, ALICE, "title", "x") == replace(nobody, MISSING, "title", "x") == NO_SUCH
    assert add(nobody, MISSING) == DENIED
    see = aci("read", attrs("*"), who="ldap:///anyone")
    rules(root, see)
    assert replace(nobody, ALICE, "title", "x") == DENIED
    assert replace(nobody, MISSING, "title", "x") == NO_SUCH
    assert result(nobody.delete_s, ALICE) == DENIED
    rules(root, see, aci("write", attrs("title"), who="ldap:///anyone"))
    assert replace(nobody, ALICE, "title", "x") == OK
    assert root.search_s(ALICE, ldap.SCOPE_BASE, attrlist=["modifiersName"]) == [(ALICE, {"modifiersName": [b""]})]
    assert replace(nobody, ALICE, "sn", "x") == DENIED
    # A rule of the authenticated is none of theirs.
    rules(root, see, aci("write", attrs("title"), who="ldap:///all"))
    assert replace(nobody, ALICE, "title", "y") == DENIED
    # Passwords take a bind, or the old one.
    rules(root, see, aci("write", attrs("*"), who="ldap:///anyone"))
    assert result(nobody.passwd_s, ALICE, None, "x") == DENIED
    assert result(nobody.passwd_s, ALICE, "wrong", "x") == CREDENTIALS
    rules(root)


def test_a_renamed_user_is_still_itself(server, root):
    """Case 19: on an open connection."""
    dn, renamed = f"uid=first,{PEOPLE}", f"uid=second,{PEOPLE}"
    add(root, dn, userPassword="password")
    rules(root, aci("write,read", attrs("title || userPassword"), who="ldap:///self"))
    user = server.connect(dn, "password")
    root.rename_s(dn, "uid=second")
    assert replace(user, renamed, "title", "x") == OK
    assert result(user.passwd_s, None, "password", "other") == OK
    root.delete_s(renamed)
    rules(root)
