"""python-ldap (libldap, the client of most Unix programs) drives every operation of RFC 4511."""

import ldap
import ldap.controls
import ldap.extop
import ldap.modlist
import ldap.schema
import pytest
from ldap.controls.libldap import AssertionControl
from ldap.controls.readentry import PostReadControl, PreReadControl
from ldap.controls.simple import ValueLessRequestControl
from pando_server import BASE, ROOT_DN, ROOT_PW, connect

PEOPLE = f"ou=People,{BASE}"


@pytest.fixture(scope="module")
def root(server):
    con = server.connect()
    yield con
    con.unbind_s()


def person(uid, **more):
    attrs = {
        "objectClass": ["top", "person", "organizationalPerson", "inetOrgPerson"],
        "uid": [uid],
        "cn": [f"Cn of {uid}"],
        "sn": ["Testling"],
    }
    attrs.update(more)
    return [(k, [v.encode() if isinstance(v, str) else v for v in vs]) for k, vs in attrs.items()]


def entries(result):
    """Without the continuation reference that every search over the whole directory gives."""
    return [(dn, attrs) for dn, attrs in result if dn]


def names(result):
    return sorted(dn for dn, _ in result if dn)


# ---- bind


def test_simple_bind_as_root_and_as_user(server):
    assert server.connect().whoami_s() == f"dn:{ROOT_DN}"
    user = f"uid=user.3,{PEOPLE}"
    assert server.connect(user, "password").whoami_s().lower() == f"dn:{user}".lower()


def test_anonymous_is_nobody(server):
    con = server.connect("", "")
    assert con.whoami_s() in ("", None)


@pytest.mark.parametrize(
    "dn,pw,error",
    [
        (f"uid=user.3,{PEOPLE}", "wrong", ldap.INVALID_CREDENTIALS),
        (f"uid=nobody,{PEOPLE}", "password", ldap.INVALID_CREDENTIALS),
        (ROOT_DN, "wrong", ldap.INVALID_CREDENTIALS),
        ("not a dn", "x", (ldap.INVALID_DN_SYNTAX, ldap.INVALID_CREDENTIALS)),
        (f"uid=user.3,{PEOPLE}", "", ldap.UNWILLING_TO_PERFORM),
    ],
)
def test_refused_binds(server, dn, pw, error):
    with pytest.raises(error):
        server.connect(dn, pw)


def test_a_failed_bind_leaves_the_connection_anonymous(server):
    con = server.connect()
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        con.simple_bind_s(ROOT_DN, "wrong")
    assert con.whoami_s() in ("", None)


# ---- search


@pytest.mark.parametrize(
    "scope,count",
    [(ldap.SCOPE_BASE, 1), (ldap.SCOPE_ONELEVEL, 20), (ldap.SCOPE_SUBTREE, 21), (ldap.SCOPE_SUBORDINATE, 20)],
)
def test_scopes(root, scope, count):
    assert len(root.search_s(PEOPLE, scope, "(objectClass=*)", ["1.1"])) == count


@pytest.mark.parametrize(
    "filterstr,uids",
    [
        ("(uid=user.7)", [7]),
        ("(UID=USER.7)", [7]),
        ("(2.5.4.4=oakhurst)", [14]),
        ("(sn=*hurst)", [14]),
        ("(sn=oak*)", [14]),
        ("(sn=*akhur*)", [14]),
        ("(sn=o*k*t)", [14]),
        ("(&(l=Grove)(title=Gardener))", [3, 9, 15]),
        ("(|(uid=user.1)(uid=user.2)(uid=user.99))", [1, 2]),
        ("(&(objectClass=person)(!(title=Forester))(l=Meadow))", [1, 7, 13, 19]),
        ("(employeeNumber>=8)", None),
        ("(&(uid>=user.18)(uid<=user.19))", [18, 19]),
        ("(telephoneNumber=+15550107)", [7]),
        ("(telephoneNumber=*5550107)", [7]),
        ("(cn=Nils   nettlefold)", [13]),
        ("(cn~=Neels Nettlefold)", [13]),
        ("(uid:caseExactMatch:=user.4)", [4]),
        ("(uid:caseExactMatch:=USER.4)", []),
        ("(:dn:2.5.13.2:=people)", None),
        ("(&(ou:dn:=People)(uid=user.5))", [5]),
        ("(foo=bar)", []),
        ("(!(foo=bar))", []),
        ("(&)", None),
        ("(uid=user.\\35)", [5]),
        ("(description=*leaves)", [1, 5, 9, 13, 17]),
    ],
)
def test_filters(root, filterstr, uids):
    found = root.search_s(PEOPLE, ldap.SCOPE_SUBTREE, filterstr, ["uid"])
    if uids is None:
        assert found
    else:
        assert sorted(int(a["uid"][0][5:]) for _, a in found) == uids


