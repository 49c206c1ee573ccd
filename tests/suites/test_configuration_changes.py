"""Changes of `cn=config` over LDAP: one edit of pando.toml each, judged whole, in force at once, recorded."""

import json
import threading

import ldap
import pytest
from ldap.controls.simple import BooleanControl, ValueLessRequestControl
from pando_server import BASE, ROOT_DN, until

BACKEND = "ds-cfg-backend-id=userRoot,cn=Backends,cn=config"
RULE = "cn=Unique mail,cn=Plugins,cn=config"
POLICY = "cn=Every hour,cn=Log Rotation Policies,cn=config"


def replace(con, dn, attribute, *values):
    """The message of a change."""
    values = [value.encode() for value in values] or None
    message = con.modify(dn, [(ldap.MOD_REPLACE, attribute, values)])
    return con.result3(message)


def shown(con, dn, attribute):
    [(_, entry)] = con.search_s(dn, ldap.SCOPE_BASE, attrlist=[attribute])
    return sorted(value.decode() for value in entry.get(attribute, []))


def attributes(**given):
    return [
        (name.replace("_", "-") if name != "objectClass" else name, [v.encode() for v in values])
        for name, values in given.items()
    ]


def add(con, dn, *classes, **given):
    con.add_s(dn, attributes(objectClass=("top", *classes), **given))


def refused(server, error, call):
    """The sentence of a refusal; the file is as before."""
    before = server.config.read_text()
    with pytest.raises(error) as told:
        call()
    assert server.config.read_text() == before
    return told.value.args[0].get("info", "")


@pytest.fixture
def con(server):
    con = server.connect()
    yield con
    con.unbind_s()


def test_a_change_is_in_force_at_once_and_comments_stay(server, con):
    text = server.config.read_text()
    server.config.write_text(text.replace("[global]", "# Mine.\n[global]"))
    server.tool("reload")
    replace(con, "cn=config", "ds-cfg-size-limit", "2")
    con.modify_s(f"uid=user.4,ou=People,{BASE}", [(ldap.MOD_REPLACE, "userPassword", [b"password1"])])
    user = server.connect(f"uid=user.4,ou=People,{BASE}", "password1")
    with pytest.raises(ldap.SIZELIMIT_EXCEEDED):
        user.search_s(BASE, ldap.SCOPE_SUBTREE)
    assert shown(con, "cn=config", "ds-cfg-size-limit") == ["2"]
    assert "# Mine.\n[global]" in server.config.read_text() and "\nsize-limit = 2\n" in server.config.read_text()
    con.modify_s("cn=config", [(ldap.MOD_DELETE, "ds-cfg-size-limit", None)])
    assert shown(con, "cn=config", "ds-cfg-size-limit") == ["1000"]


def test_what_takes_a_restart_says_so(server, con):
    replace(con, "cn=config", "ds-cfg-check-schema", "false")
    assert con.get_option(ldap.OPT_DIAGNOSTIC_MESSAGE) == "[global] check-schema takes effect after a restart"
    replace(con, "cn=config", "ds-cfg-check-schema", "true")
    assert shown(con, "cn=config", "ds-cfg-check-schema") == ["true"]


def test_objects_come_are_renamed_and_go(server, con):
    add(con, RULE, "ds-cfg-plugin", "ds-cfg-unique-attribute-plugin", cn=["Unique mail"], ds_cfg_type=["mail"])
    assert '[plugin."Unique mail"]' in server.config.read_text()
    mail = shown(con, f"uid=user.2,ou=People,{BASE}", "mail")[0].encode()
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        con.modify_s(f"uid=user.1,ou=People,{BASE}", [(ldap.MOD_REPLACE, "mail", [mail])])
    con.modify_s(RULE, [(ldap.MOD_ADD, "ds-cfg-type", [b"uid"]), (ldap.MOD_DELETE, "ds-cfg-type", [b"MAIL"])])
    assert shown(con, RULE, "ds-cfg-type") == ["uid"]
    con.rename_s(RULE, "cn=Unique uid")
    renamed = "cn=Unique uid,cn=Plugins,cn=config"
    assert shown(con, renamed, "cn") == ["Unique uid"] and '[plugin."Unique uid"]' in server.config.read_text()
    con.delete_s(renamed)
    assert "Unique uid" not in server.config.read_text()


