"""JSON values of the right JSON type, and the Arrow columns that hold them until they are converted."""

from __future__ import annotations

import math
from typing import assert_never

import pyarrow as pa

from omnigraph_sql.base.errors import DataError, ValueOutOfRange
from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    DataType,
    DecimalType,
    EnumType,
    ListType,
    ScalarType,
    StructType,
    VectorType,
    arrow_type,
    integer_range,
    is_integer,
    is_text,
    type_text,
)


def raw_type(of: DataType) -> pa.DataType:
    """What holds JSON values of `of`: days, instants and blobs are texts, all numbers with a point are 64-bit."""
    match of:
        case ScalarType():
            if of in (DATE, DATETIME, BLOB):
                return pa.utf8()
            return pa.float64() if of in (F32, F64) else arrow_type(of)
        case EnumType():
            return pa.utf8()
        case ListType(item):
            return pa.list_(pa.field("item", raw_type(item)))
        case VectorType():
            return pa.list_(pa.field("item", pa.float64()))
        case DecimalType() | StructType():
            raise ValueError(f"{type_text(of)} is not stored")
        case _:
            assert_never(of)


def shaped(value: object, of: DataType) -> object:
    """The value, if its JSON type is that of `of`; null is left to the rules of the schema. Raises DataError."""
    if value is None:
        return None
    match of:
        case ScalarType():
            return _scalar(value, of)
        case EnumType():
            return _text(value, of)
        case ListType(item):
            return [shaped(one, item) for one in _items(value, of)]
        case VectorType():
            return [_component(one) for one in _items(value, of)]
        case DecimalType() | StructType():
            raise _unfit(value, of)
        case _:
            assert_never(of)


def _scalar(value: object, of: ScalarType) -> object:
    if is_text(of) or of in (DATE, DATETIME, BLOB):
        return _text(value, of)
    if of == BOOL:
        if not isinstance(value, bool):
            raise _unfit(value, of)
        return value
    if is_integer(of):
        return _integer(value, of)
    return _float(value, of)


def _text(value: object, of: DataType) -> str:
    if not isinstance(value, str):
        raise _unfit(value, of)
    # JSON can spell half of a surrogate pair, which no stored text can hold.
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise DataError("the text holds half of a character (a lone surrogate)")
    return value


def _integer(value: object, of: ScalarType) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _unfit(value, of)
    low, high = integer_range(of)
    if not low <= value <= high:
        raise ValueOutOfRange(f"{value} is outside {type_text(of)}, which goes from {low} to {high}")
    return value


def _float(value: object, of: DataType) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _unfit(value, of)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueOutOfRange(f"{_shown(value)} is too large for {type_text(of)}")
    return number


def _component(value: object) -> float:
    if value is None:
        raise _unfit(value, F32)
    return _float(value, F32)


def _items(value: object, of: DataType) -> list[object]:
    if not isinstance(value, list):
        raise _unfit(value, of)
    return value


def _unfit(value: object, of: DataType) -> DataError:
    return DataError(f"{_shown(value)} is {_json_type(value)}, not {type_text(of)}")


def _json_type(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "an array"
        case _:
            return "an object"


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # more digits than Python writes
        return "the number"
    return text if len(text) <= 60 else text[:57] + "..."
