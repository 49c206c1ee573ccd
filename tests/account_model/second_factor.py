"""One-time codes beside the password: what a token is, which codes are right and when, and what may be asked of it.

Pando's own, so neither OpenDJ nor slapd has a dialect of it. Knows no secrets: a code is named by its token and its
counter, and whoever runs a history makes the digits of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from account_model.account import Account, Judgement, Token
from account_model.model import (
    CONSTRAINT,
    HELPER,
    NO_ACCESS,
    NO_SUCH_ATTRIBUTE,
    NO_SUCH_OBJECT,
    SUCCESS,
    VALUE_EXISTS,
    Model,
    Reply,
)
from account_model.random_history import USERS, Maker
from account_model.steps import ROOT, Bind, Code, Confirm, Enrol, Extended, Remove, Step, Tokens

# Wrong codes that come with the right password, before none is right for a while (longer than a history runs).
WRONG_CODES_MAX = 10
TOTP, HOTP = "TOTP", "HOTP"


@dataclass(frozen=True)
class Asked:
    """The tokens of which a bind has to show a code: none of them is there where a policy demands what is missing."""

    tokens: tuple[Token, ...]

    def token(self, name: str) -> Token | None:
        return next((token for token in self.tokens if token.name == name), None)


def asked_for(judged: Judgement) -> Asked | None:
    """None: the password alone is enough. Where a code is demanded, tokens that were never used count, if none is in
    use."""
    tokens = judged.account.tokens
    active = tuple(token for token in tokens if token.active)
    if judged.policy.require_second_factor:
        return Asked(active or tuple(tokens))
    return Asked(active) if active else None


def counter_after(token: Token, number: int, judged: Judgement) -> int | None:
    """The first counter that is good after a code, if the code is good. `number`: of TOTP the time steps from the
    present one, of HOTP the counter."""
    policy = judged.policy
    if token.kind == TOTP:
        present = judged.now // 1000 // token.period
        counter, window = present + number, policy.second_factor_window
        first, last = max(token.next, present - window), present + window
    else:
        counter, first, last = number, token.next, token.next + policy.second_factor_look_ahead
    return counter + 1 if first <= counter <= last else None


class SecondFactorModel(Model):
    def proves(self, judged: Judgement, clear: str, code: Code | None) -> bool:
        """Password and code together; a code that is right is used up, whatever comes of it."""
        account, asked = judged.account, asked_for(judged)
        if asked is None:
            return super().proves(judged, clear, code)
        if code is None or not asked.tokens or not account.has(clear):
            return False
        account.wrong_codes += 1
        token = asked.token(code.token)
        following = counter_after(token, code.number, judged) if token else None
        if following is None or account.wrong_codes > WRONG_CODES_MAX:
            return False
        token.next, token.active, account.wrong_codes = following, True, 0
        return True

    # -------------------------------------------------------------------------------------------- management of tokens

    def managed(self, step: Enrol | Confirm | Remove) -> Account | Reply:
        """The account whose tokens are managed, or why they are not."""
        session = self.begun(step)
        if isinstance(session, Reply):
            return session
        if session.must_change:
            return self.restricted(step)
        if session.name not in (ROOT, HELPER, step.target):
            return self.reply(step, NO_ACCESS)
        return self.accounts.get(step.target) or self.reply(step, NO_SUCH_OBJECT)

    def run_enrol(self, step: Enrol) -> Reply:
        account = self.managed(step)
        if isinstance(account, Reply):
            return account
        # One of the same name that was never in use makes room.
        stay = [token for token in account.tokens if token.active or token.name != step.name]
        # All tokens of an account have codes of as many digits.
        if any(token.digits != step.digits for token in stay):
            return self.reply(step, CONSTRAINT)
        if any(token.name == step.name for token in stay):
            return self.reply(step, VALUE_EXISTS)
        account.tokens = [*stay, Token(step.name, step.kind, step.digits, step.period)]
        return self.reply(step, SUCCESS)

    def run_confirm(self, step: Confirm) -> Reply:
        account = self.managed(step)
        if isinstance(account, Reply):
            return account
        token = account.token(step.code.token)
        if token is None:
            return self.reply(step, NO_SUCH_ATTRIBUTE)
        following = counter_after(token, step.code.number, self.judge(account))
        if following is None:
            return self.reply(step, CONSTRAINT)
        token.active, token.next = True, following
        return self.reply(step, SUCCESS)

    def run_remove(self, step: Remove) -> Reply:
        account = self.managed(step)
        if isinstance(account, Reply):
            return account
        if step.name and account.token(step.name) is None:
            return self.reply(step, NO_SUCH_ATTRIBUTE)
        account.tokens = [token for token in account.tokens if step.name and token.name != step.name]
        return self.reply(step, SUCCESS)

    def run_tokens(self, step: Tokens) -> Reply:
        account = self.accounts.get(step.target)
        if account is None:
            return Reply(NO_SUCH_OBJECT)
        is_required = self.judge(account).policy.require_second_factor
        tokens = ((token.name, token.kind, token.digits, token.active) for token in account.tokens)
        return Reply(SUCCESS, more=told_tokens(tokens, is_required))


def told_tokens(tokens: Iterable[tuple[str, str, int, bool]], is_required: bool) -> str:
    told = [f"{name}: {kind} {digits} {active}" for name, kind, digits, active in sorted(tokens)]
    return "; ".join([*told, f"required: {is_required}"])


class SecondFactorMaker(Maker):
    """Shows codes where they are asked for, and manages tokens."""

    def kinds(self):
        return super().kinds() | {self.enrol: 5, self.confirm: 5, self.remove: 1, self.tokens: 2}

    def bind(self) -> Step:
        step = super().bind()
        return self.with_code(step, step.name) if step.name != ROOT and step.password else step

    def extended(self) -> Step:
        step = super().extended()
        is_stranger = isinstance(step, Extended) and self.model.sessions[step.connection].name is None
        return self.with_code(step, step.target) if is_stranger and step.old else step

    def with_code(self, step: Bind | Extended, name: str) -> Step:
        account = self.model.accounts.get(name)
        asked = asked_for(self.model.judge(account)) if account else None
        # A code that nobody asks for is part of a wrong password.
        if self.random.random() < (0.12 if asked else 0.97):
            return step
        return step.with_code(self.code(account))

    def code(self, account: Account | None) -> Code:
        """Mostly a good one of a token that there is."""
        if account is None or not account.tokens:
            return Code(self.name(), 0)
        active = [token for token in account.tokens if token.active]
        return code_of(self.random, self.random.choice(active or account.tokens))

    def name(self) -> str:
        return self.random.choice(("phone", "card"))

    def enrol(self) -> Step:
        number, target = self.chosen_change()
        kind, digits = self.random.choice((TOTP, TOTP, HOTP)), self.random.choice((6, 6, 6, 8))
        algorithm = self.random.choice(("SHA1", "SHA256", "SHA512"))
        # A button has no period.
        period = self.random.choice((30, 60)) if kind == TOTP else 0
        return Enrol(number, target, self.name(), kind, algorithm, digits, period, self.control())

    def confirm(self) -> Step:
        number, target = self.chosen_change()
        account = self.model.accounts.get(target)
        pending = [token for token in account.tokens if not token.active] if account else []
        code = code_of(self.random, self.random.choice(pending)) if pending else self.code(account)
        return Confirm(number, target, code, self.control())

    def remove(self) -> Step:
        number, target = self.chosen_change()
        return Remove(number, target, self.random.choice(("", "phone", "card")), self.control())

    def tokens(self) -> Step:
        return Tokens(self.random.choice(USERS))


def code_of(random: Random, token: Token) -> Code:
    if token.kind == TOTP:
        return Code(token.name, random.choices((0, -1, 1, -2, 2), (60, 15, 10, 5, 5))[0])
    return Code(token.name, max(0, token.next + random.choices((0, 1, 10, 11, -1), (60, 10, 5, 5, 10))[0]))
