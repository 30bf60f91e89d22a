"""Where data goes: standard output, or a file that appears when it is complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from omnigraph_sql.base.errors import StorageError
from omnigraph_sql.cli.terminal import say
from omnigraph_sql.cli.texts import STDIN, Unreadable

Sink = Callable[[str], None]
"""Takes a piece of text; a line break follows it."""


@contextmanager
def output(path: str | None) -> Iterator[Sink]:
    """A sink for data. A file is written beside its place and moved there at the end; on failure nothing is left.

    Raises Unreadable when the file cannot be made, StorageError when it cannot be written.
    """
    if path is None or path == STDIN:
        yield say
        return
    goal = Path(path)
    part = goal.with_name(f".{goal.name}.{os.getpid()}.part")
    try:
        stream = part.open("w", encoding="utf-8", newline="\n")
    except OSError as failure:
        reason = (failure.strerror or str(failure)).lower()
        raise Unreadable(f"'{path}' cannot be written: {reason}") from None
    try:
        with stream:
            yield lambda piece: _put(stream, piece, path)
            with _failing(path):
                stream.flush()
        with _failing(path):
            part.replace(goal)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _put(stream: IO[str], piece: str, path: str) -> None:
    with _failing(path):
        stream.write(f"{piece}\n")


@contextmanager
def _failing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        reason = (failure.strerror or str(failure)).lower()
        raise StorageError(f"'{path}' cannot be written: {reason}", kind="unknown") from None