def test_attribute_selection(root):
    dn = f"uid=user.2,{PEOPLE}"

    def get(*attrs, **kw):
        return root.search_ext_s(dn, ldap.SCOPE_BASE, attrlist=list(attrs), **kw)[0][1]

    assert set(get("cn", "SN")) == {"cn", "sn"}
    assert get("1.1") == {}
    everything = get("*")
    assert "userPassword" in everything and "entryUUID" not in everything
    operational = get("+")
    assert {
        "entryUUID",
        "entryDN",
        "subschemaSubentry",
        "structuralObjectClass",
        "hasSubordinates",
        "numSubordinates",
    } <= set(operational)
    assert operational["structuralObjectClass"] == [b"inetOrgPerson"]
    assert operational["entryDN"] == [dn.encode()]
    assert "cn" not in operational
    assert set(get("@person")) == {"objectClass", "cn", "sn", "userPassword", "telephoneNumber", "description"}
    types = root.search_ext_s(dn, ldap.SCOPE_BASE, attrlist=["cn"], attrsonly=1)[0][1]
    assert types == {"cn": []}


def test_options_and_subtypes(root):
    dn = f"cn=tagged,ou=Strange,{BASE}"
    assert set(root.search_s(dn, ldap.SCOPE_BASE, attrlist=["cn"])[0][1]) == {"cn", "cn;lang-de", "cn;lang-fr"}
    assert set(root.search_s(dn, ldap.SCOPE_BASE, attrlist=["cn;lang-de"])[0][1]) == {"cn;lang-de"}
    assert names(root.search_s(BASE, ldap.SCOPE_SUBTREE, "(cn;lang-de=markiert)", ["1.1"])) == [dn]
    # name is the supertype of cn, sn, l …
    assert names(root.search_s(BASE, ldap.SCOPE_SUBTREE, "(name=Oakhurst)", ["1.1"])) == [f"uid=user.14,{PEOPLE}"]


def test_strange_names(root):
    for filterstr in ("(sn=blåbär)", '(cn=Comma, Plus+ Quote" Hash#)', "(&(cn=multi)(sn=valued))"):
        found = entries(root.search_s(BASE, ldap.SCOPE_SUBTREE, filterstr, ["cn"]))
        assert len(found) == 1
        assert root.search_s(found[0][0], ldap.SCOPE_BASE, attrlist=["cn"]) == found
    assert root.search_s(f"SN=valued + CN=Multi , OU=strange,{BASE}", ldap.SCOPE_BASE)
    assert root.search_s(f"2.5.4.3=multi+2.5.4.4=valued,ou=strange,{BASE}", ldap.SCOPE_BASE)


def test_size_limit(root):
    with pytest.raises(ldap.SIZELIMIT_EXCEEDED):
        root.search_ext_s(PEOPLE, ldap.SCOPE_ONELEVEL, sizelimit=5)
    assert len(root.search_ext_s(PEOPLE, ldap.SCOPE_ONELEVEL, sizelimit=20)) == 20


def test_no_such_object_names_the_matched_dn(root):
    with pytest.raises(ldap.NO_SUCH_OBJECT) as e:
        root.search_s(f"cn=x,cn=y,{PEOPLE}", ldap.SCOPE_BASE)
    assert e.value.args[0]["matched"].lower() == PEOPLE.lower()


