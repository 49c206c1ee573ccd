"""debugsearchindex as an operator asks for it, and what the access log says of searches without an index."""

import json
import subprocess

import pytest
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando

USER = f"uid=user.1,ou=People,{BASE}"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """More entries than are collected for their scope, so that a search without an index is unindexed."""
    directory = tmp_path_factory.mktemp("explained")
    instance = Pando(directory / "inst")
    instance.setup()
    instance.tool("makeldif", "-s", "0", "-c", "numusers=4500", "-c", "numgroups=0", "-o", directory / "people.ldif")
    instance.import_ldif(directory / "people.ldif").start()
    yield instance
    instance.stop()


def ldapsearch(server, *args, dn=ROOT_DN, password=ROOT_PW):
    who = ["-D", dn, "-w", password] if dn else []
    command = ["ldapsearch", "-x", "-LLL", "-o", "ldif-wrap=no", "-H", server.url, *who, *args]
    return subprocess.run(command, capture_output=True, text=True)


def explained(server, *args, **who):
    done = ldapsearch(server, *args, "debugsearchindex", **who)
    assert done.returncode == 0, done.stderr
    dn, value, *rest = done.stdout.strip().split("\n")
    assert dn == "dn: cn=debugsearch" and rest == []
    return json.loads(value.removeprefix("debugsearchindex: "))


def test_one_line_of_json_says_what_the_planner_did(server):  # S0-30 S0-31 S0-32
    told = explained(server, "-b", f"ou=People,{BASE}", "-s", "one", "(mail=user.1*)")
    read = told["filter"]
    assert list(read)[:4] == ["filter", "index", "exact", "candidates"]
    assert (read["filter"], read["exact"], read["candidates"]) == ("(mail=user.1*)", "user.1", 1111)
    assert told["scope"]["type"] == "one" and told["scope"]["candidates"] == "[NOT-INDEXED]"
    assert told["scope"]["retained"] == told["final"] == 1111
    assert list(told) == ["filter", "scope", "final", "backend", "estimatedMicroseconds", "microseconds"]
    parsed = subprocess.run(["jq", "-e", ".final == 1111"], input=json.dumps(told), text=True, capture_output=True)
    assert parsed.returncode == 0


def test_the_most_effective_reads_come_first_whatever_the_filter_says(server):  # S0-34
    told = explained(server, "-b", BASE, "(&(objectClass=person)(mail=*example*)(uid=user.19))")
    used, *skipped = told["filter"]["intersection"]
    assert (used["exact"], used["retained"], told["final"]) == ("user.19", 1, 1)
    assert {step["filter"] for step in skipped} == {"(objectClass=person)", "(mail=*example*)"}
    assert all("costs less" in step["reason"] for step in skipped)


def test_asking_takes_a_privilege(server):
    told = explained(server, "-b", BASE, "(roomNumber=1)")
    assert told["final"] == "[NOT-INDEXED]"
    assert told["filter"]["advice"].startswith(
        "dsconfig create-backend-index --backend-name userRoot --index-name roomNumber"
    )
    done = ldapsearch(server, "-b", BASE, "(uid=user.1)", "debugsearchindex", dn=None)
    assert done.returncode == 50 and "debugsearchindex:" not in done.stdout
    done = ldapsearch(server, "-b", BASE, "(uid=user.1)", "debugsearchindex", dn=USER, password="password")
    assert done.returncode == 50 and "monitor-read" in done.stderr


def test_an_unindexed_search_is_logged_as_such_even_when_refused(server):  # S0-05 S0-06 S0-41
    done = ldapsearch(server, "-b", BASE, "(roomNumber=refused)", dn=USER, password="password")
    assert done.returncode == 50
    assert "You do not have sufficient privileges to perform an unindexed search" in done.stderr
    assert ldapsearch(server, "-b", BASE, "(roomNumber=allowed)").returncode == 0
    for name, result in (("refused", 50), ("allowed", 0)):
        answer = server.answer_to(f'filter="(roomNumber={name})"')
        assert f" result={result} " in answer and " nentries=0 unindexed etime=" in answer
