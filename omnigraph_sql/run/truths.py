"""Conditions on columns in memory: for which rows they are true.

Plain comparisons are computed here, with the three truths of SQL; whatever else a condition holds, the query engine
computes, over the values a column has where they repeat, and only for rows that the plain part left.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.expr import Expr, column_names, conjuncts
from omnigraph_sql.base.types import BOOL, DATE, STRING, U64, EnumType, is_integer
from omnigraph_sql.plan.rewrite import all_of
from omnigraph_sql.run.held import Bools, Column, Held
from omnigraph_sql.run.scalars import NOT_CONSTANT, constant
from omnigraph_sql.run.scene import Scene

Truth = tuple[Bools, Bools]
"""Where a condition is true, and where it is false; where neither, it is unknown."""

_TEXTS: Final[dict[str, Callable[..., pa.Array]]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_NUMBERS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRROR: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CASES: Final = {"lower": pc.utf8_lower, "upper": pc.utf8_upper}
_EPOCH: Final = date(1970, 1, 1)


class _Unknown(Exception):
    """The condition holds something that is not computed here."""


def holds(test: Expr | None, rows: Held, variable: str, scene: Scene) -> Bools | None:
    """The rows, by number, that are there and for which the condition is true; None for all of them."""
    alive = rows.alive
    if test is None:
        return alive
    found = alive
    rest: list[Expr] = []
    for part in conjuncts(test):
        try:
            true, _ = _truth(part, rows, variable, scene)
        except _Unknown:
            rest.append(part)
            continue
        found = true if found is None else found & true
    remaining = all_of(rest)
    return found if remaining is None else _computed(remaining, rows, variable, scene, found)


# ---- computed here ----------------------------------------------------------------------------------------------


def _truth(test: Expr, rows: Held, variable: str, scene: Scene) -> Truth:
    match test:
        case ex.Logic(op="and", operands=operands):
            truths = [_truth(part, rows, variable, scene) for part in operands]
            return _all([t for t, _ in truths]), _any([f for _, f in truths])
        case ex.Logic(operands=operands):
            truths = [_truth(part, rows, variable, scene) for part in operands]
            return _any([t for t, _ in truths]), _all([f for _, f in truths])
        case ex.Not(operand=operand):
            true, false = _truth(operand, rows, variable, scene)
            return false, true
        case ex.IsNull(operand=ex.Column() as column, negated=negated):
            there = _valid(_column(column, rows, variable))
            return (there, ~there) if negated else (~there, there)
        case ex.Compare(op=op, left=left, right=right) if op in _NUMBERS:
            return _compared(op, left, right, rows, variable, scene)
        case ex.InList(operand=operand, items=items, negated=False):
            truths = [_compared("=", operand, item, rows, variable, scene) for item in items]
            return _any([t for t, _ in truths]), _all([f for _, f in truths])
        case ex.Column(of=of) if of == BOOL:
            values, valid = _column(test, rows, variable).values()
            return (values, ~values) if valid is None else (values & valid, ~values & valid)
        case _:
            raise _Unknown


def _all(parts: list[Bools]) -> Bools:
    made = parts[0]
    for part in parts[1:]:
        made = made & part
    return made


def _any(parts: list[Bools]) -> Bools:
    made = parts[0]
    for part in parts[1:]:
        made = made | part
    return made


def _column(column: Expr, rows: Held, variable: str) -> Column:
    if not isinstance(column, ex.Column) or not column.name.startswith(f"{variable}."):
        raise _Unknown
    return rows.column(column.name[len(variable) + 1 :])


def _valid(column: Column) -> Bools:
    made: Bools = column.array.is_valid().to_numpy(zero_copy_only=False)
    return made


def _compared(op: str, left: Expr, right: Expr, rows: Held, variable: str, scene: Scene) -> Truth:
    value = constant(right, scene)
    if value is NOT_CONSTANT:
        left, right, op = right, left, _MIRROR.get(op, op)
        value = constant(right, scene)
    if value is NOT_CONSTANT:
        raise _Unknown
    change = None
    if isinstance(left, ex.Call) and left.function in _CASES and len(left.arguments) == 1:
        change, left = _CASES[left.function], left.arguments[0]
    if not isinstance(left, ex.Column):
        raise _Unknown
    of = left.of
    text = of == STRING or isinstance(of, EnumType)
    if change is not None and not text:
        raise _Unknown
    fits = isinstance(value, str) if text else _is_plain_number(value) if is_integer(of) and of != U64 else False
    if of == DATE and type(value) is date:
        value, fits = (value - _EPOCH).days, True
    if not fits:
        raise _Unknown
    column = _column(left, rows, variable)
    if text:
        return _text_truth(column, op, value, change)
    values, valid = column.values()
    true = _NUMBERS[op](values, value)
    return (true, ~true) if valid is None else (true & valid, ~true & valid)


def _is_plain_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text_truth(column: Column, op: str, value: object, change: Callable[..., pa.Array] | None) -> Truth:
    if column.is_repetitive():
        codes, values = column.codes()
        true, false = _of_texts(values, op, value, change)
        # Null comes after the last value and is neither.
        return np.append(true, False)[codes], np.append(false, False)[codes]
    return _of_texts(column.array, op, value, change)


def _of_texts(values: pa.Array, op: str, value: object, change: Callable[..., pa.Array] | None) -> Truth:
    if change is not None:
        if not pc.all(pc.string_is_ascii(values), min_count=0).as_py():
            # Letters of other scripts change their case by rules that differ between libraries.
            raise _Unknown
        values = change(values)
    truth = _TEXTS[op](values, pa.scalar(value, values.type))
    true = truth.fill_null(False).to_numpy(zero_copy_only=False)
    return true, ~true & values.is_valid().to_numpy(zero_copy_only=False)


# ---- computed by the engine -------------------------------------------------------------------------------------


def _computed(test: Expr, rows: Held, variable: str, scene: Scene, among: Bools | None) -> Bools:
    from omnigraph_sql.run.read import evaluate

    names = sorted(column_names(test))
    columns = {name: rows.column(name[len(variable) + 1 :]) for name in names}
    made = np.zeros(rows.count, np.bool_)
    if among is None and len(names) == 1 and columns[names[0]].is_repetitive():
        codes, values = columns[names[0]].codes()
        with_null = pa.concat_arrays([values, pa.nulls(1, values.type)])
        truth = evaluate((("truth", test),), pa.table({names[0]: with_null}), scene)["truth"]
        return truth.fill_null(False).to_numpy()[codes]  # type: ignore[no-any-return]
    asked = np.flatnonzero(among) if among is not None else np.arange(rows.count)
    if not len(asked):
        return made
    picked = pa.array(asked)
    table = pa.table({name: column.array.take(picked) for name, column in columns.items()} or {"": picked})
    truth = evaluate((("truth", test),), table, scene)["truth"]
    made[asked] = truth.fill_null(False).to_numpy()
    return made
