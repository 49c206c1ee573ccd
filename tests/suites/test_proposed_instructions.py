"""Shadow mode: proposed global instructions are tried beside those in force, and change no answer."""

import contextlib
import json
import re
import tomllib

import ldap
import pytest
from ldap.controls import SimplePagedResultsControl
from ldap.controls.simple import ProxyAuthzControl
from ldap.extop import ExtendedRequest
from pando_server import BASE, Pando, until

MONITOR = "cn=Proposed Access Control,cn=monitor"
ENTRIES = f"""dn: {BASE}
objectClass: domain
dc: example

dn: uid=ann,{BASE}
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: Long
mail: ann@example.com
userPassword: secret12

dn: uid=ben,{BASE}
objectClass: inetOrgPerson
uid: ben
cn: Ben
sn: Short
mail: ben@example.com
userPassword: secret12
"""
ANN, BEN = f"uid=ann,{BASE}", f"uid=ben,{BASE}"
MAIL_IS_PRIVATE = (
    '(targetattr="mail")(version 3.0; acl "mail is private"; deny (read,search,compare) userdn!="ldap:///self";)'
)
ELSEWHERE = f'(target="ldap:///{BEN}")(targetattr="cn")(version 3.0; acl "x"; allow (read) userdn="ldap:///all";)'
ANN_WRITES = (
    f'(targetattr="sn || mail")(version 3.0; acl "ann writes"; allow (write,add,delete) userdn="ldap:///{ANN}";)'
)


@pytest.fixture
def served(tmp_path):
    """An instance with the profile addressbook."""
    instance = Pando(tmp_path / "inst")
    file = tmp_path / "people.ldif"
    file.write_text(ENTRIES)
    instance.setup("--accessProfile", "addressbook")
    yield instance.import_ldif(file).start()
    instance.remove()


def propose(instance, *changes, check=True):
    return instance.tool("dsconfig", "set-access-control-handler-prop", *changes, check=check)


def told(instance):
    """What the monitor says."""
    found = instance.connect().search_s(MONITOR, ldap.SCOPE_BASE)[0][1]
    return {name: [value.decode() for value in values] for name, values in found.items()}


def compared(instance, count):
    """The same when that many requests were compared."""
    until(lambda: told(instance)["compared-requests"] == [str(count)], say=lambda: told(instance))
    return told(instance)


def examples(said):
    return [json.loads(text) for text in said.get("difference-example", [])]


def test_what_would_be_lost_is_counted_and_still_answered(served):
    propose(served, "--add", f"proposed-global-aci:{MAIL_IS_PRIVATE}")
    con = served.connect(BEN, "secret12")
    assert told(served)["compared-requests"] == ["0"], "a bind is not compared, nor what root asks for"
    found = con.search_s(BASE, ldap.SCOPE_SUBTREE, "(uid=ann)", ["cn", "mail"])
    assert found == [(ANN, {"cn": [b"Ann"], "mail": [b"ann@example.com"]})]
    said = compared(served, 1)
    assert said["difference-count"] == ["loses search read: 1"]
    (example,) = examples(said)
    assert example.pop("time").endswith("Z") and example.pop("connection") > 0
    assert example == {
        "times": 1,
        "asker": BEN,
        "operation": "search",
        "dn": ANN,
        "attribute": "mail",
        "right": "read",
        "inForce": "granted",
        "inForceBy": 'global-aci number 5 of the configuration "User attributes for users"',
        "proposed": "refused",
        "proposedBy": 'proposed-global-aci number 1 "mail is private"',
    }

    assert len(con.search_s(BASE, ldap.SCOPE_SUBTREE, "(mail=ann@*)", ["cn"])) == 1
    said = compared(served, 2)
    assert said["difference-count"] == ["loses search search: 1", "loses search read: 1"] or said[
        "difference-count"
    ] == ["loses search read: 1", "loses search search: 1"]
    newest = examples(said)[0]
    assert (newest["right"], newest["attribute"], newest["dn"]) == ("search", "mail", ANN)
    assert con.compare_s(ANN, "mail", b"ann@example.com") is True
    said = compared(served, 3)
    assert "loses compare compare: 1" in said["difference-count"]
    assert said["differing-requests"] == ["3"]
    # What is decided alike is compared, and is no difference.
    con.search_s(BEN, ldap.SCOPE_BASE, attrlist=["mail"])
    assert compared(served, 4)["differing-requests"] == ["3"]
    assert "ann@example.com" not in json.dumps(told(served)), "values are never shown"
    assert all(told(served)[f"left-out-{why}"] == ["0"] for why in ("busy", "too-large", "took-long", "failed"))


