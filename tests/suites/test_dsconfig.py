"""dsconfig for everything that is declared: objects come, change, are shown and go; the running server takes or refuses
them."""

import re
import subprocess

import ldap
import pytest
from pando_server import BASE, binary

PEOPLE, GROUPS = f"ou=People,{BASE}", f"ou=Groups,{BASE}"


def dsconfig(instance, *words, check=True):
    return instance.tool("dsconfig", *words, "--no-prompt", check=check)


def refused(instance, *words):
    """The one sentence that a command is refused with."""
    before = instance.config.read_text()
    done = dsconfig(instance, *words, check=False)
    lines = done.stderr.splitlines()
    assert done.returncode != 0 and len(lines) == 1, done.stderr
    assert instance.config.read_text() == before
    return lines[0]


def rows(text):
    return [[cell.strip() for cell in line.split(" : ")] for line in text.splitlines()]


def test_a_plugin_comes_changes_and_goes_offline(fresh):
    file = fresh.config
    before = file.read_text()
    word = refused(fresh, "create-plugin", "--plugin-name", "Unique mail", "--type", "unique-attribute")
    assert "create-plugin needs --set attribute-type:VALUE (the name or OID of an attribute type)" in word
    said = dsconfig(
        fresh,
        "create-plugin",
        "--plugin-name",
        "Unique mail",
        "--type",
        "unique-attribute",
        "--set",
        "attribute-type:mail",
        "--set",
        f"base-dn:{PEOPLE}",
    ).stdout
    assert 'Plugin "Unique mail" was created' in said and "starts or reloads" in said and "index" not in said
    lines = iter(file.read_text().splitlines())
    assert all(line in lines for line in before.splitlines()), "comments and order stay"
    listed = rows(dsconfig(fresh, "list-plugins").stdout)
    assert listed[0] == ["Plugin", "Type", "enabled"] and ["Unique mail", "unique-attribute", "true"] in listed
    dsconfig(
        fresh,
        "set-plugin-prop",
        "--plugin-name",
        "unique MAIL",
        "--add",
        "attribute-type:uid",
        "--set",
        "enabled:false",
        "--reset",
        "base-dn",
    )
    shown = rows(dsconfig(fresh, "get-plugin-prop", "--plugin-name", "Unique mail").stdout)
    assert shown[0] == ["Property", "Value(s)"]
    assert [row for row in shown if row[0] in ("enabled", "attribute-type", "base-dn")] == [
        ["attribute-type", "mail, uid"],
        ["base-dn", "-"],
        ["enabled", "false"],
    ]
    dsconfig(fresh, "delete-plugin", "--plugin-name", "Unique mail")
    assert file.read_text().rstrip() == before.rstrip()


