"""One-time codes beside the password, with oathtool as the authenticator: `pando account otp` enrols, binds and SASL
PLAIN ask, a code is good once, also after the server was killed, and nobody reads the secret."""

import concurrent.futures
import os
import re
import subprocess
import time

import ldap
import pytest
from pando_server import BASE, ROOT_DN, ROOT_PW, until

ANN = f"uid=user.0,ou=People,{BASE}"
BEN = f"uid=user.1,ou=People,{BASE}"
PASSWORD = "Secret-7-word"
TOKEN = "ds-pwp-one-time-password-token"
FRESH_ANN = f"uid=ann,{BASE}"
INVALID = 49
OPERATION = "2.25.175513028506401587346170323351613111380.1.4"


def add_ann(server):
    person = {"objectClass": "inetOrgPerson", "cn": "x", "sn": "x", "userPassword": PASSWORD}
    server.connect().add_s(FRESH_ANN, [(name, value.encode()) for name, value in person.items()])


def code(secret, *more):
    command = ["oathtool", "--base32", *more, secret]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def totp(secret, steps=0):
    """The code of a time step, counted from the present one, which does not end at once."""
    left = 30 - time.time() % 30
    if left < 3:
        time.sleep(left)
    at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(time.time() + 30 * steps))
    return code(secret, "--totp", f"--now={at}")


def hotp(secret, counter):
    return code(secret, "--hotp", f"--counter={counter}")


def is_bound(server, dn, password):
    try:
        server.connect(dn, password).unbind_s()
    except ldap.INVALID_CREDENTIALS as error:
        assert not error.args[0].get("info"), "which of the two is wrong is not told"
        return False
    return True


def otp(server, verb, *arguments, check=True):
    return server.tool("account", "otp", verb, *arguments, check=check)


def enrol(server, dn, *options):
    printed = otp(server, "enrol", dn, *options).stdout
    assert printed.count("otpauth://") == 1
    return re.search(r"secret: ([A-Z2-7]+)\n", printed).group(1)


@pytest.fixture
def ann(server):
    """The secret of a token that is in use; the code before the present one is used up."""
    server.connect().passwd_s(ANN, None, PASSWORD)
    secret = enrol(server, ANN)
    assert is_bound(server, ANN, PASSWORD), "nobody knows yet whether the authenticator has the secret"
    otp(server, "confirm", ANN, totp(secret, -1))
    yield secret
    otp(server, "remove", ANN, "--all")


def test_a_bind_takes_password_and_code_once(server, ann):
    assert not is_bound(server, ANN, PASSWORD)
    assert not is_bound(server, ANN, f"guess{totp(ann)}")
    assert not is_bound(server, ANN, f"{PASSWORD}{totp(ann, 9)}")
    sent = f"{PASSWORD}{totp(ann)}"
    assert is_bound(server, ANN, sent)
    assert not is_bound(server, ANN, sent)
    shown = server.tool("account", "show", ANN).stdout
    assert "Second factor:     phone (TOTP, 6 digits, in use)\n" in shown
    assert otp(server, "show", ANN).stdout == "phone (TOTP, 6 digits, in use)\n"


def test_many_binds_with_one_code_are_one(server, ann):
    sent = f"{PASSWORD}{totp(ann)}"
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        bound = list(pool.map(lambda _: is_bound(server, ANN, sent), range(32)))
    assert bound.count(True) == 1


def test_a_button_is_counted_on(server):
    server.connect().passwd_s(BEN, None, PASSWORD)
    secret = enrol(server, BEN, "--kind", "hotp", "--name", "card")
    otp(server, "confirm", BEN, hotp(secret, 0), "--name", "card")
    for counter, good in [(0, False), (5, True), (4, False), (5, False), (6, True), (18, False), (17, True)]:
        assert is_bound(server, BEN, f"{PASSWORD}{hotp(secret, counter)}") == good, counter
    otp(server, "remove", BEN, "--name", "card")
    assert is_bound(server, BEN, PASSWORD)


def plain(server, user, password):
    """Whether SASL PLAIN lets in, by a client that knows nothing of codes."""
    tls = {"LDAPTLS_REQCERT": "never"}
    command = ["ldapwhoami", "-Q", "-H", server.tls_url, "-Y", "PLAIN", "-U", user, "-w", password]
    done = subprocess.run(command, env={**os.environ, **tls}, capture_output=True, text=True)
    assert done.returncode in (0, INVALID), done.stderr
    return done.returncode == 0


def test_plain_takes_password_and_code(server):
    server.connect().passwd_s(BEN, None, PASSWORD)
    secret = enrol(server, BEN)
    otp(server, "confirm", BEN, totp(secret, -1))
    assert not plain(server, "user.1", PASSWORD)
    assert not plain(server, "user.1", f"guess{totp(secret)}")
    sent = f"{PASSWORD}{totp(secret)}"
    assert plain(server, "user.1", sent)
    assert not plain(server, "user.1", sent)
    assert not is_bound(server, BEN, sent), "it is used up for simple binds, too"
    otp(server, "remove", BEN, "--all")


def require(server, *changes):
    policy = ("--policy-name", "Default Password Policy", "--no-prompt")
    server.tool("dsconfig", "set-password-policy-prop", *policy, *changes)