def test_referral_is_given_for_and_below_a_referral_object(server):
    con = server.connect()
    with pytest.raises(ldap.REFERRAL):
        con.search_s(f"cn=x,ou=elsewhere,ou=Strange,{BASE}", ldap.SCOPE_BASE)
    found = con.search_s(f"ou=Strange,{BASE}", ldap.SCOPE_SUBTREE, "(objectClass=referral)")
    assert [dn for dn, _ in found] == [None], "a continuation reference and no entry"
    manage = ldap.controls.simple.ManageDSAITControl(True)
    found = con.search_ext_s(f"ou=Strange,{BASE}", ldap.SCOPE_SUBTREE, "(objectClass=referral)", serverctrls=[manage])
    assert names(found) == [f"ou=elsewhere,ou=Strange,{BASE}"]


@pytest.mark.parametrize(
    "deref,base,scope,expect",
    [
        (
            ldap.DEREF_NEVER,
            f"cn=alias to user 3,ou=Strange,{BASE}",
            ldap.SCOPE_BASE,
            f"cn=alias to user 3,ou=Strange,{BASE}",
        ),
        (ldap.DEREF_FINDING, f"cn=alias to user 3,ou=Strange,{BASE}", ldap.SCOPE_BASE, f"uid=user.3,{PEOPLE}"),
        (ldap.DEREF_SEARCHING, f"ou=Strange,{BASE}", ldap.SCOPE_ONELEVEL, f"uid=user.3,{PEOPLE}"),
        (ldap.DEREF_ALWAYS, f"ou=Strange,{BASE}", ldap.SCOPE_SUBTREE, f"uid=user.3,{PEOPLE}"),
    ],
)
def test_aliases(server, deref, base, scope, expect):
    con = server.connect()
    con.set_option(ldap.OPT_DEREF, deref)
    assert expect in names(con.search_s(base, scope, "(|(uid=user.3)(objectClass=alias))"))


# ---- what the server says of itself


def test_root_dse(server):
    con = server.connect("", "")
    dse = con.search_s("", ldap.SCOPE_BASE, "(objectClass=*)", ["*", "+"])[0][1]
    assert dse["namingContexts"] == [BASE.encode()]
    assert dse["supportedLDAPVersion"] == [b"3"] or b"3" in dse["supportedLDAPVersion"]
    assert {b"1.3.6.1.1.8", b"1.3.6.1.4.1.1466.20037", b"1.3.6.1.4.1.4203.1.11.1", b"1.3.6.1.4.1.4203.1.11.3"} <= set(
        dse["supportedExtension"]
    )
    assert {b"1.3.6.1.1.14", b"1.3.6.1.4.1.4203.1.5.1", b"1.3.6.1.4.1.4203.1.5.2", b"1.3.6.1.4.1.4203.1.5.3"} <= set(
        dse["supportedFeatures"]
    )
    assert {
        b"2.16.840.1.113730.3.4.2",
        b"1.2.840.113556.1.4.805",
        b"1.3.6.1.1.12",
        b"1.3.6.1.1.13.1",
        b"1.3.6.1.1.13.2",
    } <= set(dse["supportedControl"])
    assert dse["subschemaSubentry"] == [b"cn=schema"]


def test_schema_is_read_by_the_client(server):
    dn, schema = ldap.schema.urlfetch(f"{server.url}/cn=schema")
    assert dn == "cn=schema"
    assert schema.get_obj(ldap.schema.AttributeType, "cn").sup == ("name",)
    assert "sn" in schema.get_obj(ldap.schema.ObjectClass, "person").must
    must, _ = schema.attribute_types(["inetOrgPerson"])
    assert {"sn", "cn", "objectClass"} <= {n for a in must.values() for n in a.names}
    assert len(schema.listall(ldap.schema.MatchingRule)) > 40 and len(schema.listall(ldap.schema.LDAPSyntax)) > 40


