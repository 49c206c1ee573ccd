"""The audit log: every change as an LDIF change record, in order, once, over crashes too; replayable here and on
slapd."""

import re
import subprocess
import threading

import ldap
import ldap.dn
import pytest
from pando_server import BASE, DIRECTORY_LDIF, ROOT_DN, ROOT_PW, Pando, until
from slapd_server import ADMIN_DN, ADMIN_PW, connect, slapd_url
from test_integrity import PEOPLE, REFERENCES, entry, group, person

HEADLINE = re.compile(
    r"^# (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z); conn=(-?\d+); op=(-?\d+); csn=(\S+); changenumber=(\d+); "
    r"user=(.*); cause=(.*)$",
    re.M,
)
PUBLISHER = '[log-publisher."File-Based Audit Logger"]'


def audited(tmp_path, publisher="", rules=REFERENCES):
    """An instance with the audit log on; `publisher` is further lines of its table, `rules` are other tables."""
    instance = Pando(tmp_path / "inst").setup()
    text = instance.config.read_text()
    at = text.index(PUBLISHER)
    instance.config.write_text(text[:at] + text[at:].replace("enabled = false", f"enabled = true\n{publisher}", 1))
    return instance.configure(rules).import_ldif(DIRECTORY_LDIF)


def audit(instance):
    """The text of the log, the files that were put aside first."""
    older = sorted(path for path in (instance.dir / "logs").glob("audit.*Z*"))
    return "".join(path.read_text() for path in [*older, instance.dir / "logs" / "audit"] if path.exists())


def heads(instance):
    return [match.groups() for match in HEADLINE.finditer(audit(instance))]


def numbers(instance):
    return [int(head[4]) for head in heads(instance)]


def logged(instance, what):
    """Waits until the log has it: it is written a moment after the answer."""
    until(lambda: what in audit(instance))


def record_of(instance, dn, kind):
    """The text of the last record of that kind of the entry, comments included."""
    blocks = [
        block
        for block in audit(instance).split("\n\n")
        if f"dn: {dn}\n" in block + "\n" and f"changetype: {kind}" in block
    ]
    return blocks[-1]


def contents(con):
    """All entries with their user attributes, values in any order."""
    found = con.search_s(BASE, ldap.SCOPE_SUBTREE, attrlist=["*"])

    def plain(dn):
        return ldap.dn.dn2str(ldap.dn.str2dn(dn)).lower()

    return {plain(dn): {name: sorted(values) for name, values in attributes.items()} for dn, attributes in found if dn}


def bare(found):
    """The same without passwords: those of the log are not shown, and each import salts others."""
    return {
        dn: {name: values for name, values in attributes.items() if name != "userPassword"}
        for dn, attributes in found.items()
    }


def everything(instance):
    """Changes of every kind, by two connections, with what plugins do after them."""
    con, other = instance.connect(), instance.connect()
    a, b, c = (person(con, uid, ("userPassword", "clear-" + uid)) for uid in ("aline", "bruno", "carla"))
    both = group(other, "both", a, b, c)
    con.modify_s(
        a,
        [
            (ldap.MOD_REPLACE, "description", [b" begins with a space", "ümlaut\nand line".encode()]),
            (ldap.MOD_ADD, "mail", [b"a@example.com"]),
        ],
    )
    other.modify_s(a, [(ldap.MOD_DELETE, "description", None), (ldap.MOD_REPLACE, "sn", [b"ALINE"])])
    con.modify_s(b, [(ldap.MOD_REPLACE, "userPassword", [b"another-clear-one"])])
    con.passwd_s(b, None, "by-the-extended-operation")
    con.rename_s(b, "uid=benno", delold=1)
    con.add_s(f"ou=Former,{BASE}", entry(("objectClass", "organizationalUnit"), ("ou", "Former")))
    other.rename_s(a, "cn=aline", newsuperior=f"ou=Former,{BASE}", delold=0)
    con.delete_s(c)
    branch = f"ou=Branch,{BASE}"
    con.add_s(branch, entry(("objectClass", "organizationalUnit"), ("ou", "Branch")))
    for n in range(3):
        con.add_s(f"ou=B{n},{branch}", entry(("objectClass", "organizationalUnit"), ("ou", f"B{n}")))
    con.delete_ext_s(branch, serverctrls=[ldap.controls.RequestControl("1.2.840.113556.1.4.805", True)])
    together = "".join(
        f"dn: ou=T{n},{BASE}\nchangetype: add\nobjectClass: organizationalUnit\nou: T{n}\n\n" for n in range(2)
    )
    subprocess.run(
        ["ldapmodify", "-x", "-H", instance.url, "-D", ROOT_DN, "-w", ROOT_PW, "-E", "!txn=commit"],
        input=together,
        text=True,
        check=True,
        capture_output=True,
    )
    con.modify_s(both, [(ldap.MOD_ADD, "description", [b"the last change"])])
    logged(instance, "the last change")
    return con


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """After changes of every kind: the instance and a connection."""
    instance = audited(tmp_path_factory.mktemp("pando")).start()
    yield instance, everything(instance)
    assert instance.stop() == 0


