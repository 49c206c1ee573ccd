"""The directory about which two servers are asked: always the same names, in each round other values.

Knows entries as maps of attributes; knows nothing of access control instructions, servers and questions.
"""

from dataclasses import dataclass, field
from random import Random

from pando_server import BASE

PEOPLE, OTHER, GROUPS = f"ou=People,{BASE}", f"ou=Other,{BASE}", f"ou=Groups,{BASE}"
DEEP = f"ou=Deep,{PEOPLE}"
PERSONS = [
    f"uid=alice,{PEOPLE}",
    f"uid=bob,{PEOPLE}",
    f"uid=carol,{PEOPLE}",
    f"uid=dave,{DEEP}",
    f"uid=erin,{OTHER}",
    f"uid=frank,{OTHER}",
]
ALICE, BOB, CAROL, DAVE, ERIN, FRANK = PERSONS
PHONES = [f"cn=phone,{name}" for name in (CAROL, DAVE, ERIN)]
STATIC, NESTED, UNIQUE, DYNAMIC = (f"cn={name},{GROUPS}" for name in ("static", "nested", "unique", "dynamic"))
# What the URL of the dynamic group looks for.
DYNAMIC_BY = "l"
GROUP_NAMES = [STATIC, NESTED, UNIQUE, DYNAMIC]
NAMES = [BASE, PEOPLE, DEEP, OTHER, GROUPS, *PERSONS, *PHONES, *GROUP_NAMES]
PASSWORD = "a-password-of-tests"
# A change of privileges takes OpenDJ a moment, so they never change. Frank is told everything.
PRIVILEGES = {
    BOB: ["password-reset", "modify-acl"],
    CAROL: ["privilege-change"],
    DAVE: ["proxied-auth"],
    FRANK: ["bypass-acl"],
}
TEXTS = {
    "cn": ["alice", "carol", "case", "nobody"],
    "sn": ["ash", "birch", "cedar"],
    "description": ["abc", "axe", "dog", "d-x", "aa"],
    "title": ["boss", "Boss", "clerk", "old"],
    "l": ["north", "south"],
    "mail": ["a@example.com", "b@example.com"],
    "telephoneNumber": ["+1 555 0100", "+1 555 0101"],
    "departmentNumber": ["1", "2"],
}
DN_TYPES = ["manager", "seeAlso"]
Entry = dict[str, list[str]]


@dataclass
class Scene:
    """The entries of one round by name; `acis` are the values of the attribute `aci` by holder."""

    entries: dict[str, Entry]
    acis: dict[str, list[str]] = field(default_factory=dict)

    def stored(self, name: str) -> Entry:
        """An entry as it is added, with its instructions."""
        acis = self.acis.get(name)
        return {**self.entries[name], "aci": acis} if acis else self.entries[name]

    def below(self, name: str) -> list[str]:
        """The entry and what is under it, parents first."""
        return [other for other in NAMES if other == name or other.endswith("," + name)]


def random_scene(random: Random) -> Scene:
    entries: dict[str, Entry] = {
        BASE: {"objectClass": ["top", "domain"], "dc": ["example"]},
        PEOPLE: {"objectClass": ["top", "organizationalUnit"], "ou": ["People"]},
        DEEP: {"objectClass": ["top", "organizationalUnit"], "ou": ["Deep"]},
        OTHER: {"objectClass": ["top", "organizationalUnit"], "ou": ["Other"]},
        GROUPS: {"objectClass": ["top", "organizationalUnit"], "ou": ["Groups"]},
    }
    for name in (PEOPLE, DEEP, OTHER, GROUPS):
        some_texts(random, entries[name], ["description", "l"])
        some_names(random, entries[name], ["seeAlso"])
    for name in PERSONS:
        entries[name] = random_person(random, name)
        if name in PRIVILEGES:
            entries[name]["ds-privilege-name"] = PRIVILEGES[name]
    for name in PHONES:
        entries[name] = {"objectClass": ["top", "device"], "cn": ["phone"]}
        some_texts(random, entries[name], ["description", "l"])
        some_names(random, entries[name], ["owner", "seeAlso"])
    entries[STATIC] = group(random, "groupOfNames", {"cn": ["static"], "member": random.sample(PERSONS, 2)})
    entries[NESTED] = group(
        random, "groupOfNames", {"cn": ["nested"], "member": [STATIC, *random.sample(PERSONS, random.randrange(2))]}
    )
    entries[UNIQUE] = group(random, "groupOfUniqueNames", {"cn": ["unique"], "uniqueMember": random.sample(PERSONS, 2)})
    # OpenDJ computes isMemberOf for persons and groups only.
    people = f"(&(objectClass=person)({DYNAMIC_BY}={random.choice(TEXTS['l'])}))"
    url = f"ldap:///{random.choice([BASE, PEOPLE])}??sub?{people}"
    entries[DYNAMIC] = group(random, "groupOfURLs", {"cn": ["dynamic"], "memberURL": [url]})
    return Scene(entries)


def random_person(random: Random, name: str) -> Entry:
    uid = name.split(",")[0].removeprefix("uid=")
    entry: Entry = {
        "objectClass": ["top", "person", "organizationalPerson", "inetOrgPerson"],
        "uid": [uid],
        "cn": [uid],
        "sn": [random.choice(TEXTS["sn"])],
        "userPassword": [PASSWORD],
    }
    some_texts(random, entry, ["description", "title", "l", "mail", "telephoneNumber", "departmentNumber"])
    some_names(random, entry, DN_TYPES)
    if random.random() < 0.2:
        entry["cn;lang-de"] = [random.choice(TEXTS["cn"])]
    if random.random() < 0.3:
        entry["labeledURI"] = [f"ldap:///{PEOPLE}??sub?(l={random.choice(TEXTS['l'])})"]
    return entry


def group(random: Random, kind: str, attributes: Entry) -> Entry:
    entry = {"objectClass": ["top", kind], **attributes}
    some_texts(random, entry, ["description"])
    some_names(random, entry, ["seeAlso"] if kind != "groupOfURLs" else [])
    return entry


def some_texts(random: Random, entry: Entry, types: list[str]) -> None:
    for kind in types:
        if random.random() < 0.6:
            entry[kind] = random.sample(TEXTS[kind], 2 if random.random() < 0.2 else 1)
    # `boss` and `Boss` are equal for the matching rule, so that an entry has one of them.
    if len({value.lower() for value in entry.get("title", [])}) < len(entry.get("title", [])):
        entry["title"] = entry["title"][:1]


def some_names(random: Random, entry: Entry, types: list[str]) -> None:
    for kind in types:
        if random.random() < 0.6:
            entry[kind] = [random.choice([*PERSONS, *GROUP_NAMES])]
