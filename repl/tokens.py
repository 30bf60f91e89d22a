"""Tokens of a text that is still being typed: nothing is refused, what was opened and not closed says so.

The parsers have lexers of their own, which stop at the first fault and are slow to load. This one serves what happens
between two keystrokes: telling whether a text is complete, what may come next, and how to colour it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from omnigraph_sql.grammar.language import Language


class Kind(Enum):
    WORD = auto()
    NAME = auto()
    """A name in double quotes (SQL)."""
    STRING = auto()
    NUMBER = auto()
    VARIABLE = auto()
    """`$name`: a parameter of SQL, a variable or a parameter of `.gq`."""
    MARK = auto()
    COMMENT = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text. `open` means that its end was not reached."""

    kind: Kind
    text: str
    start: int
    end: int
    open: bool = False

    @property
    def upper(self) -> str:
        return self.text.upper() if self.kind is Kind.WORD else self.text

    @property
    def name(self) -> str:
        """What a word or a quoted name names."""
        return self.text[1:].removesuffix('"').replace('""', '"') if self.kind is Kind.NAME else self.text

    @property
    def is_name(self) -> bool:
        return self.kind in (Kind.WORD, Kind.NAME)

    def is_word(self, *words: str) -> bool:
        return self.kind is Kind.WORD and self.upper in words

    def is_mark(self, *marks: str) -> bool:
        return self.kind is Kind.MARK and self.text in marks


_SQL: Final = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>--[^\n]*)
  | (?P<block>/\*)
  | (?P<string>[eEnNxX]?'(?:[^']|'')*(?P<string_end>')?)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<number>\d[\d_]*(?:\.(?!\.)[\d_]*)?(?:[eE][+-]?\d+)?)
  | (?P<name>"(?:[^"]|"")*(?P<name_end>")?)
  | (?P<dollar>\$(?:[^\W\d]\w*)?\$)
  | (?P<variable>\$\w*)
  | (?P<mark><->|->|=>|<=|>=|<>|!=|::|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)
_GQ: Final = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>//[^\n]*)
  | (?P<block>/\*)
  | (?P<string>"(?:[^"\\]|\\.)*(?P<string_end>")?)
  | (?P<word>[^\W\d]\w*)
  | (?P<number>\d+(?:\.\d+)?)
  | (?P<variable>\$\w*)
  | (?P<mark><=|>=|!=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS: Final = {
    "word": Kind.WORD,
    "number": Kind.NUMBER,
    "variable": Kind.VARIABLE,
    "mark": Kind.MARK,
    "comment": Kind.COMMENT,
    "string": Kind.STRING,
    "name": Kind.NAME,
}
_BLOCK_MARK: Final = re.compile(r"/\*|\*/")
_ESCAPED: Final = re.compile(r"[eE]'(?:[^'\\]|\\.|'')*(')?", re.DOTALL)


def tokens(text: str, language: Language) -> list[Token]:
    """Every token, comments included."""
    return list(_tokens(text, language))


def code(text: str, language: Language) -> list[Token]:
    """Every token that is no comment."""
    return [token for token in _tokens(text, language) if token.kind is not Kind.COMMENT]


def _tokens(text: str, language: Language) -> Iterator[Token]:
    pattern, at = _SQL if language == "sql" else _GQ, 0
    while (found := pattern.match(text, at)) is not None:
        kind, end = found.lastgroup or "mark", found.end()
        if kind == "block":
            end, closed = _block_end(text, at, nested=language == "sql")
            yield Token(Kind.COMMENT, text[at:end], at, end, not closed)
        elif kind == "dollar":
            close = text.find(found.group(), end)
            end = close + len(found.group()) if close >= 0 else len(text)
            yield Token(Kind.STRING, text[at:end], at, end, close < 0)
        elif kind == "string" and text[at] in "eE":
            escaped = _ESCAPED.match(text, at)
            assert escaped is not None
            end = escaped.end()
            yield Token(Kind.STRING, text[at:end], at, end, escaped[1] is None)
        elif kind != "space":
            still_open = kind in ("string", "name") and found[f"{kind}_end"] is None
            yield Token(_KINDS[kind], found.group(), at, end, still_open)
        at = end


def _block_end(text: str, at: int, *, nested: bool) -> tuple[int, bool]:
    depth, here = 1, at + 2
    while (mark := _BLOCK_MARK.search(text, here)) is not None:
        here = mark.end()
        if mark.group() == "*/":
            depth -= 1
        elif nested:
            depth += 1
        if not depth:
            return here, True
    return len(text), False


_OPENING: Final = {"(": ")", "[": "]", "{": "}"}
_CLOSING: Final = frozenset(_OPENING.values())


def depth(found: list[Token]) -> int:
    """Brackets that are open at the end; a closing one too many counts for nothing."""
    level = 0
    for token in found:
        if token.is_mark(*_OPENING):
            level += 1
        elif token.is_mark(*_CLOSING):
            level = max(0, level - 1)
    return level


def paths(found: list[Token]) -> list[tuple[int, ...]]:
    """For every token, and for the place behind the last, the places of the brackets that are open around it."""
    around: tuple[int, ...] = ()
    answer: list[tuple[int, ...]] = []
    for place, token in enumerate(found):
        if token.is_mark(*_CLOSING):
            around = around[:-1]
        answer.append(around)
        if token.is_mark(*_OPENING):
            around = (*around, place)
    return [*answer, around]
