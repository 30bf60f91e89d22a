"""The shell in a real terminal: a process behind a pseudo-terminal that answers as terminals do."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pexpect
from pexpect.fdpexpect import fdspawn

SECONDS = 60
"""How long anything may take before a test gives up; machines that run tests are busy."""

_ASKS_FOR_CURSOR = "\x1b\\[6n"
_CURSOR_IS_HERE = "\x1b[1;1R"
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|[\r\x08]")
# The engine's libraries cannot be forked, so the child takes the terminal for itself after it was started anew.
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """What a person at the shell sees and types."""

    def __init__(
        self, graph: Path, home: Path, *options: str, lines: int = 40, columns: int = 100, colour: bool = False
    ) -> None:
        variables = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        variables |= {
            "OMNIGRAPH_CONFIG_DIR": str(home / "config"),
            "OMNIGRAPH_STATE_DIR": str(home / "state"),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PAGER": "cat",
            **({} if colour else {"NO_COLOR": "1"}),
        }
        self._ours, theirs = pty.openpty()
        self.resize(lines, columns)
        words = [sys.executable, "-m", "omnigraph_sql", str(graph), *options]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, *words],
            cwd=home,
            env=variables,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.child: Any = fdspawn(self._ours, encoding="utf-8", timeout=SECONDS)
        self.seen = ""

    def until(self, text: str) -> str:
        """Wait for a text (a regular expression); everything that came before and with it, without colours."""
        came = ""
        while self.child.expect([_ASKS_FOR_CURSOR, text]) == 0:
            came += self.child.before
            self.child.send(_CURSOR_IS_HERE)
        came += self.child.before + self.child.after
        self.seen = _COLOURS.sub("", came)
        return self.seen

    def prompt(self) -> str:
        """Wait for a prompt of an open graph; of one that was drawn before, only what changed is drawn."""
        return self.until(r"[\w/]\*?(?: \(read-only\))?> ")

    def rows(self) -> str:
        """Wait for the line below rows."""
        return self.until(r"\d+ rows?(?: \(\d+ shown\))? · [\d.]+ m?s\r+\n")

    def type(self, text: str) -> None:
        self.child.send(text)

    def enter(self, text: str) -> None:
        self.child.send(text + "\r")

    def ctrl(self, letter: str) -> None:
        self.child.send(chr(ord(letter.upper()) - ord("@")))

    def resize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def ended(self) -> int:
        """Wait for the end of the process; its exit code."""
        came = ""
        while self.child.expect([_ASKS_FOR_CURSOR, pexpect.EOF]) == 0:
            came += self.child.before
            self.child.send(_CURSOR_IS_HERE)
        self.seen = _COLOURS.sub("", came + self.child.before)
        return self._process.wait(SECONDS)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(SECONDS)
        os.close(self._ours)
