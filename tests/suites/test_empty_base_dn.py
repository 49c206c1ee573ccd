"""A backend with the base DN "", which holds every name that no other backend holds. slapd with `suffix ""` is asked
the same.
"""

import ldap
import ldap.modlist
import pytest
from ldap.controls.sss import SSSRequestControl
from pando_server import ROOT_DN, ROOT_PW, Pando
from slapd_server import ADMIN_DN, connect, slapd_url
from test_persistent_search import Watch, started

ANN = "cn=Ann,ou=people,dc=example,dc=com"
OTHER = "dc=other,dc=org"
DATA = f"""dn: dc=com
objectClass: domain
dc: com

dn: dc=example,dc=com
objectClass: domain
dc: example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: {ANN}
objectClass: person
cn: Ann
sn: Smith
userPassword: secret12

dn: o=Top
objectClass: organization
o: Top

dn: ou=in,o=Top
objectClass: organizationalUnit
ou: in
"""
OTHER_DATA = f"dn: {OTHER}\nobjectClass: domain\ndc: other\n"
SLAPD_OTHER = """
database mdb
suffix "{suffix}"
rootdn "{admin}"
directory {directory}
"""
DOMAIN = {"objectClass": [b"domain"]}
UNIT = {"objectClass": [b"organizationalUnit"]}


