"""Access logs against OpenDJ's: the same operations leave the same records, and criteria choose the same ones.

OpenDJ 5.0.3 garbles some lines of its JSON log when it writes two at once; those are left out, and what they would have
said is compared in its CSV log."""

import contextlib
import csv
import json
import time

import ldap
import pytest
from ldap.controls import SimplePagedResultsControl
from opendj_server import connect, opendj_url
from pando_server import BASE, ROOT_DN, Pando, until
from test_dsconfig import dsconfig

PEOPLE = f"ou=People,{BASE}"
ANN, ANNA = f"uid=ann,{PEOPLE}", f"uid=anna,{PEOPLE}"
OPEN = '(target="ldap:///")(targetattr="*||+")(version 3.0; acl "all"; allow (all) userdn="ldap:///anyone";)'
MARK = "(cn=from-here-on)"
END = "(cn=until-here)"
# What is chosen by each, in the properties of both servers.
CRITERIA = {
    "searches": ["log-record-type:search"],
    "failures": ["response-result-code-not-equal-to:0"],
    "targets": [f"request-target-dn-equal-to:uid=*,{PEOPLE}"],
    "other-targets": [f"request-target-dn-not-equal-to:**,{BASE}"],
    "many": ["log-record-type:search", "search-response-nentries-greater-than:1"],
    "few": ["search-response-nentries-less-than:2"],
    "users": [f"user-dn-equal-to:{ANN}"],
    "unknown-users": ["user-is-not-member-of:cn=nobody", "user-dn-not-equal-to:**"],
    "connections": ["log-record-type:connect", "log-record-type:unbind"],
    "clients": ["connection-client-address-equal-to:127.0.0.0/8", "connection-protocol-equal-to:ldap"],
    "strangers": ["connection-client-address-not-equal-to:127.0.0.1"],
}


def entry(*attributes):
    return [(name, [value.encode() for value in values]) for name, *values in attributes]


def attempt(operation):
    with contextlib.suppress(ldap.LDAPError):
        operation()


def talk(url):
    """The operations, slowly enough for OpenDJ's writer."""
    con = connect(url)
    person = entry(("objectClass", "inetOrgPerson"), ("uid", "ann"), ("cn", 'Ann "A"'), ("sn", "Example"))
    paged = SimplePagedResultsControl(size=10, cookie="")
    user = ldap.initialize(url)
    for operation in [
        lambda: con.search_s("", ldap.SCOPE_BASE, MARK),
        lambda: con.add_s(PEOPLE, entry(("objectClass", "organizationalUnit"), ("ou", "People"))),
        lambda: con.add_s(ANN, [*person, ("userPassword", [b"hidden-ann-12"])]),
        lambda: con.search_s(BASE, ldap.SCOPE_SUBTREE, "(uid=ann)"),
        lambda: con.search_ext_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(uid=ann)", ["cn", "sn"], serverctrls=[paged]),
        lambda: con.search_s(BASE, ldap.SCOPE_SUBTREE, "(objectClass=*)", ["1.1"]),
        lambda: con.compare_s(ANN, "sn", b"Example"),
        lambda: con.compare_s(ANN, "sn", b"Other"),
        lambda: con.modify_s(ANN, [(ldap.MOD_REPLACE, "description", [b"x"])]),
        lambda: con.modify_s(f"uid=nobody,{PEOPLE}", [(ldap.MOD_REPLACE, "description", [b"x"])]),
        lambda: user.simple_bind_s(ANN, "hidden-wrong"),
        lambda: user.simple_bind_s(ANN, "hidden-ann-12"),
        lambda: user.search_s(ANN, ldap.SCOPE_BASE, "(objectClass=*)", ["cn"]),
        lambda: con.whoami_s(),
        lambda: user.unbind_s(),
        lambda: con.rename_s(ANN, "uid=anna", PEOPLE, delold=1),
        lambda: con.delete_s(ANNA),
        lambda: con.delete_s(ANNA),
        lambda: con.search_s("no name", ldap.SCOPE_BASE),
        lambda: con.search_s("", ldap.SCOPE_BASE, END),
    ]:
        attempt(operation)
        time.sleep(0.2)
    con.unbind_s()
    time.sleep(0.5)