def test_anonymous_reads_only_the_root_dse_and_the_schema(server):
    con = server.connect("", "")
    for base in (PEOPLE, f"ou=nowhere,{BASE}"):
        with pytest.raises(ldap.NO_SUCH_OBJECT) as refused:
            con.search_s(base, ldap.SCOPE_BASE)
        assert "matched" not in refused.value.args[0]
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        con.search_s(BASE, ldap.SCOPE_SUBTREE, "(uid=user.1)")


def test_a_user_reads_everything_but_passwords(server):
    con = server.connect(f"uid=user.3,{PEOPLE}", "password")
    entry = con.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(uid=user.4)", ["*"])[0][1]
    assert "mail" in entry and "userPassword" not in entry
    assert con.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(&(uid=user.4)(userPassword=*))") == []


# ---- add, delete


def test_add_read_delete(root):
    dn = f"uid=new.1,{PEOPLE}"
    root.add_s(dn, person("new.1", mail=["new.1@example.com"]))
    entry = root.search_s(dn, ldap.SCOPE_BASE, attrlist=["*", "+"])[0][1]
    assert entry["mail"] == [b"new.1@example.com"]
    assert entry["creatorsName"] == entry["modifiersName"] == [ROOT_DN.encode()]
    assert {"createTimestamp", "modifyTimestamp", "entryCSN"} <= set(entry)
    assert names(root.search_s(BASE, ldap.SCOPE_SUBTREE, "(mail=new.1@example.com)")) == [dn]
    root.delete_s(dn)
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        root.search_s(dn, ldap.SCOPE_BASE)
    assert entries(root.search_s(BASE, ldap.SCOPE_SUBTREE, "(mail=new.1@example.com)")) == []


@pytest.mark.parametrize(
    "dn,attrs,error",
    [
        (f"uid=user.1,{PEOPLE}", person("user.1"), ldap.ALREADY_EXISTS),
        (f"uid=x,ou=Missing,{BASE}", person("x"), ldap.NO_SUCH_OBJECT),
        (f"uid=x,{PEOPLE}", [("objectClass", [b"top", b"person"]), ("cn", [b"x"])], ldap.OBJECT_CLASS_VIOLATION),
        (f"uid=x,{PEOPLE}", person("x", nonsense=["1"]), (ldap.UNDEFINED_TYPE, ldap.OBJECT_CLASS_VIOLATION)),
        (f"uid=x,{PEOPLE}", person("x", memberUid=["1"]), ldap.OBJECT_CLASS_VIOLATION),
        (f"uid=x,{PEOPLE}", person("x", seeAlso=["not a dn"]), ldap.INVALID_SYNTAX),
        (f"uid=x,{PEOPLE}", person("x", preferredLanguage=["de", "fr"]), ldap.CONSTRAINT_VIOLATION),
        (f"uid=x,{PEOPLE}", person("x", cn=["a", "A"]), ldap.TYPE_OR_VALUE_EXISTS),
        (f"uid=x,{PEOPLE}", person("x", createTimestamp=["20200101000000Z"]), ldap.CONSTRAINT_VIOLATION),
        (f"uid=x,{PEOPLE}", [("objectClass", [b"top"]), ("cn", [b"x"])], ldap.OBJECT_CLASS_VIOLATION),
        (
            f"uid=x,{PEOPLE}",
            [("objectClass", [b"nosuchclass"]), ("cn", [b"x"])],
            (ldap.OBJECT_CLASS_VIOLATION, ldap.UNDEFINED_TYPE, ldap.INVALID_SYNTAX),
        ),
        (
            "dc=elsewhere,dc=org",
            [("objectClass", [b"domain"]), ("dc", [b"elsewhere"])],
            (ldap.NO_SUCH_OBJECT, ldap.UNWILLING_TO_PERFORM, ldap.REFERRAL),
        ),
    ],
)
def test_refused_adds_change_nothing(root, dn, attrs, error):
    before = names(root.search_s(BASE, ldap.SCOPE_SUBTREE))
    with pytest.raises(error):
        root.add_s(dn, attrs)
    assert names(root.search_s(BASE, ldap.SCOPE_SUBTREE)) == before


