"""The same data and the same questions to OpenLDAP's slapd: the answers must be the same, or the difference is
explained here."""

import ldap
import ldap.dn
import pytest
from pando_server import BASE
from slapd_server import connect, slapd_url

PEOPLE = f"ou=People,{BASE}"
DATABASE = """
index objectClass,uid,mail,member eq
index cn,sn eq,sub,approx
access to * by users read by * none
"""


@pytest.fixture(scope="module")
def slapd(tmp_path_factory):
    with slapd_url(tmp_path_factory.mktemp("slapd"), DATABASE, server="sizelimit unlimited") as url:
        yield connect(url)


@pytest.fixture(scope="module")
def pando(server):
    return server.connect()


def answer(con, base, scope, filterstr, attrs):
    """A result that can be compared: names parsed, attribute types in lower case, values sorted; else the result code.

    userPassword is left out: slapd keeps what the LDIF file has, Pando hashes it at import as OpenDJ does.
    """
    try:
        found = con.search_s(base, scope, filterstr, attrs)
    except ldap.LDAPError as e:
        return e.args[0].get("result", type(e).__name__)

    def name(dn):
        return str([sorted((kind.lower(), value.lower()) for kind, value, _ in rdn) for rdn in ldap.dn.str2dn(dn)])

    entries = [
        (name(dn), sorted((k.lower(), sorted(v)) for k, v in a.items() if k != "userPassword")) for dn, a in found if dn
    ]
    return sorted(entries) + ["reference" for dn, _ in found if not dn]


FILTERS = [
    "(objectClass=*)",
    "(objectClass=person)",
    "(objectClass=2.5.6.6)",
    "(objectclass=ORGANIZATIONALunit)",
    "(uid=user.1)",
    "(uid=USER.1)",
    "(uid=user.*)",
    "(uid=*1*)",
    "(uid=*.1?)",
    "(cn=a*)",
    "(cn=*a)",
    "(cn=*an*)",
    "(cn=* *)",
    "(cn=*  *)",
    "(sn=b*h*y)",
    "(cn=nils nettlefold)",
    "(cn=  nils    nettlefold  )",
    "(mail=USER.3@EXAMPLE.COM)",
    "(mail=*example*)",
    "(telephoneNumber=+1-555-0105)",
    "(telephoneNumber=+1 5550105)",
    "(telephoneNumber=*5550*)",
    "(&(l=Grove)(!(title=Gardener)))",
    "(|(l=Grove)(l=Meadow))",
    "(!(objectClass=person))",
    "(!(l=Grove))",
    "(&(objectClass=person)(|(sn=a*)(sn=*e))(!(uid=user.4)))",
    "(&)",
    "(|)",
    "(!(&))",
    "(nosuch=1)",
    "(!(nosuch=1))",
    "(|(nosuch=1)(uid=user.1))",
    "(&(nosuch=1)(uid=user.1))",
    "(!(|(nosuch=1)(uid=user.1)))",
    "(employeeNumber=07)",
    "(employeeNumber=7)",
    "(member=uid=user.3,ou=people,dc=example,dc=com)",
    "(member=UID=User.3 , OU=People,DC=example,DC=com)",
    "(member=garbage)",
    "(uniqueMember=uid=user.4,ou=People,dc=example,dc=com)",
    "(cn;lang-de=markiert)",
    "(cn=markiert)",
    "(name=Oakhurst)",
    "(description=*leaves*)",
    "(description;lang-de=*)",
    "(description=*)",
    "(cn:caseExactMatch:=Nils Nettlefold)",
    "(cn:caseExactMatch:=nils nettlefold)",
    "(cn:2.5.13.2:=nils nettlefold)",
    "(ou:dn:=people)",
    "(:dn:caseIgnoreMatch:=people)",
    "(sn=blåbär)",
    "(sn=BLÅBÄR)",
    "(cn=Comma, Plus+*)",
    "(cn=*\\22*)",
    "(cn=\\4eils Nettlefold)",
    "(userPassword=password)",
    "(userPassword=PASSWORD)",
    "(dc=EXAMPLE)",
    "(objectClass=nosuchclass)",
    "(l=grove)",
    "(entryDN=uid=user.1,ou=People,dc=example,dc=com)",
    "(hasSubordinates=TRUE)",
    "(hasSubordinates=FALSE)",
    "(structuralObjectClass=inetOrgPerson)",
    "(&(objectClass=groupOfNames)(member=uid=user.1,ou=People,dc=example,dc=com))",
    "(uid>=user.18)",
    "(uid<=user.1)",
    # Assertion values that are not of the syntax of the rule are Undefined, and so are their opposites.
    "(!(objectClass=nosuchclass))",
    "(!(objectClass=))",
    "(description=)",
    "(!(description=))",
    "(mail=ü)",
    "(!(mail=ü))",
    "(!(telephoneNumber=))",
    "(!(member=garbage))",
    "(|(objectClass=nosuchclass)(uid=user.1))",
    "(!(&(objectClass=nosuchclass)(uid=user.1)))",
    "(!(|(objectClass=nosuchclass)(uid=user.1)))",
    "(cn;binary=*)",
    "(!(cn;binary=*))",
]

