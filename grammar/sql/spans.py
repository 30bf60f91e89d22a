"""Places of sqlglot nodes.

sqlglot keeps offsets in `meta` of names, literals, stars, parameters and function calls (there: of the function's
name); `end` is the last character. Everything else lies where its parts lie.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from omnigraph_sql.grammar.source import Span


def span_of(node: exp.Expr, default: Span) -> Span:
    """The smallest span over the tokens of `node` and everything below it; `default` when none left a trace."""
    first, last = -1, -1
    waiting: list[object] = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, exp.Expr):
            meta = item.meta if item.args or item.is_leaf() else {}
            start, end = meta.get("start"), meta.get("end")
            if isinstance(start, int) and isinstance(end, int):
                first = start if first < 0 else min(first, start)
                last = max(last, end + 1)
            waiting.extend(item.args.values())
        elif isinstance(item, (list, tuple)):
            waiting.extend(item)
    return Span(first, last) if 0 <= first <= last else default


def span_of_token(token: Token) -> Span:
    return Span(token.start, token.end + 1)
