"""Entries as cn=changelog tells them: every change read once, in the order of the numbers, and applied to a dictionary.

The crash rounds compare it with what is there. Knows the attributes of draft-good-ldap-changelog; entries that were
imported it does not know."""

import base64

import ldap


def parsed(line: str):
    """Attribute and value of a line of LDIF."""
    name, value = line.split(":", 1)
    return name.lower(), base64.b64decode(value[1:].strip()) if value.startswith(":") else value.removeprefix(
        " "
    ).encode()


def lines_of(text: bytes):
    """Lines, folded ones put together."""
    return text.decode().replace("\n ", "").splitlines()


class Mirror:
    """See the module."""

    def __init__(self):
        # name in lower case → attribute → values
        self.entries: dict = {}
        self.last = 0

    def follow(self, con) -> int:
        """Takes what is new; gives how many changes that were."""
        found = con.search_s("cn=changelog", ldap.SCOPE_ONELEVEL, f"(changeNumber>={self.last + 1})", ["*"])
        for _, change in found:
            number = int(change["changeNumber"][0])
            assert number > self.last, f"change {number} comes after {self.last}"
            self.last = number
            self.take(change)
        return len(found)

    def take(self, change: dict) -> None:
        kind, dn = change["changeType"][0], change["targetDN"][0].decode().lower()
        text = lines_of(change.get("changes", [b""])[0])
        if kind == b"add":
            assert dn not in self.entries, f"{dn} is added, but was there"
            self.entries[dn] = {}
            for name, value in map(parsed, filter(None, text)):
                self.entries[dn].setdefault(name, set()).add(value)
            return
        if dn not in self.entries:
            return  # it was imported
        if kind == b"delete":
            del self.entries[dn]
            return
        self.modify(self.entries[dn], dn, text)
        if kind == b"modrdn":
            superior = change["newSuperior"][0].decode() if "newSuperior" in change else dn.split(",", 1)[1]
            new = f"{change['newRDN'][0].decode()},{superior}".lower()
            moved = [name for name in self.entries if name == dn or name.endswith("," + dn)]
            for name in moved:
                self.entries[name[: len(name) - len(dn)] + new] = self.entries.pop(name)

    @staticmethod
    def modify(entry: dict, dn: str, text: list) -> None:
        how = attribute = None
        for line in text:
            if line in ("-", ""):
                how = None
            elif how is None:
                how, named = parsed(line)
                attribute = named.decode().lower()
                if how == "replace":
                    entry.pop(attribute, None)
            elif how == "delete":
                value = parsed(line)[1]
                assert value in entry.get(attribute, ()), f"{value} goes from {attribute} of {dn}, but was not there"
                entry[attribute].discard(value)
            else:
                entry.setdefault(attribute, set()).add(parsed(line)[1])
