"""Runs a history at a server and at the model, stops at the first difference, and shortens the history to a few steps
that still differ.

Knows neither servers nor what is right.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from account_model.control import policy_answer
from account_model.model import Model, Reply
from account_model.policy import Quirk
from account_model.random_history import CONNECTIONS
from account_model.steps import Bind, Edit, Step, Wait

EMPTY = policy_answer()
LOOK_AGAIN_SECONDS = 0.02


@dataclass(frozen=True)
class Difference:
    history: list[Step]
    expected: object
    found: object
    # Which account's state differs; none when the answers do.
    account: str | None = None

    def kind(self) -> tuple:
        """What must stay the same while a history is shortened, so that it is still about this difference."""
        if self.account is None:
            more = {part.partition(":")[0] for part in parts(self.expected) ^ parts(self.found)}
            return (type(self.history[-1]), self.expected.code, self.found.code, tuple(sorted(more)))
        differing = [key for key in self.expected or {} if (self.found or {}).get(key) != self.expected[key]]
        return (type(self.history[-1]), tuple(differing))

    def __str__(self) -> str:
        steps = "\n".join(f"  {number}. {step}" for number, step in enumerate(self.history, 1))
        if self.account is None:
            return (
                f"{steps}\n  expected {shown(self.expected, self.found)}\n  found    {shown(self.found, self.expected)}"
            )
        lines = []
        for key in sorted({*(self.expected or {}), *(self.found or {})}):
            expected, found = (self.expected or {}).get(key), (self.found or {}).get(key)
            if expected != found:
                lines.append(f"  {self.account} {key}: expected {expected}, found {found}")
        return "\n".join([steps, *lines])


def parts(reply: Reply) -> set[str]:
    return set((reply.more or "").split("; "))


def shown(reply: Reply, other: Reply) -> str:
    """The answer, without what is the same in a long one."""
    more = sorted(parts(reply) - parts(other))
    octets = "none" if reply.policy is None else reply.policy.hex(" ")
    return f"code {reply.code}, control {octets}, Netscape's {reply.netscape}, more {more}"


def compare(
    history: Sequence[Step], server, quirks: frozenset[Quirk], dialect: type[Model] = Model
) -> tuple[Difference | None, int]:
    """The first difference, and how many steps were run."""
    server.begin(CONNECTIONS)
    model = dialect(quirks, server.clock.seconds, CONNECTIONS)
    for number, step in enumerate(history, 1):
        if number > 1 and server.tick_seconds:
            model.run(Wait(server.tick_seconds))
            server.run(Wait(server.tick_seconds))
        expected, found = model.run(step), server.run(step)
        if told(step, expected) != told(step, found):
            return Difference(list(history[:number]), expected, found), number
        if (difference := state_difference(history[:number], server, model)) is not None:
            return difference, number
    return None, len(history)


def state_difference(history: Sequence[Step], server, model: Model) -> Difference | None:
    """A server may write what nobody waits for a moment later."""
    tries = 1 + round(server.patience_seconds / LOOK_AGAIN_SECONDS)
    for left in reversed(range(tries)):
        states = server.shown()
        for name in sorted({*states, *model.accounts}):
            account = model.accounts.get(name)
            expected = model.settled(name, model.shown(account)) if account else None
            found = model.settled(name, states[name]) if name in states else None
            if expected != found:
                break
        else:
            return None
        if left:
            time.sleep(LOOK_AGAIN_SECONDS)
    return Difference(list(history), expected, found, name)


def told(step: Step, reply: Reply) -> Reply:
    """The answer; only binds must say by an empty control that there is nothing to say, and not those with a name and
    no password, which are refused whoever is meant."""
    if not isinstance(step, Bind):
        # Netscape's controls belong to binds; a server may send them with more.
        reply = replace(reply, netscape=())
    must_say = isinstance(step, Bind) and step.password
    return replace(reply, policy=None) if reply.policy == EMPTY and not must_say else reply


def shortened(difference: Difference, again: Callable[[list[Step]], Difference | None]) -> Difference:
    """Leaves out steps, half the history first, as long as the same kind of difference stays."""
    kind = difference.kind()

    def tried(history: list[Step]) -> bool:
        nonlocal difference
        found = again(history)
        if found is not None and found.kind() == kind:
            difference = found
            return True
        return False

    size = max(1, len(difference.history) // 2)
    while True:
        at, smaller = 0, False
        while at < len(difference.history) - 1:
            history = difference.history
            if tried(history[:at] + history[min(at + size, len(history) - 1) :]):
                smaller = True
            else:
                at += size
        if size > 1:
            size //= 2
        elif not smaller:
            break
    for number, step in enumerate(difference.history[:-1]):
        if isinstance(step, Edit):
            for change in step.changes:
                left = tuple(one for one in difference.history[number].changes if one != change)
                edit = replace(step, changes=left)
                tried([*difference.history[:number], edit, *difference.history[number + 1 :]])
    return difference
