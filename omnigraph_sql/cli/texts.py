"""Texts the user names: files, standard input and arguments."""

from __future__ import annotations

import codecs
import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph_sql.base.errors import Location, ParseError
from omnigraph_sql.cli.interrupts import read_all, read_file

if TYPE_CHECKING:
    from omnigraph_sql.base.catalog import Catalog

STDIN = "-"


class Unreadable(click.ClickException):
    """A file the user named that cannot be read: the command was called wrongly."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def missing_file(path: str) -> Unreadable:
    """A file that is not there, with the name of one that is called almost so."""
    near = near_path(path)
    return Unreadable(
        f"there is no file '{path}'", hint=f"did you mean '{near}'?" if near else f"looked in {_folder(path)}"
    )


def near_path(path: str) -> str | None:
    """What lies in the same folder under almost the same name."""
    given = Path(path)
    try:
        names = [place.name for place in given.parent.iterdir()]
    except OSError:
        return None
    close = difflib.get_close_matches(given.name, names, 1)
    return str(given.with_name(close[0])) if close else None


def _folder(path: str) -> str:
    return str(Path(path).parent.absolute())


def read_bytes(path: str) -> bytes:
    """The content of a file, or of standard input for `-`. Raises Unreadable."""
    if path == STDIN:
        return _standard_input()
    try:
        return read_file(path)
    except FileNotFoundError:
        raise missing_file(path) from None
    except IsADirectoryError:
        raise Unreadable(f"'{path}' is a directory; name a file in it") from None
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or str(failure)
        raise Unreadable(f"'{path}' cannot be read: {reason.lower()}") from None


def _standard_input() -> bytes:
    if sys.stdin is None:
        return b""
    try:
        number = sys.stdin.fileno()
    except OSError:  # no file of the system stands behind it
        return sys.stdin.buffer.read()
    return read_all(number)


def shown_name(path: str) -> str:
    """What messages call the text read from `path`."""
    return "<stdin>" if path == STDIN else path


def decoded(data: bytes, name: str) -> str:
    """UTF-8 as text, without the mark some editors put in front. Raises ParseError at the first byte that is not."""
    body = data.removeprefix(codecs.BOM_UTF8)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as failure:
        raise ParseError(
            f"the text is not UTF-8: no character begins with the byte 0x{body[failure.start]:02x} here",
            at=_place(body, failure.start, name),
            hint="save the text as UTF-8",
        ) from None


def _place(data: bytes, at: int, name: str) -> Location:
    before = data[:at].decode("utf-8")
    rest = data[at:].partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")
    first = before.rpartition("\n")[2]
    start = len(before)
    return Location(name, before.count("\n") + 1, len(first) + 1, start, start + 1, at, at + 1, first + rest)


def read_text(path: str) -> str:
    """Raises Unreadable, or ParseError when the content is not UTF-8."""
    return decoded(read_bytes(path), shown_name(path))


def argument_text(text: str) -> str:
    """A text given as an argument; the bytes of the command line must have been UTF-8 too."""
    return decoded(text.encode("utf-8", "surrogateescape"), "<argument>")


def read_schema(path: str) -> Catalog:
    """The catalog a `.pg` file declares. Raises Unreadable, or LanguageError with the place of the fault."""
    text = read_text(path)
    from omnigraph_sql.bind.schema import compile_schema

    return compile_schema(text, name=shown_name(path)).catalog
