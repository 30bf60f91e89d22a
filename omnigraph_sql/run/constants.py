"""Constant rows without an engine: what most inserts are made of."""

from __future__ import annotations

import pyarrow as pa

from omnigraph_sql.base.errors import ValueOutOfRange
from omnigraph_sql.base.expr import Value
from omnigraph_sql.base.schema import Field
from omnigraph_sql.base.types import arrow_type, is_open
from omnigraph_sql.plan.nodes import Values
from omnigraph_sql.run.scalars import NotConstant, constant
from omnigraph_sql.run.scene import Scene


def constants(plan: Values, scene: Scene) -> pa.Table | None:
    """The rows as a table; None when one of the values has to be computed."""
    columns: list[list[Value]] = [[] for _ in plan.fields]
    for row in plan.rows:
        for values, expr in zip(columns, row, strict=True):
            value = constant(expr, scene)
            if isinstance(value, NotConstant):
                return None
            values.append(value)
    arrays = [column_of(field, values) for field, values in zip(plan.fields, columns, strict=True)]
    return pa.Table.from_arrays(arrays, names=[field.name for field in plan.fields])


def column_of(field: Field, values: list[Value]) -> pa.Array:
    """The values in the field's type. Raises ValueOutOfRange."""
    try:
        return _array(values, None if is_open(field.type) else arrow_type(field.type))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError) as error:
        raise ValueOutOfRange(f"a value of {field.name} does not fit: {error}") from error


def _array(values: list[Value], of: pa.DataType | None) -> pa.Array:
    return pa.array(values) if of is None else pa.array(values, of)