def test_off_unless_asked_for(fresh):  # S2-09
    fresh.start()
    person(fresh.connect(), "nobody")
    assert fresh.stop() == 0
    assert not (fresh.dir / "logs" / "audit").exists()


def test_records_are_in_order_and_say_who_and_why(filled):  # S2-09
    instance, _ = filled
    found = heads(instance)
    own = [int(head[4]) for head in found]
    assert own == sorted(set(own)) and len(own) == len(re.findall(r"^(?:# )?changetype: ", audit(instance), re.M))
    assert {head[5] for head in found} == {ROOT_DN}
    assert len({head[1] for head in found}) == 3, "two connections and the one of the transaction"
    renamed = record_of(instance, f"uid=bruno,{PEOPLE}", "modrdn")
    assert renamed.endswith("changetype: modrdn\nnewrdn: uid=benno\ndeleteoldrdn: 1")
    # What followed has the numbers of the request that set it off.
    ((conn, op),) = {(head[1], head[2]) for head in HEADLINE.findall(renamed)}
    followed = [head for head in found if head[6] == "cn=Referential Integrity,cn=plugins,cn=config"]
    assert (conn, op) in {(head[1], head[2]) for head in followed} and len(followed) == 3
    deletes = re.findall(r"^dn: (.*)\nchangetype: delete", audit(instance), re.M)
    assert deletes[-1] == f"ou=Branch,{BASE}" and sorted(deletes[-4:-1]) == [
        f"ou=B{n},ou=Branch,{BASE}" for n in range(3)
    ]
    added = record_of(instance, f"uid=aline,{PEOPLE}", "add")
    assert re.search(r"^# entryUUID: [0-9a-f-]{36}$", added, re.M) and f"# creatorsName: {ROOT_DN}" in added


def test_a_change_is_found_in_both_logs(filled):  # S3-09
    """The access log says when and how long; the audit log, under the same numbers, with which CSN."""
    instance, con = filled
    dn = person(con, "emma")
    con.modify_s(dn, [(ldap.MOD_REPLACE, "description", [b"told in both"])])
    logged(instance, "told in both")
    _, connection, operation, csn, *_ = HEADLINE.search(record_of(instance, dn, "modify")).groups()
    assert con.search_s(dn, ldap.SCOPE_BASE, attrlist=["entryCSN"])[0][1]["entryCSN"] == [csn.encode()]
    ids = f"conn={connection} op={operation}"
    answer = until(
        lambda: re.search(
            rf"MODIFY RES {ids} (msgID=\d+) result=0 queue=\d+ apply=\d+ sync=\d+ etime=\d+$",
            instance.access_log(),
            re.M,
        )
    )
    assert f'MODIFY REQ {ids} {answer[1]} dn="{dn}"\n' in instance.access_log()
    other = instance.connect()
    other.unbind_s()
    left = until(lambda: re.search(r"UNBIND REQ (conn=\d+) op=1 msgID=2", instance.access_log()))
    until(lambda: f'DISCONNECT {left[1]} reason="Client Unbind"' in instance.access_log())


def test_no_password_is_in_it(filled):
    instance, _ = filled
    text = audit(instance)
    assert "clear" not in text.replace("clear-text", "") and "{SSHA512}" not in text and "by-the-extended" not in text
    assert "# userPassword: ********\n" in record_of(instance, f"uid=carla,{PEOPLE}", "add") + "\n"
    # A change of nothing but a password is a comment as a whole: no reader takes the stars for one.
    changed = record_of(instance, f"uid=bruno,{PEOPLE}", "modify")
    assert "# userPassword: ********" in changed and all(line.startswith("#") for line in changed.splitlines())
    assert not re.search(r"^userPassword", text, re.M)


def replay(url, dn, password, log):
    return subprocess.run(
        ["ldapmodify", "-x", "-a", "-H", url, "-D", dn, "-w", password, "-f", log], text=True, capture_output=True
    )


