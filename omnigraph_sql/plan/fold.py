"""Constant expressions, computed as the engine would: three truth values, nothing that could fail at run time."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from omnigraph_sql.base.expr import (
    FALSE,
    TRUE,
    Arithmetic,
    Case,
    Cast,
    Compare,
    Exists,
    Expr,
    InList,
    InSubquery,
    IsNull,
    Like,
    Literal,
    Logic,
    Negate,
    Not,
)
from omnigraph_sql.base.types import (
    BOOL,
    F64,
    I8,
    I16,
    I32,
    I64,
    STRING,
    U8,
    U16,
    U32,
    U64,
    DataType,
    is_integer,
    is_text,
)

UNKNOWN: Final = Literal(None, BOOL)

_BOUNDS: Final[dict[DataType, tuple[int, int]]] = {
    **{of: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for of, bits in ((I8, 8), (I16, 16), (I32, 32), (I64, 64))},
    **{of: (0, 2**bits - 1) for of, bits in ((U8, 8), (U16, 16), (U32, 32), (U64, 64))},
}
_EXACT_FLOAT: Final = 2**53
_OPPOSITE: Final = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "is distinct from": "is not distinct from",
    "is not distinct from": "is distinct from",
}
_TESTS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is distinct from": operator.ne,
    "is not distinct from": operator.eq,
}
_SUMS: Final[dict[str, Callable[[Any, Any], Any]]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def fold(expr: Expr) -> Expr:
    """The expression with its constant parts computed; the type stays, and it is never null more often than before."""
    folder = _FOLDERS.get(type(expr))
    if folder is None and not expr.parts:
        return expr
    changed = expr.map_children(fold)
    return changed if folder is None else folder(changed)


# ---- truth ------------------------------------------------------------------------------------------------------


def _logic(expr: Logic) -> Expr:
    stops, neutral = (FALSE, TRUE) if expr.op == "and" else (TRUE, FALSE)
    flat: list[Expr] = []
    for operand in expr.operands:
        flat += operand.operands if isinstance(operand, Logic) and operand.op == expr.op else (operand,)
    if stops in flat:
        return stops
    kept = [operand for operand in flat if operand != neutral]
    if not kept:
        return neutral
    if len(kept) == 1:
        # An operand of unknown type is made a truth value by the connective around it.
        return kept[0] if kept[0].type == BOOL else replace(expr, operands=(kept[0], neutral))
    return expr if len(kept) == len(expr.operands) else Logic(expr.op, tuple(kept))


def _not(expr: Not) -> Expr:
    return negated(expr.operand) or expr


def negated(expr: Expr) -> Expr | None:
    """The opposite without NOT in front, null where the expression is null; None when there is none."""
    match expr:
        case Literal(value=bool() as value):
            return FALSE if value else TRUE
        case Literal(value=None):
            return UNKNOWN
        case Not(operand=operand):
            return operand if operand.type == BOOL else None
        case Compare(op=op, left=left, right=right):
            return Compare(_OPPOSITE[op], left, right)
        case IsNull() | InList() | Like() | Exists() | InSubquery():
            return replace(expr, negated=not expr.negated)
        case Logic(op=op, operands=operands):
            return _logic(Logic("or" if op == "and" else "and", tuple(negated(o) or Not(o) for o in operands)))
        case _:
            return None


def _compare(expr: Compare) -> Expr:
    left, right = expr.left, expr.right
    if not (isinstance(left, Literal) and isinstance(right, Literal)):
        return expr
    if left.value is None or right.value is None:
        if not expr.op.startswith("is"):
            return UNKNOWN
        same = left.value is None and right.value is None
        return TRUE if same == (expr.op == "is not distinct from") else FALSE
    if not _alike(left, right):
        return expr
    return TRUE if _TESTS[expr.op](left.value, right.value) else FALSE


def _alike(left: Literal, right: Literal) -> bool:
    """Whether Python compares the two values as the engine does."""
    if is_text(left.of) and is_text(right.of):
        return isinstance(left.value, str) and isinstance(right.value, str)
    if is_integer(left.of) and is_integer(right.of):
        return type(left.value) is int and type(right.value) is int
    if left.of != right.of or type(left.value) is not type(right.value):
        return False
    match left.value:
        case float() as value:
            return not (math.isnan(value) or math.isnan(right.value))  # type: ignore[arg-type]
        case datetime():
            return False
        case bool() | Decimal() | date():
            return True
        case _:
            return False


def _is_null(expr: IsNull) -> Expr:
    if not isinstance(expr.operand, Literal):
        return expr
    return TRUE if (expr.operand.value is None) != expr.negated else FALSE


def _case(expr: Case) -> Expr:
    whens = [(when, then) for when, then in expr.whens if when not in (FALSE, UNKNOWN)]
    otherwise = expr.otherwise
    for number, (when, then) in enumerate(whens):
        if when == TRUE:
            whens, otherwise = whens[:number], then
            break
    if not whens:
        result = Literal(None, expr.of) if otherwise is None else otherwise
        return result if result.type == expr.of else expr
    if len(whens) == len(expr.whens):
        return expr
    return replace(expr, whens=tuple(whens), otherwise=otherwise)


# ---- numbers ----------------------------------------------------------------------------------------------------


def _number(value: object, of: DataType) -> Literal | None:
    """A literal of that type, if it holds the value exactly."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int) and of in _BOUNDS:
        low, high = _BOUNDS[of]
        return Literal(value, of) if low <= value <= high else None
    if isinstance(value, float) and of == F64 and math.isfinite(value):
        return Literal(value, of)
    return None


def _arithmetic(expr: Arithmetic) -> Expr:
    left, right = expr.left, expr.right
    if not (isinstance(left, Literal) and isinstance(right, Literal)):
        return expr
    if left.value is None or right.value is None:
        return Literal(None, expr.of)
    if expr.op == "||" and expr.of == STRING and isinstance(left.value, str) and isinstance(right.value, str):
        return Literal(left.value + right.value, STRING)
    if expr.op not in _SUMS or type(left.value) is not type(right.value) or not isinstance(left.value, int | float):
        return expr
    return _number(_SUMS[expr.op](left.value, right.value), expr.of) or expr


def _negate(expr: Negate) -> Expr:
    if not isinstance(expr.operand, Literal):
        return expr
    value = expr.operand.value
    if value is None:
        return expr.operand
    return _number(-value, expr.type) or expr if isinstance(value, int | float) else expr


def _cast(expr: Cast) -> Expr:
    """Only where the value stays what it is; whatever rounds, parses or may fail is left to the engine."""
    if not isinstance(expr.operand, Literal):
        return expr
    value = expr.operand.value
    if value is None:
        return Literal(None, expr.of)
    if expr.operand.of == expr.of:
        return expr.operand
    if type(value) is int and expr.of == F64 and abs(value) <= _EXACT_FLOAT:
        return Literal(float(value), F64)
    if type(value) is int:
        return _number(value, expr.of) or expr
    if isinstance(value, str) and is_text(expr.operand.of) and expr.of == STRING:
        return Literal(value, STRING)
    return expr


_FOLDERS: Final[dict[type[Expr], Callable[[Any], Expr]]] = {
    Arithmetic: _arithmetic,
    Case: _case,
    Cast: _cast,
    Compare: _compare,
    IsNull: _is_null,
    Logic: _logic,
    Negate: _negate,
    Not: _not,
}
