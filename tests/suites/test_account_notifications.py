"""What happens to accounts is told to a web server, a mail server and the error log, whoever made it happen."""

import json
import queue
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import ldap
import pytest
from pando_server import BASE, PATIENCE_SECONDS, until

ANN = f"uid=user.0,ou=People,{BASE}"
BEN = f"uid=user.1,ou=People,{BASE}"


class Web:
    """Takes POSTs of JSON."""

    def __init__(self):
        self.received = received = queue.Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                received.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def next(self) -> tuple[str, str]:
        event = self.received.get(timeout=PATIENCE_SECONDS)
        return event["type"], event["dn"]


class Mail:
    """Takes mail; what came of each is one text."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.received = queue.Queue()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.take(connection)

    def take(self, connection):
        lines, in_data = connection.makefile("rwb"), False
        lines.write(b"220 mail.example.com\r\n")
        lines.flush()
        seen = []
        for line in lines:
            line = line.decode().rstrip("\r\n")
            seen.append(line)
            if in_data and line != ".":
                continue
            in_data = line == "DATA"
            lines.write(b"354 go on\r\n" if in_data else b"250 well\r\n")
            lines.flush()
        self.received.put("\n".join(seen))


@pytest.fixture
def told(fresh):
    web, mail = Web(), Mail()
    (fresh.dir / "reset.txt").write_text("Dear %%notification-user-attr:cn%%, ask the helpdesk.\n")
    fresh.configure(f"""
[mail-server.relay]
smtp-server = "127.0.0.1:{mail.port}"

[account-status-notification-handler.hook]
type = "webhook"
url = "{web.url}"

[account-status-notification-handler.letters]
type = "smtp"
mail-server = "relay"
sender-address = "directory@example.com"
email-address-attribute-type = "mail"
account-status-notification-type = "password-reset"
message-subject = "password-reset:Your password was set"
message-template-file = "password-reset:reset.txt"

[account-status-notification-handler.log]
type = "error-log"
account-status-notification-type = ["account-disabled", "account-enabled"]
""")
    handlers = [f"--set=account-status-notification-handler:{name}" for name in ("hook", "letters", "log")]
    fresh.tool("dsconfig", "set-password-policy-prop", "--policy-name", "Default Password Policy", *handlers, "-n")
    fresh.start()
    fresh.web, fresh.mail = web, mail
    yield fresh
    web.server.shutdown()
    mail.listener.close()


def test_who_made_a_change_does_not_matter_but_what_it_was(told):
    root = told.connect()
    root.modify_s(ANN, [(ldap.MOD_REPLACE, "ds-pwp-account-disabled", b"true")])
    assert told.web.next() == ("account-disabled", ANN)
    root.modify_s(ANN, [(ldap.MOD_DELETE, "ds-pwp-account-disabled", None)])
    assert told.web.next() == ("account-enabled", ANN)
    root.modify_s(ANN, [(ldap.MOD_REPLACE, "description", b"nobody is told of this")])
    root.passwd_s(BEN, None, "Secret-7-word")
    assert told.web.next() == ("password-reset", BEN)
    told.connect(BEN, "Secret-7-word").passwd_s(BEN, None, "Secret-8-word")
    assert told.web.next() == ("password-changed", BEN)

    def lines():
        return [line for line in told.error_log().splitlines() if "msgID=110" in line]

    until(lambda: len(lines()) == 2)
    assert [line.split("msg=")[1].split(":")[0].strip('"') for line in lines()] == [
        "account-disabled",
        "account-enabled",
    ]


def test_mail_says_what_its_template_says(told):
    told.connect().passwd_s(BEN, None, "Secret-7-word")
    mail = told.mail.received.get(timeout=PATIENCE_SECONDS)
    assert "RCPT TO:<user.1@example.com>" in mail
    assert "Subject: Your password was set" in mail
    cn = told.connect().search_s(BEN, ldap.SCOPE_BASE, attrlist=["cn"])[0][1]["cn"][0].decode()
    assert f"Dear {cn}, ask the helpdesk." in mail


def test_an_account_that_has_ended_is_told_of_once(told):
    root = told.connect()
    root.passwd_s(BEN, None, "Secret-7-word")
    assert told.web.next() == ("password-reset", BEN)
    root.modify_s(BEN, [(ldap.MOD_REPLACE, "ds-pwp-account-expiration-time", b"20200101000000Z")])
    for _ in range(3):
        with pytest.raises(ldap.INVALID_CREDENTIALS):
            told.connect(BEN, "Secret-7-word")
    assert told.web.next() == ("account-expired", BEN)
    root.modify_s(ANN, [(ldap.MOD_REPLACE, "ds-pwp-account-disabled", b"true")])
    assert told.web.next() == ("account-disabled", ANN), "nothing came in between"


def test_a_web_server_that_is_away_is_told_of_in_the_error_log(told):
    """404 is not tried again: the URL is wrong."""
    gone = Web()
    gone.server.RequestHandlerClass.do_POST = lambda self: self.send_error(404)
    told.tool(
        "dsconfig",
        "set-account-status-notification-handler-prop",
        "--handler-name",
        "hook",
        f"--set=url:{gone.url}",
        "-n",
    )
    told.connect().modify_s(ANN, [(ldap.MOD_REPLACE, "ds-pwp-account-disabled", b"true")])
    until(lambda: "msgID=111" in told.error_log())
    assert 'by the handler "hook" was not sent: the web server answers 404' in told.error_log().replace("\\", "")
    gone.server.shutdown()


def test_users_who_do_not_log_in_are_told_once_that_their_password_will_expire(told):
    root = told.connect()
    root.modify_s(BEN, [(ldap.MOD_REPLACE, "ds-pwp-account-disabled", b"true")])
    assert told.web.next() == ("account-disabled", BEN)
    # Warned from a second after the passwords were set, for five days: that second is to be over before the walk.
    time.sleep(2)
    ages = ["--set=max-password-age:432000 s", "--set=password-expiration-warning-interval:431999 s"]
    told.tool("dsconfig", "set-password-policy-prop", "--policy-name", "Default Password Policy", *ages, "-n")
    when = "--set=password-expiration-warning-time:0000"
    told.tool("dsconfig", "set-global-configuration-prop", when, "-n")

    def walks():
        return [line for line in told.error_log().splitlines() if "msgID=119" in line]

    until(lambda: len(walks()) == 1)
    count = int(walks()[0].split("passwords of ")[1].split()[0])
    events = [told.web.next() for _ in range(count)]
    assert count > 1 and {kind for kind, _ in events} == {"password-expiring"}
    names = {dn for _, dn in events}
    assert len(names) == count and ANN in names and BEN not in names, "each once, and nobody who is disabled"
    (found,) = told.connect().search_s(ANN, ldap.SCOPE_BASE, attrlist=["ds-pwp-warned-time"])
    assert len(found[1]["ds-pwp-warned-time"]) == 1
    # Another walk tells nobody: the entries say who was told.
    told.stop()
    told.start()
    until(lambda: len(walks()) == 2)
    assert "passwords of 0 accounts" in walks()[1]
    told.connect().modify_s(ANN, [(ldap.MOD_REPLACE, "ds-pwp-account-disabled", b"true")])
    assert told.web.next() == ("account-disabled", ANN), "nothing came in between"