@pytest.mark.parametrize("rules", [REFERENCES, ""], ids=["references-follow", "nothing-follows"])
def test_a_replay_gives_the_same_directory(filled, tmp_path, rules):  # S2-09
    instance, con = filled
    copy = audited(tmp_path, rules=rules).start()
    try:
        done = replay(copy.url, ROOT_DN, ROOT_PW, instance.dir / "logs" / "audit")
        assert done.returncode == 0, done.stderr
        assert bare(contents(copy.connect())) == bare(contents(con))
    finally:
        copy.remove()


def test_slapd_replays_it(filled, tmp_path):
    instance, con = filled
    with slapd_url(tmp_path, "") as url:
        done = replay(url, ADMIN_DN, ADMIN_PW, instance.dir / "logs" / "audit")
        assert done.returncode == 0, done.stderr
        assert bare(contents(connect(url))) == bare(contents(con))


def test_passwords_are_shown_where_that_is_wanted(tmp_path):
    instance = audited(tmp_path / "one", 'obscure-attribute = ["mail"]').start()
    copy = audited(tmp_path / "two").start()
    try:
        con = instance.connect()
        dn = person(con, "dora", ("userPassword", "first"), ("mail", "dora@example.com"))
        con.modify_s(dn, [(ldap.MOD_REPLACE, "userPassword", [b"second"])])
        con.modify_s(dn, [(ldap.MOD_ADD, "description", [b"the last change"])])
        logged(instance, "the last change")
        assert "dora@example.com" not in audit(instance)
        done = replay(copy.url, ROOT_DN, ROOT_PW, instance.dir / "logs" / "audit")
        assert done.returncode == 0, done.stderr
        copy.connect(dn, "second")
        with pytest.raises(ldap.INVALID_CREDENTIALS):
            copy.connect(dn, "first")
    finally:
        instance.remove()
        copy.remove()


def test_nothing_is_lost_or_doubled_when_the_server_is_killed(tmp_path):
    instance = audited(tmp_path, rules="").start()
    answered = []

    def write(connection, prefix):
        n = 0
        while True:
            try:
                person(connection, f"{prefix}{n}")
            except ldap.LDAPError:
                return
            answered.append(f"uid={prefix}{n},{PEOPLE}")
            n += 1

    try:
        for life in range(3):
            writers = [threading.Thread(target=write, args=(instance.connect(), f"life{life}w{w}n")) for w in range(2)]
            for writer in writers:
                writer.start()
            until(lambda: len(answered) >= 40 * (life + 1))
            instance.kill()
            for writer in writers:
                writer.join()
            if life == 1:
                # The crash came while a record was being written.
                log = instance.dir / "logs" / "audit"
                log.write_bytes(log.read_bytes()[:-25])
            instance.start()
        con = instance.connect()
        con.modify_s(BASE, [(ldap.MOD_REPLACE, "description", [b"the last change"])])
        logged(instance, "the last change")
        own = numbers(instance)
        assert own == sorted(set(own))
        text = audit(instance)
        added = re.findall(r"^dn: (uid=life.*)\nchangetype: add", text, re.M)
        assert len(added) == len(set(added)) and set(answered) <= set(added)
        there = {dn for dn, _ in con.search_s(PEOPLE, ldap.SCOPE_ONELEVEL, "(uid=life*)", ["1.1"])}
        assert set(added) == there
    finally:
        instance.remove()


def test_files_are_put_aside_without_a_gap(tmp_path):
    rules = '\n[log-rotation-policy.small]\ntype = "size-limit"\nfile-size-limit = "4 kib"\n'
    instance = audited(tmp_path, rules=rules)
    text = instance.config.read_text()
    at = text.index(PUBLISHER)
    instance.config.write_text(
        text[:at] + re.sub(r"rotation-policy = .*", 'rotation-policy = "small"', text[at:], count=1)
    )
    instance.start()
    try:
        con = instance.connect()
        for n in range(60):
            con.modify_s(BASE, [(ldap.MOD_REPLACE, "description", [b"%d" % n])])
            if n == 30:
                instance.stop()
                instance.start()
                con = instance.connect()
        logged(instance, "description: 59")
        assert len(list((instance.dir / "logs").glob("audit.*Z*"))) >= 2
        own = numbers(instance)
        assert len(own) == 60 and own == sorted(set(own))
        assert re.match(r"# Changes after changenumber=\d+\n", (instance.dir / "logs" / "audit").read_text())
    finally:
        instance.remove()
