"""Changes of the configuration while the server runs: who may make them, what is taken, what takes a restart."""

import os
import signal
import socket

import ldap
import pytest
from ldap import ldapobject
from ldap.controls.psearch import PersistentSearchControl
from pando_server import BASE, ROOT_DN, ROOT_PW, until

USER = ("--user-name", "Directory Manager")
SET_LIMIT = ("set-global-configuration-prop", "--set", "size-limit:77")


def tool(instance, *words):
    """What the tool prints when it succeeds."""
    return instance.tool(*words).stdout


def refused(instance, *words):
    """What a command is refused with; it has changed nothing."""
    before = instance.config.read_text()
    done = instance.tool(*words, check=False)
    assert done.returncode == 1 and done.stdout == "", (done.returncode, done.stdout, done.stderr)
    assert instance.config.read_text() == before
    return done.stderr


def can_bind(instance, password):
    try:
        instance.connect(ROOT_DN, password).unbind_s()
    except ldap.INVALID_CREDENTIALS:
        return False
    return True


def files_of(instance):
    """The text of the configuration, what lies beside it, and the logs."""
    files = [path for path in instance.dir.glob("*") if path.is_file()] + list((instance.dir / "logs").iterdir())
    return "\n".join(path.read_bytes().decode(errors="replace") for path in files)


def credentials(instance, dn=ROOT_DN, password=ROOT_PW, host="localhost", port=None):
    return ("-X", "-p", port or instance.port, "-h", host, "-D", dn, "-w", password, "-n")


# S4-06, S0-16
@pytest.mark.parametrize("running", [False, True])
def test_printed_commands_need_this_machine_and_right_credentials(fresh, running):
    if running:
        fresh.start()
    assert "has changed" in tool(fresh, "dsconfig", *credentials(fresh), *SET_LIMIT)
    assert "size-limit = 77" in fresh.config.read_text()
    assert "has changed" in tool(
        fresh, "dsconfig", *SET_LIMIT, *credentials(fresh, "cn=directory manager", port=fresh.tls_port)
    )
    wrong = "or its password is wrong"
    for given, told in [
        (credentials(fresh, password="secret13"), wrong),
        (credentials(fresh, dn="cn=Nobody"), wrong),
        ((*credentials(fresh, host="192.0.2.1"), "--connectTimeout", "2000"), "192.0.2.1"),
        (credentials(fresh, port=4), "listens on port 4: it has"),
        (("-D", ROOT_DN, "-n"), "give the password of cn=Directory Manager"),
    ]:
        command = ("set-global-configuration-prop", "--set", "size-limit:78")
        assert told in refused(fresh, "dsconfig", *given, *command)
        assert told in refused(fresh, "dsconfig", *given, "list-backends")
    if running:
        con = fresh.connect()
        con.modify_s(f"uid=user.1,ou=People,{BASE}", [(ldap.MOD_REPLACE, "userPassword", [b"password1"])])
        user = credentials(fresh, f"uid=user.1,ou=People,{BASE}", "password1")
        assert "is not a root user" in refused(fresh, "dsconfig", *user, *SET_LIMIT)
        assert fresh.stop() == 0


def test_every_tool_refuses_wrong_credentials(fresh):
    # -n is the backend in some of these tools.
    given = credentials(fresh, password="secret13")[:-1]
    ldif = fresh.dir / "out.ldif"
    for words in [
        ("status",),
        ("stop",),
        ("export-ldif", "-l", ldif, "--offline"),
        ("import-ldif", "-l", ldif, "--offline"),
        ("rebuild-index", "-b", BASE, "--rebuildAll", "--offline"),
    ]:
        assert "or its password is wrong" in refused(fresh, *words, *given)
    assert not ldif.exists()
    assert "Server Run Status" in tool(fresh, "status", *credentials(fresh)[:-1])


def test_h_never_prints_help(fresh):
    for words in (("verify-index", "-h", "localhost"), ("backendstat", "-h", "localhost", "list-backends")):
        done = fresh.tool(*words, check=False)
        assert done.returncode == 2 and "-h" in done.stderr and done.stdout == ""
    for flag in ("--help", "-H", "-?"):
        assert "--hostname" in tool(fresh, "dsconfig", flag)


