"""Ctrl-C while a command waits for its input: every press counts, whenever it comes.

A signal that arrives after the interpreter looked for one and before it waits in a read is noticed only when the read
ends, which may be never; one that is raised inside a clean-up of the interpreter is dropped by it. So the wait is for
the input and for signals at once, and a press is remembered besides being raised.
"""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select
from types import FrameType
from typing import Final

_CHUNK_BYTES: Final = 1 << 16
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_pressed = threading.Event()
_heard: list[int] = []
"""The end of a pipe that can be read once a signal came, from when the command listens."""


def listen() -> None:
    """Remember presses from now on. Whoever handles them otherwise, or ignores them, is left alone."""
    main = threading.current_thread() is threading.main_thread()
    if not main or _heard or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    _heard.append(reading)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _on_press)


def _on_press(number: int, frame: FrameType | None) -> None:
    _pressed.set()
    signal.default_int_handler(number, frame)


def check() -> None:
    """Raises KeyboardInterrupt when Ctrl-C was pressed and the exception went astray."""
    if _pressed.is_set():
        raise KeyboardInterrupt


@contextmanager
def cleaned_up(clean: Callable[[], None]) -> Iterator[None]:
    """Call `clean` when the block ends, whatever ends it.

    The first Ctrl-C or request to end (SIGTERM, SIGHUP) raises KeyboardInterrupt; further ones have no effect until
    everything is clean. What was ignored before is still ignored.
    """
    main = threading.current_thread() is threading.main_thread()
    former = {number: signal.getsignal(number) for number in _ENDING} if main else {}
    heard = [number for number, handler in former.items() if handler not in (signal.SIG_IGN, None)]

    def once(number: int, frame: FrameType | None) -> None:
        for one in heard:
            signal.signal(one, signal.SIG_IGN)
        _pressed.set()
        signal.default_int_handler(number, frame)

    try:
        for number in heard:
            signal.signal(number, once)
        yield
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_IGN)
        try:
            clean()
        finally:
            for number in heard:
                signal.signal(number, former[number])


def read_file(path: str) -> bytes:
    """The whole of a file; of a pipe, until it is closed. Raises OSError."""
    # Opening a pipe waits for its other end; put off, that wait is one of those that signals end.
    waits = stat.S_ISFIFO(Path(path).stat().st_mode)
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (os.O_NONBLOCK if waits else 0))
    try:
        return read_all(number)
    finally:
        os.close(number)


def read_all(number: int) -> bytes:
    """What comes from an open file until its end; Ctrl-C ends the wait."""
    found = bytearray()
    while True:
        check()
        ready, _, _ = select([number, *_heard], [], [])
        if number not in ready:
            _drain()
            continue
        with suppress(BlockingIOError):
            chunk = os.read(number, _CHUNK_BYTES)
            if not chunk:
                return bytes(found)
            found += chunk


def _drain() -> None:
    """Other signals than Ctrl-C wake the wait too, and it goes on."""
    with suppress(BlockingIOError):
        os.read(_heard[0], _CHUNK_BYTES)