def test_updates_are_compared_before_they_change_what_decides(served):
    propose(served, "--add", f"proposed-global-aci:{ANN_WRITES}")
    con = served.connect(ANN, "secret12")
    for change in (
        lambda: con.modify_s(BEN, [(ldap.MOD_REPLACE, "sn", [b"secret-name"])]),
        lambda: con.add_s(f"cn=new,{BASE}", [("objectClass", [b"device"]), ("cn", [b"new"])]),
        lambda: con.delete_s(BEN),
    ):
        with pytest.raises(ldap.INSUFFICIENT_ACCESS):
            change()
    # What is granted by both sides is done, and is no difference.
    con.modify_s(ANN, [(ldap.MOD_REPLACE, "description", [b"mine"])])
    said = told(served)
    assert said["compared-requests"] == ["4"] and said["differing-requests"] == ["3"]
    assert sorted(said["difference-count"]) == ["gains add add: 1", "gains delete delete: 1", "gains modify write: 1"]
    modified = examples(said)[-1]
    assert (modified["attribute"], modified["inForce"], modified["inForceBy"]) == ("sn", "refused", "no instruction")
    assert (modified["proposed"], modified["proposedBy"]) == ("granted", 'proposed-global-aci number 1 "ann writes"')
    assert "secret-name" not in json.dumps(said)
    entry = served.connect().search_s(BEN, ldap.SCOPE_BASE, attrlist=["sn"])[0][1]
    assert entry == {"sn": [b"Short"]}


def test_a_set_that_replaces_takes_everything_else_away(served):
    propose(served, "--set", "proposed-global-aci-mode:replace", "--add", f"proposed-global-aci:{ANN_WRITES}")
    con = served.connect(ANN, "secret12")
    # Controls and extended operations are compared by their OIDs.
    page = SimplePagedResultsControl(True, size=10, cookie="")
    con.search_ext_s(BASE, ldap.SCOPE_BASE, attrlist=["dc"], serverctrls=[page])
    assert con.whoami_s() == f"dn:{ANN}"
    said = compared(served, 3)
    assert sorted(said["difference-count"]) == [
        "loses control read: 1",
        "loses extended read: 1",
        "loses search read: 1",
    ]
    by_operation = {example["operation"]: example for example in examples(said)}
    assert by_operation["extended"]["oid"] == "1.3.6.1.4.1.4203.1.11.3"
    assert by_operation["extended"]["inForceBy"] == (
        'global-aci number 1 of the configuration "Extended operations for everybody"'
    )
    assert by_operation["control"]["oid"] == "1.2.840.113556.1.4.319"
    assert by_operation["control"]["proposedBy"] == "no instruction"
    assert by_operation["search"]["dn"] == BASE
    with pytest.raises(ldap.LDAPError):
        con.extop_s(ExtendedRequest("1.2.3.4", b""))


