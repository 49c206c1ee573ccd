"""What systemd does for a service, as far as tests need it: variables, sockets that are handed over, and the socket at
which the service says that it is ready.

Knows the protocols sd_notify(3) and sd_listen_fds(3); knows nothing of LDAP.
"""

import os
import signal
import socket
import subprocess
from pathlib import Path

from pando_server import PATIENCE_SECONDS

# Sets the process id, which is known only in the new process, and moves the sockets to where the service looks.
START = 'export LISTEN_PID=$$; exec "$@"'
FIRST_HANDED = 3


class Service:
    """A running service, ended by its own process id."""

    def __init__(self, command, folder: Path, environment=None, handed=()):
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.settimeout(PATIENCE_SECONDS)
        (folder / "notify").unlink(missing_ok=True)
        self.notices.bind(str(folder / "notify"))
        os.chmod(folder / "notify", 0o777)
        own = {name: value for name, value in os.environ.items() if not name.startswith("PANDO_")}
        own |= {"NOTIFY_SOCKET": str(folder / "notify"), **(environment or {})}
        given = [it.fileno() for it in handed]
        # The files of the process begin with the three that each has; the handed ones follow in their order.
        moves = "".join(f" {FIRST_HANDED + place}<&{number}" for place, number in enumerate(given))
        if handed:
            own["LISTEN_FDS"] = str(len(given))
        assert all(number >= FIRST_HANDED + len(given) for number in given), "a socket lies where another shall be"
        script = START + moves if given else 'exec "$@"'
        self.output = (folder / "output").open("w+")
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", *map(str, command)],
            env=own,
            pass_fds=given,
            stdout=self.output,
            stderr=subprocess.STDOUT,
        )

    def said(self) -> str:
        self.output.seek(0)
        return self.output.read()

    def notice(self) -> str:
        """What the service says next."""
        return self.notices.recv(4096).decode().strip()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=PATIENCE_SECONDS)
        finally:
            self.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=PATIENCE_SECONDS)
        self.close()

    def close(self) -> None:
        self.notices.close()
        self.output.close()
