"""Attributes of other servers that are not obeyed: warned of at import, at start and when written."""

import ldap
from pando_server import BASE, until

ENTRIES = f"""dn: {BASE}
objectClass: domain
dc: example
pwdPolicySubentry: cn=strict,{BASE}

dn: uid=ann,{BASE}
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: Example
userPassword: secret12
pwdPolicySubentry: cn=strict,{BASE}
accountUnlockTime: 20300101000000Z
ds-pwp-account-disabled: true
"""


def test_promises_of_other_servers_are_named(fresh, tmp_path):
    file = tmp_path / "people.ldif"
    file.write_text(ENTRIES)
    said = fresh.tool("import-ldif", "--backendID", "userRoot", "--ldifFile", file, "--offline").stderr
    assert "2 entries have the attribute pwdPolicySubentry, which is not obeyed: it selects no" in said
    assert "1 entry has the attribute accountUnlockTime, which is not obeyed: it does not lock" in said
    assert "ds-pwp-account-disabled" not in said
    fresh.start()
    until(lambda: 'Backend "userRoot": 2 entries have the attribute pwdPolicySubentry, ' in fresh.error_log())
    until(lambda: 'Backend "userRoot": 1 entry has the attribute accountUnlockTime, ' in fresh.error_log())
    root = fresh.connect()
    for value in (b"20310101000000Z", b"20320101000000Z"):
        root.modify_s(f"uid=ann,{BASE}", [(ldap.MOD_REPLACE, "accountUnlockTime", [value])])
    until(lambda: "A client wrote the attribute accountUnlockTime, which is not obeyed" in fresh.error_log())
    assert fresh.error_log().count("A client wrote the attribute") == 1


def test_a_disabled_account_cannot_bind(fresh, tmp_path):
    file = tmp_path / "people.ldif"
    file.write_text(ENTRIES)
    fresh.import_ldif(file).start()
    answers = []
    for password in ("secret12", "wrong"):
        try:
            fresh.connect(f"uid=ann,{BASE}", password)
            raise AssertionError("the account is disabled")
        except ldap.INVALID_CREDENTIALS as error:
            answers.append(error.args[0].get("info"))
    assert answers[0] == answers[1], "the answer does not tell whether the password was right"
    fresh.connect().modify_s(f"uid=ann,{BASE}", [(ldap.MOD_DELETE, "ds-pwp-account-disabled", None)])
    fresh.connect(f"uid=ann,{BASE}", "secret12")
