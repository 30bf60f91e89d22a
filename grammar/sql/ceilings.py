"""Ceilings on the shape of a text, counted token by token, so that nothing behind them can be made to run away.

sqlglot's parser recurses and so do walkers over its trees: what decides their depth is bounded here. A level is an open
bracket or an open CASE; operators are counted between commas, clause keywords, AND and OR, the latter two between
commas and clause keywords, set operations over a whole level, joins between set operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from omnigraph_sql.base import limits
from omnigraph_sql.base.errors import ParseError, TextLimitExceeded
from omnigraph_sql.grammar.lexical import too_many_joins
from omnigraph_sql.grammar.source import Source, Span
from omnigraph_sql.grammar.sql.mistakes import never_closed

T = TokenType
_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}
_OPENERS: Final = {T.L_PAREN: "(", T.L_BRACKET: "[", T.L_BRACE: "{"}
_CLOSING: Final = {T.R_PAREN: ")", T.R_BRACKET: "]", T.R_BRACE: "}"}
_PREFIXES: Final = frozenset({T.NOT, T.DASH, T.PLUS, T.TILDE, T.PARAMETER})
# fmt: off
_BINARY: Final = frozenset({
    T.DASH, T.PLUS, T.STAR, T.SLASH, T.DIV, T.MOD, T.DSTAR, T.CARET, T.DPIPE, T.AMP, T.PIPE, T.TILDE, T.LT, T.GT, T.LTE,
    T.GTE, T.EQ, T.NEQ, T.NULLSAFE_EQ, T.XOR, T.LIKE, T.ILIKE, T.GLOB, T.SIMILAR_TO, T.RLIKE, T.IS, T.IN,
    T.BETWEEN, T.COLLATE, T.DCOLON, T.DOT, T.ARROW, T.DARROW, T.LR_ARROW, T.AT_GT, T.LT_AT, T.DAMP, T.CARET_AT, T.COLON,
    T.COLON_EQ, T.ISNULL, T.NOTNULL, T.ESCAPE, T.OPERATOR, T.L_BRACKET,
})
_LOGICAL: Final = frozenset({T.AND, T.OR})
_LINKS: Final = frozenset({T.UNION, T.EXCEPT, T.INTERSECT, T.JOIN})
_SET_OPERATIONS: Final = _LINKS - {T.JOIN}
_CLAUSES: Final = frozenset({
    T.SELECT, T.FROM, T.WHERE, T.GROUP_BY, T.HAVING, T.ORDER_BY, T.VALUES, T.SET, T.LIMIT, T.QUALIFY, T.WHEN, T.THEN,
    T.ELSE, T.ON, T.USING, T.WITH, T.RETURNING,
})
_IN_CASE: Final = frozenset({T.THEN, T.ELSE})
_IN_FROM: Final = frozenset({T.ON, T.USING, T.WITH})
# fmt: on
_COUNTED: Final = frozenset(
    {*_OPENERS, *_CLOSING, *_PREFIXES, *_BINARY, *_LOGICAL, *_LINKS, *_CLAUSES, T.COMMA, T.CASE, T.END}
)
_QUOTED: Final = frozenset({T.STRING, T.IDENTIFIER})
# Behind these an operator has its left side already.
_OPERANDS: Final = frozenset({*_CLOSING, T.END, T.VAR, T.NUMBER, T.PLACEHOLDER, T.NULL, T.TRUE, T.FALSE})


@dataclass(slots=True)
class _Level:
    opener: str
    at: int
    operators: int = 0
    conditions: int = 0
    links: int = 0
    joins: int = 0
    items: int = 0
    in_values: bool = False
    in_from: bool = False


class Ceilings:
    """Counters of one text; `count` may raise TextLimitExceeded, or ParseError for a stray bracket."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._levels = [_Level("", 0)]
        self._prefixes = 0
        self._after_operand = False
        self._last = T.SEMICOLON
        self._edge: int | None = None

    def comment(self, at: int) -> None:
        """A comment starts here; remember it when it looks like the edge of a pattern, `(a)--(b)` or `(a)-->(b)`."""
        text = self._source.text
        if self._edge is None and at and text[at - 1] in ")<" and text[at + 2 : at + 3] in ("(", ">", "["):
            self._edge = at

    def count(self, tokens: list[Token]) -> None:
        """The next tokens of the statement, all of them or some."""
        last, after_operand, prefixes = self._last, self._after_operand, self._prefixes
        for token in tokens:
            kind = token.token_type
            if kind in _QUOTED:
                after_operand, prefixes, last = True, 0, T.STRING
                continue
            if kind not in _COUNTED or (last is T.DOT and kind not in _OPENERS and kind not in _CLOSING):
                after_operand, prefixes = kind in _OPERANDS or last is T.DOT, 0
                last = T.VAR if last is T.DOT else kind
                continue
            if kind not in _PREFIXES or after_operand:
                prefixes = 0
            elif token.text != "$":
                # `@ x` and the mark of `$x` are of one kind
                prefixes += 1
                self._check_prefixes(prefixes, token.start)
            after_operand = kind in _OPERANDS
            # IS DISTINCT FROM is an operator; its IS is counted
            if kind is not T.FROM or last is not T.DISTINCT:
                self._count_in(self._levels[-1], kind, token)
            last = kind
        self._last, self._after_operand, self._prefixes = last, after_operand, prefixes

    def _count_in(self, level: _Level, kind: TokenType, token: Token) -> None:
        if kind in _LOGICAL:
            level.operators, level.conditions = 0, level.conditions + 1
            if level.conditions > limits.OPERATOR_CHAIN_LINKS_MAX:
                raise self._chain(token.start, level.conditions)
        elif kind in _BINARY:
            level.operators += 1
            if level.operators > limits.OPERATOR_CHAIN_LINKS_MAX:
                raise self._chain(token.start, level.operators)
        if kind in _OPENERS:
            self._open(_OPENERS[kind], token.start)
        elif kind in _CLOSING:
            self._close(_CLOSING[kind], token.start)
        elif kind is T.COMMA or kind is T.WHEN:
            self._item(level, token.start)
        elif kind in _CLAUSES:
            level.operators = level.conditions = 0
            if kind not in _IN_CASE:
                level.items = 0
            level.in_values = kind is T.VALUES
            level.in_from = kind is T.FROM or (level.in_from and kind in _IN_FROM)
        elif kind in _LINKS:
            level.operators = level.conditions = level.items = 0
            if kind in _SET_OPERATIONS:
                self._link(level, token.start)
            else:
                self._join(level, token.start)
        elif kind is T.CASE:
            self._open("CASE", token.start)
            # a comma stands between two items, a WHEN in front of each
            self._levels[-1].items = -1
        elif kind is T.END and level.opener == "CASE":
            self._levels.pop()

    def _check_prefixes(self, prefixes: int, at: int) -> None:
        if prefixes > limits.PREFIX_OPERATORS_MAX:
            raise self._excess(
                at,
                f"more than {limits.PREFIX_OPERATORS_MAX} operators stand in front of one operand",
                "prefix_operators",
                limits.PREFIX_OPERATORS_MAX,
                prefixes,
                "leave out those that cancel each other",
            )

    def end_of_statement(self, statements: int) -> None:
        """A semicolon or the end of the text was reached, with this many statements so far."""
        for level in self._levels[1:]:
            raise never_closed(self._source, level.opener, level.at, self._edge)
        self._levels = [_Level("", 0)]
        self._prefixes, self._after_operand, self._last = 0, False, T.SEMICOLON
        if statements > limits.SCRIPT_STATEMENTS_MAX:
            raise self._excess(
                len(self._source.text),
                f"a script has at most {limits.SCRIPT_STATEMENTS_MAX} statements",
                "script_statements",
                limits.SCRIPT_STATEMENTS_MAX,
                statements,
                "send it in parts",
            )

    def _open(self, opener: str, at: int) -> None:
        self._levels.append(_Level(opener, at))
        depth = len(self._levels) - 1
        if depth > limits.NESTING_LEVELS_MAX:
            raise too_deep(self._source, at, depth)

    def _close(self, closer: str, at: int) -> None:
        while self._levels[-1].opener == "CASE":
            self._levels.pop()
        level = self._levels[-1]
        if not level.opener:
            raise ParseError(f"nothing is open that '{closer}' could close", at=self._source.locate(Span(at, at + 1)))
        if _CLOSERS[level.opener] != closer:
            raise ParseError(
                f"'{level.opener}' is closed by '{closer}'",
                at=self._source.locate(Span(level.at, level.at + 1)),
                expected=(f"'{_CLOSERS[level.opener]}'",),
            )
        self._levels.pop()

    def _item(self, level: _Level, at: int) -> None:
        level.items += 1
        level.operators = level.conditions = 0
        if level.in_from:
            self._join(level, at)
        if level.in_values and level.items >= limits.VALUES_ROWS_MAX:
            raise self._excess(
                at,
                f"VALUES has more than {limits.VALUES_ROWS_MAX} rows",
                "values_rows",
                limits.VALUES_ROWS_MAX,
                level.items + 1,
                "insert in batches with executemany, or load the rows with COPY … FROM",
            )
        if level.items >= limits.LIST_ITEMS_MAX:
            raise self._excess(
                at,
                f"a list has more than {limits.LIST_ITEMS_MAX} items",
                "list_items",
                limits.LIST_ITEMS_MAX,
                level.items + 1,
                "pass the list as a parameter, or load the values into a table",
            )

    def _join(self, level: _Level, at: int) -> None:
        level.joins += 1
        if level.joins > limits.JOINS_MAX:
            raise too_many_joins(self._source, Span(at, at + 1), level.joins)

    def _link(self, level: _Level, at: int) -> None:
        # the next query of the chain has a FROM clause of its own
        level.joins = 0
        level.links += 1
        if level.links > limits.OPERATOR_CHAIN_LINKS_MAX:
            raise self._chain(at, level.links)

    def _chain(self, at: int, links: int) -> TextLimitExceeded:
        return self._excess(
            at,
            f"more than {limits.OPERATOR_CHAIN_LINKS_MAX} operators or set operations form one chain",
            "operator_chain_links",
            limits.OPERATOR_CHAIN_LINKS_MAX,
            links,
            "use IN (…) instead of many ORs, or group parts in brackets",
        )

    def _excess(self, at: int, message: str, resource: str, limit: int, actual: int, hint: str) -> TextLimitExceeded:
        return TextLimitExceeded(
            message,
            at=self._source.locate(Span(at, at + 1)),
            resource=resource,
            limit=limit,
            actual=actual,
            hint=hint,
        )


def too_deep(source: Source, at: int, levels: int) -> TextLimitExceeded:
    """More levels than are compiled; also what a parser says that ran out of stack."""
    return TextLimitExceeded(
        f"the statement nests too deep, at most {limits.NESTING_LEVELS_MAX} levels are compiled",
        at=source.locate(Span(at, at + 1)),
        resource="nesting_levels",
        limit=limits.NESTING_LEVELS_MAX,
        actual=levels,
        hint="name inner queries in a WITH clause",
    )
