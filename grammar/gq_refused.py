"""How code that does not have the text at hand says no: with offsets, to be turned into an error by whoever has it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import LanguageError, ParseError, TextLimitExceeded
from omnigraph_sql.grammar.lexical import too_long_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnigraph_sql.grammar.source import Source, Span


class Refused(Exception):
    """A sentence the grammar lets through and the language does not."""

    def __init__(
        self,
        message: str,
        span: Span,
        *,
        hint: str | None = None,
        expected: tuple[str, ...] = (),
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.span = message, span
        self.hint, self.expected, self.suggestion = hint, expected, suggestion

    def error(self, source: Source) -> LanguageError:
        """The error people see."""
        return ParseError(
            self.message,
            at=source.locate(self.span),
            hint=self.hint,
            expected=self.expected,
            suggestion=self.suggestion,
        )


class TooMany(Refused):
    """More items without commas than one list may have; those with commas are counted before parsing."""

    def __init__(self, what: str, items: int, span: Span) -> None:
        super().__init__(f"{items} {what} stand together, at most {limits.LIST_ITEMS_MAX} are compiled", span)
        self.items = items

    def error(self, source: Source) -> LanguageError:
        return TextLimitExceeded(
            self.message,
            at=source.locate(self.span),
            resource="list_items",
            limit=limits.LIST_ITEMS_MAX,
            actual=self.items,
            hint="split the text, or load the values with a load",
        )


class TooLong(Refused):
    """A name beyond what is stored."""

    def __init__(self, span: Span) -> None:
        super().__init__("a name is too long", span)

    def error(self, source: Source) -> LanguageError:
        return too_long_name(source, self.span)


def near(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant to be."""
    folded = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), list(folded), n=1, cutoff=0.7)
    return folded[close[0]] if close else None
