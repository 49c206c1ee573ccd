"""A tool that runs at a terminal of its own, to see what it shows and to answer what it asks."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from pando_server import binary

PATIENCE_SECONDS = 60


class Terminal:
    """A tool that runs at a terminal of its own."""

    def __init__(self, folder, *arguments, columns=80, notes=True, **environment):
        self.end, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm", **environment}
        environment.pop("PANDO_HOME", None)
        self.process = subprocess.Popen(
            [binary(), *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave if notes else subprocess.DEVNULL,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)
        self.text = ""

    def read(self) -> bool:
        """Reads what there is; False at the end."""
        if not select.select([self.end], [], [], 0.2)[0]:
            return True
        try:
            piece = os.read(self.end, 65536)
        except OSError:
            return False
        self.text += piece.decode().replace("\r\n", "\n")
        return bool(piece)

    def until(self, text: str):
        """Waits until the tool has printed this after what was waited for before."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.text:
            assert self.read() and time.monotonic() < deadline, f"{text!r} is not in {self.text!r}"
        self.text = self.text.split(text, 1)[1]
        return self

    def answer(self, text: str):
        os.write(self.end, text.encode())
        return self

    def status(self) -> int:
        while self.read():
            pass
        os.close(self.end)
        return self.process.wait(PATIENCE_SECONDS)

    def choose(self, words: str):
        """Answers a menu with the number that stands before these words."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := re.search(rf"(\d+)\) +{re.escape(words)}(?=\n|  )", self.text)):
            assert self.read() and time.monotonic() < deadline, f"{words!r} is not in {self.text!r}"
        self.text = self.text[found.end() :]
        return self.until("Enter choice").until(": ").answer(f"{found.group(1)}\n")
