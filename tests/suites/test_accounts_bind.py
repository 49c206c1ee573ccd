"""Binds under a password policy: locks, unlocking by time, grace logins, passwords that must be changed, crashes."""

import concurrent.futures
import subprocess

import ldap
import ldap.extop
import pytest
from ldap.controls.ppolicy import PasswordPolicyControl
from pando_server import BASE, ROOT_DN, ROOT_PW, until

SET_ACCOUNT_CLOCK = "2.25.175513028506401587346170323351613111380.1.3"
PEOPLE = f"ou=Accounts,{BASE}"
ANN = f"uid=ann,{PEOPLE}"
BEN = f"uid=ben,{PEOPLE}"
PASSWORD = "open sesame"
LOCKED, MUST_CHANGE, EXPIRED = 1, 2, 0
HOUR = 3600


def encoded(attributes):
    return [(name, [value.encode() for value in values]) for name, values in attributes.items()]


def fill(server, policy):
    """People, and a policy for all of them in a subentry."""
    root = server.start().connect()
    root.add_s(PEOPLE, encoded({"objectClass": ["organizationalUnit"], "ou": ["Accounts"]}))
    for uid in ("ann", "ben"):
        person = {"objectClass": ["inetOrgPerson"], "uid": [uid], "cn": [uid], "sn": ["Example"]}
        root.add_s(f"uid={uid},{PEOPLE}", encoded({**person, "userPassword": [PASSWORD]}))
    subentry = {"objectClass": ["subentry", "pwdPolicy"], "cn": ["Strict"], "pwdAttribute": ["userPassword"]}
    subentry["subtreeSpecification"] = ["{}"]
    root.add_s(f"cn=Strict,{PEOPLE}", encoded({**subentry, **policy}))
    return root


@pytest.fixture
def locking(fresh):
    """Three wrong passwords lock for an hour."""
    policy = {"pwdLockout": ["TRUE"], "pwdMaxFailure": ["3"], "pwdLockoutDuration": [str(HOUR)]}
    fill(fresh, policy)
    return fresh


def bind(server, dn, password):
    """Result code, and what the policy control says: error, seconds, grace logins."""
    con = ldap.initialize(server.url)
    known = {PasswordPolicyControl.controlType: PasswordPolicyControl}
    try:
        answer = con.simple_bind(dn, password, serverctrls=[PasswordPolicyControl()])
        code, controls = 0, con.result3(answer, resp_ctrl_classes=known)[3]
    except ldap.LDAPError as error:
        code = error.args[0]["result"]
        controls = ldap.controls.DecodeControlTuples(error.args[0].get("ctrls", []), known)
    finally:
        con.unbind_s()
    told = [control for control in controls if control.controlType == PasswordPolicyControl.controlType]
    assert len(told) == 1, "the control goes with every answer to who asks for it"
    return code, told[0].error


def set_clock(server, seconds):
    """Sets the clock of accounts ahead, over the socket for administrators."""
    path = str(server.dir / "admin.sock").replace("/", "%2F")
    number = (seconds * 1000).to_bytes(6, "big", signed=True)
    value = bytes([0x30, len(number) + 2, 2, len(number)]) + number
    con = ldap.initialize(f"ldapi://{path}")
    con.extop_s(ldap.extop.ExtendedRequest(SET_ACCOUNT_CLOCK, value))
    con.unbind_s()


def failures(server, dn):
    ((_, attributes),) = server.connect().search_s(dn, ldap.SCOPE_BASE, attrlist=["pwdFailureTime"])
    return attributes.get("pwdFailureTime", [])


