"""Users log in to machines through PAM, with SSSD and with nslcd, and change their passwords there: what they read is
what docs/linux-logins.md says. Server and daemons are configured as the page prints.
"""

import re
import subprocess
import time

import ldap
import login_machine
import pages
import pytest
from pando_server import BASE, HERE, binary, connect

PAGE = HERE.parent / "docs" / "linux-logins.md"
PEOPLE = f"ou=People,{BASE}"
PASSWORD, NEW = "password", "Much-better-1"
DAY = 86400
PROGRAMS = ("sssd", "nslcd")


class Logins:
    """The server of the page with further accounts, and machines on which its users log in."""

    def __init__(self, place, ports: dict[str, str]):
        self.place, self.ports, self.count = place, ports, 1
        self.root = connect(f"ldap://127.0.0.1:{ports['1389']}")

    def account(self, **state: str | list[str]) -> tuple[str, int]:
        """Another user with the state that the values of manage-account's subcommands make: the name and its number."""
        self.count += 1
        uid, number = f"user.{self.count}", 10000 + self.count
        account = {"uidNumber": number, "gidNumber": 20001, "homeDirectory": f"/home/{uid}", "loginShell": "/bin/sh"}
        changes = [(ldap.MOD_ADD, name, str(value).encode()) for name, value in account.items()]
        self.root.modify_s(f"uid={uid},{PEOPLE}", [(ldap.MOD_ADD, "objectClass", b"posixAccount"), *changes])
        # Not so new that it may not be changed.
        for name, values in ({"password-changed-time": days_ago(2)} | state).items():
            self.set(uid, name.replace("_", "-"), *([values] if isinstance(values, str) else values))
        return uid, number

    def set(self, uid: str, name: str, *values: str) -> None:
        command = [
            binary(),
            "manage-account",
            f"set-{name}",
            "--instance",
            self.place / "try",
            "-b",
            f"uid={uid},{PEOPLE}",
        ]
        command += [part for value in values for part in ("-O", value)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr

    def machine(self, folder, program: str, replaced: tuple[str, str] = ("", "")):
        """With the page's configuration, in which a text may be replaced by another."""
        language = {"sssd": "ini", "nslcd": "conf"}[program]
        (configuration,) = re.findall(f"```{language}\n(.*?)```", PAGE.read_text(), re.S)
        assert replaced[0] in configuration
        configuration = configuration.replace("1389", self.ports["1389"]).replace(*replaced)
        authority = (self.place / "authority.crt").read_text()
        files = {
            "hosts": "127.0.0.1 localhost ldap.example.com\n",
            "ssl/example-authority.crt": authority,
            "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
        }
        return getattr(login_machine, program)(folder, configuration, files)


def days_ago(days: float) -> str:
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() - days * DAY))


@pytest.fixture(scope="module")
def logins(tmp_path_factory):
    place = tmp_path_factory.mktemp("page")
    with pages.servers_of(PAGE, place) as ports:
        yield Logins(place, ports)


@pytest.fixture(scope="module", params=PROGRAMS)
def machine(request, logins, tmp_path_factory):
    with logins.machine(tmp_path_factory.mktemp(request.param), request.param) as one:
        one.program = request.param
        yield one


def login(machine, uid: str, password: str = PASSWORD) -> tuple[bool, str]:
    """Whether somebody is let in, and what is read."""
    status, text = machine.pam(uid, "authenticate acct_mgmt open_session", password)
    return status == 0, text


def passwd(machine, who: tuple[str, int], new: str, old: str = PASSWORD) -> tuple[bool, str]:
    """As the program passwd does it, which runs as the user."""
    uid, number = who
    status, text = machine.pam(uid, "chauthtok", old, new, new, uid=number)
    return status == 0, text


def told(machine, sssd: str, nslcd: str) -> str:
    """What this program tells; the page says it, too."""
    page = PAGE.read_text()
    assert sssd in page and nslcd in page
    return {"sssd": sssd, "nslcd": nslcd}[machine.program]


def test_names_and_groups_are_found(logins, machine):
    service = {"sssd": "sss", "nslcd": "ldap"}[machine.program]
    assert machine.getent("passwd", "user.1", service=service)[0].startswith("user.1:*:10001:20001:")
    assert machine.getent("group", "staff", service=service) == ["staff:*:20001:user.1"]
    # No account of a machine.
    assert machine.getent("passwd", "user.19", service=service) == []


def test_a_user_logs_in_and_changes_the_password(logins, machine):
    who = logins.account()
    assert login(machine, who[0])[0]
    let_in, text = login(machine, who[0], "a wrong one")
    assert not let_in and told(machine, "Authentication failure", "Authentication failure") in text
    is_changed, text = passwd(machine, who, NEW)
    assert is_changed, text
    assert not login(machine, who[0])[0]
    assert login(machine, who[0], NEW)[0]


def test_a_refused_new_password_comes_with_the_reason(logins, machine):
    used, young = logins.account(), logins.account(password_changed_time=days_ago(0))
    failed = told(machine, "Password change failed. Server message:", "password change failed:")
    for who, new, reason in [
        (used, "short", "The password has 5 characters: choose one with at least 8"),
        (used, PASSWORD, "The password was used before: choose one that is new"),
        (young, NEW, "The password was changed a short time ago (min-password-age)"),
    ]:
        is_changed, text = passwd(machine, who, new)
        assert not is_changed and f"{failed} {reason}" in text
        assert reason in PAGE.read_text()
    is_changed, text = passwd(machine, used, NEW, old="a wrong one")
    assert not is_changed and "Authentication failure" in text
    # Neither took the password.
    assert login(machine, used[0])[0] and login(machine, young[0])[0]


