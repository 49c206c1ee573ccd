"""The properties of a password policy, under OpenDJ's names, and the ways in which other servers differ.

Knows no accounts. Times are in seconds; 0 means that a property is off, as in the servers.
"""

from dataclasses import dataclass, fields
from enum import Enum

DAY = 86400


@dataclass(frozen=True)
class Policy:
    """In the order of the reference. Schemes are the names in braces; validators are their least lengths."""

    allow_user_password_changes: bool = True
    password_change_requires_current_password: bool = False
    force_change_on_add: bool = False
    force_change_on_reset: bool = False
    skip_validation_for_administrators: bool = False
    require_secure_authentication: bool = False
    require_secure_password_changes: bool = False
    allow_multiple_password_values: bool = False
    allow_pre_encoded_passwords: bool = False
    min_password_age: int = 0
    max_password_age: int = 0
    max_password_reset_age: int = 0
    password_expiration_warning_interval: int = 5 * DAY
    expire_passwords_without_warning: bool = False
    allow_expired_password_changes: bool = False
    grace_login_count: int = 0
    lockout_failure_count: int = 0
    lockout_duration: int = 0
    lockout_failure_expiration_interval: int = 0
    require_change_by_time: int = 0
    # How many characters of yyyyMMddHHmmss are kept of a last login; 0 records none.
    last_login_precision: int = 0
    # How old a kept last login must be before another is kept; not OpenDJ's.
    last_login_interval: int = 0
    idle_lockout_interval: int = 0
    password_history_count: int = 0
    password_history_duration: int = 0
    default_password_storage_scheme: str = "SSHA256"
    deprecated_password_storage_scheme: str = ""
    # Not OpenDJ's: whether a password alone is not enough, the time steps that a code may be off, and how often a
    # button may have been pressed in vain.
    require_second_factor: bool = False
    second_factor_window: int = 1
    second_factor_look_ahead: int = 10
    # The validator of lengths: no validator at 0.
    min_password_length: int = 0

    def is_consistent(self) -> bool:
        """What the servers demand of a policy before they take it."""
        warning = self.password_expiration_warning_interval
        if warning == 0 and not self.expire_passwords_without_warning:
            return False
        if self.max_password_age:
            return self.min_password_age + warning < self.max_password_age and warning < self.max_password_age
        return True

    def differs_from(self, other: "Policy") -> list[str]:
        return [one.name for one in fields(self) if getattr(self, one.name) != getattr(other, one.name)]