@pytest.mark.parametrize(
    "words, told",
    [
        (("create-plugin", "--plugin-name", "x", "--type", "overlay"), "possible values: referential-integrity"),
        (("create-plugin", "--plugin-name", "x"), "--type TYPE is missing: one of referential-integrity"),
        (
            ("create-plugin", "--plugin-name", "x", "--type", "seven-bit-clean", "--set", "update-interval:5 s"),
            'belongs to type "referential-integrity"',
        ),
        (
            ("create-plugin", "--plugin-name", "x", "--type", "seven-bit-clean", "--set", "attribute-typ:uid"),
            "did you mean attribute-type?",
        ),
        (
            ("create-plugin", "--plugin-name", "x", "--type", "seven-bit-clean", "--set", "enabled:perhaps"),
            "it must be true or false",
        ),
        (
            ("create-plugin", "--plugin-name", "x", "--type", "seven-bit-clean", "--set", "attribute-type:noSuchType"),
            'the schema has no attribute type "noSuchType"',
        ),
        (("set-plugin-prop", "--plugin-name", "x", "--set", "enabled:false"), "there is no [plugin.x]"),
        (("get-plugin-prop", "--plugin-name", "x"), 'there is no plugin "x"'),
        (("list-backend-indexes", "--backend-name", "x"), 'there is no backend "x"'),
        (
            ("delete-log-rotation-policy", "--policy-name", "24 Hours Time Limit Rotation Policy"),
            'there is no log-rotation-policy "24 Hours',
        ),
        (("set-global-configuration-prop", "--set", "size-limit:-1"), "it must be a whole number"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(server, words, told):
    assert told in refused(server, *words)


def test_an_attribute_without_an_index_is_refused_with_the_command_that_makes_it(fresh):
    # S3-18, S3-19
    create = (
        "create-plugin",
        "--plugin-name",
        "Referential Integrity",
        "--type",
        "referential-integrity",
        "--set",
        "attribute-type:owner",
    )
    told = refused(fresh, *create)
    assert 'owner has no equality index in backend "userRoot"' in told
    command = re.search(r"run (dsconfig create-backend-index .*)$", told).group(1)
    done = subprocess.run([binary(), *command.split(), "--instance", str(fresh.dir)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    dsconfig(fresh, *create)
    # The index is the plugin's from now on.
    assert "owner has no equality index" in refused(
        fresh, "delete-backend-index", "--backend-name", "userRoot", "--index-name", "owner"
    )


def test_a_running_server_takes_rules_at_once(fresh):
    fresh.start()
    con = fresh.connect()
    person = f"uid=user.1,{PEOPLE}"
    said = dsconfig(
        fresh,
        "create-plugin",
        "--plugin-name",
        "ASCII",
        "--type",
        "seven-bit-clean",
        "--set",
        "attribute-type:description",
    ).stdout
    assert "has taken the change" in said
    with pytest.raises(ldap.CONSTRAINT_VIOLATION, match="ASCII"):
        con.modify_s(person, [(ldap.MOD_REPLACE, "description", ["é".encode()])])
    dsconfig(fresh, "set-plugin-prop", "--plugin-name", "ASCII", "--set", "enabled:false")
    con.modify_s(person, [(ldap.MOD_REPLACE, "description", ["é".encode()])])
    dsconfig(fresh, "set-global-configuration-prop", "--set", "lookthrough-limit:7")
    shown = rows(dsconfig(fresh, "get-global-configuration-prop").stdout)
    assert ["lookthrough-limit", "7"] in shown and ["stall-threshold", "100 ms"] in shown
    # An index of ordered entries is there for the next search.
    dsconfig(
        fresh,
        "create-backend-vlv-index",
        "--backend-name",
        "userRoot",
        "--index-name",
        "people",
        "--set",
        f"base-dn:{PEOPLE}",
        "--set",
        "scope:single-level",
        "--set",
        "filter:(objectClass=person)",
        "--set",
        "sort-order:+sn +uid",
    )
    assert "vlv.people" in fresh.tool("backendstat", "show-index-status", "-n", "userRoot").stdout
    listed = rows(dsconfig(fresh, "list-backend-vlv-indexes", "--backend-name", "userRoot").stdout)
    assert ["people", f'"{PEOPLE}"', "single-level", "(objectClass=person)", "+sn +uid"] in listed
    assert "noSuchType" in refused(
        fresh,
        "set-backend-vlv-index-prop",
        "--backend-name",
        "userRoot",
        "--index-name",
        "people",
        "--set",
        "sort-order:+noSuchType",
    )
    dsconfig(fresh, "delete-backend-vlv-index", "--backend-name", "userRoot", "--index-name", "people")
    assert "vlv.people" not in fresh.tool("backendstat", "show-index-status", "-n", "userRoot").stdout
    assert fresh.stop() == 0


def test_a_virtual_attribute_comes_and_goes(fresh):
    fresh.start()
    said = dsconfig(
        fresh,
        "create-virtual-attribute",
        "--name",
        "no memberOf",
        "--type",
        "is-member-of",
        "--set",
        "attribute-type:memberOf",
        "--set",
        "enabled:false",
    ).stdout
    assert 'Virtual Attribute "no memberOf" was created' in said
    listed = rows(dsconfig(fresh, "list-virtual-attributes").stdout)
    assert listed[0][:2] == ["Virtual Attribute", "Type"] and listed[2][:2] == ["no memberOf", "is-member-of"]
    dsconfig(fresh, "delete-virtual-attribute", "--name", "no memberOf")
    assert len(rows(dsconfig(fresh, "list-virtual-attributes").stdout)) == 2
    assert fresh.stop() == 0


def test_a_user_defined_attribute_is_there_at_once(fresh):
    fresh.start()
    con = fresh.connect()
    dsconfig(
        fresh,
        "create-virtual-attribute",
        "--name",
        "Site",
        "--type",
        "user-defined",
        "--set",
        "attribute-type:physicalDeliveryOfficeName",
        "--set",
        "value:Glasshouse 7",
        "--set",
        f"base-dn:{PEOPLE}",
    )
    person = f"uid=user.1,{PEOPLE}"

    def office():
        return con.search_s(person, ldap.SCOPE_BASE, attrlist=["physicalDeliveryOfficeName"])[0][1]

    assert office() == {"physicalDeliveryOfficeName": [b"Glasshouse 7"]}
    dsconfig(fresh, "set-virtual-attribute-prop", "--name", "Site", "--set", "value:Glasshouse 8")
    assert office() == {"physicalDeliveryOfficeName": [b"Glasshouse 8"]}
    assert "noSuchType" in refused(
        fresh, "set-virtual-attribute-prop", "--name", "Site", "--set", "attribute-type:noSuchType"
    )
    dsconfig(fresh, "delete-virtual-attribute", "--name", "Site")
    assert office() == {}
    assert fresh.stop() == 0


def test_what_the_running_server_refuses_is_taken_back(fresh):
    """A schema file that was edited while the server runs: the tool reads the new one, the server still has the old
    one."""
    fresh.start()
    (fresh.dir / "schema" / "99-user.ldif").write_text(
        "dn: cn=schema\nobjectClass: subschema\n"
        "attributeTypes: ( 1.3.6.1.4.1.32473.7.1 NAME 'exampleBadge' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n"
    )
    create = (
        "create-plugin",
        "--plugin-name",
        "Badges",
        "--type",
        "seven-bit-clean",
        "--set",
        "attribute-type:exampleBadge",
    )
    told = refused(fresh, *create)
    assert "the server refuses this, and nothing was changed" in told and 'no attribute type "exampleBadge"' in told
    assert fresh.stop() == 0
    fresh.start()
    assert "has taken the change" in dsconfig(fresh, *create).stdout
    assert fresh.stop() == 0


def test_after_a_refusal_the_server_has_what_the_file_says(fresh):
    """Somebody edited the file and did not reload; then the server refuses a change of somebody else."""
    fresh.start()
    (fresh.dir / "schema" / "99-user.ldif").write_text(
        "dn: cn=schema\nobjectClass: subschema\n"
        "attributeTypes: ( 1.3.6.1.4.1.32473.7.1 NAME 'exampleBadge' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n"
    )
    file = fresh.config
    file.write_text(file.read_text() + '\n[backend.userRoot.index.employeeType]\nindex-type = "equality"\n')
    told = refused(
        fresh,
        "create-plugin",
        "--plugin-name",
        "Badges",
        "--type",
        "seven-bit-clean",
        "--set",
        "attribute-type:exampleBadge",
    )
    assert "the server refuses this, and nothing was changed" in told
    assert "employeeType" in fresh.tool("backendstat", "show-index-status", "-n", "userRoot").stdout
    errors = fresh.error_log()
    assert "built now: employeeType" in errors
    assert fresh.stop() == 0


def test_two_backends_cannot_have_one_name(fresh):
    """Spelled otherwise, it is the same name under the schema."""
    create = ("create-backend", "--backend-name", "other", "--set")
    base = "base-dn:0.9.2342.19200300.100.1.25=EXAMPLE, DC=com"
    assert 'belongs to two backends: "userRoot" and "other"' in refused(fresh, *create, base)
    dsconfig(fresh, *create, "base-dn:dc=other,dc=com")
    assert "belongs to two backends" in refused(fresh, "set-backend-prop", "--backend-name", "other", "--add", base)
    dsconfig(fresh, "set-backend-prop", "--backend-name", "other", "--set", "enabled:false", "--add", base)
    assert "belongs to two backends" in refused(
        fresh, "set-backend-prop", "--backend-name", "other", "--set", "enabled:true"
    )
    fresh.start()
    assert fresh.stop() == 0


def test_a_configuration_is_checked_under_its_own_schema(fresh):
    (fresh.dir / "schema" / "99-user.ldif").write_text(
        "dn: cn=schema\nobjectClass: subschema\nattributeTypes: ( 1.3.6.1.4.1.32473.7.2 NAME 'exampleBare' )\n"
    )
    words = ("create-schema-provider", "--provider-name", "Core Schema", "--set")
    done = dsconfig(fresh, *words, "allow-attribute-types-with-no-sup-or-syntax:false", check=False)
    assert done.returncode != 0 and "exampleBare" in done.stderr
    fresh.start()
    assert fresh.stop() == 0


def test_changes_made_at_once_are_all_kept(fresh):
    words = [
        "--type",
        "seven-bit-clean",
        "--set",
        "attribute-type:uid",
        "--no-prompt",
        "--quiet",
        "--instance",
        str(fresh.dir),
    ]
    names = [f"At once {at}" for at in range(6)]
    running = [
        subprocess.Popen(
            [binary(), "dsconfig", "create-plugin", "--plugin-name", name, *words], stderr=subprocess.PIPE, text=True
        )
        for name in names
    ]
    for process in running:
        _, told = process.communicate()
        assert process.returncode == 0, told
    assert set(names) <= {row[0] for row in rows(dsconfig(fresh, "list-plugins").stdout)}
    assert not (fresh.dir / "pando.toml.lock").exists()


def test_everything_declared_has_its_commands(fresh):
    told = fresh.tool("dsconfig", "--help-all").stdout
    text = fresh.config.read_text()
    for table, noun in (
        ("plugin", "plugin"),
        ("virtual-attribute", "virtual-attribute"),
        ("limits", "limits-rule"),
        ("connection-handler", "connection-handler"),
        ("log-publisher", "log-publisher"),
        ("backend", "backend"),
        ("root-dn-user", "root-dn-user"),
    ):
        for word in (f"create-{noun}", f"get-{noun}-prop", f"set-{noun}-prop", f"delete-{noun}", f"list-{noun}s"):
            assert re.search(rf"^{word}$", told, re.M), word
        names = re.findall(rf'^\[{table}\.(?:"([^"]+)"|([\w-]+))\]$', text, re.M)
        listed = [row[0] for row in rows(dsconfig(fresh, f"list-{noun}s").stdout)]
        assert {quoted or bare for quoted, bare in names} <= set(listed), noun
    told = fresh.tool("dsconfig", "create-plugin", "--help").stdout
    assert (
        "Properties of type referential-integrity:" in told
        and "update-interval" in told
        and "default 0 seconds" in told
    )
    assert "create-global-configuration" not in told
