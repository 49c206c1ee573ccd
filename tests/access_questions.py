"""Random requests to the scene of a round, what a server answers to them, and how the scene is put back afterwards.

Knows LDAP by python-ldap; knows nothing of access control and of which server it asks.
"""

from dataclasses import dataclass
from random import Random

import ldap
import ldap.dn
from access_scene import (
    BASE,
    DN_TYPES,
    ERIN,
    GROUP_NAMES,
    GROUPS,
    NAMES,
    OTHER,
    PASSWORD,
    PEOPLE,
    PERSONS,
    PHONES,
    TEXTS,
    UNIQUE,
    Scene,
)
from aci_generator import filter_text
from ldap.controls import LDAPControl
from ldap.controls.simple import ProxyAuthzControl

SUBTREE_DELETE = "1.2.840.113556.1.4.805"
# What each server decides by itself, or is told in own words; that the attribute came is compared, not its values.
OWN_VALUES = {
    "aci",
    "userpassword",
    "entryuuid",
    "createtimestamp",
    "creatorsname",
    "subschemasubentry",
    "numsubordinates",
    "hassubordinates",
    "structuralobjectclass",
}
# Operational attributes that both have; `+` gives further ones on each.
COMMON_OPERATIONAL = OWN_VALUES | {"ismemberof", "ds-privilege-name"}
NEW_PERSON = "uid=newcomer"
SCOPES = {"base": ldap.SCOPE_BASE, "one": ldap.SCOPE_ONELEVEL, "sub": ldap.SCOPE_SUBTREE}

Attributes = dict[str, tuple[str, ...]]


def normalised(name: str) -> str:
    parts = ldap.dn.str2dn(name)
    return ",".join("+".join(sorted(f"{k.lower()}={v.lower()}" for k, v, _ in rdn)) for rdn in parts)


@dataclass(frozen=True)
class Answer:
    """What the client is told: the code, the matched DN, entries by name."""

    code: int
    matched: str = ""
    entries: tuple[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...] = ()
    message: str = ""

    def same(self, other: "Answer") -> bool:
        return (self.code, self.matched, self.entries) == (other.code, other.matched, other.entries)

    def by_name(self) -> dict[str, Attributes]:
        return {name: dict(attributes) for name, attributes in self.entries}


def refused(error: ldap.LDAPError) -> Answer:
    told = error.args[0]
    assert isinstance(told, dict) and told.get("result", -1) >= 0, f"no answer of LDAP: {error!r}"
    return Answer(told["result"], normalised(told.get("matched") or ""), message=told.get("info", ""))


