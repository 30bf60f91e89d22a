"""`@default(literal)`: what rows that exist already get in a new property that may not be null."""

from __future__ import annotations

from datetime import date, datetime
from math import isfinite
from typing import TypeAlias

from omnigraph_sql.base.catalog import Property
from omnigraph_sql.base.types import (
    BOOL,
    DATE,
    DATETIME,
    F32,
    STRING,
    DataType,
    EnumType,
    ScalarType,
    integer_range,
    is_float,
    is_integer,
)

Literal: TypeAlias = str | int | float | bool

_F32_MAX = float((2**24 - 1) * 2**104)


def default_of(of: Property) -> Literal | None:
    """The default a property declares, if it declares exactly one and the literal fits its type."""
    values = [note.value for note in of.notes if note.name == "default"]
    if len(values) != 1 or values[0] is None:
        return None
    return values[0] if _fits(values[0], of.type) else None


def _fits(value: Literal, of: DataType) -> bool:
    if isinstance(of, EnumType):
        return value in of.labels
    if of == STRING:
        return isinstance(value, str)
    if of == BOOL:
        return isinstance(value, bool)
    if of in (DATE, DATETIME):
        return isinstance(value, str) and _is_moment(value, of)
    if isinstance(value, str | bool):
        return False
    if isinstance(of, ScalarType) and is_integer(of):
        low, high = integer_range(of)
        return isinstance(value, int) and low <= value <= high
    if is_float(of):
        return _is_float(value, of)
    return False


def _is_moment(text: str, of: DataType) -> bool:
    try:
        moment = date.fromisoformat(text) if of == DATE else datetime.fromisoformat(text)
    except ValueError:
        return False
    return not isinstance(moment, datetime) or moment.tzinfo is not None


def _is_float(value: int | float, of: DataType) -> bool:
    try:
        number = float(value)
    except OverflowError:
        return False
    return isfinite(number) and (of != F32 or abs(number) <= _F32_MAX)
