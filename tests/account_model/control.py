"""The octets of the controls about passwords and accounts.

Knows only how they are encoded.
"""

from enum import IntEnum

from ldap_wire import integer, sequence, tlv

PASSWORD_POLICY = "1.3.6.1.4.1.42.2.27.8.5.1"
EXPIRED, EXPIRING = "2.16.840.1.113730.3.4.4", "2.16.840.1.113730.3.4.5"
ACCOUNT_USABILITY = "1.3.6.1.4.1.42.2.27.9.5.8"
STATE_OPERATION = "1.3.6.1.4.1.26027.1.6.1"
PASSWORD_MODIFY = "1.3.6.1.4.1.4203.1.11.1"


class Error(IntEnum):
    EXPIRED = 0
    LOCKED = 1
    CHANGE_AFTER_RESET = 2
    MODIFICATION_NOT_ALLOWED = 3
    MUST_SUPPLY_OLD = 4
    QUALITY = 5
    TOO_SHORT = 6
    TOO_YOUNG = 7
    IN_HISTORY = 8


def policy_answer(error: Error | None = None, expires_in: int | None = None, grace_left: int | None = None) -> bytes:
    """The value of the password policy control."""
    warning = b""
    if expires_in is not None:
        warning = tlv(0xA0, integer(expires_in, 0x80))
    elif grace_left is not None:
        warning = tlv(0xA0, integer(grace_left, 0x81))
    return sequence(warning, b"" if error is None else integer(error, 0x81))


def usable(seconds: int) -> bytes:
    return integer(seconds, 0x80)


def unusable(
    inactive: bool = False,
    reset: bool = False,
    expired: bool = False,
    grace_left: int | None = None,
    unlock_in: int | None = None,
) -> bytes:
    flags = b"".join(tlv(0x80 + number, b"\xff") for number, flag in enumerate((inactive, reset, expired)) if flag)
    grace = b"" if grace_left is None else integer(grace_left, 0x83)
    unlock = b"" if unlock_in is None else integer(unlock_in, 0x84)
    return tlv(0xA1, flags, grace, unlock)
