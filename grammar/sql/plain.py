"""Operands that need no operator precedence.

sqlglot asks a dozen levels of operators about every operand. Most operands are one column or one literal, and the token
behind them tells that none of those levels has anything to do: then they are read at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot.tokenizer_core import TokenType

from omnigraph_sql.grammar.sql.placed import PlacedParser

T = TokenType
_NAMES: Final = frozenset({T.VAR, T.IDENTIFIER})
_LITERALS: Final = frozenset({T.NUMBER, T.STRING})
# fmt: off
_NO_OPERATOR: Final = frozenset({
    T.COMMA, T.R_PAREN, T.R_BRACKET, T.ALIAS, T.FROM, T.WHERE, T.GROUP_BY, T.HAVING, T.QUALIFY, T.ORDER_BY, T.LIMIT,
    T.ASC, T.DESC, T.JOIN, T.LEFT, T.RIGHT, T.INNER, T.WHEN, T.THEN, T.ELSE, T.END,
})
# fmt: on
_COMPARED: Final = _NO_OPERATOR | {T.EQ, T.NEQ, T.GT, T.GTE, T.LT, T.LTE, T.AND, T.OR}
# `<<` and `>>` are two tokens each.
_HALVES: Final = frozenset({T.GT, T.LT})


class PlainParser(PlacedParser):
    """The same trees as sqlglot's own, sooner."""

    def _parse_disjunction(self) -> Any:
        return self._plain_operand(_NO_OPERATOR) or super()._parse_disjunction()

    def _parse_range(self, this: Any = None, parse_is: bool = False) -> Any:
        if this is None and not parse_is and (operand := self._plain_operand(_COMPARED)) is not None:
            return operand
        return super()._parse_range(this, parse_is)

    def _plain_operand(self, ends: frozenset[TokenType]) -> Any:
        """A literal, `column` or `table.column` in front of such a token; None, and nothing read, for all else."""
        token, kind = self._curr, self._curr.token_type
        if kind not in _NAMES and kind not in _LITERALS:
            return None
        tokens, end = self._tokens, self._index + 1
        if self._next.token_type is T.DOT and kind in _NAMES:
            end += 2
        if end + 1 < self._tokens_size:
            behind = tokens[end].token_type
            if behind not in ends or (behind in _HALVES and tokens[end + 1].token_type is behind):
                return None
        elif end < self._tokens_size:
            return None
        if kind in _NAMES:
            return self._parse_column_parts_fast()
        self._advance()
        parse: Callable[..., Any] = self.PRIMARY_PARSERS[kind]
        return parse(self, token)
