"""What the rounds of kill -9 have in common: threads that load the server until it is gone.

Knows connections; knows nothing of what is written.
"""

import random
import threading

import ldap
from pando_server import Pando


class Load(threading.Thread):
    """Does steps until the server is gone."""

    def __init__(self, name: str, server: Pando, seed: float):
        super().__init__(daemon=True)
        self.label, self.server, self.random = name, server, random.Random(seed)
        # name → the state that the update in flight would make
        self.in_flight: dict = {}
        self.done = 0
        self.failure: str | None = None

    def run(self):
        try:
            con = self.server.connect()
            while True:
                self.step(con)
        except (ldap.SERVER_DOWN, ldap.CONNECT_ERROR, ldap.TIMEOUT, ldap.UNAVAILABLE):
            pass
        except Exception as e:
            self.failure = f"{self.label}: {type(e).__name__} {e} for {self.in_flight}"
