"""Random access control instructions in the words that both OpenDJ and Pando know.

Knows the grammar and the names of the scene; knows nothing of what an instruction grants. What OpenDJ is known to read
otherwise is a *peculiarity*: it is only written when asked for, and beside it stands how to tell OpenDJ the same.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from random import Random

from access_scene import (
    ALICE,
    BASE,
    DEEP,
    GROUP_NAMES,
    GROUPS,
    NAMES,
    OTHER,
    PEOPLE,
    PERSONS,
    TEXTS,
)


class Peculiarity(Enum):
    """What OpenDJ takes otherwise, with the sentence of the reference on its access control that calls it a fault."""

    MIXED_PAIRS = "DJ: an ACI with an allow and a deny pair denies what its allow pair matches (T4)"
    TIME_EQUALS = "DJ's `=` and `!=` are swapped (section 4, timeofday)"
    NOT_WITHOUT_PARENTHESES = (
        "In DJ `and not X or Y` = `and not (X or Y)`; here `not` binds tightest (section 4, Booleans)"
    )


@dataclass(frozen=True)
class Aci:
    """The value of the attribute; `rights` are what all its pairs name together. `for_opendj` are the values by which
    OpenDJ is told the same."""

    text: str
    for_opendj: tuple[str, ...]
    effects: frozenset[str]
    rights: frozenset[str]
    has_targetattr: bool


USER_TYPES = ["cn", "sn", "description", "title", "l", "mail", "uid", "manager", "seeAlso", "telephoneNumber"]
GROUP_TYPES = ["member", "uniqueMember"]
OTHER_SPELLINGS = ["commonName", "2.5.4.4", "SURNAME", "Description"]
OPERATIONAL_TYPES = ["entryUUID", "createTimestamp", "isMemberOf", "hasSubordinates", "modifiersName"]
READING = ["read", "search", "compare"]
RIGHT_LISTS = [
    (8, READING),
    (2, ["read", "search"]),
    (1, ["read"]),
    (1, ["search"]),
    (1, ["compare"]),
    (4, ["write"]),
    (3, ["read", "search", "compare", "write"]),
    (2, ["selfwrite"]),
    (2, ["add"]),
    (2, ["delete"]),
    (3, ["add", "delete", "write"]),
    (3, ["import", "export", "write"]),
    (1, ["import"]),
    (1, ["export"]),
    (2, ["all"]),
    (1, ["all", "import", "export"]),
    (1, ["proxy"]),
]
EVERY_DAY = "sun,mon,tue,wed,thu,fri,sat"


def weighted(random: Random, choices: list[tuple[int, object]]):
    return random.choices([choice for _, choice in choices], [weight for weight, _ in choices])[0]


def one_of(random: Random, *makers):
    return random.choice(makers)(random)


def listed(random: Random, choices: list[str], count_max: int) -> str:
    return " || ".join(random.sample(choices, random.randint(1, min(count_max, len(choices)))))


def equals(random: Random, often: float = 0.85) -> str:
    return "=" if random.random() < often else "!="


# Targets


def targetattr(random: Random) -> str:
    def named(random: Random) -> str:
        types = USER_TYPES + GROUP_TYPES + ["objectClass", "userPassword", "aci"]
        if random.random() < 0.3:
            types = types + OTHER_SPELLINGS + OPERATIONAL_TYPES
        return listed(random, types, 4)

    value = weighted(
        random, [(4, named(random)), (4, "*"), (1, "+"), (1, "* || +"), (1, listed(random, OPERATIONAL_TYPES, 2))]
    )
    return f'(targetattr{equals(random)}"{value}")'


def item(random: Random, types: list[str] = (*TEXTS, "objectClass", "manager", "seeAlso", "uid")) -> str:
    """One item of a filter."""
    kind = random.choice(types)
    if kind == "objectClass":
        return f"(objectClass={random.choice(['person', 'inetOrgPerson', 'device', 'groupOfNames', '*'])})"
    if kind in ("manager", "seeAlso", "member"):
        return f"({kind}={random.choice([*PERSONS, *GROUP_NAMES, '*'])})"
    values = TEXTS.get(kind, ["alice", "bob", "dave"])
    return f"({kind}={random.choice(['*', values[0][0] + '*', *values])})"


def filter_text(random: Random, depth: int = 2) -> str:
    shape = random.random()
    if depth == 0 or shape < 0.55:
        return item(random) if random.random() < 0.93 else random.choice(["(nosuch=x)", "(&)", "(isMemberOf=*)"])
    parts = "".join(filter_text(random, depth - 1) for _ in range(random.randint(1, 3)))
    if shape < 0.7:
        return f"(!{filter_text(random, depth - 1)})"
    return f"(&{parts})" if shape < 0.85 else f"(|{parts})"


def targetfilter(random: Random) -> str:
    return f'(targetfilter{equals(random)}"{filter_text(random, 1)}")'


def targetscope(random: Random) -> str:
    return f'(targetscope="{random.choice(["base", "onelevel", "subtree", "subordinate"])}")'


def target(random: Random, holder: str) -> str:
    """A name at or below the holder, or a pattern, which may lie anywhere."""
    below = [name for name in NAMES if name == holder or name.endswith("," + holder)]
    patterns = [
        f"uid=*,{PEOPLE}",
        f"uid=a*,{PEOPLE}",
        f"uid=*o*,{PEOPLE}",
        f"*,{PEOPLE}",
        f"*=*,{OTHER}",
        f"cn=*,**,{BASE}",
        f"uid=*,**,{BASE}",
        f"ou=*,{BASE}",
        f"uid=*,ou=*,{BASE}",
    ]
    name = random.choice(below) if random.random() < 0.6 else random.choice(patterns)
    if random.random() < 0.15:
        name = name.replace("ou=", "OU=").replace(",", " , ")
    return f'(target{equals(random, 0.9)}"ldap:///{name}")'


def targattrfilters(random: Random) -> str:
    parts = []
    for operation in random.choice([("add",), ("del",), ("add", "del")]):
        types = random.sample(["description", "title", "l"], random.randint(1, 2))
        filters = [f"{kind}:({kind}={random.choice(TEXTS[kind])[0]}*)" for kind in types]
        parts.append(f"{operation}={' && '.join(filters)}")
    return f'(targattrfilters="{", ".join(parts)}")'


# Bind rules


def userdn(random: Random) -> str:
    values = [
        "ldap:///anyone",
        "ldap:///all",
        "ldap:///self",
        "ldap:///parent",
        *(f"ldap:///{name}" for name in PERSONS),
        f"ldap:///{ALICE.upper()}",
        f"ldap:///uid=*,{PEOPLE}",
        f"ldap:///uid=a*,{PEOPLE}",
        f"ldap:///{PEOPLE}??sub?(l=north)",
        f"ldap:///{PEOPLE}??one?(title=boss)",
        f"ldap:///{BASE}???(uid=*)",
    ]
    return f'userdn{equals(random)}"{listed(random, values, 2)}"'


def groupdn(random: Random) -> str:
    values = [f"ldap:///{name}" for name in [*GROUP_NAMES, f"cn=missing,{GROUPS}"]]
    return f'groupdn{equals(random)}"{listed(random, values, 2)}"'


def userattr(random: Random) -> str:
    value = random.choice(
        [
            "manager#USERDN",
            "seeAlso#USERDN",
            "member#USERDN",
            "owner#USERDN",
            "seeAlso#GROUPDN",
            "manager#GROUPDN",
            f"ldap:///{GROUPS}?seeAlso#GROUPDN",
            f"ldap:///{PEOPLE}?seeAlso#GROUPDN",
            "labeledURI#LDAPURL",
            "title#boss",
            "l#NORTH",
            "departmentNumber#1",
            "parent[0].manager#USERDN",
            "parent[0,1].seeAlso#USERDN",
            "parent[1].manager#USERDN",
            "parent[1,2].seeAlso#GROUPDN",
        ]
    )
    return f'userattr{equals(random)}"{value}"'


def ip(random: Random) -> str:
    values = ["127.0.0.1", "127.0.0.*", "10.0.0.0/8", "127.0.0.0/8", "127.0.0.1+255.0.0.0", "::1", "10.1.2.3,127.0.0.1"]
    return f'ip{equals(random)}"{random.choice(values)}"'


def authmethod(random: Random) -> str:
    return f'authmethod{equals(random)}"{random.choice(["none", "simple", "ssl", "sasl EXTERNAL"])}"'


def dayofweek(random: Random) -> str:
    other_day = (datetime.now() + timedelta(days=3)).strftime("%a").lower()
    return f'dayofweek{equals(random)}"{random.choice([EVERY_DAY, other_day])}"'


def timeofday(random: Random) -> str:
    return random.choice(['timeofday>="0000"', 'timeofday<"0000"', 'timeofday<="2359"', 'timeofday>"2359"'])


def ssf(random: Random) -> str:
    return random.choice(['ssf>="1"', 'ssf<"1"', 'ssf!="128"', 'ssf="56"'])


def condition(random: Random) -> str:
    maker = weighted(
        random,
        [(10, userdn), (4, groupdn), (5, userattr), (1, ip), (1, authmethod), (1, dayofweek), (1, timeofday), (1, ssf)],
    )
    return maker(random)


def bind_rule(random: Random, depth: int = 2) -> str:
    """Operators always stand in parentheses of their own, so that precedence says nothing."""
    shape = random.random()
    if depth == 0 or shape < 0.65:
        return condition(random)
    left, right = bind_rule(random, depth - 1), bind_rule(random, depth - 1)
    if shape < 0.75:
        return f"({left} and not {condition(random)})"
    return f"({left} {'and' if shape < 0.88 else 'or'} {right})"


def right_associative(random: Random) -> str:
    """Operators without parentheses: both servers read them from the right."""
    operators = [random.choice(["and", "or"]) for _ in range(2)]
    return f"{condition(random)} {operators[0]} {condition(random)} {operators[1]} {condition(random)}"


# Instructions


def random_aci(random: Random, name: str, holder: str, peculiarity: Peculiarity | None = None) -> Aci:
    """One instruction for the holder; with a peculiarity it has that one and is otherwise like the others."""
    targets, has_targetattr = random_targets(random, holder)
    effects = random_effects(random, peculiarity)
    rights, pairs, pairs_for_opendj = set(), [], []
    for effect in effects:
        names = weighted(random, RIGHT_LISTS)
        rights |= set(names)
        rule, rule_for_opendj = random_rule(random, peculiarity)
        pairs.append(f"{effect} ({', '.join(names)}) {rule};")
        pairs_for_opendj.append(f"{effect} ({', '.join(names)}) {rule_for_opendj};")

    def with_pairs(*some: str) -> str:
        return f'{"".join(targets)}(version 3.0; acl "{name}"; {" ".join(some)})'

    if peculiarity is Peculiarity.MIXED_PAIRS:
        for_opendj = tuple(with_pairs(pair) for pair in pairs_for_opendj)
    else:
        for_opendj = (with_pairs(*pairs_for_opendj),)
    # In a pattern OpenDJ takes a blank before the comma as part of the value; names are compared without (section 3).
    for_opendj = tuple(text.replace("* ,", "*,") for text in for_opendj)
    return Aci(with_pairs(*pairs), for_opendj, frozenset(effects), frozenset(rights), has_targetattr)


def random_targets(random: Random, holder: str) -> tuple[list[str], bool]:
    has_targetattr = random.random() < 0.8
    targets = [targetattr(random)] if has_targetattr else []
    if random.random() < 0.25:
        targets.append(targetfilter(random))
    if random.random() < 0.2:
        targets.append(targetscope(random))
    if random.random() < 0.25:
        targets.append(target(random, holder))
    if random.random() < 0.1:
        targets.append(targattrfilters(random))
    random.shuffle(targets)
    return targets, has_targetattr


def random_effects(random: Random, peculiarity: Peculiarity | None) -> list[str]:
    if peculiarity is Peculiarity.MIXED_PAIRS:
        return random.choice([["allow", "deny"], ["deny", "allow"]])
    effect = "allow" if random.random() < 0.8 else "deny"
    return [effect] * (2 if random.random() < 0.08 else 1)


def random_rule(random: Random, peculiarity: Peculiarity | None) -> tuple[str, str]:
    """A rule, and how OpenDJ has to be told the same."""
    if peculiarity is Peculiarity.TIME_EQUALS:
        other_time = (datetime.now() + timedelta(hours=7)).strftime("%H%M")
        operators = random.choice([("=", "!="), ("!=", "=")])
        return tuple(f'timeofday{operator}"{other_time}"' for operator in operators)
    if peculiarity is Peculiarity.NOT_WITHOUT_PARENTHESES:
        operator = random.choice(["and", "or"])
        first, second, third = (condition(random) for _ in range(3))
        return f"{first} and not {second} {operator} {third}", f"{first} and ((not {second}) {operator} {third})"
    rule = right_associative(random) if random.random() < 0.1 else bind_rule(random)
    return rule, rule


def basic_acis(random: Random) -> list[tuple[str, Aci]]:
    """What makes most entries visible to most, so that the other instructions are not lost in refusals."""
    reading = ", ".join(READING)
    choices = [
        (4, ('(targetattr="*")', "ldap:///anyone", reading)),
        (3, ('(targetattr="*")', "ldap:///all", reading)),
        (2, ('(targetattr="* || +")', "ldap:///all", reading)),
        (2, ('(targetattr="cn || sn || objectClass || description")', "ldap:///anyone", reading)),
        (2, None),
    ]
    chosen = weighted(random, choices)
    if chosen is None:
        return []
    targets, whom, rights = chosen
    text = f'{targets}(version 3.0; acl "basic"; allow ({rights}) userdn="{whom}";)'
    return [(BASE, Aci(text, (text,), frozenset(["allow"]), frozenset(READING), True))]


def random_acis(random: Random, peculiarity: Peculiarity | None = None) -> list[tuple[str, Aci]]:
    """The instructions of one round with their holders."""
    acis = basic_acis(random)
    holders = [BASE] * 4 + [PEOPLE] * 4 + [OTHER, GROUPS, DEEP, *PERSONS]
    for number in range(random.randint(1, 6)):
        holder = random.choice(holders)
        acis.append((holder, random_aci(random, f"number {number}", holder)))
    if peculiarity:
        acis.append((BASE, random_aci(random, "peculiar", BASE, peculiarity)))
    return acis