def test_reload_fails_with_the_reason(fresh):
    fresh.start()
    good = fresh.config.read_text()
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    port = taken.getsockname()[1]
    handler = f'\n[connection-handler.more]\ntype = "ldap"\nlisten-port = {port}\n'
    other = '\n[backend.other]\nbase-dn = "dc=other"\ndb-directory = "pando.toml"\n'
    for text, told in [
        (good + "\n[global\n", "pando.toml:"),
        (good.replace("[global]", "[global]\nsize-limit = -1"), '"size-limit" is -1; it must be a whole number'),
        (good + handler, f"a server could not listen on 127.0.0.1:{port}"),
        (good.replace("keys/server.crt", "keys/gone.crt"), "gone.crt"),
        (good + other, "pando.toml/other"),
        (good + '\n[backend.userRoot.index.noSuchType]\nindex-type = "equality"\n', "noSuchType"),
    ]:
        fresh.config.write_text(text)
        assert told in refused(fresh, "reload")
        # Told by the signal alone, the server does not take it either.
        before = fresh.error_log().count("goes on with the one before")
        os.kill(fresh.process.pid, signal.SIGHUP)
        until(lambda: fresh.error_log().count("goes on with the one before") > before)
    fresh.config.write_text(good)
    (fresh.dir / "schema" / "99-user.ldif").write_text("dn: cn=schema\nattributeTypes: ( nonsense\n")
    assert "99-user.ldif" in refused(fresh, "reload")
    (fresh.dir / "schema" / "99-user.ldif").unlink()
    fresh.config.write_text(good.replace("[global]", "[global]\nsize-limit = 3\ncheck-schema = false"))
    said = tool(fresh, "reload").splitlines()
    assert said[0] == f"The server (process {fresh.process.pid}) has taken the configuration."
    assert said[1:] == ["The limits of operations changed.", "[global] check-schema takes effect after a restart."]
    assert fresh.stop() == 0
    assert "no server is running" in refused(fresh, "reload")


def test_status_works_whatever_the_file_says(fresh):
    fresh.start()
    good = fresh.config.read_text()
    for text in (None, "[global\n", good.replace('index-type = ["equality"]', 'index-type = ["sounds"]')):
        fresh.config.unlink() if text is None else fresh.config.write_text(text)
        said = tool(fresh, "status")
        assert "Server Run Status:    Started" in said and str(fresh.process.pid) in said and "is not valid" in said
        assert "the file does not exist" in said if text is None else "pando.toml:" in said
        assert '"running": true' in tool(fresh, "status", "--json")
    tool(fresh, "stop", "--quiet")
    assert fresh.process.wait(60) == 0
    fresh.process = None
    assert "Server Run Status:    Stopped" in tool(fresh, "status")
    fresh.config.write_text(good)
    assert "is not valid" not in tool(fresh, "status")


def test_a_root_password_set_with_dsconfig_holds_at_once(fresh):
    fresh.start()
    tool(fresh, "dsconfig", "set-root-dn-user-prop", *USER, "--set", "password:another-1", "-n")
    assert can_bind(fresh, "another-1") and not can_bind(fresh, ROOT_PW)
    shown = tool(fresh, "dsconfig", "get-root-dn-user-prop", *USER) + tool(fresh, "dsconfig", "list-root-dn-users")
    assert "********" in shown and "SSHA512" not in shown
    told = refused(fresh, "dsconfig", "set-root-dn-user-prop", *USER, "--set", "password:short-1")
    assert "has 7 bytes; at least 8 are needed" in told and "short-1" not in told
    more = ("--set", "alternate-bind-dn:cn=Second", "--set", "password:{CLEAR}second-pw")
    tool(fresh, "dsconfig", "create-root-dn-user", "--user-name", "Second", *more)
    fresh.connect("cn=Second", "second-pw").unbind_s()
    tool(fresh, "dsconfig", "delete-root-dn-user", "--user-name", "Second")
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        fresh.connect("cn=Second", "second-pw")
    assert fresh.stop() == 0
    text = files_of(fresh)
    assert not any(clear in text for clear in ("another-1", "short-1", "second-pw"))
    fresh.start()
    assert can_bind(fresh, "another-1")
    assert fresh.stop() == 0