def add_logger(con, name, kind, java_class, *properties, criteria=()):
    dn = f"cn={name},cn=Loggers,cn=config"
    classes = ("objectClass", "top", "ds-cfg-log-publisher", "ds-cfg-access-log-publisher", f"ds-cfg-{kind}")
    attributes = [classes, ("cn", name), ("ds-cfg-enabled", "true")]
    attributes.append(("ds-cfg-java-class", f"org.opends.server.loggers.{java_class}"))
    con.add_s(dn, entry(*attributes, *properties))
    if criteria:
        below = f"cn=Filtering Criteria,{dn}"
        con.add_s(below, entry(("objectClass", "top", "ds-cfg-branch"), ("cn", "Filtering Criteria")))
        values: dict = {}
        for one in criteria:
            key, value = one.split(":", 1)
            values.setdefault(f"ds-cfg-{key}", []).append(value)
        classes = ("objectClass", "top", "ds-cfg-access-log-filtering-criteria")
        con.add_s(f"cn=all,{below}", entry(classes, ("cn", "all"), *((key, *some) for key, some in values.items())))


def configure_opendj(url):
    con = connect(url)
    common = [("ds-cfg-log-directory", "logs"), ("ds-cfg-log-control-oids", "true")]
    add_logger(con, "Json", "json-file-access-log-publisher", "JsonFileAccessLogPublisher", *common)
    add_logger(con, "Csv", "csv-file-access-log-publisher", "CsvFileAccessLogPublisher", *common)
    for name, criteria in CRITERIA.items():
        own = [
            ("ds-cfg-log-file", f"logs/{name}"),
            ("ds-cfg-log-file-permissions", "640"),
            ("ds-cfg-log-format", "combined"),
            ("ds-cfg-asynchronous", "false"),
            ("ds-cfg-filtering-policy", "inclusive"),
        ]
        kind = "file-based-access-log-publisher"
        add_logger(con, name, kind, "TextAccessLogPublisher", *own, criteria=criteria)
    con.unbind_s()


