"""Comparisons of a column with a constant that the column's type cannot hold, in terms that it can.

The engine would round one of the two first: 2^53 + 1 would equal the fraction 2^53.
"""

from __future__ import annotations

import math
import sys
from typing import Final

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.expr import Expr
from omnigraph_sql.base.types import BOOL, F32, F64, DataType, ScalarType, integer_range, is_float, is_integer
from omnigraph_sql.bind.gq_values import single

_MIRROR: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_UNEQUAL: Final = ("!=", "is distinct from")


def told_exactly(test: ex.Compare) -> Expr:
    """The same condition where rounding would decide it; the condition itself everywhere else."""
    if isinstance(test.left, ex.Literal) == isinstance(test.right, ex.Literal):
        return test
    if isinstance(test.left, ex.Literal):
        mirrored = ex.Compare(_MIRROR.get(test.op, test.op), test.right, test.left)
        told = told_exactly(mirrored)
        return test if told is mirrored else told
    assert isinstance(test.right, ex.Literal)
    side, number = test.left, _number(test.right, test.left.type)
    if isinstance(number, bool):
        return test
    if isinstance(number, int) and is_float(side.type) and not _is_fraction(number, side.type):
        return _beside(test.op, side, _below(number))
    if isinstance(number, float) and is_integer(side.type) and _is_beyond(number, side.type):
        return _always(side, test.op in (*_UNEQUAL, *(("<", "<=") if number > 0 else (">", ">="))), test.op)
    return test


def is_held(item: Expr, of: DataType) -> bool:
    """Whether a value of the type can equal the item of a list."""
    number = _number(item, of) if isinstance(item, ex.Literal) else None
    if isinstance(number, bool):
        return True
    if isinstance(number, int) and is_float(of):
        return _is_fraction(number, of)
    return not (isinstance(number, float) and is_integer(of) and _is_beyond(number, of))


def _number(literal: ex.Literal, of: DataType) -> ex.Value:
    """The value; beside 32 bits of fraction a fraction of 64 bits stands for a whole number that those would round."""
    value = literal.value
    whole = isinstance(value, float) and literal.of == F64 and of == F32 and value.is_integer()
    return int(value) if whole and isinstance(value, float) else value


def _is_fraction(number: int, of: DataType) -> bool:
    """Whether a fraction of the type holds the whole number."""
    try:
        near = single(float(number)) if of == F32 else float(number)
        return near is not None and int(near) == number
    except OverflowError:
        return False


def _is_beyond(number: float, of: DataType) -> bool:
    assert isinstance(of, ScalarType)
    low, high = integer_range(of)
    return math.isfinite(number) and not low <= number <= high


def _below(number: int) -> float:
    """The largest fraction that is not above the whole number."""
    try:
        near = float(number)
    except OverflowError:
        return sys.float_info.max if number > 0 else -math.inf
    return near if int(near) <= number else math.nextafter(near, -math.inf)


def _beside(op: str, side: Expr, below: float) -> Expr:
    """The comparison with a number that lies between `below` and the next fraction."""
    if op not in _MIRROR:
        return _always(side, op in _UNEQUAL, op)
    wide = ex.Cast(side, F64) if side.type == F32 else side
    return ex.Compare(">" if op in (">", ">=") else "<=", wide, ex.Literal(below, F64))


def _always(side: Expr, truth: bool, op: str) -> Expr:
    """The truth for every value, unknown for null unless the comparison knows of null."""
    made = ex.Literal(truth, BOOL)
    if op.startswith("is"):
        return made
    return ex.Case(((ex.IsNull(side), ex.Literal(None, BOOL)),), made, BOOL)
