"""Scalar, list, vector, enum and SQL-only types, how they compare, and their Arrow twins."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

from omnigraph_sql.base import limits

if TYPE_CHECKING:
    import pyarrow as pa


class Kind(StrEnum):
    """Scalar kinds. The value is the `.pg` spelling where there is one."""

    STRING = "String"
    BOOL = "Bool"
    I32 = "I32"
    I64 = "I64"
    U32 = "U32"
    U64 = "U64"
    F32 = "F32"
    F64 = "F64"
    DATE = "Date"
    DATETIME = "DateTime"
    BLOB = "Blob"
    # SQL expressions only: these cannot be stored.
    I8 = "I8"
    I16 = "I16"
    U8 = "U8"
    U16 = "U16"
    TIME = "Time"
    INTERVAL = "Interval"
    NULL = "Null"
    ANY = "Any"


@dataclass(frozen=True, slots=True)
class ScalarType:
    kind: Kind


@dataclass(frozen=True, slots=True)
class DecimalType:
    """Exact decimal; SQL expressions only."""

    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class ListType:
    item: DataType


@dataclass(frozen=True, slots=True)
class VectorType:
    """A fixed number of 32-bit floats."""

    dimensions: int

    def __post_init__(self) -> None:
        if not 1 <= self.dimensions <= limits.VECTOR_DIMENSIONS_MAX:
            raise ValueError(f"a vector has 1 to {limits.VECTOR_DIMENSIONS_MAX} dimensions, not {self.dimensions}")


@dataclass(frozen=True, slots=True)
class EnumType:
    """A string out of a closed set; labels are kept sorted and distinct."""

    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.labels or tuple(sorted(set(self.labels))) != self.labels:
            raise ValueError("enum labels are sorted, distinct and not empty")


@dataclass(frozen=True, slots=True)
class StructType:
    """Named fields; SQL expressions only."""

    fields: tuple[tuple[str, DataType], ...]


DataType: TypeAlias = ScalarType | DecimalType | ListType | VectorType | EnumType | StructType

STRING: Final = ScalarType(Kind.STRING)
BOOL: Final = ScalarType(Kind.BOOL)
I8: Final = ScalarType(Kind.I8)
I16: Final = ScalarType(Kind.I16)
I32: Final = ScalarType(Kind.I32)
I64: Final = ScalarType(Kind.I64)
U8: Final = ScalarType(Kind.U8)
U16: Final = ScalarType(Kind.U16)
U32: Final = ScalarType(Kind.U32)
U64: Final = ScalarType(Kind.U64)
F32: Final = ScalarType(Kind.F32)
F64: Final = ScalarType(Kind.F64)
DATE: Final = ScalarType(Kind.DATE)
TIME: Final = ScalarType(Kind.TIME)
DATETIME: Final = ScalarType(Kind.DATETIME)
INTERVAL: Final = ScalarType(Kind.INTERVAL)
BLOB: Final = ScalarType(Kind.BLOB)
NULL: Final = ScalarType(Kind.NULL)
ANY: Final = ScalarType(Kind.ANY)
"""A type that is known only when the statement runs (an untyped parameter, an engine function)."""

STORABLE: Final = (STRING, BLOB, BOOL, I32, I64, U32, U64, F32, F64, DATE, DATETIME)
"""The scalar types a property may have."""

_SIGNED: Final = (Kind.I8, Kind.I16, Kind.I32, Kind.I64)
_UNSIGNED: Final = (Kind.U8, Kind.U16, Kind.U32, Kind.U64)
_FLOATS: Final = (Kind.F32, Kind.F64)
_NUMBERS: Final = frozenset((*_SIGNED, *_UNSIGNED, *_FLOATS))
_INTEGERS: Final = frozenset((*_SIGNED, *_UNSIGNED))


def is_number(of: DataType) -> bool:
    return isinstance(of, DecimalType) or (isinstance(of, ScalarType) and of.kind in _NUMBERS)


def is_integer(of: DataType) -> bool:
    return isinstance(of, ScalarType) and of.kind in _INTEGERS


def is_float(of: DataType) -> bool:
    return isinstance(of, ScalarType) and of.kind in _FLOATS


def is_text(of: DataType) -> bool:
    """String, or an enum, which counts as String in expressions."""
    return of == STRING or isinstance(of, EnumType)


def is_open(of: DataType) -> bool:
    """Null and any fit everywhere at compile time."""
    return isinstance(of, ScalarType) and of.kind in (Kind.ANY, Kind.NULL)


def comparable(left: DataType, right: DataType) -> bool:
    """Whether `left = right` makes sense for scalars: same kind, both numbers, or one side open."""
    if left is right and isinstance(left, ScalarType):
        return True
    if is_open(left) or is_open(right):
        return True
    if is_number(left) and is_number(right):
        return True
    if is_text(left) and is_text(right):
        return True
    return left == right and isinstance(left, ScalarType | DecimalType)


def integer_range(of: ScalarType) -> tuple[int, int]:
    """Smallest and largest value of an integer kind."""
    bits = int(of.kind.value[1:])
    if of.kind in _UNSIGNED:
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def common_type(left: DataType, right: DataType) -> DataType | None:
    """The type both sides take in CASE, COALESCE, set operations and list literals; None if there is none."""
    if left == right:
        return left
    if left == NULL:
        return right
    if right == NULL:
        return left
    if ANY in (left, right):
        return ANY
    if is_text(left) and is_text(right):
        return STRING
    if is_number(left) and is_number(right):
        return _common_number(left, right)
    if isinstance(left, ListType) and isinstance(right, ListType):
        item = common_type(left.item, right.item)
        return ListType(item) if item is not None else None
    if {left, right} == {DATE, DATETIME}:
        return DATETIME
    return None


def _common_number(left: DataType, right: DataType) -> DataType:
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        if is_float(left) or is_float(right):
            return F64
        decimals = [t for t in (left, right) if isinstance(t, DecimalType)]
        return DecimalType(max(d.precision for d in decimals), max(d.scale for d in decimals))
    assert isinstance(left, ScalarType)
    assert isinstance(right, ScalarType)
    if left.kind in _FLOATS or right.kind in _FLOATS:
        both_narrow = left.kind == right.kind == Kind.F32
        return F32 if both_narrow else F64
    widest = max(int(left.kind.value[1:]), int(right.kind.value[1:]))
    mixed = (left.kind in _UNSIGNED) != (right.kind in _UNSIGNED)
    if not mixed:
        family = "U" if left.kind in _UNSIGNED else "I"
        return ScalarType(Kind(f"{family}{widest}"))
    return I64 if widest >= 32 else ScalarType(Kind(f"I{widest * 2}"))


def type_text(of: DataType) -> str:
    """The `.pg` spelling; SQL-only types get one in the same manner."""
    match of:
        case ScalarType(kind):
            return kind.value
        case DecimalType(precision, scale):
            return f"Decimal({precision}, {scale})"
        case ListType(item):
            return f"[{type_text(item)}]"
        case VectorType(dimensions):
            return f"Vector({dimensions})"
        case EnumType(labels):
            return f"enum({', '.join(labels)})"
        case StructType(fields):
            return f"Struct({', '.join(f'{name}: {type_text(field)}' for name, field in fields)})"
        case _:
            assert_never(of)


def arrow_type(of: DataType) -> pa.DataType:
    """The Arrow twin. Blob is its catalog placeholder, large binary; enum is a string."""
    import pyarrow as pa

    match of:
        case ScalarType(kind):
            return _arrow_scalar(kind)
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case ListType(item):
            return pa.list_(pa.field("item", arrow_type(item), nullable=True))
        case VectorType(dimensions):
            return pa.list_(pa.field("item", pa.float32(), nullable=True), dimensions)
        case EnumType():
            return pa.utf8()
        case StructType(fields):
            return pa.struct([pa.field(name, arrow_type(field)) for name, field in fields])
        case _:
            assert_never(of)


def _arrow_scalar(kind: Kind) -> pa.DataType:
    if kind is Kind.ANY:
        raise ValueError("a type known only at run time has no Arrow twin")
    return _twins()[kind]


@cache
def _twins() -> dict[Kind, pa.DataType]:
    import pyarrow as pa  # keeps the import of the package itself light

    return {
        Kind.STRING: pa.utf8(),
        Kind.BOOL: pa.bool_(),
        Kind.I8: pa.int8(),
        Kind.I16: pa.int16(),
        Kind.I32: pa.int32(),
        Kind.I64: pa.int64(),
        Kind.U8: pa.uint8(),
        Kind.U16: pa.uint16(),
        Kind.U32: pa.uint32(),
        Kind.U64: pa.uint64(),
        Kind.F32: pa.float32(),
        Kind.F64: pa.float64(),
        Kind.DATE: pa.date32(),
        Kind.TIME: pa.time64("us"),
        Kind.DATETIME: pa.timestamp("us", tz="UTC"),
        Kind.INTERVAL: pa.month_day_nano_interval(),
        Kind.BLOB: pa.large_binary(),
        Kind.NULL: pa.null(),
    }
