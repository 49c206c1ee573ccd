"""Who is in which group, who has which role, and which references lead nowhere, computed from scratch: all entries are
read, names compared as texts.

The oracle of the crash rounds. Knows the groups and roles that they make: `member`, `uniqueMember`, `memberURL` with a
base and a filter `(attribute=value)`, roles with such a filter, at most; it knows no index and asks the server nothing
but everything."""

import re

import ldap

REFERENCES = ("member", "uniqueMember", "manager", "seeAlso")


def everything(con, base: str, wanted="(objectClass=*)") -> dict:
    """Name in lower case → attributes, names in lower case."""
    found = {}
    for dn, attrs in con.search_s(
        base, ldap.SCOPE_SUBTREE, wanted, ["*", "isMemberOf", "memberOf", "nsRole", "nsRoleDN"]
    ):
        if dn is not None:
            found[dn.lower()] = {
                name.lower(): [value.decode(errors="replace") for value in values] for name, values in attrs.items()
            }
    return found


def is_at_or_below(dn: str, base: str) -> bool:
    return dn == base or dn.endswith("," + base)


def matches(attrs: dict, wanted: str) -> bool:
    assert wanted.startswith("(") and wanted.endswith(")"), wanted
    attribute, value = wanted[1:-1].lower().split("=", 1)
    return any(value in ("*", own.lower()) for own in attrs.get(attribute, []))


def described(entries: dict, url: str) -> set:
    base, _, scope, wanted = url.removeprefix("ldap:///").split("?")
    assert scope == "sub", url
    return {dn for dn, attrs in entries.items() if is_at_or_below(dn, base.lower()) and matches(attrs, wanted)}


def roles(entries: dict, definitions: dict) -> dict:
    """Role → the entries that have it."""
    own, nested = {}, {}
    for dn, attrs in definitions.items():
        classes = {value.lower() for value in attrs["objectclass"]}
        reached = {name: other for name, other in entries.items() if is_at_or_below(name, dn.split(",", 1)[1])}
        if "nsmanagedroledefinition" in classes:
            own[dn] = {
                name for name, other in reached.items() if dn in (value.lower() for value in other.get("nsroledn", []))
            }
        elif "nsfilteredroledefinition" in classes:
            own[dn] = {name for name, other in reached.items() if matches(other, attrs["nsrolefilter"][0])}
        elif "nsnestedroledefinition" in classes:
            own[dn], nested[dn] = set(), (reached.keys(), [value.lower() for value in attrs["nsroledn"]])
    changed = True
    while changed:
        changed = False
        for dn, (reached, listed) in nested.items():
            having = set().union(*(own.get(name, set()) for name in listed)) & reached
            changed |= having != own[dn]
            own[dn] = having
    return own


def members(entries: dict) -> dict:
    """Group → the names in it: the least sets that satisfy what membership is."""
    own, listed = {}, {}
    for dn, attrs in entries.items():
        classes = {value.lower() for value in attrs["objectclass"]}
        if classes & {"groupofnames", "groupofentries", "groupofuniquenames"}:
            attribute = "uniquemember" if "groupofuniquenames" in classes else "member"
            listed[dn] = {value.lower() for value in attrs.get(attribute, [])} & entries.keys()
            own[dn] = set(listed[dn])
        elif "groupofurls" in classes:
            own[dn] = set().union(*(described(entries, url) for url in attrs.get("memberurl", [])))
    changed = True
    while changed:
        changed = False
        for group, names in listed.items():
            wanted = own[group].union(*(own[name] for name in names if name in own))
            changed |= wanted != own[group]
            own[group] = wanted
    return own


def check(con, base: str) -> dict:
    """Raises where an entry's groups or roles are not those of the computation, or a reference names nobody; gives all
    entries."""
    entries = everything(con, base)
    groups = members(entries)
    for dn, attrs in entries.items():
        expected = sorted(group for group, own in groups.items() if dn in own)
        for attribute in ("ismemberof", "memberof"):
            assert sorted(value.lower() for value in attrs.get(attribute, [])) == expected, f"{attribute} of {dn}"
        for attribute in REFERENCES:
            for value in attrs.get(attribute.lower(), []):
                assert value.lower() in entries, f"{attribute} of {dn} names {value}, who is not there"
    having = roles(entries, everything(con, base, "(objectClass=ldapSubentry)"))
    for dn, attrs in entries.items():
        expected = sorted(role for role, own in having.items() if dn in own)
        assert sorted(value.lower() for value in attrs.get("nsrole", [])) == expected, f"nsRole of {dn}"
    for role, own in having.items():
        found = {dn.lower() for dn, _ in con.search_s(base, ldap.SCOPE_SUBTREE, f"(nsRole={role})", ["1.1"]) if dn}
        assert found == own, f"the filter on {role}"
    for group, own in groups.items():
        if re.match(r"cn=crash\.(?!crowd\.[1-9])", group):
            found = {
                dn.lower() for dn, _ in con.search_s(base, ldap.SCOPE_SUBTREE, f"(memberOf={group})", ["1.1"]) if dn
            }
            assert found == own, f"the filter on {group}"
    return entries