def test_the_naming_value_is_added_when_absent(root):
    dn = f"uid=new.2,{PEOPLE}"
    root.add_s(dn, [a for a in person("new.2") if a[0] != "uid"])
    assert root.search_s(dn, ldap.SCOPE_BASE, attrlist=["uid"])[0][1] == {"uid": [b"new.2"]}
    root.delete_s(dn)


def test_delete_of_a_parent_needs_the_subtree_control(root):
    top = f"ou=Doomed,{BASE}"
    root.add_s(top, [("objectClass", [b"organizationalUnit"]), ("ou", [b"Doomed"])])
    for i in range(30):
        root.add_s(f"uid=d.{i},{top}", person(f"d.{i}"))
    with pytest.raises(ldap.NOT_ALLOWED_ON_NONLEAF):
        root.delete_s(top)
    assert len(root.search_s(top, ldap.SCOPE_SUBTREE)) == 31
    root.delete_ext_s(top, serverctrls=[ValueLessRequestControl("1.2.840.113556.1.4.805", True)])
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        root.search_s(top, ldap.SCOPE_BASE)
    assert entries(root.search_s(BASE, ldap.SCOPE_SUBTREE, "(uid=d.7)")) == []


# ---- modify


def test_modify_add_delete_replace_increment(root):
    dn = f"uid=user.11,{PEOPLE}"
    root.modify_s(
        dn,
        [
            (ldap.MOD_ADD, "description", [b"two", b"three"]),
            (ldap.MOD_REPLACE, "title", [b"Arborist"]),
            (ldap.MOD_DELETE, "l", None),
        ],
    )
    entry = root.search_s(dn, ldap.SCOPE_BASE)[0][1]
    assert len(entry["description"]) == 3 and entry["title"] == [b"Arborist"] and "l" not in entry
    root.modify_s(
        dn,
        [
            (ldap.MOD_DELETE, "description", [b"TWO"]),
            (ldap.MOD_REPLACE, "title", None),
            (ldap.MOD_REPLACE, "roomNumber", None),
        ],
    )
    entry = root.search_s(dn, ldap.SCOPE_BASE)[0][1]
    assert len(entry["description"]) == 2 and "title" not in entry
    assert entries(root.search_s(BASE, ldap.SCOPE_SUBTREE, "(title=Arborist)")) == []


def test_increment(root):
    dn = f"uid=count.1,{PEOPLE}"
    root.add_s(
        dn,
        person(
            "count.1",
            objectClass=["top", "person", "organizationalPerson", "inetOrgPerson", "posixAccount"],
            uidNumber=["1000"],
            gidNumber=["5"],
            homeDirectory=["/home/count"],
        ),
    )
    root.modify_s(dn, [(ldap.MOD_INCREMENT, "uidNumber", [b"5"]), (ldap.MOD_INCREMENT, "gidNumber", [b"-7"])])
    entry = root.search_s(dn, ldap.SCOPE_BASE)[0][1]
    assert entry["uidNumber"] == [b"1005"] and entry["gidNumber"] == [b"-2"]
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        root.modify_s(dn, [(ldap.MOD_INCREMENT, "cn", [b"1"])])
    root.delete_s(dn)