def attributes_of(found: dict[str, list[bytes]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    kept = {}
    for name, values in found.items():
        kind = name.lower()
        if kind in ("modifytimestamp", "modifiersname"):
            # OpenDJ has them from the first change on, Pando from the beginning.
            continue
        values = sorted(value.decode().lower() for value in values)
        if kind == "ismemberof" or kind in ("manager", "seealso", "member", "uniquemember", "owner"):
            values = sorted(normalised(value) for value in values)
        kept[kind] = ("…",) if kind in OWN_VALUES and values else tuple(values)
    return tuple(sorted(kept.items()))


@dataclass(frozen=True)
class Question:
    """One request. `asker` is None for an anonymous one."""

    asker: str | None
    name: str

    def ask(self, con) -> Answer:
        try:
            return Answer(0, entries=self.send(con))
        except ldap.LDAPError as error:
            return refused(error)

    def send(self, con) -> tuple:
        raise NotImplementedError

    def changes(self) -> list[str]:
        """The names of the entries that it may have changed, made or taken away."""
        return []


@dataclass(frozen=True)
class Search(Question):
    """With `acts_as`, the asker searches as that user (proxied authorization)."""

    scope: str = "sub"
    filter: str = "(objectClass=*)"
    attributes: tuple[str, ...] = ()
    acts_as: str | None = None

    def send(self, con) -> tuple:
        controls = [ProxyAuthzControl(True, f"dn:{self.acts_as}".encode())] if self.acts_as else None
        found = con.search_ext_s(
            self.name, SCOPES[self.scope], self.filter, list(self.attributes) or None, serverctrls=controls
        )
        entries = []
        for name, attributes in found:
            if name is None:
                continue
            shown = [
                (kind, values)
                for kind, values in attributes_of(attributes)
                if "+" not in self.attributes or kind in COMMON_OPERATIONAL or is_user_attribute(kind)
            ]
            entries.append((normalised(name), tuple(shown)))
        return tuple(sorted(entries))


USER_ATTRIBUTES = {
    *(kind.lower() for kind in [*TEXTS, *DN_TYPES]),
    *("objectclass", "uid", "ou", "dc", "member", "uniquemember", "memberurl", "owner", "labeleduri", "cn;lang-de"),
}


def is_user_attribute(kind: str) -> bool:
    return kind in USER_ATTRIBUTES


@dataclass(frozen=True)
class Compare(Question):
    attribute: str = "cn"
    value: str = ""

    def ask(self, con) -> Answer:
        # python-ldap gives both answers of a compare as errors.
        try:
            message = con.compare_ext(self.name, self.attribute, self.value.encode())
            con.result3(message)
        except (ldap.COMPARE_TRUE, ldap.COMPARE_FALSE) as told:
            return Answer(told.args[0]["result"])
        except ldap.LDAPError as error:
            return refused(error)
        raise AssertionError("a compare has one of two answers")


@dataclass(frozen=True)
class Modify(Question):
    """Modifications are (operation, attribute, values)."""

    modifications: tuple[tuple[str, str, tuple[str, ...]], ...] = ()

    def send(self, con) -> tuple:
        codes = {"add": ldap.MOD_ADD, "delete": ldap.MOD_DELETE, "replace": ldap.MOD_REPLACE}
        con.modify_s(
            self.name,
            [(codes[op], kind, [v.encode() for v in values] or None) for op, kind, values in self.modifications],
        )
        return ()

    def changes(self) -> list[str]:
        return [self.name]


@dataclass(frozen=True)
class Add(Question):
    attributes: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def send(self, con) -> tuple:
        con.add_s(self.name, [(kind, [v.encode() for v in values]) for kind, values in self.attributes])
        return ()

    def changes(self) -> list[str]:
        return [self.name]


@dataclass(frozen=True)
class Delete(Question):
    subtree: bool = False

    def send(self, con) -> tuple:
        controls = [LDAPControl(SUBTREE_DELETE, True)] if self.subtree else None
        con.delete_ext_s(self.name, serverctrls=controls)
        return ()

    def changes(self) -> list[str]:
        return [self.name]


@dataclass(frozen=True)
class Rename(Question):
    new_rdn: str = ""
    delete_old: bool = True
    new_superior: str | None = None

    def send(self, con) -> tuple:
        con.rename_s(self.name, self.new_rdn, self.new_superior, int(self.delete_old))
        return ()

    def new_name(self) -> str:
        return f"{self.new_rdn},{self.new_superior or self.name.split(',', 1)[1]}"

    def changes(self) -> list[str]:
        return [self.new_name(), self.name]


# Random questions


def random_questions(random: Random, askers: list[str | None], count: int) -> list[Question]:
    makers = [random_search] * 45 + [random_compare] * 12 + [random_modify] * 22
    makers += [random_add] * 8 + [random_delete] * 6 + [random_rename] * 9
    return [random.choice(makers)(random, random.choice(askers)) for _ in range(count)]


def random_name(random: Random) -> str:
    return (
        random.choice(NAMES) if random.random() < 0.95 else f"uid=nobody,{random.choice([PEOPLE, OTHER, PERSONS[0]])}"
    )


def random_search(random: Random, asker: str | None) -> Search:
    types = [*TEXTS, *DN_TYPES, "objectClass", "uid", "member", "aci", "userPassword", "isMemberOf", "entryUUID"]
    attributes = random.choice(
        [(), ("*", "+"), ("+",), ("1.1",), ("cn",), tuple(random.sample(types, 3)), ("name", "objectClass")]
    )
    base = random.choice([BASE, BASE, PEOPLE, random_name(random)])
    text = random.choice(["(objectClass=*)", "(cn=*)", *[filter_text(random) for _ in range(4)]])
    scope = random.choice(["sub", "sub", "sub", "base", "one"])
    acts_as = random.choice(PERSONS) if asker and random.random() < 0.08 else None
    return Search(asker, base, scope, text, attributes, acts_as)


def random_value(random: Random, kind: str, asker: str | None) -> str:
    if kind in ("manager", "seeAlso", "member", "uniqueMember", "owner"):
        return random.choice([*PERSONS, *GROUP_NAMES, *[asker or PERSONS[0]] * 6])
    if kind == "userPassword":
        return "another-password"
    return random.choice(TEXTS.get(kind, ["x"]))


def random_compare(random: Random, asker: str | None) -> Compare:
    kind = random.choice([*TEXTS, *DN_TYPES, "objectClass", "nosuch", "uid"])
    value = "person" if kind == "objectClass" else random_value(random, kind, asker)
    return Compare(asker, random_name(random), kind, value)


def random_modify(random: Random, asker: str | None) -> Modify:
    name = random_name(random)
    kinds = ["description", "title", "l", "sn", "telephoneNumber", "manager", "seeAlso", "userPassword"]
    if name in GROUP_NAMES:
        kinds = ["member" if name != UNIQUE else "uniqueMember"] * 3 + ["description", "seeAlso"]
    elif name in PHONES:
        kinds = ["description", "l", "owner", "seeAlso"]
    elif name not in PERSONS:
        kinds = ["description", "l", "seeAlso"]
    modifications = []
    for kind in random.sample(kinds, 1 if random.random() < 0.7 else 2):
        operation = random.choice(["add", "delete", "replace", "replace"])
        # Each server stores an own form of a password, so it is only replaced.
        operation = "replace" if kind == "userPassword" else operation
        values = [random_value(random, kind, asker)]
        if operation != "add" and kind != "userPassword" and random.random() < 0.15:
            values = []
        modifications.append((operation, kind, tuple(values)))
    if random.random() < 0.06:
        aci = f'(targetattr="cn")(version 3.0; acl "own"; allow (read) userdn="ldap:///{asker or BASE}";)'
        modifications.append(("add", "aci", (aci,)))
    if random.random() < 0.04:
        modifications.append(("replace", "ds-privilege-name", ("bypass-acl",)))
    return Modify(asker, name, tuple({kind: (op, kind, values) for op, kind, values in modifications}.values()))


def random_add(random: Random, asker: str | None) -> Add:
    superior = random.choice([BASE, PEOPLE, OTHER, GROUPS, *PERSONS[:3], f"ou=missing,{PEOPLE}"])
    name = f"{NEW_PERSON},{superior}" if random.random() < 0.85 else random.choice(PERSONS + GROUP_NAMES)
    value = name.split(",")[0].split("=")[1]
    attributes = {
        "objectClass": ("top", "person", "organizationalPerson", "inetOrgPerson"),
        "cn": (value,),
        "uid": (value,),
        "sn": (random.choice(TEXTS["sn"]),),
    }
    for kind in random.sample(["description", "title", "l", "manager", "seeAlso", "userPassword"], 2):
        attributes[kind] = (random_value(random, kind, asker),)
    if random.random() < 0.05:
        attributes["ds-privilege-name"] = ("bypass-acl",)
    return Add(asker, name, tuple(attributes.items()))


def random_delete(random: Random, asker: str | None) -> Delete:
    # Never an asker: OpenDJ closes the connections of whoever is deleted.
    name = random.choice([ERIN, ERIN, *PHONES, *GROUP_NAMES, f"uid=nobody,{PEOPLE}"])
    return Delete(asker, name, subtree=random.random() < 0.3)


def random_rename(random: Random, asker: str | None) -> Rename:
    name = random.choice([*PERSONS, *PERSONS, *PHONES, *GROUP_NAMES, PEOPLE, random_name(random)])
    kind, value = name.split(",")[0].split("=")
    others = ["renamed", "renamed", value, "alice" if kind == "uid" else "static"]
    # A person has both attributes.
    kind = random.choice([kind, kind, "cn"]) if kind == "uid" else kind
    superior = random.choice([None, None, PEOPLE, OTHER, GROUPS, f"ou=missing,{BASE}", BASE])
    return Rename(asker, name, f"{kind}={random.choice(others)}", random.random() < 0.6, superior)


# A server and the scene on it


class Asked:
    """A server with the scene on it: connections of the askers, which stay open through all rounds, and root's."""

    def __init__(self, connect, scene: Scene, askers: list[str | None]):
        self.connect, self.scene = connect, scene
        self.root = connect()
        for name in NAMES:
            if name == BASE:
                continue
            self.add(name)
        self.put(BASE)
        self.connections = {}
        for asker in askers:
            self.bind(asker)

    def bind(self, asker: str | None) -> None:
        self.connections[asker] = self.connect(asker, PASSWORD) if asker else self.connect("", "")

    def ask(self, question: Question) -> Answer:
        return question.ask(self.connections[question.asker])

    def add(self, name: str) -> None:
        stored = self.scene.stored(name).items()
        self.root.add_s(name, [(kind, [v.encode() for v in values]) for kind, values in stored])

    def put(self, name: str) -> None:
        """Makes the entry what the scene has. Its password stays, so that connections and the policy are left alone."""
        has = self.read(name)
        wants = {kind.lower(): (kind, values) for kind, values in self.scene.stored(name).items()}
        modifications = []
        for kind in sorted({kind.lower() for kind in has} | set(wants)):
            if kind in ("userpassword", "objectclass", "ds-privilege-name"):
                continue
            values = wants.get(kind, (kind, []))[1]
            kept = {kind.lower(): values for kind, values in has.items()}
            if sorted(value.decode() for value in kept.get(kind, [])) != sorted(values):
                modifications.append((ldap.MOD_REPLACE, kind, [value.encode() for value in values] or None))
        if modifications:
            self.root.modify_s(name, modifications)

    def read(self, name: str) -> dict[str, list[bytes]]:
        ((_, found),) = self.root.search_s(name, ldap.SCOPE_BASE, "(objectClass=*)", ["*", "aci", "ds-privilege-name"])
        return found

    def begin(self, scene: Scene) -> None:
        """The scene of another round, without instructions."""
        self.scene = scene
        for name in NAMES:
            self.put(name)

    def put_back(self, question: Question) -> None:
        """Undoes what a successful question did."""
        match question:
            case Add():
                self.root.delete_s(question.name)
            case Delete():
                for name in self.scene.below(question.name):
                    self.add(name)
            case Rename():
                # The old attribute may be the entry's only one, so that it stays until the scene's values are put back.
                self.root.rename_s(question.new_name(), *question.name.split(",", 1), 0)
                self.put(question.name)
                # What OpenDJ has in memory of instructions is not the same after a holder was moved there and back.
                for name in self.scene.below(question.name):
                    if acis := [aci.encode() for aci in self.scene.acis.get(name, [])]:
                        self.root.modify_s(name, [(ldap.MOD_DELETE, "aci", None)])
                        self.root.modify_s(name, [(ldap.MOD_ADD, "aci", acis)])
            case Modify():
                self.put_password(question)
                self.put(question.name)

    def put_password(self, question: Modify) -> None:
        for _, kind, _ in question.modifications:
            if kind in ("userPassword", "ds-privilege-name"):
                values = [value.encode() for value in self.scene.entries[question.name].get(kind, [])]
                self.root.modify_s(question.name, [(ldap.MOD_REPLACE, kind, values or None)])

    def aci_code(self, holder: str, aci: str) -> int:
        """What the server says to the instruction."""
        try:
            self.root.modify_s(holder, [(ldap.MOD_ADD, "aci", [aci.encode()])])
            return 0
        except ldap.LDAPError as error:
            return refused(error).code
