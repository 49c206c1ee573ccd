"""Random histories of binds, changes, waits and edits of policies: what the servers answer and keep is what a plain
model of password policies says.

PANDO_ACCOUNT_HISTORIES gives the number of histories, PANDO_ACCOUNT_SEED the first of them.
"""

import os
import re
from collections import Counter
from random import Random

import opendj_server
import pytest
from account_model import slapd
from account_model.comparison import Difference, compare, shortened
from account_model.model import Model
from account_model.pando import EntryModel, EntryServer, FileMaker, FileServer, PandoModel, entry_maker
from account_model.policy import OPENDJ, PANDO, Quirk
from account_model.random_history import Maker, random_history
from account_model.scene import GLOBAL_ACIS
from account_model.server import Server
from pando_server import BASE, Pando
from settable_clock import SettableClock
from slapd_server import slapd_url

FIRST_SEED = int(os.environ.get("PANDO_ACCOUNT_SEED", "1"))
HISTORIES = int(os.environ.get("PANDO_ACCOUNT_HISTORIES", "6"))
DIFFERENCES_SHOWN = 6
# 2030-01-01: a round time that no machine of the tests has.
BEGIN = 1_893_456_000
# OpenDJ looks at the clock five times a second.
OPENDJ_SETTLE_SECONDS = 0.22


class Told:
    """A model that answers in place of a server."""

    patience_seconds, tick_seconds = 0.0, 0

    def __init__(self, quirks: frozenset[Quirk]):
        self.quirks = quirks
        # Of the interface of a server's clock, what the comparison asks.
        self.seconds, self.clock = BEGIN, self

    def begin(self, connections: int) -> None:
        self.model = Model(self.quirks, self.seconds, connections)

    def run(self, step):
        return self.model.run(step)

    def shown(self) -> dict:
        return {name: account.shown() for name, account in self.model.accounts.items()}


@pytest.fixture(scope="module")
def opendj(tmp_path_factory):
    clock = SettableClock(tmp_path_factory.mktemp("clock"), BEGIN)
    folder = tmp_path_factory.mktemp("opendj")
    with opendj_server.opendj_url(folder, GLOBAL_ACIS, variables=clock.java) as url:
        yield Server(int(url.rpartition(":")[2]), clock, OPENDJ_SETTLE_SECONDS)


@pytest.fixture(scope="module")
def slapd_server(tmp_path_factory):
    clock = SettableClock(tmp_path_factory.mktemp("clock"), BEGIN)
    folder = tmp_path_factory.mktemp("slapd")
    data = folder / "base.ldif"
    data.write_text(f"dn: {BASE}\nobjectClass: domain\ndc: {BASE.partition('=')[2].partition(',')[0]}\n")
    further = {"server": slapd.SERVER_LINES, "modules": slapd.MODULES, "data": data, "variables": clock.variables()}
    with slapd_url(folder, slapd.CONFIGURATION, **further) as url:
        yield slapd.SlapdServer(int(url.rpartition(":")[2]), clock)


def started_pando(folder, clock: SettableClock) -> Pando:
    instance = Pando(folder / "inst")
    instance.setup("--accessProfile", "closed")
    table = re.compile(r"^\[access-control-handler\]\n.*?(?=^\[|\Z)", re.M | re.S)
    instance.config.write_text(table.sub("", instance.config.read_text()))
    instance.configure(f"\n[access-control-handler]\nglobal-aci = {GLOBAL_ACIS!r}\n").start(**clock.variables())
    instance.connect().add_s(BASE, [("objectClass", b"domain"), ("dc", b"example")])
    return instance


@pytest.fixture(scope="module")
def with_entries(tmp_path_factory):
    """Pando whose policies are entries."""
    clock = SettableClock(tmp_path_factory.mktemp("clock"), BEGIN)
    instance = started_pando(tmp_path_factory.mktemp("pando"), clock)
    yield EntryServer(instance.port, clock)
    instance.remove()


@pytest.fixture(scope="module")
def with_file(tmp_path_factory):
    """Pando whose policies are in pando.toml."""
    clock = SettableClock(tmp_path_factory.mktemp("clock"), BEGIN)
    instance = started_pando(tmp_path_factory.mktemp("pando"), clock)
    yield FileServer(instance, clock)
    instance.remove()


def differences(server, quirks: frozenset[Quirk], histories: int, dialect=Model, maker=Maker) -> list[Difference]:
    """One shortened difference of each kind."""
    found, kinds, steps = [], Counter(), 0
    for seed in range(FIRST_SEED, FIRST_SEED + histories):
        history = random_history(Random(seed), quirks, server.clock.seconds, dialect, maker)
        difference, run = compare(history, server, quirks, dialect)
        steps += run
        if difference is None:
            continue
        kinds[difference.kind()] += 1
        if kinds[difference.kind()] == 1 and len(found) < DIFFERENCES_SHOWN:
            found.append(shortened(difference, lambda one: compare(one, server, quirks, dialect)[0]))
    print(f"{histories} histories, {steps} steps, {kinds.total()} histories differ")
    return found


def test_pando_does_what_the_model_says_with_policies_as_entries(with_entries):
    found = differences(with_entries, PANDO, 5 * HISTORIES, EntryModel, entry_maker(with_entries))
    assert not found, "\n\n".join(map(str, found))


def test_pando_does_what_the_model_says_with_policies_of_its_file(with_file):
    found = differences(with_file, PANDO, 5 * HISTORIES, PandoModel, FileMaker)
    assert not found, "\n\n".join(map(str, found))


def test_opendj_does_what_the_model_says_with_its_named_quirks(opendj):
    found = differences(opendj, OPENDJ, HISTORIES)
    assert not found, "\n\n".join(map(str, found))


def test_slapd_does_what_the_model_says_in_its_dialect(slapd_server):
    found = differences(slapd_server, frozenset(), 5 * HISTORIES, slapd.SlapdModel, slapd.SlapdMaker)
    assert not found, "\n\n".join(map(str, found))


@pytest.mark.parametrize(
    "quirk",
    [
        Quirk.EMPTY_NEW_PASSWORD,
        Quirk.CHANGE_TELLS_NAMES,
        Quirk.SESSIONS_OUTLIVE_RESETS,
        Quirk.GRACE_MAY_MODIFY,
        Quirk.EXPIRED_ACCOUNT_MAY_CHANGE,
        Quirk.HISTORY_WITHOUT_ERROR,
        Quirk.RESET_FLAG_STAYS,
    ],
)
def test_random_histories_find_a_quirk_and_are_shortened_to_a_few_steps(quirk):
    server = Told(frozenset({quirk}))
    for seed in range(200):
        history = random_history(Random(seed), frozenset(), BEGIN)
        difference, _ = compare(history, server, frozenset())
        if difference is not None:
            short = shortened(difference, lambda one: compare(one, server, frozenset())[0])
            assert len(short.history) <= 8, short
            return
    raise AssertionError(f"200 histories do not show {quirk.name}")


def test_a_model_agrees_with_itself():
    for seed in range(50):
        history = random_history(Random(seed), frozenset(), BEGIN)
        assert compare(history, Told(frozenset()), frozenset()) == (None, len(history))


def test_each_quirk_says_why():
    assert all(quirk.value for quirk in Quirk) and all(slapd.DIFFERENCES.values())
