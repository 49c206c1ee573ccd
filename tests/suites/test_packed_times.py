"""Attributes of several times, which the database keeps in fewer bytes, are to clients and tools as any other."""

import ldap
import pytest
from pando_server import BASE, Pando
from test_accounts_bind import ANN, BEN, LOCKED, PASSWORD, PEOPLE, bind, failures, fill

STATE = ("pwdFailureTime", "pwdAccountLockedTime")
# A user attribute may have them too, in an order of its own.
TIMES = [f"2026010{day}120000.{day}00Z".encode() for day in (3, 1, 5, 2, 4)]


def values(server, dn, *names):
    ((_, attributes),) = server.connect().search_s(dn, ldap.SCOPE_BASE, attrlist=list(names))
    return [attributes.get(name, []) for name in names]


def found(server, text):
    return sorted(dn for dn, _ in server.connect().search_s(PEOPLE, ldap.SCOPE_SUBTREE, text, ["1.1"]))


def fold(server):
    """A stop moves everything into the database."""
    assert server.stop() == 0
    server.start()


@pytest.fixture
def folded(fresh):
    """Ann is locked, Ben has times as descriptions, and all of it is in the database."""
    root = fill(fresh, {"pwdLockout": ["TRUE"], "pwdMaxFailure": ["5"], "pwdLockoutDuration": ["3600"]})
    root.modify_s(BEN, [(ldap.MOD_ADD, "description", TIMES)])
    assert [bind(fresh, ANN, "guess") for _ in range(5)] == [(49, None)] * 5
    assert bind(fresh, ANN, PASSWORD) == (49, LOCKED)
    before = values(fresh, ANN, *STATE)
    assert [len(each) for each in before] == [5, 1]
    fold(fresh)
    assert values(fresh, ANN, *STATE) == before
    assert values(fresh, BEN, "description") == [TIMES]
    return fresh


def test_filters_and_compares_see_the_values(folded):
    times, (lock,) = values(folded, ANN, *STATE)
    for text in (f"(pwdFailureTime={times[2].decode()})", f"(pwdFailureTime>={lock.decode()})", "(pwdFailureTime=*)"):
        assert found(folded, text) == [ANN]
    assert found(folded, "(pwdFailureTime>=20990101000000Z)") == []
    assert found(folded, f"(&(description={TIMES[1].decode()})(!(pwdFailureTime=*)))") == [BEN]
    root = folded.connect()
    assert root.compare_s(ANN, "pwdFailureTime", times[4]) is True
    assert root.compare_s(ANN, "pwdFailureTime", b"20990101000000Z") is False
    assert bind(folded, ANN, PASSWORD) == (49, LOCKED)


def test_a_lock_goes_and_failures_go_on_where_they_were(folded):
    folded.tool("account", "unlock", ANN)
    assert values(folded, ANN, *STATE) == [[], []]
    assert bind(folded, ANN, PASSWORD) == (0, None)
    fold(folded)
    assert values(folded, ANN, *STATE) == [[], []]
    assert [bind(folded, ANN, "guess") for _ in range(3)] == [(49, None)] * 3
    fold(folded)
    assert bind(folded, ANN, "guess") == (49, None)
    assert len(failures(folded, ANN)) == 4
    assert bind(folded, ANN, "guess") == (49, None)
    assert bind(folded, ANN, PASSWORD) == (49, LOCKED)


def test_one_value_is_deleted_and_comes_back_by_undo(folded):
    root = folded.connect()
    root.modify_s(BEN, [(ldap.MOD_DELETE, "description", [TIMES[2]])])
    left = TIMES[:2] + TIMES[3:]
    assert values(folded, BEN, "description") == [left]
    fold(folded)
    assert values(folded, BEN, "description") == [left]
    # What binds change is no part of the history that clients see, so the last change is this one.
    ((_, root_dse),) = folded.connect().search_s("", ldap.SCOPE_BASE, attrlist=["lastChangeNumber"])
    folded.tool("undo", root_dse["lastChangeNumber"][0].decode(), "--apply")
    assert sorted(values(folded, BEN, "description")[0]) == sorted(TIMES)


def test_exports_imports_and_verifications_see_the_values(folded, tmp_path):
    before = [values(folded, ANN, *STATE), values(folded, BEN, "description")]
    assert folded.stop() == 0
    folded.tool("verify-index", "--baseDN", BASE)
    first, second = tmp_path / "first.ldif", tmp_path / "second.ldif"
    folded.tool("export-ldif", "--backendID", "userRoot", "--ldifFile", first, "--offline")
    assert all(time.decode() in first.read_text() for time in [*TIMES, *before[0][0]])
    other = Pando(tmp_path / "other")
    other.setup().import_ldif(first)
    other.tool("verify-index", "--baseDN", BASE)
    other.tool("export-ldif", "--backendID", "userRoot", "--ldifFile", second, "--offline")
    assert second.read_text() == first.read_text()
    other.start()
    assert [values(other, ANN, *STATE), values(other, BEN, "description")] == before
    other.remove()
