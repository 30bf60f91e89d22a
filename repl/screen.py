"""The terminal as a place to write to: its size, its colours, a line that comes and goes, and the pager."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Final

from omnigraph_sql.repl.render import cut, width

_ERASE: Final = "\r\x1b[K"
_LESS: Final = ("less", "-SRXF")


class Screen:
    """Where results and talk go. `interactive` is False when nobody looks: then nothing is paged and nothing moves."""

    def __init__(self, stream: IO[str], *, interactive: bool, colour: bool, environment: Mapping[str, str]) -> None:
        self._stream, self.interactive, self.colour = stream, interactive, colour
        self._environment = environment
        self._line = ""

    @property
    def columns(self) -> int:
        return self._size().columns

    @property
    def lines(self) -> int:
        return self._size().lines

    def _size(self) -> os.terminal_size:
        with suppress(OSError, ValueError, AttributeError):
            found = os.get_terminal_size(self._stream.fileno())
            if found.columns and found.lines:
                return found
        return shutil.get_terminal_size()

    def write(self, text: str) -> None:
        """A text and a line break."""
        self.clear_line()
        self._stream.write(text + "\n")
        self._stream.flush()

    def show_line(self, text: str) -> None:
        """A line that the next one replaces; nothing where nothing may move."""
        if self.interactive and text != self._line:
            self._stream.write(_ERASE + cut(text, max(self.columns - 1, 1)))
            self._stream.flush()
            self._line = text

    def clear_line(self) -> None:
        if self._line:
            self._stream.write(_ERASE)
            self._stream.flush()
            self._line = ""

    def page(self, pieces: Iterable[str], when: str, command: str) -> None:
        """Texts, through the pager when that is wanted: `auto` means when they are taller than the screen."""
        if when == "off" or not self.interactive:
            for piece in pieces:
                self.write(piece)
            return
        waiting = iter(pieces)
        held: list[str] = []
        if when == "auto":
            for piece in waiting:
                held.append(piece)
                if self._height(held) >= self.lines:
                    break
            else:
                for piece in held:
                    self.write(piece)
                return
        self._piped(_chained(held, waiting), command)

    def _height(self, pieces: list[str]) -> int:
        room = self.columns
        return sum(max(1, -(-_visible(line) // room)) for piece in pieces for line in piece.split("\n"))

    def _piped(self, pieces: Iterable[str], command: str) -> None:
        words = shlex.split(command or self._environment.get("PAGER", "")) or list(_LESS)
        try:
            pager = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=self._stream, text=True, encoding="utf-8")
        except OSError:
            for piece in pieces:
                self.write(piece)
            return
        assert pager.stdin is not None
        # Whoever leaves the pager early has seen enough.
        with suppress(BrokenPipeError), pager.stdin as sink:
            for piece in pieces:
                sink.write(piece + "\n")
        _ended(pager)


def _ended(pager: subprocess.Popen[str]) -> None:
    while True:
        try:
            pager.wait()
            return
        except KeyboardInterrupt:  # meant for the pager, which takes it as it likes
            continue


def _chained(first: list[str], rest: Iterator[str]) -> Iterator[str]:
    yield from first
    yield from rest


def _visible(line: str) -> int:
    """The width of a line without its colours."""
    if "\x1b" not in line:
        return width(line)
    shown, inside = [], False
    for character in line:
        if character == "\x1b":
            inside = True
        elif not inside:
            shown.append(character)
        elif character == "m":
            inside = False
    return width("".join(shown))


@contextmanager
def standard_screen(environment: Mapping[str, str], *, colour: bool) -> Iterator[Screen]:
    """The screen of this process."""
    screen = Screen(sys.stdout, interactive=sys.stdout.isatty(), colour=colour, environment=environment)
    try:
        yield screen
    finally:
        screen.clear_line()
