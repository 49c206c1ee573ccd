"""Access control by configuration: profiles of setup, global instructions, privileges, clients and encryption."""

import ldap
import pytest
from ldap.extop import ExtendedRequest
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando, connect

ENTRIES = f"""dn: {BASE}
objectClass: domain
dc: example

dn: uid=ann,{BASE}
objectClass: inetOrgPerson
objectClass: posixAccount
uid: ann
cn: Ann
sn: Example
uidNumber: 1001
gidNumber: 100
homeDirectory: /home/ann
userPassword: secret12

dn: uid=ben,{BASE}
objectClass: inetOrgPerson
uid: ben
cn: Ben
sn: Example
userPassword: secret12
"""
ANN = f"uid=ann,{BASE}"


@pytest.fixture
def bare(tmp_path):
    """An instance that is not set up yet, for one test alone."""
    instance = Pando(tmp_path / "inst")
    yield instance
    instance.remove()


def served(instance, tmp_path, profile):
    file = tmp_path / "people.ldif"
    file.write_text(ENTRIES)
    instance.setup("--accessProfile", profile)
    return instance.import_ldif(file).start()


def seen(con, filter_text="(objectClass=*)"):
    """How many entries somebody sees, and the attributes of all of them."""
    try:
        found = con.search_s(BASE, ldap.SCOPE_SUBTREE, filter_text)
    except ldap.NO_SUCH_OBJECT:
        return 0, set()
    return len(found), {name for _, values in found for name in values}


@pytest.mark.parametrize(
    "profile,anonymous,user",
    [("closed", 0, 0), ("addressbook", 0, 3), ("opendj-compatible", 3, 3), ("posix-logins", 2, 3)],
)
def test_profiles_grant_what_they_say(bare, tmp_path, profile, anonymous, user):
    instance = served(bare, tmp_path, profile)
    count, attributes = seen(instance.connect("", ""))
    assert count == anonymous and "userPassword" not in attributes
    count, attributes = seen(instance.connect(ANN, "secret12"))
    assert count == user and "userPassword" not in attributes
    root_dse = instance.connect("", "").search_s("", ldap.SCOPE_BASE, attrlist=["supportedExtension"])
    assert root_dse[0][1]["supportedExtension"]


def test_an_unknown_profile_is_refused(bare):
    with pytest.raises(AssertionError, match="must be one of closed, addressbook, opendj-compatible, posix-logins"):
        bare.setup("--accessProfile", "open")


def test_global_instructions_change_while_the_server_runs(bare, tmp_path):
    instance = served(bare, tmp_path, "closed")
    con = instance.connect(ANN, "secret12")
    assert seen(con)[0] == 0
    aci = '(targetattr="objectClass || uid")(version 3.0; acl "uids"; allow (read,search) userdn="ldap:///all";)'
    instance.tool("dsconfig", "set-access-control-handler-prop", "--add", f"global-aci:{aci}")
    assert seen(con) == (3, {"objectClass", "uid"})
    wrong = aci.replace("read,search", "reed")
    done = instance.tool("dsconfig", "set-access-control-handler-prop", "--add", f"global-aci:{wrong}", check=False)
    assert done.returncode == 1 and '"reed" is not a right; did you mean read?' in done.stderr
    instance.tool("dsconfig", "set-access-control-handler-prop", "--remove", f"global-aci:{aci}")
    assert seen(con)[0] == 0


def test_root_users_have_the_privileges_that_they_are_given(bare, tmp_path):
    instance = served(bare, tmp_path, "closed")
    root = instance.connect(ROOT_DN, ROOT_PW)
    assert seen(root)[0] == 3
    user = ("--user-name", "Directory Manager")
    instance.tool("dsconfig", "set-root-dn-user-prop", *user, "--set", "privilege-name:-bypass-acl")
    assert seen(root)[0] == 0, "the next request of the same connection"
    instance.tool("dsconfig", "set-root-dn-user-prop", *user, "--reset", "privilege-name")
    assert seen(root)[0] == 3


def test_everybody_bypasses_what_is_disabled(bare, tmp_path):
    instance = served(bare, tmp_path, "closed")
    con = instance.connect(ANN, "secret12")
    instance.tool("dsconfig", "set-access-control-handler-prop", "--set", "enabled:false")
    assert seen(con)[0] == 3
    instance.tool("dsconfig", "set-access-control-handler-prop", "--set", "enabled:true")
    assert seen(con)[0] == 0


def test_weak_connections_and_clear_passwords_are_refused(bare, tmp_path):
    instance = served(bare, tmp_path, "addressbook")
    con = instance.connect(ANN, "secret12")
    instance.tool("dsconfig", "set-global-configuration-prop", "--set", "minimum-security-strength-factor:128")
    with pytest.raises(ldap.CONFIDENTIALITY_REQUIRED):
        con.search_s(BASE, ldap.SCOPE_BASE)
    assert seen(connect(instance.tls_url, ANN, "secret12"))[0] == 3
    instance.tool("dsconfig", "set-global-configuration-prop", "--reset", "minimum-security-strength-factor")
    policy = ("--policy-name", "Default Password Policy")
    instance.tool("dsconfig", "set-password-policy-prop", *policy, "--set", "require-secure-authentication:true")
    for password in ("secret12", "wrong"):
        with pytest.raises(ldap.CONFIDENTIALITY_REQUIRED):
            instance.connect(ANN, password)
    assert seen(con)[0] == 3, "who is bound goes on"


def test_addresses_are_denied_from_the_next_connection_on(bare, tmp_path):
    instance = served(bare, tmp_path, "addressbook")
    con = instance.connect(ANN, "secret12")
    instance.tool("dsconfig", "set-global-configuration-prop", "--set", "denied-client:127.0.0.0/8")
    with pytest.raises((ldap.SERVER_DOWN, ldap.BUSY)):
        instance.connect(ANN, "secret12")
    assert seen(con)[0] == 3
    instance.tool("dsconfig", "set-global-configuration-prop", "--reset", "denied-client")
    assert seen(instance.connect(ANN, "secret12"))[0] == 3


def test_extended_operations_take_a_right(bare, tmp_path):
    instance = served(bare, tmp_path, "opendj-compatible")
    con = instance.connect(ANN, "secret12")
    assert con.whoami_s() == f"dn:{ANN}"
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        con.extop(ExtendedRequest("1.3.6.1.4.1.26027.1.6.2", None), None)
        con.result4()