def test_references_are_names_and_follow(server, con):
    add(
        con,
        POLICY,
        "ds-cfg-log-rotation-policy",
        "ds-cfg-time-limit-log-rotation-policy",
        ds_cfg_rotation_interval=["1 hour"],
    )
    [log] = [
        dn
        for dn, _ in con.search_s(
            "cn=Loggers,cn=config", ldap.SCOPE_ONELEVEL, "(objectClass=ds-cfg-file-based-access-log-publisher)"
        )
    ]
    before = shown(con, log, "ds-cfg-rotation-policy")
    replace(con, log, "ds-cfg-rotation-policy", POLICY)
    assert 'rotation-policy = "Every hour"' in server.config.read_text()
    told = refused(server, ldap.UNWILLING_TO_PERFORM, lambda: con.delete_s(POLICY))
    assert "Every hour" in told
    con.rename_s(POLICY, "cn=Hourly")
    assert shown(con, log, "ds-cfg-rotation-policy") == ["cn=Hourly,cn=Log Rotation Policies,cn=config"]
    replace(con, log, "ds-cfg-rotation-policy", *before)
    con.delete_s("cn=Hourly,cn=Log Rotation Policies,cn=config")


def test_mistakes_change_nothing(server, con):
    def modify(dn, attribute, *values):
        return lambda: replace(con, dn, attribute, *values)

    index = f"ds-cfg-attribute=cn,cn=Index,{BACKEND}"
    for error, call, told in [
        (ldap.UNDEFINED_TYPE, modify("cn=config", "ds-cfg-size-limt", "5"), "did you mean ds-cfg-size-limit"),
        (ldap.OBJECT_CLASS_VIOLATION, modify("cn=config", "ds-cfg-index-type", "equality"), "ds-cfg-index-type"),
        (
            ldap.CONSTRAINT_VIOLATION,
            modify("cn=config", "ds-cfg-size-limit", "-5"),
            "it must be a whole number from 0 to",
        ),
        (ldap.CONSTRAINT_VIOLATION, modify("cn=config", "ds-cfg-size-limit", "5", "6"), "takes one value"),
        (ldap.OBJECT_CLASS_VIOLATION, modify(index, "ds-cfg-index-type"), "has to be set"),
        (ldap.NO_SUCH_OBJECT, modify("cn=Nothing,cn=Plugins,cn=config", "ds-cfg-enabled", "true"), ""),
        (ldap.NO_SUCH_OBJECT, lambda: con.delete_s("cn=Nothing,cn=Plugins,cn=config"), ""),
        (ldap.UNWILLING_TO_PERFORM, lambda: con.delete_s("cn=Plugins,cn=config"), "only holds"),
        (ldap.UNWILLING_TO_PERFORM, lambda: con.delete_s("cn=config"), "exactly one"),
        (ldap.NOT_ALLOWED_ON_NONLEAF, lambda: con.delete_s(BACKEND), "below it"),
        (ldap.UNWILLING_TO_PERFORM, lambda: con.rename_s(BACKEND, "ds-cfg-backend-id=other"), "keeps its name"),
        (ldap.NOT_ALLOWED_ON_RDN, modify(index, "ds-cfg-attribute", "sn"), "rename"),
        (ldap.UNWILLING_TO_PERFORM, modify(index, "ds-cfg-index-extensible-matching-rule", "fr"), "extensible"),
        (ldap.ALREADY_EXISTS, lambda: add(con, index, "ds-cfg-backend-index", ds_cfg_index_type=["equality"]), ""),
        (ldap.OBJECT_CLASS_VIOLATION, lambda: add(con, RULE, "ds-cfg-plugin"), "ds-cfg-unique-attribute-plugin"),
        (
            ldap.OBJECT_CLASS_VIOLATION,
            lambda: add(con, RULE, "ds-cfg-plugin", "ds-cfg-unique-attribute-plugin"),
            "ds-cfg-type has to be set",
        ),
        (ldap.NAMING_VIOLATION, lambda: add(con, "cn=x,cn=y,cn=config", "ds-cfg-plugin"), "no name"),
        (
            ldap.TYPE_OR_VALUE_EXISTS,
            lambda: con.modify_s(index, [(ldap.MOD_ADD, "ds-cfg-index-type", b"equality")]),
            "",
        ),
        (
            ldap.NO_SUCH_ATTRIBUTE,
            lambda: con.modify_s(index, [(ldap.MOD_DELETE, "ds-cfg-index-type", b"presence")]),
            "",
        ),
    ]:
        assert told in refused(server, error, call), told


