"""Access control instructions that are not valid are refused by updates, with the reason, and change nothing."""

import ldap
import pytest
from pando_server import BASE

BODY = '(version 3.0; acl "a"; allow (read) userdn="ldap:///self";)'
REFUSED = [
    (f'(targetatr="cn"){BODY}', "at character 2", "did you mean targetattr"),
    (f"(targetattr=cn){BODY}", "at character 13", "a value in quotation marks"),
    (
        '(version 3.0; acl "a"; allow (reed) userdn="ldap:///self";)',
        "is not a valid access control instruction: at character 31",
        "did you mean read",
    ),
    (f'(target="ldap:///dc=elsewhere"){BODY}', "is not at or below the entry", "put the instruction on that entry"),
]


@pytest.mark.parametrize(("text", "what", "remedy"), REFUSED)
def test_an_instruction_that_is_not_valid_changes_nothing(fresh, tmp_path, text, what, remedy):
    file = tmp_path / "tree.ldif"
    file.write_text(f"dn: {BASE}\nobjectClass: domain\ndc: example\n")
    fresh.import_ldif(file).start()
    root = fresh.connect()
    entry = [("objectClass", b"organizationalUnit"), ("ou", b"x"), ("aci", text.encode())]
    for update in (
        lambda: root.modify_s(BASE, [(ldap.MOD_ADD, "description", [b"x"]), (ldap.MOD_ADD, "aci", [text.encode()])]),
        lambda: root.add_s(f"ou=x,{BASE}", entry),
    ):
        with pytest.raises(ldap.INVALID_SYNTAX) as refused:
            update()
        assert what in refused.value.args[0]["info"] and remedy in refused.value.args[0]["info"]
    found = root.search_s(BASE, ldap.SCOPE_SUBTREE, "(objectClass=*)", ["aci", "description"])
    assert found == [(BASE, {})]
    root.modify_s(BASE, [(ldap.MOD_ADD, "aci", [f'(targetattr="cn"){BODY}'.encode()])])
