"""Pando with policies that are entries of the class pwdPolicy, which accounts name.

Knows how the policies are written; what is right is as in the model.
"""

from pando_server import BASE

from account_model.account import Account
from account_model.control import ACCOUNT_USABILITY, STATE_OPERATION
from account_model.model import NO_SUCH_OBJECT, Model, Reply
from account_model.policy import Policy
from account_model.random_history import Maker
from account_model.server import REPLACED, SUCCESS, Server
from account_model.slapd import ATTRIBUTES
from account_model.steps import Search


class PandoServer(Server):
    # First warnings and last logins are written together with those of others, and no bind waits for that.
    patience_seconds = 2.0
    tick_seconds = 1

    def policy_dn(self, name: str) -> str:
        return f"cn={name},{BASE}"

    def set_policy(self, name: str, before: Policy | None, after: Policy) -> int:
        """The default is that of the configuration, which stays as it is."""
        if name == "default":
            self.policies[name] = after
            return SUCCESS
        if before is None:
            attributes = {"objectClass": ["top", "device", "pwdPolicy"], "cn": [name]}
            self.done(self.root.add(self.policy_dn(name), attributes | {"pwdAttribute": ["userPassword"]}))
            before = Policy()
        changes = []
        for one in after.differs_from(before):
            value = getattr(after, one)
            written = str(value).upper() if isinstance(value, bool) else str(value)
            changes.append((REPLACED, ATTRIBUTES[one], [written]))
        if changes:
            code = self.root.modify(self.policy_dn(name), changes).code
            if code != SUCCESS:
                return code
        self.policies[name] = after
        return SUCCESS

    def in_form(self, held: dict[str, list[str]]) -> dict:
        return without_schemes(super().in_form(held))


def without_schemes(state: dict) -> dict:
    return state | {"userPassword": sorted(clear for _, clear in state["userPassword"])}


class PandoModel(Model):
    def run_search(self, step: Search) -> Reply:
        """Who may see nothing of an entry is told that there is none."""
        if not self.sessions[step.connection].ended and self.sessions[step.connection].name is None:
            return Reply(NO_SUCH_OBJECT)
        return super().run_search(step)

    @staticmethod
    def shown(account: Account) -> dict:
        return without_schemes(account.shown())


def maker_for(server: PandoServer) -> type[Maker]:
    """Asks for what such policies can say, and for what the server announces."""
    root = server.root.search("", attributes=["supportedControl", "supportedExtension"]).entries[0]
    announced = {value.decode() for values in root.attributes.values() for value in values}

    class PandoMaker(Maker):
        properties = frozenset(ATTRIBUTES) - {"idle_lockout_interval"}
        tick_seconds = PandoServer.tick_seconds

        def kinds(self):
            needs = {self.usability: ACCOUNT_USABILITY, self.state: STATE_OPERATION}
            kinds = super().kinds()
            return {make: weight for make, weight in kinds.items() if needs.get(make) in {None, *announced}}

    return PandoMaker