def test_instructions_of_entries_are_proposed_by_a_file(served, tmp_path):
    root = served.connect()
    old = '(targetattr="sn")(version 3.0; acl "sn is private"; deny (read) userdn="ldap:///all";)'
    root.modify_s(BASE, [(ldap.MOD_ADD, "aci", old.encode())])
    con = served.connect(BEN, "secret12")
    assert con.search_s(ANN, ldap.SCOPE_BASE, attrlist=["cn", "sn", "mail"]) == [
        (ANN, {"cn": [b"Ann"], "mail": [b"ann@example.com"]})
    ]
    file = served.dir / "proposed.ldif"
    file.write_text(
        f"dn: {BASE}\nchangetype: modify\ndelete: aci\naci: {old}\n\n"
        f"dn: {ANN}\nchangetype: modify\nadd: aci\naci: {MAIL_IS_PRIVATE}\n"
    )
    propose(served, "--set", "proposed-aci-file:proposed.ldif")
    asked = lambda: con.search_s(ANN, ldap.SCOPE_BASE, attrlist=["cn", "sn", "mail"])  # noqa: E731
    assert asked() == [(ANN, {"cn": [b"Ann"], "mail": [b"ann@example.com"]})], "answers do not change"
    said = compared(served, 1)
    assert said["proposed-entries"] == ["2"] and said["proposed-global-instructions"] == ["0"]
    assert sorted(said["difference-count"]) == ["gains search read: 1", "loses search read: 1"]
    by_attribute = {example["attribute"]: example for example in examples(said)}
    assert by_attribute["sn"]["inForceBy"] == f'aci number 1 of "{BASE}" "sn is private"'
    assert by_attribute["sn"]["proposedBy"].startswith("global-aci number 5 of the configuration")
    assert by_attribute["mail"]["proposedBy"] == f'aci number 1 of "{ANN}" "mail is private"'

    # A proposal follows the entry, and other changes of instructions are on both sides.
    root.rename_s(ANN, "uid=anna", delold=1)
    more = '(targetattr="cn")(version 3.0; acl "cn is private"; deny (read) userdn="ldap:///all";)'
    root.modify_s(BASE, [(ldap.MOD_ADD, "aci", more.encode())])
    assert con.search_s(f"uid=anna,{BASE}", ldap.SCOPE_BASE, attrlist=["cn", "mail"]) == [
        (f"uid=anna,{BASE}", {"mail": [b"ann@example.com"]})
    ]
    said = compared(served, 2)
    assert sorted(said["difference-count"]) == ["gains search read: 1", "loses search read: 2"]

    # The next start reads the file again, and has no entry of that name: it says so, and goes on without.
    served.stop()
    served.start()
    until(lambda: "not tried" in served.error_log(), say=served.error_log)
    assert 'proposed.ldif:6: "uid=ann,dc=example,dc=com": there is no such entry' in served.error_log()
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        told(served)


@pytest.mark.parametrize(
    "text,message",
    [
        (f"uid=nobody,{BASE}\nchangetype: modify\nadd: aci\naci: {MAIL_IS_PRIVATE}\n", ":1: .*there is no such entry"),
        ("cn=config\nchangetype: modify\ndelete: aci\n", ":1: .*proposed with proposed-global-aci"),
        (f"{ANN}\nchangetype: modify\nadd: aci\naci: (reed)\n", ":3: .*is not a valid instruction: at character"),
        (f"{ANN}\nchangetype: modify\ndelete: aci\naci: {MAIL_IS_PRIVATE}\n", ":3: .*the entry has no instruction"),
        (f"{ANN}\nchangetype: modify\nreplace: sn\nsn: x\n", ":3: .*only its instructions can be proposed.*not of sn"),
        (f"{ANN}\nchangetype: delete\n", ":1: .*only its instructions can be proposed"),
        (f"{ANN}\nchangetype: modify\nadd: aci\naci: {ELSEWHERE}\n", ":3: .*is not at or below the entry"),
        ("", "it changes no instruction"),
    ],
)
def test_a_file_that_cannot_be_tried_is_refused_with_its_line(served, text, message):
    (served.dir / "proposed.ldif").write_text(text and f"dn: {text}")
    done = propose(served, "--set", "proposed-aci-file:proposed.ldif", check=False)
    assert done.returncode == 1 and re.search(f"proposed.ldif{message}|{message}", done.stderr), done.stderr
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        told(served)


