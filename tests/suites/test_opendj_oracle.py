"""The same random directory, instructions and requests to OpenDJ and to Pando: the answers are the same, or named rules
of `opendj_differences` say why not.

PANDO_ORACLE_ROUNDS gives the number of rounds, PANDO_ORACLE_SEED the first of them.
"""

import os
import re
from collections import Counter
from random import Random

import ldap
import opendj_server
import pytest
from access_questions import Asked, random_questions
from access_scene import ALICE, BOB, CAROL, DAVE, FRANK, Scene, random_scene
from aci_generator import Peculiarity, random_acis
from opendj_differences import RULES, Difference, explanations
from pando_server import BASE, Pando

ASKERS = [None, ALICE, BOB, CAROL, DAVE, FRANK]
GLOBAL_ACIS = [
    '(targetcontrol="*")(version 3.0; acl "Every control"; allow (read) userdn="ldap:///anyone";)',
    '(extop="*")(version 3.0; acl "Every extended operation"; allow (read) userdn="ldap:///anyone";)',
]
ROUNDS = int(os.environ.get("PANDO_ORACLE_ROUNDS", "12"))
FIRST_SEED = int(os.environ.get("PANDO_ORACLE_SEED", "1"))
QUESTIONS = 50
DIFFERENCES_SHOWN = 12


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Both with the same names in them, OpenDJ first."""
    first = random_scene(Random(0))
    instance = Pando(tmp_path_factory.mktemp("pando") / "inst")
    instance.setup("--accessProfile", "closed")
    table = re.compile(r"^\[access-control-handler\]\n.*?(?=^\[|\Z)", re.M | re.S)
    instance.config.write_text(table.sub("", instance.config.read_text()))
    instance.configure(f"\n[access-control-handler]\nglobal-aci = {GLOBAL_ACIS!r}\n").start()
    instance.connect().add_s(BASE, [("objectClass", b"domain"), ("dc", b"example")])
    with opendj_server.opendj_url(tmp_path_factory.mktemp("opendj"), GLOBAL_ACIS) as url:
        yield [
            Asked(lambda *who: opendj_server.connect(url, *who), first, ASKERS),
            Asked(instance.connect, first, ASKERS),
        ]
    instance.remove()


def test_answers_are_those_of_opendj_or_a_rule_says_why_not(servers):
    used, unexplained, questions = Counter(), [], 0
    for seed in range(FIRST_SEED, FIRST_SEED + ROUNDS):
        random = Random(seed)
        scene = random_scene(random)
        for server in servers:
            # Each has its own instructions.
            server.begin(Scene(scene.entries))
        # Most rounds have nothing that is known to be taken differently.
        peculiarity = random.choice([None, None, None, *Peculiarity])
        acis = random_acis(random, peculiarity)
        for holder, aci in acis:
            in_force(servers[0], holder, aci.for_opendj)
            in_force(servers[1], holder, (aci.text,))
        for question in random_questions(random, ASKERS, QUESTIONS):
            questions += 1
            opendj, pando = (server.ask(question) for server in servers)
            if not opendj.same(pando):
                difference = Difference(scene, acis, question, opendj, pando, servers[0].ask)
                names = explanations(difference)
                used.update(names or ())
                if not names:
                    unexplained.append(shown(seed, difference))
            for server, answer in zip(servers, (opendj, pando), strict=True):
                if answer.code == 0 and question.changes():
                    server.put_back(question)
    print(f"{questions} questions in {ROUNDS} rounds; rules used: {dict(used)}")
    assert not unexplained, f"{len(unexplained)} of {questions}\n" + "\n\n".join(unexplained[:DIFFERENCES_SHOWN])


def in_force(server: Asked, holder: str, texts: tuple[str, ...]) -> None:
    """Puts instructions into a server, which must take each."""
    for text in texts:
        code = server.aci_code(holder, text)
        assert code == 0, f"{server.root.get_option(ldap.OPT_URI)} answers {code} to {text} at {holder}"
        server.scene.acis.setdefault(holder, []).append(text)


def shown(seed: int, it: Difference) -> str:
    """The question, both answers without what is the same in them, and the instructions."""
    acis = "\n".join(f"  {holder}: {aci.text}" for holder, aci in it.acis)
    answers = []
    for name, answer, other in (("OpenDJ", it.opendj, it.pando), ("Pando", it.pando, it.opendj)):
        entries = [entry for entry in answer.entries if entry not in other.entries]
        answers.append(f"{name} {answer.code} {answer.message} matched {answer.matched!r}, only here {entries}")
    return f"round {seed}: {it.question}\n{chr(10).join(answers)}\n{acis}"


def test_each_rule_says_what_the_reference_says():
    assert RULES and all(why for why in RULES.values())
