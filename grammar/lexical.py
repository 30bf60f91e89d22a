"""What the languages share below their grammars: strings, comments, and ceilings checked on raw text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ParseError, TextLimitExceeded
from omnigraph_sql.grammar.source import Source, Span

_ESCAPES: Final = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPED: Final = {value: f"\\{letter}" for letter, value in _ESCAPES.items()}

# Strings and comments are matched only to be stepped over: a bracket inside them opens nothing.
_MARKS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[(\[{}\]),]', re.DOTALL)
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")


def decode_string(literal: str, span: Span, source: Source) -> str:
    """The value of a quoted literal standing at `span`; an escape the languages do not have is a ParseError."""
    body = literal[1:-1]
    if "\\" not in body:
        return body
    parts: list[str] = []
    at = 0
    while (slash := body.find("\\", at)) >= 0:
        letter = body[slash + 1]
        if letter not in _ESCAPES:
            here = span.start + 1 + slash
            raise ParseError(
                f"unknown escape '\\{letter}' in a string",
                at=source.locate(Span(here, here + 2)),
                expected=('\\"', "\\\\", "\\n", "\\r", "\\t"),
                hint="write '\\\\' for a backslash, as a regular expression often needs it",
            )
        parts += (body[at:slash], _ESCAPES[letter])
        at = slash + 2
    return "".join((*parts, body[at:]))


def encode_string(value: str) -> str:
    """A literal that `decode_string` turns back into `value`."""
    return '"' + "".join(_ESCAPED.get(char, char) for char in value) + '"'


def refuse_if_unreasonable(source: Source) -> None:
    """Hold a text against the ceilings on length, nesting and list length before a parser spends time on it."""
    source.refuse_if_too_long()
    commas: list[int] = []
    for mark in _MARKS.finditer(source.text):
        text = mark.group()
        if text in _OPENING:
            commas.append(0)
            if len(commas) > limits.NESTING_LEVELS_MAX:
                raise _too_deep(source, mark.start(), len(commas))
        elif text in _CLOSING:
            if commas:
                commas.pop()
        elif text == "," and commas:
            commas[-1] += 1
            # k commas separate k + 1 items; a trailing comma is counted too, which only errs on the safe side
            if commas[-1] >= limits.LIST_ITEMS_MAX:
                raise _too_long_list(source, mark.start(), commas[-1] + 1)


@contextmanager
def shallow(source: Source) -> Iterator[None]:
    """Turn a RecursionError of the code within into TextLimitExceeded; the check on the text should have come first."""
    try:
        yield
    except RecursionError:
        raise _too_deep(source, 0, limits.NESTING_LEVELS_MAX + 1) from None


def too_long_name(source: Source, span: Span, what: str = "a name") -> TextLimitExceeded:
    """A name, or a number, beyond what is stored."""
    return TextLimitExceeded(
        f"{what} has at most {limits.IDENTIFIER_CHARACTERS_MAX} characters",
        at=source.locate(span),
        resource="identifier_characters",
        limit=limits.IDENTIFIER_CHARACTERS_MAX,
        actual=span.end - span.start,
        hint="write a shorter one",
    )


def too_many_joins(source: Source, span: Span, joins: int) -> TextLimitExceeded:
    """More tables in one FROM clause, or nodes or edges in one pattern, than are planned together."""
    return TextLimitExceeded(
        f"{joins} joins stand together, at most {limits.JOINS_MAX} are compiled",
        at=source.locate(span),
        resource="joins",
        limit=limits.JOINS_MAX,
        actual=joins,
        hint="ask in steps and keep what lies between in tables",
    )


def _too_deep(source: Source, at: int, levels: int) -> TextLimitExceeded:
    return TextLimitExceeded(
        f"the text nests {levels} levels deep, at most {limits.NESTING_LEVELS_MAX} are compiled",
        at=source.locate(Span(at, at + 1)),
        resource="nesting_levels",
        limit=limits.NESTING_LEVELS_MAX,
        actual=levels,
        hint="close brackets earlier, or split the text",
    )


def _too_long_list(source: Source, at: int, items: int) -> TextLimitExceeded:
    return TextLimitExceeded(
        f"a list has {items} items or more, at most {limits.LIST_ITEMS_MAX} are compiled",
        at=source.locate(Span(at, at + 1)),
        resource="list_items",
        limit=limits.LIST_ITEMS_MAX,
        actual=items,
        hint="pass the list as a parameter, or load the values with a load",
    )
