"""Types: their spelling, their Arrow twins, and how they get along."""

import pyarrow as pa
import pytest

from omnigraph_sql.base import limits
from omnigraph_sql.base.types import (
    ANY,
    BLOB,
    BOOL,
    DATE,
    DATETIME,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    INTERVAL,
    NULL,
    STORABLE,
    STRING,
    TIME,
    U8,
    U16,
    U32,
    U64,
    DataType,
    DecimalType,
    EnumType,
    ListType,
    ScalarType,
    StructType,
    VectorType,
    arrow_type,
    common_type,
    comparable,
    integer_range,
    is_float,
    is_integer,
    is_number,
    is_open,
    is_text,
    type_text,
)

AB = EnumType(("a", "b"))


@pytest.mark.parametrize(
    ("of", "text", "twin"),
    [
        (STRING, "String", pa.utf8()),
        (BOOL, "Bool", pa.bool_()),
        (I32, "I32", pa.int32()),
        (I64, "I64", pa.int64()),
        (U32, "U32", pa.uint32()),
        (U64, "U64", pa.uint64()),
        (F32, "F32", pa.float32()),
        (F64, "F64", pa.float64()),
        (DATE, "Date", pa.date32()),
        (DATETIME, "DateTime", pa.timestamp("us", tz="UTC")),
        (BLOB, "Blob", pa.large_binary()),
        (I8, "I8", pa.int8()),
        (I16, "I16", pa.int16()),
        (U8, "U8", pa.uint8()),
        (U16, "U16", pa.uint16()),
        (TIME, "Time", pa.time64("us")),
        (INTERVAL, "Interval", pa.month_day_nano_interval()),
        (NULL, "Null", pa.null()),
        (AB, "enum(a, b)", pa.utf8()),
        (DecimalType(10, 2), "Decimal(10, 2)", pa.decimal128(10, 2)),
        (ListType(I32), "[I32]", pa.list_(pa.field("item", pa.int32(), nullable=True))),
        (VectorType(4), "Vector(4)", pa.list_(pa.field("item", pa.float32(), nullable=True), 4)),
        (
            StructType((("a", I32), ("b", STRING))),
            "Struct(a: I32, b: String)",
            pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.utf8())]),
        ),
    ],
)
def test_a_type_has_a_spelling_and_an_arrow_twin(of: DataType, text: str, twin: pa.DataType) -> None:
    assert type_text(of) == text
    assert arrow_type(of) == twin


def test_a_vector_is_a_list_of_fixed_size_whose_nullable_child_is_called_item() -> None:
    twin = arrow_type(VectorType(8))
    assert pa.types.is_fixed_size_list(twin)
    assert (twin.list_size, twin.value_field.name, twin.value_field.nullable) == (8, "item", True)


def test_a_type_known_only_at_run_time_has_no_arrow_twin() -> None:
    with pytest.raises(ValueError, match="no Arrow twin"):
        arrow_type(ANY)


@pytest.mark.parametrize("size", [1, limits.VECTOR_DIMENSIONS_MAX])
def test_a_vector_has_as_many_dimensions_as_arrow_allows(size: int) -> None:
    assert VectorType(size).dimensions == size


@pytest.mark.parametrize("size", [0, -1, limits.VECTOR_DIMENSIONS_MAX + 1])
def test_a_vector_with_other_dimensions_cannot_be_built(size: int) -> None:
    with pytest.raises(ValueError, match="dimensions"):
        VectorType(size)


@pytest.mark.parametrize("labels", [(), ("b", "a"), ("a", "a")])
def test_an_enum_with_bad_labels_cannot_be_built(labels: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="labels"):
        EnumType(labels)


@pytest.mark.parametrize(
    ("of", "low", "high"),
    [(I8, -128, 127), (I32, -(2**31), 2**31 - 1), (U32, 0, 2**32 - 1), (U64, 0, 2**64 - 1), (I64, -(2**63), 2**63 - 1)],
)
def test_an_integer_type_has_a_range(of: ScalarType, low: int, high: int) -> None:
    assert integer_range(of) == (low, high)


def test_types_fall_into_families() -> None:
    assert {of for of in STORABLE if is_integer(of)} == {I32, I64, U32, U64}
    assert {of for of in STORABLE if is_float(of)} == {F32, F64}
    assert {of for of in STORABLE if is_number(of)} == {I32, I64, U32, U64, F32, F64}
    assert {of for of in (*STORABLE, AB) if is_text(of)} == {STRING, AB}
    assert {of for of in (*STORABLE, NULL, ANY) if is_open(of)} == {NULL, ANY}
    assert is_number(DecimalType(5, 1))


@pytest.mark.parametrize(
    ("left", "right", "answer"),
    [
        (I32, F64, True),
        (U64, DecimalType(5, 1), True),
        (STRING, AB, True),
        (DATE, DATE, True),
        (NULL, BLOB, True),
        (ANY, ListType(I32), True),
        (I32, STRING, False),
        (DATE, DATETIME, False),
        (BOOL, I32, False),
        (ListType(I32), ListType(I32), False),
        (VectorType(2), VectorType(2), False),
    ],
)
def test_whether_two_types_can_be_compared_does_not_depend_on_the_side(
    left: DataType, right: DataType, answer: bool
) -> None:
    assert comparable(left, right) is answer
    assert comparable(right, left) is answer


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        (I32, I32, I32),
        (NULL, I32, I32),
        (ANY, I32, ANY),
        (STRING, AB, STRING),
        (AB, EnumType(("a", "c")), STRING),
        (I32, I64, I64),
        (U32, U64, U64),
        (I32, U32, I64),
        (I8, U8, I16),
        (F32, F32, F32),
        (F32, I32, F64),
        (F32, F64, F64),
        (DecimalType(10, 2), DecimalType(8, 4), DecimalType(10, 4)),
        (DecimalType(10, 2), F32, F64),
        (DecimalType(10, 2), I32, DecimalType(10, 2)),
        (ListType(I32), ListType(F32), ListType(F64)),
        (ListType(I32), ListType(STRING), None),
        (DATE, DATETIME, DATETIME),
        (DATE, I32, None),
        (BOOL, STRING, None),
    ],
)
def test_two_types_have_a_common_type_or_none(left: DataType, right: DataType, common: DataType | None) -> None:
    assert common_type(left, right) == common
    assert common_type(right, left) == common
