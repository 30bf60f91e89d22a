"""Which of the two languages a text is in, told before any parser is loaded."""

from __future__ import annotations

import re
from typing import Final, Literal

Language = Literal["gq", "sql"]

_BLANKS: Final = re.compile(r"(?:\s+|--[^\n]*|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD: Final = re.compile(r"\w+|\S")
_WORDS_LOOKED_AT: Final = 4


def language_of(text: str) -> Language:
    """The language a text is meant to be in, told by its first words; comments of both languages are skipped.

    Both languages have inserts, updates and deletes; `.gq` writes those words in lower case only.
    """
    words = _first_words(text)
    if words and words[0] in ("INSERT", "UPDATE", "DELETE"):
        return "sql"
    match [word.casefold() for word in words]:
        case ["query" | "match", *_]:
            return "gq"
        case ["insert", "into" | "or" | "overwrite", *_]:
            return "sql"
        case ["insert", _, "{", *_]:
            return "gq"
        case ["update", _, "{", *_] | ["update", _, "set", "{"]:
            return "gq"
        case ["delete", word, *_] if word != "from":
            return "gq"
        case _:
            return "sql"


def _first_words(text: str) -> list[str]:
    words: list[str] = []
    at = 0
    while len(words) < _WORDS_LOOKED_AT:
        skipped = _BLANKS.match(text, at)
        found = _WORD.match(text, skipped.end() if skipped is not None else at)
        if found is None:
            break
        words.append(found.group())
        at = found.end()
    return words