def test_a_policy_requires_a_second_factor(fresh):
    add_ann(fresh.start())
    assert is_bound(fresh, FRESH_ANN, PASSWORD)
    require(fresh, "--set", "require-second-factor:true")
    assert not is_bound(fresh, FRESH_ANN, PASSWORD) and not plain(fresh, "ann", PASSWORD)
    until(lambda: fresh.access_log().count("the account has no token") == 2, say=fresh.access_log)
    shown = fresh.tool("account", "show", FRESH_ANN).stdout
    assert f"run pando account otp enrol {FRESH_ANN}\n" in shown
    # Root users are not asked; an administrator enrols, and the first code that is shown puts the token in use.
    assert is_bound(fresh, ROOT_DN, ROOT_PW)
    secret = enrol(fresh, FRESH_ANN)
    assert not is_bound(fresh, FRESH_ANN, PASSWORD)
    assert plain(fresh, "ann", PASSWORD + totp(secret, -1))
    assert otp(fresh, "show", FRESH_ANN).stdout == "phone (TOTP, 6 digits, in use)\n"
    # How far a clock may be off.
    assert not is_bound(fresh, FRESH_ANN, PASSWORD + totp(secret, 3))
    require(fresh, "--set", "second-factor-window:3")
    sent = PASSWORD + totp(secret, 3)
    assert is_bound(fresh, FRESH_ANN, sent)
    fresh.stop()
    fresh.start()
    assert not plain(fresh, "ann", sent), "a code is good once"
    for wrong in ("second-factor-window:11", "second-factor-look-ahead:101", "require-second-factor:maybe"):
        with pytest.raises(AssertionError, match="is not valid"):
            require(fresh, "--set", wrong)
    otp(fresh, "remove", FRESH_ANN, "--all")
    assert not is_bound(fresh, FRESH_ANN, PASSWORD)
    require(fresh, "--reset", "require-second-factor")
    assert is_bound(fresh, FRESH_ANN, PASSWORD)


def test_how_often_a_button_may_be_pressed_in_vain(fresh):
    add_ann(fresh.start())
    require(fresh, "--set", "second-factor-look-ahead:2")
    secret = enrol(fresh, FRESH_ANN, "--kind", "hotp", "--counter", "100")
    otp(fresh, "confirm", FRESH_ANN, hotp(secret, 100))
    for counter, good in [(104, False), (103, True), (106, True)]:
        assert is_bound(fresh, FRESH_ANN, f"{PASSWORD}{hotp(secret, counter)}") == good, counter


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--kind", "hotp", "--period", "30"), "--period is for --kind totp"),
        (("--counter", "0"), "--counter is for --kind hotp"),
        (("--digits", "9"), 'its codes have 6 to 8 digits, not "9"'),
        (("--period", "301"), 'it shows a code for 10 to 300 seconds, not "301"'),
    ],
)
def test_what_does_not_belong_to_a_token_is_refused(server, options, told):
    refused = otp(server, "enrol", BEN, *options, check=False)
    assert refused.returncode == 2 and told in refused.stderr and refused.stdout == ""
    assert otp(server, "show", BEN).stdout == f"{BEN} has no token: its binds take the password alone.\n"


def test_an_older_instance_is_told_what_its_instructions_lack(fresh):
    fresh.start().stop()
    assert "msgID=126" not in fresh.error_log()
    text = fresh.config.read_text()
    assert text.count(f" || {OPERATION}") == 1
    fresh.config.write_text(text.replace(f" || {OPERATION}", ""))
    fresh.start()
    until(lambda: fresh.error_log().count("msgID=126") == 1, say=fresh.error_log)
    assert f'add " || {OPERATION}" to its extop' in fresh.error_log()


def test_a_code_is_used_up_although_the_server_was_killed(fresh):
    add_ann(fresh.start())
    dn = FRESH_ANN
    secret = enrol(fresh, dn)
    otp(fresh, "confirm", dn, totp(secret, -1))
    sent = f"{PASSWORD}{totp(secret)}"
    assert is_bound(fresh, dn, sent)
    fresh.kill()
    fresh.start()
    assert not is_bound(fresh, dn, sent)
    assert is_bound(fresh, dn, f"{PASSWORD}{totp(secret, 1)}")
    fresh.stop()
    # Without its key the account stays out, and comes back with it.
    key = fresh.dir / "keys" / "second-factor.key"
    assert key.stat().st_mode & 0o777 == 0o600
    key.rename(key.with_suffix(".away"))
    fresh.start()
    assert not is_bound(fresh, dn, f"{PASSWORD}{totp(secret, 1)}")
    until(lambda: "put it back from a copy" in fresh.error_log(), say=fresh.error_log)
    secrets = [path for path in fresh.dir.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert not secrets, "the secret is in no file"


def test_users_manage_their_own(server):
    server.connect().passwd_s(BEN, None, PASSWORD)
    own = ("--bindDN", BEN, "--bindPassword", PASSWORD)
    secret = enrol(server, BEN, *own)
    otp(server, "confirm", BEN, totp(secret, -1), *own)
    refused = otp(server, "show", ANN, "--bindDN", BEN, "--bindPassword", PASSWORD + totp(secret), check=False)
    assert refused.returncode == 2 and "50 (insufficientAccessRights)" in refused.stderr
    fresh = ("--bindDN", BEN, "--bindPassword", PASSWORD + totp(secret, 1))
    otp(server, "remove", BEN, "--all", *fresh)
    assert is_bound(server, BEN, PASSWORD)


def test_nobody_reads_a_token(server, ann):
    root = server.connect()
    found = root.search_s(ANN, ldap.SCOPE_BASE, attrlist=["*", "+", TOKEN])[0][1]
    assert TOKEN not in found and "entryUUID" in found
    assert root.search_s(f"ou=People,{BASE}", ldap.SCOPE_SUBTREE, f"({TOKEN}=*)") == []
    with pytest.raises(ldap.INSUFFICIENT_ACCESS):
        root.compare_s(ANN, TOKEN, b"x")
    with pytest.raises(ldap.CONSTRAINT_VIOLATION):
        root.modify_s(ANN, [(ldap.MOD_ADD, TOKEN, b"x")])
    assert ann not in server.access_log()