def test_sessions_of_a_root_user_end_with_the_user_or_the_password(fresh):
    fresh.start()
    more = ("--set", "alternate-bind-dn:cn=Second", "--set", "password:second-pw")
    tool(fresh, "dsconfig", "create-root-dn-user", "--user-name", "Second", *more)
    first, second, other = fresh.connect(), fresh.connect("cn=Second", "second-pw"), fresh.connect("", "")
    tool(fresh, "dsconfig", *SET_LIMIT)
    assert [session.whoami_s() for session in (first, second, other)] == [f"dn:{ROOT_DN}", "dn:cn=Second", ""]
    tool(fresh, "dsconfig", "set-root-dn-user-prop", *USER, "--set", "password:another-1")
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        first.whoami_s()
    assert (second.whoami_s(), other.whoami_s()) == ("dn:cn=Second", "")
    # A persistent search ends before it shows another change.
    watch = ldapobject.SimpleLDAPObject.search_ext(
        second, BASE, ldap.SCOPE_SUBTREE, serverctrls=[PersistentSearchControl(changesOnly=True)]
    )
    tool(fresh, "dsconfig", "delete-root-dn-user", "--user-name", "Second")
    third = fresh.connect(ROOT_DN, "another-1")
    third.modify_s(BASE, [(ldap.MOD_REPLACE, "description", [b"changed"])])
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        second.result(watch, timeout=20)
    assert other.whoami_s() == ""
    assert fresh.stop() == 0
    log = (fresh.dir / "logs/access").read_text()
    assert log.count('reason="Invalid Credentials"') == 2


@pytest.mark.parametrize("door", ["reload", "start", "signal", "dsconfig"])
def test_a_clear_root_password_in_the_file_is_hashed(fresh, door):
    if door != "start":
        fresh.start()
    lines = fresh.config.read_text().splitlines(keepends=True)
    fresh.config.write_text(
        "".join('password = "by-hand-1" # mine\n' if line.startswith("password = ") else line for line in lines)
    )
    match door:
        case "reload":
            tool(fresh, "reload")
        case "start":
            fresh.start()
        case "signal":
            os.kill(fresh.process.pid, signal.SIGHUP)
        case "dsconfig":
            tool(fresh, "dsconfig", *SET_LIMIT)
    until(lambda: can_bind(fresh, "by-hand-1"))
    assert not can_bind(fresh, ROOT_PW)
    now = fresh.config.read_text().splitlines(keepends=True)
    changed = [line for line in now if line not in lines]
    assert any(line.startswith('password = "{SSHA512}') and line.endswith(" # mine\n") for line in changed)
    assert fresh.stop() == 0
    assert "by-hand-1" not in files_of(fresh)


def test_a_short_clear_root_password_stops_start_and_reload(fresh):
    text = fresh.config.read_text()
    lines = [
        'password = "short-1"\n' if line.startswith("password = ") else line for line in text.splitlines(keepends=True)
    ]
    fresh.config.write_text("".join(lines))
    for words in (("start",), ("start", "--detach")):
        told = refused(fresh, *words)
        assert "at least 8 are needed" in told and "dsconfig set-root-dn-user-prop" in told and "short-1" not in told
    assert fresh.error_log().count("The server did not start: ") == 2
    assert fresh.error_log().count("at least 8 are needed") == 2
    tool(fresh, "dsconfig", "set-root-dn-user-prop", *USER, "--set", "password:long-enough")
    assert "short-1" not in files_of(fresh)
    fresh.start()
    assert can_bind(fresh, "long-enough")
    fresh.config.write_text("".join(lines))
    assert "at least 8 are needed" in refused(fresh, "reload")
    assert can_bind(fresh, "long-enough")
    assert fresh.stop() == 0