def test_the_tool_and_ldap_give_the_same_sentence(server, con):
    told = refused(server, ldap.CONSTRAINT_VIOLATION, lambda: replace(con, "cn=config", "ds-cfg-size-limit", "many"))
    by_tool = server.tool("dsconfig", "set-global-configuration-prop", "--set", "size-limit:many", "-n", check=False)
    assert by_tool.returncode == 1 and told in by_tool.stderr


def test_changing_takes_config_write(server, con):
    user = f"uid=user.3,ou=People,{BASE}"
    con.modify_s(user, [(ldap.MOD_REPLACE, "userPassword", [b"password1"])])
    con.modify_s(user, [(ldap.MOD_ADD, "ds-privilege-name", [b"config-read"])])
    own = server.connect(user, "password1")
    told = refused(server, ldap.INSUFFICIENT_ACCESS, lambda: replace(own, "cn=config", "ds-cfg-size-limit", "5"))
    assert "config-write" in told
    # The privilege alone opens no entry.
    con.modify_s(user, [(ldap.MOD_ADD, "ds-privilege-name", [b"config-write"])])
    own = server.connect(user, "password1")
    told = refused(server, ldap.INSUFFICIENT_ACCESS, lambda: replace(own, "cn=config", "ds-cfg-size-limit", "5"))
    assert "right to change" in told


def test_a_file_that_does_not_read_is_refused_with_its_line(server, con):
    good = server.config.read_text()
    server.config.write_text(good + "\n[nonsense]\n")
    line = (good + "\n[nonsense]\n").splitlines().index("[nonsense]") + 1
    told = refused(server, ldap.UNWILLING_TO_PERFORM, lambda: replace(con, "cn=config", "ds-cfg-size-limit", "5"))
    assert f"pando.toml:{line}:" in told
    server.config.write_text(good)


def test_what_was_edited_by_hand_is_not_lost(server, con):
    good = server.config.read_text()
    server.config.write_text(good.replace("[global]", "[global]\nlookthrough-limit = 4321", 1))
    replace(con, "cn=config", "ds-cfg-time-limit", "33 seconds")
    assert shown(con, "cn=config", "ds-cfg-lookthrough-limit") == ["4321"]
    server.config.write_text(good)
    server.tool("reload")


