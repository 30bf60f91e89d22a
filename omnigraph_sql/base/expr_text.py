"""The one renderer of expressions as stable text: plan texts, column names of aggregates, canonical order of filters.

The text is for people and for comparison; nothing parses it back.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Final, cast

from omnigraph_sql.base.expr import (
    NOW_PARAMETER,
    Aggregate,
    Arithmetic,
    Bm25,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Exists,
    Expr,
    Frame,
    FrameBound,
    Fuse,
    InList,
    InSubquery,
    IsNull,
    Lambda,
    LambdaVariable,
    Like,
    Literal,
    Logic,
    Nearest,
    Negate,
    Not,
    OuterColumn,
    Param,
    ScalarSubquery,
    SortKey,
    TextMatch,
    Value,
    WindowCall,
)
from omnigraph_sql.base.types import INTERVAL, DataType, type_text

_OR, _AND, _NOT, _COMPARE, _BITS, _CONCAT, _ADD, _MULTIPLY, _SIGN, _POWER, _ATOM = range(11)

_LEVELS: Final = {
    "&": _BITS,
    "|": _BITS,
    "xor": _BITS,
    "<<": _BITS,
    ">>": _BITS,
    "||": _CONCAT,
    "+": _ADD,
    "-": _ADD,
    "*": _MULTIPLY,
    "/": _MULTIPLY,
    "//": _MULTIPLY,
    "%": _MULTIPLY,
    "**": _POWER,
}


def text(expr: Expr) -> str:
    """The expression with as few brackets as its meaning allows."""
    return _render(expr)[0]


def sort_text(key: SortKey) -> str:
    direction = "desc" if key.descending else "asc"
    return f"{text(key.expr)} {direction} nulls {'first' if key.nulls_first else 'last'}"


def value_text(value: Value, of: DataType) -> str:
    """A constant, as SQL would spell it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        quoted = "'" + value.replace("'", "''") + "'"
        return f"interval {quoted}" if of == INTERVAL else quoted
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, datetime):
        return f"timestamp '{value.isoformat()}'"
    if isinstance(value, date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, time):
        return f"time '{value.isoformat()}'"
    if isinstance(value, tuple):
        return f"[{', '.join(value_text(item, getattr(of, 'item', of)) for item in value)}]"
    if isinstance(value, Decimal):
        return format(value, "f")
    return repr(value)


def _list(items: tuple[Expr, ...]) -> str:
    return ", ".join(map(text, items))


def _inside(expr: Expr, level: int) -> str:
    """The child's text, in brackets if it binds weaker than `level`."""
    own, strength = _render(expr)
    return own if strength >= level else f"({own})"


def _render(expr: Expr) -> tuple[str, int]:
    """Text and binding strength of the outermost operator."""
    return _RENDERERS[type(expr)](expr)


def _column(e: Column) -> tuple[str, int]:
    return e.name, _ATOM


def _outer(e: OuterColumn) -> tuple[str, int]:
    return f"outer({e.name})", _ATOM


def _literal(e: Literal) -> tuple[str, int]:
    shown = value_text(e.value, e.of)
    return shown, _SIGN if shown.startswith("-") else _ATOM


def _param(e: Param) -> tuple[str, int]:
    return ("now()" if e.name == NOW_PARAMETER else f"${e.name}"), _ATOM


def _compare(e: Compare) -> tuple[str, int]:
    return f"{_inside(e.left, _BITS)} {e.op} {_inside(e.right, _BITS)}", _COMPARE


def _logic(e: Logic) -> tuple[str, int]:
    level = _AND if e.op == "and" else _OR
    return f" {e.op} ".join(_inside(o, level + 1) for o in e.operands), level


def _not(e: Not) -> tuple[str, int]:
    return f"not {_inside(e.operand, _COMPARE)}", _NOT


def _is_null(e: IsNull) -> tuple[str, int]:
    return f"{_inside(e.operand, _BITS)} is {'not ' if e.negated else ''}null", _COMPARE


def _in_list(e: InList) -> tuple[str, int]:
    return f"{_inside(e.operand, _BITS)} {'not ' if e.negated else ''}in ({_list(e.items)})", _COMPARE


def _like(e: Like) -> tuple[str, int]:
    word = ("not " if e.negated else "") + ("ilike" if e.ignore_case else "like")
    escape = f" escape {_inside(e.escape, _BITS)}" if e.escape is not None else ""
    return f"{_inside(e.operand, _BITS)} {word} {_inside(e.pattern, _BITS)}{escape}", _COMPARE


def _arithmetic(e: Arithmetic) -> tuple[str, int]:
    level = _LEVELS[e.op]
    # Mixed operators of the bit level have no agreed order, so they always get brackets.
    left = level + 1 if level == _BITS else level
    return f"{_inside(e.left, left)} {e.op} {_inside(e.right, level + 1)}", level


