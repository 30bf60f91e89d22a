"""PEP 249's constructors of values, its type objects, and the type codes of a cursor's description."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Date",
    "DateFromTicks",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "TypeCode",
    "TypeObject",
    "described",
]

Date = date
Time = time
Timestamp = datetime
Binary = bytes


def DateFromTicks(ticks: float) -> date:
    """The day of a number of seconds since 1970, in UTC."""
    return datetime.fromtimestamp(ticks, UTC).date()


def TimeFromTicks(ticks: float) -> time:
    """The time of day of a number of seconds since 1970, in UTC."""
    return datetime.fromtimestamp(ticks, UTC).time()


def TimestampFromTicks(ticks: float) -> datetime:
    """The instant a number of seconds after 1970, in UTC."""
    return datetime.fromtimestamp(ticks, UTC)


class TypeObject:
    """A group of types. Equal to the type code of every column whose values belong to it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeCode):
            return other.group is self
        return self is other if isinstance(other, TypeObject) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


STRING: Final = TypeObject("STRING")
BINARY: Final = TypeObject("BINARY")
NUMBER: Final = TypeObject("NUMBER")
DATETIME: Final = TypeObject("DATETIME")
ROWID: Final = TypeObject("ROWID")
"""No column has this type: ids are texts."""
_OTHER: Final = TypeObject("OTHER")
"""Lists, vectors and structures."""


class TypeCode:
    """The type of a column: `arrow` exactly, and equal to the type object of its group."""

    __slots__ = ("arrow", "group")

    def __init__(self, arrow: pa.DataType) -> None:
        self.arrow = arrow
        self.group = _group(arrow)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeCode):
            return bool(self.arrow == other.arrow)
        return self.group is other if isinstance(other, TypeObject) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.group)

    def __repr__(self) -> str:
        return str(self.arrow)


def _group(arrow: pa.DataType) -> TypeObject:
    from pyarrow import types

    if types.is_string(arrow) or types.is_large_string(arrow) or types.is_string_view(arrow):
        return STRING
    if types.is_binary(arrow) or types.is_large_binary(arrow) or types.is_binary_view(arrow):
        return BINARY
    if types.is_integer(arrow) or types.is_floating(arrow) or types.is_decimal(arrow) or types.is_boolean(arrow):
        return NUMBER
    if types.is_temporal(arrow):
        return DATETIME
    return _OTHER


Column = tuple[str, TypeCode, None, int | None, int | None, int | None, bool | None]


def described(schema: Any) -> tuple[Column, ...]:
    """A column's name, type code, (no) display size, size in bytes, precision, scale, and whether it may be null."""
    return tuple(_described(field) for field in schema)


def _described(field: Any) -> Column:
    from pyarrow import types

    of = field.type
    decimal = types.is_decimal(of)
    size = of.bit_width // 8 if types.is_primitive(of) and of.bit_width >= 8 else None
    return (
        field.name,
        TypeCode(of),
        None,
        size,
        of.precision if decimal else None,
        of.scale if decimal else None,
        None,
    )