def test_what_is_in_force_already_makes_no_difference(served):
    """The same set on both sides: whatever is asked for is decided alike."""
    root = served.connect()
    branch = '(targetattr="sn")(targetfilter="(uid=b*)")(version 3.0; acl "b"; deny (all) userdn="ldap:///self";)'
    root.modify_s(BASE, [(ldap.MOD_ADD, "aci", branch.encode())])
    in_force = tomllib.loads(served.config.read_text())["access-control-handler"]["global-aci"]
    changes = [word for aci in in_force for word in ("--add", f"proposed-global-aci:{aci}")]
    propose(served, "--set", "proposed-global-aci-mode:replace", *changes)
    asked = 0
    for who, password in ((ANN, "secret12"), (BEN, "secret12"), ("", "")):
        con = served.connect(who, password)
        for base in (BASE, ANN, BEN, "", "cn=schema", "cn=monitor", f"uid=none,{BASE}"):
            for scope in (ldap.SCOPE_BASE, ldap.SCOPE_SUBTREE):
                for filter_text in ("(objectClass=*)", "(sn=*)", "(!(sn=Short))", "(|(mail=a*)(userPassword=*))"):
                    if base == "" and scope == ldap.SCOPE_SUBTREE:
                        continue
                    with contextlib.suppress(ldap.LDAPError):
                        con.search_s(base, scope, filter_text, ["*", "+"])
                    asked += 1
        for dn in (ANN, BEN):
            for request in (
                lambda dn=dn: con.compare_s(dn, "sn", b"Long"),
                lambda dn=dn: con.modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"x"])]),
                lambda dn=dn: con.modify_s(dn, [(ldap.MOD_DELETE, "sn", None)]),
                lambda dn=dn: con.rename_s(dn, "uid=other"),
                lambda dn=dn: con.delete_s(dn),
                lambda: con.whoami_s(),
            ):
                with contextlib.suppress(ldap.LDAPError):
                    request()
                asked += 1
    said = compared(served, asked)
    assert said["differing-requests"] == ["0"], said["difference-example"]


def test_acting_as_somebody_else_is_compared(served):
    root = served.connect()
    proxy = '(targetcontrol="2.16.840.1.113730.3.4.18")(version 3.0; acl "c"; allow (read) userdn="ldap:///all";)'
    right = f'(version 3.0; acl "ann acts"; allow (proxy) userdn="ldap:///{ANN}";)'
    root.modify_s(BASE, [(ldap.MOD_ADD, "aci", [proxy.encode(), right.encode()])])
    root.modify_s(ANN, [(ldap.MOD_ADD, "ds-privilege-name", b"proxied-auth")])
    propose(served, "--add", f"proposed-global-aci:{right.replace('allow', 'deny').replace('ann acts', 'no proxy')}")
    con = served.connect(ANN, "secret12")
    acting = ProxyAuthzControl(True, f"dn:{BEN}".encode())
    assert con.search_ext_s(BEN, ldap.SCOPE_BASE, attrlist=["uid"], serverctrls=[acting]) == [(BEN, {"uid": [b"ben"]})]
    said = compared(served, 3)
    assert said["difference-count"] == ["loses proxiedAuthorization proxy: 1"]
    (example,) = examples(said)
    assert (example["asker"], example["dn"]) == (ANN, BEN)
    assert example["inForceBy"] == f'aci number 2 of "{BASE}" "ann acts"'
    assert example["proposedBy"] == 'proposed-global-aci number 1 "no proxy"'


def test_proposals_change_while_the_server_runs(served):
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        told(served)
    wrong = MAIL_IS_PRIVATE.replace("read,search", "reed")
    done = propose(served, "--add", f"proposed-global-aci:{wrong}", check=False)
    assert done.returncode == 1 and '"reed" is not a right; did you mean read?' in done.stderr
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        told(served)
    propose(served, "--add", f"proposed-global-aci:{MAIL_IS_PRIVATE}")
    con = served.connect(BEN, "secret12")
    con.search_s(ANN, ldap.SCOPE_BASE, attrlist=["mail"])
    said = compared(served, 1)
    assert said["shadow-mode"] == ["on"] and said["proposed-global-instructions"] == ["1"]

    propose(served, "--add", f"proposed-global-aci:{ANN_WRITES}")
    assert told(served)["compared-requests"] == ["0"], "counts begin anew with another proposal"
    con.search_s(ANN, ldap.SCOPE_BASE, attrlist=["mail"])
    assert compared(served, 1)["proposed-global-instructions"] == ["2"]

    propose(served, "--reset", "proposed-global-aci")
    con.search_s(ANN, ldap.SCOPE_BASE, attrlist=["mail"])
    said = told(served)
    assert said["shadow-mode"] == ["off"] and said["compared-requests"] == ["1"], "the last counts stay to be read"
