"""The steps of a history: what is done at the server, or a wait. Each is a value that can be printed and tried again.

Knows no server and no model. A connection is a number; a password is its clear text.
"""

from dataclasses import dataclass, replace

ROOT = "root"


@dataclass(frozen=True)
class Wait:
    seconds: int


@dataclass(frozen=True)
class Code:
    """A one-time code. `number`: of a token by time the time steps from the present one, of a button the counter."""

    token: str
    number: int


@dataclass(frozen=True)
class Bind:
    """With a code, it follows the password."""

    connection: int
    name: str
    password: str
    control: bool
    code: Code | None = None

    def with_code(self, code: Code) -> "Bind":
        return replace(self, code=code)


@dataclass(frozen=True)
class Search:
    """Of the base entry."""

    connection: int
    control: bool


@dataclass(frozen=True)
class Compare:
    connection: int
    control: bool


@dataclass(frozen=True)
class WhoAmI:
    connection: int
    control: bool


@dataclass(frozen=True)
class Describe:
    """Replaces an attribute that has nothing to do with passwords."""

    connection: int
    target: str
    control: bool


@dataclass(frozen=True)
class Change:
    """A modification of the password. `form`: replace, replace-two, delete-add, add, delete, delete-all."""

    connection: int
    target: str
    form: str
    old: str
    new: str
    control: bool


@dataclass(frozen=True)
class Extended:
    """The password modify operation. `form` of the identity: dn:, u:, dn, id, none. A new password that the server
    makes is called `made` in later steps. With a code, it follows the old password."""

    connection: int
    target: str
    form: str
    old: str | None
    new: str | None
    control: bool
    made: str = ""
    code: Code | None = None

    def with_code(self, code: Code) -> "Extended":
        return replace(self, code=code)


@dataclass(frozen=True)
class Add:
    """By root, with a password. `encoded`: given in the form of a storage scheme."""

    target: str
    password: str
    control: bool
    encoded: bool = False


@dataclass(frozen=True)
class Delete:
    target: str


@dataclass(frozen=True)
class Write:
    """Root replaces an attribute of the state that is writable; no value removes it. Times are seconds since 1970."""

    target: str
    attribute: str
    value: bool | int | None


@dataclass(frozen=True)
class Assign:
    """Root names the policy of an account; none takes the name away."""

    target: str
    policy: str | None


@dataclass(frozen=True)
class Edit:
    """New values of properties, written at once."""

    policy: str
    changes: tuple[tuple[str, int | bool | str], ...]


@dataclass(frozen=True)
class Usability:
    """Root asks with the account usability control."""

    target: str


@dataclass(frozen=True)
class State:
    """Root's password policy state operation: (operation, value) in turn; none asks for everything."""

    target: str
    operations: tuple[tuple[int, str | None], ...] = ()


@dataclass(frozen=True)
class Enrol:
    """A new token of one-time codes; the server makes its secret."""

    connection: int
    target: str
    name: str
    kind: str
    algorithm: str
    digits: int
    period: int
    control: bool


@dataclass(frozen=True)
class Confirm:
    """Shows a code of a token, which is in use from then on."""

    connection: int
    target: str
    code: Code
    control: bool


@dataclass(frozen=True)
class Remove:
    """Of a token; no name means all."""

    connection: int
    target: str
    name: str
    control: bool


@dataclass(frozen=True)
class Tokens:
    """Root asks which tokens there are."""

    target: str


Step = (
    Wait
    | Bind
    | Search
    | Compare
    | WhoAmI
    | Describe
    | Change
    | Extended
    | Add
    | Delete
    | Write
    | Assign
    | Edit
    | Usability
    | State
    | Enrol
    | Confirm
    | Remove
    | Tokens
)