@pytest.mark.parametrize(
    "mods,error",
    [
        ([(ldap.MOD_ADD, "cn", [b"Ada Ashgrove"])], ldap.TYPE_OR_VALUE_EXISTS),
        ([(ldap.MOD_DELETE, "cn", [b"not there"])], ldap.NO_SUCH_ATTRIBUTE),
        ([(ldap.MOD_DELETE, "roomNumber", None)], ldap.NO_SUCH_ATTRIBUTE),
        ([(ldap.MOD_DELETE, "sn", None)], ldap.OBJECT_CLASS_VIOLATION),
        ([(ldap.MOD_DELETE, "uid", [b"user.0"])], ldap.NOT_ALLOWED_ON_RDN),
        ([(ldap.MOD_REPLACE, "uid", [b"other"])], ldap.NOT_ALLOWED_ON_RDN),
        ([(ldap.MOD_REPLACE, "entryUUID", [b"2b5ac0aa-0000-4000-8000-000000000000"])], ldap.CONSTRAINT_VIOLATION),
        (
            [(ldap.MOD_REPLACE, "objectClass", [b"top", b"device"])],
            ldap.OBJECT_CLASS_MODS_PROHIBITED
            if hasattr(ldap, "OBJECT_CLASS_MODS_PROHIBITED")
            else ldap.NO_OBJECT_CLASS_MODS,
        ),
        ([(ldap.MOD_ADD, "member", [f"{BASE}".encode()])], ldap.OBJECT_CLASS_VIOLATION),
        ([(ldap.MOD_ADD, "secretary", [b"nonsense"])], ldap.INVALID_SYNTAX),
        ([(ldap.MOD_ADD, "description", [b"kept out"]), (ldap.MOD_DELETE, "roomNumber", None)], ldap.NO_SUCH_ATTRIBUTE),
    ],
)
def test_refused_modifies_change_nothing(root, mods, error):
    dn = f"uid=user.0,{PEOPLE}"
    before = root.search_s(dn, ldap.SCOPE_BASE, attrlist=["*", "+"])
    with pytest.raises(error):
        root.modify_s(dn, mods)
    assert root.search_s(dn, ldap.SCOPE_BASE, attrlist=["*", "+"]) == before


def test_a_modify_is_judged_on_its_final_state(root):
    dn = f"uid=user.12,{PEOPLE}"
    sn = root.search_s(dn, ldap.SCOPE_BASE, attrlist=["sn"])[0][1]["sn"]
    root.modify_s(
        dn,
        [
            (ldap.MOD_DELETE, "sn", None),
            (ldap.MOD_ADD, "sn", [b"Between"]),
            (ldap.MOD_DELETE, "sn", [b"Between"]),
            (ldap.MOD_ADD, "sn", sn),
        ],
    )
    assert root.search_s(dn, ldap.SCOPE_BASE, attrlist=["sn"])[0][1]["sn"] == sn


def test_no_such_object_on_modify(root):
    with pytest.raises(ldap.NO_SUCH_OBJECT) as e:
        root.modify_s(f"uid=none,{PEOPLE}", [(ldap.MOD_ADD, "description", [b"x"])])
    assert e.value.args[0]["matched"].lower() == PEOPLE.lower()


# ---- modify DN


def test_rename_with_and_without_the_old_value(root):
    root.add_s(f"uid=ren.1,{PEOPLE}", person("ren.1"))
    root.rename_s(f"uid=ren.1,{PEOPLE}", "uid=ren.2", delold=0)
    assert sorted(root.search_s(f"uid=ren.2,{PEOPLE}", ldap.SCOPE_BASE, attrlist=["uid"])[0][1]["uid"]) == [
        b"ren.1",
        b"ren.2",
    ]
    root.rename_s(f"uid=ren.2,{PEOPLE}", "uid=ren.3", delold=1)
    assert sorted(root.search_s(f"uid=ren.3,{PEOPLE}", ldap.SCOPE_BASE, attrlist=["uid"])[0][1]["uid"]) == [
        b"ren.1",
        b"ren.3",
    ]
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        root.search_s(f"uid=ren.2,{PEOPLE}", ldap.SCOPE_BASE)
    root.rename_s(f"uid=ren.3,{PEOPLE}", "uid=REN.3", delold=1)
    assert names(root.search_s(PEOPLE, ldap.SCOPE_SUBTREE, "(uid=ren.3)")) == [f"uid=REN.3,{PEOPLE}"]
    root.delete_s(f"uid=ren.3,{PEOPLE}")


