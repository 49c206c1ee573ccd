"""What a search finds: the names alone, in order, without the references to elsewhere."""

import ldap
import ldap.dn
from pando_server import BASE


def dns(con, filterstr: str, base: str = BASE) -> list[str]:
    """The names of the entries at or below the base that match."""
    return sorted(dn for dn, _ in con.search_s(base, ldap.SCOPE_SUBTREE, filterstr, ["1.1"]) if dn)


def names(con, filterstr: str, base: str = BASE) -> list[str]:
    """The same, of each name what comes first: its own value, without those above."""
    return first_values(dns(con, filterstr, base))


def first_values(names) -> list[str]:
    return sorted(ldap.dn.str2dn(name)[0][0][1] for name in names)