def configure_pando(instance):
    for name, kind in [("Json", "json-file-access"), ("Csv", "csv-file-access")]:
        own = ("--set", "log-control-oids:true")
        dsconfig(instance, "create-log-publisher", "--publisher-name", name, "--type", kind, *own)
    for name, criteria in CRITERIA.items():
        own = ("--set", f"log-file:logs/{name}", "--set", "log-format:combined", "--set", "filtering-policy:inclusive")
        dsconfig(instance, "create-log-publisher", "--publisher-name", name, "--type", "file-based-access", *own)
        given = [word for one in criteria for word in ("--set", one)]
        command = ("create-access-log-filtering-criteria", "--publisher-name", name, "--criteria-name", "all")
        dsconfig(instance, *command, "--type", "generic", *given)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The folders of the logs of each server, after the same operations."""
    folder = tmp_path_factory.mktemp("opendj")
    instance = Pando(tmp_path_factory.mktemp("pando") / "inst").setup()
    instance.start()
    configure_pando(instance)
    con = instance.connect()
    con.add_s(BASE, entry(("objectClass", "domain"), ("dc", "example")))
    con.unbind_s()
    with opendj_url(folder, [OPEN]) as url:
        configure_opendj(url)
        talk(url)
        until(lambda: END in (folder / "opendj" / "logs" / "ldap-access.csv").read_text())
        talk(instance.url)
        assert instance.stop() == 0
        yield instance.dir / "logs", folder / "opendj" / "logs"


def parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return None


def records(folder):
    """The valid records of the talk."""
    found = [parsed(line) for line in (folder / "ldap-access.audit.json").read_text().splitlines()]
    return between([record for record in found if record], lambda record: record["request"].get("filter"))


def rows(folder):
    with open(folder / "ldap-access.csv", newline="") as file:
        return between(list(csv.DictReader(file)), lambda row: row["request.filter"])


def between(found, filter_of):
    """Without the ends of connections: OpenDJ does not see that a client takes its leave when it goes at once."""
    # The first of each counts.
    marks = {filter_of(one): at for at, one in reversed(list(enumerate(found)))}
    if not marks.keys() >= {MARK, END}:
        pytest.skip("OpenDJ garbled the record of a mark")
    first, last = marks[MARK], marks[END]
    ends = ("UNBIND", "DISCONNECT")
    return [one for one in found[first:last] if flat(one)["request.operation"] not in ends]


def connections(folder):
    return {row["request.connId"] for row in rows(folder)}


# Why each is left out: what no two runs share, what each server words in its own way, what Pando adds.
LEFT_OUT = {
    "_id",
    "timestamp",
    "client.ip",
    "client.port",
    "server.ip",
    "server.port",
    "request.connId",
    "response.elapsedTime",
    "response.detail",
    "response.failureReason",
    "response.queue",
    "response.apply",
    "response.sync",
}


def flat(record, above=""):
    found = {}
    for key, value in record.items():
        if isinstance(value, dict):
            found |= flat(value, f"{above}{key}.")
        else:
            found[above + key] = value
    return found


def compared(record):
    fields = {key: value for key, value in flat(record).items() if key not in LEFT_OUT and value not in ("", None)}
    operation = fields["request.operation"]
    # Pando says of every operation who is bound, OpenDJ only of binds; the phases are additional items in CSV.
    if operation != "BIND":
        fields.pop("userId", None)
    elif fields.get("userId", "").startswith(ROOT_DN):
        fields["userId"] = ROOT_DN
    fields.pop("response.additionalItems", None)
    # Library and server agree on `(objectClass=*)` in the letters that were sent.
    return fields


def key(record):
    fields = flat(record)
    names = ("request.operation", "request.dn", "request.filter", "response.statusCode", "request.attr")
    return tuple(str(fields.get(name) or "") for name in names)


def test_csv_rows_say_the_same(both):
    ours, theirs = map(rows, both)
    assert list(ours[0]) == list(theirs[0]), "the columns"
    assert [key(row) for row in ours] == [key(row) for row in theirs]
    for own, other in zip(ours, theirs, strict=True):
        assert compared(own) == compared(other)


def test_json_records_say_the_same(both):
    ours, theirs = map(records, both)
    by_key = {key(record): record for record in ours}
    checked = set()
    for record in theirs:
        assert compared(by_key[key(record)]) == compared(record)
        checked.add(record["request"]["operation"])
    assert {"SEARCH", "BIND", "ADD"} <= checked, checked
    # They have the same keys, but for what Pando adds.
    for record in theirs:
        own = by_key[key(record)]
        added = set(flat(own)) - set(flat(record))
        assert added <= {"userId", "response.queue", "response.apply", "response.sync", "response.detail"}, added


@pytest.mark.parametrize("name", CRITERIA)
def test_criteria_choose_the_same(both, name):
    ours, theirs = (chosen(folder, name) for folder in both)
    assert ours == theirs
    assert ours or name == "strangers"


def chosen(folder, name):
    """What a log has of the talk, without what each server words in its own way."""
    talk = connections(folder)
    found = []
    for line in (folder / name).read_text().splitlines():
        words = line.split("] ", 1)[1].split(" ")
        fields = dict(word.split("=", 1) for word in words if "=" in word)
        if fields.get("conn") in talk and words[0] != "UNBIND":
            found.append([words[0], *(fields.get(name) for name in ("dn", "base", "filter", "attr", "result"))])
    return found
