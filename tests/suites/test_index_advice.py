"""pando index-advice: what the running server noted of searches that an index would help, and the index made from
it."""

import json

import ldap
import pytest
from pando_server import BASE, ROOT_DN, ROOT_PW, Pando

ASK = ("-w", ROOT_PW)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """More entries than an index may list for one value, so that the scope alone makes no search indexed."""
    directory = tmp_path_factory.mktemp("advice")
    instance = Pando(directory / "inst")
    instance.setup()
    instance.tool("makeldif", "-s", "0", "-c", "numusers=4500", "-c", "numgroups=0", "-o", directory / "people.ldif")
    instance.import_ldif(directory / "people.ldif").start()
    yield instance
    instance.stop()


@pytest.fixture(scope="module")
def root(server):
    connection = server.connect()
    yield connection
    connection.unbind_s()


def shapes(server):
    told = json.loads(server.tool("index-advice", "--json", *ASK).stdout)
    return {shape["shape"]: shape for shape in told["shapes"]}, told["commands"]


def test_searches_of_one_shape_are_one_row(server, root):  # S0-45
    for place in ("Nowhere", "Elsewhere", "Anywhere"):
        root.search_s(BASE, ldap.SCOPE_SUBTREE, f"(roomNumber={place})")
    noted, _ = shapes(server)
    shape = noted["(roomNumber=?)"]
    assert (shape["backendID"], shape["scope"], shape["count"], shape["unindexed"], shape["returned"]) == (
        "userRoot",
        "sub",
        3,
        3,
        0,
    )
    text = server.tool("index-advice", *ASK).stdout
    head, dashes, *rows = text.splitlines()
    assert head.split() == [
        "Searches",
        "Unindexed",
        "Examined",
        "Returned",
        "Worst",
        "etime",
        "Scope",
        "Shape",
        "Advice",
    ] and set(dashes) == {"-"}
    assert any(row.startswith("3 ") and "  sub    (roomNumber=?)" in row for row in rows)


def test_no_password_is_needed_on_the_machine_of_the_server(server):
    done = server.tool("index-advice", "--json")
    assert done.returncode == 0 and json.loads(done.stdout) == json.loads(
        server.tool("index-advice", "--json", *ASK).stdout
    )


def test_who_may_not_ask_is_told(server):
    done = server.tool("index-advice", "-w", "wrong", check=False)
    assert done.returncode == 1 and done.stderr.startswith(
        f"pando index-advice: the bind DN {ROOT_DN} or its password is wrong"
    )
    done = server.tool("index-advice", "-D", f"uid=user.1,ou=People,{BASE}", "-w", "password", check=False)
    assert done.returncode == 1 and "cn=monitor" in done.stderr and done.stderr.count("\n") == 1


def test_a_stopped_server_has_no_advice(fresh):
    done = fresh.tool("index-advice", *ASK, check=False)
    assert done.returncode == 1
    assert (
        done.stderr
        == f"pando index-advice: no server runs on {fresh.dir}: start it with pando start --instance {fresh.dir}\n"
    )