def test_an_account_is_locked_and_unlocked_by_time(locking):
    for _ in range(3):
        assert bind(locking, ANN, "guess") == (49, None)
    assert bind(locking, ANN, "guess") == (49, None), "a stranger learns nothing"
    assert bind(locking, ANN, PASSWORD) == (49, LOCKED)
    assert bind(locking, BEN, PASSWORD) == (0, None)
    # As the program of others sees it.
    command = ["ldapwhoami", "-x", "-H", locking.url, "-D", ANN, "-w", PASSWORD, "-e", "ppolicy"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 49 and "Account locked" in said.stdout + said.stderr
    set_clock(locking, HOUR + 60)
    assert bind(locking, ANN, PASSWORD) == (0, None)
    until(lambda: failures(locking, ANN) == [])


def test_everybody_gets_the_same_answer_in_a_storm(locking):
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: bind(locking, ANN, "guess"), range(1000)))
    assert set(answers) == {(49, None)}
    assert len(failures(locking, ANN)) == 3


def test_an_answered_failure_survives_a_crash(locking):
    for count in (1, 2):
        assert bind(locking, ANN, "guess") == (49, None)
        locking.kill()
        locking.start()
        assert len(failures(locking, ANN)) == count
    assert bind(locking, ANN, "guess") == (49, None)
    locking.kill()
    locking.start()
    assert bind(locking, ANN, PASSWORD) == (49, LOCKED)


def test_a_cleared_failure_does_not_come_back(locking):
    assert bind(locking, ANN, "guess") == (49, None)
    assert bind(locking, ANN, "guess") == (49, None)
    assert bind(locking, ANN, PASSWORD) == (0, None)
    until(lambda: failures(locking, ANN) == [])
    locking.kill()
    locking.start()
    assert failures(locking, ANN) == []
    assert bind(locking, ANN, "guess") == (49, None)
    assert bind(locking, ANN, PASSWORD) == (0, None)


def test_a_password_expires_after_a_grace_login(fresh):
    day = 24 * HOUR
    root = fill(fresh, {"pwdMaxAge": [str(day)], "pwdGraceAuthNLimit": ["1"], "pwdExpireWarning": [str(HOUR)]})
    set_clock(fresh, 3 * day)
    assert bind(fresh, ANN, PASSWORD) == (0, None), "it expires an hour after the first warning"
    # Nobody waits for the time of the warning.
    until(lambda: root.search_s(ANN, ldap.SCOPE_BASE, "(ds-pwp-warned-time=*)"))
    set_clock(fresh, 6 * day)
    assert [bind(fresh, ANN, PASSWORD) for _ in range(3)] == [(0, EXPIRED), (49, EXPIRED), (49, EXPIRED)]
    assert bind(fresh, ANN, "guess") == (49, None)


def test_a_reset_password_must_be_changed_first(fresh):
    root = fill(fresh, {"pwdMustChange": ["TRUE"]})
    root.modify_s(ANN, [(ldap.MOD_REPLACE, "userPassword", [b"given"])])
    assert bind(fresh, ANN, "given") == (0, MUST_CHANGE)
    con = fresh.connect(ANN, "given")
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        con.search_s(BASE, ldap.SCOPE_SUBTREE)
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        con.modify_s(ANN, [(ldap.MOD_REPLACE, "description", [b"x"])])
    assert con.whoami_s() == f"dn:{ANN}"
    con.modify_s(ANN, [(ldap.MOD_REPLACE, "userPassword", [b"my own"])])
    assert con.search_s(ANN, ldap.SCOPE_BASE)
    assert bind(fresh, ANN, "my own") == (0, None)


def code(server, dn, password):
    try:
        ldap.initialize(server.url).simple_bind_s(dn, password)
    except ldap.LDAPError as error:
        return error.args[0]["result"]
    return 0


