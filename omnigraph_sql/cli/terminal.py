"""Writing to the two streams: encodings that lack a character, pipes that close, colours where they are wanted."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Mapping
from typing import IO, Final

import click

from omnigraph_sql.base.errors import OmniError, StorageError

_HEAD: Final = re.compile(r"^(?P<severity>error|warning)(?P<code>\[[^\]\n]*\])?(?=:)", re.MULTILINE)
_CARETS: Final = re.compile(r"^(?P<gutter> +\| \s*)(?P<carets>\^+)$", re.MULTILINE)
_COLOURS: Final = {"error": "red", "warning": "yellow"}


def prepare() -> None:
    """Show characters the encoding of stdout lacks as escapes, as stderr does by itself."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Data, to stdout. When nobody reads it any more the rest is dropped; the exit code stays true."""
    _write(text, sys.stdout)


def tell(text: str) -> None:
    """Talk, to stderr."""
    _write(text, sys.stderr)


def say_json(value: object) -> None:
    say(json.dumps(value, ensure_ascii=False, indent=2))


def tell_error(error: OmniError, *, as_json: bool = False) -> None:
    """An error, to stderr: drawn for people, or as values for programs."""
    tell(json.dumps(error.to_dict(), ensure_ascii=False, indent=2) if as_json else error.report())


def _write(text: str, stream: IO[str] | None) -> None:
    if stream is None:  # started with the stream closed
        return
    try:
        click.echo(painted(text) if wants_colour(stream, os.environ) else text, file=stream, color=True)
    except BrokenPipeError:
        _mute(stream)
    except OSError as failure:
        _mute(stream)
        if stream is sys.stdout:
            reason = (failure.strerror or str(failure)).lower()
            raise StorageError(f"the output cannot be written: {reason}", kind="unknown") from None


def is_heard() -> bool:
    """Whether somebody may still read standard output."""
    return sys.stdout not in _UNHEARD


_UNHEARD: Final[list[IO[str]]] = []


def _mute(stream: IO[str]) -> None:
    """Send the rest nowhere. The interpreter flushes once more at exit, and would complain then."""
    _UNHEARD.append(stream)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def wants_colour(stream: IO[str], environment: Mapping[str, str]) -> bool:
    """Only a terminal that knows colours gets them, and only while NO_COLOR is unset or empty."""
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def painted(text: str) -> str:
    """The drawing of an error or a warning with its word and its carets coloured; other text as it is."""
    heads = list(_HEAD.finditer(text))
    if not heads:
        return text
    colour = _COLOURS[heads[0]["severity"]]
    shown = _HEAD.sub(lambda head: click.style(head.group(), fg=_COLOURS[head["severity"]], bold=True), text)
    return _CARETS.sub(lambda line: line["gutter"] + click.style(line["carets"], fg=colour, bold=True), shown)