def test_a_subtree_moves(root):
    a, b = f"ou=A,{BASE}", f"ou=B,{BASE}"
    for ou in (a, b):
        root.add_s(ou, [("objectClass", [b"organizationalUnit"])])
    inner = f"ou=Inner,{a}"
    root.add_s(inner, [("objectClass", [b"organizationalUnit"])])
    root.add_s(f"uid=deep,{inner}", person("deep"))
    root.rename_s(inner, "ou=Moved", newsuperior=b, delold=1)
    assert names(root.search_s(b, ldap.SCOPE_SUBTREE, "(uid=deep)")) == [f"uid=deep,ou=Moved,{b}"]
    assert root.search_s(a, ldap.SCOPE_SUBTREE, "(uid=deep)") == []
    assert names(root.search_s(BASE, ldap.SCOPE_SUBTREE, f"(entryDN=uid=deep,ou=Moved,{b})")) == [
        f"uid=deep,ou=Moved,{b}"
    ]
    with pytest.raises(ldap.UNWILLING_TO_PERFORM):
        root.rename_s(b, "ou=B", newsuperior=f"ou=Moved,{b}")
    with pytest.raises(ldap.ALREADY_EXISTS):
        root.rename_s(b, "ou=A")
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        root.rename_s(f"ou=Moved,{b}", "ou=Moved", newsuperior=f"ou=None,{BASE}")
    for ou in (a, b):
        root.delete_ext_s(ou, serverctrls=[ValueLessRequestControl("1.2.840.113556.1.4.805", True)])


# ---- compare, extended operations, controls


def test_compare(root):
    dn = f"uid=user.5,{PEOPLE}"
    assert root.compare_s(dn, "mail", b"USER.5@example.com") is True
    assert root.compare_s(dn, "mail", b"other@example.com") is False
    with pytest.raises(ldap.NO_SUCH_ATTRIBUTE):
        root.compare_s(dn, "roomNumber", b"1")
    with pytest.raises(ldap.UNDEFINED_TYPE):
        root.compare_s(dn, "nonsense", b"1")
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        root.compare_s(f"uid=none,{PEOPLE}", "mail", b"1")


def test_password_modify(server):
    dn = f"uid=user.16,{PEOPLE}"
    user = server.connect(dn, "password")
    user.passwd_s(None, "password", "changed1")
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        server.connect(dn, "password")
    server.connect(dn, "changed1")
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        user.passwd_s(None, "wrong", "changed2")
    _, generated = server.connect().passwd_s(dn, None, None, extract_newpw=True)
    server.connect(dn, generated.genPasswd.decode() if isinstance(generated.genPasswd, bytes) else generated.genPasswd)
    stored = server.connect().search_s(dn, ldap.SCOPE_BASE, attrlist=["userPassword"])[0][1]["userPassword"]
    assert len(stored) == 1 and stored[0].startswith(b"{") and b"changed" not in stored[0]


def test_a_user_may_change_only_the_own_password(server):
    user = server.connect(f"uid=user.17,{PEOPLE}", "password")
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        user.passwd_s(f"uid=user.18,{PEOPLE}", None, "stolen")
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        user.modify_s(f"uid=user.17,{PEOPLE}", [(ldap.MOD_REPLACE, "title", [b"Boss"])])
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        user.add_s(f"uid=x,{PEOPLE}", person("x"))
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        user.delete_s(f"uid=user.18,{PEOPLE}")
    user.modify_s(f"uid=user.17,{PEOPLE}", [(ldap.MOD_REPLACE, "userPassword", [b"mine"])])
    server.connect(f"uid=user.17,{PEOPLE}", "mine")


def test_pre_and_post_read(root):
    dn = f"uid=user.6,{PEOPLE}"
    pre, post = (
        PreReadControl(criticality=True, attrList=["title"]),
        PostReadControl(criticality=True, attrList=["title", "modifiersName"]),
    )
    msgid = root.modify_ext(dn, [(ldap.MOD_REPLACE, "title", [b"Ranger"])], serverctrls=[pre, post])
    _, _, _, controls = root.result3(msgid)
    got = {c.controlType: c for c in controls}
    assert got[PreReadControl.controlType].entry == {"title": ["Forester"]} or got[
        PreReadControl.controlType
    ].entry == {"title": [b"Forester"]}
    after = got[PostReadControl.controlType].entry
    assert after["title"] in (["Ranger"], [b"Ranger"]) and "modifiersName" in after