def test_an_attack_is_two_lines_of_the_log_and_can_be_refused(fresh):
    limits = "wrong-passwords-per-name = 5\nwrong-passwords-per-address = 0\nrefuse-password-attacks = true\n"
    fresh.config.write_text(fresh.config.read_text().replace("[global]\n", f"[global]\n{limits}"))
    fill(fresh, {})
    begun = f'Passwords are being guessed for "{BEN}": 5 wrong ones within a minute, the last from 127.0.0.1'
    codes = [code(fresh, BEN, f"guess {number}") for number in range(5)]
    assert codes == [49] * 5 and code(fresh, BEN, PASSWORD) == 51
    assert code(fresh, ANN, PASSWORD) == 0
    unknown = [code(fresh, f"uid=nobody,{PEOPLE}", f"guess {number}") for number in range(6)]
    assert unknown == [49] * 5 + [51]
    root = fresh.connect(ROOT_DN, ROOT_PW)
    entry = root.search_s("cn=Wrong Passwords,cn=monitor", ldap.SCOPE_BASE)[0][1]
    assert (entry["wrong-passwords"], entry["guesses-refused"]) == ([b"10"], [b"2"])
    until(lambda: begun in fresh.error_log())
    assert fresh.error_log().count("Passwords are being guessed") == 2


def ends(con):
    with pytest.raises((ldap.SERVER_DOWN, ldap.INVALID_CREDENTIALS)):
        con.whoami_s()
    return True


def test_a_change_of_the_own_password_keeps_sessions_and_a_reset_ends_them(locking):
    root, one, other = locking.connect(ROOT_DN, ROOT_PW), *(locking.connect(ANN, PASSWORD) for _ in range(2))
    one.passwd_s(ANN, PASSWORD, "second secret")
    root.modify_s(ANN, [(ldap.MOD_REPLACE, "description", [b"changed once more"])])
    assert one.whoami_s() == other.whoami_s() == f"dn:{ANN}"
    root.modify_s(ANN, [(ldap.MOD_REPLACE, "userPassword", [b"a reset"])])
    # The user's own change comes before these sessions look again.
    late = locking.connect(ANN, "a reset")
    late.passwd_s(ANN, "a reset", "third secret")
    assert ends(one) and ends(other)
    assert late.whoami_s() == f"dn:{ANN}"


def test_only_the_connection_that_changed_a_reset_password_may_go_on(fresh):
    root = fill(fresh, {"pwdMustChange": ["TRUE"]})
    root.modify_s(ANN, [(ldap.MOD_REPLACE, "userPassword", [b"for now"])])
    own, stranger = fresh.connect(ANN, "for now"), fresh.connect(ANN, "for now")
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        own.passwd_s("u:ben", None, "x")
    own.passwd_s("u:ann", "for now", "an own secret")
    own.search_s(BASE, ldap.SCOPE_BASE)
    # Whoever got to know the password that was set by somebody else has nothing of that.
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        stranger.search_s(BASE, ldap.SCOPE_BASE)


def test_a_disabled_account_loses_its_sessions_and_its_searches(locking):
    con, root = locking.connect(ANN, PASSWORD), locking.connect(ROOT_DN, ROOT_PW)
    root.modify_s(ANN, [(ldap.MOD_REPLACE, "ds-pwp-account-disabled", [b"TRUE"])])
    with pytest.raises((ldap.SERVER_DOWN, ldap.INVALID_CREDENTIALS)):
        con.search_s(BASE, ldap.SCOPE_BASE)
    assert bind(locking, ANN, PASSWORD) == bind(locking, ANN, "guess") == (49, None)


def test_the_changelog_tells_a_reset_but_not_what_binds_wrote(locking):
    assert bind(locking, ANN, "guess") == (49, None)
    root = locking.connect()
    root.modify_s(ANN, [(ldap.MOD_REPLACE, "userPassword", [b"another password"])])
    assert failures(locking, ANN) == []
    (*_, (_, told)) = root.search_s("cn=changelog", ldap.SCOPE_ONELEVEL, f"(targetDN={ANN})", ["changes"])
    changes = told["changes"][0].decode()
    assert "replace: userPassword" in changes or "add: userPassword" in changes
    assert "pwdChangedTime" in changes and "pwdFailureTime" not in changes
