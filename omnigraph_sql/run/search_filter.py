"""Conditions of a scan as Lance filter text, where both mean the same; the pieces are rendered by the store."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.expr import Column, Expr
from omnigraph_sql.base.types import BOOL, F64, I32, I64, STRING, DataType, EnumType, arrow_type
from omnigraph_sql.engine.store.predicate import column_text, literal, member_of
from omnigraph_sql.run.expr_text import fitted
from omnigraph_sql.run.scalars import as_literal
from omnigraph_sql.run.scene import Scene

_TYPES: Final = (STRING, BOOL, I32, I64, F64)
_OPERATORS: Final = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class _Unrenderable(Exception):
    """The condition is one that only the query engine can test."""


def filter_text(condition: Expr, variable: str, scene: Scene) -> str | None:
    """The condition over the columns of one variable; None when it has to be left to the query engine."""
    try:
        return _text(condition, f"{variable}.", scene)
    except (_Unrenderable, ValueError, TypeError):
        return None


def _text(expr: Expr, lead: str, scene: Scene) -> str:
    match expr:
        case ex.Logic(op=op, operands=operands):
            return f"({f' {op.upper()} '.join(_text(o, lead, scene) for o in operands)})"
        case ex.Not(operand=operand):
            return f"(NOT {_text(operand, lead, scene)})"
        case ex.IsNull(operand=Column() as column, negated=negated):
            return f"({_column(column, lead)} IS {'NOT ' if negated else ''}NULL)"
        case ex.Compare(op=op, left=Column() as column, right=right) if op in _OPERATORS:
            return f"({_column(column, lead)} {_OPERATORS[op]} {_constant(column, right, scene)})"
        case ex.InList(operand=Column() as column, items=items, negated=negated) if items:
            values = [_value(column, item, scene) for item in items]
            if None in values:
                raise _Unrenderable
            found = member_of(column.name.removeprefix(lead), pa.array(values, _arrow(column.of)))
            _column(column, lead)
            return f"(NOT ({found}))" if negated else f"({found})"
        case _:
            raise _Unrenderable


def _column(column: Column, lead: str) -> str:
    name = column.name.removeprefix(lead)
    if not column.name.startswith(lead) or (column.of not in _TYPES and not isinstance(column.of, EnumType)):
        raise _Unrenderable
    return column_text(name)


def _constant(column: Column, expr: Expr, scene: Scene) -> str:
    value = _value(column, expr, scene)
    if value is None:
        raise _Unrenderable
    return literal(value, _arrow(column.of))


def _value(column: Column, expr: Expr, scene: Scene) -> object:
    """The constant in the type of the column: only so do both compare it in the same way."""
    made = as_literal(expr, scene) if isinstance(expr, ex.Param) else expr
    _, right = fitted(column, made)
    if not isinstance(right, ex.Literal) or (right.of != column.of and not isinstance(column.of, EnumType)):
        raise _Unrenderable
    return right.value


def _arrow(of: DataType) -> pa.DataType:
    return pa.utf8() if isinstance(of, EnumType) else arrow_type(of)