@pytest.fixture(scope="module")
def ldif(tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "data.ldif"
    file.write_text(DATA)
    return file


def made(directory, data, other=True) -> Pando:
    instance = Pando(directory)
    root = ("--rootUserDN", ROOT_DN, "--rootUserPassword", ROOT_PW, "--no-prompt")
    ports = ("--ldapPort", instance.port, "--ldapsPort", instance.tls_port)
    instance.tool("setup", "--baseDN", "", *root, *ports, "--ldifFile", data)
    if other:
        instance.configure(f'\n[backend.other]\nbase-dn = "{OTHER}"\n')
        file = instance.dir / "other.ldif"
        file.write_text(OTHER_DATA)
        instance.tool("import-ldif", "--backendID", "other", "--ldifFile", file, "--offline")
    return instance


@pytest.fixture(scope="module")
def whole(tmp_path_factory, ldif):
    instance = made(tmp_path_factory.mktemp("pando") / "inst", ldif).start()
    yield instance
    assert instance.stop() == 0
    instance.tool("verify-index", "--baseDN", "")


@pytest.fixture
def pando(whole):
    con = whole.connect()
    yield con
    con.unbind_s()


@pytest.fixture(scope="module")
def slapd(tmp_path_factory, ldif):
    folder = tmp_path_factory.mktemp("slapd")
    (folder / "other").mkdir()
    other = SLAPD_OTHER.format(suffix=OTHER, admin=ADMIN_DN, directory=folder / "other")
    with slapd_url(folder, "", server=other, base="", data=ldif) as url:
        con = connect(url)
        add(con, OTHER, DOMAIN)
        yield con
        con.unbind_s()


def add(con, dn, attributes):
    name, value = dn.split(",")[0].split("=")
    con.add_s(dn, ldap.modlist.addModlist({**attributes, name: [value.encode()]}))


def code(call, *args, **kw):
    try:
        call(*args, **kw)
        return 0
    except ldap.LDAPError as error:
        return error.args[0]["result"]


def names(con, base="", scope=ldap.SCOPE_SUBTREE, text="(objectClass=*)"):
    return sorted(dn for dn, _ in con.search_s(base, scope, text, ["1.1"]))


def own(listed):
    """Without those of the other backend: Pando's searches of "" cover all backends, slapd's that one alone."""
    return [dn for dn in listed if not dn.endswith(OTHER)]


SEARCHES = [
    ("dc=com", ldap.SCOPE_BASE, "(objectClass=*)"),
    ("dc=com", ldap.SCOPE_ONELEVEL, "(objectClass=*)"),
    ("dc=com", ldap.SCOPE_SUBTREE, "(objectClass=*)"),
    ("dc=com", ldap.SCOPE_SUBORDINATE, "(objectClass=*)"),
    ("dc=example,dc=com", ldap.SCOPE_SUBTREE, "(cn=ann)"),
    ("", ldap.SCOPE_BASE, "(objectClass=*)"),
    ("", ldap.SCOPE_ONELEVEL, "(o=top)"),
    ("", ldap.SCOPE_ONELEVEL, "(ou=in)"),
    ("", ldap.SCOPE_SUBTREE, "(ou=*)"),
    ("", ldap.SCOPE_SUBTREE, "(&(objectClass=person)(sn=smith))"),
    (OTHER, ldap.SCOPE_SUBTREE, "(objectClass=*)"),
]


@pytest.mark.parametrize("base,scope,text", SEARCHES)
def test_searches_find_as_slapd_does(pando, slapd, base, scope, text):
    found = names(pando, base, scope, text)
    assert found == names(slapd, base, scope, text)
    assert found or text == "(ou=in)"


def test_a_subtree_of_the_root_has_all_backends_and_not_the_root_dse(pando):
    everything = names(pando)
    assert len(everything) == 7 and "" not in everything and OTHER in everything
    assert names(pando, scope=ldap.SCOPE_ONELEVEL) == ["dc=com", OTHER, "o=Top"]


def test_the_root_dse_names_the_contexts(pando, slapd):
    for con in (pando, slapd):
        ((_, entry),) = con.search_s("", ldap.SCOPE_BASE, attrlist=["namingContexts"])
        assert sorted(entry["namingContexts"]) == [b"", OTHER.encode()]


def test_an_entry_binds(whole):
    con = whole.connect(ANN, "secret12")
    assert con.whoami_s() == f"dn:{ANN}"
    con.unbind_s()


def test_names_of_the_server_stay_the_servers(tmp_path, ldif, pando):
    assert code(add, pando, "cn=monitor", {"objectClass": [b"device"]}) == 53
    assert code(pando.rename_s, "o=Top", "cn=monitor", delold=0) == 71
    assert code(pando.rename_s, "o=Top", "o=Top", newsuperior="cn=schema") == 71
    instance, file = made(tmp_path / "inst", ldif, other=False), tmp_path / "own.ldif"
    file.write_text("dn: cn=schema\nobjectClass: device\ncn: schema\n")
    append = ("import-ldif", "--backendID", "userRoot", "--ldifFile", file, "--offline", "--append")
    done = instance.tool(*append, check=False)
    assert done.returncode != 0 and 'entry "cn=schema": the name belongs to another backend' in done.stderr


def test_the_default_referral_is_never_used(whole, pando):
    url = "default-referral:ldap://other.example.com"
    whole.tool("dsconfig", "set-global-configuration-prop", "--add", url, "-n")
    assert code(names, pando, "dc=nowhere") == 32
    assert code(add, pando, "dc=x,dc=nowhere", DOMAIN) == 32


def test_pages(pando):
    control = ldap.controls.SimplePagedResultsControl(True, size=2, cookie="")
    found = []
    while True:
        message = pando.search_ext("", ldap.SCOPE_SUBTREE, attrlist=["1.1"], serverctrls=[control])
        _, entries, _, controls = pando.result3(message)
        found += [dn for dn, _ in entries]
        control.cookie = controls[0].cookie
        if not control.cookie:
            break
    assert sorted(found) == names(pando) and len(found) == 7


def test_export_and_import_again(tmp_path, ldif):
    instance = made(tmp_path / "inst", ldif, other=False)
    first, second = tmp_path / "first.ldif", tmp_path / "second.ldif"
    instance.tool("export-ldif", "--backendID", "userRoot", "--ldifFile", first, "--offline")
    assert first.read_text().count("dn: ") == 6
    instance.tool("import-ldif", "--backendID", "userRoot", "--ldifFile", first, "--offline")
    instance.tool("export-ldif", "--backendID", "userRoot", "--ldifFile", second, "--offline")
    assert first.read_text() == second.read_text()
    instance.tool("verify-index", "--baseDN", "")
    instance.tool("rebuild-index", "--baseDN", "", "--rebuildAll", "--offline")
    instance.tool("verify-index", "--baseDN", "")


def test_import_refuses_what_has_no_parent_or_belongs_to_another_backend(tmp_path, ldif):
    instance = made(tmp_path / "inst", ldif)
    file = tmp_path / "more.ldif"
    to_all = ("import-ldif", "--backendID", "userRoot", "--ldifFile", file, "--offline", "--append")
    for dn, said in (("dc=x,dc=nowhere", "has no parent"), (f"dc=x,{OTHER}", "belongs to another backend")):
        file.write_text(f"dn: {dn}\nobjectClass: domain\ndc: x\n")
        done = instance.tool(*to_all, check=False)
        assert done.returncode != 0 and said in done.stderr


def test_tools_show_the_empty_name(tmp_path, ldif):
    instance = made(tmp_path / "inst", ldif)
    assert '""' in instance.tool("backendstat", "list-base-dns", "--backendID", "userRoot").stdout
    assert '""' in instance.tool("status").stdout


def test_setup_makes_no_entry_of_the_empty_name(tmp_path):
    instance = Pando(tmp_path / "inst")
    words = ("setup", "--baseDN", "", "--rootUserDN", ROOT_DN, "--rootUserPassword", ROOT_PW, "--no-prompt")
    done = instance.tool(*words, "--addBaseEntry", check=False)
    assert done.returncode != 0 and "has no entry of its own" in done.stderr
    done = instance.tool(*words, "--baseDN", "dc=com", check=False)
    assert done.returncode != 0 and "give no other --baseDN" in done.stderr


def test_a_group_by_a_url_of_the_empty_name(pando):
    group = {"objectClass": [b"groupOfURLs"], "memberURL": [b"ldap:///??sub?(sn=Smith)"]}
    add(pando, "cn=smiths,dc=com", group)
    ((_, entry),) = pando.search_s(ANN, ldap.SCOPE_BASE, attrlist=["isMemberOf"])
    assert entry["isMemberOf"] == [b"cn=smiths,dc=com"]
    assert names(pando, text="(isMemberOf=cn=smiths,dc=com)") == [ANN]
    pando.delete_s("cn=smiths,dc=com")


def test_sorted_windows(pando):
    order = SSSRequestControl(ordering_rules=["ou:caseIgnoreOrderingMatch"])
    for scope, expected in ((ldap.SCOPE_SUBTREE, 2), (ldap.SCOPE_ONELEVEL, 0)):
        message = pando.search_ext("", scope, "(ou=*)", ["1.1"], serverctrls=[order])
        found = [dn for dn, _ in pando.result3(message)[1]]
        assert found == ["ou=in,o=Top", "ou=people,dc=example,dc=com"][:expected]


def test_an_empty_new_superior_moves_to_the_first_level(pando):
    """slapd answers success and leaves the entry where it is."""
    pando.rename_s("ou=people,dc=example,dc=com", "ou=people", newsuperior="")
    assert "cn=Ann,ou=people" in names(pando) and "ou=people" in names(pando, scope=ldap.SCOPE_ONELEVEL)
    pando.rename_s("ou=people", "ou=people", newsuperior="dc=example,dc=com")
    assert names(pando, ANN) == [ANN]


def test_changes_of_the_first_level_are_told(whole, pando):
    watcher = whole.connect()
    watch = Watch(watcher, base="", scope=ldap.SCOPE_ONELEVEL)
    started(whole, watch, pando)
    add(pando, "dc=watched", DOMAIN)
    add(pando, "dc=below,dc=watched", DOMAIN)
    pando.delete_s("dc=below,dc=watched")
    pando.delete_s("dc=watched")
    told = [(dn, notice.changeType) for dn, _, notice in watch.receive(2)]
    assert told == [("dc=watched", 1), ("dc=watched", 2)]
    watcher.unbind_s()


STEPS = [
    ("a parent that is missing", lambda con: add(con, "dc=sub,dc=net", DOMAIN), 32),
    ("an entry of one RDN", lambda con: add(con, "dc=net", DOMAIN), 0),
    ("the same again", lambda con: add(con, "DC=Net", DOMAIN), 68),
    ("below it", lambda con: add(con, "dc=sub,dc=net", DOMAIN), 0),
    ("modify", lambda con: con.modify_s("dc=net", [(ldap.MOD_ADD, "description", b"x")]), 0),
    ("compare", lambda con: con.compare_s("dc=net", "description", b"x"), 0),
    ("compare of none", lambda con: con.compare_s("dc=none", "description", b"x"), 32),
    ("rename of a top entry", lambda con: con.rename_s("o=Top", "o=Peak"), 0),
    ("to a name that is taken", lambda con: con.rename_s("o=Peak", "dc=com", delold=0), 68),
    ("to the same name", lambda con: con.rename_s("o=Peak", "o=PEAK"), 0),
    ("a top entry goes down", lambda con: con.rename_s("o=Peak", "o=Peak", newsuperior="dc=net"), 0),
    ("below itself", lambda con: con.rename_s("dc=net", "dc=net", newsuperior="dc=sub,dc=net"), 53),
    ("to another backend", lambda con: con.rename_s("dc=net", "dc=net", newsuperior=OTHER), 71),
    ("from another backend", lambda con: con.rename_s(OTHER, "dc=other", newsuperior="dc=net"), 71),
    ("delete with children", lambda con: con.delete_s("dc=net"), 66),
    ("delete", lambda con: con.delete_s("ou=in,o=peak,dc=net"), 0),
    ("delete of a top entry", lambda con: (add(con, "dc=brief", DOMAIN), con.delete_s("dc=brief")), 0),
    ("it is gone", lambda con: con.delete_s("dc=brief"), 32),
    ("above the other backend", lambda con: add(con, "dc=org", DOMAIN), 0),
    ("beside the other backend", lambda con: add(con, "dc=third,dc=org", DOMAIN), 0),
    ("the name of the other backend", lambda con: con.rename_s("dc=third,dc=org", "dc=other"), 71),
    ("below the other backend", lambda con: add(con, f"ou=x,{OTHER}", UNIT), 0),
    ("modify of the root DSE", lambda con: con.modify_s("", [(ldap.MOD_ADD, "description", b"x")]), 53),
    ("delete of the root DSE", lambda con: con.delete_s(""), 53),
    ("rename of the root DSE", lambda con: con.rename_s("", "o=x"), 53),
    ("search of none", lambda con: names(con, "dc=nowhere"), 32),
    ("search below none", lambda con: names(con, "ou=x,dc=nowhere"), 32),
]


def test_updates_answer_as_slapd_does(pando, slapd):
    for title, step, expected in STEPS:
        assert (title, code(step, pando)) == (title, expected)
        assert (title, code(step, slapd)) == (title, expected)
        for scope in (ldap.SCOPE_ONELEVEL, ldap.SCOPE_SUBTREE, ldap.SCOPE_SUBORDINATE):
            assert (title, own(names(pando, scope=scope))) == (title, own(names(slapd, scope=scope)))