def _negate(e: Negate) -> tuple[str, int]:
    return f"-{_inside(e.operand, _SIGN + 1)}", _SIGN


def _case(e: Case) -> tuple[str, int]:
    arms = " ".join(f"when {text(when)} then {text(then)}" for when, then in e.whens)
    default = f" else {text(e.otherwise)}" if e.otherwise is not None else ""
    return f"case {arms}{default} end", _ATOM


def _cast(e: Cast) -> tuple[str, int]:
    return f"{'try_cast' if e.safe else 'cast'}({text(e.operand)} as {type_text(e.of)})", _ATOM


def _call(e: Call) -> tuple[str, int]:
    return f"{e.function}({_list(e.arguments)})", _ATOM


def _lambda(e: Lambda) -> tuple[str, int]:
    names = e.variables[0] if len(e.variables) == 1 else f"({', '.join(e.variables)})"
    return f"{names} -> {text(e.body)}", _OR


def _lambda_variable(e: LambdaVariable) -> tuple[str, int]:
    return e.name, _ATOM


def _text_match(e: TextMatch) -> tuple[str, int]:
    edits = f", {text(e.max_edits)}" if e.max_edits is not None else ""
    return f"{e.kind}({text(e.field)}, {text(e.query)}{edits})", _ATOM


def _nearest(e: Nearest) -> tuple[str, int]:
    return f"nearest({text(e.field)}, {text(e.query)})", _ATOM


def _bm25(e: Bm25) -> tuple[str, int]:
    return f"bm25({text(e.field)}, {text(e.query)})", _ATOM


def _fuse(e: Fuse) -> tuple[str, int]:
    return f"rrf({_list(e.rankers)}, {text(e.k)})", _ATOM


def _filter_clause(condition: Expr | None) -> str:
    return f" filter (where {text(condition)})" if condition is not None else ""


def _aggregate(e: Aggregate) -> tuple[str, int]:
    inside = ("distinct " if e.distinct else "") + (_list(e.arguments) if e.arguments else "*")
    if e.order:
        inside += " order by " + ", ".join(map(sort_text, e.order))
    return f"{e.function}({inside}){_filter_clause(e.filter)}", _ATOM


def _counts_rows(e: WindowCall) -> bool:
    return e.function == "count" and not e.arguments


def _window(e: WindowCall) -> tuple[str, int]:
    inside = ("distinct " if e.distinct else "") + ("*" if _counts_rows(e) else _list(e.arguments))
    nulls = " ignore nulls" if e.ignore_nulls else ""
    over = []
    if e.partition:
        over.append(f"partition by {_list(e.partition)}")
    if e.order:
        over.append("order by " + ", ".join(map(sort_text, e.order)))
    if e.frame is not None:
        over.append(_frame(e.frame))
    return f"{e.function}({inside}){_filter_clause(e.filter)}{nulls} over ({' '.join(over)})", _ATOM


def _frame(frame: Frame) -> str:
    return f"{frame.unit} between {_bound(frame.start)} and {_bound(frame.end)}"


def _bound(bound: FrameBound) -> str:
    if bound.side == "current":
        return "current row"
    return f"{text(bound.offset) if bound.offset is not None else 'unbounded'} {bound.side}"


def _scalar_subquery(e: ScalarSubquery) -> tuple[str, int]:
    return f"(query {e.relation.schema.order[0]})", _ATOM


def _exists(e: Exists) -> tuple[str, int]:
    return f"{'not ' if e.negated else ''}exists (query)", _NOT if e.negated else _ATOM


def _in_subquery(e: InSubquery) -> tuple[str, int]:
    operand, query = _inside(e.operand, _BITS), f"(query {e.relation.schema.order[0]})"
    if e.op == "=" and e.quantifier == "any":
        return f"{operand} {'not ' if e.negated else ''}in {query}", _COMPARE
    compared = f"{operand} {e.op} {e.quantifier} {query}"
    return (f"not {compared}", _NOT) if e.negated else (compared, _COMPARE)


_Renderer = Callable[[Expr], tuple[str, int]]
_RENDERERS: Final[dict[type[Expr], _Renderer]] = cast(
    "dict[type[Expr], _Renderer]",
    {
        Aggregate: _aggregate,
        Arithmetic: _arithmetic,
        Bm25: _bm25,
        Call: _call,
        Case: _case,
        Cast: _cast,
        Column: _column,
        Compare: _compare,
        Exists: _exists,
        Fuse: _fuse,
        InList: _in_list,
        InSubquery: _in_subquery,
        IsNull: _is_null,
        Lambda: _lambda,
        LambdaVariable: _lambda_variable,
        Like: _like,
        Literal: _literal,
        Logic: _logic,
        Nearest: _nearest,
        Negate: _negate,
        Not: _not,
        OuterColumn: _outer,
        Param: _param,
        ScalarSubquery: _scalar_subquery,
        TextMatch: _text_match,
        WindowCall: _window,
    },
)
