"""What the suites about passwords of other servers share: people here, and the same people in the other directory.

Knows entries and the tables of policies; knows nothing of what a suite asks.
"""

import ldap
from pando_server import BASE, DIRECTORY_LDIF

PEOPLE = f"ou=Staff,{BASE}"
ANN, BEN = f"uid=ann,{PEOPLE}", f"uid=ben,{PEOPLE}"
LOCAL, THERE = "kept here 1", "kept there 2"
ODD_UID = "a*(b)\\c"
# What the other directory has.
REMOTE_LDIF = f"""
dn: {PEOPLE}
objectClass: organizationalUnit
ou: Staff

dn: {ANN}
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: Example
mail: ann@example.com
userPassword: {THERE}

dn: cn=Odd,{PEOPLE}
objectClass: inetOrgPerson
uid: {ODD_UID}
cn: Odd
sn: Example
userPassword: {THERE}

dn: cn=Twin One,{PEOPLE}
objectClass: inetOrgPerson
uid: twin
cn: Twin One
sn: Example
userPassword: {THERE}

dn: cn=Twin Two,{PEOPLE}
objectClass: inetOrgPerson
uid: twin
cn: Twin Two
sn: Example
userPassword: {THERE}
"""


def person(uid, **more):
    attributes = {"objectClass": ["inetOrgPerson"], "uid": [uid], "cn": [uid], "sn": ["Example"], **more}
    return [(name, [value.encode() for value in values]) for name, values in attributes.items()]


def policy(name, *properties):
    return f'\n[password-policy."{name}"]\ntype = "ldap-pass-through"\n' + "".join(f"{line}\n" for line in properties)


def pointer(name):
    return {"ds-pwp-password-policy-dn": [f"cn={name},cn=Password Policies,cn=config"]}


def address(url):
    return url.removeprefix("ldap://").rstrip("/")


def code(server, dn, password):
    return code_at(server.url, dn, password)


def code_at(url, dn, password):
    """The result code of a bind."""
    con = ldap.initialize(url)
    try:
        con.simple_bind_s(dn, password)
        return 0
    except ldap.LDAPError as error:
        return error.args[0]["result"]
    finally:
        con.unbind_s()


def add_people(server, name):
    root = server.connect()
    root.add_s(PEOPLE, [("objectClass", [b"organizationalUnit"]), ("ou", [b"Staff"])])
    root.add_s(ANN, person("ann", userPassword=[LOCAL], **pointer(name)))
    return root


def remote_data(folder):
    """A file with the entries of the other directory."""
    data = folder / "data.ldif"
    data.write_text(DIRECTORY_LDIF.read_text() + REMOTE_LDIF)
    return data