# uid and telephoneNumber have no ordering rule in the standard schema: slapd leaves such a filter undefined; OpenDJ and
# Pando compare by the equality rule's normal form, which is what users of OpenDJ expect.
# RFC 4518 §2.6.1 gives every value a space at either end, so that "any" of one space matches all; slapd has no such
# spaces. A password in clear matches in slapd, which compares octets; here it is stored hashed.
DIFFERS = {"(uid>=user.18)", "(uid<=user.1)", "(cn=* *)", "(cn=*  *)", "(userPassword=password)"}


@pytest.mark.parametrize("filterstr", FILTERS)
def test_filters(slapd, pando, filterstr):
    if filterstr in DIFFERS:
        pytest.skip("explained above")
    for base, scope in (
        (BASE, ldap.SCOPE_SUBTREE),
        (f"ou=Strange,{BASE}", ldap.SCOPE_ONELEVEL),
        (f"uid=user.1,{PEOPLE}", ldap.SCOPE_BASE),
    ):
        assert answer(pando, base, scope, filterstr, ["cn", "uid", "objectClass"]) == answer(
            slapd, base, scope, filterstr, ["cn", "uid", "objectClass"]
        )


@pytest.mark.parametrize(
    "attrs",
    [
        ["*"],
        ["cn"],
        ["name"],
        ["cn;lang-de"],
        ["@person"],
        ["2.5.4.3"],
        ["1.1"],
        ["cn", "1.1"],
        ["*", "hasSubordinates"],
        ["entryDN", "structuralObjectClass"],
        ["nosuch"],
        ["userPassword"],
        ["cn;binary"],
    ],
)
def test_attribute_lists(slapd, pando, attrs):
    for base in (f"cn=tagged,ou=Strange,{BASE}", f"uid=user.1,{PEOPLE}", PEOPLE):
        assert answer(pando, base, ldap.SCOPE_BASE, "(objectClass=*)", attrs) == answer(
            slapd, base, ldap.SCOPE_BASE, "(objectClass=*)", attrs
        )


@pytest.mark.parametrize(
    "base,scope",
    [
        (f"uid=none,{PEOPLE}", ldap.SCOPE_BASE),
        (f"cn=a,cn=b,{BASE}", ldap.SCOPE_SUBTREE),
        ("dc=other", ldap.SCOPE_BASE),
        ("bad dn", ldap.SCOPE_BASE),
        (f"ou=elsewhere,ou=Strange,{BASE}", ldap.SCOPE_BASE),
        (f"cn=below,ou=elsewhere,ou=Strange,{BASE}", ldap.SCOPE_BASE),
        (BASE, ldap.SCOPE_ONELEVEL),
        (f"ou=Strange,{BASE}", ldap.SCOPE_SUBTREE),
        (f"cn=alias to user 3,ou=Strange,{BASE}", ldap.SCOPE_BASE),
    ],
)
def test_bases_and_scopes(slapd, pando, base, scope):
    assert answer(pando, base, scope, "(objectClass=*)", ["cn"]) == answer(
        slapd, base, scope, "(objectClass=*)", ["cn"]
    )


