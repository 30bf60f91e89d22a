"""sqlglot's parser over tokens of our own, with errors that know their place."""

from __future__ import annotations

from typing import Final

from sqlglot.errors import ErrorLevel
from sqlglot.errors import ParseError as SqlglotError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import Token, TokenType

from omnigraph_sql.base.errors import LanguageError, NotSupported, ParseError
from omnigraph_sql.grammar.ast.sql import Placeholder
from omnigraph_sql.grammar.source import Source, Span
from omnigraph_sql.grammar.sql.mistakes import explain, shortened
from omnigraph_sql.grammar.sql.spans import span_of_token

T = TokenType
_QUOTED: Final = frozenset({T.STRING, T.IDENTIFIER})
_QUERIES: Final = frozenset({T.SELECT, T.WITH, T.FROM, T.VALUES, T.INSERT, T.UPDATE, T.DELETE, T.MERGE, T.L_PAREN})


class Refusal(SqlglotError):
    """A complaint of sqlglot's parser with the token it is about; None stands for the end of the statement."""

    def __init__(self, description: str, token: Token | None) -> None:
        super().__init__(description, errors=[{}])
        self.description = description
        self.token = token


class PlacedParser(DuckDBParser):
    """sqlglot's DuckDB parser over one statement; raises Refusal or LanguageError.

    sqlglot swallows a Refusal where it tries several readings; a LanguageError is final.
    """

    def begin(self, source: Source, tokens: list[Token], placeholders: dict[int, Placeholder]) -> None:
        """Stand in front of the first token of a statement."""
        self.reset()
        self.error_level = ErrorLevel.IMMEDIATE
        self.sql = source.text
        self.source = source
        self.placeholders = dict(placeholders)
        self._colons: list[int] = []
        self._chunks = [tokens]
        self._tokens = tokens
        self._tokens_size = len(tokens)
        self._index = -1
        self._advance()

    def raise_error(self, message: str, token: Token | None = None) -> None:
        raise Refusal(message, token or self._curr or None)

    def mistake(
        self,
        message: str,
        span: Span | None = None,
        hint: str | None = None,
        expected: tuple[str, ...] = (),
        suggestion: str | None = None,
    ) -> ParseError:
        """The text is wrong in a way we have words for."""
        at = self.source.locate(span or self.here())
        return ParseError(message, at=at, hint=hint, expected=expected, suggestion=suggestion)

    def missing(self, *expected: str, hint: str | None = None) -> ParseError:
        """One of these has to stand here and does not."""
        message = f"expected {' or '.join(expected)}, found {self.shown()}"
        return self.mistake(message, expected=expected, hint=hint)

    def unsupported(self, message: str, span: Span | None = None, hint: str | None = None) -> NotSupported:
        """The text is understood and not carried out."""
        return NotSupported(message, at=self.source.locate(span or self.here()), hint=hint)

    def explained(self, description: str, token: Token | None) -> LanguageError:
        """A complaint of sqlglot's in words of ours."""
        if token is None:
            end = self._tokens[-1].end + 1 if self._tokens else 0
            return explain(self.source, description, Span(end, end), None)
        at = next((i for i, other in enumerate(self._tokens) if other.start == token.start), 0)
        before = None
        if at and self._tokens[0].token_type in _QUERIES and self._tokens[at - 1].token_type not in _QUOTED:
            before = span_of_token(self._tokens[at - 1])
        return explain(self.source, description, span_of_token(token), before)

    def here(self) -> Span:
        """The next token, or the empty place behind the last one."""
        if self._curr:
            return span_of_token(self._curr)
        end = self._tokens[-1].end + 1
        return Span(end, end)

    def at(self, *kinds: TokenType) -> bool:
        """Whether the next token is of one of these kinds."""
        return self._curr.token_type in kinds

    def since(self, start: int) -> Span:
        """From `start` to the end of what was read last."""
        return Span(start, max(start, self._prev.end + 1 if self._prev else start))

    def shown(self) -> str:
        """The next token as errors show it."""
        if not self._curr:
            return "the end of the statement"
        return shortened(self.sql[self._curr.start : self._curr.end + 1])