def test_two_writers_lose_nothing(server, con):
    def by_ldap():
        own = server.connect()
        for number in range(4):
            add(own, f"cn=L{number},cn=Limits Rules,cn=config", "ds-cfg-limits-rule", "ds-cfg-everyone-limits")

    def by_tool():
        for number in range(4):
            server.tool("dsconfig", "create-limits-rule", "--rule-name", f"T{number}", "--type", "everyone", "-n")

    threads = [threading.Thread(target=target) for target in (by_ldap, by_tool)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    rules = con.search_s("cn=Limits Rules,cn=config", ldap.SCOPE_ONELEVEL, attrlist=["1.1"])
    assert sorted(dn.split(",")[0] for dn, _ in rules) == [f"cn={kind}{n}" for kind in "LT" for n in range(4)]
    for dn, _ in rules:
        con.delete_s(dn)


def test_a_trial_changes_nothing_and_an_assertion_is_refused(server, con):
    before = server.config.read_text()
    no_op = ValueLessRequestControl("1.3.6.1.4.1.4203.1.10.2", True)
    with pytest.raises(ldap.LDAPError) as told:
        con.modify_ext_s("cn=config", [(ldap.MOD_REPLACE, "ds-cfg-size-limit", [b"5"])], serverctrls=[no_op])
    assert told.value.args[0]["result"] == 16654
    pre_read = BooleanControl("1.3.6.1.1.13.1", True, False)
    pre_read.encodeControlValue = lambda: b"\x30\x00"
    with pytest.raises(ldap.UNAVAILABLE_CRITICAL_EXTENSION):
        con.modify_ext_s("cn=config", [(ldap.MOD_REPLACE, "ds-cfg-size-limit", [b"5"])], serverctrls=[pre_read])
    assert server.config.read_text() == before


def test_root_passwords_are_hashed_and_never_shown(server, con):
    user = "cn=Second,cn=Root DNs,cn=config"
    add(con, user, "ds-cfg-root-dn-user", ds_cfg_alternate_bind_dn=["cn=Second"], userPassword=["password-of-second"])
    assert "password-of-second" not in server.config.read_text()
    server.connect("cn=Second", "password-of-second").unbind_s()
    assert shown(con, user, "userPassword") == []
    replace(con, user, "userPassword", "another-password")
    server.connect("cn=Second", "another-password").unbind_s()
    told = refused(server, ldap.UNWILLING_TO_PERFORM, lambda: replace(con, user, "userPassword", "short"))
    assert "at least 8" in told
    con.delete_s(user)


def test_an_audit_record_says_who_and_what_was_there(server, con):
    audit = server.dir / "logs" / "audit"
    replace(con, "cn=File-Based Audit Logger,cn=Loggers,cn=config", "ds-cfg-enabled", "true")
    server.stop()
    server.start()
    own = server.connect()
    replace(own, "cn=config", "ds-cfg-lookthrough-limit", "777")
    record = until(lambda: audit.exists() and "lookthrough" in audit.read_text() and audit.read_text())
    block = record[record.index("; configuration; LDAP;") :]
    assert f"LDAP; {ROOT_DN}\n" in block
    assert "# before: ds-cfg-lookthrough-limit: 5000\ndn: cn=config\nchangetype: modify\n" in block
    assert "replace: ds-cfg-lookthrough-limit\nds-cfg-lookthrough-limit: 777\n-\n" in block
    server.tool("dsconfig", "set-global-configuration-prop", "--reset", "lookthrough-limit", "-n")
    until(lambda: "# before: ds-cfg-lookthrough-limit: 777" in audit.read_text())
    assert "; configuration; reload; uid " in audit.read_text()


def test_history_shows_what_differs_and_goes_back(server):
    con = server.connect()
    before = server.config.read_text()
    replace(con, "cn=config", "ds-cfg-size-limit", "44")
    versions = json.loads(server.tool("config", "history", "--json").stdout)
    newest = versions[-1]
    assert (newest["door"], newest["by"]) == ("LDAP", ROOT_DN)
    shown_by_tool = server.tool("config", "history").stdout
    assert shown_by_tool.splitlines()[-1].split()[0] == str(newest["number"])
    diff = server.tool("config", "diff", newest["number"] - 1, newest["number"]).stdout
    assert diff == "  [global]\n-   size-limit = 1000\n+   size-limit = 44\n"
    assert server.tool("config", "diff").stdout == "Nothing differs.\n"
    [as_json] = json.loads(server.tool("config", "diff", newest["number"] - 1, "--json").stdout)
    assert as_json["values"] == [{"property": "size-limit", "before": ["1000"], "after": ["44"]}]
    told = server.tool("config", "rollback", newest["number"] - 1).stdout
    assert told.startswith("The server (process ")
    assert server.config.read_text() == before
    assert shown(con, "cn=config", "ds-cfg-size-limit") == ["1000"]
    assert "there is no configuration 999" in server.tool("config", "rollback", "999", check=False).stderr
    assert (server.dir / "config-history").stat().st_mode & 0o777 == 0o700