@pytest.mark.parametrize("deref", [ldap.DEREF_NEVER, ldap.DEREF_SEARCHING, ldap.DEREF_FINDING, ldap.DEREF_ALWAYS])
@pytest.mark.parametrize(
    "base,scope",
    [
        (f"ou=Strange,{BASE}", ldap.SCOPE_SUBTREE),
        (f"ou=Strange,{BASE}", ldap.SCOPE_ONELEVEL),
        (f"cn=alias to user 3,ou=Strange,{BASE}", ldap.SCOPE_BASE),
        (f"cn=alias to user 3,ou=Strange,{BASE}", ldap.SCOPE_SUBTREE),
    ],
)
def test_dereferencing(slapd, pando, deref, base, scope):
    for con in (slapd, pando):
        con.set_option(ldap.OPT_DEREF, deref)
    try:
        assert answer(pando, base, scope, "(objectClass=*)", ["cn"]) == answer(
            slapd, base, scope, "(objectClass=*)", ["cn"]
        )
    finally:
        for con in (slapd, pando):
            con.set_option(ldap.OPT_DEREF, ldap.DEREF_NEVER)


def entry(*pairs):
    return [(k, [v.encode() for v in vs]) for k, *vs in pairs]


# One script of updates, judged step by step: the result codes and what is left must be the same.
SCRIPT = [
    lambda c: c.add_s(
        f"uid=s.1,{PEOPLE}",
        entry(
            ("objectClass", "top", "person", "organizationalPerson", "inetOrgPerson"),
            ("uid", "s.1"),
            ("cn", "S One"),
            ("sn", "One"),
        ),
    ),
    lambda c: c.add_s(
        f"uid=s.1,{PEOPLE}",
        entry(
            ("objectClass", "top", "person", "organizationalPerson", "inetOrgPerson"),
            ("uid", "s.1"),
            ("cn", "S One"),
            ("sn", "One"),
        ),
    ),
    lambda c: c.add_s(
        f"uid=s.2,{PEOPLE}",
        entry(
            ("objectClass", "top", "person", "organizationalPerson", "inetOrgPerson"), ("uid", "s.2"), ("cn", "S Two")
        ),
    ),
    lambda c: c.add_s(
        f"uid=s.2,ou=None,{BASE}",
        entry(
            ("objectClass", "top", "person", "organizationalPerson", "inetOrgPerson"),
            ("uid", "s.2"),
            ("cn", "S Two"),
            ("sn", "Two"),
        ),
    ),
    lambda c: c.add_s(
        f"uid=s.2,{PEOPLE}",
        entry(
            ("objectClass", "top", "person", "organizationalPerson", "inetOrgPerson"),
            ("uid", "s.2"),
            ("cn", "S Two", "s  two"),
            ("sn", "Two"),
        ),
    ),
    lambda c: c.modify_s(f"uid=s.1,{PEOPLE}", [(ldap.MOD_ADD, "mail", [b"s.1@example.com"])]),
    lambda c: c.modify_s(f"uid=s.1,{PEOPLE}", [(ldap.MOD_ADD, "mail", [b"S.1@EXAMPLE.com"])]),
    lambda c: c.modify_s(f"uid=s.1,{PEOPLE}", [(ldap.MOD_DELETE, "mail", [b"S.1@EXAMPLE.com"])]),
    lambda c: c.modify_s(f"uid=s.1,{PEOPLE}", [(ldap.MOD_DELETE, "mail", None)]),
    lambda c: c.modify_s(f"uid=s.1,{PEOPLE}", [(ldap.MOD_REPLACE, "mail", None)]),
    lambda c: c.modify_s(f"uid=s.1,{PEOPLE}", [(ldap.MOD_REPLACE, "sn", None)]),
    lambda c: c.modify_s(f"uid=s.1,{PEOPLE}", [(ldap.MOD_DELETE, "uid", None)]),
    lambda c: c.modify_s(f"uid=s.1,{PEOPLE}", [(ldap.MOD_ADD, "seeAlso", [b"nonsense"])]),
    lambda c: c.modify_s(f"uid=s.1,{PEOPLE}", [(ldap.MOD_ADD, "nosuch", [b"x"])]),
    lambda c: c.modify_s(f"uid=s.1,{PEOPLE}", [(ldap.MOD_ADD, "dc", [b"x"])]),
    lambda c: c.modify_s(f"uid=s.1,{PEOPLE}", [(ldap.MOD_REPLACE, "preferredLanguage", [b"a", b"b"])]),
    lambda c: c.modify_s(f"uid=s.9,{PEOPLE}", [(ldap.MOD_ADD, "title", [b"x"])]),
    lambda c: c.rename_s(f"uid=s.1,{PEOPLE}", "uid=user.1"),
    lambda c: c.rename_s(f"uid=s.1,{PEOPLE}", "cn=S One", delold=0),
    lambda c: c.rename_s(f"cn=S One,{PEOPLE}", "uid=s.1", delold=0),
    lambda c: c.rename_s(f"uid=s.1,{PEOPLE}", "uid=s.3", newsuperior=f"ou=Strange,{BASE}", delold=1),
    lambda c: c.rename_s(f"uid=s.3,ou=Strange,{BASE}", "nonsense"),
    lambda c: c.rename_s(f"uid=s.3,ou=Strange,{BASE}", "sn=One+cn=S One", delold=1),
    lambda c: c.delete_s(f"ou=Strange,{BASE}"),
    lambda c: c.delete_s(f"uid=s.9,{PEOPLE}"),
    # RFC 4517 §3.3.28 wants a character in each line; directories have empty ones, and slapd takes them.
    *(
        lambda c, address=address: c.modify_s(
            f"sn=One+cn=S One,ou=Strange,{BASE}", [(ldap.MOD_REPLACE, "postalAddress", [address])]
        )
        for address in (b"1 Elm St$$Oak", b"$", b"1 Elm St$", b"1 \\24 St$\\5cOak", b"1 \\25 St", b"a\\")
    ),
    lambda c: c.compare_s(f"uid=user.1,{PEOPLE}", "sn", b"BIRCHLEY"),
    lambda c: c.compare_s(f"uid=user.1,{PEOPLE}", "sn", b"other"),
    lambda c: c.compare_s(f"uid=user.1,{PEOPLE}", "roomNumber", b"other"),
    lambda c: c.delete_s(f"sn=One+cn=S One,ou=Strange,{BASE}"),
    lambda c: c.add_s(
        f"uid=s.4,{PEOPLE}",
        entry(
            ("objectClass", "top", "account", "posixAccount"),
            ("uid", "s.4"),
            ("cn", "S Four"),
            ("uidNumber", "4"),
            ("gidNumber", "4"),
            ("homeDirectory", "/s"),
        ),
    ),
    *(
        lambda c, number=number: c.modify_s(f"uid=s.4,{PEOPLE}", [(ldap.MOD_REPLACE, "uidNumber", [number])])
        for number in (b" 23 ", b"007", b"-0", b"+1", b"", b"-5", b"0")
    ),
    lambda c: c.compare_s(f"uid=s.4,{PEOPLE}", "uidNumber", b"007"),
    lambda c: c.compare_s(f"uid=s.4,{PEOPLE}", "objectClass", b"nosuchclass"),
    lambda c: c.modify_s(f"uid=s.4,{PEOPLE}", [(ldap.MOD_ADD, "cn;binary", [b"x"])]),
    lambda c: c.modify_s(f"uid=s.4,{PEOPLE}", [(ldap.MOD_ADD, "description", [b""])]),
    lambda c: c.delete_s(f"uid=s.4,{PEOPLE}"),
]


