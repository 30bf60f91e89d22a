"""Mistakes that two tokens side by side give away, and that the parser would read past or report somewhere else."""

from __future__ import annotations

from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from omnigraph_sql.base.errors import ParseError
from omnigraph_sql.grammar.source import Source, Span
from omnigraph_sql.grammar.sql.spans import span_of_token

T = TokenType
# fmt: off
_NOTHING_YET: Final = frozenset({
    T.COMMA, T.L_PAREN, T.L_BRACKET, T.SELECT, T.WHERE, T.HAVING, T.AND, T.OR, T.ON, T.WHEN, T.THEN, T.GROUP_BY,
    T.ORDER_BY, T.QUALIFY,
})
_INFIX: Final = frozenset({T.EQ, T.NEQ, T.LTE, T.GTE, T.LT, T.GT, T.DPIPE, T.LIKE, T.ILIKE, T.BETWEEN})
_NOTHING_MORE: Final = frozenset({
    T.FROM, T.WHERE, T.GROUP_BY, T.HAVING, T.ORDER_BY, T.LIMIT, T.UNION, T.EXCEPT, T.INTERSECT, T.R_PAREN, T.QUALIFY,
    T.OFFSET,
})
_CLAUSES: Final = frozenset({T.FROM, T.WHERE, T.GROUP_BY, T.HAVING, T.ORDER_BY, T.LIMIT, T.UNION, T.JOIN})
_NAME_FOLLOWS: Final = frozenset({
    T.FROM, T.JOIN, T.INTO, T.UPDATE, T.USING, T.COMMA, T.L_PAREN, T.SELECT, T.WHERE, T.ON,
})
_LOOKED_AT: Final = frozenset({*_INFIX, *_NOTHING_MORE, *_CLAUSES, T.COMMA, T.STRING, T.DOT})
# fmt: on


def refuse_bad_neighbours(source: Source, tokens: list[Token]) -> None:
    """Raises ParseError for a hole in a list, an operator without its left side, an empty SELECT and the like."""
    before: Token | None = None
    for at, token in enumerate(tokens):
        kind = token.token_type
        if before is not None and kind in _LOOKED_AT:
            _look(source, tokens, at, before, token)
        before = token
    if before is not None and before.token_type is T.SELECT and not _is_name(tokens, len(tokens) - 1):
        end = before.end + 1
        raise _nothing_selected(source, Span(end, end))


def _look(source: Source, tokens: list[Token], at: int, before: Token, token: Token) -> None:
    kind, first = token.token_type, before.token_type
    if kind is T.DOT:
        if first in _NAME_FOLLOWS and not _is_name(tokens, at - 1):
            raise ParseError("a name is missing in front of the dot", at=source.locate(span_of_token(token)))
        return
    if first is T.DOT:
        if kind in _CLAUSES and token.start > before.end + 1:
            raise ParseError("a name is missing after the dot", at=source.locate(span_of_token(before)))
        return
    if kind is T.STRING and first is T.STRING:
        raise ParseError(
            "a comma or an operator is missing between two strings",
            at=source.locate(span_of_token(token)),
            expected=("','", "'||'"),
        )
    if first in _NOTHING_YET and not _is_name(tokens, at - 1) and (kind is T.COMMA or kind in _INFIX):
        raise ParseError(f"something is missing in front of '{token.text}'", at=source.locate(span_of_token(token)))
    if kind in _NOTHING_MORE and not _is_name(tokens, at):
        if first is T.SELECT or (first in (T.DISTINCT, T.ALL) and tokens[at - 2].token_type is T.SELECT):
            raise _nothing_selected(source, span_of_token(token))
        if first is T.OVER and at > 1 and tokens[at - 2].token_type is T.R_PAREN:
            raise ParseError(
                "OVER is followed by a window",
                at=source.locate(span_of_token(token)),
                expected=("'('", "the name of a window"),
                hint="write OVER (PARTITION BY … ORDER BY …)",
            )


def _is_name(tokens: list[Token], at: int) -> bool:
    """Whether a keyword stands where it can only be a name: behind a dot or behind AS."""
    return at > 0 and tokens[at - 1].token_type in (T.DOT, T.ALIAS)


def _nothing_selected(source: Source, span: Span) -> ParseError:
    return ParseError(
        "SELECT is followed by what to select",
        at=source.locate(span),
        expected=("a column", "an expression", "'*'"),
        hint="write SELECT * for all columns",
    )
