"""The directory of a history: who is in it, and which rights the servers are given.

Knows names; knows no policies.
"""

BASE = "dc=example,dc=com"
PEOPLE = ("alice", "bob", "carol", "helen", "ivan")
# Carol has no password. Helen may reset passwords; Ivan may write everything but lacks the privilege for passwords.
FIRST_PASSWORDS = {"alice": "first-of-alice", "bob": "first-of-bob", "helen": "helen-rules", "ivan": "ivan-rules"}
UNKNOWN = "nobody"
HELPERS = ("helen", "ivan")
POLICIES = ("one", "two")

GLOBAL_ACIS = [
    '(targetcontrol="*")(version 3.0; acl "Every control"; allow (read) userdn="ldap:///anyone";)',
    '(extop="*")(version 3.0; acl "Every extended operation"; allow (read) userdn="ldap:///anyone";)',
    '(targetattr="* || +")(version 3.0; acl "Reading"; allow (read,search,compare) userdn="ldap:///all";)',
    '(targetattr="userPassword || description")(version 3.0; acl "Own"; allow (write) userdn="ldap:///self";)',
    *(
        f'(targetattr="* || +")(version 3.0; acl "Of {name}"; allow (all) userdn="ldap:///uid={name},{BASE}";)'
        for name in HELPERS
    ),
]


def dn(name: str, root_dn: str) -> str:
    return root_dn if name == "root" else f"uid={name},{BASE}"


def entry(name: str) -> dict[str, list]:
    attributes = {
        "objectClass": ["top", "person", "organizationalPerson", "inetOrgPerson"],
        "uid": [name],
        "cn": [name],
        "sn": [name],
    }
    if name in FIRST_PASSWORDS:
        attributes["userPassword"] = [FIRST_PASSWORDS[name]]
    if name == "helen":
        attributes["ds-privilege-name"] = ["password-reset"]
    return attributes