def test_assertion_control(root):
    dn = f"uid=user.6,{PEOPLE}"
    with pytest.raises(ldap.ASSERTION_FAILED):
        root.modify_ext_s(
            dn, [(ldap.MOD_REPLACE, "title", [b"No"])], serverctrls=[AssertionControl(True, "(sn=Wrong)")]
        )
    root.modify_ext_s(
        dn, [(ldap.MOD_REPLACE, "title", [b"Yes"])], serverctrls=[AssertionControl(True, "(sn=Gorsewood)")]
    )


def test_unknown_critical_controls_are_refused(root):
    with pytest.raises(ldap.UNAVAILABLE_CRITICAL_EXTENSION):
        root.search_ext_s(BASE, ldap.SCOPE_BASE, serverctrls=[ValueLessRequestControl("1.2.3.4.5.6.7", True)])
    assert root.search_ext_s(BASE, ldap.SCOPE_BASE, serverctrls=[ValueLessRequestControl("1.2.3.4.5.6.7", False)])


def test_unknown_extended_operation(root):
    with pytest.raises(ldap.PROTOCOL_ERROR):
        root.extop_s(ldap.extop.ExtendedRequest("1.2.3.4.5.6.7", b""))


def test_abandon_and_cancel(root):
    root.abandon(root.search(BASE, ldap.SCOPE_SUBTREE))
    assert root.whoami_s() == f"dn:{ROOT_DN}"
    with pytest.raises(ldap.NO_SUCH_OPERATION):
        root.cancel_s(12345)


def test_start_tls_and_ldaps(server):
    con = ldap.initialize(server.url)
    con.set_option(ldap.OPT_X_TLS_REQUIRE_CERT, ldap.OPT_X_TLS_NEVER)
    con.set_option(ldap.OPT_X_TLS_NEWCTX, 0)
    con.start_tls_s()
    con.simple_bind_s(ROOT_DN, ROOT_PW)
    assert con.whoami_s() == f"dn:{ROOT_DN}"
    con = connect(server.tls_url)
    assert len(con.search_s(PEOPLE, ldap.SCOPE_ONELEVEL)) >= 20


# ---- schema changes

ATTRIBUTE = (
    "( 1.3.6.1.4.1.32473.1.1 NAME 'treeHeight' EQUALITY integerMatch ORDERING integerOrderingMatch"
    " SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE X-ORIGIN 'user defined' )"
)
CLASS = "( 1.3.6.1.4.1.32473.2.1 NAME 'treeKeeper' SUP top AUXILIARY MAY treeHeight X-ORIGIN 'user defined' )"


def test_schema_is_extended_over_ldap(root):
    root.modify_s(
        "cn=schema",
        [(ldap.MOD_ADD, "attributeTypes", [ATTRIBUTE.encode()]), (ldap.MOD_ADD, "objectClasses", [CLASS.encode()])],
    )
    dn = f"uid=keeper.1,{PEOPLE}"
    root.add_s(
        dn,
        person(
            "keeper.1",
            objectClass=["top", "person", "organizationalPerson", "inetOrgPerson", "treeKeeper"],
            treeHeight=["42"],
        ),
    )
    assert names(root.search_s(BASE, ldap.SCOPE_SUBTREE, "(treeHeight>=40)")) == [dn]
    with pytest.raises(ldap.INVALID_SYNTAX):
        root.modify_s(dn, [(ldap.MOD_REPLACE, "treeHeight", [b"tall"])])
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        root.modify_s("cn=schema", [(ldap.MOD_DELETE, "attributeTypes", [ATTRIBUTE.encode()])])
    root.delete_s(dn)
    root.modify_s("cn=schema", [(ldap.MOD_DELETE, "objectClasses", [CLASS.encode()])])
    root.modify_s("cn=schema", [(ldap.MOD_DELETE, "attributeTypes", [ATTRIBUTE.encode()])])


def test_monitor_is_for_root(server, root):  # S2-14
    entries = root.search_s("cn=monitor", ldap.SCOPE_SUBTREE, "(objectClass=*)", ["*", "+"])
    assert any(dn.lower() == "cn=monitor" for dn, _ in entries)
    user = server.connect(f"uid=user.3,{PEOPLE}", "password")
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        user.search_s("cn=monitor", ldap.SCOPE_BASE)
