"""Arithmetic over numbers, texts, lists and moments: which operands fit, and what comes out.

`/` divides exactly: of whole numbers it gives a fraction, `//` gives the whole part. A day plus an interval of whole
days is a day, plus any other interval an instant; a day minus a day is a number of days.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from omnigraph_sql.base.expr import Arithmetic, Cast, Expr, Literal
from omnigraph_sql.base.types import (
    ANY,
    BLOB,
    DATE,
    DATETIME,
    F64,
    I64,
    INTERVAL,
    NULL,
    STRING,
    TIME,
    DataType,
    ListType,
    VectorType,
    common_type,
    is_integer,
    is_number,
    is_open,
    is_text,
)
from omnigraph_sql.bind.sql_expr import Site
from omnigraph_sql.bind.sql_moments import parse_interval
from omnigraph_sql.bind.sql_operands import Pair, as_instant, as_moment
from omnigraph_sql.bind.sql_types import declared

_EXACT_MAX: Final = 2**53
"""Up to here every whole number is a double."""


def arithmetic(site: Site, op: str, left: Expr, right: Expr, nodes: Pair) -> Expr:
    """`left op right` with the type it has; TypeMismatch names both types when it has none."""
    return _TYPINGS[op](site, op, left, right, nodes)


# ---- numbers -------------------------------------------------------------------------------------------------


def _sum(site: Site, op: str, left: Expr, right: Expr, nodes: Pair) -> Expr:
    moments = (DATE, DATETIME, TIME, INTERVAL)
    if left.type in moments or right.type in moments:
        return _moments(site, op, left, right, nodes)
    return _numbers(site, op, left, right, nodes)


def _numbers(site: Site, op: str, left: Expr, right: Expr, nodes: Pair) -> Expr:
    left = site.binder.infer(left, right.type) if is_number(right.type) else left
    right = site.binder.infer(right, left.type) if is_number(left.type) else right
    of = _number_type(site, op, left.type, right.type, nodes)
    return Arithmetic(op, left, right, of)


def _number_type(site: Site, op: str, left: DataType, right: DataType, nodes: Pair) -> DataType:
    for of in (left, right):
        if not (is_number(of) or is_open(of)):
            hint = "join texts with ||" if op == "+" and is_text(left) and is_text(right) else ""
            raise _untyped(site, op, left, right, nodes, hint)
    both = common_type(left, right)
    return ANY if both is None or both == NULL else both


def _untyped(site: Site, op: str, left: DataType, right: DataType, nodes: Pair, hint: str = "") -> Exception:
    return site.binder.mismatch(f"'{op}' does not take {declared(left)} and {declared(right)}", nodes[1], hint)


def _product(site: Site, op: str, left: Expr, right: Expr, nodes: Pair) -> Expr:
    if left.type == INTERVAL or right.type == INTERVAL:
        interval, factor = (left, right) if left.type == INTERVAL else (right, left)
        if isinstance(interval, Literal) and isinstance(factor, Literal) and is_integer(factor.type):
            return scaled(site, interval, int(str(factor.value)), nodes)
        if not is_number(factor.type):
            raise _untyped(site, op, left.type, right.type, nodes)
        hint = "write the product out, as in INTERVAL '14 days'"
        raise site.binder.unsupported("an interval is multiplied by a whole number only", nodes[1], hint)
    return _numbers(site, op, left, right, nodes)


def scaled(site: Site, interval: Literal, factor: int, nodes: Pair) -> Literal:
    try:
        return Literal(parse_interval(str(interval.value)).times(factor).text, INTERVAL)
    except ValueError as broken:
        raise site.binder.mismatch(str(broken), nodes[0]) from None


def _quotient(site: Site, op: str, left: Expr, right: Expr, nodes: Pair) -> Expr:
    made = _numbers(site, op, left, right, nodes)
    assert isinstance(made, Arithmetic)
    if not is_integer(made.of):
        return made
    return Arithmetic(op, _fraction(made.left), made.right, F64)


def _fraction(expr: Expr) -> Expr:
    if isinstance(expr, Literal) and isinstance(expr.value, int) and abs(expr.value) <= _EXACT_MAX:
        return Literal(float(expr.value), F64)
    return Cast(expr, F64)


def _power(site: Site, op: str, left: Expr, right: Expr, nodes: Pair) -> Expr:
    _number_type(site, op, left.type, right.type, nodes)
    left, right = site.binder.infer(left, F64), site.binder.infer(right, F64)
    return Arithmetic(op, left, right, F64)


def _bits(site: Site, op: str, left: Expr, right: Expr, nodes: Pair) -> Expr:
    left, right = site.binder.infer(left, right.type), site.binder.infer(right, left.type)
    for of in (left.type, right.type):
        if not (is_integer(of) or is_open(of)):
            raise _untyped(site, op, left.type, right.type, nodes, "it works on the bits of whole numbers")
    if op in ("<<", ">>"):
        return Arithmetic(op, left, right, left.type)
    both = common_type(left.type, right.type)
    return Arithmetic(op, left, right, ANY if both is None else both)


def _joined(site: Site, op: str, left: Expr, right: Expr, nodes: Pair) -> Expr:
    left, right = (site.binder.infer(a, b.type) for a, b in ((left, right), (right, left)))
    lists = [of for of in (left.type, right.type) if isinstance(of, ListType)]
    if lists:
        both = common_type(left.type, right.type)
        if both is None:
            raise _untyped(site, op, left.type, right.type, nodes, "add one value with list_append(list, value)")
        return Arithmetic(op, left, right, both)
    if any(isinstance(of, VectorType) for of in (left.type, right.type)):
        raise _untyped(site, op, left.type, right.type, nodes)
    if BLOB in (left.type, right.type):
        if left.type != right.type:
            raise _untyped(site, op, left.type, right.type, nodes)
        return Arithmetic(op, left, right, BLOB)
    return Arithmetic(op, left, right, STRING)


# ---- days, instants, intervals ----------------------------------------------------------------------------------


def _moments(site: Site, op: str, left: Expr, right: Expr, nodes: Pair) -> Expr:
    if op == "+" and right.type in (DATE, DATETIME, TIME) and left.type not in (DATE, DATETIME, TIME):
        return _moments(site, op, right, left, (nodes[1], nodes[0]))
    right = _second(site, op, left, right, nodes)
    of = right.type
    if left.type == INTERVAL and of == INTERVAL:
        return Arithmetic(op, left, right, INTERVAL)
    if left.type in (DATETIME, TIME) and of == INTERVAL:
        return Arithmetic(op, left, right, left.type)
    if left.type == DATE and of == INTERVAL:
        whole = isinstance(right, Literal) and parse_interval(str(right.value)).whole_days
        return Arithmetic(op, left, right, DATE) if whole else Arithmetic(op, as_instant(left), right, DATETIME)
    if left.type == DATE and is_integer(of):
        return Arithmetic(op, left, right, DATE)
    if op == "-" and left.type in (DATE, DATETIME) and of in (DATE, DATETIME):
        if left.type == of == DATE:
            return Arithmetic(op, left, right, I64)
        return Arithmetic(
            op, as_moment(site, left, DATETIME, nodes[0]), as_moment(site, right, DATETIME, nodes[1]), INTERVAL
        )
    if is_open(left.type) or is_open(of):
        return Arithmetic(op, left, right, left.type if op == "+" and not is_open(left.type) else ANY)
    raise _untyped(site, op, left.type, of, nodes)


def _second(site: Site, op: str, left: Expr, right: Expr, nodes: Pair) -> Expr:
    """A string literal behind a moment: what `-` is about when it spells one, an interval otherwise."""
    if not (isinstance(right, Literal) and right.of == STRING and isinstance(right.value, str)):
        return right
    if op == "-" and left.type in (DATE, DATETIME) and right.value[:4].isdecimal() and right.value[4:5] == "-":
        return as_moment(site, right, left.type, nodes[1])
    return as_moment(site, right, INTERVAL, nodes[1])


_Typing = Callable[[Site, str, Expr, Expr, Pair], Expr]
_TYPINGS: Final[dict[str, _Typing]] = {
    "+": _sum,
    "-": _sum,
    "*": _product,
    "/": _quotient,
    "//": _numbers,
    "%": _numbers,
    "**": _power,
    "||": _joined,
    **dict.fromkeys(("&", "|", "xor", "<<", ">>"), _bits),
}
