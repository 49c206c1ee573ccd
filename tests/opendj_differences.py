"""Why OpenDJ and Pando may answer differently: named rules, each with the sentence of the reference on OpenDJ's access
control that calls it a fault of OpenDJ or a choice of ours. A difference that no rule explains is a fault of Pando's.
What OpenDJ reads otherwise in an instruction itself is no such rule: it is told the same in other words
(`aci_generator.Peculiarity`).

Knows the question, both answers and the instructions in force; asks OpenDJ again where that makes a rule narrower.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from access_questions import Add, Answer, Attributes, Compare, Delete, Modify, Question, Rename, Search, normalised
from access_scene import DYNAMIC, DYNAMIC_BY, NAMES, Scene
from aci_generator import Aci

SUCCESS, NO_SUCH_OBJECT, NO_ACCESS, ALREADY_EXISTS = 0, 32, 50, 68
NO_SUCH_ATTRIBUTE, UNDEFINED_TYPE, VALUE_EXISTS, UNWILLING, NAMING_VIOLATION, CLASS_VIOLATION = 16, 17, 20, 53, 64, 65
REFUSALS = (NO_SUCH_OBJECT, NO_ACCESS)
NAME_TYPES = ("manager", "seeAlso", "member", "owner")


@dataclass(frozen=True)
class Difference:
    """One question that was answered differently. `ask_opendj` asks OpenDJ a further one."""

    scene: Scene
    acis: list[tuple[str, Aci]]
    question: Question
    opendj: Answer
    pando: Answer
    ask_opendj: Callable[[Question], Answer]

    def some_aci(self, test: Callable[[Aci], bool], name: str) -> bool:
        """Whether the test says so of an instruction at the entry of that name, or above it."""
        return any(test(aci) for holder, aci in self.acis if normalised(name).endswith(normalised(holder)))

    def alone(self, name: str, attributes: tuple[str, ...]) -> Attributes | None:
        """What OpenDJ shows of an entry when the search finds nothing else; none when it shows no such entry."""
        acts_as = self.question.acts_as if isinstance(self.question, Search) else None
        asked = Search(self.question.asker, name, "base", "(&)", attributes, acts_as)
        return self.ask_opendj(asked).by_name().get(normalised(name))

    def opendj_shows(self, name: str) -> bool:
        return self.alone(name, ("1.1",)) is not None

    def opendj_finds(self, name: str, filterstr: str) -> bool:
        return bool(self.ask_opendj(Search(self.question.asker, name, "base", filterstr, ("1.1",))).entries)

    def opendj_may_search(self, name: str, kind: str) -> bool:
        """Whether OpenDJ grants the right to search an attribute of an entry, which may have it or not."""
        return self.opendj_finds(name, f"(|({kind}=*)(!({kind}=*)))")

    def opendj_refuses_more(self) -> bool:
        return (
            self.opendj.code in REFUSALS and self.opendj.code != self.pando.code and self.pando.code != NO_SUCH_OBJECT
        )


RULES: dict[str, str] = {}


def rule(because: str):
    """Names the rule; `because` is what the reference says."""

    def add(explains):
        RULES[explains.__name__] = because
        return explains

    return add


def explanations(it: Difference) -> list[str] | None:
    """The names of the rules that explain the difference together, or none."""
    if isinstance(it.question, Search):
        return search_explanations(it)
    for single in SINGLE:
        if single(it):
            return [single.__name__]
    return None


# Searches


def search_explanations(it: Difference) -> list[str] | None:
    """Several rules may meet in one search: each entry and attribute that differs needs one."""
    question = it.question
    assert isinstance(question, Search)
    if it.opendj.code != SUCCESS or it.pando.code != SUCCESS:
        whole = (hidden_base, acts_as_oneself, matched_as_for_a_missing_one)
        single = next((single for single in whole if single(it)), None)
        return [single.__name__] if single else None
    opendj, pando = it.opendj.by_name(), it.pando.by_name()
    found: set[str] = set()
    for name in sorted(set(opendj) | set(pando)):
        if opendj.get(name) == pando.get(name):
            continue
        own = entry_explanations(it, name, opendj.get(name), pando.get(name))
        if not own:
            return None
        found |= own
    return sorted(found)


def entry_explanations(it: Difference, name: str, opendj: Attributes | None, pando: Attributes | None) -> set[str]:
    """The rules for one entry of a search; none when some of its differences has no rule."""
    found: set[str] = set()
    alone = it.alone(name, it.question.attributes)
    if opendj is None:
        if alone is not None and undefined_item_counts(it, name):
            found.add(undefined_item_counts.__name__)
            opendj = alone
        elif alone is None and entry_hidden_by_deny(it, name):
            return {entry_hidden_by_deny.__name__}
        elif alone is not None and pando is not None and is_in_no_group_that_shows(it, name):
            found.add(only_groups_that_show.__name__)
            opendj = alone
        else:
            return set()
    if pando is None:
        if unknown_type_is_undefined(it):
            return {unknown_type_is_undefined.__name__}
        if "isMemberOf" in it.question.filter and not it.opendj_finds(name, f"({DYNAMIC_BY}=*)"):
            return {only_groups_that_show.__name__}
        # OpenDJ itself shows and finds it only behind others.
        is_leak = alone is None or not it.opendj_finds(name, it.question.filter)
        return {leak_between_entries.__name__} if is_leak else set()
    if opendj != pando and alone is not None and alone != opendj:
        found.add(leak_between_entries.__name__)
        opendj = alone
    for kind in sorted(set(opendj) | set(pando)):
        if opendj.get(kind) == pando.get(kind):
            continue
        if kind == "objectclass" and kind not in pando:
            found.add(object_class_always_sent.__name__)
        elif kind == "ismemberof" and groups_that_show(it, name, opendj.get(kind, ()), pando.get(kind, ())):
            found.add(only_groups_that_show.__name__)
        elif kind not in pando and attribute_check_skipped(it, name, kind):
            found.add(attribute_check_skipped.__name__)
        else:
            return set()
    return found


@rule(
    "A base the user may not see: 0 and no entries; 389's way, or 32 for both, never different (section 5, search base)"
)
def hidden_base(it: Difference) -> bool:
    is_hidden = it.opendj.code == SUCCESS and it.pando.code == NO_SUCH_OBJECT
    return is_hidden and not it.opendj_shows(it.question.name)


@rule("Proxied authorization for oneself: DJ takes privilege and right proxy; 0 without any right here (section 8)")
def acts_as_oneself(it: Difference) -> bool:
    if it.question.acts_as is None or it.question.acts_as != it.question.asker:
        return False
    # Without the control the answers are the same, or another rule says why not.
    question = replace(it.question, acts_as=None)
    plain = replace(it, question=question, opendj=it.ask_opendj(question))
    return plain.opendj.same(it.pando) or bool(explanations(plain))


@rule("DJ: one missing right to search and the entry is not returned; the item is Undefined here (section 5, filter)")
def undefined_item_counts(it: Difference, name: str) -> bool:
    kinds = set(re.findall(r"\(([\w-]+)=", it.question.filter))
    is_combined = "(|" in it.question.filter or "(&" in it.question.filter
    return is_combined and not all(it.opendj_may_search(name, kind) for kind in kinds)


@rule("An item of an unknown type is Undefined, also when negated (RFC 4511 4.5.1.7); DJ takes it for false")
def unknown_type_is_undefined(it: Difference) -> bool:
    return "(nosuch=" in it.question.filter and "(!" in it.question.filter


@rule("DJ: no-targetattr ACI with read and a deny with targetattr hides the whole entry (T5)")
def entry_hidden_by_deny(it: Difference, name: str) -> bool:
    reads = it.some_aci(
        lambda aci: "allow" in aci.effects and not aci.has_targetattr and bool({"read", "all"} & aci.rights), name
    )
    denies = it.some_aci(
        lambda aci: (
            "deny" in aci.effects
            and (aci.has_targetattr or "targattrfilters" in aci.text)
            and bool({"read", "all"} & aci.rights)
        ),
        name,
    )
    return reads and denies


@rule("DJ leaks attributes across entries of one search (T1)")
def leak_between_entries(it: Difference) -> bool:
    return True


@rule("DJ skips the check of attributes (T1), also in one entry: asked for by its own name the attribute does not come")
def attribute_check_skipped(it: Difference, name: str, kind: str) -> bool:
    return kind not in (it.alone(name, (kind,)) or {})


@rule("DJ: objectClass is always sent when asked or `*`, even under deny; here not (section 5, search attributes)")
def object_class_always_sent(it: Difference) -> bool:
    return True


@rule("isMemberOf tells of invisible entries; decide each (T3)")
def only_groups_that_show(it: Difference) -> bool:
    return True


def is_in_no_group_that_shows(it: Difference, name: str) -> bool:
    """A filter that asks for entries in no group finds the entry, whose groups do not show."""
    groups = it.alone(name, ("isMemberOf",)).get("ismemberof", ())
    return "(!" in it.question.filter and bool(groups) and groups_that_show(it, name, groups, ())


def groups_that_show(it: Difference, name: str, opendj: tuple[str, ...], pando: tuple[str, ...]) -> bool:
    """Left out are groups that do not show, and the dynamic one if the asker may not look at what its URL asks for."""
    left_out = set(opendj) - set(pando)
    shown = {group for group in left_out if it.opendj_shows(group)}
    if normalised(DYNAMIC) in shown and not it.opendj_finds(name, f"({DYNAMIC_BY}=*)"):
        shown.remove(normalised(DYNAMIC))
    return set(pando) <= set(opendj) and not shown


# Updates and compares


@rule("DJ applies the modifications before it asks the ACIs; access first, then values (section 6, end)")
def values_before_access(it: Difference) -> bool:
    by_values = (NO_SUCH_ATTRIBUTE, VALUE_EXISTS, CLASS_VIOLATION)
    return isinstance(it.question, Modify) and it.opendj.code in by_values and it.pando.code in REFUSALS


@rule("access first, then values (section 6, end); DJ says 53 of a move below itself before it asks for rights")
def move_below_itself_before_access(it: Difference) -> bool:
    is_rename = isinstance(it.question, Rename)
    return is_rename and it.opendj.code == UNWILLING and it.pando.code in REFUSALS


@rule("delete attribute / empty replace of an absent attribute: DJ no check at all; check write first (section 5)")
def absent_attribute_unchecked(it: Difference) -> bool:
    if not isinstance(it.question, Modify) or it.pando.code not in REFUSALS or it.opendj.code in REFUSALS:
        return False
    entry = it.scene.stored(it.question.name) if it.question.name in NAMES else {}
    return any(
        operation in ("delete", "replace") and not values and kind not in entry
        for operation, kind, values in it.question.modifications
    )


@rule(
    "a value equal to the requester's DN: DJ checks selfwrite instead of write; write or selfwrite (section 5, modify)"
)
def own_name_by_write(it: Difference) -> bool:
    if not isinstance(it.question, Modify) or not it.opendj_refuses_more() or not it.question.asker:
        return False
    entry = it.scene.entries.get(it.question.name, {})
    own = it.question.asker
    return any(
        kind in NAME_TYPES and (own in values or operation != "add" and own in entry.get(kind, []))
        for operation, kind, values in it.question.modifications
    )


@rule("subtree delete: DJ asks delete on the top entry only; check every entry, all or nothing (section 5)")
def children_unchecked(it: Difference) -> bool:
    return (
        isinstance(it.question, Delete)
        and it.question.subtree
        and len(it.scene.below(it.question.name)) > 1
        and it.opendj.code == SUCCESS
        and it.pando.code in REFUSALS
    )


@rule("rename: DJ a deny write of any attribute forbids renaming; 389 not, as here (section 5)")
def deny_forbids_renaming(it: Difference) -> bool:
    if not isinstance(it.question, Rename) or not it.opendj_refuses_more():
        return False
    return it.some_aci(lambda aci: "deny" in aci.effects and bool({"write", "all"} & aci.rights), it.question.name)


@rule("On add level 0 is undefined; DJ's `not` makes undefined true and its and/or make it false (section 1)")
def undefined_in_boolean(it: Difference) -> bool:
    def combines(aci: Aci) -> bool:
        asks_the_entry = re.search(r'userattr!?="(?!parent\[1)', aci.text)
        is_combined = re.search(r"userattr!=| and | or |not ", aci.text)
        return bool({"add", "all"} & aci.rights) and bool(asks_the_entry) and bool(is_combined)

    codes = {it.opendj.code, it.pando.code}
    is_add = isinstance(it.question, Add) and bool(codes & set(REFUSALS))
    return is_add and it.some_aci(combines, it.question.name)


@rule(
    "DJ: no-targetattr ACI with read and a deny with targetattr hides the whole entry (T5), so that 50 is masked as 32"
)
def refusal_masked_by_deny(it: Difference) -> bool:
    return (
        it.opendj.code == NO_SUCH_OBJECT and it.pando.code == NO_ACCESS and entry_hidden_by_deny(it, it.question.name)
    )


@rule(
    "DJ applies the modifications before it asks the ACIs (section 6), and masks by what the changed entry has stored"
)
def masked_by_the_changed_entry(it: Difference) -> bool:
    masked = {it.opendj.code, it.pando.code} == set(REFUSALS)
    if not isinstance(it.question, Modify) or not masked:
        return False
    # Searched for, the entry as it is shows to the asker at OpenDJ just as Pando says.
    return it.opendj_shows(it.question.name) == (it.pando.code == NO_ACCESS)


@rule(
    "An unreadable entry is answered as a missing one (section 6); DJ leaves out the matchedDN that a missing one has"
)
def matched_as_for_a_missing_one(it: Difference) -> bool:
    if not it.opendj.code == it.pando.code == NO_SUCH_OBJECT or it.opendj.matched:
        return False
    return normalised(it.question.name).endswith("," + it.pando.matched) and it.opendj_shows(it.pando.matched)


@rule(
    "add: parent missing 32 with matchedDN if the ancestor is readable (section 6); a parent that does not show is none"
)
def hidden_parent_is_missing(it: Difference) -> bool:
    if not isinstance(it.question, Add) or (it.opendj.code, it.pando.code) != (NO_ACCESS, NO_SUCH_OBJECT):
        return False
    return it.opendj_shows(it.pando.matched) and not it.opendj_shows(it.question.name.split(",", 1)[1])


@rule("compare of an absent attribute: 16 (case 24); of a type that the schema does not know RFC 4511 has 17")
def unknown_type_is_told(it: Difference) -> bool:
    asked = isinstance(it.question, Compare) and it.question.attribute == "nosuch"
    return asked and it.opendj.code == NO_SUCH_ATTRIBUTE and it.pando.code in (UNDEFINED_TYPE, NO_ACCESS)


@rule("add of an entry that exists: with add right and no read 50 (case 23); DJ looks at what the new entry would show")
def existing_name_by_the_new_entry(it: Difference) -> bool:
    codes = (it.opendj.code, it.pando.code)
    if not isinstance(it.question, Add) or codes not in ((ALREADY_EXISTS, NO_ACCESS), (NO_ACCESS, ALREADY_EXISTS)):
        return False
    return it.opendj_shows(it.question.name) == (it.pando.code == ALREADY_EXISTS)


@rule("Every later error about an unreadable entry is masked as 32 (section 6); DJ masks not all of them")
def later_error_masked(it: Difference) -> bool:
    is_later = it.opendj.code not in (SUCCESS, *REFUSALS) and it.pando.code == NO_SUCH_OBJECT
    return is_later and not it.opendj_shows(it.question.name)


@rule("Every error about an unreadable entry is masked as 32 (section 6); DJ tells of a missing privilege first")
def privilege_before_visibility(it: Difference) -> bool:
    if not isinstance(it.question, Modify) or (it.opendj.code, it.pando.code) != (NO_ACCESS, NO_SUCH_OBJECT):
        return False
    kinds = {kind for _, kind, _ in it.question.modifications}
    is_of_privilege = "sufficient privileges" in it.opendj.message
    return (
        bool(kinds & {"ds-privilege-name", "aci", "userPassword"})
        and is_of_privilege
        and not it.opendj_shows(it.question.name)
    )


@rule("New superior missing: 50 (section 6), and 32 with bypass-acl; DJ says 64 where nothing is asked of instructions")
def missing_superior(it: Difference) -> bool:
    is_missing = isinstance(it.question, Rename) and it.question.new_superior not in (None, *NAMES)
    return is_missing and it.opendj.code == NAMING_VIOLATION and it.pando.code in REFUSALS


SINGLE = [
    existing_name_by_the_new_entry,
    privilege_before_visibility,
    missing_superior,
    matched_as_for_a_missing_one,
    hidden_parent_is_missing,
    unknown_type_is_told,
    later_error_masked,
    values_before_access,
    move_below_itself_before_access,
    absent_attribute_unchecked,
    own_name_by_write,
    children_unchecked,
    deny_forbids_renaming,
    undefined_in_boolean,
    masked_by_the_changed_entry,
    refusal_masked_by_deny,
]