class Quirk(Enum):
    """How OpenDJ 5.0.3 differs from what is right here; the value says why. Pando has none of them. A difference that
    none of these explains is a fault of the model or of the server."""

    EMPTY_NEW_PASSWORD = "OpenDJ's extended operation takes an empty new password: its fault; 53 as slapd answers"
    CHANGE_TELLS_NAMES = (
        "OpenDJ's extended operation for a stranger answers 2 to an unknown name and 49 to a known one: an oracle for "
        "names; here it is a bind in all but name and has a bind's one answer"
    )
    SESSIONS_OUTLIVE_RESETS = "OpenDJ ends sessions only at deletion; here also at disablement and reset"
    GRACE_MAY_MODIFY = "OpenDJ lets a session after a grace login modify other attributes: its fault; refused here"
    EARLIER_SESSIONS_MUST_CHANGE = (
        "OpenDJ refuses modifications by sessions that began before a reset; here the reset has ended them"
    )
    HISTORY_WITHOUT_ERROR = (
        "OpenDJ's extended operation tells history without a policy error; here it is 8 as by modify"
    )
    NO_RIGHT_WITHOUT_ERROR = (
        "OpenDJ's extended operation tells a lack of rights without a policy error; here it is 3 as by modify"
    )
    INSECURE_IS_NO_GUESS = (
        "OpenDJ refuses a bind on an insecure line before it looks at the password; here the password is looked at, so "
        "that the work is the same, and a wrong one counts"
    )
    WARNING_OF_RESET_AGE = (
        "OpenDJ's state operation tells the seconds until a warning also where the password expires by the age of a "
        "reset, of which nobody is warned"
    )
    GRACE_OF_RESET_AGE = (
        "OpenDJ's account usability counts grace logins also where the password expired by the age of a reset, which "
        "they do not help; here none is left"
    )
    SETTLES_WHEN_IDLE = (
        "OpenDJ deletes failures that count no more also at a bind that the lock of idle accounts refuses; here a bind "
        "that changes nothing writes nothing, and another policy may count them again"
    )
    INSECURE_WITHOUT_ERROR = (
        "OpenDJ's extended operation refuses a password on an insecure line without a policy error; here it is 3 as by "
        "modify"
    )
    REQUIRED_CHANGE_STAYS = (
        "OpenDJ's extended operation does not note that the change everybody had to make is made, so the new password "
        "expires like the old one; here it is noted as by modify"
    )
    RESTRICTED_IS_19 = (
        "OpenDJ answers constraintViolation to a session that must change its password; here insufficientAccessRights, "
        "as the draft and slapd say"
    )
    LENGTH_IS_QUALITY = "OpenDJ tells a short password by the error 5; here by 6, as the draft says"
    SAME_AGAIN_IS_THERE = (
        "OpenDJ refuses a modification that deletes the old value and adds it again, without any history, with 20; "
        "here, as in slapd, only a history refuses it"
    )
    DELETION_FORGETS = (
        "OpenDJ does not remember a deleted password in the history and keeps its time; here it is remembered, and "
        "without a password there is no time of its change"
    )
    ROOT_GIVES_CLEAR = (
        "OpenDJ refuses encoded values from everybody unless the policy allows them; here whoever has the privilege "
        "may give them, as root users have"
    )
    EXPIRED_ACCOUNT_MAY_CHANGE = (
        "OpenDJ's extended operation lets the user of an expired account change the password; here it is refused as "
        "for a disabled one"
    )
    WARNING_HIDES_RESET = (
        "to a client without the password policy control OpenDJ tells the coming expiry and not that the password must "
        "be changed at once"
    )
    OLD_OF_NOTHING = (
        "OpenDJ demands the old password also from an account that has none; here, as the draft says, only where there "
        "is one"
    )
    GRACE_LIMIT_STAYS = (
        "OpenDJ limits a session after a grace login whatever comes; here only while the password is expired, so a "
        "policy that changes meanwhile lifts it"
    )
    TELLS_AN_EMPTY_DEMAND = (
        "OpenDJ tells an administrator that the password must be changed also where users may not change it, and no "
        "bind asks for it"
    )
    HISTORY_STANDS_STILL = (
        "OpenDJ's extended operation enters nothing in the history when the new password is the present one or in the "
        "history, where validation is skipped for administrators"
    )
    CHANGE_IS_A_LOGIN = (
        "OpenDJ keeps the time of an extended operation that gives the old password as that of a login; here only of "
        "binds, and the change has a time of its own, which the idle lock looks at, too"
    )
    CHANGED_WHEN_MADE = (
        "OpenDJ writes no time of a change in the second in which the entry was made, for that is what it counts "
        "without one; here it is written"
    )
    HISTORY_OF_SEVERAL = (
        "which of several passwords OpenDJ keeps where the history has no room for all follows no rule of the "
        "reference; no such change is asked there"
    )
    RESET_FLAG_STAYS = (
        "OpenDJ leaves pwdReset at an account whose policy asks for no change after a reset, also when the password is "
        "changed: a later change of the policy would then ask for it. Here a user's own change always removes it"
    )
    STALE_OWN_ENTRY = (
        "OpenDJ's extended operation without an identity works on the entry as it was when the session began, and so "
        "leaves a time of warning behind; that form is not asked there"
    )
    IDLE_SECONDS_BY_LOGIN = (
        "OpenDJ's state operation counts the seconds until the idle lock from the last login alone, though the lock "
        "itself also looks at the age of the password"
    )
    FAILURES_OF_PAST_LOCKS = (
        "OpenDJ's state operation tells failures that count no more because the lock they led to has run out"
    )
    FAILURES_LEFT_UNDER_A_LOCK = (
        "OpenDJ's state operation counts the failures that are left while an account is locked, when those that led to "
        "the lock are too old to count; here none is left until the lock ends"
    )
    FAILURES_WHILE_LOCKED = (
        "OpenDJ's extended operation counts an administrator's wrong old password although the account is locked, and "
        "prolongs the lock; a bind does not"
    )
    LOCKS_WHEN_NOTICED = (
        "where a lowered limit makes past failures enough for a lock, OpenDJ lets it begin anew whenever somebody "
        "looks; here it began with the last failure"
    )
    DELETION_IS_NO_GUESS = (
        "OpenDJ neither counts the wrong old password that a modification deletes, nor asks whether the account is "
        "locked; here it is a guess as in a bind, and refused as by the extended operation"
    )
    WHO_AM_I_IS_RESTRICTED = (
        "OpenDJ refuses who am I to a session that must change its password; here, as in slapd, it is answered: it "
        "tells nothing but who has just logged in, and clients ask it to find that out"
    )
    GUESSES_UNDER_A_LOCK = (
        "OpenDJ compares any number of passwords while an account is locked, and tells the lock to the right one; here "
        "as many wrong ones as led to the lock, and after that every password is wrong until the lock ends"
    )


PANDO: frozenset[Quirk] = frozenset()
OPENDJ = frozenset(Quirk)
