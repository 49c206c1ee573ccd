"""Accounts of root users: the policy that governs them, what is kept of them, and the ways in under a lock."""

import ldap
import pytest
from pando_server import ROOT_DN, ROOT_PW, until
from sasl_scene import ldapi_url, whoami

POLICY = ("--policy-name", "Root Password Policy")


def guess(server, count):
    for _ in range(count):
        with pytest.raises(ldap.INVALID_CREDENTIALS):
            server.connect(password="guess")


def is_let_in(server) -> bool:
    try:
        server.connect()
    except ldap.INVALID_CREDENTIALS:
        return False
    return True


def account(server, verb, check=True):
    return server.tool("account", verb, ROOT_DN, check=check)


def test_the_policy_of_root_users_locks_nobody_by_default(fresh):
    fresh.start()
    guess(fresh, 12)
    assert is_let_in(fresh)
    shown = account(fresh, "show").stdout
    assert "The account can be used." in shown
    assert "Password policy:   cn=Root Password Policy,cn=Password Policies,cn=config" in shown


def test_strangers_lock_a_root_user_and_the_owner_comes_in(fresh):
    handler = f'[sasl-mechanism-handler.EXTERNAL]\ntype = "external"\nldapi-map-root-to-dn = "{ROOT_DN}"\n'
    fresh.configure(handler)
    fresh.start()
    lockout = ("--set", "lockout-failure-count:3", "--set", "lockout-duration:0", "-n")
    assert "has taken the change" in fresh.tool("dsconfig", "set-password-policy-prop", *POLICY, *lockout).stdout
    guess(fresh, 3)
    # What was answered is on disk.
    fresh.kill()
    fresh.start()
    assert not is_let_in(fresh)
    shown = account(fresh, "show", check=False)
    assert shown.returncode == 1
    assert "It is locked after 3 wrong passwords" in shown.stdout
    # A local socket, the tools on the machine, and another password.
    assert whoami(fresh, ldapi_url(fresh), "-Y", "EXTERNAL") == (0, f"dn:{ROOT_DN}")
    assert account(fresh, "unlock").stdout == f"The account {ROOT_DN} is unlocked.\n"
    assert is_let_in(fresh)
    guess(fresh, 3)
    assert not is_let_in(fresh)
    told = 'The root user "cn=Directory Manager" is locked after 3 wrong passwords'
    until(lambda: told in fresh.error_log(), say=fresh.error_log)
    user = ("dsconfig", "set-root-dn-user-prop", "--user-name", "Directory Manager", "-n")
    fresh.tool(*user, "--set", f"password:{ROOT_PW}")
    assert is_let_in(fresh)


def test_a_root_user_who_is_disabled_goes_at_once(fresh):
    fresh.start()
    con = fresh.connect()
    account(fresh, "disable")
    with pytest.raises((ldap.SERVER_DOWN, ldap.INVALID_CREDENTIALS)):
        for _ in range(3):
            con.search_s("", ldap.SCOPE_BASE)
    assert not is_let_in(fresh)
    account(fresh, "enable")
    assert is_let_in(fresh)
    done = fresh.tool("manage-account", "get-password-policy-dn", "-b", ROOT_DN).stdout
    assert done == "Password Policy DN:  cn=Root Password Policy,cn=Password Policies,cn=config\n"