def test_only_what_the_server_has_taken_is_said_to_be_taken(fresh):
    fresh.start()
    said = tool(fresh, "dsconfig", "set-global-configuration-prop", "--set", "check-schema:false")
    assert said.splitlines()[1:] == ["[global] check-schema takes effect after a restart."]
    said = tool(
        fresh, "dsconfig", "set-global-configuration-prop", "--set", "size-limit:5", "--set", "check-schema:true"
    )
    assert said.splitlines()[1:] == [
        "[global] check-schema takes effect after a restart.",
        f"The server (process {fresh.process.pid}) has taken the change.",
    ]
    tool(fresh, "dsconfig", "create-backend", "--backend-name", "other", "--set", "base-dn:dc=other,dc=com")
    listed = tool(fresh, "dsconfig", "list-backend-indexes", "--backend-name", "other").splitlines()
    own = tool(fresh, "dsconfig", "list-backend-indexes", "--backend-name", "userRoot").splitlines()
    assert listed == own and len(listed) == 15
    assert fresh.stop() == 0
    fresh.start()
    con = fresh.connect()
    con.add_s("dc=other,dc=com", [("objectClass", [b"domain"]), ("dc", [b"other"])])
    said = tool(fresh, "dsconfig", "delete-backend", "--backend-name", "other")
    assert said.splitlines()[1:] == ["[backend.other] stays in service until the server is restarted."]
    assert con.search_s("dc=other,dc=com", ldap.SCOPE_BASE)
    assert fresh.stop() == 0
    fresh.start()
    with pytest.raises(ldap.NO_SUCH_OBJECT):
        fresh.connect().search_s("dc=other,dc=com", ldap.SCOPE_BASE)
    assert fresh.stop() == 0


def test_comments_stay(fresh):
    text = fresh.config.read_text()
    text = text.replace("[global]\n", '[global]\n# because of ticket 7\ntime-limit = "9 s" # seconds\n', 1)
    text += (
        '\n# chapter\n\n# about one\n[limits.one]\ntype = "everyone"\n\n# about two\n[limits.two]\ntype = "anonymous"\n'
    )
    fresh.config.write_text(text)
    tool(fresh, "dsconfig", "set-global-configuration-prop", "--set", "time-limit:8 s")
    text = text.replace('time-limit = "9 s"', 'time-limit = "8 s"')
    assert fresh.config.read_text() == text
    tool(fresh, "dsconfig", "delete-limits-rule", "--rule-name", "one")
    text = text.replace('# about one\n[limits.one]\ntype = "everyone"\n\n', "")
    assert fresh.config.read_text() == text
    # What setup has written as a comment is set there, and reset to it.
    tool(fresh, "dsconfig", "set-global-configuration-prop", "--set", "lookthrough-limit:7")
    assert fresh.config.read_text() == text.replace("#lookthrough-limit = 5000", "lookthrough-limit = 7")
    tool(fresh, "dsconfig", "set-global-configuration-prop", "--reset", "lookthrough-limit")
    assert fresh.config.read_text() == text


def test_permissions_of_logs_are_octal(fresh):
    publisher = ("--publisher-name", "File-Based Access Logger")
    tool(fresh, "dsconfig", "set-log-publisher-prop", *publisher, "--set", "log-file-permissions:600")
    assert 'log-file-permissions = "600"' in fresh.config.read_text()
    shown = tool(fresh, "dsconfig", "get-log-publisher-prop", *publisher)
    assert ["log-file-permissions", "600"] in [
        [cell.strip() for cell in line.split(" : ")] for line in shown.splitlines()
    ]
    fresh.config.write_text(fresh.config.read_text().replace('permissions = "600"', "permissions = 0o604"))
    shown = tool(fresh, "dsconfig", "get-log-publisher-prop", *publisher)
    assert ["log-file-permissions", "604"] in [
        [cell.strip() for cell in line.split(" : ")] for line in shown.splitlines()
    ]
    fresh.start()
    assert (fresh.dir / "logs" / "access").stat().st_mode & 0o777 == 0o604
    assert fresh.stop() == 0