def step(con, operation):
    try:
        operation(con)
        return 0
    except ldap.LDAPError as e:
        return e.args[0].get("result")


# Deleting the naming value: RFC 4511 §4.6 asks for notAllowedOnRDN (67), slapd says namingViolation (64).
SCRIPT_DIFFERS = {11: (67, 64)}


def test_a_script_of_updates(slapd, pando):
    for number, operation in enumerate(SCRIPT):
        ours, theirs = step(pando, operation), step(slapd, operation)
        assert (number, ours) == (number, theirs) or (ours, theirs) == SCRIPT_DIFFERS.get(number)
        assert answer(pando, BASE, ldap.SCOPE_SUBTREE, "(|(uid=s.*)(cn=S One))", ["*"]) == answer(
            slapd, BASE, ldap.SCOPE_SUBTREE, "(|(uid=s.*)(cn=S One))", ["*"]
        ), number


@pytest.mark.parametrize("scope", [ldap.SCOPE_BASE, ldap.SCOPE_ONELEVEL, ldap.SCOPE_SUBTREE])
@pytest.mark.parametrize("below", ["", "cn=below,"])
def test_referrals_carry_the_scope(slapd, pando, scope, below):
    def urls(con):
        with pytest.raises(ldap.REFERRAL) as e:
            con.search_s(f"{below}ou=elsewhere,ou=Strange,{BASE}", scope, "(objectClass=*)")
        return e.value.args[0]["info"]

    assert urls(pando) == urls(slapd)
