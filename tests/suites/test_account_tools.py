"""`pando account` and `pando manage-account`: what an account is like, and what an administrator does about it."""

import ldap
import pytest
from pando_server import BASE

ANN = f"uid=user.0,ou=People,{BASE}"


def account(server, verb, dn=ANN, check=True):
    return server.tool("account", verb, dn, check=check)


def test_show_says_why_an_account_cannot_be_used_and_what_to_do(server):
    server.connect().passwd_s(ANN, None, "Secret-7-word")
    shown = account(server, "show")
    assert "The account can be used." in shown.stdout
    assert account(server, "disable").stdout == f"The account {ANN} is disabled.\n"
    shown = account(server, "show", check=False)
    assert shown.returncode == 1
    assert "An administrator has disabled it." in shown.stdout
    assert f"  pando account enable {ANN}\n" in shown.stdout
    with pytest.raises(ldap.INVALID_CREDENTIALS):
        server.connect(ANN, "Secret-7-word")
    account(server, "enable")
    assert account(server, "show").returncode == 0
    server.connect(ANN, "Secret-7-word")


def test_nobody_has_an_account_of_that_name(server):
    shown = account(server, "show", f"uid=nobody,{BASE}", check=False)
    assert shown.returncode == 2
    assert "32 (noSuchObject)" in shown.stderr


def test_manage_account_prints_what_opendj_prints(server):
    def manage(*arguments, check=True):
        return server.tool("manage-account", *arguments, "-b", ANN, check=check)

    everything = manage("get-all").stdout.splitlines()
    assert everything[0] == "Password Policy DN:  cn=Default Password Policy,cn=Password Policies,cn=config"
    assert everything[1] == "Account Is Disabled:  false"
    assert "Account Expiration Time:" in everything
    assert len(everything) == 20
    time = "20301231235959.000Z"
    assert manage("set-account-expiration-time", "-O", time).stdout == f"Account Expiration Time:  {time}\n"
    assert server.connect().search_s(ANN, ldap.SCOPE_BASE, attrlist=["ds-pwp-account-expiration-time"])[0][1]
    assert manage("clear-account-expiration-time").stdout == "Account Expiration Time:\n"
    times = ("-O", "20260101000000Z", "-O", "20260102000000Z")
    assert (
        manage("set-authentication-failure-times", *times).stdout.count("Authentication Failure Times:  2026010") == 2
    )
    assert account(server, "unlock").stdout == f"The account {ANN} is unlocked.\n"
    assert manage("get-authentication-failure-times").stdout == "Authentication Failure Times:\n"
    refused = manage("set-account-expiration-time", "-O", "tomorrow", check=False)
    assert refused.returncode == 1 and "19 (constraintViolation)" in refused.stderr
    refused = manage("get-all", "-O", "x", check=False)
    assert refused.returncode == 1 and "writes nothing" in refused.stderr


def test_show_says_where_the_wrong_passwords_came_from(fresh):
    fresh.start()
    lockout = ("--set", "lockout-failure-count:2", "--set", "lockout-duration:10 m", "-n")
    fresh.tool("dsconfig", "set-password-policy-prop", "--policy-name", "Default Password Policy", *lockout)
    for _ in range(2):
        with pytest.raises(ldap.INVALID_CREDENTIALS):
            fresh.connect(ANN, "guess")
    shown = account(fresh, "show", check=False)
    assert shown.returncode == 1
    assert "It is locked after 2 wrong passwords from 127.0.0.1, until " in shown.stdout
    # What the server does not know any more it does not say.
    fresh.stop()
    fresh.start()
    assert "It is locked after 2 wrong passwords, until " in account(fresh, "show", check=False).stdout


def test_a_new_policy_is_taken_by_the_running_server(fresh):
    fresh.start()
    done = fresh.tool(
        "dsconfig", "create-password-policy", "--policy-name", "Services", "--set", "grace-login-count:2", "-n"
    )
    assert "restart" not in done.stdout
    assert "has taken the change" in done.stdout