def test_the_coming_expiry_is_told(logins, machine):
    uid, _ = logins.account(password_changed_time=days_ago(85.5))
    let_in, text = login(machine, uid)
    assert let_in
    assert told(machine, "Your password will expire in 4 day(s).", "Password will expire in 4 days") in text
    let_in, text = login(machine, logins.account()[0])
    assert let_in and "expire" not in text


def test_grace_logins(logins, machine):
    uid, number = logins.account(password_changed_time=days_ago(91))
    let_in, text = login(machine, uid)
    grace = "Your password has expired. You have 2 grace login(s) remaining."
    assert told(machine, grace, "Password expired") in text
    # nslcd takes the login for one that must change the password.
    assert let_in == (machine.program == "sssd")
    is_changed, text = passwd(machine, (uid, number), NEW)
    assert is_changed, text
    let_in, text = login(machine, uid, NEW)
    assert let_in and "expire" not in text


def test_no_grace_login_is_left(logins, machine):
    state = {"password_changed_time": days_ago(95), "grace_login_use_times": [days_ago(days) for days in (3, 2, 1)]}
    uid, number = logins.account(**state)
    let_in, text = login(machine, uid)
    assert not let_in
    assert told(machine, "Password expired. Change your password now.", "Authentication failure") in text
    # With the operation of a new password that SSSD sends; nslcd has to log in before it.
    assert passwd(machine, (uid, number), NEW)[0] == (machine.program == "sssd")
    assert login(machine, uid, NEW)[0] == (machine.program == "sssd")


def test_a_reset_password_must_be_changed(logins, machine):
    uid, number = logins.account()
    logins.root.modify_s(f"uid={uid},{PEOPLE}", [(ldap.MOD_REPLACE, "userPassword", b"From-the-help-desk")])
    let_in, text = login(machine, uid, "From-the-help-desk")
    assert not let_in
    assert told(machine, "Password expired. Change your password now.", "Password must be changed") in text
    is_changed, text = passwd(machine, (uid, number), NEW, old="From-the-help-desk")
    assert is_changed, text
    assert login(machine, uid, NEW)[0]


def test_wrong_passwords_lock(logins, machine):
    uid, number = logins.account()
    for _ in range(3):
        assert not login(machine, uid, "a wrong one")[0]
    shown = logins.root.search_s(
        f"uid={uid},{PEOPLE}", ldap.SCOPE_BASE, attrlist=["pwdFailureTime", "pwdAccountLockedTime"]
    )
    assert len(shown[0][1]["pwdFailureTime"]) == 3 and len(shown[0][1]["pwdAccountLockedTime"]) == 1
    let_in, text = login(machine, uid)
    assert not let_in and "Authentication failure" in text
    assert not passwd(machine, (uid, number), NEW)[0]
    unlock = [binary(), "account", "unlock", f"uid={uid},{PEOPLE}", "--instance", logins.place / "try"]
    subprocess.run(unlock, check=True, capture_output=True, timeout=60)
    assert login(machine, uid)[0]


@pytest.mark.parametrize("lock", ["ds-pwp-account-disabled", "nsAccountLock"])
def test_who_an_administrator_keeps_out_is_kept_out_without_a_password_too(logins, machine, lock):
    uid, _ = logins.account()
    # As by SSH key: no password is asked for.
    assert machine.pam(uid, "acct_mgmt")[0] == 0
    logins.root.modify_s(f"uid={uid},{PEOPLE}", [(ldap.MOD_REPLACE, lock, b"TRUE")])
    let_in, text = login(machine, uid)
    assert not let_in and "Authentication failure" in text
    assert machine.pam(uid, "acct_mgmt")[0] != 0


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_server_of_another_authority_is_sent_no_password(logins, tmp_path, program):
    (tmp_path / "etc/ssl").mkdir(parents=True)
    stranger = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=stranger"]
    files = ["-keyout", tmp_path / "key", "-out", tmp_path / "etc/ssl/stranger.crt"]
    subprocess.run([*stranger, *files], check=True, capture_output=True)
    impatient = "\nreconnect_retrytime 0" if program == "nslcd" else ""
    replaced = ("/etc/ssl/example-authority.crt", f"/etc/ssl/stranger.crt{impatient}")
    with logins.machine(tmp_path, program, replaced) as one:
        before = logged_binds(logins)
        # SSSD waits half a minute where a login is the first to find that the server is none of its own.
        assert one.getent("passwd", "user.1", service={"sssd": "sss", "nslcd": "ldap"}[program]) == []
        assert not login(one, "user.1")[0]
        assert logged_binds(logins) == before


def logged_binds(logins) -> int:
    return (logins.place / "try/logs/access").read_text().count("BIND REQ")


def test_sssd_changes_the_password_by_a_modification(logins, tmp_path):
    who = logins.account()
    replaced = ("ldap_access_order", "ldap_pwmodify_mode = ldap_modify\nldap_access_order")
    with logins.machine(tmp_path, "sssd", replaced) as one:
        is_changed, text = passwd(one, who, "short")
        assert not is_changed and "Server message: The password has 5 characters: choose one with at least 8" in text
        is_changed, text = passwd(one, who, NEW)
        assert is_changed, text
        assert login(one, who[0], NEW)[0]
