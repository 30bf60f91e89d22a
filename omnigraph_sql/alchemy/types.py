"""Column types on both sides: how SQLAlchemy's are written in our SQL, and which of them our properties are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, assert_never

from sqlalchemy import types
from sqlalchemy.sql import compiler
from sqlalchemy.types import TypeEngine

from omnigraph_sql.base.types import (
    DataType,
    DecimalType,
    EnumType,
    Kind,
    ListType,
    ScalarType,
    StructType,
    VectorType,
)

_SINGLE_PRECISION_BITS: Final = 24


class Vector(types.UserDefinedType[list[float]]):
    """A fixed number of 32-bit floats: `Column("embedding", Vector(384))`."""

    cache_ok = True

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions

    def get_col_spec(self, **_: Any) -> str:
        return f"VECTOR({self.dimensions})"


class Instant(types.DateTime):
    """Instants are stored in UTC. Without `timezone` values go in and come out naive, and mean UTC."""

    def result_processor(self, dialect: Any, coltype: Any) -> Callable[[Any], Any] | None:
        del dialect, coltype
        if self.timezone:
            return None

        def naive(value: datetime | None) -> datetime | None:
            if value is None or value.tzinfo is None:
                return value
            return value.astimezone(UTC).replace(tzinfo=None)

        return naive


class TypeCompiler(compiler.GenericTypeCompiler):
    """Types as our CREATE TABLE and CAST name them."""

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        # Python's floats have 53 bits, and FLOAT means 24 of them here.
        precision = type_.precision
        return self.visit_REAL(type_, **kw) if precision and precision <= _SINGLE_PRECISION_BITS else "DOUBLE PRECISION"

    def visit_REAL(self, type_: Any, **kw: Any) -> str:
        del type_, kw
        return "REAL"

    def visit_DOUBLE(self, type_: Any, **kw: Any) -> str:
        del type_, kw
        return "DOUBLE PRECISION"

    def visit_enum(self, type_: Any, **kw: Any) -> str:
        return self.visit_ENUM(type_, **kw)

    def visit_ENUM(self, type_: Any, **kw: Any) -> str:
        del kw
        labels = (str(label).replace("'", "''") for label in type_.enums)
        return "ENUM(" + ", ".join(f"'{label}'" for label in labels) + ")"

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:
        return f"{self.process(type_.item_type, **kw)}[]"

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:
        return self.visit_TIMESTAMP(type_, **kw)

    def visit_TIMESTAMP(self, type_: Any, **kw: Any) -> str:
        del type_, kw
        return "TIMESTAMP"


_KINDS: Final[dict[Kind, Callable[[], TypeEngine[Any]]]] = {
    Kind.STRING: types.String,
    Kind.BOOL: types.Boolean,
    Kind.I8: types.SmallInteger,
    Kind.I16: types.SmallInteger,
    Kind.U8: types.SmallInteger,
    Kind.U16: types.Integer,
    Kind.I32: types.Integer,
    Kind.I64: types.BigInteger,
    Kind.U32: types.BigInteger,
    Kind.U64: types.BigInteger,
    Kind.F32: types.REAL,
    Kind.F64: types.Double,
    Kind.DATE: types.Date,
    Kind.TIME: types.Time,
    Kind.DATETIME: lambda: types.TIMESTAMP(timezone=True),
    Kind.BLOB: types.LargeBinary,
    Kind.INTERVAL: types.Interval,
    Kind.NULL: types.NullType,
    Kind.ANY: types.NullType,
}


def reflected_type(of: DataType) -> TypeEngine[Any]:
    """SQLAlchemy's type for the values of a property."""
    match of:
        case ScalarType(kind):
            return _KINDS[kind]()
        case EnumType(labels):
            return types.Enum(*labels)
        case ListType(item):
            return types.ARRAY(reflected_type(item))
        case VectorType(dimensions):
            return Vector(dimensions)
        case DecimalType(precision, scale):
            return types.Numeric(precision, scale)
        case StructType():
            return types.NullType()
        case _:
            assert_never(of)
