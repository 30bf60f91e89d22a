"""Values of statements as Arrow scalars, and what Arrow types are called in the engine's text."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

import pyarrow as pa

from omnigraph_sql.base import expr as ex
from omnigraph_sql.base.errors import ExecutionError
from omnigraph_sql.base.expr import Expr, Value
from omnigraph_sql.base.types import (
    DATE,
    DATETIME,
    INTERVAL,
    DataType,
    DecimalType,
    ListType,
    StructType,
    VectorType,
    arrow_type,
    is_float,
    is_integer,
    is_open,
    type_text,
)
from omnigraph_sql.bind.sql_moments import parse_interval
from omnigraph_sql.run.scene import Scene


class NotConstant:
    """What `constant` gives for an expression that has to be computed."""

    def __repr__(self) -> str:
        return "NOT_CONSTANT"


NOT_CONSTANT: Final = NotConstant()


def is_known(of: DataType) -> bool:
    """Whether the type, all of it, is known before the statement runs."""
    match of:
        case ListType(item):
            return is_known(item)
        case StructType(fields):
            return all(is_known(field) for _, field in fields)
        case _:
            return not is_open(of)


def scalar(value: Value, of: DataType) -> pa.Scalar:
    """The value in the Arrow twin of its type; of a type known only now, what Python's type says.

    Raises ExecutionError for a value its type cannot hold.
    """
    try:
        if not is_known(of):
            return pa.scalar(_plain(value))
        if of == INTERVAL and isinstance(value, str):
            parsed = parse_interval(value)
            value_: object = (parsed.months, parsed.days, parsed.micros * 1000)
            return pa.scalar(value_, arrow_type(of))
        return pa.scalar(_fitted(value, of), arrow_type(of))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, ValueError) as error:
        raise ExecutionError(f"{_shown(value)} is not a {type_text(of)}") from error


def _shown(value: Value) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(value: Value) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _fitted(value: Value, of: DataType) -> object:
    match of:
        case _ if value is None:
            return None
        case ListType(item) if isinstance(value, tuple | list):
            return [_fitted(one, item) for one in value]
        case VectorType() if isinstance(value, tuple | list):
            return [None if one is None else float(str(one)) for one in value]
        case DecimalType(_, scale) if isinstance(value, int | float | Decimal | str):
            return Decimal(str(value)).quantize(Decimal(1).scaleb(-scale))
        case _ if is_float(of) and isinstance(value, int | Decimal) and not isinstance(value, bool):
            return float(value)
        case _ if is_integer(of) and isinstance(value, float) and value.is_integer():
            return int(value)
        case _ if of == DATETIME and isinstance(value, datetime):
            return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        case _ if of == DATETIME and isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        case _ if of == DATE and isinstance(value, datetime):
            return value.date()
        case _ if is_integer(of) and isinstance(value, bool):
            raise TypeError("a truth value is no number")
        case _:
            return value


_NAMES: Final = {
    "bool": "Boolean",
    "int8": "Int8",
    "int16": "Int16",
    "int32": "Int32",
    "int64": "Int64",
    "uint8": "UInt8",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "halffloat": "Float16",
    "float": "Float32",
    "double": "Float64",
    "string": "Utf8",
    "large_string": "LargeUtf8",
    "string_view": "Utf8View",
    "binary": "Binary",
    "large_binary": "LargeBinary",
    "date32[day]": "Date32",
    "time64[us]": "Time64(µs)",
    "month_day_nano_interval": "Interval(MonthDayNano)",
    "null": "Null",
}


def engine_type(of: pa.DataType) -> str:
    """The engine's spelling of an Arrow type, for arrow_cast. Raises ExecutionError for one it has none for."""
    if pa.types.is_timestamp(of):
        unit = {"s": "s", "ms": "ms", "us": "µs", "ns": "ns"}[of.unit]
        return f"Timestamp({unit})" if of.tz is None else f'Timestamp({unit}, "{of.tz}")'
    if pa.types.is_decimal128(of):
        return f"Decimal128({of.precision}, {of.scale})"
    if pa.types.is_fixed_size_list(of):
        return f"FixedSizeList({of.list_size}, {engine_type(of.value_type)})"
    if pa.types.is_list(of):
        return f"List({engine_type(of.value_type)})"
    found = _NAMES.get(str(of))
    if found is None:
        raise ExecutionError(f"values of type {of} cannot be converted to")
    return found


def constant(expr: Expr, scene: Scene) -> Value | NotConstant:
    """The value of a literal, a parameter, or a signed number; NOT_CONSTANT for what has to be computed."""
    match expr:
        case ex.Literal(value=value):
            return value
        case ex.Param(name=name):
            return scene.value(name)
        case ex.Negate(operand=operand):
            inner = constant(operand, scene)
            if isinstance(inner, bool) or not isinstance(inner, int | float | Decimal):
                return None if inner is None else NOT_CONSTANT
            return -inner
        case _:
            return NOT_CONSTANT


def as_literal(param: ex.Param, scene: Scene) -> ex.Literal:
    """A parameter as the value it has in this run."""
    return ex.Literal(scene.value(param.name), param.of)
