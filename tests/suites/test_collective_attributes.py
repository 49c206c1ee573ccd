"""Values that entries get from subentries (RFC 3671, and OpenDJ's inheritance from other entries) or by a template, as
clients see them: OpenDJ's documented examples, searched, compared, excluded, in conflict, and right immediately after
every change."""

import contextlib
import subprocess

import ldap
import pytest
from found import names
from pando_server import BASE, DIRECTORY_LDIF, Pando
from slapd_server import connect, slapd_url

PEOPLE = f"ou=People,{BASE}"
ANN = f"uid=ann,{PEOPLE}"
SUBENTRIES = ldap.controls.BooleanControl("1.3.6.1.4.1.4203.1.10.1", True, True)

SCHEMA = [
    "( 1.3.6.1.4.1.99999.7.1 NAME 'classOfService' EQUALITY caseIgnoreMatch"
    " SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )",
    "( 1.3.6.1.4.1.99999.7.2 NAME 'diskQuota' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
    "( 1.3.6.1.4.1.99999.7.3 NAME 'mailQuota' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
]
COS_CLASS = "( 1.3.6.1.4.1.99999.7.4 NAME 'cos' SUP top AUXILIARY MAY ( classOfService $ diskQuota $ mailQuota ) )"

TEMPLATES = f"""
[virtual-attribute."principal name"]
type = "user-template"
attribute-type = "eduPersonPrincipalName"
template = "{{uid}}@{{o|example.com}}"
base-dn = "{PEOPLE}"
filter = "(objectClass=eduPerson)"

[virtual-attribute."full names"]
type = "user-template"
attribute-type = "businessCategory"
template = "{{sn}}, {{givenName}}"
base-dn = "{PEOPLE}"

[virtual-attribute."escaped"]
type = "user-template"
attribute-type = "roomNumber"
template = "\\\\{{{{employeeType}}}}"
base-dn = "{PEOPLE}"
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    instance = Pando(tmp_path_factory.mktemp("pando") / "inst").setup()
    instance.configure(TEMPLATES).import_ldif(DIRECTORY_LDIF).start()
    yield instance
    assert instance.stop() == 0


@pytest.fixture(scope="module")
def connection(served):
    con = served.connect()
    con.modify_s("cn=schema", [(ldap.MOD_ADD, "attributeTypes", [it.encode() for it in SCHEMA])])
    con.modify_s("cn=schema", [(ldap.MOD_ADD, "objectClasses", COS_CLASS.encode())])
    yield con
    con.unbind_s()


@pytest.fixture
def con(connection):
    """The connection; what a test added is gone after it."""
    added = []

    def add(dn, **attributes):
        add_entry(connection, dn, **attributes)
        added.append(dn)

    connection.add = add
    connection.added = added
    yield connection
    for dn in reversed(added):
        with contextlib.suppress(ldap.NO_SUCH_OBJECT):
            connection.delete_s(dn)


def encoded(values):
    return [value.encode() for value in ([values] if isinstance(values, str) else values)]


def add_entry(con, dn, **attributes):
    """An entry; `__` in a name stands for `;`, `_` for `-`."""
    plain = {name.replace("__", ";").replace("_", "-"): encoded(values) for name, values in attributes.items()}
    con.add_s(dn, list(plain.items()))


def person(con, uid, **attributes):
    more = {
        "objectClass": ["inetOrgPerson", "extensibleObject"],
        "uid": uid,
        "sn": uid.title(),
        "cn": uid,
        **attributes,
    }
    con.add(f"uid={uid},{PEOPLE}", **more)
    return f"uid={uid},{PEOPLE}"


def collective(con, name="collective", specification='{ base "ou=People" }', parent=BASE, **attributes):
    con.add(
        f"cn={name},{parent}",
        objectClass=["subentry", "collectiveAttributeSubentry", "extensibleObject"],
        cn=name,
        subtreeSpecification=specification,
        **attributes,
    )
    return f"cn={name},{parent}"


def inherited(con, kind, specification='{ base "ou=People" }', name="inherit", **attributes):
    classes = [
        "top",
        "subentry",
        "inheritedCollectiveAttributeSubentry",
        f"inheritedFrom{kind}CollectiveAttributeSubentry",
    ]
    con.add(f"cn={name},{BASE}", objectClass=classes, cn=name, subtreeSpecification=specification, **attributes)
    return f"cn={name},{BASE}"


def read(con, dn, *attributes):
    """The attributes of an entry that it shows, by name; a single one as its values."""
    ((_, found),) = con.search_s(dn, ldap.SCOPE_BASE, attrlist=list(attributes))
    shown = {name: sorted(value.decode() for value in values) for name, values in found.items()}
    return shown.get(attributes[0], []) if len(attributes) == 1 and attributes[0] not in "*+" else shown


def modify(con, dn, *changes):
    operations = {"add": ldap.MOD_ADD, "delete": ldap.MOD_DELETE, "replace": ldap.MOD_REPLACE}
    con.modify_s(
        dn,
        [(operations[what], name, encoded(values) if values is not None else None) for what, name, values in changes],
    )


# What OpenDJ's manual shows.


def test_classes_of_service(con):
    for level, disk, mail in [("bronze", "10 GB", "1 GB"), ("silver", "50 GB", "5 GB"), ("gold", "100 GB", "10 GB")]:
        collective(
            con,
            f"{level} class",
            f'{{ base "ou=People", specificationFilter "(classOfService={level})" }}',
            diskQuota__collective=disk,
            mailQuota__collective=mail,
        )
    people = {
        uid: person(con, uid, objectClass=["inetOrgPerson", "cos"], classOfService=level)
        for uid, level in [("ann", "bronze"), ("ben", "silver"), ("cal", "gold")]
    }
    none = person(con, "dee")

    def quotas(dn):
        return (read(con, dn, "mailQuota"), read(con, dn, "diskQuota"))

    assert quotas(people["ann"]) == (["1 GB"], ["10 GB"])
    assert quotas(people["ben"]) == (["5 GB"], ["50 GB"])
    assert quotas(people["cal"]) == (["10 GB"], ["100 GB"])
    assert quotas(none) == ([], [])
    assert names(con, "(diskQuota=50 gb)") == ["ben"]
    assert names(con, "(&(objectClass=inetOrgPerson)(mailQuota=*))") == ["ann", "ben", "cal"]
    assert names(con, "(&(uid=*)(!(mailQuota=1 GB)))", people["ann"]) == []
    assert con.compare_s(people["cal"], "mailQuota", "10 gb") and not con.compare_s(people["ann"], "mailQuota", "10 GB")
    # All of it moves at once.
    modify(con, people["ann"], ("replace", "classOfService", "gold"))
    assert quotas(people["ann"]) == (["10 GB"], ["100 GB"])
    modify(con, f"cn=gold class,{BASE}", ("replace", "diskQuota;collective", ["200 GB", "201 GB"]))
    assert read(con, people["ann"], "diskQuota") == ["200 GB", "201 GB"] and names(con, "(diskQuota=201 GB)") == [
        "ann",
        "cal",
    ]
    con.delete_s(f"cn=gold class,{BASE}")
    assert quotas(people["ann"]) == ([], []) and names(con, "(diskQuota=201 GB)") == []


def test_inheriting_from_the_manager(con):
    boss = person(con, "boss", departmentNumber="3001")
    ann = person(con, "ann", manager="uid=boss, ou=People, dc=example,dc=com")
    inherited(con, "DN", inheritFromDNAttribute="manager", inheritAttribute="departmentNumber")
    assert read(con, ann, "departmentNumber") == ["3001"]
    assert names(con, "(departmentNumber=3001)") == ["ann", "boss"] and con.compare_s(ann, "departmentNumber", "3001")
    modify(con, boss, ("replace", "departmentNumber", "3002"))
    assert read(con, ann, "departmentNumber") == ["3002"] and names(con, "(departmentNumber=3001)") == []
    # What is stored wins, if nothing else is said.
    modify(con, ann, ("add", "departmentNumber", "7"))
    assert read(con, ann, "departmentNumber") == ["7"] and names(con, "(departmentNumber=3002)") == ["boss"]
    modify(con, ann, ("delete", "departmentNumber", None), ("replace", "manager", f"cn=Nobody,{PEOPLE}"))
    assert read(con, ann, "departmentNumber") == []


def test_inheriting_from_the_locality(con):
    con.add(f"ou=Locations,{BASE}", objectClass="organizationalUnit", ou="Locations")
    for place, street, more in [
        ("Bristol", "Broad Quay House, Prince Street", {"preferredLanguage": "en-gb"}),
        ("San Francisco", "201 Mission Street Suite 2900", {"preferredLanguage": "en-us"}),
    ]:
        con.add(
            f"l={place},ou=Locations,{BASE}",
            objectClass=["top", "locality", "extensibleObject"],
            l=place,
            street=street,
            **more,
        )
    inherited(
        con,
        "RDN",
        '{ base "ou=People", specificationFilter "(objectClass=inetOrgPerson)" }',
        inheritFromBaseRDN="ou=Locations",
        inheritFromRDNAttribute="l",
        inheritFromRDNType="l",
        inheritAttribute=["preferredLanguage", "street"],
        collectiveConflictBehavior="real-overrides-virtual",
    )
    sam = person(con, "sam", l="Bristol")
    babs = person(con, "babs", l="San Francisco", preferredLanguage="en, ko;q=0.8")
    assert read(con, sam, "preferredLanguage", "street") == {
        "preferredLanguage": ["en-gb"],
        "street": ["Broad Quay House, Prince Street"],
    }
    assert read(con, babs, "preferredLanguage", "street") == {
        "preferredLanguage": ["en, ko;q=0.8"],
        "street": ["201 Mission Street Suite 2900"],
    }
    assert (
        names(con, "(street=broad quay*)", PEOPLE) == ["sam"] and names(con, "(preferredLanguage=en-us)", PEOPLE) == []
    )
    # Who moves gets the address of where he is.
    modify(con, sam, ("replace", "l", "san  francisco"))
    assert read(con, sam, "street") == ["201 Mission Street Suite 2900"]
    con.rename_s(f"l=Bristol,ou=Locations,{BASE}", "l=Bath")
    con.added.append(f"l=Bath,ou=Locations,{BASE}")
    modify(con, sam, ("replace", "l", "Bath"))
    assert read(con, sam, "street") == ["Broad Quay House, Prince Street"]
    assert names(con, "(street=broad quay house, prince street)", PEOPLE) == ["sam"]


def test_inheriting_from_the_entry_above(con):
    con.add(
        f"ou=Team,{PEOPLE}",
        objectClass="organizationalUnit",
        ou="Team",
        description=["Served by the team", "Description on ou=Team"],
    )
    inherited(
        con,
        "DN",
        '{ base "", minimum 2, specificationFilter "(objectClass=person)" }',
        inheritFromDNAttribute="entryDN",
        inheritFromDNParent="1",
        inheritAttribute="description",
        collectiveConflictBehavior="real-overrides-virtual",
    )
    con.add(f"uid=sam,ou=Team,{PEOPLE}", objectClass="inetOrgPerson", uid="sam", cn="Sam", sn="Sample")
    con.add(
        f"uid=babs,ou=Team,{PEOPLE}",
        objectClass="inetOrgPerson",
        uid="babs",
        cn="Babs",
        sn="Sample",
        description="Original description",
    )
    assert read(con, f"uid=sam,ou=Team,{PEOPLE}", "description") == ["Description on ou=Team", "Served by the team"]
    assert read(con, f"uid=babs,ou=Team,{PEOPLE}", "description") == ["Original description"]
    assert names(con, "(description=served by the team)") == ["Team", "sam"]
    con.rename_s(f"uid=sam,ou=Team,{PEOPLE}", "uid=sam", newsuperior=f"ou=Services,{BASE}")
    con.added.append(f"uid=sam,ou=Services,{BASE}")
    assert read(con, f"uid=sam,ou=Services,{BASE}", "description") == []


def test_inheriting_under_another_name(con):
    boss = person(con, "boss", postalAddress="1234 Main St.$Anytown, CA 12345$USA")
    ann = person(con, "ann", manager=boss)
    inherited(con, "DN", inheritFromDNAttribute="manager", inheritAttribute="postalAddress:c-PostalAddress")
    assert (
        read(con, ann, "c-PostalAddress") == ["1234 Main St.$Anytown, CA 12345$USA"]
        and read(con, boss, "c-PostalAddress") == []
    )
    # A subtype is found and sent by the name of its supertype (RFC 4512 2.5.1).
    assert names(con, "(c-postalAddress=1234 main st.$anytown, ca 12345$usa)") == ["ann"]
    assert names(con, "(postalAddress=1234 main st.$anytown, ca 12345$usa)") == ["ann", "boss"]
    assert read(con, ann, "postalAddress", "cn") == {
        "c-PostalAddress": ["1234 Main St.$Anytown, CA 12345$USA"],
        "cn": ["ann"],
    }


# RFC 3671 and 3672.


def test_collective_types_come_from_all_subentries_of_an_entry(con):
    ann = person(con, "ann", l="Bern")
    first = collective(con, "first", c_l=["Berlin", "Rome"], c_TelephoneNumber="+1 555 0190")
    assert read(con, ann, "l", "c-l") == {"l": ["Bern"], "c-l": ["Berlin", "Rome"]}
    second = collective(con, "second", "{ }", parent=PEOPLE, c_l=["ROME", "Paris"])
    assert [place.lower() for place in read(con, ann, "c-l")] == ["berlin", "paris", "rome"]
    assert names(con, "(&(uid=ann)(c-l=paris))") == ["ann"] and names(con, "(&(uid=ann)(l=berlin))") == ["ann"]
    assert read(con, ann, "collectiveAttributeSubentries") == [first, second]
    assert con.compare_s(ann, "collectiveAttributeSubentries", second.upper())
    assert "ann" in names(con, f"(collectiveAttributeSubentries={second})") and "People" in names(
        con, f"(collectiveAttributeSubentries={first})"
    )
    assert (
        read(con, BASE, "collectiveAttributeSubentries") == []
        and read(con, ann, "*").get("collectiveAttributeSubentries") is None
    )
    # A subentry gives to entries, not to subentries, and is hidden as they are; who asks for it sees what it has.
    assert "first" not in names(con, "(c-l=*)")
    (shown,) = [
        values
        for dn, values in con.search_ext_s(BASE, ldap.SCOPE_SUBTREE, "(cn=second)", ["c-l"], serverctrls=[SUBENTRIES])
        if dn
    ]
    assert sorted(shown["c-l"]) == [b"Paris", b"ROME"]
    con.delete_s(first)
    assert read(con, ann, "c-l") == ["Paris", "ROME"] and read(con, ann, "c-TelephoneNumber") == []


def test_collective_types_are_not_written_to_entries(con):
    ann = person(con, "ann")
    with pytest.raises(ldap.OBJECT_CLASS_VIOLATION, match="collective"):
        modify(con, ann, ("add", "c-l", "Berlin"))
    with pytest.raises(ldap.OBJECT_CLASS_VIOLATION, match="collective"):
        person(con, "ben", c_l="Berlin")


def test_entries_exclude_what_they_do_not_want(con):
    people = {
        uid: person(con, uid, **({"collectiveExclusions": exclusion} if exclusion else {}))
        for uid, exclusion in [
            ("ann", None),
            ("ben", "c-l"),
            ("cal", ["2.5.4.7.1", "employeeType"]),
            ("dee", "excludeAllCollectiveAttributes"),
            ("eve", "2.5.18.0"),
        ]
    }
    subentry = collective(con, c_l="Rome", employeeType__collective="staff")
    shown = {uid: (read(con, dn, "c-l"), read(con, dn, "employeeType")) for uid, dn in people.items()}
    assert shown == {
        "ann": (["Rome"], ["staff"]),
        "ben": ([], ["staff"]),
        "cal": ([], []),
        "dee": ([], []),
        "eve": ([], []),
    }
    assert names(con, "(&(uid=*)(c-l=rome)(!(uid=user*)))") == ["ann"]
    assert names(con, "(&(employeeType=staff)(!(uid=user*)))", PEOPLE) == ["People", "ann", "ben"]
    assert con.compare_s(people["ann"], "l", "Rome")
    for uid in ("ben", "cal", "dee", "eve"):
        with pytest.raises(ldap.NO_SUCH_ATTRIBUTE):
            con.compare_s(people[uid], "l", "Rome")
    assert read(con, people["dee"], "collectiveAttributeSubentries") == [] and read(
        con, people["ben"], "collectiveAttributeSubentries"
    ) == [subentry]
    modify(con, people["dee"], ("delete", "collectiveExclusions", None))
    assert read(con, people["dee"], "c-l") == ["Rome"]


@pytest.mark.parametrize(
    "behaviour, shown",
    [
        (None, ["own"]),
        ("real-overrides-virtual", ["own"]),
        ("virtual-overrides-real", ["given"]),
        ("merge-real-and-virtual", ["given", "own"]),
    ],
)
def test_conflicts_with_what_is_stored(con, behaviour, shown):
    ann, ben = person(con, "ann", employeeType="own"), person(con, "ben")
    collective(
        con, employeeType__collective="given", **({"collectiveConflictBehavior": behaviour} if behaviour else {})
    )
    assert read(con, ann, "employeeType") == shown and read(con, ben, "employeeType") == ["given"]
    for value in ("own", "given"):
        expected = (["ann"] if value in shown else []) + (["ben"] if value == "given" else [])
        assert names(con, f"(&(employeeType={value})(|(uid=ann)(uid=ben)))") == expected
        assert con.compare_s(ann, "employeeType", value) is (value in shown)


def test_subtree_specifications_say_who(con):
    con.add(f"ou=Team,{PEOPLE}", objectClass="organizationalUnit", ou="Team")
    con.add(f"ou=Part,ou=Team,{PEOPLE}", objectClass="organizationalUnit", ou="Part")
    con.add(f"cn=printer,ou=Part,ou=Team,{PEOPLE}", objectClass="device", cn="printer")
    ours = "(&(c-l=there)(|(ou=Team)(ou=Part)(cn=printer)(ou=People)(ou=Groups)(dc=example)))"
    subentry = collective(con, specification="{}", c_l="there")
    for specification, members in [
        ("{}", ["Groups", "Part", "People", "Team", "example", "printer"]),
        ('{ base "" }', ["Groups", "Part", "People", "Team", "example", "printer"]),
        ('{ base "ou=people" }', ["Part", "People", "Team", "printer"]),
        ('{ base "ou=people", minimum 1, maximum 2 }', ["Part", "Team"]),
        ("{ minimum 4 }", ["printer"]),
        ('{ specificExclusions { chopBefore:"ou=Team,ou=People" } }', ["Groups", "People", "example"]),
        ('{ base "ou=People", specificExclusions { chopAfter:"ou=Team" } }', ["People", "Team"]),
        ('{ specificExclusions { chopAfter:"", chopBefore:"ou=x" } }', ["example"]),
        ("{ specificationFilter item:device }", ["printer"]),
        ("{ specificationFilter or:{item:device, item:2.5.6.5} }", ["Groups", "Part", "People", "Team", "printer"]),
        ('{ base "ou=People", specificationFilter and:{item:top, not:item:device}, minimum 2 }', ["Part"]),
        ('{ specificationFilter "(&(ou=*)(!(ou=Groups)))" }', ["Part", "People", "Team"]),
        ('{ base "ou=Nowhere" }', []),
        ("{ minimum 3, maximum 2 }", []),
    ]:
        modify(con, subentry, ("replace", "subtreeSpecification", specification))
        assert names(con, ours) == members, specification
        given = [
            name
            for name in ("Team", "Part")
            if read(con, f"ou=Team,{PEOPLE}" if name == "Team" else f"ou=Part,ou=Team,{PEOPLE}", "c-l")
        ]
        assert given == [name for name in ("Team", "Part") if name in members], specification


def test_the_place_of_a_subentry_counts(con):
    """Its subtree begins where the entry above it is, also when that is renamed or moved."""
    con.add(f"ou=Branch,{BASE}", objectClass="organizationalUnit", ou="Branch")
    con.add(f"ou=Staff,ou=Branch,{BASE}", objectClass="organizationalUnit", ou="Staff")
    con.add(f"uid=ann,ou=Staff,ou=Branch,{BASE}", objectClass="inetOrgPerson", uid="ann", cn="Ann", sn="Sample")
    collective(con, parent=f"ou=Branch,{BASE}", specification='{ base "ou=Staff" }', c_l="Rome")
    assert read(con, f"uid=ann,ou=Staff,ou=Branch,{BASE}", "c-l") == ["Rome"]
    con.rename_s(f"ou=Branch,{BASE}", "ou=Office")
    con.rename_s(f"ou=Office,{BASE}", "ou=Office", newsuperior=f"ou=Services,{BASE}")
    office = f"ou=Office,ou=Services,{BASE}"
    con.added += [office, f"ou=Staff,{office}", f"uid=ann,ou=Staff,{office}", f"cn=collective,{office}"]
    assert read(con, f"uid=ann,ou=Staff,{office}", "c-l") == ["Rome"] and names(con, "(c-l=rome)", office) == [
        "Staff",
        "ann",
    ]
    assert read(con, f"uid=ann,ou=Staff,{office}", "collectiveAttributeSubentries") == [f"cn=collective,{office}"]
    con.rename_s(f"ou=Staff,{office}", "ou=Crew")
    con.added += [f"ou=Crew,{office}", f"uid=ann,ou=Crew,{office}"]
    assert read(con, f"uid=ann,ou=Crew,{office}", "c-l") == [] and names(con, "(c-l=rome)") == []
    con.rename_s(f"ou=Crew,{office}", "ou=Staff")
    con.rename_s(f"cn=collective,{office}", "cn=collective", newsuperior=BASE)
    con.added.append(f"cn=collective,{BASE}")
    assert read(con, f"uid=ann,ou=Staff,{office}", "c-l") == []


@pytest.mark.parametrize(
    "attributes, code, says",
    [
        ({"subtreeSpecification": "{ base ou=People }"}, ldap.INVALID_SYNTAX, "quoted string"),
        ({"subtreeSpecification": '{ base "People" }'}, ldap.INVALID_SYNTAX, "distinguished name"),
        ({"subtreeSpecification": '{ specificationFilter "(uid=ann" }'}, ldap.INVALID_SYNTAX, "filter"),
        (
            {"subtreeSpecification": '{ specificationFilter "(noSuchThing=ann)" }'},
            ldap.CONSTRAINT_VIOLATION,
            "noSuchThing",
        ),
        (
            {"subtreeSpecification": "{ specificationFilter item:noSuchClass }"},
            ldap.CONSTRAINT_VIOLATION,
            "noSuchClass",
        ),
        ({"collectiveConflictBehavior": "sometimes"}, ldap.INVALID_SYNTAX, "collectiveConflictBehavior"),
        ({"userPassword__collective": "secret12"}, ldap.CONSTRAINT_VIOLATION, "userPassword"),
        ({"classOfService__collective": ["gold", "silver"]}, ldap.CONSTRAINT_VIOLATION, "classOfService"),
    ],
)
def test_what_a_subentry_cannot_say_is_refused(con, attributes, code, says):
    attributes = {"specification": "{}", **attributes}
    specification = attributes.pop("subtreeSpecification", attributes.pop("specification"))
    attributes.pop("specification", None)
    with pytest.raises(code, match=says):
        collective(con, specification=specification, **attributes)
    good = collective(con, c_l="Rome")
    with pytest.raises(code, match=says):
        modify(
            con,
            good,
            ("replace", "subtreeSpecification", specification),
            *(("replace", name.replace("__", ";"), values) for name, values in attributes.items()),
        )
    assert read(con, f"uid=user.1,{PEOPLE}", "c-l") == ["Rome"]


@pytest.mark.parametrize(
    "kind, attributes, says",
    [
        ("DN", {"inheritFromDNAttribute": "noSuchThing", "inheritAttribute": "l"}, "noSuchThing"),
        ("DN", {"inheritFromDNAttribute": "l", "inheritAttribute": "l"}, "names"),
        ("DN", {"inheritFromDNAttribute": "manager", "inheritAttribute": "l:noSuchThing"}, "noSuchThing"),
        ("DN", {"inheritFromDNAttribute": "manager", "inheritAttribute": "userPassword"}, "userPassword"),
        (
            "DN",
            {"inheritFromDNAttribute": "manager", "inheritFromDNParent": "-1", "inheritAttribute": "l"},
            "inheritFromDNParent",
        ),
        (
            "RDN",
            {
                "inheritFromBaseRDN": "ou=Places",
                "inheritFromRDNAttribute": "noSuchThing",
                "inheritFromRDNType": "l",
                "inheritAttribute": "l",
            },
            "noSuchThing",
        ),
        (
            "RDN",
            {
                "inheritFromBaseRDN": "ou=Places",
                "inheritFromRDNAttribute": "l",
                "inheritFromRDNType": "noSuchThing",
                "inheritAttribute": "l",
            },
            "noSuchThing",
        ),
    ],
)
def test_what_nobody_can_inherit_is_refused(con, kind, attributes, says):
    with pytest.raises(ldap.CONSTRAINT_VIOLATION, match=says):
        inherited(con, kind, **attributes)


def test_nobody_inherits_from_outside_the_administrative_area(con):
    """As OpenDJ has it: else who may write a reference could read any entry through it."""
    secret = f"cn=secret,ou=Services,{BASE}"
    con.add(secret, objectClass=["applicationProcess", "extensibleObject"], cn="secret", employeeType="hidden")
    ann = person(con, "ann", manager=secret)
    classes = ["subentry", "inheritedCollectiveAttributeSubentry", "inheritedFromDNCollectiveAttributeSubentry"]
    con.add(
        f"cn=inherit,{PEOPLE}",
        objectClass=classes,
        cn="inherit",
        subtreeSpecification="{}",
        inheritFromDNAttribute="manager",
        inheritAttribute="employeeType",
    )
    assert read(con, ann, "employeeType") == [] and names(con, "(employeeType=hidden)", PEOPLE) == []
    con.rename_s(secret, "cn=secret", newsuperior=PEOPLE)
    con.added.append(f"cn=secret,{PEOPLE}")
    modify(con, ann, ("replace", "manager", f"cn=secret,{PEOPLE}"))
    assert read(con, ann, "employeeType") == ["hidden"]


def test_limits_given_by_a_collective_attribute_hold(served, con):
    collective(
        con,
        specification='{ base "ou=People", specificationFilter "(uid=user.1)" }',
        ds_rlim_size_limit__collective="3",
    )
    for number, limited in [(1, True), (2, False)]:
        user = served.connect(f"uid=user.{number},{PEOPLE}", "password")

        def search():
            return user.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(objectClass=person)", ["1.1"])

        if limited:
            with pytest.raises(ldap.SIZELIMIT_EXCEEDED):
                search()
        else:
            assert len(search()) > 3
        user.unbind_s()


def test_many_people_have_one_entitlement(con):  # S2-40
    entitlements = ["urn:mace:example.com:library", "urn:mace:example.com:wiki"]
    collective(
        con,
        eduPersonEntitlement__collective=entitlements,
        specification='{ base "ou=People", specificationFilter "(objectClass=inetOrgPerson)" }',
    )
    everybody = names(con, "(objectClass=inetOrgPerson)", PEOPLE)
    assert len(everybody) > 10 and names(con, f"(eduPersonEntitlement={entitlements[1]})", PEOPLE) == everybody
    assert read(con, f"uid=user.1,{PEOPLE}", "eduPersonEntitlement") == entitlements


# Templates.


def test_principal_names_are_made_of_uid_and_domain(served, con):  # S2-39 S2-42
    def student(uid, **more):
        return person(con, uid, objectClass=["inetOrgPerson", "eduPerson"], **more)

    ann, ben = student("ann"), student("ben", o="Lab.example")
    other = person(con, "cal")
    assert (
        read(con, ann, "eduPersonPrincipalName") == ["ann@example.com"]
        and read(con, other, "eduPersonPrincipalName") == []
    )
    assert read(con, ben, "eduPersonPrincipalName") == ["ben@Lab.example"]
    assert con.compare_s(ann, "eduPersonPrincipalName", "ANN@example.com") and not con.compare_s(
        ben, "eduPersonPrincipalName", "ben@example.com"
    )
    # By the index of uid: who may not search unindexed gets an answer.
    user = served.connect(f"uid=user.1,{PEOPLE}", "password")
    for filterstr, people in [
        ("(eduPersonPrincipalName=ann@example.com)", ["ann"]),
        ("(eduPersonPrincipalName=ben@lab.EXAMPLE)", ["ben"]),
        ("(eduPersonPrincipalName=cal@example.com)", []),
        ("(eduPersonPrincipalName=ben@example.com)", []),
        ("(eduPersonPrincipalName=ann)", []),
        ("(eduPersonPrincipalName=an*)", ["ann"]),
        ("(eduPersonPrincipalName=ann@ex*)", ["ann"]),
        ("(eduPersonPrincipalName=*n@*)", ["ann", "ben"]),
    ]:
        assert names(user, filterstr) == people, filterstr
    # No index tells who matches, but the table's own filter leaves few to look at.
    assert names(user, "(eduPersonPrincipalName=*example*)") == ["ann", "ben"]
    user.unbind_s()
    con.rename_s(ann, "uid=anna")
    con.added.append(f"uid=anna,{PEOPLE}")
    assert (
        names(con, "(eduPersonPrincipalName=anna@example.com)") == ["anna"]
        and names(con, "(eduPersonPrincipalName=ann@example.com)") == []
    )
    # It has one value only, whatever the entry has.
    modify(con, ben, ("add", "o", "uni.example"))
    assert len(read(con, ben, "eduPersonPrincipalName")) == 1


def test_templates_of_several_values(con):
    ann = person(con, "ann", sn=["Sample", "Muster"], givenName=["Ann", "Anne"])
    assert read(con, ann, "businessCategory") == ["Muster, Ann", "Muster, Anne", "Sample, Ann", "Sample, Anne"]
    assert (
        names(con, "(businessCategory=muster,  anne)") == ["ann"] and names(con, "(businessCategory=sample, bob)") == []
    )
    assert names(con, "(businessCategory=muster*)") == ["ann"]
    # Without one of the attributes there is no value; what is stored wins.
    ben = person(con, "ben", sn="Sample")
    assert read(con, ben, "businessCategory") == [] and names(con, "(businessCategory=sample,*)") == ["ann"]
    modify(con, ben, ("add", "businessCategory", "Benny"))
    modify(con, ben, ("add", "givenName", "Benjamin"))
    assert read(con, ben, "businessCategory") == ["Benny"] and names(con, "(businessCategory=sample, benjamin)") == []
    cal = person(con, "cal", givenName="Cal", employeeType="guest")
    assert read(con, cal, "roomNumber") == ["{guest}"]


@pytest.mark.parametrize(
    "template, says",
    [("{uid", "without its"), ("", "template"), ("{no such}", "braces"), ("{noSuchThing}", "noSuchThing")],
)
def test_bad_templates_are_refused(fresh, template, says):
    fresh.configure(
        f'[virtual-attribute.bad]\ntype = "user-template"\nattribute-type = "businessCategory"\n'
        f'template = "{template}"\n'
    )
    with pytest.raises(AssertionError, match=says):
        fresh.start()


# Size and the oracle.


def test_a_given_attribute_makes_a_smaller_database(tmp_path):  # S2-41
    entitlement = "urn:mace:example.com:agreement:" + "x" * 200
    sizes = {}
    for stored in (True, False):
        ldif = tmp_path / f"{stored}.ldif"
        lines = [f"dn: {BASE}\nobjectClass: domain\ndc: example\n"]
        for number in range(1000):
            lines.append(
                f"dn: uid=u{number},{BASE}\nobjectClass: inetOrgPerson\nobjectClass: eduPerson\nuid: u{number}\n"
                f"sn: u{number}\ncn: u{number}\n" + (f"eduPersonEntitlement: {entitlement}\n" if stored else "")
            )
        if not stored:
            lines.append(
                f"dn: cn=given,{BASE}\nobjectClass: subentry\nobjectClass: collectiveAttributeSubentry\n"
                f"objectClass: extensibleObject\ncn: given\n"
                f"subtreeSpecification: {{ specificationFilter item:eduPerson }}\n"
                f"eduPersonEntitlement;collective: {entitlement}\n"
            )
        ldif.write_text("\n".join(lines))
        instance = Pando(tmp_path / f"inst-{stored}").setup().import_ldif(ldif).start()
        assert len(names(instance.connect(), f"(eduPersonEntitlement={entitlement})")) == 1000
        assert instance.stop() == 0
        # What is written, not the space that is reserved for the log.
        done = subprocess.run(
            ["du", "-s", "--exclude=log", "--block-size=1", str(instance.dir / "db")],
            capture_output=True,
            text=True,
            check=True,
        )
        sizes[stored] = int(done.stdout.split()[0])
        instance.remove()
    assert sizes[False] + 200 * 1000 < sizes[True], sizes


def test_slapd_gives_the_same_to_the_entries_below(con, tmp_path):
    """slapd's collect overlay gives attributes of an entry to all below it: a subentry for the same subtree says that
    too."""
    conf = f'overlay collect\ncollectinfo "{PEOPLE}" postalCode,st\n'
    with slapd_url(tmp_path, conf, modules="moduleload collect") as url:
        slapd = connect(url)
        slapd.modify_s(PEOPLE, [(ldap.MOD_ADD, "st", [b"Berlin", b"Rome"]), (ldap.MOD_ADD, "postalCode", b"10115")])
        collective(
            con,
            specification='{ base "ou=People", minimum 1 }',
            st__collective=["Berlin", "Rome"],
            postalCode__collective="10115",
        )
        for dn in (f"uid=user.1,{PEOPLE}", f"uid=user.7,{PEOPLE}", f"ou=Groups,{BASE}"):
            for attributes in (["st"], ["postalCode"], ["st", "postalcode", "cn"], ["sn"]):
                # slapd shows the normal forms of the values.
                theirs, ours = (
                    {
                        name.lower(): sorted(value.lower() for value in values)
                        for name, values in each.search_s(dn, ldap.SCOPE_BASE, attrlist=attributes)[0][1].items()
                    }
                    for each in (slapd, con)
                )
                assert theirs == ours, (dn, attributes)
        # slapd lets nobody write such an attribute below, and finds no entry by it. With us a stored value is shown
        # instead.
        with pytest.raises(ldap.UNWILLING_TO_PERFORM):
            slapd.modify_s(f"uid=user.1,{PEOPLE}", [(ldap.MOD_ADD, "st", b"Paris")])
        modify(con, f"uid=user.1,{PEOPLE}", ("add", "st", "Paris"))
        assert read(con, f"uid=user.1,{PEOPLE}", "st") == ["Paris"]
        modify(con, f"uid=user.1,{PEOPLE}", ("delete", "st", None))
        assert names(slapd, "(&(uid=user.1)(st=rome))") == [] and names(con, "(&(uid=user.1)(st=rome))") == ["user.1"]
